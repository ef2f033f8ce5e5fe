"""Writes a published solution as a Python file with class ModelNew, which kforge judges.

Sources in Python become modules of their own names, so that they import each other. Sources in
CUDA or C++ are compiled with torch.utils.cpp_extension; the judge's stand-in (extensions.py) does
that in the build jail. A solution in destination-passing style gets empty outputs. The entry point
is called as the projects call it: positionally, inputs first.
"""

import os

from .flashinfer_fault import Fault
from .gpu_mode import literal

PYTHON = ("python", "pytorch", "triton", "cute_dsl", "cutile", "cudnn_frontend", "tilelang")
COMPILED = ("cuda", "cpp", "cuda_cpp", "cutlass", "cudnn", "cublas")
HEADERS = (".h", ".hpp", ".cuh", ".inl")
MOST_SOURCES = 256
HEAD = """# The solution {name} of {definition}{author}, from {language}.
import sys
import types

import torch

"""
MODULES = '''
FILES = {files!r}


def load_modules():
    """Makes a module of each source, and executes them in an order in which their imports work."""
    waiting = {{}}
    for path, text in FILES.items():
        name = path[: -len(".py")].replace("/", ".")
        name = name[: -len(".__init__")] if name.endswith(".__init__") else name
        module = types.ModuleType(name)
        module.__file__ = path
        module.__package__ = name if path.endswith("__init__.py") else name.rpartition(".")[0]
        if path.endswith("__init__.py"):
            module.__path__ = []
        waiting[name] = (module, compile(text, path, "exec"))
    modules, failed = {{}}, None
    while waiting:
        before = len(waiting)
        for name, (module, code) in list(waiting.items()):
            sys.modules[name] = module
            try:
                exec(code, module.__dict__)
            except ImportError as error:
                failed = error
                sys.modules.pop(name, None)
                continue
            modules[name] = waiting.pop(name)[0]
        if len(waiting) == before:
            raise failed
    return modules


entry = getattr(load_modules()[{module!r}], {function!r})
'''
SINGLE = """
source = {text}
module = types.ModuleType({module!r})
module.__file__ = {path!r}
sys.modules[{module!r}] = module
import linecache

linecache.cache[{path!r}] = (len(source), None, source.splitlines(True), {path!r})
exec(compile(source, {path!r}, "exec"), module.__dict__)
entry = module.{function}
"""
EXTENSION = """
import os
import tempfile

from torch.utils.cpp_extension import load

FILES = {files!r}
folder = tempfile.mkdtemp()
for path, text in FILES.items():
    place = os.path.join(folder, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w") as file:
        file.write(text)
extension = load(
    name={name!r},
    sources=[os.path.join(folder, path) for path in {compiled!r}],
    extra_include_paths=[folder],
    extra_cflags={cflags!r},
    extra_cuda_cflags={cuda_cflags!r},
    extra_ldflags={ldflags!r},
    with_cuda=True,
)
entry = extension.{function}
"""
RETURNS = """

class ModelNew(torch.nn.Module):
    def forward(self, *arguments):
        result = entry(*arguments[:{inputs}])
        if isinstance(result, dict):
            result = [result[name] for name in {outputs!r}]
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        return results[0] if len(results) == 1 else results
"""
PASSES = """

class ModelNew(torch.nn.Module):
    def forward(self, {parameters}*rest):
{extents}        results = [
{results}
        ]
        entry({parameters}*results)
        return results[0] if len(results) == 1 else results
"""


def check_sources(solution):
    """Returns {path: text} of a solution."""
    sources = solution.get("sources")
    if not isinstance(sources, list) or not 0 < len(sources) <= MOST_SOURCES:
        raise Fault("solution.sources", "expected 1 to %d sources" % MOST_SOURCES)
    files = {}
    for source in sources:
        path = source.get("path") if isinstance(source, dict) else None
        text = source.get("content") if isinstance(source, dict) else None
        if not isinstance(path, str) or not isinstance(text, str):
            raise Fault("solution.sources", "each source needs path and content")
        parts = path.split("/")
        if os.path.isabs(path) or ".." in parts or "" in parts or "\\" in path:
            raise Fault("solution.sources", "the path %s leads out of the solution" % path)
        if path in files:
            raise Fault("solution.sources", "two sources have the path %s" % path)
        files[path] = text
    return files


def check_spec(solution, files):
    """Returns (spec, language, path and function of the entry point)."""
    spec = solution.get("spec")
    if not isinstance(spec, dict):
        raise Fault("solution.spec", '"spec" is missing')
    languages = spec.get("languages", [spec.get("language")])
    if not isinstance(languages, list) or not languages:
        raise Fault("solution.spec", '"languages" is no list')
    for language in languages:
        if language not in PYTHON + COMPILED:
            raise Fault(
                "solution.spec",
                'the language "%s" is unknown; kforge has %s'
                % (language, ", ".join(PYTHON + COMPILED)),
            )
    path, mark, function = str(spec.get("entry_point")).partition("::")
    if not mark or not function.isidentifier():
        raise Fault("solution.spec", "entry_point is no FILE::FUNCTION")
    if path not in files:
        raise Fault("solution.spec", "the entry point's file %s is not in sources" % path)
    return spec, languages[0], path, function


def compiled_entry(solution, spec, files, path, function):
    if (spec.get("binding") or ("torch" if "languages" in spec else "tvm-ffi")) != "torch":
        raise Fault(
            "solution.binding",
            "its binding is tvm-ffi; kforge judges C++ and CUDA with the binding torch",
        )
    options = spec.get("compile_options") or {}
    compiled = sorted(each for each in files if not each.endswith(HEADERS + (".py",)))
    if "PYBIND11_MODULE" not in "".join(files[each] for each in compiled):
        files = dict(files)
        files[path] += "\n#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) "
        files[path] += '{ m.def("%s", &%s); }\n' % (function, function)
    return EXTENSION.format(
        files=files,
        name=clean(solution["name"]),
        compiled=compiled,
        cflags=options.get("cflags") or [],
        cuda_cflags=options.get("cuda_cflags") or ["-O3", "--use_fast_math"],
        ldflags=options.get("ld_flags") or [],
        function=function,
    )


def python_entry(files, path, function):
    module = path[: -len(".py")].replace("/", ".")
    files = {each: text for each, text in files.items() if each.endswith(".py")}
    if not path.endswith(".py"):
        raise Fault("solution.spec", "the entry point %s is no Python file" % path)
    if len(files) == 1:
        return SINGLE.format(text=literal(files[path]), module=module, path=path, function=function)
    return MODULES.format(files=files, module=module, function=function)


def clean(name):
    text = "".join(c if c.isascii() and (c.isalnum() or c in "_-.") else "_" for c in name)
    return text.lstrip("_-.")[:100] or "solution"


def extent_code(definition):
    """Returns {axis: Python for its value in ModelNew.forward}."""
    found = {}
    for name, spec in definition["inputs"].items():
        for dim, axis in enumerate(spec["shape"] or []):
            found.setdefault(axis, "%s.shape[%d]" % (name, dim))
    variables = [axis for axis, spec in definition["axes"].items() if spec["type"] == "var"]
    for axis, spec in definition["axes"].items():
        if spec["type"] == "const":
            found[axis] = str(spec["value"])
        elif axis in variables and axis not in found:
            found[axis] = "rest[%d]" % variables.index(axis)
    return found


def passes(definition):
    """Returns ModelNew for a function that writes into its last arguments."""
    from . import flashinfer_axes as expressions

    code, extents, results = extent_code(definition), "", []
    device = next(
        ("%s.device" % n for n, spec in definition["inputs"].items() if spec["shape"]), '"cpu"'
    )
    for spec in definition["outputs"].values():
        shape = []
        for axis in spec["shape"]:
            if axis not in code:
                written = definition["axes"][axis]["expression"]
                names = {each: "(%s)" % text for each, text in code.items()}
                code[axis] = (expressions.write(written, names) or "0").replace("/", "//")
            shape.append(code[axis])
        results.append(
            "            torch.zeros([%s], dtype=torch.%s, device=%s),"
            % (", ".join(shape), spec["dtype"], device)
        )
    return PASSES.format(
        parameters="".join("%s, " % name for name in definition["inputs"]),
        extents=extents,
        results="\n".join(results),
    )


def write(definition, solution):
    """Returns (name, text of the Python file)."""
    name = solution.get("name")
    if not isinstance(name, str) or not name:
        raise Fault("solution.name", '"name" is missing')
    files = check_sources(solution)
    spec, language, path, function = check_spec(solution, files)
    author = solution.get("author")
    text = HEAD.format(
        name=one_line(name),
        definition=one_line(definition["name"]),
        author=" by " + one_line(author) if isinstance(author, str) and author else "",
        language=language,
    )
    if language in COMPILED:
        text += compiled_entry(solution, spec, files, path, function)
    else:
        text += python_entry(files, path, function)
    if spec.get("destination_passing_style", True):
        text += passes(definition)
    else:
        text += RETURNS.format(
            inputs=len(definition["inputs"]), outputs=list(definition["outputs"])
        )
    return clean(name), text


def one_line(text):
    return " ".join(str(text).split())[:200]
