"""The distribution of a tensor's values, in the terms of task.json (docs/reference/task-format.md,
"Distributions").

There are three sources. An integer input that ascends from 0 to an extent of another input is
offsets. Watching the factories shows the calls of torch.rand, randn, randint and
similar, if the problem hands over their result unchanged. Everything else (rand * scale,
triu(rand), softmax, weights after initialisation) is measured on two draws: equal values are fixed,
matrices may be triangular or symmetric, few integers are integers, and the moments separate uniform
from normal. For any other distribution the tensor is filled uniformly over its range, with a note.

sample() fills a tensor as the judge will, with other numbers. So the checks see what will be
judged.
"""
import math

import torch

FLOATS = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
for _name, _dtype in (("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2")):
    if hasattr(torch, _dtype):  # of PyTorch 2.1 and later
        FLOATS[getattr(torch, _dtype)] = _name
INTEGERS = {
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}
DTYPES = {**FLOATS, **INTEGERS}


class Watch:
    """While active, remembers the distribution of each tensor that a factory of torch returned."""

    FACTORIES = """
        rand randn randint randperm zeros ones full rand_like randn_like zeros_like ones_like
    """.split()

    def __init__(self):
        self.made = {}

    def __enter__(self):
        self.originals = {name: getattr(torch, name) for name in self.FACTORIES}
        for name, original in self.originals.items():
            setattr(torch, name, self._watched(name, original))
        return self

    def __exit__(self, *_):
        for name, original in self.originals.items():
            setattr(torch, name, original)

    def _watched(self, name, original):
        def factory(*args, **kwargs):
            result = original(*args, **kwargs)
            spec = self._spec(name, args, kwargs)
            if spec and isinstance(result, torch.Tensor):
                self.made[id(result)] = (result, result._version, spec)
            return result

        return factory

    @staticmethod
    def _spec(name, args, kwargs):
        if name.startswith("randn"):
            return {"kind": "normal"}
        if name.startswith("randint"):
            numbers = [a for a in args if isinstance(a, int) and not isinstance(a, bool)]
            low = kwargs.get("low", numbers[0] if len(numbers) > 1 else 0)
            high = kwargs.get(
                "high", numbers[1] if len(numbers) > 1 else numbers[0] if numbers else None
            )
            return {"kind": "integers", "low": low, "high": high} if isinstance(high, int) else None
        if name == "randperm":
            return {"kind": "permutation"}
        if name.startswith("rand"):
            return {"kind": "uniform"}
        if name == "full":
            return {"value": kwargs.get("fill_value", args[1] if len(args) > 1 else None)}
        return {"value": 1 if name.startswith("ones") else 0}

    def _made(self, tensor):
        result, version, spec = self.made.get(id(tensor), (None, None, {}))
        return spec if result is tensor and tensor._version == version else {}

    def spec(self, tensor):
        """Returns the distribution from which the tensor was drawn. None for a tensor of another
        origin, or one that was written to since. The values of constants show them."""
        spec = self._made(tensor)
        return dict(spec) if "kind" in spec else None

    def constant(self, tensor):
        """Returns the integer with which a factory filled the tensor, which may have no storage.
        None without one."""
        value = self._made(tensor).get("value")
        return value if type(value) is int else None


def _number(value):
    """Returns a number as JSON writes it: integers without a point, other numbers with six digits.
    """
    value = float(value)
    if value == int(value) and abs(value) < 2**53:
        return int(value)
    return float("%.6g" % value)


def _outward(low, high):
    """Returns bounds as a person would write them. A draw hardly reaches its bounds, so the nearest
    round numbers outside count, if they are near."""
    span = high - low
    rounded = []
    for value, away in ((low, -1), (high, 1)):
        step = 10.0 ** math.floor(math.log10(span)) if span > 0 else 1.0
        near = (math.floor if away < 0 else math.ceil)(value / step) * step
        rounded.append(near if abs(near - value) < 0.02 * span else value)
    return rounded


def _is_square(tensor):
    return tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] and tensor.shape[-1] > 1


def _moments(values):
    mean = values.mean().item()
    centred = values - mean
    variance = centred.pow(2).mean().item()
    kurtosis = centred.pow(4).mean().item() / variance**2 if variance > 0 else 0.0
    return mean, math.sqrt(variance), kurtosis


def _of_values(values):
    """Returns (kind, low, high or mean, std, whether it fits) of floating-point values that differ.
    """
    low, high = values.min().item(), values.max().item()
    mean, deviation, kurtosis = _moments(values)
    span = high - low
    count = values.numel()
    if (
        count >= 256
        and abs(kurtosis - 3) < 0.3 + 12 / math.sqrt(count)
        and abs(mean - (low + high) / 2) < 0.2 * span
    ):
        mean = 0.0 if abs(mean) < 4 * deviation / math.sqrt(count) else mean
        return {"kind": "normal", "mean": _number(mean), "std": _number(deviation)}, True
    low, high = _outward(low, high)
    fits = count < 64 or (
        abs(deviation - span / math.sqrt(12)) < 0.05 * span and abs(kurtosis - 1.8) < 0.3
    )
    return {"kind": "uniform", "low": _number(low), "high": _number(high)}, fits


def _of_integral(values, dtype):
    """Classifies floating-point or integer tensors with only integral values."""
    low, high = int(values.min().item()), int(values.max().item())
    if dtype == torch.bool:
        return {"kind": "integers", "low": 0, "high": 2}
    flat = values.reshape(-1)
    if low == -1 and high == 1 and not bool((flat == 0).any()):
        return {"kind": "signs"}
    if (
        low == 0
        and high == 1
        and values.dim() >= 1
        and values.shape[-1] > 1
        and bool((values.sum(-1) == 1).all())
    ):
        return {"kind": "one_hot"}
    if (
        dtype not in FLOATS
        and flat.numel() > 1
        and low == 0
        and high == flat.numel() - 1
        and flat.unique().numel() == flat.numel()
    ):
        return {"kind": "permutation"}
    return {"kind": "integers", "low": low, "high": high + 1}


def constant_varied(value, dtype):
    """Returns the distribution that replaces a constant, so that no shortcut for the constant
    passes: around it, on its side of zero."""
    if dtype not in FLOATS:
        return {"kind": "constant", "value": _number(value)}
    if value == 0:
        return {"kind": "uniform", "low": -0.5, "high": 0.5}
    return {
        "kind": "uniform",
        "low": _number(min(0.5 * value, 1.5 * value)),
        "high": _number(max(0.5 * value, 1.5 * value)),
    }


def total_of_offsets(tensor, other):
    """Returns the last of offsets: ascending integers from 0, in both draws. None for others, and
    for 0, 1, 2, …, which may be positions as well."""
    if tensor.dtype in FLOATS or tensor.dtype == torch.bool or tensor.dim() != 1:
        return None
    total = int(tensor[-1]) if tensor.numel() > 2 else 0
    for values in (tensor, other):
        steps = values.long().diff()
        if not total or int(values[0]) or int(values[-1]) != total or bool((steps < 0).any()):
            return None
    return total if bool((tensor.long().diff() != 1).any()) else None


def is_sorted(values):
    """True if the rows ascend, which values in any order seldom do."""
    rows = values.reshape(-1, values.shape[-1]) if values.dim() else values.reshape(1, -1)
    ascending = bool((rows[:, 1:] >= rows[:, :-1]).all())
    return ascending and rows.shape[-1] >= 8 and bool((rows[:, -1] > rows[:, 0]).any())


def is_positive_definite(values):
    """True if all symmetric matrices have a Cholesky factor."""
    return bool((torch.linalg.cholesky_ex(values).info == 0).all())


FIXED = {"kind": "fixed"}  # equal in every draw, but not constant: a mask, an index table


def classify(tensor, other, watched=None):
    """Returns (spec, note or None): the distribution of `tensor`, with `other` as a second draw of
    it. spec is FIXED for a tensor without randomness."""
    if watched:
        return watched, None
    first, second = tensor.detach().cpu(), other.detach().cpu()
    if first.numel() > 1 << 22 and not _is_square(first):  # a part suffices
        first, second = first.reshape(-1)[: 1 << 22], second.reshape(-1)[: 1 << 22]
    floating = first.dtype in FLOATS
    values = first.double()
    if not bool(torch.isfinite(values).all()):
        return FIXED, "holds infinities or NaN"
    if torch.equal(first, second):
        low, high = values.min().item(), values.max().item()
        return (
            (FIXED, None)
            if low != high
            else (
                constant_varied(low, first.dtype),
                "constant %g, varied" % low if floating else None,
            )
        )
    if not floating and first.dtype != torch.bool and is_sorted(first) and is_sorted(second):
        both = torch.cat([first.reshape(-1), second.reshape(-1)])
        return {"kind": "sorted", "low": int(both.min()), "high": int(both.max()) + 1}, (
            "bounds as seen in a draw"
        )
    if bool((values == values.round()).all()) and values.unique().numel() <= max(
        64, values.numel() // 4 if not floating else 0
    ):
        return _of_integral(values, first.dtype), None
    if floating and values.numel() < 16:  # too few values for more than their size
        both = torch.cat([values.reshape(-1), second.double().reshape(-1)])
        low, high = both.min().item(), both.max().item()
        most = 1.5 * max(abs(low), abs(high))
        return {
            "kind": "uniform",
            "low": _number(0.5 * low if low > 0 else -most),
            "high": _number(0.5 * high if high < 0 else most),
        }, None
    if not floating:
        spec = _of_integral(values, first.dtype)
        return spec, None if spec["kind"] != "integers" else "bounds as seen in a draw"
    if _is_square(values):
        kind = None
        if torch.equal(values, values.transpose(-1, -2)):
            if is_positive_definite(values) and is_positive_definite(second.double()):
                return {"kind": "positive_definite"}, "diagonally dominant matrices"
            kind, inside = "symmetric", values
        elif torch.equal(values, values.triu()):
            kind = "upper_triangular"
        elif torch.equal(values, values.tril()):
            kind = "lower_triangular"
        if kind:
            mask = torch.ones_like(values).triu().bool()
            inside = values[mask] if kind != "lower_triangular" else values.transpose(-1, -2)[mask]
            spec, fits = _of_values(inside)
            if spec["kind"] == "normal":
                spread = 1.7320508 * spec["std"]
                spec = {
                    "low": _number(spec["mean"] - spread),
                    "high": _number(spec["mean"] + spread),
                }
            return {"kind": kind, "low": spec["low"], "high": spec["high"]}, (
                None if fits else "filled uniformly over its range"
            )
    spec, fits = _of_values(values)
    return spec, None if fits else "not of a known kind: filled uniformly over its range"


def sample(spec, shape, dtype, generator):
    """Draws a tensor from a distribution as the judge does, with other numbers."""
    kind = spec["kind"]
    count = math.prod(shape)
    if kind == "normal":
        values = torch.empty(shape, dtype=torch.float32).normal_(
            spec.get("mean", 0), spec.get("std", 1), generator=generator
        )
    elif kind in ("uniform", "symmetric", "upper_triangular", "lower_triangular"):
        values = torch.empty(shape, dtype=torch.float32).uniform_(
            spec.get("low", 0), spec.get("high", 1), generator=generator
        )
        if kind == "upper_triangular":
            values = values.triu()
        elif kind == "lower_triangular":
            values = values.tril()
        elif kind == "symmetric":
            values = values.triu() + values.triu(1).transpose(-1, -2)
    elif kind == "positive_definite":
        values = torch.empty(shape, dtype=torch.float32).uniform_(-1, 1, generator=generator)
        values = values.triu(1) + values.triu(1).transpose(-1, -2)
        diagonal = torch.rand(shape[:-1], generator=generator)
        values += torch.diag_embed(diagonal + spec.get("dominance", 1) * shape[-1])
    elif kind == "integers":
        values = torch.randint(spec["low"], spec["high"], shape, generator=generator)
    elif kind == "sorted":
        values = torch.randint(spec["low"], spec["high"], shape, generator=generator).sort(-1)[0]
    elif kind == "offsets":
        drawn = torch.rand(shape, generator=generator).pow(spec.get("skew", 1))
        values = (drawn * spec["total"]).floor().long().sort(-1)[0]
        values[0], values[-1] = 0, spec["total"]
    elif kind == "permutation":
        values = torch.randperm(count, generator=generator).reshape(shape)
    elif kind == "signs":
        values = torch.randint(0, 2, shape, generator=generator) * 2 - 1
    elif kind == "sparse":
        values = torch.empty(shape, dtype=torch.float32).normal_(generator=generator)
        values *= torch.rand(shape, generator=generator) < spec.get("density", 0.1)
    elif kind == "one_hot":
        rows = torch.randint(0, shape[-1], shape[:-1], generator=generator)
        values = torch.nn.functional.one_hot(rows, shape[-1])
    else:
        values = torch.full(shape, spec["value"])
    return values.to(dtype)


def structured(spec, values, how, generator):
    """Returns integers under one of the judge's variations, None if it has no such one: all equal,
    or in clusters."""
    kind, result = spec["kind"], values.clone()
    if kind in ("integers", "sorted") and how == "equal":
        low, high = spec["low"], spec["high"]
        return torch.full_like(values, int(torch.randint(low, high, (1,), generator=generator)))
    if kind == "offsets":
        begin = int(torch.randint(1, values.numel(), (1,), generator=generator))
        result[:begin], result[begin:] = 0, spec["total"]
        return result
    if kind == "permutation" and how == "clusters":
        return torch.arange(values.numel()).roll(1).reshape(values.shape).to(values.dtype)
    if kind == "one_hot" and how == "equal":
        return values.reshape(-1, values.shape[-1])[:1].expand(
            values.numel() // values.shape[-1], -1
        ).reshape(values.shape)
    if kind == "signs" and how == "equal":
        return torch.ones_like(values)
    return None


def varied(values, how, generator):
    """Returns `values` under one of the judge's own variations (docs/reference/task-format.md,
    "vary")."""
    if how == "scale_up":
        return values * 64
    if how == "scale_down":
        return values / 64
    if how == "offset":
        return values + 8 * values.std() if values.numel() > 1 else values + 8 * values.abs()
    result = values.clone().reshape(-1)
    if how == "outlier":
        places = torch.randint(
            0, result.numel(), (max(1, result.numel() // 1024),), generator=generator
        )
        result[places] *= 32
    else:  # cancellation
        pairs = result[: result.numel() // 2 * 2].reshape(-1, 2)
        pairs[:, 1] = pairs[:, 1] / 64 - pairs[:, 0]
    return result.reshape(values.shape)
