import torch


def ref_kernel(data):
    """out[c] = carry + x[c] spread by lengths; carry = decay[c] * its sum"""
    x, lengths, decay = data
    carry, rows = 0, []
    for row, count, factor in zip(x, lengths, decay):
        spread = carry + row.repeat_interleave(count)
        rows.append(spread)
        carry = carry * factor + spread.mean()
    return torch.stack(rows)


def generate_input(chunks: int, size: int, seed: int):
    torch.manual_seed(seed)
    x = torch.randn(chunks, 8, device="cuda") + seed % 7
    which = torch.randint(0, 8, (chunks, size), device="cuda")
    lengths = torch.stack([torch.bincount(row, minlength=8) for row in which])
    return x, lengths, torch.rand(chunks, device="cuda")
