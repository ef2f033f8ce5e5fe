# task: relu; kforge: wrong_result stream.unordered|contract_violation stream.left
# A side stream that waits for the current stream, but that no stream waits for.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.big = torch.ones(2048, 2048, device="cuda")

    def forward(self, x):
        result = torch.empty_like(x)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.big @ self.big
            torch.clamp(x, min=0, out=result)
        return result
