# frozen: yes
import torch
import torch.nn as nn


class Model(nn.Module):
    """The batch norm takes out whatever the bias is, wherever it comes from."""

    def __init__(self, inner, outer):
        super().__init__()
        self.dense, self.norm = nn.Linear(inner, outer), nn.BatchNorm1d(outer)

    def forward(self, x):
        return self.norm(self.dense(x))


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
