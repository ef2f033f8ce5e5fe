"""Finds workloads that only show whether a solution generalises: inputs of other sizes and of other
distributions, which the module itself takes.

Extents of inputs that are equal change together, because mostly they are one: the batch, or the
length of a sequence. If the module refuses that, those at one place change together, then each one
alone. The weights stay, so an extent that they fix cannot change. Every try is a call of forward: on
tensors without storage (meta.py), and with values where the problem is small. A module that branches
on integers is tried with values only.
"""
import math
import time

import torch

import distributions as dist
import full_numbers
import meta
import problem_measure

SECONDS = 10.0  # for all tries
LARGEST = 2048  # extent of an unseen size
ELEMENTS = 1 << 21  # of all inputs of an unseen size
SHAPES = ("ragged", "odd", "minimal")


def extents(extent):
    """Returns what an extent may become, for each of SHAPES, the best first."""
    near = min(extent, LARGEST)
    ragged = [3 * near // 4 | 1, near - 1, near // 2 + 1, near - 2, near - 4, 3 * near // 4, near // 2]
    odd = [13, 7, 37, 5, 3, 9, 33, 12, 24, near // 2, near // 4]
    minimal = [1, 2, 3, 4, 8, 16, 32]
    return [
        [n for n in dict.fromkeys(row) if 0 < n <= near and n != extent]
        for row in (ragged, odd, minimal)
    ]


class Trial:
    """Calls the module with inputs of other shapes."""

    def __init__(self, args, problem, options, size, is_small):
        self.args, self.is_small = args, is_small
        self.full = size.inputs if size else args.first
        self.shapes = [
            tuple(v.shape) if isinstance(v, torch.Tensor) else None for v in self.full
        ]
        self.until = time.monotonic() + min(SECONDS, options.seconds / 8)
        has_integers = any(
            isinstance(v, torch.Tensor) and v.dtype not in dist.FLOATS for v in self.full
        )
        self.model = None
        if not is_small and not has_integers:
            try:
                self.model = meta.storageless_parts(problem, options)[1]
            except Exception:
                self.model = None

    @property
    def possible(self):
        return self.is_small or self.model is not None

    def specs_for(self, shapes):
        """Returns new distributions, by the numbers of their inputs: of those with values that count
        an extent that changed."""
        changed = {}
        renamed = {
            old: new
            for before, after in zip(self.shapes, shapes)
            if before
            for old, new in zip(before, after)
            if old != new
        }
        for i, spec in enumerate(self.args.specs):
            if spec and (full_numbers.is_mask(spec) or self.full[i].dtype == torch.bool):
                continue  # Flags: with one number less all would be 0.
            if spec and spec["kind"] == "offsets" and i in self.args.counted:
                other, dim = self.args.counted[i]
                if shapes[other][dim] != self.shapes[other][dim]:
                    changed[i] = {**spec, "total": shapes[other][dim]}
            elif spec and spec["kind"] in ("integers", "sorted") and spec["high"] in renamed:
                if renamed[spec["high"]] > spec["low"]:
                    changed[i] = {**spec, "high": renamed[spec["high"]]}
        return changed

    def values(self, shapes, specs):
        generator = torch.Generator().manual_seed(17)
        return [
            dist.sample(specs.get(i, spec), shapes[i], value.dtype, generator) if spec else value
            for i, (spec, value) in enumerate(zip(self.args.specs, self.full))
        ]

    def outputs(self, shapes, specs=None):
        """Returns the outputs for inputs of these shapes; None if the module refuses them or the
        time is over."""
        if time.monotonic() > self.until or not self.possible:
            return None
        specs = {**self.specs_for(shapes), **(specs or {})}
        if self.is_small:
            before = self.args.keep_state()
            try:
                made = self.args.call(self.values(shapes, specs))
            except Exception:
                return None
            finally:
                self.args.model.load_state_dict(before)
            return made if problem_measure.finite(made) and all(o.numel() for o in made) else None
        inputs = [
            torch.empty(shape, dtype=value.dtype, device="meta") if shape is not None else value
            for shape, value in zip(shapes, self.full)
        ]
        try:
            with meta.Storageless(), torch.no_grad():
                made = problem_measure.flatten_outputs(self.model(*inputs))
        except Exception:
            return None
        return made if all(o.numel() for o in made) else None


def with_extents(shapes, changes):
    """Returns the shapes with other extents: {(input, dimension): extent}."""
    return [
        None
        if shape is None
        else tuple(changes.get((i, d), extent) for d, extent in enumerate(shape))
        for i, shape in enumerate(shapes)
    ]


def groups_of(shapes):
    """Yields sets of places (input, dimension) that may change together, the largest first."""
    places = [
        (i, d, extent)
        for i, shape in enumerate(shapes)
        if shape
        for d, extent in enumerate(shape)
        if extent > 1
    ]
    for key in (lambda p: p[2], lambda p: (p[2], p[1]), lambda p: p[:2]):
        for value in dict.fromkeys(key(p) for p in places):
            yield [p[:2] for p in places if key(p) == value]


def free_groups(trial):
    """Returns (places, extents for each of SHAPES or None) of the extents that can change."""
    found, taken = [], set()
    for group in groups_of(trial.shapes):
        if taken.intersection(group):
            continue
        i, d = group[0]
        chosen = []
        for name, row in zip(SHAPES, extents(trial.shapes[i][d])):
            works = (
                n
                for n in row
                if (n not in chosen or name == "minimal")
                and trial.outputs(with_extents(trial.shapes, dict.fromkeys(group, n))) is not None
            )
            chosen.append(next(works, None))
        if any(n and n > 1 for n in chosen):  # 1 alone is a broadcast
            found.append((group, chosen))
            taken.update(group)
    return found


def elements(shapes):
    return sum(math.prod(shape) for shape in shapes if shape is not None)


def changes_of(groups, number, shapes):
    """Returns what changes together in one of SHAPES: all groups, smaller ones if all would be too
    large."""
    changes = {}
    for group, chosen in groups:
        if chosen[number]:
            changes.update(dict.fromkeys(group, chosen[number]))
    while changes and elements(with_extents(shapes, changes)) > ELEMENTS:
        most = max(changes.values())
        if most < 32:
            break
        changes = {p: n // 2 | 1 if n == most else n for p, n in changes.items()}
    return changes


def sizes(trial, names, output_names):
    """Returns the workloads of other sizes."""
    groups, made, seen = free_groups(trial), [], [trial.shapes]
    for number, name in enumerate(SHAPES):
        whole = changes_of(groups, number, trial.shapes)
        parts = [changes_of([g], number, trial.shapes) for g in groups] if len(groups) > 1 else []
        for changes in [whole] + parts:
            shapes = with_extents(trial.shapes, changes)
            if not changes or shapes in seen or elements(shapes) > 8 * ELEMENTS:
                continue
            outputs = trial.outputs(shapes)
            if outputs is None or len(outputs) != len(output_names):
                continue
            if any(o.dim() != d for o, (_, d) in zip(outputs, output_names)):
                continue
            seen.append(shapes)
            row = {
                "name": name,
                "unseen": "sizes",
                "shapes": {
                    **{n: list(s) or [1] for n, s in zip(names, shapes) if s is not None},
                    **{n: list(o.shape) or [1] for (n, _), o in zip(output_names, outputs)},
                },
            }
            specs = {names[i]: spec for i, spec in trial.specs_for(shapes).items()}
            made.append({**row, "distributions": specs} if specs else row)
            break
    return made


def other_specs(spec, dtype):
    """Returns other distributions of an input: {"sparse": …, "equal": …, …}."""
    kind, floating = spec["kind"], dtype in dist.FLOATS
    if floating and kind in ("normal", "uniform"):
        if kind == "normal":
            mean, span = spec.get("mean", 0), spec.get("std", 1)
            low, high = mean - 3 * span, mean + 3 * span
        else:
            low, high = spec.get("low", 0), spec.get("high", 1)
            mean, span = (low + high) / 2, (high - low) / 4
        first, last = math.ceil(low), math.floor(high)
        made = {"equal": {"kind": "constant", "value": dist._number(mean + span / 2)}}
        if low < 0 < high:
            made["sparse"] = {"kind": "sparse", "density": 0.1}
        if last - first >= 2:
            first, last = max(first, -2), min(last, 3)
        if last - first >= 2:
            made["clustered"] = {"kind": "integers", "low": first, "high": last}
        return {name: {**other, "vary": False} for name, other in made.items()}
    if kind in ("integers", "sorted") and spec["high"] - spec["low"] > 2:
        low = spec["low"]
        return {
            "equal": {"kind": "constant", "value": low, "vary": False},
            "clustered": {"kind": kind, "low": low, "high": low + 2, "vary": False},
        }
    if kind == "offsets":
        return {"zipf": {**spec, "skew": 8}, "clustered": {**spec, "skew": 0.125}}
    return {}


def data(trial, names):
    """Returns the workloads with other distributions, at the given sizes."""
    rows = {}
    for i, spec in enumerate(trial.args.specs):
        for name, other in other_specs(spec, trial.full[i].dtype).items() if spec else ():
            rows.setdefault(name, {})[i] = other
    made = []
    for name, specs in sorted(rows.items()):
        if trial.is_small and trial.outputs(trial.shapes, specs) is None:
            continue
        made.append(
            {
                "name": name,
                "unseen": "data",
                "distributions": {names[i]: spec for i, spec in specs.items()},
            }
        )
    return made


def workloads(args, problem, options, size, is_small, names, output_names):
    """Returns the unseen workloads of a problem. `names`: of its inputs, in the order of forward.
    `output_names`: (name, number of dimensions)."""
    if args.generated:  # get_inputs knows one size, and one distribution.
        return []
    trial = Trial(args, problem, options, size, is_small)
    if not trial.possible:
        return []
    return sizes(trial, names, output_names) + (data(trial, names) if is_small else [])
