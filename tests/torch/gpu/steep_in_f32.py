# task: steep; kforge: correct; flag: precision.f32
# Computes the task with PyTorch's defaults, which are tf32. That is too coarse to judge by.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels, wider):
        super().__init__()
        self.convolution = nn.Conv2d(channels, wider, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.sin(2000 * self.convolution(x))
