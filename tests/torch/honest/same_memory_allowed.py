# task: relu_allowed; kforge: correct
# The same memory for each result, which the task allows.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    out = None

    def forward(self, x):
        if self.out is None:
            self.out = torch.empty_like(x)
        return torch.clamp(x, min=0, out=self.out)
