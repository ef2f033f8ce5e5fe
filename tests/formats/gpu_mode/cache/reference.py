from dataclasses import dataclass

import torch
from torch import nn

LONGEST = 16


@dataclass(frozen=True)
class Layer:
    width: int
    shape: tuple
    kind: torch.dtype
    weight: torch.Tensor


class Cache(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.register_buffer("data", torch.zeros(rows, LONGEST, width))
        self.filled = 0

    def forward(self, new):
        count = new.shape[1]
        self.data[:, self.filled : self.filled + count] = new
        self.filled += count
        return self.data[:, : self.filled]


def generate_input(rows, width, filled, seed):
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    weight = torch.randn(width, width, device="cuda", generator=gen) / width**0.5
    layer = Layer(width, (rows, width), torch.float32, weight)
    x = torch.randn(rows, width, device="cuda", generator=gen)
    cache = Cache(rows, width).to("cuda")
    cache(torch.randn(rows, filled, width, device="cuda", generator=gen))
    return layer, {"x": x, "note": "one step"}, cache


def ref_kernel(data):
    layer, given, cache = data
    key = given["x"].to(layer.kind) @ layer.weight
    seen = cache(key[:, None])
    scores = (seen * given["x"][:, None]).sum(-1) / layer.width**0.5
    return (scores.softmax(-1)[..., None] * seen).sum(1), cache.data


def check_implementation(data, output):
    expected = ref_kernel(data)
    good = all(torch.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(output, expected))
    return good, "" if good else "other numbers"
