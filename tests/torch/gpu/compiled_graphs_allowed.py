# task: relu_allowed; kforge: correct
# CUDA graphs of torch.compile return the results of all calls in the same memory. The task allows
# that.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = torch.compile(self.compute, mode="reduce-overhead")

    def compute(self, x):
        return torch.where(x > 0, x, 0)

    def forward(self, x):
        return self.compiled(x)
