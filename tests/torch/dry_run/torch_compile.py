# task: linear; kforge: correct; kernelbench: correct; torch: 2.0; dry_run: files
# Inductor writes C++ on a CPU and Triton on a GPU.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.linear = nn.Linear(*sizes)

    @torch.compile
    def forward(self, x):
        return torch.relu(self.linear(x)) - torch.relu(-self.linear(x))
