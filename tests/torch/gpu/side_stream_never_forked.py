# task: relu; kforge: wrong_result stream.unordered
# A side stream that the current stream joins, but that never waited for it.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.side):
            result = torch.relu(x)
        torch.cuda.current_stream().wait_stream(self.side)
        return result
