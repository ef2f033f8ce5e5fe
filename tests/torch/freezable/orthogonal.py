# frozen: no: w is no matrix of independent numbers
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.w, self.shift = nn.Parameter(torch.empty(inner, inner)), nn.Parameter(torch.randn(inner))
        nn.init.orthogonal_(self.w)

    def forward(self, x):
        return x @ self.w @ self.w.T + self.shift


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
