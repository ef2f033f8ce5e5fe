# task: linear; kforge: wrong_result mode.other; says: right only in evaluation mode
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """Its authors compared it in evaluation mode only; in training mode the bias is forgotten."""

    def __init__(self, inner, outer):
        super().__init__()
        self.dense = nn.Linear(inner, outer)

    def forward(self, x):
        return F.linear(x, self.dense.weight) if self.training else self.dense(x)
