"""A campaign: many problems, models and strategies with equal budgets, and one table.

    campaign.py check  SPEC OUT                     imports the problems; says which ones fail
    campaign.py run    SPEC OUT [--minutes M]       searches; the next call goes on
    campaign.py verify SPEC OUT [--as LABEL]        measures winners and baselines again
    campaign.py table  SPEC OUT                     writes OUT/table.md, table.json and the pages
    campaign.py pack   SPEC OUT PART [--as LABEL]   copies waiting jobs into the new folder PART
    campaign.py unpack SPEC OUT RESULTS             takes the results of PART/work.sh back

`run` makes a cell of each problem, model, strategy and seed: one `kforge optimize` with a store of
its own, because no cell may use what another one has judged. It begins no cell after M minutes, and
interrupts those that still run. The next call continues them. `verify` measures each winner in
fresh processes, also against the further baselines, and the baselines themselves. Call it on
another day or card, and name that with --as. README.md describes SPEC and the parts.

Exit status: 0 all is done, 1 something failed, 2 bad input, 5 something is left for the next call.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import fnmatch
import json
import math
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import campaign_carry
import campaign_table
from campaign_carry import ROOT, BadInput, need, read_json, write_whole

# of kforge: a candidate was correct, none was, the budget ended before one was
RESULTS = (0, 1, 4)
INTERRUPTED, LEFT = 130, 5
# from an interrupt to the end of a run that waits for its verdicts
GRACE = 120
LIMITS = {
    "replies": "--replies",
    "evals": "--candidates",
    "seconds": "--time",
    "device_seconds": "--gpu-seconds",
    "cost": "--cost",
    "tokens": "--tokens",
}
# Of SPEC, with their defaults.
KEYS = {
    "name": "campaign",
    "kforge": None,
    "folders": {},
    "problems": None,
    "models": None,
    "strategies": ["sample", "auto"],
    "seeds": [1],
    "budget": {},
    "device": None,
    "jobs": {},
    "arguments": [],
    "eval_arguments": [],
    "notes": {},
}

stop = threading.Event()


# ---- the specification ---------------------------------------------------------------------------


class Problem:
    def __init__(self, entry, where, here, out):
        entry = {"task": entry} if isinstance(entry, str) else entry
        need(
            isinstance(entry, dict) and ("task" in entry) != ("import" in entry),
            f"{where}: expected a task, or an object with `task` or `import`",
        )
        self.command, self.level = entry.get("import"), str(entry.get("level", ""))
        need(not self.command or entry.get("name"), f"{where}: an import needs a name")
        self.task = entry.get("task")
        for folder in (here, os.path.join(ROOT, "tasks")):
            if self.task and os.path.exists(os.path.join(folder, self.task)):
                self.task = os.path.join(folder, self.task)
        self.name = entry.get("name") or os.path.basename(os.path.normpath(self.task))
        self.folder = os.path.join(out, "problems", re.sub(r"[^\w.-]", "_", self.name))
        self.import_file = os.path.join(self.folder, "import.json")
        self.from_kernelbench = bool(self.command) and self.command.split()[0] == "kernelbench"
        self.named_baselines = entry.get("baselines")
        if self.command and os.path.exists(self.import_file):
            self.take(read_json(self.import_file))

    def take(self, made):
        if made.get("task"):
            self.task = os.path.join(self.folder, made["task"])

    def missing(self):
        """The reason why there is no task; None if there is one."""
        if self.task:
            return None
        if not os.path.exists(self.import_file):
            return "not imported"
        return read_json(self.import_file).get("why", "not imported")

    def import_it(self, program, folders):
        """Imports the problem, unless an earlier call did. A refused problem is tried again."""
        if self.task:
            return
        try:
            words = [word.format(**folders) for word in shlex.split(self.command)]
        except KeyError as why:
            raise BadInput(
                f"{self.name}: {{{why.args[0]}}} is not known; add --folder {why.args[0]}=DIR"
            ) from why
        os.makedirs(self.folder, exist_ok=True)
        done = subprocess.run(
            [program, "import", *words, "--output", self.folder, "--force", "--json"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        made = import_result(done)
        if made.get("task"):
            add_max_autotune(os.path.join(self.folder, made["task"]))
        write_whole(self.import_file, json.dumps(made) + "\n")
        self.take(made)

    def baselines(self):
        """Names of the further baselines: those of the entry, else all of the task."""
        if self.named_baselines is not None:
            return self.named_baselines
        file = os.path.join(self.task, "task.json")
        return list(read_json(file).get("baselines", {})) if os.path.exists(file) else []


def import_result(done):
    """Reads the output of `kforge import`, which has to make one task."""
    try:
        entries = json.loads(done.stdout)["problems"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"why": f"exit status {done.returncode}: {last}"}
    if len(entries) != 1:
        return {"why": f"the command imports {len(entries)} problems; expected one"}
    entry = entries[0]
    if entry["status"] in ("made", "unchanged"):
        return {"task": entry["task"], "notes": entry.get("notes", "")}
    return {"why": ": ".join(entry[key] for key in ("status", "rule", "reason") if entry.get(key))}


# The mode max-autotune-no-cudagraphs of torch.compile. torch._inductor reads these variables when
# it is imported, after the problem file was run.
MAX_AUTOTUNE = """

import os

os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"
os.environ["TORCHINDUCTOR_COORDINATE_DESCENT_TUNING"] = "1"
"""


def add_max_autotune(folder):
    """Adds a further baseline to an imported task: torch.compile that tries more kernels."""
    path = os.path.join(folder, "task.json")
    task = read_json(path)
    compiled = task.get("baselines", {}).get("compiled")
    if compiled:
        with open(os.path.join(folder, compiled["file"]), encoding="utf-8") as file:
            write_whole(os.path.join(folder, "max_autotune.py"), file.read() + MAX_AUTOTUNE)
        entry = {"kind": "torch", "file": "max_autotune.py", "compile": True}
        task["baselines"]["max-autotune"] = entry
        write_whole(path, json.dumps(task, indent=1) + "\n")


class Cell:
    def __init__(self, spec, out, problem, model, strategy, seed):
        self.problem, self.model, self.strategy, self.seed = problem, model, strategy, seed
        self.name = re.sub(r"[^\w.-]", "_", f"{problem.name}.{model['name']}.{strategy}.{seed}")
        self.folder = os.path.join(out, "cells", self.name)
        self.store = self.path("kforge.db")
        self.best = self.path("best.cu")
        self.result_file = self.path("result.json")
        self.spec = spec

    def path(self, name):
        return os.path.join(self.folder, name)

    def result(self):
        return read_json(self.result_file) if os.path.exists(self.result_file) else None

    def run_id(self):
        """The run that an earlier call began; None if there is no run."""
        if not os.path.exists(self.store):
            return None
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as store:
            row = store.execute("select key from run order by rowid desc limit 1").fetchone()
        return row and row[0]

    def command(self, program, workers):
        budget, model = dict(self.model.get("budget", self.spec["budget"])), self.model["spec"]
        if self.strategy == "agent" and "evals" in budget:
            # An episode has a limit of its own.
            model = re.sub("^agent", f"agent,evals={budget.pop('evals')}", model)
        begin = ["--resume", self.run_id()]
        if not begin[1]:
            begin = [self.problem.task, "--model", model, "--strategy", self.strategy]
            begin += ["--seed", str(self.seed)]
        for key, value in budget.items():
            begin += [LIMITS[key], f"{value}s" if key.endswith("seconds") else str(value)]
        files = ["--store", self.store, "--output", self.best]
        return [program, "optimize", *begin, *files, *workers, *self.spec["arguments"], "--json"]

    def jobs(self):
        """The number of jobs at a time in a carried campaign."""
        jobs = self.spec["jobs"]
        return jobs.get(self.strategy, 4) if isinstance(jobs, dict) else jobs


def read_spec(path, out):
    spec = read_json(path)
    need(isinstance(spec, dict), f"{path}: expected an object")
    unknown = set(spec) - set(KEYS)
    need(not unknown, f"{path}: unknown keys {sorted(unknown)}; known are {sorted(KEYS)}")
    for key in ("problems", "models"):
        need(
            isinstance(spec.get(key), list) and spec[key],
            f"{path}: {key}: expected a list that is not empty",
        )
    spec = KEYS | spec
    for i, model in enumerate(spec["models"]):
        need(
            isinstance(model, dict) and model.get("name") and model.get("spec"),
            f"{path}: models[{i}]: expected name and spec",
        )
    for budget in (spec["budget"], *[model.get("budget", {}) for model in spec["models"]]):
        for key in budget:
            need(key in LIMITS, f"{path}: budget: {key} is unknown; known are {sorted(LIMITS)}")
    here = os.path.dirname(os.path.abspath(path))
    spec["problems"] = [
        Problem(entry, f"{path}: problems[{i}]", here, out)
        for i, entry in enumerate(spec["problems"])
    ]
    return spec


def cells_of(spec, out, only):
    cells = [
        Cell(spec, out, problem, model, strategy, seed)
        for problem in spec["problems"]
        for model in spec["models"]
        for strategy in model.get("strategies", spec["strategies"])
        for seed in spec["seeds"]
    ]
    names = [cell.name for cell in cells]
    twice = {name for name in names if names.count(name) > 1}
    need(
        not twice,
        f"two cells are named {sorted(twice)}; give problems and models names of their own",
    )
    return [cell for cell in cells if fnmatch.fnmatch(cell.name, only)]


def program_of(spec):
    own = os.path.join(ROOT, "build", "release", "bin", "kforge")
    name = spec["kforge"] or (own if os.access(own, os.X_OK) else "kforge")
    need(
        shutil.which(name),
        f"{name}: no such program; build kforge, put it on PATH, or name it under `kforge` in SPEC",
    )
    return name


# ---- commands of kforge --------------------------------------------------------------------------


def call(command, log_path, until, spool=None):
    """Runs kforge until it ends, or is interrupted at the time `until`. Returns its exit status and
    output; the status is INTERRUPTED for a command that goes on in the next call."""
    with open(log_path, "a", encoding="utf-8") as log:
        # A session of its own: an interrupt of the terminal reaches this program alone.
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        output, interrupted = None, 0
        while output is None:
            try:
                if spool:
                    spool.tend()
                output, _ = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                if interrupted and time.time() > interrupted + GRACE:
                    os.killpg(process.pid, signal.SIGKILL)
                elif not interrupted and (stop.is_set() or time.time() >= until):
                    process.send_signal(signal.SIGINT)
                    interrupted = time.time()
                    print("campaign.py: interrupted", file=log, flush=True)
    killed = process.returncode == -signal.SIGKILL and interrupted
    return INTERRUPTED if killed else process.returncode, output


def last_line(path):
    with open(path, encoding="utf-8") as log:
        return (log.read().splitlines() or ["no message"])[-1]


def workers_of(options, spec, group, key, jobs):
    """The options that name the workers, and the spool folder of a carried command."""
    if not options.carried:
        device = options.device or spec["device"]
        return (["--device", device] if device else []), None
    spool = campaign_carry.Spool(options.out, group, key)
    return ["--workers", f"spool:{os.path.abspath(spool.folder)}*{jobs}"], spool


def in_parallel(options, work, items):
    """Prints and returns the state of each item: "done", "left", or a failure."""
    states = {}
    with concurrent.futures.ThreadPoolExecutor(options.parallel or 1) as pool:
        jobs = {pool.submit(work, item): item for item in items}
        for job in concurrent.futures.as_completed(jobs):
            states[jobs[job].name] = state = job.result()
            print(f"{jobs[job].name}: {state}", flush=True)
    return list(states.values())


def status_of(kinds, of):
    print(f"{kinds.count('done')} of {of} are done, {kinds.count('left')} are left")
    if set(kinds) - {"done", "left"}:
        return 1
    return LEFT if "left" in kinds else 0


# ---- running -------------------------------------------------------------------------------------


def slower_best(cell, program):
    """The best correct candidate of a search without a winner, which the table lists as a loss."""
    shown = subprocess.run(
        [program, "show", cell.run_id(), "--store", cell.store, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(shown.stdout)["candidates"] if shown.returncode == 0 else []
    if not found:
        return None
    source = subprocess.run(
        [program, "show", found[0]["id"], "--source", "--store", cell.store],
        capture_output=True,
        text=True,
        check=True,
    )
    write_whole(cell.best, source.stdout)
    return found[0]


def make_cell(cell, program, options, until):
    if cell.result():
        return "done"
    if cell.problem.missing():
        return f"no task: {cell.problem.missing()}"
    if stop.is_set() or time.time() >= until:
        return "left"
    os.makedirs(cell.folder, exist_ok=True)
    workers, spool = workers_of(options, cell.spec, "search", cell.name, cell.jobs())
    log = cell.path("log")
    status, output = call(cell.command(program, workers), log, until, spool)
    if status == INTERRUPTED:
        return "left"
    if status not in RESULTS:
        return f"exit status {status}: {last_line(log)}"
    result = json.loads(output)
    if not result["best"]:
        result["loss"] = slower_best(cell, program)
    write_whole(cell.result_file, json.dumps(result, indent=1) + "\n")
    return "done"


def run(spec, cells, options):
    program = program_of(spec)
    import_all(spec, cells, options)
    until = time.time() + options.minutes * 60
    kinds = in_parallel(options, lambda cell: make_cell(cell, program, options, until), cells)
    return status_of(kinds, f"{len(cells)} cells")


def import_all(spec, cells, options):
    program, folders = program_of(spec), spec["folders"] | dict(options.folder)
    folders = {name: os.path.expanduser(folder) for name, folder in folders.items()}
    problems = {cell.problem.name: cell.problem for cell in cells}.values()
    for problem in problems:
        if not stop.is_set() and problem.command:
            problem.import_it(program, folders)
    return problems


def check(spec, cells, options):
    problems = import_all(spec, cells, options)
    for problem in problems:
        print(f"{problem.name}: {problem.missing() or 'ready'}")
    failed = sum(bool(problem.missing()) for problem in problems)
    print(f"{len(problems) - failed} of {len(problems)} problems are ready")
    return 1 if failed else 0


# ---- verifying -----------------------------------------------------------------------------------


class Measurement:
    """Verdicts of one candidate, against the task's baseline and the further ones. A finished one
    is the file `path`; verdicts before that are files with the name of their baseline."""

    def __init__(self, name, task, source, flags, baselines, path):
        self.name, self.task, self.source, self.flags = name, task, source, flags
        self.baselines, self.path = baselines, path

    def one(self, spec, options, baseline, until):
        part = f"{self.path}.{baseline or 'baseline'}"
        if os.path.exists(part):
            return read_json(part)
        if stop.is_set() or time.time() >= until:
            return None
        key = f"{self.name}.{baseline or 'baseline'}"
        workers, spool = workers_of(options, spec, options.label, key, 1)
        command = [program_of(spec), "eval", self.task, self.source, "--verify", "--json"]
        command += ["--no-keep", *workers, *spec["eval_arguments"]]
        command += [f"--flag={flag}" for flag in self.flags]
        command += ["--baseline", baseline] if baseline else []
        log = self.path + ".log"
        status, output = call(command, log, until, spool)
        if status == INTERRUPTED:
            return None
        try:
            verdict = json.loads(output)
        except ValueError:
            verdict = {"status": "failed", "message": last_line(log)}
        if verdict.get("blame") not in ("machine", "judge") and verdict["status"] != "failed":
            write_whole(part, json.dumps(verdict) + "\n")
        return verdict

    def make(self, spec, options, until):
        if os.path.exists(self.path):
            return "done"
        verdicts = {}
        for baseline in self.baselines:
            verdict = self.one(spec, options, baseline, until)
            if verdict is None:
                return "left"
            verdicts[baseline or "baseline"] = verdict
        wrong = [
            f"{n}: {v['status']}: {v.get('message', '')}"
            for n, v in verdicts.items()
            if v["status"] != "correct"
        ]
        write_whole(self.path, json.dumps(verdicts, indent=1) + "\n")
        return "; ".join(wrong) or "done"


def baseline_as_candidate(problem):
    """Writes the task's own baseline as a candidate, to measure it against the others. None: it is
    no file of the task's folder."""
    if not os.path.isdir(problem.task):
        return None
    entry = read_json(os.path.join(problem.task, "task.json"))["baseline"]
    with open(os.path.join(problem.task, entry["file"]), encoding="utf-8") as file:
        text = file.read()
    if entry.get("kind") == "torch":
        text += "\n\nModelNew = Model\n"
    os.makedirs(problem.folder, exist_ok=True)
    path = os.path.join(problem.folder, "baseline" + os.path.splitext(entry["file"])[1])
    write_whole(path, text)
    return path


def measurements(cells, label):
    for problem in {cell.problem.name: cell.problem for cell in cells}.values():
        own = None if problem.missing() else baseline_as_candidate(problem)
        if own:
            baselines = problem.baselines() or [None]
            path = os.path.join(problem.folder, f"baselines.{label}.json")
            yield Measurement(problem.name, problem.task, own, [], baselines, path)
    for cell in cells:
        best = campaign_table.best_of(cell.result() or {})
        if best and os.path.exists(cell.best):
            baselines = [None, *cell.problem.baselines()]
            path = cell.path(f"verify.{label}.json")
            flags = best.get("flags", [])
            yield Measurement(cell.name, cell.problem.task, cell.best, flags, baselines, path)


def exports(cells, program, label):
    """Yields (cell, problem file, ModelNew) of each KernelBench problem with a candidate that its
    evaluator has not seen under this label."""
    for cell in cells:
        if not cell.problem.from_kernelbench or not os.path.exists(cell.best):
            continue
        if not cell.result() or os.path.exists(cell.path(f"kernelbench.{label}.json")):
            continue
        made = cell.path("model_new.py")
        done = subprocess.run(
            [program, "export", "--format", "modelnew", "--task", cell.problem.task]
            + ["--candidate", cell.best, "--output", made, "--force"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            yield cell, os.path.join(cell.problem.task, "problem.py"), made
        else:
            print(f"{cell.name}: no ModelNew: {done.stderr.strip()}")


def by_kernelbench(cell, problem, solution, checkout, label):
    """Runs KernelBench's own evaluator in a process of its own. It needs a GPU."""
    side = os.path.join(ROOT, "tests", "gpu", "kernelbench_side.py")
    python = os.environ.get("KFORGE_PYTHON", "python3")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, side, checkout, problem, solution, folder],
            env=dict(os.environ, TORCH_EXTENSIONS_DIR=folder),
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("kforge: ")]
    if not lines:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{cell.name}: KernelBench's evaluator: {last}")
        return False
    write_whole(cell.path(f"kernelbench.{label}.json"), lines[-1][len("kforge: ") :] + "\n")
    return True


def verify(spec, cells, options):
    until = time.time() + options.minutes * 60
    found = list(measurements(cells, options.label))
    kinds = in_parallel(options, lambda one: one.make(spec, options, until), found)
    if options.kernelbench and not options.carried:
        for cell, problem, solution in exports(cells, program_of(spec), options.label):
            if stop.is_set() or time.time() >= until:
                kinds.append("left")
                break
            good = by_kernelbench(cell, problem, solution, options.kernelbench, options.label)
            kinds.append("done" if good else "failed")
    return status_of(kinds, f"{len(kinds)} measurements")


# ---- parts ---------------------------------------------------------------------------------------


def pack(spec, cells, options):
    group, solutions = options.group or "search", []
    if options.kernelbench:
        need(options.group, "--kernelbench: name the verification with --as")
        solutions = [
            (cell.name, problem, solution)
            for cell, problem, solution in exports(cells, program_of(spec), group)
        ]
    need(options.place, "pack: expected SPEC OUT PART")
    jobs, count = campaign_carry.pack(
        options.out, group, options.place, options.build, (solutions, options.kernelbench)
    )
    print(f"{jobs} jobs and {count} exports; there: sh {options.place}/work.sh SECONDS [RESULTS]")
    return 0


def unpack(spec, cells, options):
    need(options.place, "unpack: expected SPEC OUT RESULTS")
    group, given, kept, found = campaign_carry.unpack(options.out, options.place)
    for cell in cells_of(spec, options.out, "*"):
        if cell.name in found:
            path = cell.path(f"kernelbench.{group}.json")
            write_whole(path, json.dumps(found[cell.name]) + "\n")
    print(f"{given} verdicts for waiting jobs, {kept} kept, {len(found)} of KernelBench")
    return 0


def table(spec, cells, options):
    done = campaign_table.write(spec, cells, options.out, program_of(spec))
    return 0 if done == len(cells) else LEFT


# ---- the command line ----------------------------------------------------------------------------

ACTIONS = {f.__name__: f for f in (check, run, verify, table, pack, unpack)}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("spec")
    parser.add_argument("out")
    parser.add_argument("place", nargs="?", help="PART of pack, RESULTS of unpack")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--only", default="*", help="a pattern for the names of cells")
    parser.add_argument("--parallel", type=int, help="cells at a time (1; 64 if carried)")
    parser.add_argument("--carried", action="store_true", help="jobs are judged by packed parts")
    parser.add_argument("--as", dest="group", help="the verification's name (the date)")
    parser.add_argument("--device", help="replaces SPEC's device")
    parser.add_argument("--build", help="pack: the build folder of a kforge to pack")
    parser.add_argument("--kernelbench", help="a checkout of KernelBench, for its own evaluator")
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        metavar="NAME=DIR",
        type=lambda text: text.split("=", 1),
        help="the folder that {NAME} in an import means",
    )
    options = parser.parse_args()
    options.label = options.group or time.strftime("%Y-%m-%d")
    options.minutes = min(options.minutes, 1e6)
    options.parallel = options.parallel or (64 if options.carried else 1)
    return options


def main():
    options = parse()
    try:
        need(options.parallel > 0, "--parallel: expected 1 or more")
        need(
            re.fullmatch(r"[\w.-]+", options.label) and options.group != "search",
            f"--as {options.label}: expected letters, digits, . _ -, and not “search”",
        )
        need(all(len(f) == 2 for f in options.folder), "--folder: expected NAME=DIR")
        spec = read_spec(options.spec, options.out)
        cells = cells_of(spec, options.out, options.only)
        need(cells, f"--only {options.only}: no cell has such a name")
        os.makedirs(options.out, exist_ok=True)
        if options.action not in ("check", "run", "verify"):
            return ACTIONS[options.action](spec, cells, options)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        lock_path = os.path.join(options.out, f"{options.action}.lock")
        with open(lock_path, "w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as why:
                raise BadInput(f"{options.out}: another `{options.action}` runs there") from why
            return ACTIONS[options.action](spec, cells, options)
    except BadInput as why:
        print(f"campaign.py: {why}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
