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
LEAST_SECONDS = 0.01  # for a draw
BYTES = 12  # for each element while it is drawn: its own, and those of intermediate results


def until(options):
    """Returns the processor time at which the draws of a description have to end."""
    return time.process_time() + SHARE * options.seconds


def dependent(spec):
    """Returns the distribution if its numbers follow the shapes, else None."""
    return spec if spec and spec["kind"] in DEPENDENT else None


def is_mask(spec):
    """True if the numbers are 0 and 1: flags, which name no elements and count none."""
    return spec["kind"] == "integers" and spec["low"] == 0 and spec["high"] == 2


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
        return _each(wanted, lambda i: _of_factory(watch, inputs[i]))
    except Exception:  # it reads values, say
        return {}


def _each(wanted, of_one):
    """Returns {input: bounds} of the inputs for which `of_one` knows them. It may fail for some."""
    found = {}
    for i in wanted:
        try:
            found[i] = of_one(i)
        except meta.TooSlow:
            raise
        except Exception:  # a dtype without a minimum, say
            pass
    return {i: pair for i, pair in found.items() if pair}


def _draw(problem, wanted, take):
    """Draws the inputs twice and gives `take` the bounds, those of factories after the first."""
    with dist.Watch() as watch:
        inputs = problem_measure.draw_inputs(problem, 42)
    found = _each(wanted, lambda i: _of_factory(watch, inputs[i]))
    take(found)
    first = _each([i for i in wanted if i not in found], lambda i: _of_values(inputs[i]))
    del watch, inputs
    if not first:
        return
    second = problem_measure.draw_inputs(problem, 43)
    others = _each(first, lambda i: _of_values(second[i]))
    take({i: (min(first[i][0], low), max(first[i][1], high)) for i, (low, high) in others.items()})


def _can_draw(inputs):
    elements = sum(math.prod(v.shape) for v in inputs if isinstance(v, torch.Tensor))
    return elements <= MOST_ELEMENTS and BYTES * elements < bytes_available() / 2


def specs(problem, known, inputs, totals, until):
    """Returns (distributions, indices of inputs with numbers of the other size still, indices of
    inputs of one number at this size). `known`: the distributions at another size, None for an
    input that is to be left. `inputs`: of this size, of which only shapes and types count.
    `totals`: {input of offsets: total}, where it is known. `until`: of until()."""
    made, constants = list(known), []
    for i, total in totals.items():
        made[i] = {**known[i], "total": total}
    wanted = [
        i
        for i, (spec, value) in enumerate(zip(known, inputs))
        if dependent(spec) and i not in totals and value.dtype != torch.bool
    ]

    def take(found):
        for i, (low, high) in found.items():
            spec = with_bounds(known[i], low, high, math.prod(inputs[i].shape))
            if spec:
                made[i] = spec
                wanted.remove(i)
                constants.extend([i] if high == low + 1 else [])

    if wanted:
        take(_without_storage(problem, wanted))
    left = until - time.process_time()
    if wanted and _can_draw(inputs) and left > LEAST_SECONDS:
        try:
            with meta.at_most(left):
                _draw(problem, list(wanted), take)
        except Exception:  # no memory or no time for it: the measured numbers stay
            pass
    return made, wanted, constants


def _within_offsets(known, pairs):
    total = known["total"]
    fit = [new for old, new in pairs if old == total]
    fit = fit or [min(total, new) for old, new in pairs if old > total]
    return {**known, "total": min(fit)} if fit else None


def within(known, counts, pairs):
    """Returns the distribution `known` of one workload with numbers that are safe in another one;
    None if these are unknown. `counts`: of its numbers in both. `pairs`: the extents of the other
    tensors in both. An extent that the numbers do not exceed may be the one that they count, so
    none of these bounds is exceeded there."""
    kind, (count, count_there) = known["kind"], counts
    if is_mask(known):
        return None if (2, 1) in pairs else known
    smaller = count_there < count or any(new < old for old, new in pairs)
    if kind == "offsets":
        return _within_offsets(known, pairs) or (None if smaller else known)
    low = known.get("low", min(known.get("value", 0), 1))
    high = count if kind == "permutation" else known.get("high", known.get("value", 0) + 1)
    # A length may be the extent itself.
    fit = [new + (old < high) for old, new in pairs if old >= high - 1]
    if not fit and smaller:
        return None
    if kind == "permutation":
        bound = min(fit, default=high)
        return with_bounds(known, 0, bound, count_there)
    bound = min([high] + fit)
    if bound <= low:
        return None
    return {**known, "value": bound - 1} if kind == "constant" else {**known, "high": bound}


class Workloads:
    """Finds the numbers of workloads from those of a measured one.

    `names`: of the inputs. `known`: their distributions, None for those that are to be left.
    `tensors`: the inputs and then all others of the measured workload, None for numbers. `count`:
    of the workloads to come, among which the time is divided."""

    def __init__(self, names, known, tensors, options, count):
        self.names, self.known, self.tensors = names, known, tensors
        self.until, self.count = until(options), count
        self.kept, self.left_out = {}, []

    def _share(self):
        now = time.process_time()
        self.count -= 1
        return now + (self.until - now) / (self.count + 1)

    def _pairs(self, tensors, index):
        return [
            pair
            for i, (own, other) in enumerate(zip(self.tensors, tensors))
            if i != index and hasattr(own, "shape")
            for pair in zip(own.shape, other.shape)
        ]

    def _totals(self, tensors):
        """Returns {input of offsets: total}, where one extent only can be the one they count."""
        totals = {}
        for i, spec in enumerate(self.known):
            if spec and spec["kind"] == "offsets":
                extents = {new for old, new in self._pairs(tensors, i) if old == spec["total"]}
                totals.update({i: extents.pop()} if len(extents) == 1 else {})
        return totals

    def specs(self, name, problem, tensors):
        """Returns the distributions of a workload; None for one that has to be left out, since its
        numbers could name missing elements."""
        inputs = tensors[: len(self.known)]
        made, left, _ = specs(problem, self.known, inputs, self._totals(tensors), self._share())
        for i in left:
            counts = math.prod(self.tensors[i].shape), math.prod(tensors[i].shape)
            made[i] = within(self.known[i], counts, self._pairs(tensors, i))
            if made[i] is None:
                self.left_out.append("%s (bounds of input %s)" % (name, self.names[i]))
                return None
        for i in left:
            if made[i]["kind"] != "permutation":
                self.kept.setdefault(self.names[i], []).append(name)
        return made

    def notes(self, base):
        """Returns the notes of inputs with numbers of the workload `base`, and of workloads that
        are left out."""
        left_out = ", ".join(self.left_out)[:400]
        return [
            "input %s of %s: bounds as measured for %s" % (name, ", ".join(workloads)[:200], base)
            for name, workloads in self.kept.items()
        ] + (["unknown numbers of smaller sizes, left out: %s" % left_out] if left_out else [])
