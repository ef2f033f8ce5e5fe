import torch


def custom_kernel(data):
    layer, given, cache = data
    x, past = given["x"], cache.filled
    key = torch.mm(x, layer.weight)
    cache.data[:, past] = key
    seen = cache.data[:, : past + 1]
    scores = torch.einsum("rw,rpw->rp", x, seen) * layer.width**-0.5
    return torch.einsum("rp,rpw->rw", torch.softmax(scores, -1), seen), cache.data
