# frozen: yes
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, outer, batch_first=True), nn.Linear(outer, 4)

    def forward(self, x):
        return self.out(self.lstm(x.view(-1, 6, 8))[0])


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return [48, 40]
