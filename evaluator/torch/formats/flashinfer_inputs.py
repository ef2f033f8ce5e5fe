"""How the inputs of a definition are drawn: Python for get_inputs(), and the distributions that
task.json has for the same values.

- random: normal numbers; names such as rstd, A_log or x_mask say that others are meant, as in
  SOL-ExecBench's own inputs. Integers are those of both evaluators: −1024 to 1023.
- scalar: the number.
- safetensors: the data of the file are described by their kind (offsets, permutation, sorted or
  other integers within their bounds, normal or uniform numbers), and drawn anew in each call. So no
  answer can be stored, and only integers that are legal in the file are drawn.
- custom: what the definition's own function returns. describe.py measures it.
"""

import os
import re
import sys

from .flashinfer_fault import Fault

INTEGERS = {
    "int64": (-1024, 1024),
    "int32": (-1024, 1024),
    "int16": (-1024, 1024),
    "int8": (-128, 128),
    "uint8": (0, 256),
    "bool": (0, 2),
}
NORM = re.compile(r"(^|_)(\w*norm)_(?P<part>weight|bias)\d*$")
# (name, low, high) of numbers that only make sense in a range
RANGES = (
    (NORM, None, None),
    (re.compile(r"(^|_)(rstd|std|variance|var)\d*$"), 0.1, 2.1),
    (re.compile(r"^A_log$"), -5, -1),
    (re.compile(r"^A$"), -1, -0.001),
    (re.compile(r"^g$"), -5, 0),
    (re.compile(r"^(rope_)?(cos|sin)(_cached)?$"), -1, 1),
)
BINARY_MASK = re.compile(r"^(x|text|aspect_ratio|drop)_mask$")
BINARY_WORDS = ("binary", "{0, 1}", "0 or 1", "1.0 for valid", "0.0 for masked")
SOFTMAX = re.compile(r"^(attn_weights|attention_weights|routing_weights|probs)$")
WEIGHT = re.compile(r"(^|_)(weights?|projs?|weight_matrix)\d*$")
OFFSETS = re.compile(r"(indptr|offset|cu_?seq|ptr$|cumsum)")
INSTALL = "%s -m pip install safetensors" % (sys.executable or "python3")


class Input:
    """An input: `code` makes it in get_inputs(), `distribution` is that of task.json or None,
    `constants` are module-level integers with a value for each workload, `derived` are others that
    follow from constants: name -> (Python, expression of task.json). `values`: of a number, one or
    one for each workload."""

    def __init__(self, name, code, distribution=None, constants=None):
        self.name, self.code = name, code
        self.distribution, self.constants = distribution, constants or {}
        self.derived, self.values = {}, []


def number(value):
    """Returns a float of at most six digits; a whole number stays one."""
    value = float("%.6g" % value)
    return int(value) if value == int(value) else value


def normal(name, shape, dtype, mean=0.0, std=1.0):
    mean, std = number(mean), number(std)
    code = "torch.randn(%s)" % shape
    code = code if (mean, std) == (0, 1) else "(%s * %r + %r)" % (code, std, mean)
    given = {"kind": "normal"}
    given.update({"mean": mean} if mean else {})
    given.update({"std": std} if std != 1 else {})
    return Input(name, "%s.to(torch.%s)" % (code, dtype), given)


def uniform(name, shape, dtype, low, high):
    low, high = number(low), number(high)
    code = "(torch.rand(%s) * %r + %r)" % (shape, number(high - low), low)
    return Input(
        name,
        "%s.to(torch.%s)" % (code, dtype),
        {"kind": "uniform", "low": low, "high": high},
    )


def integers(name, shape, dtype, low, high, constants=None):
    """`low` and `high` (exclusive): numbers, or names of module-level constants."""
    return Input(
        name,
        "torch.randint(%s, %s, %s).to(torch.%s)" % (low, high, shape, dtype),
        {"kind": "integers", "low": low, "high": high},
        constants,
    )


def random(name, spec, shape):
    dtype, about = spec["dtype"], (spec.get("description") or "").lower()
    if dtype in INTEGERS:
        return integers(name, shape, dtype, *INTEGERS[dtype])
    for pattern, low, high in RANGES:
        match = pattern.search(name)
        if match and low is None:
            low = 0.5 if match.group("part") == "weight" else -0.5
            high = low + 1
        if match:
            return uniform(name, shape, dtype, low, high)
    if BINARY_MASK.search(name) or name.endswith("_mask") and any(w in about for w in BINARY_WORDS):
        return integers(name, shape, dtype, 0, 2)
    if SOFTMAX.search(name) or "softmax" in about and "output" in about:
        return Input(name, "torch.softmax(torch.randn(%s), -1).to(torch.%s)" % (shape, dtype))
    if name == "A_cumsum":
        return Input(name, "(torch.rand(%s) * -0.1).cumsum(-1).to(torch.%s)" % (shape, dtype))
    if WEIGHT.search(name) and len(spec["shape"]) > 1:
        code = "torch.randn(%s).div(axis_%s ** 0.5)" % (shape, spec["shape"][-1])
        return Input(name, "%s.to(torch.%s)" % (code, dtype))
    return normal(name, shape, dtype)


# ---- safetensors ---------------------------------------------------------------------------------


def find_file(top, path, where):
    """Returns the file below `top`; a path may begin with folders above it, as in both projects."""
    parts = os.path.normpath(path).split(os.sep)
    if os.path.isabs(path) or ".." in parts:
        raise Fault("safetensors", "%s: %s is outside of the folder" % (where, path))
    inside = os.path.realpath(top)
    for start in range(len(parts)):
        found = os.path.realpath(os.path.join(top, *parts[start:]))
        if os.path.isfile(found):
            if not found.startswith(inside + os.sep):
                raise Fault("safetensors", "%s: %s is outside of the folder" % (where, path))
            return found
    raise Fault("safetensors", "%s: %s is missing below the folder" % (where, path))


def read_tensor(top, workload, name, spec):
    """Returns the tensor of a workload's input, checked against the definition."""
    source, where = workload["inputs"][name], workload["where"]
    path, key = source.get("path"), source.get("tensor_key")
    if not isinstance(path, str) or not isinstance(key, str):
        raise Fault("safetensors", "%s: input %s: expected path and tensor_key" % (where, name))
    found = find_file(top, path, where)
    try:
        from safetensors import safe_open
    except ImportError:
        raise Fault(
            "safetensors",
            "%s: input %s is in a safetensors file, and the Python package safetensors is missing; "
            "install it with `%s`" % (where, name, INSTALL),
        ) from None
    try:
        with safe_open(found, framework="pt") as file:
            if key not in file.keys():
                raise Fault(
                    "safetensors",
                    '%s: %s has no tensor "%s"; it has %s'
                    % (where, path, key, ", ".join(sorted(file.keys())[:8])),
                )
            tensor = file.get_tensor(key)
    except Fault:
        raise
    except Exception as error:
        raise Fault("safetensors", "%s: %s: %s" % (where, path, error)) from None
    wanted = [workload["values"][axis] for axis in spec["shape"] or []]
    dtype = str(tensor.dtype).replace("torch.", "")
    if list(tensor.shape) != wanted or dtype != spec["dtype"]:
        raise Fault(
            "safetensors",
            "%s: input %s is %s%s in the file; the definition has %s%s"
            % (where, name, dtype, list(tensor.shape), spec["dtype"], wanted),
        )
    return tensor


def is_offsets(tensor):
    if tensor.dim() != 1 or tensor.numel() < 2 or int(tensor[0]) != 0 or int(tensor[-1]) < 1:
        return False
    return bool((tensor.long().diff() >= 0).all())


def is_permutation(tensor):
    values = tensor.long().reshape(-1)
    return values.numel() > 1 and bool(
        (values.sort()[0] == values.new_tensor(range(values.numel()))).all()
    )


def is_ascending(tensor):
    steps = tensor.long().diff() if tensor.dim() else tensor
    return tensor.numel() >= 8 and bool((steps >= 0).all()) and bool((steps > 0).any())


def axis_of(values, workloads):
    """Returns the axis that has these values, one for each workload; None without one."""
    for axis in workloads[0]["values"]:
        if [workload["values"][axis] for workload in workloads] == values:
            return axis
    return None


def of_integers(name, shape, dtype, tensors, workloads):
    """Describes integers of files by the first kind that fits all workloads."""
    if all(is_offsets(tensor) for tensor in tensors):
        totals = [int(tensor[-1]) for tensor in tensors]
        axis = axis_of(totals, workloads)
        if axis or OFFSETS.search(name):  # page numbers may ascend from 0 as well
            total = "axis_" + axis if axis else name + "_total"
            code = "offsets(%s, %s).to(torch.%s)" % (shape, total, dtype)
            given = {"kind": "offsets", "total": total}
            return Input(name, code, given, {} if axis else {total: totals})
    if all(is_permutation(tensor) for tensor in tensors):
        code = "torch.randperm(math.prod(%s)).reshape(%s).to(torch.%s)" % (shape, shape, dtype)
        return Input(name, code, {"kind": "permutation"})
    lows, highs = [int(t.min()) for t in tensors], [int(t.max()) + 1 for t in tensors]
    if all(low + 1 == high for low, high in zip(lows, highs)) and min(lows) > 1:
        lows = [1] * len(lows)  # lengths that are all equal: others are legal as well
    low, most, high = name + "_low", name + "_most", name + "_high"
    bound = at_most(most, highs, workloads)
    if bound[0] != most and min(lows) >= 0:
        lows = [0] * len(lows)  # they number the elements of an axis
    made = integers(name, shape, dtype, low, high, {low: lows, most: highs})
    made.derived[high] = bound
    if all(is_ascending(tensor) for tensor in tensors):
        made.code = made.code.replace(".to(", ".sort(-1)[0].to(", 1)
        made.distribution["kind"] = "sorted"
    return made


def at_most(name, highs, workloads):
    """Returns (Python, expression) of `name`, and no more than each axis that no integer reaches: a
    smaller cache needs smaller page numbers."""
    python = written = name
    for axis in workloads[0]["values"]:
        if all(high <= workload["values"][axis] for high, workload in zip(highs, workloads)):
            python, written = (
                "min(%s, axis_%s)" % (python, axis),
                "min(%s, {axis_%s})" % (written, axis),
            )
    return python, written


def of_floats(name, shape, dtype, tensors):
    import torch

    values = tensors[0].double()
    if not bool(torch.isfinite(values).all()):
        raise Fault("safetensors", "input %s has infinities or NaN in its file" % name)
    low, high = values.min().item(), values.max().item()
    mean, std = values.mean().item(), values.std().item() if values.numel() > 1 else 0.0
    kurtosis = (values - mean).pow(4).mean().item() / std**4 if std else 0.0
    if low == high:
        return uniform(name, shape, dtype, 0.5 * low if low else -0.5, 1.5 * low if low else 0.5)
    if abs(kurtosis - 3) < 1:
        return normal(name, shape, dtype, mean, std)
    return uniform(name, shape, dtype, low, high)


# ---- all of them ---------------------------------------------------------------------------------


def make(name, spec, workloads, top):
    """Returns the Input `name` of a definition's workloads."""
    kinds = sorted({workload["inputs"][name]["type"] for workload in workloads})
    if len(kinds) > 1:
        raise Fault(
            "workload.inputs",
            "input %s is %s in some workloads and %s in others" % (name, kinds[0], kinds[1]),
        )
    if kinds == ["scalar"]:
        return scalar(name, [workload["inputs"][name]["value"] for workload in workloads])
    if kinds == ["custom"]:
        return Input(name, "custom[%r]" % name)
    extents = ["axis_" + axis for axis in spec["shape"] or []]
    shape = "(%s)" % (", ".join(extents) + ("," if len(extents) == 1 else ""))
    if kinds == ["random"]:
        return random(name, spec, shape)
    tensors = [read_tensor(top, workload, name, spec) for workload in workloads]
    if tensors[0].is_floating_point():
        return of_floats(name, shape, spec["dtype"], tensors)
    if str(tensors[0].dtype) == "torch.bool":
        return integers(name, shape, "bool", 0, 2)
    return of_integers(name, shape, spec["dtype"], tensors, workloads)


def scalar(name, values):
    """A number. If it differs between workloads, the constant `number` chooses."""
    first = values[0]
    if all(type(value) is type(first) and value == first for value in values):
        values = [first]
    made = Input(name, repr(first) if len(values) == 1 else "%r[number]" % values)
    made.values = values
    return made
