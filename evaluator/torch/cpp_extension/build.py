"""The build phase of a solution that compiles extensions. It executes the solution in the build
jail, until it is known what the solution compiles.

    build PLANS    a JSON list of plans (runner.py), one for each workload
    build PLANS REQUEST
                   compiles one CUDA source again, in a jail that executes no foreign code
                   (cuda_on_cpu.recompile)

It constructs ModelNew for each plan. If a call that compiles has not been reached by then, it tries
forward once, on small inputs.

Descriptor 3 gets the results as records (evaluator/judge/python/build_archive.h): libraries,
compilers' messages, notes, and at most one complaint, which makes the build a compile error. Other
failures give no record: the runner executes the same code again and reports them.
"""
import ast
import json
import os
import struct
import sys
import tempfile
import threading
import time
import warnings

CRATE_FD = 3
RECORD = struct.Struct("<4sIQ64s64s")
KINDS = {"library": 1, "failed": 2, "note": 3, "complaint": 4, "unsupported": 5, "caches": 6}
CHEAP_ELEMENTS = 1 << 24  # of all arguments together: forward is tried below it
INCOMPLETE = 3  # exit status: the results so far count, and the next job tries again
OWN_SECONDS = 45.0  # without compiling: the runner has limits of its own


def put(kind, key="", name="", content=b""):
    record = RECORD.pack(b"kfx1", KINDS[kind], len(content), key.encode(), name.encode()) + content
    while record:
        record = record[os.write(CRATE_FD, record) :]


def complain(words, request=None):
    """`request`: of a source that the judge has to compile again (build_archive.h)."""
    content = words.encode("utf-8", "replace").replace(b"\0", b"")
    if request is None:
        put("complaint", content=content)
    else:
        put("unsupported", content=content + b"\0" + request)


def note(text):
    put("note", content=text.encode("utf-8", "replace"))


# ---- places that compile -------------------------------------------------------------------------


def places(text):
    """Returns (first line, last line) of every call of load or load_inline."""
    tree = ast.parse(text.removeprefix("\ufeff"))
    names, modules = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (node.module or "").endswith("cpp_extension") and alias.name in (
                    "load",
                    "load_inline",
                ):
                    names.add(alias.asname or alias.name)
                if alias.name == "cpp_extension":
                    modules.add(alias.asname or alias.name)
        elif isinstance(node, ast.Import):
            modules.update(
                alias.asname
                for alias in node.names
                if alias.asname and alias.name.endswith("cpp_extension")
            )
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        by_name = isinstance(called, ast.Name) and called.id in names
        by_module = isinstance(called, ast.Attribute) and (
            called.attr == "load_inline"
            or (
                called.attr == "load"
                and getattr(called.value, "attr", getattr(called.value, "id", ""))
                in modules | {"cpp_extension"}
            )
        )
        if by_name or by_module:
            yield node.lineno, node.end_lineno


def unreached(text, lines):
    return [
        first
        for first, last in places(text)
        if not any(line and first <= line <= last for line in lines)
    ]


# ---- executing -----------------------------------------------------------------------------------


def watch(compiling):
    """Ends the phase, with the results so far, if the solution does something else for too long."""
    spent, step = 0.0, 0.25
    while spent < OWN_SECONDS:
        time.sleep(step)
        if not compiling.busy:
            spent += step
    os._exit(INCOMPLETE)


def find_failure(error):
    """Returns the compiler's failure that caused `error`, or None."""
    from cpp_extension import extensions

    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, extensions.BuildFailed):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def is_cheap(plan):
    count = 0
    for argument in plan["arguments"]:
        elements = 1
        for extent in argument["shape"]:
            elements *= extent
        count += elements
    return count <= CHEAP_ELEMENTS


def execute(plan, compiling):
    """Executes a plan as runner.py does for a candidate. Raises the solution's exceptions."""
    import load
    import torch

    text, name = plan["candidate"]["text"], plan["candidate"]["name"]
    torch.set_default_dtype(torch.float32)
    problem = load.Problem.of_plan(plan)
    chosen = problem.solution(text, name, plan.get("solution"))
    module = problem.construct(seed=plan["seed"], model_class=chosen)
    missing = unreached(text, compiling.lines)
    if not missing or not is_cheap(plan):
        return
    try:
        load.seed_all(plan["seed"])
        if plan["mode"] == "eval":
            module.eval()
        module(*problem.inputs())
    except Exception as error:
        if find_failure(error) is not None:
            raise


def compile_again(plan, path):
    """Leaves a record only if kforge-cpucc finds that this device lacks something."""
    from cpp_extension import ninja_file
    from cpp_extension import cuda_on_cpu
    from cpp_extension import extensions

    text, name = plan["candidate"]["text"], plan["candidate"]["name"]
    folder = os.path.realpath(tempfile.mkdtemp(prefix="kforge-extension-"))
    with open(path, "rb") as file:
        status, output = cuda_on_cpu.recompile(file.read(), folder)
    if status != ninja_file.UNSUPPORTED:
        return INCOMPLETE
    where, what = extensions.place_of_complaint(output, {}, folder, text, name, None)
    complain("%s: error: %s\n%s" % (where, what, output), b"")
    return 0


def main(arguments):
    warnings.simplefilter("ignore")
    if len(arguments) not in (1, 2):
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        plans = json.load(file)
    if len(arguments) == 2:
        return compile_again(plans[0], arguments[1])
    import torch

    from cpp_extension import extensions
    from formats import this_device
    import virtual_fs

    text, name = plans[0]["candidate"]["text"], plans[0]["candidate"]["name"]
    # Where the jail has no /tmp of its own, a solution may make no folders there.
    virtual_fs.prepare()
    virtual_fs.install()
    os.chdir(tempfile.mkdtemp(prefix="kforge-here-"))
    compiling = extensions.Compiling(text, name, put)
    compiling.install()
    threading.Thread(target=watch, args=(compiling,), daemon=True).start()
    seen, status = [], 0
    with torch.no_grad(), this_device.OnThisDevice():
        for plan in plans:
            if plan["patches"] in seen:
                continue
            seen.append(plan["patches"])
            try:
                execute(plan, compiling)
            except BaseException as error:
                failure = find_failure(error)
                status = INCOMPLETE
                if failure is not None:
                    words = "%s: error: %s\n%s" % (failure.where or name, failure.what, failure)
                    complain(words, failure.unsupported)
                break
    for line in unreached(text, compiling.lines):
        note("%s:%d: not reached in the build phase, so nothing is compiled there" % (name, line))
    sys.stdout.flush()
    os._exit(status)  # without the solution's threads and exit handlers
