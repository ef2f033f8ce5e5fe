# task: linear; kforge: correct; kernelbench: correct
import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """The weights of nn.Linear drawn as that does, registered under other names in another order."""

    def __init__(self, inner, outer):
        super().__init__()
        self.offset = nn.Parameter(torch.empty(outer))
        self.matrix = nn.Parameter(torch.empty(outer, inner))
        nn.init.kaiming_uniform_(self.matrix, a=math.sqrt(5))
        nn.init.uniform_(self.offset, -1 / math.sqrt(inner), 1 / math.sqrt(inner))

    def forward(self, x):
        return torch.addmm(self.offset, x, self.matrix.t())
