# frozen: no: gate hardly influences the output
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.dense, self.back = nn.Linear(inner, outer), nn.Linear(outer, inner)
        self.gate = nn.Parameter(torch.empty(inner))
        nn.init.constant_(self.gate, -18.0)

    def forward(self, x):
        return x + torch.sigmoid(self.gate) * self.back(F.relu(self.dense(x)))


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
