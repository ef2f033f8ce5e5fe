"""Writes a problem file in KernelBench's layout for a definition: its reference, then the sizes of
the first workload as module-level constants, get_inputs() and class Model.

Each axis is a constant `axis_NAME`, so that a workload is a set of patches. The extents that a
workload chooses are also arguments of forward, after the definition's inputs, because a candidate
in CUDA C has only its arguments. KFORGE holds the rest of the task (flashinfer_task.py).
"""

import json
import keyword
import pprint

import load

from . import flashinfer_axes as expressions
from . import flashinfer_inputs
from .flashinfer_fault import Fault

# Functions of task.json's expressions, and names that its params can't have.
MOST_PARAMS = 64
NO_PARAMS = ("min", "max", "ceil_div", "log2", "abs", "number")
TEMPLATE = '''

# ---- made by kforge import: sizes, inputs and module of the definition {name} ----
import math

import torch

{constants}
{helpers}
def get_inputs():
{custom}    return [
{inputs}
    ]


class Model(torch.nn.Module):
    """{about}"""

    def forward(self{parameters}):
        result = run({arguments})
        if isinstance(result, dict):
            result = [result[name] for name in {outputs!r}]
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        results = [v if isinstance(v, torch.Tensor) else torch.tensor(v) for v in results]
        return results[0] if len(results) == 1 else results


KFORGE = {task}
'''
OFFSETS = '''

def offsets(shape, total):
    """Draws ascending offsets from 0 to `total`."""
    inner = torch.randint(0, total + 1, shape).sort()[0]
    inner[0], inner[-1] = 0, total
    return inner

'''


def param_name(axis):
    """Returns the name of an axis as a param of the task."""
    clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in axis)
    bad = clean in NO_PARAMS or keyword.iskeyword(clean) or clean[:1] in "_0123456789"
    return "axis_" + clean if bad or clean.lower().startswith("kf_") else clean


def in_params(text, names):
    """Returns an expression of `axis_NAME` with the names that params have."""
    for axis, name in names.items():
        text = text.replace("{axis_%s}" % axis, name)
        text = name if text == "axis_" + axis else text
    return text


def derived_axes(definition, workloads):
    """Returns {axis: expression} of axes that follow from others."""
    axes = definition["axes"]
    found = {name: spec["expression"] for name, spec in axes.items() if spec["type"] == "expr"}
    variables = {name for name, spec in axes.items() if spec["type"] == "var"}
    found.update(expressions.derived(definition.get("constraints") or [], variables, axes))
    names = {axis: axis for axis in axes}
    return {axis: text for axis, text in found.items() if expressions.write(text, names)}


class Layout:
    """The sizes of a problem: module-level constants of the file and params of the task."""

    def __init__(self, definition, workloads, inputs):
        axes = definition["axes"]
        self.names = {axis: param_name(axis) for axis in axes}
        if len(set(self.names.values())) < len(self.names):
            raise Fault("definition.axes", "two axes have names that differ only in their signs")
        self.lines, self.params, self.patches = [], {}, {}
        derived = derived_axes(definition, workloads)
        for axis in axes:
            if axis not in derived:
                values = [workload["values"][axis] for workload in workloads]
                self.add("axis_" + axis, self.names[axis], values)
        for axis, text in derived.items():
            python = expressions.write(text, {a: "axis_" + a for a in axes}).replace("/", "//")
            self.lines.append("axis_%s = %s" % (axis, python))
            self.params[self.names[axis]] = expressions.write(text, self.names)
        for made in inputs:
            for constant, values in made.constants.items():
                self.add(constant, constant, values)
            for constant, (python, written) in made.derived.items():
                self.lines.append("%s = %s" % (constant, python))
                self.params[constant] = in_params(written, self.names)
        if any(len(made.values) > 1 for made in inputs):
            self.add("number", "number", list(range(len(workloads))))
        if len(self.params) > MOST_PARAMS:
            raise Fault("definition.axes", "more than %d axes and bounds" % MOST_PARAMS)

    def add(self, constant, param, values):
        self.lines.append("%s = %d" % (constant, values[0]))
        self.params[param] = values[0] if len(set(values)) == 1 else values
        self.patches[constant] = param


def choose(values):
    """Returns an expression of `number` that gives the value of each workload."""
    text, last = json.dumps(values[-1]), values[-1]
    for number in range(len(values) - 2, -1, -1):
        if values[number] != last or type(values[number]) is not type(last):
            text = "number <= %d ? %s : %s" % (number, json.dumps(values[number]), text)
            last = values[number]
    return text


def one_line(text):
    return " ".join(str(text or "").split()).replace("\\", "/").replace('"""', "'''")


def task_of(definition, workloads, inputs, layout, variables):
    """Returns KFORGE: the task as far as the definition says it."""
    names, shapes = layout.names, {}
    scalars = {made.name: choose(made.values) for made in inputs if len(made.values) > 1}
    scalars.update({parameter_name(axis, definition): names[axis] for axis in variables})
    for group in ("inputs", "outputs"):
        for name, spec in definition[group].items():
            if spec["shape"] is not None:
                shapes[name] = [names[axis] for axis in spec["shape"]] or [1]
    distributions = {
        made.name: {
            key: in_params(value, names) if isinstance(value, str) and key != "kind" else value
            for key, value in made.distribution.items()
        }
        for made in inputs
        if made.distribution
    }
    rows = []
    for number, workload in enumerate(workloads):
        own = {k: v[number] for k, v in layout.params.items() if isinstance(v, list)}
        rows.append({"name": workload["name"], **({"params": own} if own else {})})
    kept = ("name", "op_type", "tags", "constraints", "custom_inputs_entrypoint")
    return {
        "params": {k: v[0] if isinstance(v, list) else v for k, v in layout.params.items()},
        "patches": layout.patches,
        "shapes": shapes,
        "outputs": [
            {"name": name, "dtype": spec["dtype"], "dims": len(spec["shape"])}
            for name, spec in definition["outputs"].items()
        ],
        "distributions": distributions,
        "scalars": scalars,
        "workloads": rows,
        **({"license": definition["license"]} if definition.get("license") else {}),
        "definition": {
            **{key: definition[key] for key in kept if definition.get(key)},
            "axes": definition["axes"],
            "params": names,
            "inputs": definition["inputs"],
            "outputs": definition["outputs"],
            "workloads": {workload["name"]: workload["given"] for workload in workloads},
        },
    }


def parameter_name(axis, definition):
    """Returns the name of an axis as a parameter of forward."""
    return "size_" + axis if axis in definition["inputs"] else axis


def write_inputs(definition, inputs):
    """Returns (lines before, lines of the list) of get_inputs()."""
    custom = ""
    if any(made.code.startswith("custom[") for made in inputs):
        given = ["%r: axis_%s" % (axis, axis) for axis in definition["axes"]]
        given += ["%r: %s" % (made.name, made.code) for made in inputs if made.values]
        custom = '    custom = %s({%s}, torch.device("cpu"))\n' % (
            definition["custom_inputs_entrypoint"],
            ", ".join(given),
        )
    return custom, ["        %s," % made.code for made in inputs]


def write(definition, workloads, top):
    """Returns the text of the problem file."""
    axes = definition["axes"]
    for axis in axes:
        if not (axis.isidentifier() and axis.isascii()):
            raise Fault("definition.axes", '"%s" is no name' % axis)
    inputs = [
        flashinfer_inputs.make(name, spec, workloads, top)
        for name, spec in definition["inputs"].items()
    ]
    variables = [axis for axis, spec in axes.items() if spec["type"] == "var"]
    layout = Layout(definition, workloads, inputs)
    custom, lines = write_inputs(definition, inputs)
    lines += ["        axis_%s," % axis for axis in variables]
    parameters = list(definition["inputs"]) + [parameter_name(a, definition) for a in variables]
    arguments = [
        "%s.reshape(())" % name if spec["shape"] == [] else name
        for name, spec in definition["inputs"].items()
    ]
    text = (
        definition["reference"].rstrip()
        + "\n"
        + TEMPLATE.format(
            name=one_line(definition["name"]),
            constants="\n".join(layout.lines),
            helpers=OFFSETS if any("offsets(" in made.code for made in inputs) else "\n",
            custom=custom,
            inputs="\n".join(lines),
            about=one_line(definition.get("description") or definition["name"]),
            parameters="".join(", " + name for name in parameters),
            arguments=", ".join(arguments),
            outputs=list(definition["outputs"]),
            task=pprint.pformat(
                task_of(definition, workloads, inputs, layout, variables),
                width=100,
                compact=True,
                sort_dicts=False,
            ),
        )
    )
    load.parse(text, definition["name"])
    return text
