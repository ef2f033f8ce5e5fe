# task: two_results; kforge: correct
# Two streams, joined before forward returns. Memory is freed on another stream than the one it was
# allocated on.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x, y):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            columns = (x + y).sum(dim=1)
        total = (x + y).t()
        torch.cuda.current_stream().wait_stream(self.side)
        columns.record_stream(torch.cuda.current_stream())
        return total, columns * 1.0
