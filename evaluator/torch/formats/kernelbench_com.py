"""Problems in the layout of kernelbench.com, as problem files.

A problem has reference.py in KernelBench's convention, and shapes.py: SHAPES, a list of values for
module-level constants of the reference. A solution is a file with class Model. The problem file is
reference.py with the shapes as workloads behind it.
"""

import numbers

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


def tolerance_of(bundle):
    """Returns [rtol, atol] of problem.yaml's loosest tolerance, which is one number for both; None
    without it."""
    text = bundle["files"].get("problem.yaml")
    if text is None:
        return None, ""
    from formats import gpu_mode

    meta = gpu_mode.read_yaml(text, "problem.yaml")
    if not isinstance(meta, dict):
        return None, ""
    given = meta.get("tolerance")
    found = (
        [v for v in given.values() if isinstance(v, numbers.Real)]
        if isinstance(given, dict)
        else []
    )
    title = meta.get("display_name")
    return ([float(max(found))] * 2 if found else None), title if isinstance(title, str) else ""


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
    known = load.assigned_names(load.parse(text, "reference.py"))
    tolerance, title = tolerance_of(bundle)
    lines = [text.rstrip("\n"), "", "", "# Of shapes.py and problem.yaml."]
    # The checks of these problems assign to the module, so a constant may be missing here.
    lines += ["%s = %r" % (k, v) for k, v in shapes[0].items() if k not in known]
    lines.append("KFORGE_WORKLOADS = [")
    for number, shape in enumerate(shapes):
        lines.append(
            "    %r," % {"name": "shape%d" % number, "timed": True, "patches": dict(shape)}
        )
    lines.append("]")
    if tolerance:
        lines.append("KFORGE_TOLERANCE = %r" % tolerance)
    return {"text": "\n".join(lines) + "\n", "doc": title, "solution": "Model", "notes": []}
