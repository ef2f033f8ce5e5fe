# frozen: yes
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.dense = nn.Linear(inner, outer)

    def forward(self, x):
        return self.dense(x)


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
