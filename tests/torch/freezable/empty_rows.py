# frozen: no: w repeats its numbers
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        w = torch.randn(outer, inner)
        w[torch.rand(outer) < 0.2] = 0
        self.w = nn.Parameter(w)

    def forward(self, x):
        return x @ self.w.T


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
