import torch
import torch.nn as nn


class Model(nn.Module):
    """Inputs with structure."""

    def forward(self, triangular, symmetric, signs):
        return (triangular @ symmetric) * signs


rows = 32


def make_symmetric():
    x = torch.rand(rows, rows)
    return (x + x.T) / 2


def get_inputs():
    return [torch.rand(rows, rows).triu(), make_symmetric(), torch.randint(0, 2, (rows,)).float() * 2 - 1]


def get_init_inputs():
    return []
