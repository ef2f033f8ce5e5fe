# import: unfit outputs.state
# Its state changes the result only at its twentieth call.
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.sin(x) + (self.calls >= 20)


def get_inputs():
    return [torch.rand(64, 32)]
