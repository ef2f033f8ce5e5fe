"""Modules with the weights that their constructors draw, for solutions that fold weights in their
constructor (docs/internals/pytorch.md, Frozen weights).

The judge chooses a seed that nothing can predict. Reference and solution are constructed under it,
as KernelBench constructs both under 42. A constructor also fills weights with constants, such as
the ones and zeros of a norm. A solution could rely on them. So constants of torch.nn.init, and the
running statistics of norms, are drawn around the constant here. Both sides get equal weights if
they ask for them in the same order with the same shapes. A solution that fills tensors in another
way has other weights, and is wrong.
"""
import contextlib
import hashlib
import math

import torch

import distributions as dist


class Constants:
    """The k-th tensor of a shape that is filled with a kind of constant gets equal numbers in every
    process with this seed."""

    def __init__(self, seed):
        self.seed, self.counts = seed, {}

    def fill(self, tensor, kind, value):
        if (
            not (isinstance(tensor, torch.Tensor) and tensor.is_floating_point())
            or tensor.is_meta
            or not math.isfinite(value)
        ):
            return
        key = (kind, tuple(tensor.shape))
        count = self.counts[key] = self.counts.get(key, 0) + 1
        # Words of a seed that differ in any of kind, shape and count; hash() of strings differs
        # between processes.
        words = repr((self.seed, key, count)).encode()
        generator = torch.Generator().manual_seed(
            int.from_bytes(hashlib.sha256(words).digest()[:7], "little")
        )
        with torch.no_grad():
            tensor.copy_(
                dist.sample(
                    dist.constant_varied(value, tensor.dtype), tensor.shape, tensor.dtype, generator
                )
            )


@contextlib.contextmanager
def constants(seed):
    """While active, draws under the seed the tensors that constructors fill with constants."""
    own = Constants(seed)
    init, norm = torch.nn.init, torch.nn.modules.batchnorm._NormBase
    ones, zeros, constant, reset = init.ones_, init.zeros_, init.constant_, norm.reset_running_stats

    def filled(tensor, kind, value):
        own.fill(tensor, kind, value)
        return tensor

    def reset_running_stats(self):
        reset(self)
        if self.track_running_stats:
            own.fill(self.running_mean, "mean", 0.0)
            own.fill(self.running_var, "variance", 1.0)

    init.ones_ = lambda tensor: filled(ones(tensor), "constant", 1.0)
    init.zeros_ = lambda tensor: filled(zeros(tensor), "constant", 0.0)
    init.constant_ = lambda tensor, val: filled(constant(tensor, val), "constant", float(val))
    norm.reset_running_stats = reset_running_stats
    try:
        yield
    finally:
        init.ones_, init.zeros_, init.constant_, norm.reset_running_stats = (
            ones,
            zeros,
            constant,
            reset,
        )
