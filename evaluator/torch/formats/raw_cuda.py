"""Kernels in CUDA with a driver in C++, as problem files.

A folder has init.cu, with a function that starts the kernels, and driver.cpp: it makes tensors with
libtorch, computes a reference with libtorch, calls the function with pointers and sizes, and
compares. The translator reads main() of the driver statement by statement (cpp_driver.py):

- numbers become module-level constants
- modules, and tensors that are no input of the kernel, are made in the constructor of Model
- tensors that a factory draws, and that the kernel or the reference reads, are inputs
- the statements that lead to the reference become forward

The function and its arguments become a seed (raw_cuda_seed.py). A statement that is not understood
is refused with its line.
"""

import re

import load
from formats.cpp_driver import Driver
from formats.cpp_expressions import NAME, names_in, resolve
from formats.cpp_statements import check, refuse
from formats.raw_cuda_seed import seed_of


def translate(bundle):
    files = bundle["files"]
    if len(files) == 1 and "driver.cpp" not in files and "init.cu" not in files:
        from formats import solve_cuda

        return solve_cuda.translate(bundle)
    for name in ("driver.cpp", "init.cu"):
        if name not in files:
            raise load.LoadError("there is no %s" % name, bundle["folder"], "add it")
    driver = Driver(files["driver.cpp"])
    driver.finish()
    needed, chosen = names_in(driver.reference), []
    for statement in reversed(driver.statements):
        if statement.kind == "block":
            if changes(statement.code, needed):
                refuse(
                    "a block decides about the reference",
                    statement.line,
                    "compute it without if and for",
                )
            continue
        late = statement.line > driver.call[2] and re.match(r"\w+\(", statement.code)
        moved = statement.kind == "call" and names_in(statement.code) & needed and not late
        if statement.target in needed or moved:
            chosen.insert(0, statement)
            needed |= statement.names
    init = [s for s in chosen if s.kind in ("module", "setup")]
    modules = {s.target for s in chosen if s.kind == "module"}
    for statement in chosen:
        if statement.kind == "call":
            (init if names_in(statement.code) & modules else []).append(statement)
    # A tensor that becomes a parameter is made where its module is.
    read = set().union(*(s.names for s in init)) if init else set()
    inputs = [s for s in chosen if s.kind == "tensor" and s.target not in read]
    init += [s for s in chosen if s.kind == "tensor" and s.target in read]
    init.sort(key=driver.statements.index)
    drawn = {s.target for s in inputs}
    compute = [s for s in chosen if s.kind == "compute" or (s.kind == "call" and s not in init)]
    init = sorted(with_values(init, compute, drawn), key=driver.statements.index)
    # A tensor that gets its numbers later has them from the start.
    before = driver.statements[: driver.called_after]
    fills = [s for s in compute if s in before and filled(s) in drawn]
    inputs_with_fills = inputs + with_values(fills, compute, drawn)
    compute = leading_to(driver.reference, [s for s in compute if s not in fills])
    constants = {n: c for n, c in driver.constants.items()}
    inputs_with_fills.sort(key=driver.statements.index)
    text = write(bundle, driver, constants, inputs, inputs_with_fills, init, compute, modules)
    tolerance = None
    numbers = [resolve(c, constants) for c in driver.compared[0][2:4]]
    if len(numbers) == 2 and all(isinstance(n, float) for n in numbers):
        tolerance = numbers
        text += "KFORGE_TOLERANCE = %r\n" % tolerance
    return {
        "text": text,
        "doc": bundle["folder"].lstrip("0123456789_").replace("_", " "),
        "solution": None,
        "notes": [],
        "finish": lambda description: finish(files["init.cu"], driver, constants, description),
    }


# What a block may do with a tensor that it does not change: print it, or run the kernel again.
HARMLESS = re.compile(r"\b(?:(?:std::)?(?:cout|cerr|printf|fprintf|puts)|launch\w*)\b[^;]*;")


def changes(block, needed):
    """True if a block may change one of the tensors: it assigns to one, changes one in place, calls
    a function with one as a statement, or gives one another name."""
    code = HARMLESS.sub(";", block)
    return any(
        re.search(
            r"\b%(n)s\b\s*(?:\[[^\]]*\]\s*)*(?:[-+*/%%&|^]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*%(n)s\b"
            r"|\b%(n)s\b[^;]*\.\w+_\(|\w\s*=(?!=)\s*%(n)s\b(?![^;]*\.(?:item|size|numel)\b)"
            r"|(?:^|[;{})])\s*(?!(?:if|for|while|switch|return)\b)[\w:]+\s*\([^;]*\b%(n)s\b"
            % {"n": re.escape(name)},
            code,
        )
        for name in needed & set(NAME.findall(code))
    )


def finish(text, driver, constants, description):
    """Returns the further files, and a note."""
    from formats import libtorch

    made, note = seed_of(text, driver, constants, description)
    widened = ", ".join(sorted(libtorch.WIDENED))
    if widened:
        words = "this processor has no half precision for %s: computed in float32 and rounded"
        note = "; ".join([words % widened] + ([note] if note else []))
    return made, note


FILLS = "uniform normal log_normal exponential cauchy geometric random bernoulli fill zero".split()
FILL = re.compile(r"nn\.init\.\w+_\(\s*(\w+)|(\w+)\.(?:%s)_\(" % "|".join(FILLS))


def filled(statement):
    """Returns the name of the tensor that w.uniform_(…) or nn.init.normal_(w) fills; else None.
    Other methods in place compute: x.sub_(y)."""
    found = FILL.match(statement.code)
    return (found.group(1) or found.group(2)) if found and not statement.target else None


def with_values(init, compute, drawn):
    """Returns the statements of the constructor with those that compute values for them, without
    inputs: weight = bn.weight.clone() of bn.weight.set_data(weight)."""
    read, found = set().union(*(s.names for s in init)) if init else set(), list(init)
    for statement in reversed(compute):
        if statement.target in read and not statement.names & drawn:
            read |= statement.names
            found.append(statement)
    return found


def leading_to(reference, compute):
    """Returns the statements of forward that the reference needs."""
    needed, found = names_in(reference), []
    for statement in reversed(compute):
        if statement.target in needed or statement.target is None:
            needed |= statement.names
            found.insert(0, statement)
    return found


def write(bundle, driver, constants, inputs, drawing, init, compute, modules):
    """`drawing`: the statements that make the inputs."""
    settings = [s for s in init if s.kind == "setup"]
    lines = [
        '"""%s: the reference of driver.cpp, in Python."""' % bundle["folder"],
        "import math",
        "",
        "import torch as python_torch",
        "import torch.nn as python_nn",
        "from formats.libtorch import F, div, index, module_to, nn, on_processor, set_data, std_get",
        "from formats.libtorch import to, torch",
        "",
    ]
    lines += ["%s = %s" % item for item in constants.items()]
    lines += ["%s = %s" % (s.target, check(s.code, s.line)) for s in settings] + ["", ""]
    lines += driver.classes
    lines += [
        "class Model(python_nn.Module):",
        "    @python_torch.no_grad()",
        "    def __init__(self):",
    ]
    lines += ["        super().__init__()"]
    for statement in init:
        if statement.kind == "setup":
            continue
        if statement.target:
            lines.append(
                "        %s = %s" % (statement.target, check(statement.code, statement.line))
            )
        else:
            lines.append("        %s" % check(statement.code, statement.line))
    lines += ["        self.%s = %s" % (m, m) for m in sorted(modules)]
    lines += ["", "    @on_processor"]
    lines += ["    def forward(self, %s):" % ", ".join(s.target for s in inputs)]
    lines += ["        %s = self.%s" % (m, m) for m in sorted(modules)]
    for statement in compute:
        code = check(statement.code, statement.line)
        lines.append(
            "        %s = %s" % (statement.target, code) if statement.target else "        " + code
        )
    lines += ["        return %s" % check(driver.reference, driver.compared[1]), "", ""]
    lines += ["def get_inputs():"]
    for statement in drawing:
        code = check(statement.code, statement.line)
        lines.append("    %s = %s" % (statement.target, code) if statement.target else "    " + code)
    lines += ["    return [%s]" % ", ".join(s.target for s in inputs), ""]
    return "\n".join(lines)
