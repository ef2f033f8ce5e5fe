# task: relu; kforge: correct
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = torch.empty(x.shape[0] + 1, x.shape[1] + 3, device=x.device)
        part = room[1:, 2:-1]
        return torch.clamp(x, min=0, out=part)
