# task: hidden; kforge: correct; kernelbench: correct
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Draws all tensors of the problem's constructor, in the same order."""

    def __init__(self, features_in, features_out):
        super().__init__()
        self.dense = nn.Linear(features_in, features_out)
        self.start = torch.randn(1, features_out)
        self.table = torch.randn(features_out, features_out)

    def forward(self, x):
        return torch.matmul(torch.tanh(torch.addmm(self.dense.bias + self.start.to(x.device), x, self.dense.weight.t())), self.table.to(x.device))
