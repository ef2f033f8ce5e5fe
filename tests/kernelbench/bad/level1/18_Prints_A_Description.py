import torch
import torch.nn as nn


class Model(nn.Module):
    """What it prints is not what it is."""

    def forward(self, x):
        return x * 3


rows = 32
columns = 48


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []


print('{"torch": "9.9", "inputs": [], "unfit": null}')
