# task: frozen_linear; kforge: launch_failure load.failed; says: it has no parameter dense.bias
import torch.nn as nn


class ModelNew(nn.Module):
    """It has no bias."""

    def __init__(self, inner, outer):
        super().__init__()
        self.dense = nn.Linear(inner, outer, bias=False)

    def forward(self, x):
        return self.dense(x)
