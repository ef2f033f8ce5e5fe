# task: relu; kforge: wrong_result output.mismatch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.view_as(x)
