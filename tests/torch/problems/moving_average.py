# import: unfit outputs.state
# Reads a buffer that it has written, so each call has another result.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(48))

    def forward(self, x):
        self.average.mul_(0.75).add_(x.mean(0), alpha=0.25)
        return x - self.average


def get_inputs():
    return [torch.randn(24, 48)]


def get_init_inputs():
    return []
