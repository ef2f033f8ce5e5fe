# import: made
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, batch, k):
        return batch["a"] * k + batch["b"]["c"]


def get_inputs():
    return [{"a": torch.randn(32, 64), "b": {"c": torch.randn(32, 64)}}, 3]


def get_init_inputs():
    return []
