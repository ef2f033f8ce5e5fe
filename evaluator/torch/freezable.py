"""Decides if a problem demands as much of a solution with the weights that constructors draw
(frozen.py), fixed for a measurement.

If weights are arguments, the judge draws each of them itself, anew for every set. A constructor may
draw weights that make part of the work useless: equal rows, an orthogonal matrix before its
transpose, copies of one expert, a gate that is almost shut, weights that few inputs reach. A
solution that skips the useless work would be right. So all of the following must hold at the
measured size. Otherwise solutions that fold their weights stay wrong:

- Inputs are floating-point numbers. With integers a folded module may be a table.
- Under SEEDS seeds outputs are finite, differ for other inputs by FAINT, and do not hang on
  rounding.
- Weights differ between seeds, almost all their numbers are distinct, and each weight of another
  seed changes the output by INFLUENCE. An exception is a weight that never differs from rounding (a
  bias before a batch norm).
- A matrix is as far from low rank, and from an orthogonal matrix, as its numbers in another order.
  No two weights are related.
"""
import time

import torch

import distributions as dist
import frozen
import load
import problem_measure

SEEDS = 12
INFLUENCE = 1e-3  # of the output
ROUNDINGS = 4  # multiples of the rounding error that count as rounding
MOST_EQUAL = 0.1  # of a weight's numbers, between seeds
MOST_REPEATED = 0.05  # the part of a weight's numbers that must be distinct
MOST_CORRELATED = 0.5
SAMPLE = 1 << 16  # numbers of a weight that are checked
SIDE = 512  # rows and columns
ORDERS = 16
PART = 8  # of the time for a problem, for all of it


class Unfreezable(Exception):
    pass


def require(condition, reason):
    if not condition:
        raise Unfreezable(reason)


def _generator():
    return torch.Generator().manual_seed(9)


def _some(tensor):
    flat = tensor.detach().reshape(-1)
    return (
        flat
        if flat.numel() <= SAMPLE
        else flat[torch.randperm(flat.numel(), generator=_generator())[:SAMPLE]]
    )


def _concentration(matrix):
    """Returns the sum of fourth powers of the singular values over the square of the sum of their
    squares: 1 for rank one, least if all are equal."""
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    return (gram.square().sum() / matrix.square().sum().square()).item()


def is_structured(tensor):
    """True if the same numbers in another order would make a different kind of matrix."""
    if tensor.dim() < 2:
        return False
    matrix, generator = tensor.detach().double().flatten(1), _generator()
    for side in (0, 1):
        if matrix.shape[side] > SIDE:
            matrix = matrix.index_select(
                side, torch.randperm(matrix.shape[side], generator=generator)[:SIDE]
            )
    if min(matrix.shape) < 2:
        return False
    shuffled = []
    for _ in range(ORDERS):
        order = torch.randperm(matrix.numel(), generator=generator)
        shuffled.append(_concentration(matrix.reshape(-1)[order].reshape(matrix.shape)))
    margin = 3 * (max(shuffled) - min(shuffled)) + 1e-6
    return not min(shuffled) - margin <= _concentration(matrix) <= max(shuffled) + margin


def go_together(a, b):
    """True if the numbers of one weight predict those of another, as they lie or transposed."""
    if a.numel() != b.numel() or a.numel() < 2:
        return False
    a, limit = a.detach().double(), MOST_CORRELATED + 3 / a.numel() ** 0.5

    def correlation(x, y):
        x, y = x.reshape(-1) - x.mean(), y.reshape(-1) - y.mean()
        return abs((x @ y / (x.norm() * y.norm() + 1e-300)).item())

    b = b.detach().double()
    return correlation(a, b) > limit or (b.dim() == 2 and correlation(a, b.T.contiguous()) > limit)


def _construct(args, seed):
    with frozen.constants(seed):
        return problem_measure.make_model(args.problem, seed, args.mode)


def _require_weights(args, limit, first, second):
    """Checks weights by name, of two seeds."""
    states = [
        {name: tensor for name, tensor, _ in load.state_entries(model)} for model in (first, second)
    ]
    pairs = []
    for name, (tensor, _, _) in args.state.items():
        limit.look()
        a, b = (state.get(name) for state in states)
        require(
            a is not None
            and b is not None
            and a.shape == b.shape == tensor.shape
            and a.dtype in dist.FLOATS,
            "%s is not always there" % name,
        )
        require(
            (a == b).double().mean().item() <= MOST_EQUAL, "%s is the same under other seeds" % name
        )
        some = _some(a)
        require(
            some.numel() < 2 or torch.unique(some).numel() >= (1 - MOST_REPEATED) * some.numel(),
            "%s repeats its numbers" % name,
        )
        require(not is_structured(a), "%s is no matrix of independent numbers" % name)
        require(
            not any(go_together(a, other) for _, other, _ in pairs),
            "%s is made of another weight" % name,
        )
        pairs.append((name, a, b))
    return pairs


def _is_silent(args, model, name, inputs):
    """True if a weight, drawn as the judge draws it in a module with drawn weights, changes the
    output by no more than rounding does."""
    frozen_model, args.model = args.model, model
    before = args.keep_state()
    try:
        args.fill_state(7)
        drawn = args.keep_state()
        outputs = args.call(inputs)
        args.model.load_state_dict(drawn)
        error = problem_measure.rounding_error(args, inputs, outputs)
        args.fill_state(41, {name})
        return problem_measure.difference(outputs, args.call(inputs)) <= ROUNDINGS * error
    finally:
        args.model.load_state_dict(before)
        args.model = frozen_model


def _require_influence(args, limit, drawn_model, pairs, inputs, outputs):
    """Checks that each weight of another seed changes the output."""
    for name, a, b in pairs:
        limit.look()
        kept = a.detach().clone()
        with torch.no_grad():
            a.copy_(b)
        changed = args.call(inputs)
        with torch.no_grad():
            a.copy_(kept)
        matters = problem_measure.difference(outputs, changed) >= INFLUENCE
        require(
            matters or _is_silent(args, drawn_model, name, inputs),
            "%s hardly influences the output" % name,
        )


def _require_outputs(args, limit, seeds):
    """Checks that outputs are finite and depend on inputs, with any weights."""
    inputs, others = args.values(8), args.values(21)
    for seed in seeds:
        limit.look()
        args.model = _construct(args, seed)
        before = args.keep_state()
        outputs = args.call(inputs)
        changed = args.call(others)
        args.model.load_state_dict(before)
        require(problem_measure.finite(outputs + changed), "the output is not always finite")
        require(
            problem_measure.difference(outputs, changed) >= problem_measure.FAINT,
            "the output hardly depends on the input",
        )
    try:
        error = problem_measure.rounding_error(args, inputs, outputs)
    except Exception:  # it insists on its own precision
        error = 0
    require(error <= problem_measure.UNSTABLE, "rounding decides about the output")
    generator = torch.Generator().manual_seed(6)
    for how in problem_measure.VARIATIONS:
        varied = [
            (
                dist.varied(v.float(), how, generator).to(v.dtype)
                if s
                and s["kind"] in ("normal", "uniform")
                and s.get("vary", True)
                and problem_measure.applies(s, how)
                else v
            )
            for s, v in zip(args.specs, inputs)
        ]
        require(
            problem_measure.finite(args.call(varied)), "the output of varied inputs is not finite"
        )


class Limit:
    def __init__(self, seconds):
        self.seconds = seconds
        self.end = time.monotonic() + seconds

    def look(self):
        require(
            time.monotonic() < self.end,
            "it takes longer than %g s to find out (an import's --timeout gives it more)"
            % self.seconds,
        )


def why_not(args, seconds):
    """Returns the reason against frozen weights for this problem; None without a reason. `seconds`:
    the time for the problem."""
    kept, limit = args.model, Limit(seconds / PART)
    try:
        require(any(kind == "parameter" for _, kind, _ in args.state.values()), "it has no weights")
        require(
            all(v.dtype in dist.FLOATS for v, s in zip(args.first, args.specs) if s is not None),
            "an input is not floating",
        )
        first, second = _construct(args, 51), _construct(args, 52)
        pairs = _require_weights(args, limit, first, second)
        args.model = first
        inputs = args.values(8)
        before = args.keep_state()
        outputs = args.call(inputs)
        args.model.load_state_dict(before)
        require(
            problem_measure.difference(outputs, args.call(inputs)) <= 1e-4,
            "two calls with the same inputs differ",
        )
        args.model.load_state_dict(before)
        _require_influence(args, limit, kept, pairs, inputs, outputs)
        _require_outputs(args, limit, range(53, 53 + SEEDS))
        return None
    except Unfreezable as reason:
        return str(reason)
    # Such as a module that insists on its own precision.
    except (problem_measure.Unfit, load.LoadError, RuntimeError, TypeError) as reason:
        return problem_measure.one_line(reason)
    finally:
        args.model = kept
