# task: two_results; kforge: correct; kernelbench: correct
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        total = torch.add(x.t(), y.t())
        return [total, total.sum(dim=0)]
