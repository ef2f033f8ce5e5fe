import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolution, a bias of its own shape and a scale that is an argument of forward."""

    def __init__(self, channels_in, channels_out, kernel, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel, padding=kernel // 2, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape) * 0.1)

    def forward(self, x, scale):
        return (self.conv(x) + self.bias) * scale


batch = 4
channels_in = 3
channels_out = 8
size = 32


def get_inputs():
    return [torch.rand(batch, channels_in, size, size), 0.5]


def get_init_inputs():
    return [channels_in, channels_out, 3, (channels_out, 1, 1)]
