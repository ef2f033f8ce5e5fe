import torch
import torch.nn as nn


class Model(nn.Module):
    """No two calls agree: nothing can be proved about it, and importing it has to say so."""

    def __init__(self, p):
        super().__init__()
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.drop(x)


rows = 32
columns = 256


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return [0.2]
