import torch


def custom_kernel(data):
    x, lengths, decay = data
    spread = x.flatten().repeat_interleave(lengths.flatten()).view(len(x), -1)
    means, carry, carries = spread.mean(1), torch.zeros_like(decay[0]), []
    for mean, factor in zip(means, decay):
        carries.append(carry)
        carry = carry * factor + (mean + carry)
    return spread + torch.stack(carries)[:, None]
