"""Problems in the layout of kernelbench.com, as problem files.

A problem has reference.py in KernelBench's convention, and shapes.py: SHAPES, a list of values for
module-level constants of the reference. A solution is a file with class Model. The problem file is
reference.py with the shapes as workloads behind it.

Some problems have no inputs. Their solutions define run(numbers of a shape…, seed, model=…), too.
There the task's module is one call of run, with a seed as input and the weights of Model.
"""

import ast
import numbers
import sys

import load

SUITE = "kernelbench.com"


def shapes_of(text):
    """Returns the list SHAPES of the file. Some files compute it from other constants."""
    module = load.execute(text, "shapes.py", "kforge_shapes")
    shapes = getattr(module, "SHAPES", None)
    if shapes is None:
        raise load.LoadError(
            "it does not define SHAPES", "shapes.py", "expected a list of {constant: number}"
        )
    if not isinstance(shapes, (list, tuple)) or not shapes:
        raise load.LoadError(
            "SHAPES is no list with entries", "shapes.py", "add one shape at least"
        )
    for number, shape in enumerate(shapes):
        where = "shapes.py: SHAPES[%d]" % number
        if not isinstance(shape, dict):
            raise load.LoadError("it is no dict", where, "expected {constant: number}")
        for key, value in shape.items():
            if not isinstance(value, numbers.Real) or not str(key).isidentifier():
                raise load.LoadError(
                    "%s is %r" % (key, value), where, "expected a constant's name and a number"
                )
        if shape.keys() != shapes[0].keys():
            raise load.LoadError("its constants differ from SHAPES[0]", where, "name the same ones")
    return shapes


def meta_of(bundle):
    """Returns problem.yaml; {} without it."""
    text = bundle["files"].get("problem.yaml")
    if text is None:
        return {}
    from formats import gpu_mode

    meta = gpu_mode.read_yaml(text, "problem.yaml")
    return meta if isinstance(meta, dict) else {}


def forbidden_of(meta):
    """Returns the strings that no solution may contain. The format's own check looks for each in
    the text of solution.py, comments included."""
    listed = meta.get("forbidden") or []
    if not isinstance(listed, list) or not all(isinstance(t, str) and t for t in listed):
        raise load.LoadError(
            "forbidden is no list of strings", "problem.yaml: forbidden", "expected [torch.topk, …]"
        )
    return listed


def tolerance_of(meta):
    """Returns [rtol, atol] of the loosest tolerance, which is one number for both, and the title."""
    given = [v for k, v in meta.items() if str(k).endswith("tolerance") and isinstance(v, dict)]
    found = [v for each in given for v in each.values() if isinstance(v, numbers.Real)]
    title = meta.get("display_name")
    return ([float(max(found))] * 2 if found else None), title if isinstance(title, str) else ""


def bind_run(namespace, sizes):
    """Makes Model, get_inputs and kforge_solution of a problem's Model and run. `sizes` returns the
    numbers of a shape. It also runs in the runners."""
    import torch

    def module_of(inner, run):
        class Model(torch.nn.Module):
            def __init__(self, *arguments, **keywords):
                super().__init__()
                self.model = inner(*arguments, **keywords)

            def forward(self, seed):
                number = 0 if seed.device.type == "meta" else int(seed)
                made = run(*sizes(), number, model=self.model)
                found = [v for _, v in sorted(made.items()) if isinstance(v, torch.Tensor)]
                return found[0] if len(found) == 1 else found

        Model.__doc__ = inner.__doc__
        return Model

    def solution(inner):
        run = getattr(sys.modules[inner.__module__], "run", None)
        if not callable(run):
            raise load.LoadError(
                "it does not define run", "", "expected run(…, seed, model=…), as in reference.py"
            )
        return module_of(inner, run)

    namespace["Model"] = module_of(namespace["Model"], namespace["run"])
    namespace["get_inputs"] = lambda: [torch.randint(0, 1 << 20, (1,))]
    namespace["kforge_solution"] = solution


def has_run(tree, count):
    """True if get_inputs returns [], and run takes so many numbers, `seed`, and a `model`."""
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    given, run = functions.get("get_inputs"), functions.get("run")
    if given is None or run is None:
        return False
    last = given.body[-1]
    empty = isinstance(last, ast.Return) and isinstance(last.value, ast.List)
    names = [a.arg for a in run.args.args]
    return (
        empty
        and not last.value.elts
        and names[count : count + 1] == ["seed"]
        and "model" in names + [a.arg for a in run.args.kwonlyargs]
    )


def names_for(tree, shape):
    """Returns the constant's name for each key of a shape. Some shapes have `seq_len` for a constant
    SEQ_LEN. A key without a constant is one itself, under another name if a function has it."""
    known = load.assigned_names(tree)
    defined = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    found = {}
    for key in shape:
        upper = key.upper() if key.islower() else key
        new = key + "_" if key in defined else key
        alike = upper in known and upper not in shape
        found[key] = key if key in known else upper if alike else new
    return found


def translate(bundle):
    files = bundle["files"]
    for name, todo in (
        ("reference.py", "name the folder of a problem"),
        ("shapes.py", "add SHAPES = [{…}], or use kforge import torch for one size"),
    ):
        if name not in files:
            raise load.LoadError("there is no %s" % name, bundle["folder"], todo)
    shapes = shapes_of(files["shapes.py"])
    text = files["reference.py"].removeprefix("\ufeff")
    tree = load.parse(text, "reference.py")
    known, runs = load.assigned_names(tree), has_run(tree, len(shapes[0]))
    names = names_for(tree, shapes[0])
    used = set(known) | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    unused = [] if runs else [key for key in shapes[0] if names[key] not in used]
    if unused and len(unused) == len(names):
        raise load.LoadError(
            "%s is no constant of reference.py" % unused[0],
            "shapes.py: SHAPES[0]",
            "name constants that reference.py uses",
        )
    notes = ["shapes.py: %s is no constant of reference.py and is left out" % k for k in unused]
    names = {key: name for key, name in names.items() if key not in unused}
    meta = meta_of(bundle)
    tolerance, title = tolerance_of(meta)
    forbidden = forbidden_of(meta)
    if forbidden:
        notes.append("a solution may not contain: %s" % ", ".join(forbidden))
    lines = [text.rstrip("\n"), "", "", "# Of shapes.py and problem.yaml."]
    # The checks of these problems assign to the module, so a constant may be missing here.
    lines += ["%s = %r" % (n, shapes[0][k]) for k, n in names.items() if n not in known]
    lines.append("KFORGE_WORKLOADS = [")
    for number, shape in enumerate(shapes):
        patches = {n: shape[k] for k, n in names.items()}
        lines.append("    %r," % {"name": "shape%d" % number, "timed": True, "patches": patches})
    lines.append("]")
    if tolerance:
        lines.append("KFORGE_TOLERANCE = %r" % tolerance)
    if runs:
        # Numbers drawn in float64 are other numbers.
        lines += [
            "KFORGE_OWN_PRECISION = 'run draws numbers from its seed'",
            "",
            "from formats import kernelbench_com",
            "",
            "kernelbench_com.bind_run(globals(), lambda: [%s])" % ", ".join(names.values()),
        ]
        notes.append("a call is run(%s, seed, model): all of it is timed" % ", ".join(shapes[0]))
    return {
        "text": "\n".join(lines) + "\n",
        "doc": title,
        "solution": "Model",
        "notes": notes,
        "forbidden": forbidden,
    }
