# task: relu; kforge: wrong_result stream.unordered
# Makes another stream the current one, which never waits for the stream of the call.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        torch.cuda.set_stream(self.side)
        return torch.relu(x)
