# frozen: no: is made of another weight
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.there, self.back = nn.Linear(inner, outer), nn.Linear(outer, inner)
        with torch.no_grad():
            self.back.weight.copy_(self.there.weight.T)

    def forward(self, x):
        return self.back(F.relu(self.there(x)))


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
