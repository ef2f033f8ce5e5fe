# import: made
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n, k=2):
        super().__init__()
        self.l = nn.Linear(n, k)

    def forward(self, x):
        return self.l(x)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return [[64], {"k": 32}]
