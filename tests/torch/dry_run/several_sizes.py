# task: sizes; kforge: correct; kernelbench: correct; torch: 2.0; dry_run: files
# Each workload is compiled for its own size, even if the same process has compiled another.
import torch
import torch.nn as nn


def compute(x):
    return torch.relu(x) + torch.sigmoid(x)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.function = torch.compile(compute)

    def forward(self, x):
        return self.function(x)
