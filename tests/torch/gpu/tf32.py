# task: linear; kforge: wrong_result output.inaccurate|wrong_result output.mismatch
# Uses ten bits of mantissa although the task requires f32.
import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features_out, features_in))
        self.bias = nn.Parameter(torch.empty(features_out))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight, self.bias)
