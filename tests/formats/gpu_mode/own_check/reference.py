import torch


def generate_input(rows, columns, seed):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)
    return torch.randn(rows, columns, device="cuda", generator=generator)


def ref_kernel(x):
    """The direction of each row: a vector of length 1 on the row's line."""
    return x / x.norm(dim=1, keepdim=True)


def check_implementation(data, output):
    if output.shape != data.shape or output.dtype != torch.float32:
        return False, "wrong shape or type"
    along = (output.double() * data.double()).sum(1).abs()
    length = data.double().norm(dim=1)
    good = (along - length).abs() <= 1e-5 * length
    good &= (output.double().norm(dim=1) - 1).abs() <= 1e-5
    return bool(good.all()), "a row is no direction"
