# import: made
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {"s": torch.sin(x), "rest": (torch.cos(x), [torch.tanh(x)]), "none": None}


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
