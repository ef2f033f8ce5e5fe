# import: made
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, xs, pair):
        return torch.cat(xs, 1) * pair[0] + pair[1]


def get_inputs():
    return [[torch.randn(32, 64), torch.randn(32, 64)], (torch.randn(32, 128), torch.randn(128))]


def get_init_inputs():
    return []
