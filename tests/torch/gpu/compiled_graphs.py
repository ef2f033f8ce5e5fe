# task: linear; kforge: contract_violation output.aliased
# CUDA graphs of torch.compile return the results of all calls in the same memory.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.dense = nn.Linear(features_in, features_out)
        self.compiled = torch.compile(self.compute, mode="reduce-overhead")

    def compute(self, x):
        y = self.dense(x)
        return torch.relu(y) - torch.relu(-y)

    def forward(self, x):
        return self.compiled(x)
