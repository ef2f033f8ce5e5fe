"""Shapes without a computation: the problem's inputs, weights and outputs as tensors without
storage (device "meta").

PyTorch 2 has a default device. PyTorch 1.13 has none, so the factories are patched. An operation
without a shape rule, or one that reads values, leaves the outputs unknown. size() then counts only
inputs and state, or nothing.
"""
import contextlib
import functools
import math
import signal

import torch

import problem_measure
from flops import FlopCounter

FACTORIES = "rand randn randint randperm zeros ones full empty arange linspace eye".split()


class Storageless:
    """While active, factories and torch.distributions make tensors without storage. They stay that
    on the way to another device."""

    def __enter__(self):
        self.originals = []
        for name in FACTORIES:
            self._replace(torch, name, self._redirected)
        kinds = [torch.distributions.Distribution]
        for kind in kinds:
            kinds += [k for k in kind.__subclasses__() if k not in kinds]
            for name in ("sample", "rsample"):
                if name in vars(kind):
                    self._replace(kind, name, self._sampled)
        for name in ("to", "cpu", "cuda"):
            self._replace(torch.Tensor, name, self._staying)
        return self

    def __exit__(self, *_):
        for owner, name, original in reversed(self.originals):
            setattr(owner, name, original)

    def _replace(self, owner, name, by):
        self.originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, by(getattr(owner, name)))

    @staticmethod
    def _staying(original):
        @functools.wraps(original)
        def move(self, *args, **kwargs):
            if self.device.type != "meta":
                return original(self, *args, **kwargs)
            dtypes = [a.dtype if isinstance(a, torch.Tensor) else a for a in args]
            dtypes = [a for a in dtypes + [kwargs.get("dtype")] if isinstance(a, torch.dtype)]
            return torch.empty_like(self, dtype=dtypes[0]) if dtypes else self

        return move

    @staticmethod
    def _sampled(original):
        """A distribution's own tensors have storage: it reads them."""

        @functools.wraps(original)
        def sample(self, sample_shape=()):
            one = original(self)
            shape = tuple(sample_shape) + tuple(one.shape)
            return torch.empty(shape, dtype=one.dtype, device="meta")

        return sample

    @staticmethod
    def _redirected(original):
        @functools.wraps(original)
        def factory(*args, **kwargs):
            kwargs["device"] = "meta"
            kwargs.pop("generator", None)
            kwargs.pop("pin_memory", None)
            return original(*args, **kwargs)

        return factory


# Operations of one call. Above the first number a loop runs over a large constant, and shrinking
# takes large steps. Above the second, a call is not followed to its end. Counts are the same on
# each machine.
SLOW_OPERATIONS, MOST_OPERATIONS = 10_000, 200_000


class TooSlow(Exception):
    """A call that took more processor time, or more operations, than it may."""


class Operations:
    """Counts operations. Raises TooSlow above MOST_OPERATIONS."""

    def __init__(self):
        self.count = 0

    def check(self):
        self.count += 1
        if self.count > MOST_OPERATIONS:
            raise TooSlow("it takes more than %d operations" % MOST_OPERATIONS)


class Size:
    """The size of a problem. outputs and flops are None if PyTorch cannot derive them without
    running. broken: why forward fails. slow: a call took too long."""

    def __init__(self, inputs, state, outputs=None, flops=None, broken=None):
        self.inputs, self.state, self.outputs, self.flops, self.broken = (
            inputs,
            state,
            outputs,
            flops,
            broken,
        )
        self.slow, self.operations = False, 0

    def tensors(self):
        return (
            [v for v in self.inputs if isinstance(v, torch.Tensor)]
            + list(self.state.values())
            + list(self.outputs or [])
        )

    @property
    def elements(self):
        return sum(math.prod(t.shape) for t in self.tensors())


def storageless_parts(problem, options):
    with Storageless():
        inputs = problem_measure.draw_inputs(problem, 42)
        # A generator of the processor fills nothing here.
        with problem_measure.Unseeded(problem.module):
            model = problem_measure.make_model(problem, 42, options.mode)
    return inputs, model


def _has_no_rule(reason):
    """True if PyTorch lacks a shape rule. False if the shapes do not fit."""
    text = str(reason)
    return isinstance(reason, NotImplementedError) or any(
        word in text
        for word in (
            "'Meta' backend",
            "meta tensor",
            "Meta tensor",
            "device meta",
            "meta device",
            "same device",
            "not implemented",
        )
    )


def size(problem, options):
    """Returns the size of a problem; None if it cannot be derived this way."""
    try:
        inputs, model = storageless_parts(problem, options)
    except Exception:
        return None
    state = {n: t for n, t in model.state_dict().items() if isinstance(t, torch.Tensor)}
    operations = Operations()
    counter = FlopCounter(operations)
    try:
        with Storageless(), torch.no_grad(), counter:
            outputs = problem_measure.flatten_outputs(model(*inputs))
        found = Size(inputs, state, outputs, counter.total)
        found.operations, found.slow = operations.count, operations.count > SLOW_OPERATIONS
        return found
    except problem_measure.Unfit:
        return Size(inputs, state)
    except TooSlow:
        found = Size(inputs, state)
        found.slow = True
        return found
    except Exception as reason:
        return Size(inputs, state, broken=None if _has_no_rule(reason) else reason)


class Limit:
    """Of processor time. late: it is used up, so the next counted operation raises TooSlow."""

    def __init__(self, seconds):
        self.seconds, self.late = seconds, False

    def check(self):
        if self.late:
            raise TooSlow("it takes more than %g s of processor time" % self.seconds)


@contextlib.contextmanager
def at_most(seconds):
    """Yields a Limit. Raises TooSlow in its block if no operation has checked the limit in the same
    time once more. An exception at any moment would break PyTorch 1.13's stack of modes. 0: no
    limit."""
    limit = Limit(seconds)

    def stop(*_):
        limit.check()
        limit.late = True

    if not seconds:
        yield limit
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        yield limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run_for_real(problem, options, size_so_far, seconds=0):
    """Runs forward once with real tensors and completes `size_so_far`. False if it fails. Raises
    TooSlow after `seconds`, if given."""
    try:
        with at_most(seconds) as limit:
            inputs = problem_measure.draw_inputs(problem, 42)
            model = problem_measure.make_model(problem, 42, options.mode)
            counter = FlopCounter(limit)
            with torch.no_grad(), counter:
                outputs = problem_measure.flatten_outputs(model(*inputs))
    except problem_measure.Unfit:
        return True  # reported later, with its reason
    except TooSlow:
        raise
    except Exception as reason:
        if isinstance(reason.__cause__, TooSlow):
            raise reason.__cause__ from None
        return False
    size_so_far.inputs = inputs
    size_so_far.state = {n: t for n, t in model.state_dict().items() if isinstance(t, torch.Tensor)}
    size_so_far.outputs, size_so_far.flops = outputs, counter.total
    return True
