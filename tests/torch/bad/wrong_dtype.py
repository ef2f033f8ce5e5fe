# task: relu; kforge: contract_violation output.dtype; says: out is of dtype f64; expected f32
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).double()
