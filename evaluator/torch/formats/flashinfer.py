"""FlashInfer-Bench (flashinfer-ai/flashinfer-bench, docs/flashinfer-trace) and SOL-ExecBench
(NVIDIA/SOL-ExecBench, docs): finds and checks definitions, workloads, solutions and traces.

FlashInfer-Bench keeps definitions/…/NAME.json, workloads/…/NAME.jsonl, solutions/…/*.json and
traces/…/*.jsonl. SOL-ExecBench keeps a folder for each problem with definition.json,
workload.jsonl and solution*.json. The objects are of one family, so both layouts are looked for. A
workload stands alone or in a trace without an evaluation. Nothing of the folder is executed.

main() prints what it found as JSON:

    {"problems": [{"name", "file", "text"} or {"name", "file", "fault": {"rule", "reason"}}],
     "solutions": [{"problem": index, "name", "file", "text", "claimed"}], "notes": [text]}

"text" is a Python file, "claimed" the speedup that the traces of a solution say, or null. Or
{"error": …} as in load.py if the folder has no definition.
"""

import argparse
import json
import math
import os

import load

from . import flashinfer_axes as expressions
from . import flashinfer_problem, flashinfer_solution
from .flashinfer_fault import Fault

MOST_FILES = 20000
MOST_BYTES = 16 << 20
MOST_WORKLOADS = 64  # of a task
LAYOUTS = {
    "sol-execbench": "definition.json with workload.jsonl next to it",
    "flashinfer-bench": "definitions/NAME.json and workloads/NAME.jsonl",
}
KINDS = ("random", "scalar", "safetensors", "custom")
DTYPES = {
    "float64": "float64",
    "float32": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "int64": "int64",
    "int32": "int32",
    "int16": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
}


# ---- files ---------------------------------------------------------------------------------------


def files_below(top):
    """Returns the paths of JSON files below a folder, relative to it and in order. Links are not
    followed."""
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            os.path.relpath(os.path.join(folder, name), top)
            for name in sorted(names)
            if name.endswith((".json", ".jsonl"))
        ]
        if len(found) > MOST_FILES:
            break
    return found[:MOST_FILES]


def read_text(top, relative):
    path = os.path.join(top, relative)
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise Fault("file", "%s: larger than %d MiB" % (relative, MOST_BYTES >> 20))
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError) as error:
        raise Fault("file", "%s: %s" % (relative, load.words_of(error))) from None


def parse_json(text, where):
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Fault("json", "%s: no JSON: %s" % (where, load.words_of(error))) from None
    if not isinstance(value, dict):
        raise Fault("json", "%s: expected an object" % where)
    return value


def read_lines(top, relative):
    """Returns [(object, "FILE:LINE")] of a file of JSON lines."""
    return [
        (parse_json(line, "%s:%d" % (relative, number)), "%s:%d" % (relative, number))
        for number, line in enumerate(read_text(top, relative).split("\n"), 1)
        if line.strip()
    ]


# ---- definitions ---------------------------------------------------------------------------------


def expect(condition, rule, *words):
    if not condition:
        raise Fault(rule, words[0] % words[1:])


def check_axes(definition):
    axes = definition.get("axes")
    expect(isinstance(axes, dict), "definition.axes", '"axes" is missing or no object')
    for name, axis in axes.items():
        kind = axis.get("type") if isinstance(axis, dict) else None
        value = axis.get("value") if kind == "const" else None
        good = {
            "const": type(value) is int and value >= 1,
            "var": True,
            "expr": kind == "expr" and isinstance(axis.get("expression"), str),
        }.get(kind, False)
        expect(
            good,
            "definition.axes",
            'axis "%s": expected type const with a value from 1, var, or expr with an expression',
            name,
        )
    return axes


def check_tensors(definition, group):
    tensors = definition.get(group)
    expect(
        isinstance(tensors, dict) and (tensors or group == "inputs"),
        "definition." + group,
        '"%s" is missing, empty or no object',
        group,
    )
    for name, spec in tensors.items():
        expect(isinstance(spec, dict), "definition." + group, "%s: expected an object", name)
        expect(name.isidentifier(), "definition." + group, '"%s" is no name', name)
        dtype, shape = spec.get("dtype"), spec.get("shape")
        expect(
            dtype in DTYPES,
            "dtype",
            '%s has the unknown dtype "%s"; kforge has %s',
            name,
            dtype,
            ", ".join(DTYPES),
        )
        expect(
            shape is None or isinstance(shape, list),
            "definition.shape",
            '%s: "shape" is neither a list of axes nor null',
            name,
        )
        for axis in shape or []:
            expect(
                axis in definition["axes"],
                "definition.shape",
                '%s: its shape has "%s", which "axes" does not define',
                name,
                axis,
            )
    return tensors


def check_definition(definition):
    name = definition.get("name")
    expect(isinstance(name, str) and name, "definition.name", '"name" is missing')
    check_axes(definition)
    inputs, outputs = check_tensors(definition, "inputs"), check_tensors(definition, "outputs")
    both = sorted(set(inputs) & set(outputs))
    expect(not both, "definition.outputs", '"%s" is an input and an output', '", "'.join(both))
    for output, spec in outputs.items():
        expect(spec["shape"] is not None, "definition.shape", "the output %s has no shape", output)
    reference = definition.get("reference")
    expect(
        isinstance(reference, str) and reference.strip(),
        "reference",
        '"reference" is missing; expected Python with a function run',
    )
    try:
        tree = load.parse(reference, "reference")
    except load.LoadError as error:
        raise Fault("reference", str(error)) from None
    wanted = ["run"]
    if definition.get("custom_inputs_entrypoint"):
        wanted.append(definition["custom_inputs_entrypoint"])
    defined = {getattr(node, "name", None) for node in tree.body}
    for function in wanted:
        expect(
            function in defined | set(load.assigned_names(tree)),
            "reference",
            '"reference" does not define %s()',
            function,
        )
    constraints = definition.get("constraints") or []
    expect(isinstance(constraints, list), "definition.constraints", "expected a list of texts")


class Empty(Fault):
    """A workload without elements. The format allows it, and a task does not."""


# ---- workloads -----------------------------------------------------------------------------------


def axis_values(definition, workload, where):
    """Returns the extents of all axes of a workload."""
    given = workload.get("axes")
    expect(isinstance(given, dict), "workload.axes", '%s: "axes" is missing', where)
    values = {}
    for name, axis in definition["axes"].items():
        if axis["type"] == "expr":
            continue
        value = axis["value"] if axis["type"] == "const" else given.get(name)
        expect(value is not None, "workload.axes", '%s: axis "%s" has no value', where, name)
        if value == 0 and type(value) is int:
            raise Empty(
                "workload.axes",
                '%s: axis "%s" is 0, and an empty tensor has no result' % (where, name),
            )
        expect(
            type(value) is int and value >= 1,
            "workload.axes",
            '%s: axis "%s" is %s; expected a whole number from 1',
            where,
            name,
            json.dumps(value),
        )
        values[name] = value
    left = [name for name in definition["axes"] if name not in values]
    while left:
        before, reason = len(left), None
        for name in list(left):
            try:
                values[name] = expressions.extent(definition["axes"][name]["expression"], values)
                left.remove(name)
            except expressions.Unknown as unknown:
                reason = 'axis "%s": %s' % (name, unknown)
        expect(len(left) < before, "definition.axes", "%s: %s", where, reason)
    return {name: values[name] for name in definition["axes"]}


def check_constraints(definition, values, where):
    """Checks constraints between axes. Others speak of the inputs' contents."""
    for text in definition.get("constraints") or []:
        try:
            holds = expressions.evaluate(expressions.parse(text), values)
        except expressions.Unknown:
            continue
        expect(holds, "workload.axes", "%s: the constraint %s does not hold", where, text)


def check_inputs(definition, workload, where):
    """Returns {input: its descriptor}, checked."""
    given = workload.get("inputs")
    expect(isinstance(given, dict), "workload.inputs", '%s: "inputs" is missing', where)
    found = {}
    for name, spec in definition["inputs"].items():
        source = given.get(name, {"type": "random"})
        kind = source.get("type") if isinstance(source, dict) else None
        expect(
            kind in KINDS,
            "workload.inputs",
            '%s: input %s is of the unknown kind "%s"; kforge has %s',
            where,
            name,
            kind,
            ", ".join(KINDS),
        )
        if kind == "scalar":
            value = source.get("value")
            expect(
                isinstance(value, (int, float)) and math.isfinite(value),
                "workload.inputs",
                '%s: input %s: "value" is %s; expected a number or a boolean',
                where,
                name,
                json.dumps(value),
            )
        expect(
            kind != "random" or spec["shape"] is not None,
            "workload.inputs",
            "%s: input %s is a number without a value; give it the type scalar",
            where,
            name,
        )
        expect(
            kind != "custom" or definition.get("custom_inputs_entrypoint"),
            "workload.inputs",
            "%s: input %s is custom, but the definition has no custom_inputs_entrypoint",
            where,
            name,
        )
        found[name] = source
    return found


def read_workload(definition, line, where):
    """Returns {"uuid", "values", "inputs", "given"} of a line; None for an evaluated trace."""
    workload = line.get("workload", line)
    if line.get("evaluation"):
        return None
    expect(isinstance(workload, dict), "workload", "%s: expected an object", where)
    values = axis_values(definition, workload, where)
    check_constraints(definition, values, where)
    uuid = workload.get("uuid")
    return {
        "uuid": uuid if isinstance(uuid, str) and uuid else None,
        "values": values,
        "inputs": check_inputs(definition, workload, where),
        "given": workload,
        "where": where,
    }


def name_workloads(workloads):
    """Gives each workload a name that a task can have: its uuid, or w1, w2, …"""
    taken = set()
    for number, workload in enumerate(workloads, 1):
        name = (
            "".join(
                c if c.isascii() and (c.isalnum() or c in "_-.") else "-"
                for c in (workload["uuid"] or "w%d" % number)
            ).lstrip("_-.")[:60]
            or "w%d" % number
        )
        while name in taken:
            name = "%s-%d" % (name[:56], number)
        taken.add(name)
        workload["name"] = name


# ---- the folder ----------------------------------------------------------------------------------


class Collection:
    """The files of a folder, by what they hold."""

    def __init__(self, top, format_name, only=None):
        self.top, self.format_name = top, format_name
        self.files = files_below(top)
        self.definitions = []  # (relative path, object or None, Fault or None)
        self.solutions, self.traces, self.notes = [], [], []
        self.lines = {}  # definition name -> files with workloads
        for relative in self.files:
            parts, base = relative.split(os.sep), os.path.basename(relative)
            if (
                only
                and relative == only
                or base == "definition.json"
                or "definitions" in parts[:-1]
            ):
                if base.endswith(".json") and (only is None or relative == only):
                    self.definitions.append(relative)
            elif base.endswith(".jsonl") and "traces" in parts[:-1]:
                self.traces.append(relative)
            elif base.endswith(".jsonl") and "workloads" in parts[:-1]:
                self.lines.setdefault(base[: -len(".jsonl")], []).append(relative)
            elif base.endswith(".json") and (
                base.startswith("solution") or "solutions" in parts[:-1]
            ):
                self.solutions.append(relative)

    def workload_files(self, relative, name):
        here = os.path.dirname(relative)
        near = [os.path.join(here, base) for base in ("workload.jsonl", "workloads.jsonl")]
        return [each for each in near if each in self.files] or self.lines.get(name, [])

    def workloads(self, relative, definition):
        files = self.workload_files(relative, definition["name"])
        expect(
            files,
            "workload",
            "no workloads: expected workload.jsonl next to it, or workloads/…/%s.jsonl",
            definition["name"],
        )
        found, empty = [], None
        for file in files:
            for line, where in read_lines(self.top, file):
                try:
                    found.append(read_workload(definition, line, where))
                except Empty as reason:
                    empty = reason
                    self.notes.append("left out: %s" % reason.reason)
        found = [each for each in found if each]
        if not found and empty:
            raise empty
        expect(found, "workload", "%s: no workload", files[0])
        name_workloads(found)
        return found


def translate_definition(collection, relative):
    """Returns (the definition or None, its problems)."""
    definition = None
    try:
        definition = parse_json(read_text(collection.top, relative), relative)
        check_definition(definition)
        workloads = collection.workloads(relative, definition)
        problems = []
        for first in range(0, len(workloads), MOST_WORKLOADS):
            part = workloads[first : first + MOST_WORKLOADS]
            problems.append(
                {
                    "name": definition["name"],
                    "file": relative,
                    "text": flashinfer_problem.write(definition, part, collection.top),
                }
            )
        return definition, problems
    except Fault as fault:
        name = (definition or {}).get("name")
        name = name if isinstance(name, str) and name else relative[: -len(".json")]
        return definition, [{"name": name, "file": relative, "fault": fault.as_json()}]


def claims(collection):
    """Returns {(definition, solution): geometric mean of the speedups of its traces}."""
    logs = {}
    for relative in collection.traces:
        try:
            lines = read_lines(collection.top, relative)
        except Fault as fault:
            collection.notes.append(fault.reason)
            continue
        for trace, _ in lines:
            evaluation = trace.get("evaluation")
            performance = evaluation.get("performance") if isinstance(evaluation, dict) else None
            factor = performance.get("speedup_factor") if isinstance(performance, dict) else None
            if isinstance(factor, (int, float)) and 0 < factor < math.inf:
                key = (str(trace.get("definition")), str(trace.get("solution")))
                logs.setdefault(key, []).append(math.log(factor))
    return {key: math.exp(sum(each) / len(each)) for key, each in logs.items()}


def translate_solutions(collection, known):
    """Returns the solutions of known definitions. `known`: name -> (definition, numbers of its
    problems)."""
    claimed, found = claims(collection), []
    for relative in collection.solutions:
        try:
            solution = parse_json(read_text(collection.top, relative), relative)
            definition, numbers = known.get(solution.get("definition"), (None, []))
            if definition is None:
                collection.notes.append(
                    '%s: there is no definition "%s" here' % (relative, solution.get("definition"))
                )
                continue
            name, text = flashinfer_solution.write(definition, solution)
        except Fault as fault:
            collection.notes.append("%s: %s" % (relative, fault.reason))
            continue
        for number in numbers:
            found.append(
                {
                    "problem": number,
                    "name": name,
                    "file": relative,
                    "text": text,
                    "claimed": claimed.get((definition["name"], solution.get("name"))),
                }
            )
    return found


def translate(path, format_name):
    """Translates a folder, or one definition with what belongs to it."""
    only = None
    if os.path.isfile(path):
        top = os.path.dirname(path)
        while "definitions" in top.split(os.sep):  # to the folder with workloads/
            top = os.path.dirname(top)
        only, path = os.path.relpath(path, top), top
    collection = Collection(path, format_name, only)
    if not collection.definitions:
        raise load.LoadError(
            "no definitions", os.path.basename(path), "expected %s" % LAYOUTS[format_name]
        )
    problems, known, seen = [], {}, {}
    for relative in collection.definitions:
        definition, made = translate_definition(collection, relative)
        text = made[0].get("text")
        if text is not None and text in seen:  # the same definition in another folder
            continue
        if text is not None:
            seen[text] = relative
            numbers = known.setdefault(definition["name"], (definition, []))[1]
            numbers += range(len(problems), len(problems) + len(made))
        problems += made
    solutions = translate_solutions(collection, known)
    return {"problems": problems, "solutions": solutions, "notes": collection.notes}


def main(arguments):
    parser = argparse.ArgumentParser(prog="definitions")
    parser.add_argument("format", choices=sorted(LAYOUTS))
    parser.add_argument("path")
    parser.add_argument("--descriptor", type=int, default=-1)
    options = parser.parse_args(arguments)
    output = load.Answer(options.descriptor)
    try:
        result = translate(options.path, options.format)
    except load.LoadError as fault:
        result = fault.as_json()
    output.write(result)
    return 1 if "error" in result else 0
