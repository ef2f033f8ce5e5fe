# frozen: yes
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.dense, self.norm, self.batch = nn.Linear(inner, outer), nn.LayerNorm(outer), nn.BatchNorm1d(outer)

    def forward(self, x):
        return self.batch(F.relu(self.norm(self.dense(x))))


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
