# task: slow_relu; kforge: contract_violation output.aliased; kernelbench: correct; slower: yes
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Gives the same memory out again, and is so slow that a batch has one call."""

    def __init__(self):
        super().__init__()
        self.kept = None

    def forward(self, x):
        time.sleep(0.05)
        if self.kept is None:
            self.kept = torch.empty_like(x)
        return torch.clamp(x, min=0, out=self.kept)
