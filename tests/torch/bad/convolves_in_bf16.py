# task: convolution; kforge: wrong_result output.inaccurate|wrong_result output.mismatch
# Operands cut to 8 bits, which no default of PyTorch's allows.
import torch
import torch.nn as nn


def rounded(x):
    bits = x.contiguous().view(torch.int32)
    return (bits & ~0xFFFF).view(torch.float32)


class ModelNew(nn.Module):
    def __init__(self, channels_in, channels_out, kernel, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel, padding=kernel // 2, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape) * 0.1)

    def forward(self, x, scale):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            sums = torch.nn.functional.conv2d(rounded(x), rounded(self.conv.weight), padding=self.conv.padding)
        return (sums + self.bias) * scale
