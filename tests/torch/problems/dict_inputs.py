# import: made
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a * b


def get_inputs():
    return {"b": torch.randn(32, 64), "a": torch.randn(32, 64)}


def get_init_inputs():
    return []
