"""Describes a problem file with several sizes.

A problem file may define KFORGE_WORKLOADS: a list of {"name", "timed", "patches": {constant:
number}}. One of them is measured as describe.py does. Of the others only the shapes are read, and
the distributions that depend on them. The description gets `params` and `workloads`, and each
extent that varies becomes the name of a param.

A workload is left out with a note if it cannot be described, has other arguments than the measured
one, or is smaller somewhere and the numbers of its inputs are unknown.
"""

import full_numbers
import full_shapes
import load
import meta
import shrink
from problem_measure import Unfit, draw_inputs, flatten_outputs, make_model

MOST_WORKLOADS = 64
# The constant that chooses among arguments that are no numbers (gpu_mode.py)
CASE = "case"
MOST_MEASURED = 3
MOST_PARAMS = 60
MOST_REAL_ELEMENTS = 1 << 26  # of a workload that needs a call of forward for its shapes
REAL_SECONDS = 4.0  # of processor time for that call


class Workload:
    def __init__(self, name, timed, patches, size):
        self.name, self.timed, self.patches, self.size = name, timed, patches, size
        self.specs = {}  # of inputs, by number


def listed(path, patches, options):
    """Returns the entries of KFORGE_WORKLOADS; None without it."""
    problem = load.Problem.read(path, patches, options.class_name)
    entries = getattr(problem.module, "KFORGE_WORKLOADS", None)
    if entries is None:
        return None
    good = isinstance(entries, list) and entries
    for entry in entries if good else []:
        good = good and isinstance(entry, dict) and isinstance(entry.get("patches"), dict)
    if not good:
        raise load.LoadError(
            "KFORGE_WORKLOADS is no list of {name, timed, patches}", str(path), "correct it"
        )
    return entries


def _fits(size, most):
    return size is not None and (
        not most or (size.elements <= most and (size.flops or 0) <= 256 * most)
    )


def sized(path, patches, options, shrinks):
    """Returns (patches, meta.Size, "") of one entry; without a size, the reason. `shrinks`: as
    small as the options ask for."""
    most = options.max_elements
    if shrinks:
        patches = shrink.shrink(path, patches, options, most, 256 * most).patches
    problem = load.Problem.read(path, patches, options.class_name)
    size = meta.size(problem, options)
    if size is not None and size.outputs is not None:
        return patches, size, ""
    if size is not None and most and not shrinks and size.elements > most:
        size.outputs = []  # too large to be asked for
        return patches, size, ""
    if size is not None and size.broken:
        return patches, None, load.words_of(size.broken)
    slow = size is not None and size.elements > MOST_REAL_ELEMENTS
    made = size or meta.Size([], {})
    try:
        if not slow and not meta.run_for_real(problem, options, made, REAL_SECONDS):
            return patches, None, why_not(problem, options)
    except meta.TooSlow:
        slow = True
    if slow and size is not None:
        made.outputs = from_smaller(path, patches, options)
    if made.outputs is not None:
        return patches, made, ""
    return patches, None, "its shapes are unknown without running it, and it is large"


def from_smaller(path, patches, options):
    """Returns the outputs of a problem with slow calls, from smaller sizes; None if they do
    not follow."""
    found = shrink.shrink(
        path, patches, options, shrink.REAL_ELEMENTS, 256 * shrink.REAL_ELEMENTS, keep_names=True
    )
    return full_shapes.predicted(path, patches, found.patches, options)


def why_not(problem, options):
    """Returns the reason for which a problem does not run."""
    try:
        inputs = draw_inputs(problem, 42)
        flatten_outputs(make_model(problem, 42, options.mode)(*inputs))
    except Exception as reason:
        return load.words_of(reason)
    return "its shapes are unknown"


def choose(path, given, options, entries, notes):
    """Returns the workloads that can be described, each size once. Timed ones come first. With a
    limit of elements it takes the workloads within it. If no timed one is, it shrinks those."""
    left, found = [], []

    def take(entry, name, shrinks):
        try:
            patches, size, why = sized(path, {**entry["patches"], **given}, options, shrinks)
        except (load.LoadError, Unfit) as reason:
            patches, size, why = None, None, str(reason)
        if size is None:
            left.append("%s (%s)" % (name, why))
        elif not any(w.patches == patches for w in found):
            found.append(Workload(name, bool(entry.get("timed", True)), patches, size))

    named = [(e, str(e.get("name") or "workload%d" % i)) for i, e in enumerate(entries)]
    for entry, name in named:
        take(entry, name, False)
    most = options.max_elements
    if most:
        large = [w for w in found if not _fits(w.size, most)]
        found = [w for w in found if w not in large]
        unknown = {name for _, name in named} - {w.name for w in found + large}
        if any(w.timed for w in found):
            left += ["%s (over --scale)" % w.name for w in large]
        else:
            left.clear()
            for entry, name in named:
                if name in unknown or any(w.name == name and w.timed for w in large):
                    take(entry, name, True)
    if not found:
        raise Unfit("size.unknown", "no workload can be described: %s" % "; ".join(left)[:600])
    if left:
        notes.append("left out: %s" % ", ".join(left)[:400])
    found.sort(key=lambda w: not w.timed)
    return found[:MOST_WORKLOADS]


def look_at_distributions(path, options, chosen, base, description, notes):
    """Fills Workload.specs with distributions that differ from the description's. Returns the
    workloads with safe ones."""
    arguments = iter(description["inputs"])
    order = [next(arguments) if hasattr(v, "dtype") else None for v in base.size.inputs]
    known = [full_numbers.dependent(a and a["distribution"]) for a in order]
    if not any(known):
        return chosen
    names = [a and a["name"] for a in order]
    state = [n for n in base.size.state if all(n in w.size.state for w in chosen)]

    def tensors(workload):
        size = workload.size
        return list(size.inputs) + [size.state[n] for n in state] + list(size.outputs)

    found = full_numbers.Workloads(names, known, tensors(base), options, len(chosen) - 1)
    safe = []
    for workload in chosen:
        if workload is not base:
            problem = load.Problem.read(path, workload.patches, options.class_name)
            specs = found.specs(workload.name, problem, tensors(workload))
            if specs is None:
                continue
            for argument, spec in zip(order, specs):
                if spec and spec != argument["distribution"]:
                    workload.specs[argument["name"]] = spec
        safe.append(workload)
    notes += found.notes(base.name)
    return safe


def tensors_of(workload):
    return [v for v in workload.size.inputs if hasattr(v, "dtype")]


def numbers_of(workload):
    return [v for v in workload.size.inputs if not hasattr(v, "dtype")]


def kinds_of(workload, names, state_names):
    """Returns {argument: its dtype and number of axes, or the type of its number}."""
    size, found = workload.size, {}
    for i, value in enumerate(size.inputs):
        found["input %s" % (names[i] if i < len(names) else i)] = kind_of(value)
    for name in state_names:
        found[name] = kind_of(size.state[name]) if name in size.state else "absent"
    for i, output in enumerate(size.outputs):
        found["output %d" % i] = kind_of(output)
    return found


def kind_of(value):
    if not hasattr(value, "dtype"):
        return type(value).__name__
    return "%s with %d axes" % (str(value.dtype).replace("torch.", ""), value.dim())


def difference(workload, base, *names):
    """Returns how the arguments of a workload differ from those of another one, but for their
    extents; "" if they do not."""
    here, there = kinds_of(workload, *names), kinds_of(base, *names)
    for name in list(there) + list(here):
        if here.get(name, "absent") != there.get(name, "absent"):
            return "%s is %s there, %s in %s" % (
                name,
                here.get(name, "absent"),
                there.get(name, "absent"),
                base.name,
            )
    return ""


def note_of_others(others, base, *names):
    """Returns a note about workloads with other arguments, and how to make a task of them."""
    first = others[0]
    todo = ""
    if CASE in first.patches:
        todo = "; --patch %s=%d and another --output make a task with those of %s" % (
            CASE,
            first.patches[CASE],
            first.name,
        )
    left = ", ".join(w.name for w in others)
    return "left out: %s (%s)%s" % (left, difference(first, base, *names), todo)


class Params:
    """The params of a task: one for each row of numbers that varies over the workloads."""

    def __init__(self, count):
        self.rows, self.count = {}, count
        self.taken = {"stream", "min", "max", "ceil_div", "log2", "abs"}

    def name(self, wanted, row, c_name):
        """Returns the param with these numbers; a new one if there is none."""
        row = tuple(row)
        for name, numbers in self.rows.items():
            if numbers == row:
                return name
        if len(self.rows) == MOST_PARAMS:
            raise Unfit(
                "params.count", "more than %d sizes differ over its workloads" % MOST_PARAMS
            )
        name = c_name(wanted, self.taken)
        self.rows[name] = row
        return name


def formula(params, wanted, row, c_name):
    """Returns a number that varies as an expression: a param, or for decimals, which no param can
    have, a choice by the workload's number."""
    if len(set(row)) == 1:
        return row[0]
    if all(float(value) == int(value) for value in row):
        return params.name(wanted, row, c_name)
    workload = params.name("workload", range(len(row)), c_name)
    text = repr(row[-1])
    for number in reversed(range(len(row) - 1)):
        text = "%s == %d ? %r : %s" % (workload, number, row[number], text)
    return text


def shapes_by(params, name, shapes, c_name):
    """Returns a shape with params for the extents that vary."""
    result = []
    for axis, extents in enumerate(zip(*shapes)):
        if len(set(extents)) == 1:
            result.append(extents[0])
        else:
            result.append(params.name("%s_%d" % (name, axis), extents, c_name))
    return result


def complete(description, chosen, base, c_name):
    """Adds params, workloads, patches and sizes to the description of `base`."""
    params = Params(len(chosen))
    params.taken.update(a["name"] for k in ("inputs", "outputs", "scalars") for a in description[k])
    params.taken.update(a["argument"] for a in description["state"])
    patches = dict(description["patches"])
    constants = {n: [w.patches.get(n) for w in chosen] for n in chosen[0].patches}
    for constant, row in constants.items():
        patches[constant] = formula(params, constant, row, c_name)
    rows = [
        (a, [tensors_of(w)[i].shape for w in chosen]) for i, a in enumerate(description["inputs"])
    ]
    for argument in description["state"]:
        rows.append((argument, [w.size.state[argument["name"]].shape for w in chosen]))
    for i, argument in enumerate(description["outputs"]):
        rows.append((argument, [w.size.outputs[i].shape for w in chosen]))
    used = set()
    for argument, shapes in rows:
        name = argument.get("argument") or argument["name"]
        shapes = [list(s) or [1] for s in shapes]
        argument["extents"] = shapes_by(params, name, shapes, c_name)
        used.update(e for e in argument["extents"] if isinstance(e, str))
    for i, argument in enumerate(description["scalars"]):
        row = [numbers_of(w)[i] for w in chosen]
        if len(set(row)) > 1:
            argument["value"] = formula(params, argument["name"], row, c_name)
    description["patches"] = patches
    description["params"] = {n: int(row[0]) for n, row in params.rows.items()}
    description["workloads"] = [
        {
            "name": w.name,
            "params": {n: int(row[i]) for n, row in params.rows.items()},
            **({} if w.timed else {"timed": False}),
            **({"distributions": w.specs} if w.specs else {}),
        }
        for i, w in enumerate(chosen)
    ]
    # Candidates in CUDA C learn the sizes from scalars, which forward does not take.
    description["sizes"] = [
        {"name": n, "dtype": "i64", "value": n} for n in params.rows if n in used
    ]


def measured(path, chosen, describe_one):
    """Returns (workload, its description) of the smallest one that is fit: at a size of one step, a
    state that is carried to the next has no influence."""
    first = None
    for base in sorted(chosen, key=lambda w: (not w.timed, w.size.elements))[:MOST_MEASURED]:
        try:
            return base, describe_one(path, base.patches)
        except Unfit as unfit:
            first = first or unfit
            if unfit.rule != "inputs.without_influence":
                break
    raise first


def describe(path, patches, options, describe_one, c_name):
    """Returns the description of a problem file with KFORGE_WORKLOADS; None without them.
    `describe_one` describes one size."""
    entries = listed(path, patches, options)
    if entries is None:
        return None
    notes = []
    chosen = choose(path, patches, options, entries, notes)
    base, description = measured(path, chosen, describe_one)
    state_names = [a["name"] for a in description["state"]]
    names = description["order"], state_names
    others = [w for w in chosen if difference(w, base, *names)]
    if others:
        notes.append(note_of_others(others, base, *names))
        chosen = [w for w in chosen if w not in others]
    chosen = look_at_distributions(path, options, chosen, base, description, notes)
    if not any(w.timed for w in chosen):
        for workload in chosen:
            workload.timed = True
    complete(description, chosen, base, c_name)
    description["notes"] = notes + description["notes"]
    return description
