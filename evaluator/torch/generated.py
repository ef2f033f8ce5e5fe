"""Inputs by the problem's own get_inputs, with seeds that the judge draws.

A problem file may seed itself: torch.manual_seed(0), numpy.random.default_rng(seed), a generator of
its own. Unseeded replaces all these seeds, so that equal inputs come from equal seeds of the judge
only, and no file shows the inputs of a run.

The judge has an argument of the distribution "generated" filled by the oracle's runner, in no
candidate's process (evaluator/judge/device/input_generator.h).
"""
import hashlib
import random
import sys

import torch

import load
from formats.this_device import OnThisDevice


class Unseeded:
    """While active, the seeds and generators of a problem file are replaced: a file that seeds
    itself would give the same numbers in every draw. `module`: the file's namespace, which may have
    these functions under names of its own. Its kforge_modules: further ones."""

    DRAWS = ("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial")
    DRAWS += ("poisson", "rand_like", "randn_like", "randint_like")
    METHODS = ("normal_", "uniform_", "random_", "bernoulli_", "exponential_")
    METHODS += ("log_normal_", "cauchy_", "geometric_", "bernoulli", "multinomial")
    NUMPY = ("RandomState", "SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

    def __init__(self, module):
        self.modules = [module] + list(getattr(module, "kforge_modules", []))

    def __enter__(self):
        self.originals, self.drawn, self.made = [], random.getrandbits(64), 0
        for name in self.DRAWS:
            self._replace(torch, name, self._without_generator(getattr(torch, name)))
        for name in self.METHODS:
            self._replace(torch.Tensor, name, self._without_generator(getattr(torch.Tensor, name)))
        for owner in (torch, torch.random, torch.cuda):
            self._replace(owner, "manual_seed", lambda seed: torch.default_generator)
        self._replace(torch.cuda, "manual_seed_all", lambda seed: None)
        for owner in (torch, torch.random, torch.cuda):
            self._replace(owner, "set_rng_state", lambda *_, **__: None)
        self._replace(torch.cuda, "set_rng_state_all", lambda *_: None)
        self._replace(random, "seed", lambda *_: None)
        self._replace(random, "setstate", lambda *_: None)
        python, kinds = random.Random, {}
        self._replace(random, "Random", self._reseeded(python))
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            rng = numpy.random
            self._replace(rng, "seed", lambda *_: None)
            self._replace(rng, "set_state", lambda *_, **__: None)
            kinds = {name: getattr(rng, name) for name in self.NUMPY if hasattr(rng, name)}
            for name, kind in kinds.items():
                self._replace(rng, name, self._reseeded(kind))
            self._replace(rng, "default_rng", self._default_rng(rng.default_rng, rng))
        given = {id(original): getattr(owner, name) for owner, name, original in self.originals}
        for module in self.modules:
            for name, value in list(vars(module).items()):
                if id(value) in given:
                    self._replace(module, name, given[id(value)])
                elif type(value) is python:
                    self._replace(module, name, python(self._mixed(["own", name])))
                elif numpy is not None and type(value) is numpy.random.Generator:
                    made = kinds["PCG64"](self._mixed(["own", name]))
                    self._replace(module, name, numpy.random.Generator(made))
                elif numpy is not None and type(value) is kinds["RandomState"]:
                    made = kinds["RandomState"](self._mixed(["own", name]))
                    self._replace(module, name, made)

    def __exit__(self, *_):
        for owner, name, original in reversed(self.originals):
            setattr(owner, name, original)

    def _replace(self, owner, name, new):
        self.originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    def _mixed(self, given):
        """Returns a seed for the seed that a file gives: equal ones for equal ones. Without one,
        another each time."""
        self.made += 1
        text = "%d %r" % (self.drawn, given or self.made)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")

    def _reseeded(self, kind):
        """Returns the class with other seeds than it is given. Libraries ask with isinstance."""
        mixed = self._mixed

        def seed(self, *given, **named):
            kind.seed(self, mixed(list(given) + list(named.values())))

        def begin(self, *given, **named):
            kind.__init__(self, mixed(list(given) + list(named.values())))

        methods = {"__init__": begin}
        if hasattr(kind, "seed"):
            methods["seed"] = seed
        for name in ("setstate", "set_state"):  # A saved state is a seed, too.
            if hasattr(kind, name):
                methods[name] = lambda *_, **__: None
        if kind is random.Random:  # Its own __new__ hashes the seed, which may be any object.
            methods["__new__"] = lambda cls, *_, **__: kind.__new__(cls)
        return type(kind.__name__, (kind,), methods)

    def _default_rng(self, original, rng):
        def make(seed=None):
            own = (rng.Generator, rng.BitGenerator)  # Made from replaced seeds.
            return seed if isinstance(seed, own[0]) else original(
                seed if isinstance(seed, own[1]) else self._mixed([] if seed is None else [seed])
            )

        return make

    @staticmethod
    def _without_generator(original):
        def draw(*args, generator=None, **kwargs):
            return original(*args, **kwargs)

        return draw


def draw(problem, seed, everywhere=False):
    """Returns the inputs of get_inputs as a flat list. `everywhere`: on the processor, although the
    machine has a GPU."""
    load.seed_all(seed)
    with OnThisDevice(everywhere), Unseeded(problem.module):
        return problem.inputs()


def fill(loaded, seed, memory):
    """Writes inputs of the problem's own into the memory of each argument. While the judge does so,
    it may keep the GPU busy."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        values = draw(loaded.problem, seed, everywhere=True)
    finally:
        torch.set_default_dtype(default)
    if len(values) != len(loaded.call_order):
        raise load.LoadError(
            "get_inputs gives %d values with another seed" % len(values),
            loaded.problem.name,
            "expected %d, as in the import" % len(loaded.call_order),
        )
    for number, value in zip(loaded.call_order, values):
        if number not in memory:
            continue
        argument = loaded.arguments[number]
        shape, dtype = argument["shape"], load.torch_dtype(argument["dtype"])
        given = list(value.shape) or [1]
        if given != shape or value.dtype != dtype:
            raise load.LoadError(
                "get_inputs gives %s as %s %s with another seed"
                % (argument["name"], str(value.dtype).replace("torch.", ""), given),
                loaded.problem.name,
                "expected %s %s, as in the import" % (argument["dtype"], shape),
            )
        flat = value.detach().to("cpu").contiguous().reshape(-1)
        flat = flat.view(torch.uint8) if value.dtype != torch.bool else flat.to(torch.uint8)
        torch.frombuffer(memory[number], dtype=torch.uint8, count=flat.numel()).copy_(flat)
