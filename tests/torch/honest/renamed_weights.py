# task: linear; kforge: correct
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        layer = nn.Linear(features_in, features_out)
        self.w, self.b = layer.weight, layer.bias

    def forward(self, x):
        return torch.addmm(self.b, x, self.w.t())
