"""A linear layer with a bias, in the layout of kernelbench.com."""
import torch
import torch.nn as nn

BATCH = 16
FEATURES = 32
SLOPE = 0.5


class Model(nn.Module):
    """y = leaky_relu(x W^T + b)"""

    def __init__(self, features, slope):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features) * 0.1)
        self.slope = slope
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x):
        y = x @ self.weight.t() + self.bias
        return torch.where(y > 0, y, y * self.slope)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, SLOPE]
