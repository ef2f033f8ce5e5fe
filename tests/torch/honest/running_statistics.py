# task: batchnorm; kforge: correct
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        mean = x.mean(dim=(0, 2, 3), keepdim=True)
        spread = x.var(dim=(0, 2, 3), keepdim=True, unbiased=False)
        scale = self.norm.weight.view(1, -1, 1, 1) * torch.rsqrt(spread + self.norm.eps)
        return (x - mean) * scale + self.norm.bias.view(1, -1, 1, 1)
