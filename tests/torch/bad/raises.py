# task: relu; kforge: launch_failure forward.raised; says: ValueError: not today
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise ValueError("not today")
