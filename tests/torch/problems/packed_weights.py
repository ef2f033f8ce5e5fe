# import: made
# Weights of 4 bits that the module itself makes bf16. Its own seed does not count.
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n, k):
        super().__init__()
        torch.manual_seed(n ^ k)
        self.register_buffer("packed", torch.randint(0, 256, (n, k // 2), dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(n, 1).to(torch.bfloat16))

    def forward(self, x):
        halves = torch.stack((self.packed & 15, self.packed >> 4), dim=-1).flatten(1)
        weights = (halves.type(torch.bfloat16) - 8) * self.scales
        return torch.mm(x.bfloat16(), weights.t()).float()


def get_inputs():
    return [torch.randn(8, 96)]


def get_init_inputs():
    return [40, 96]
