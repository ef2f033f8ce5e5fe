import torch
import torch.nn as nn


class Model(nn.Module):
    """Beside its weights it has tensors that are neither parameters nor buffers, drawn by its constructor as some networks draw their initial hidden state."""

    def __init__(self, features_in, features_out):
        super().__init__()
        self.dense = nn.Linear(features_in, features_out)
        self.start = torch.randn(1, features_out)
        self.tables = [torch.randn(features_out, features_out), torch.arange(features_out)]

    def forward(self, x):
        self.start = self.start.to(x.device)
        return torch.matmul(torch.tanh(self.dense(x) + self.start), self.tables[0].to(x.device))[:, self.tables[1].to(x.device)]


batch = 32
features_in = 64
features_out = 48


def get_inputs():
    return [torch.rand(batch, features_in)]


def get_init_inputs():
    return [features_in, features_out]
