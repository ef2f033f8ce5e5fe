import torch
import torch.nn as nn


class Model(nn.Module):
    """A view that is not contiguous."""

    def forward(self, x):
        return (x * 2).t()


rows = 32
columns = 48


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
