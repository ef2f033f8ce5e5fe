"""Shared code of references.py, cudal1.py and kernelbench.py: imports problems, judges a folder of
solutions with one `kforge bench`, prints figures, and handles being stopped.

Each script keeps its results in its own folder, OUT, and another call continues there. It skips
problems that were imported or refused. It resumes a bench with the same suite and solutions.
Another bench takes the verdicts in the store. With IMPORT_ONLY set, the scripts end after the
import, which needs no GPU and no run.sh: 14 minutes on two CPUs for all of KernelBench. run.sh
looks for OUT in LOGS/PART. It stops a part with SIGTERM to the part's process group, so `kforge`
gets the signal, too. `kforge` then starts no further problem, waits for the running verdicts and
ends. Every verdict is stored at once. A part has STOP_SECONDS for that wait and for its tables.
run.sh waits twice as long.
"""
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

STOP_SECONDS = 8 # for verdicts under way
stopped = False  # by whoever has started this


def stop(*_):
    global stopped
    stopped = True


signal.signal(signal.SIGTERM, stop)


class Done:
    """The outcome of a command. `first`: seconds until its messages matched `watched`, and the
    match's first group."""
    status = None
    output = messages = ""
    wall = 0.0
    first = None


def end(process):
    """Waits for a process that was asked to end. Then sends SIGTERM again, and at last SIGKILL."""
    for patience, word in ((STOP_SECONDS, signal.SIGTERM), (2, signal.SIGTERM), (2, signal.SIGKILL)):
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            process.send_signal(word)
    return process.wait()


def run(arguments, watched=None, log=None, **named):
    """Runs a command. Its output and messages go to files: leftover processes would keep a pipe
    open."""
    done, started = Done(), time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output, open(log, "w+", errors="replace") if log else tempfile.TemporaryFile(
            "w+", errors="replace") as messages:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=messages, **named)
        while not stopped and done.status is None:
            try:
                done.status = process.wait(0.05)
            except subprocess.TimeoutExpired:
                if watched and done.first is None:
                    with open(log, errors="replace") as so_far:
                        found = re.search(watched, so_far.read())
                    done.first = (time.monotonic() - started, found.group(1)) if found else None
        if done.status is None:
            done.status = end(process)
        done.wall = time.monotonic() - started
        for name, file in (("output", output), ("messages", messages)):
            file.seek(0)
            setattr(done, name, file.read())
    return done


def tail(text, most=300):
    return text.strip()[-most:]


def read_json(path, default):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return default


def write_json(path, value):
    """Writes a file atomically, since a part may be killed at any time."""
    with open(path + ".new", "w") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".new", path)


class Place:
    """An installation by pack.sh and the variables of run.sh."""

    def __init__(self, folder, out):
        self.folder, self.out = os.path.abspath(folder), os.path.abspath(out)
        self.kforge, self.check = (os.path.join(self.folder, "bin", name) for name in ("kforge", "gpu_check"))
        self.device = os.environ.get("GPU_DEVICE", "cuda")
        self.tasks, self.store = os.path.join(self.out, "tasks"), os.path.join(self.out, "store.db")
        os.makedirs(self.out, exist_ok=True)

    def devices(self):
        gpus = int(os.environ.get("GPUS", "1"))
        return ["--devices", ",".join(map(str, range(gpus)))] if gpus > 1 and self.device == "cuda" else ["--device", self.device]

    def figure(self, name, value, unit, sense, target):
        sys.stdout.flush()
        subprocess.run([self.check, "figure", name, str(value), unit, sense, str(target)])

    # ---- problems

    def problems(self):
        """Returns the imports' result for each requested problem."""
        return read_json(os.path.join(self.tasks, "suite.json"), {}).get("problems", [])

    def folder_of(self, entry):
        return os.path.join(self.tasks, entry["folder"]) if "folder" in entry else None

    def missing(self, wanted):
        """Returns the part of {level: [number…]} that is neither imported nor refused."""
        there = {(p.get("level"), p.get("problem")) for p in self.problems() if p.get("rule") != "interrupted"}
        return {level: [n for n in numbers if (level, n) not in there] for level, numbers in wanted.items()}

    def bring(self, what, source, wanted):
        """Imports the missing problems. `what` is kernelbench or cuda-l1."""
        for level, numbers in sorted(self.missing(wanted).items()):
            if not numbers or stopped:
                continue
            done = run([self.kforge, "import", what, source, "--level", str(level), "--ids", ",".join(map(str, numbers)), "-o", self.tasks]
                       + (["--scale", os.environ["SCALE"]] if "SCALE" in os.environ else []))
            why = "" if done.status in (0, 1) else f", exit status {done.status}: {tail(done.messages)}"
            print(f"  level {level}: {len(numbers)} to import, {done.wall:.1f} s{why}", flush=True)
        if "IMPORT_ONLY" in os.environ:
            sys.exit(any(self.missing(wanted).values()))

    # ---- judging

    def bench(self, solutions, options, **named):
        """Judges all solutions, or the remaining ones, in one command. Returns the report
        (docs/reference/json.md), or None without a verdict. Also writes it to OUT as a page and as
        text."""
        about, state_file = hashlib.sha256(json.dumps([options, self.device]).encode()), os.path.join(self.out, "bench.json")
        for path in [os.path.join(self.tasks, "suite.json")] + sorted(files_of(solutions)):
            about.update(open(path, "rb").read())
        state = read_json(state_file, {})
        same = "id" in state and state.get("about") == about.hexdigest()
        if not same:
            state = {"about": about.hexdigest(), "sessions": []}
        report = self.report(state["id"]) if "id" in state else None
        whole = report and all(s["counts"] for p in report["problems"] for s in p["samples"])
        if not stopped and not whole:
            log = os.path.join(self.out, f"bench-{len(state['sessions']) + 1}.log")
            done = run([self.kforge, "bench"] + (["--resume", state["id"]] if same else [self.tasks, "--solutions", solutions] + options)
                       + self.devices() + ["--store", self.store, "--json"], r"(\S+): .*\(1 of \d+\)", log, **named)
            found = re.search(r"^bench (\w+):", done.messages, re.M)
            if found:
                state["id"] = found.group(1)
            state["sessions"].append({"wall": done.wall, "first": done.first, "status": done.status, "stopped": stopped})
            write_json(state_file, state)
            if done.status not in (0, 1, 130) and not stopped:
                print(f"  kforge bench ended with {done.status}: {tail(done.messages, 600)}")
            print(f"  judged for {done.wall:.1f} s{', then stopped' if stopped else ''}", flush=True)
            report = self.report(state["id"]) if "id" in state else None
        return report and dict(report, sessions=state["sessions"])

    def report(self, bench):
        outputs = {name: os.path.join(self.out, "report." + name) for name in ("html", "md", "csv")}
        report = subprocess.run([self.kforge, "bench", "report", bench, "--store", self.store, "--json"]
                                + [word for name, path in outputs.items() for word in ("--" + name, path)],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True)
        try:
            value = json.loads(report.stdout)
        except ValueError:
            print(f"  no report: {tail(report.stderr)}")
            return None
        write_json(os.path.join(self.out, "report.json"), value)
        return value


def files_of(path):
    return [os.path.join(path, name) for name in os.listdir(path)] if os.path.isdir(path) else [path]


def samples_of(report):
    """Returns [(problem, sample)] of all judged samples."""
    return [(p, s) for p in (report or {}).get("problems", []) for s in p["samples"] if s["status"] != "not_judged"]


def name_of(problem):
    return f"{problem['level']}/{problem['problem']}" if "level" in problem and "problem" in problem else problem["task"]


def numbers_in(wanted, every):
    """Returns the part of {level: [number…]} that PROBLEMS names as LEVEL/PROBLEM words."""
    if not wanted:
        return every
    pairs = {tuple(map(int, word.split("/"))) for word in wanted}
    return {level: [n for n in numbers if (level, n) in pairs] for level, numbers in every.items()}


def as_candidate(task):
    """Returns the problem itself as a solution."""
    with open(os.path.join(task, "problem.py")) as file:
        return file.read() + "\n\nModelNew = Model\n"


def tell_refused(problems):
    rules = {}
    for p in problems:
        if "rule" in p:
            rules.setdefault(p["rule"], []).append(name_of(p))
    for rule, names in sorted(rules.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"    {'not begun' if rule == 'interrupted' else 'refused'}, {rule}: {len(names)} ({' '.join(names)})")
    return sum(len(names) for rule, names in rules.items() if rule != "interrupted")


def tell_others(judged):
    """Prints each incorrect solution with the judge's message."""
    for problem, s in judged:
        if not s["correct"]:
            print(f"    {name_of(problem)} {s['label']}: {s['status']} {s.get('rule', '')}{'' if s['counts'] else ' (does not count)'}: {s.get('text', '')[:300]}")


def quartiles(values):
    """Returns minimum, median and maximum."""
    values = sorted(values)
    return (values[0], values[len(values) // 2], values[-1]) if values else (float("nan"),) * 3


def tell_seconds(report, judged):
    """Prints the seconds for each problem: of the judge, and of the whole command."""
    known = [s["build_seconds"] + s["judge_seconds"] for _, s in judged if s.get("judge_seconds") is not None and s.get("build_seconds") is not None]
    if known:
        least, median, most = quartiles(known)
        wall = sum(one["wall"] for one in report["sessions"])
        print(f"  seconds a problem: building and judging median {median:.2f}, {least:.2f} to {most:.2f}, sum {sum(known):.1f}; "
              f"{wall:.1f} s of `kforge bench` in all, {wall / len(known):.2f} each")
