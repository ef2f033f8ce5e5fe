import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features, features))
        self.bias = nn.Parameter(torch.empty(features))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias).clamp(min=0)
