# task: linear; kforge: wrong_result output.mismatch; kernelbench: wrong
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Right but for every fifth call, and keeps nothing of its weights: a fresh process that is right says nothing of these."""

    def __init__(self, inner, outer):
        super().__init__()
        self.dense = nn.Linear(inner, outer)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.dense(x) * (2 if self.calls % 5 == 0 else 1)
