# task: linear; kforge: correct
# Uses the functions of PyTorch's allocator.
import torch
import torch.nn as nn

torch.backends.cudnn.benchmark = True


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features_out, features_in))
        self.bias = nn.Parameter(torch.empty(features_out))

    def forward(self, x):
        torch.cuda.memory_allocated()
        torch.cuda.empty_cache()
        return torch.nn.functional.linear(x, self.weight, self.bias)
