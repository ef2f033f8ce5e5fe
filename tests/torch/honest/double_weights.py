# task: frozen_linear; kforge: correct; flag: state.frozen; kernelbench: correct
# Converts its weights where KernelBench has them, in its constructor, and can be called with no others.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.dense = nn.Linear(inner, outer)
        self.double()

    def forward(self, x):
        return self.dense(x.double()).float()
