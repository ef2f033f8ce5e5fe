import socket

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


socket.create_connection(("127.0.0.1", 9), timeout=2)
