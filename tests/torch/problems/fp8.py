# import: made
# needs: float8_e4m3fn
# Operands in 8 bits with scales.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n, k):
        super().__init__()
        self.register_buffer("weight", (torch.rand(n, k) * 2 - 1).to(torch.float8_e5m2))
        self.scale = nn.Parameter(torch.rand(n))

    def forward(self, x, y):
        product = x.to(torch.float32) @ self.weight.to(torch.float32).T * self.scale
        return product.to(torch.bfloat16), (x.float() + y.float()).to(torch.float8_e4m3fn)


def get_inputs():
    return [torch.randn(24, 40).to(torch.float8_e4m3fn), torch.randn(24, 40).to(torch.float8_e4m3fn)]


def get_init_inputs():
    return [16, 40]
