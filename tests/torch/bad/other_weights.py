# task: linear; kforge: launch_failure load.failed; says: it has no parameter dense.weight of shape [192, 256]
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.packed = nn.Parameter(torch.randn(features_out, features_in + 1))

    def forward(self, x):
        return nn.functional.linear(x, self.packed[:, 1:], self.packed[:, 0])
