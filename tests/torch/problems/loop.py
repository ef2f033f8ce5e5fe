# import: made own_precision
import torch
import torch.nn as nn


class Model(nn.Module):
    """Asks for its own precision: bits of a float, and a loop until convergence."""

    def forward(self, x):
        assert x.dtype == torch.float32
        y = x.abs() + 1
        for _ in range(20):
            y = 0.5 * (y + (x.abs() + 1) / y)
        return y * torch.sign(x)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
