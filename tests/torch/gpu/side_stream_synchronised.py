# task: relu; kforge: correct
# Works on a side stream while the host waits for the whole device, before and after.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        torch.cuda.synchronize()
        with torch.cuda.stream(self.side):
            result = torch.relu(x)
        torch.cuda.synchronize()
        return result
