"""The dry run of a solution that compiles when it is called: Triton, torch.compile and similar.

    dry_run PLANS [--cuda]   a JSON list of plans (runner.py), one for each workload

A runner starts no programs. So the solution is executed once before, in a process that may start
programs, on the device on which it will be judged. Each workload is loaded as in a runner and
called twice, on inputs of the problem file, never on the judge's. The files of compilers
(caches.py) and the answers of programs (commands.py) go to descriptor 3 as one record
(evaluator/judge/python/build_archive.h). From there they go to the solution's own runners, which
find everything in the same folders (`take`). A failure here is no verdict: the runner executes the
same code again and reports it.
"""
import gc
import json
import os
import sys
import tempfile
import warnings

import caches
import commands
import compiled
import virtual_fs

NAME = "dry-run.caches"  # in the folder of a solution's extensions
HERE = "kforge-here"  # the base of relative paths, in a runner as well
CALLS = 2
EXTENSIONS = "extensions"  # KF_EXTENSIONS_FOLDER
# What was tuned here is not tuned again in the solution's time.
SETTINGS = dict(compiled.SETTINGS, TRITON_CACHE_AUTOTUNING="1")

INDUCTOR = ("torch.compile", "torch._inductor", "torch._dynamo")

_taken = False


def settle(top):
    """Sets equal surroundings in both processes."""
    for name, value in SETTINGS.items():
        os.environ[name] = top + value[len("/tmp") :] if value.startswith("/tmp/") else value
    here = os.path.join(top, HERE)
    os.makedirs(here, exist_ok=True)
    os.chdir(here)


def settle_inductor(text):
    """Sets torch.compile to work without precompiled headers. They take longer than a kernel or
    two, and are too large to keep (caches.py)."""
    if not any(word in text for word in INDUCTOR):
        return
    try:
        import torch._inductor.config as config
    except Exception:
        return  # this PyTorch has none
    if hasattr(config, "cpp_cache_precompile_headers"):
        config.cpp_cache_precompile_headers = False


def take(folder, text):
    """Takes a dry run's results in a runner, once, before the second filter and before the solution
    runs. `text`: of the solution."""
    global _taken
    path, top = os.path.join(folder, NAME), tempfile.gettempdir()
    if _taken or not os.path.exists(path):
        return
    _taken = True
    try:
        with open(path, "rb") as file:
            answers = caches.unpack(file.read(), top)
        virtual_fs.install()
        settle(top)
        settle_inductor(text)
        commands.answer(answers)
    except Exception as error:
        sys.stderr.write("kforge-torch: what its dry run left is of no use: %s: %s\n" % (type(error).__name__, error))


def forget():
    """Clears torch.compile's memory of earlier workloads. Otherwise it would take another size for
    a variable one, and compile again."""
    known = sys.modules.get("torch._dynamo")
    if known is not None and hasattr(known, "reset"):
        known.reset()


def execute(plan, folder, place):
    """Executes a plan with weights as the judge's are. If the solution's constructor makes other
    weights, which may need other kernels, executes it with those, too, as frozen weights and
    KernelBench's protocol do."""
    import bind_arguments

    loaded = bind_arguments.Loaded(plan, folder, place)
    loaded.load.seed_all(plan["seed"])
    makes_others = loaded.makes_others
    given = loaded.like_judges(place.make(loaded.problem.inputs))
    try:
        for _ in range(CALLS):
            loaded.module(*given)
        place.wait()
    finally:
        del loaded, given
        if makes_others:
            execute(dict(plan, own_state=True), folder, place)


def execute_all(plans, folder, place):
    """Returns the first failure, or "". Another workload may succeed: a large one may lack memory
    here."""
    seen, why = [], ""
    for plan in plans:
        shapes = (plan["patches"], plan["arguments"])
        if shapes in seen:
            continue
        seen.append(shapes)
        try:
            execute(plan, folder, place)
        except BaseException as error:
            why = why or "%s: %s" % (type(error).__name__, compiled.words_of(error))
        gc.collect()
    return why


def main(arguments):
    on_gpu = "--cuda" in arguments
    warnings.simplefilter("ignore")
    if len(arguments) != 1 + on_gpu:
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        plans = json.load(file)
    top = tempfile.gettempdir()
    settle(top)
    import torch

    from cpp_extension import build

    if on_gpu:
        import gpu

        place = gpu.OwnMemory(torch)
    else:
        import cpu

        place = cpu.Place(torch)
    settle_inductor(plans[0]["candidate"]["text"])
    record = commands.record(top)
    folder = os.path.dirname(os.path.abspath(arguments[0]))
    with torch.no_grad():
        why = execute_all(plans, os.path.join(folder, EXTENSIONS), place)
    content, files, left_out = caches.pack(top, record.as_json(), without=folder)
    build.put("caches", content=content)
    words = ["%d files, %d programs asked" % (files, len(record.answers)), "others left out" if left_out else "", why]
    build.note("; ".join(word for word in words if word))
    sys.stdout.flush()
    os._exit(0)  # without the solution's threads and exit handlers
