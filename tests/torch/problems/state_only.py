# import: made
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("x", torch.randn(n, n))
        self.register_buffer("w", torch.randn(n))

    def forward(self):
        return torch.softmax(self.x * self.w, -1)


def get_inputs():
    return []


def get_init_inputs():
    return [64]
