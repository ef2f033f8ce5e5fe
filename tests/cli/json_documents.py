"""Runs every command that has --json, in a store that it fills, and compares each document with the
tables of docs/reference/json.md: every key is documented, and every documented key is there.

python3 json_documents.py BIN
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.realpath(sys.argv[1])
PROGRAM = os.path.join(BIN, "kforge")
FAKE = os.path.join(BIN, "..", "tests", "fake_worker")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
INTERVAL = {"value", "low", "high"}
failures = []


def read_tables(path):
    """Returns {name: {key: (type, optional)}} of the tables. A table's name is the schema in the
    heading above it, or the heading itself. "The keys of a [run]" adds those of another table."""
    tables, bases, name = {}, {}, None
    for line in open(path, encoding="utf-8"):
        if line.startswith("#"):
            words = re.findall(r"`(kforge-[a-z-]+/\d+)`", line)
            name = words[0] if words else line.strip("# \n").lower()
            tables[name] = {}
        elif line.startswith("|`"):
            cells = line.strip("|\n ").split("|")
            for key, optional in re.findall(r"`([^`]+)`(\??)", cells[0]):
                tables[name][key] = (cells[1].split(";")[0].strip(), bool(optional))
        else:
            base = re.search(r"the keys of an? \[([^\]]+)\]", line)
            if base:
                bases[name] = base.group(1)
    for name, base in bases.items():
        tables[name].update(tables[base])
    return {name: keys for name, keys in tables.items() if keys}


class Checker:
    """Compares values with tables."""

    def __init__(self, tables):
        self.tables = tables
        self.used = set()

    def complain(self, where, text):
        failures.append("%s: %s" % (where, text))

    def check(self, value, kind, where):
        kind = re.sub(r"\[([^\]]+)\]\(#[^)]*\)", r"\1", kind)
        if kind.endswith(" or null"):
            if value is None:
                return
            kind = kind[: -len(" or null")]
        if kind.endswith("[]"):
            if not isinstance(value, list):
                return self.complain(where, "expected an array")
            for i, item in enumerate(value):
                self.check(item, kind[:-2], "%s[%d]" % (where, i))
        elif kind in self.tables:
            self.check_object(value, kind, where)
        elif not self.is_plain(value, kind):
            self.complain(where, "%r is no %s" % (value, kind))

    def is_plain(self, value, kind):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        text = isinstance(value, str)
        if kind in ("string", "hash"):
            return text
        if kind == "boolean":
            return isinstance(value, bool)
        if kind == "integer":
            return value is None or number and value == int(value)
        if kind in ("number", "s", "ms", "bytes", "USD", "ratio"):
            return value is None or number
        if kind == "time":
            return value is None or text and TIME.match(value)
        if kind == "candidate":
            return value is None or text and re.match(r"^c\d+$", value)
        if kind == "interval":
            return value is None or isinstance(value, dict) and set(value) == INTERVAL and all(
                v is None or isinstance(v, (int, float)) for v in value.values()
            )
        if kind == "map":
            return value is None or isinstance(value, dict)
        if kind == "any":
            return True
        raise AssertionError("the documents have an unknown type: %r" % kind)

    def check_object(self, value, name, where):
        if not isinstance(value, dict):
            return self.complain(where, "expected an object")
        self.used.add(name)
        known = self.tables[name]
        for key, item in value.items():
            if key not in known and key != "schema":
                self.complain(where, "%s is not documented in %s" % (key, name))
            elif key in known:
                self.check(item, known[key][0], where + "." + key)
        for key, (_, optional) in known.items():
            if key not in value and not optional:
                self.complain(where, "%s of %s is missing" % (key, name))

    def no_words(self, value, where):
        """No infinity or NaN as a word, and no '-' in the name of a key."""
        if isinstance(value, dict):
            for key, item in value.items():
                self.no_words(item, where + "." + key)
        elif isinstance(value, list):
            for item in value:
                self.no_words(item, where + "[]")
        elif value in ("nan", "inf", "-inf", "NaN", "Infinity"):
            self.complain(where, "%r instead of null" % value)


class Session:
    def __init__(self, checker, folder):
        self.checker, self.folder = checker, folder
        self.covered = set()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("KFORGE_")}
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            self.environment.pop(name, None)
        self.environment.update(
            HOME=folder,
            KFORGE_CONFIG="none",
            KFORGE_STORE=os.path.join(folder, "kforge.db"),
            FAKE_LOG=os.path.join(folder, "jobs"),
        )
        if os.environ.get("KFORGE_PYTHON"):
            self.environment["KFORGE_PYTHON"] = os.environ["KFORGE_PYTHON"]

    def run(self, command, *arguments, status=(0,), schema=None):
        """Runs `kforge COMMAND … --json` and checks its document. Returns it."""
        words = command.split() + list(arguments) + ["--json"]
        done = subprocess.run(
            [PROGRAM] + words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        where = " ".join(["kforge"] + words)
        self.covered.add(command)
        if done.returncode not in status:
            failures.append("%s: status %d: %s" % (where, done.returncode, done.stderr.decode()))
        text = done.stdout.decode()
        if "\t" in text:
            failures.append("%s: a tab" % where)
        try:
            value = json.loads(text)
        except ValueError as error:
            failures.append("%s: %s: %r, %s" % (where, error, text[:200], done.stderr.decode()))
            return {}
        found = value.get("schema") if isinstance(value, dict) else None
        if os.environ.get("SHOW"):
            print(where, json.dumps(value)[: int(os.environ["SHOW"])])
        if not found or found not in self.checker.tables:
            failures.append("%s: the schema %r is not documented" % (where, found))
            return value
        if schema and found != schema:
            failures.append("%s: the schema is %s, expected %s" % (where, found, schema))
        if next(iter(value)) != "schema":
            failures.append("%s: the schema is not the first key" % where)
        self.checker.check_object(value, found, where)
        self.checker.no_words(value, where)
        return value


WRONG = """// status wrong_result
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
}
"""
MODULE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * x
"""
IMPORTS = (
    "kernelbench",
    "robust-kbench",
    "cuda-l1",
    "flashinfer-bench",
    "sol-execbench",
    "gpu-mode",
    "kernelbench.com",
    "raw",
)
# Tables of documents that need a GPU, PyTorch or `task bundle`.
NOT_HERE = {"counters", "device time", "kforge-import/1", "imported", "kforge-bundle/1"}
# Imports that need no more than a missing folder are enough to see their errors.


def as_version_1(report):
    """Returns the report as older versions wrote it."""
    old = json.loads(json.dumps(report))
    old.update(schema="kforge-bench-report/1", started=1700000000)
    for problem in old["problems"]:
        for sample in problem["samples"] + [problem["best"] or {}]:
            if "candidate" in sample:
                sample["candidate"] = int(sample["candidate"][1:])
    return old


def commands_with_json():
    """Returns the commands that have --json by docs/reference/commands.md."""
    name, found = None, set()
    for line in open(os.path.join(ROOT, "docs", "reference", "commands.md"), encoding="utf-8"):
        heading = re.match(r"#+ `?(?:kforge )?([a-z0-9 -]+?)`?$", line)
        if line.startswith("#"):
            name = heading.group(1) if heading else None
        elif "--json`" in line and name:
            found.add(name)
    return found


def run_all(s):
    task, folder = os.path.join(ROOT, "tasks", "axpy"), s.folder
    baseline = os.path.join(task, "baseline.cu")
    wrong = os.path.join(folder, "wrong.cu")
    with open(wrong, "w") as file:
        file.write(WRONG)
    fake = ("--workers", FAKE)
    s.run("list", schema="kforge-error/1", status=(2,))
    best = s.run("optimize", task, *fake, "--candidates", "6", "--output", "best.cu")
    assert best.get("best"), best
    s.run("list")
    s.run("list", "--tasks", schema="kforge-tasks/1")
    s.run("list", "--tsk", schema="kforge-error/1", status=(2,))
    s.run("show")
    s.run("show", best["best"]["candidate"], schema="kforge-candidate/1")
    s.run("show", "axpy", schema="kforge-task-shapes/1")
    s.run("task show", task)
    s.run("task lint", os.path.join(ROOT, "tests", "selftest", "bincount"), "--read-only")
    s.run("eval", task, baseline, *fake)
    s.run("eval", task, wrong, "--device", "cpu", status=(1,))
    s.run("eval", task, baseline, wrong, *fake, status=(0, 1), schema="kforge-evals/1")
    reply = os.path.join(folder, "reply.md")
    with open(reply, "w") as file:
        file.write("Sorry.\n")
    s.run("eval", task, "--reply", reply, *fake, status=(5,), schema="kforge-brief/1")
    hostile = os.path.join(ROOT, "tests", "hostile", "gemm", "loads_a_library.cu")
    s.run("scan", hostile, "--no-compile")
    s.run("scan", baseline, wrong, "--no-compile", schema="kforge-scans/1")
    s.run("prompt", task, "--hardware", "NVIDIA B200")
    only = ("--only", "axpy", "--only", "transpose")
    replay = "replay:%s/tests/replay/{task}.jsonl" % ROOT
    samples = ("--model", replay, "--samples", "2")
    first = s.run("bench", os.path.join(ROOT, "tasks"), *only, *samples, *fake)
    s.run("bench report", first.get("id", "last"))
    s.run("bench report", schema="kforge-benches/1")
    before = os.path.join(folder, "before.json")
    with open(before, "w") as file:
        json.dump(first, file)
    s.run("bench compare", before, os.path.join(folder, "kforge.db"))
    with open(before, "w") as file:
        json.dump(as_version_1(first), file)
    same = s.run("bench compare", before, os.path.join(folder, "kforge.db"))
    if same.get("both_solved") != 2 or same["ratio"]["value"] != 1:
        failures.append("a report of version 1 is not read: %r" % same)
    s.run("export", "-o", os.path.join(folder, "rows.jsonl"))
    s.run("export", "--format", "package", "-o", os.path.join(folder, "package"),
          schema="kforge-export-files/1")
    s.run("store stats", "--digest")
    merged = os.path.join(folder, "all.db")
    s.run("store merge", os.path.join(folder, "kforge.db"), "--store", merged)
    machine = s.run("doctor")
    if any(f["subject"] == "pytorch" and f["state"] == "ok" for f in machine.get("facts", [])):
        own = os.path.join(folder, "own.py")
        with open(own, "w") as file:
            file.write(MODULE)
        found = s.run("import torch", own, status=(1,), schema="kforge-import/1")
        reason = found["problems"][0]["reason"]
        if "its modules are Gate; choose one: --class Gate" not in reason:
            failures.append("import torch does not offer the classes: " + reason)
    s.run("selftest", "--folder", os.path.join(ROOT, "tests"), "--filter", "scale/aborts")
    for suite in IMPORTS:
        s.run("import " + suite, "/nonexistent", schema="kforge-error/1", status=(2,))


def main():
    checker = Checker(read_tables(os.path.join(ROOT, "docs", "reference", "json.md")))
    with tempfile.TemporaryDirectory() as folder:
        session = Session(checker, folder)
        run_all(session)
    wanted = commands_with_json()
    if len(wanted) < 20:
        failures.append("commands.md: only %s have --json" % sorted(wanted))
    for command in sorted(wanted - session.covered - {"import torch"}):
        failures.append("kforge %s --json is not tested here" % command)
    unused = set(checker.tables) - checker.used - NOT_HERE
    if unused:
        failures.append("no document has the tables %s" % sorted(unused))
    for line in failures:
        print(line)
    sys.exit(1 if failures else 0)


main()
