# frozen: no: is made of another weight
import copy

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        expert = nn.Linear(inner, outer)
        self.experts = nn.ModuleList(copy.deepcopy(expert) for _ in range(4))
        self.gate = nn.Linear(inner, 4)

    def forward(self, x):
        weights = torch.softmax(self.gate(x), -1)
        return sum(weights[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
