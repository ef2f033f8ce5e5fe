# task: linear; kforge: launch_failure forward.raised; kernelbench: correct; says: its constructor makes others
# As honest/double_weights.py, of a task that does not admit frozen weights.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.dense = nn.Linear(inner, outer)
        self.double()

    def forward(self, x):
        return self.dense(x.double()).float()
