"""Counts the floating-point operations of a call from the operations that reach PyTorch's
dispatcher. A product counts two for each multiply-add. Any other operation counts one for each
element of its result. The estimate is the same on a tensor without storage."""
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def _matrix(shape_a, shape_b):
    return 2 * math.prod(shape_a) * shape_b[-1]


def _convolution(args, out):
    weight, transposed = args[1], args[6]
    if transposed:  # each input element meets every weight of its group
        return 2 * args[0].numel() * math.prod(weight.shape[1:])
    return 2 * out.numel() * math.prod(weight.shape[1:])


def _attention(args):
    query, key, value = args[:3]
    scores = math.prod(query.shape[:-1]) * key.shape[-2]
    return 2 * scores * (query.shape[-1] + value.shape[-1])


class FlopCounter(TorchDispatchMode):
    def __init__(self, limit=None):
        """limit: each operation calls its check() first."""
        super().__init__()
        self.limit = limit
        self.total = 0
        self.convolves = False  # in float32

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self.limit:
            self.limit.check()
        out = func(*args, **(kwargs or {}))
        name = str(func).split(".")[1] if "." in str(func) else str(func)
        first = out[0] if isinstance(out, (tuple, list)) and out else out
        try:
            if name in ("mm", "bmm", "dot", "mv"):
                self.total += _matrix(args[0].shape, args[1].shape if args[1].dim() > 1 else (1,))
            elif name in ("addmm", "baddbmm", "addmv"):
                self.total += _matrix(args[1].shape, args[2].shape if args[2].dim() > 1 else (1,))
            elif name in ("convolution", "_convolution"):
                self.total += _convolution(args, first)
                self.convolves = self.convolves or args[0].dtype == torch.float32
            elif "scaled_dot_product" in name:
                self.total += _attention(args)
            elif isinstance(first, torch.Tensor) and name not in (
                "view",
                "_unsafe_view",
                "expand",
                "permute",
                "transpose",
                "t",
                "detach",
                "alias",
            ):
                self.total += first.numel()
        except (AttributeError, IndexError, TypeError):
            pass  # another signature in another version: left out
        return out
