import torch
import torch.nn as nn


class Model(nn.Module):
    """A sine of a convolution that has many periods: rounding operands to TF32 moves it by a good part of one."""

    def __init__(self, channels, wider):
        super().__init__()
        self.convolution = nn.Conv2d(channels, wider, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.sin(2000 * self.convolution(x))


batch = 8
channels = 32
wider = 64
side = 64


def get_inputs():
    return [torch.rand(batch, channels, side, side)]


def get_init_inputs():
    return [channels, wider]
