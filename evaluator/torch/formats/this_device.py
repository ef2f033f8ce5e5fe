"""Lets a problem file that names a GPU run on a machine, or a device, without one.

Published problems make their tensors with device="cuda", seed a torch.Generator(device="cuda"), or
call .cuda(). The judge places all tensors itself, so on a processor these words mean the processor.
The replaced functions are PyTorch's factories and the methods that move a tensor or a module.
"""

import functools

import torch

FACTORIES = """
    rand randn randint randperm zeros ones full empty empty_strided arange linspace eye tensor
    as_tensor empty_like zeros_like ones_like full_like rand_like randn_like randint_like
""".split()
METHODS = ("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "to")


def names_gpu(value):
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


def here(args, kwargs):
    """Returns the arguments of a call with the processor in place of a GPU."""
    if any(names_gpu(a) for a in args):
        args = tuple("cpu" if names_gpu(a) else a for a in args)
    if names_gpu(kwargs.get("device")):
        kwargs = dict(kwargs, device="cpu")
    return args, kwargs


def generator_class(original):
    """Returns a class that makes generators of the processor. PyTorch uses the name in types, so a
    function does not do."""

    class OfGenerators(type):
        def __instancecheck__(cls, value):
            return isinstance(value, original)

    class Generator(metaclass=OfGenerators):
        def __new__(cls, device="cpu"):
            return original(device="cpu" if names_gpu(device) else device)

    return Generator


class OnThisDevice:
    """While active, a GPU that is missing means the processor. `everywhere`: one that is there,
    too."""

    def __init__(self, everywhere=False):
        self.originals, self.everywhere = [], everywhere

    def __enter__(self):
        if not self.everywhere and torch.cuda.is_available():
            return self
        for name in FACTORIES:
            self._replace(torch, name)
        for name in METHODS:
            self._replace(torch.Tensor, name)
        self._replace(torch.nn.Module, "to")
        self._put(torch, "Generator", generator_class(torch.Generator))
        self._put(torch.Tensor, "cuda", lambda tensor, *_, **__: tensor)
        self._put(torch.nn.Module, "cuda", lambda module, *_, **__: module)
        self._put(torch.cuda, "synchronize", lambda *_: None)
        return self

    def __exit__(self, *_):
        for owner, name, original in reversed(self.originals):
            setattr(owner, name, original)
        self.originals.clear()

    def _put(self, owner, name, new):
        self.originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    def _replace(self, owner, name):
        if hasattr(owner, name):
            self._put(owner, name, self._redirected(getattr(owner, name)))

    @staticmethod
    def _redirected(original):
        @functools.wraps(original, updated=())
        def call(*args, **kwargs):
            args, kwargs = here(args, kwargs)
            return original(*args, **kwargs)

        return call
