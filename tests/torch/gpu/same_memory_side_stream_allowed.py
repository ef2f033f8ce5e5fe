# task: relu_allowed; kforge: wrong_result stream.unordered|wrong_result output.mismatch|contract_violation stream.left
# The task allows one memory for all results. They are copied in the stream of the calls, so work in
# another stream that no stream waits for comes too late.
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.big = torch.ones(2048, 2048, device="cuda")
        self.result = None

    def forward(self, x):
        if self.result is None:
            self.result = torch.empty_like(x)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.big @ self.big
            torch.clamp(x, min=0, out=self.result)
        return self.result
