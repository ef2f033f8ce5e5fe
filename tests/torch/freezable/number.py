# frozen: no: scale is the same under other seeds
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.dense = nn.Linear(inner, outer)
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return self.dense(x) * self.scale


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
