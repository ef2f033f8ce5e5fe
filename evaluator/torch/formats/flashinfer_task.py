"""What a problem file says of its task beyond one size: the module-level dict KFORGE.

    params         {name: integer or expression}, with the values of the first workload
    patches        {module-level constant: param}
    shapes         {argument: [extent or expression]}
    outputs        [{"name", "dtype", "dims"}] as they are declared
    distributions  {input: distribution}; others are measured
    scalars        {argument: expression of its value}
    workloads      [{"name", "params"}]
    license        text
    definition     for people, and for exports: it goes into "origin"

All keys may be missing. The names of arguments are those of forward. An expression has task.json's
words, of which this file knows names, integers, + - * / % and min.
"""

import math

import full_numbers
import load
import meta
import shrink
import torch
from problem_measure import Unfit

from . import flashinfer_axes as axes

COPIED = ("workloads", "license", "definition")


def declared(problem):
    """Returns KFORGE of a problem file; None without one."""
    found = getattr(problem.module, "KFORGE", None)
    return found if isinstance(found, dict) else None


# ---- sizes ---------------------------------------------------------------------------------------


def evaluate(each, values):
    if not isinstance(each, str):
        return each
    return int(axes.evaluate(axes.parse(each.replace("/", "//")), values))


def resolve(params):
    """Returns the params with all expressions evaluated."""
    values = {name: value for name, value in params.items() if not isinstance(value, str)}
    for _ in params:
        for name in [name for name in params if name not in values]:
            try:
                values[name] = evaluate(params[name], values)
            except axes.Unknown:
                pass  # it needs one that comes later
    return values


def patches_of(task, workload):
    """Returns the constants of the file for a workload."""
    values = resolve({**task.get("params", {}), **workload.get("params", {})})
    return {constant: values[param] for constant, param in task.get("patches", {}).items()}


def values_in(problem, task):
    """Returns the params that a loaded, patched problem has."""
    constants = task.get("patches", {})
    own = {param: getattr(problem.module, name) for name, param in constants.items()}
    return resolve({**task.get("params", {}), **own})


def distributions(problem, task):
    """Returns the declared distributions at the size of a loaded, patched problem."""
    values = values_in(problem, task) if task else {}
    return {
        name: {
            key: evaluate(each, values) if key != "kind" else each for key, each in given.items()
        }
        for name, given in ((task or {}).get("distributions") or {}).items()
    }


def extents(task, name, values):
    return [evaluate(extent, values) for extent in task["shapes"][name]]


def size_of(problem, task, size):
    """Returns the declared size, where `size` lacks the outputs: a reference that reads values."""
    if not task or not task.get("outputs") or size is None or size.outputs or size.broken:
        return size
    values = values_in(problem, task)
    outputs = [
        torch.empty(
            extents(task, output["name"], values),
            dtype=getattr(torch, output["dtype"]),
            device="meta",
        )
        for output in task["outputs"]
    ]
    return meta.Size(size.inputs, size.state, outputs)


def scale(task, path, options):
    """Makes each workload as small as --scale asks. Its params say so then."""
    for workload in task.get("workloads", []):
        most = options.max_elements
        found = shrink.shrink(path, patches_of(task, workload), options, most, 256 * most)
        changed = {
            task["patches"][constant]: value
            for constant, value in found.patches.items()
            if constant in task["patches"]
        }
        usual = resolve(task["params"])
        own = {name: value for name, value in changed.items() if usual[name] != value}
        workload.pop("params", None)
        if own:
            workload["params"] = own


# ---- checks --------------------------------------------------------------------------------------


def check_outputs(task, outputs, values, what):
    """Refuses a reference with other outputs than those that are declared."""
    wanted = task.get("outputs")
    if not wanted:
        return
    if len(outputs) != len(wanted):
        raise Unfit(
            "reference.outputs",
            "%srun returns %d tensors; %d outputs are declared" % (what, len(outputs), len(wanted)),
        )
    for tensor, output in zip(outputs, wanted):
        dtype = str(tensor.dtype).replace("torch.", "")
        shape, expected = list(tensor.shape) or [1], extents(task, output["name"], values)
        if dtype != output["dtype"] or shape != expected:
            raise Unfit(
                "reference.outputs",
                "%srun returns %s%s as %s; %s%s is declared"
                % (what, dtype, shape, output["name"], output["dtype"], expected),
            )


def check_workloads(task, path, options):
    """Loads the problem at the size of each workload, without storage, and compares its outputs."""
    for workload in task.get("workloads", []):
        problem = load.Problem.read(path, patches_of(task, workload), options.class_name)
        size = meta.size(problem, options)
        if size is None:
            continue
        what = "workload %s: " % workload["name"]
        if size.broken:
            raise Unfit(
                "reference.workload", "%srun fails: %s" % (what, load.words_of(size.broken))
            )
        if size.outputs is not None:
            check_outputs(task, size.outputs, values_in(problem, task), what)


# ---- the description -----------------------------------------------------------------------------


def merge_distribution(given, measured):
    """Returns the declared distribution if a measured one is of its kind."""
    if not given or given["kind"] != measured["kind"]:
        return measured
    return {**given, **({"vary": False} if measured.get("vary") is False else {})}


def complete(task, problem, description):
    """Adds what KFORGE says to the description of a problem."""
    order = description["order"]
    own = dict(zip(order, load.forward_names(problem.model_class, len(order) + 1)[1:]))
    for argument in description["inputs"]:
        name = own[argument["name"]]
        argument["extents"] = task.get("shapes", {}).get(name, argument["shape"])
        argument["distribution"] = merge_distribution(
            task.get("distributions", {}).get(name), argument["distribution"]
        )
    for argument in description["scalars"]:
        argument["value"] = task.get("scalars", {}).get(own[argument["name"]], argument["value"])
    taken = set(order)
    for argument, output in zip(description["outputs"], task.get("outputs", [])):
        argument["extents"] = task["shapes"][output["name"]]
        if output["name"] not in taken:
            argument["name"] = output["name"]
    for key in COPIED:
        if key in task:
            description[key] = task[key]
    changed = description["patches"]
    description["params"] = {
        **task.get("params", {}),
        **{task["patches"][k]: v for k, v in changed.items() if k in task.get("patches", {})},
    }
    description["patches"] = {**changed, **task.get("patches", {})}


def look_at_workloads(task, path, problem, options, description):
    """Gives each workload the numbers of its own size for inputs that are not declared, and leaves
    out those without safe ones. Returns notes. `problem`: of the size that the description has."""
    order = description["order"]
    names = load.forward_names(problem.model_class, len(order) + 1)[1:]
    arguments = {argument["name"]: argument for argument in description["inputs"]}
    known = [
        full_numbers.dependent(arguments[unique]["distribution"])
        if unique in arguments and name not in task.get("distributions", {})
        else None
        for unique, name in zip(order, names)
    ]
    if not any(known) or not task.get("workloads"):
        return []

    def tensors(values):
        made = [
            torch.empty(
                extents(task, name, values),
                dtype=load.torch_dtype(arguments[unique]["dtype"]),
                device="meta",
            )
            if unique in arguments
            else None
            for unique, name in zip(order, names)
        ]
        outputs = [extents(task, output["name"], values) for output in task.get("outputs", [])]
        return made + [torch.empty(shape, device="meta") for shape in outputs]

    base, safe = "the first workload", []
    found = full_numbers.Workloads(
        order, known, tensors(values_in(problem, task)), options, len(task["workloads"])
    )
    for workload in task["workloads"]:
        patches = patches_of(task, workload)
        if all(getattr(problem.module, name) == value for name, value in patches.items()):
            base = workload["name"]
        else:
            other = load.Problem.read(path, patches, options.class_name)
            specs = found.specs(workload["name"], other, tensors(values_in(other, task)))
            if specs is None:
                continue
            own = {u: s for u, s, k in zip(order, specs, known) if s != k}
            workload.update({"distributions": own} if own else {})
        safe.append(workload)
    description["workloads"] = safe
    if not safe:  # The params have the size of the description.
        del description["workloads"]
    return found.notes(base)
