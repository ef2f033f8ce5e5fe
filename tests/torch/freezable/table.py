# frozen: no: an input is not floating
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.table, self.dense = nn.Embedding(100, inner), nn.Linear(inner, outer)

    def forward(self, x):
        return self.dense(self.table(x))


def get_inputs():
    return [torch.randint(0, 100, (64, 8))]


def get_init_inputs():
    return [48, 40]
