"""A linear layer with a bias, in the layout of kernelbench.com."""
import torch
import torch.nn as nn

BATCH = 16
FEATURES = 32


class Model(nn.Module):
    """y = relu(x W^T + b)"""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features) * 0.1)
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x):
        return torch.relu(x @ self.weight.t() + self.bias)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES]
