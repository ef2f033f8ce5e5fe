# import: made uniform
import torch


class Model(torch.nn.Module):
    """The product of 512 normal numbers is 0 in float32."""

    def forward(self, x):
        return torch.prod(x, dim=1)


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return []
