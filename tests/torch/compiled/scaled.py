import torch
import torch.nn as nn


class Model(nn.Module):
    """One input has no extents, and the weight does not lie as its shape says."""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features).t())

    def forward(self, x, scale):
        return torch.relu(x @ self.weight) * scale


def get_inputs():
    return [torch.rand(32, 64), torch.rand(())]


def get_init_inputs():
    return [64]
