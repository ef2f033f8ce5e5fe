"""The numbers of inputs at the size of the task, where a problem was measured at another one: the
classes of a loss, the page numbers of a table, lengths.

Tensors without storage (meta.py) show the bounds of a torch.randint and the number of a torch.full
if the problem hands over their result unchanged. Other numbers are those of two draws of get_inputs
at that size, where the draws fit the memory and the time. Inputs of other kinds keep what was
measured.
"""
import math
import time

import torch

import distributions as dist
import meta
import problem_measure
from full_shapes import bytes_available

# Kinds with numbers that follow the shapes.
DEPENDENT = ("integers", "offsets", "permutation", "sorted", "constant")
MOST_ELEMENTS = 1 << 28  # of all inputs that are drawn
SHARE = 1 / 16  # of the time that all draws may take
BYTES = 12  # for each element while it is drawn: its own, and those of intermediate results


def until(options):
    """Returns the processor time at which the draws of a description have to end."""
    return time.process_time() + SHARE * options.seconds


def dependent(spec):
    """Returns the distribution if its numbers follow the shapes, else None."""
    return spec if spec and spec["kind"] in DEPENDENT else None


def with_bounds(known, low, high, count):
    """Returns the distribution `known` for `count` numbers from `low` to `high` (exclusive). None
    if its kind does not fit them."""
    kind = known["kind"]
    if kind in ("integers", "sorted"):
        # One number in all draws: the measurements draw it from 1 (loosen_constants).
        low = min(low, known["low"]) if high == low + 1 else low
        return {**known, "low": low, "high": high}
    if kind == "offsets":
        return {**known, "total": high - 1} if low == 0 and high > 1 else None
    if kind == "constant":
        return {**known, "value": low} if high == low + 1 else None
    if high >= count:
        return known
    return {**known, "kind": "integers", "low": low, "high": high}


def _of_factory(watch, tensor):
    """Returns (low, high) of a tensor that a factory has made; None for another one."""
    spec, constant = watch.spec(tensor), watch.constant(tensor)
    if constant is not None:
        return constant, constant + 1
    if spec and spec["kind"] == "integers":
        return spec["low"], spec["high"]
    if spec and spec["kind"] == "permutation":
        return 0, tensor.numel()
    return None


def _of_values(tensor):
    """Returns (low, high) of integers; None for other numbers."""
    if not tensor.numel():
        return None
    if tensor.dtype in dist.FLOATS:
        tensor = tensor.float() if tensor.element_size() < 4 else tensor
        if bool((tensor != tensor.round()).any()) or not bool(torch.isfinite(tensor).all()):
            return None
    return int(tensor.min()), int(tensor.max()) + 1


def _without_storage(problem, wanted):
    try:
        with meta.Storageless(), dist.Watch() as watch:
            inputs = problem_measure.draw_inputs(problem, 42)
        return {i: _of_factory(watch, inputs[i]) for i in wanted}
    except Exception:  # it reads values, say
        return {}


def _drawn(problem, wanted):
    with dist.Watch() as watch:
        inputs = problem_measure.draw_inputs(problem, 42)
    found = {i: _of_factory(watch, inputs[i]) for i in wanted}
    first = {i: _of_values(inputs[i]) for i in wanted if not found[i]}
    del watch, inputs
    second = problem_measure.draw_inputs(problem, 43) if first else []
    for i, pair in first.items():
        other = _of_values(second[i])
        if pair and other:
            found[i] = min(pair[0], other[0]), max(pair[1], other[1])
    return found


def _fits(inputs, until):
    elements = sum(math.prod(v.shape) for v in inputs if isinstance(v, torch.Tensor))
    return (
        elements <= MOST_ELEMENTS
        and BYTES * elements < bytes_available() / 2
        and time.process_time() < until
    )


def specs(problem, known, inputs, totals, until):
    """Returns (distributions, indices of inputs with numbers of the other size still). `known`:
    the distributions at another size, None for an input that is to be left. `inputs`: of this size,
    of which only shapes and types count. `totals`: {input of offsets: total}, where it is known.
    `until`: of until()."""
    made = list(known)
    for i, total in totals.items():
        made[i] = {**known[i], "total": total}
    wanted = [
        i
        for i, (spec, value) in enumerate(zip(known, inputs))
        if dependent(spec) and i not in totals and value.dtype != torch.bool
    ]

    def take(found):
        for i in list(wanted):
            bounds = found.get(i)
            spec = bounds and with_bounds(known[i], *bounds, math.prod(inputs[i].shape))
            if spec:
                made[i] = spec
                wanted.remove(i)

    if wanted:
        take(_without_storage(problem, wanted))
    if wanted and _fits(inputs, until):
        try:
            with meta.at_most(until - time.process_time()):
                take(_drawn(problem, wanted))
        except Exception:  # no memory or no time for it: the measured numbers stay
            pass
    return made, [i for i in wanted if known[i]["kind"] != "permutation"]


def notes_of(kept, base):
    """Returns the notes of inputs with numbers of another workload: {input: [workloads]}."""
    return [
        "input %s of %s: bounds as measured for %s" % (name, ", ".join(workloads)[:200], base)
        for name, workloads in kept.items()
    ]
