# task: relu; kforge: contract_violation output.type; says: something that is no tensor
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return None
