import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x @ x


rows = 32
columns = 48


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
