"""A campaign: many problems, models and strategies with equal budgets, and one table of the results.

    campaign.py run SPEC OUT [--minutes M] [--only PATTERN] [--parallel N]
    campaign.py verify SPEC OUT [--as LABEL] [--device DEVICE] [--only PATTERN]
    campaign.py report SPEC OUT

`run` makes a cell of each problem, model, strategy and seed: one `kforge optimize` with a store of
its own, because no cell may use what another one has judged. It begins no cell after M minutes, and
interrupts those that still run. The next call continues them. `verify` measures each winner again,
in fresh processes, also against the further baselines. Call it on another day or card, and name that
with --as. `report` writes OUT/table.md and OUT/table.html. README.md describes SPEC.

Exit status: 0 all is done, 1 something failed, 2 bad input, 5 something is left for the next call.
"""

import argparse
import concurrent.futures
import contextlib
import fnmatch
import html
import json
import math
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
# of kforge: a candidate was correct, none was, the budget ended before one was
RESULTS = (0, 1, 4)
INTERRUPTED, BAD_INPUT, LEFT = 130, 2, 5
# of fast_p: the share of cells with a speedup above p that stands
THRESHOLDS = (0, 1, 1.5, 2)
# from an interrupt to the end of a run that waits for its verdicts
GRACE = 120
LIMITS = {
    "replies": "--replies",
    "candidates": "--candidates",
    "cost": "--cost",
    "time": "--time",
    "tokens": "--tokens",
}
KEYS = {
    "name",
    "kforge",
    "problems",
    "models",
    "strategies",
    "seeds",
    "budget",
    "baselines",
    "arguments",
    "eval_arguments",
    "notes",
}


stop = threading.Event()


class BadInput(Exception):
    pass


def need(good, text):
    if not good:
        raise BadInput(text)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as why:
        raise BadInput(f"{path}: {why}") from why


def write_whole(path, text):
    """A cut call leaves the old file or the new one."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


class Cell:
    def __init__(self, spec, out, problem, model, strategy, seed):
        self.problem, self.model, self.strategy, self.seed = problem, model, strategy, seed
        self.name = re.sub(r"[^\w.-]", "_", f"{problem['name']}.{model['name']}.{strategy}.{seed}")
        self.folder = os.path.join(out, "cells", self.name)
        self.store = os.path.join(self.folder, "kforge.db")
        self.best = os.path.join(self.folder, "best.cu")
        self.result_file = os.path.join(self.folder, "result.json")
        self.spec = spec

    def result(self):
        return read_json(self.result_file) if os.path.exists(self.result_file) else None

    def run_id(self):
        """The run that an earlier call began; None if there is no run."""
        if not os.path.exists(self.store):
            return None
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as store:
            row = store.execute("select key from run order by rowid desc limit 1").fetchone()
        return row and row[0]

    def command(self, program):
        budget = []
        for key, value in self.spec["budget"].items():
            budget += [LIMITS[key], str(value)]
        run_id = self.run_id()
        if run_id:
            begin = ["--resume", run_id]
        else:
            begin = [
                self.problem["task"],
                "--model",
                self.model["spec"],
                "--strategy",
                self.strategy,
                "--seed",
                str(self.seed),
            ]
        return [
            program,
            "optimize",
            *begin,
            *budget,
            "--store",
            self.store,
            "--output",
            self.best,
            *self.spec["arguments"],
            "--json",
        ]


def read_spec(path):
    spec = read_json(path)
    need(isinstance(spec, dict), f"{path}: expected an object")
    unknown = set(spec) - KEYS
    need(not unknown, f"{path}: unknown keys {sorted(unknown)}; known are {sorted(KEYS)}")
    for key in ("problems", "models"):
        need(
            isinstance(spec.get(key), list) and spec[key],
            f"{path}: {key}: expected a list that is not empty",
        )
    spec = {
        "strategies": ["sample", "auto"],
        "seeds": [1],
        "baselines": [],
        "arguments": [],
        "eval_arguments": [],
        "notes": {},
        "budget": {},
        "name": "campaign",
    } | spec
    for key in spec["budget"]:
        need(key in LIMITS, f"{path}: budget: {key} is unknown; known are {sorted(LIMITS)}")
    here = os.path.dirname(os.path.abspath(path))
    for i, problem in enumerate(spec["problems"]):
        if isinstance(problem, str):
            problem = spec["problems"][i] = {"task": problem}
        need(
            isinstance(problem, dict) and problem.get("task"),
            f"{path}: problems[{i}]: expected a task",
        )
        near = os.path.join(here, problem["task"])
        if os.path.exists(near):
            problem["task"] = near
        problem.setdefault("name", os.path.basename(os.path.normpath(problem["task"])))
        problem.setdefault("level", "")
    for i, model in enumerate(spec["models"]):
        need(
            isinstance(model, dict) and model.get("name") and model.get("spec"),
            f"{path}: models[{i}]: expected name and spec",
        )
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
    own = os.path.join(ROOT, "build", "bin", "kforge")
    return spec.get("kforge") or (own if os.access(own, os.X_OK) else "kforge")


# ---- running -------------------------------------------------------------------------------------


def make_cell(cell, program, until):
    """Returns "done", "left" or what failed."""
    if cell.result():
        return "done"
    if stop.is_set() or time.time() >= until:
        return "left"
    os.makedirs(cell.folder, exist_ok=True)
    with open(os.path.join(cell.folder, "log"), "a", encoding="utf-8") as log:
        # A session of its own: an interrupt of the terminal reaches this program alone.
        process = subprocess.Popen(
            cell.command(program),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        output, interrupted = None, 0
        while output is None:
            try:
                output, _ = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                if interrupted and time.time() > interrupted + GRACE:
                    os.killpg(process.pid, signal.SIGKILL)
                elif not interrupted and (stop.is_set() or time.time() >= until):
                    process.send_signal(signal.SIGINT)
                    interrupted = time.time()
    if process.returncode == INTERRUPTED or process.returncode == -signal.SIGKILL and interrupted:
        return "left"
    if process.returncode not in RESULTS:
        with open(os.path.join(cell.folder, "log"), encoding="utf-8") as log:
            last = (log.read().splitlines() or ["no message"])[-1]
        return f"exit status {process.returncode}: {last}"
    write_whole(cell.result_file, json.dumps(json.loads(output), indent=1) + "\n")
    return "done"


def run(spec, cells, options):
    program = program_of(spec)
    until = time.time() + options.minutes * 60
    states = {}
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        jobs = {pool.submit(make_cell, cell, program, until): cell for cell in cells}
        for job in concurrent.futures.as_completed(jobs):
            states[jobs[job].name] = state = job.result()
            print(f"{jobs[job].name}: {state}", flush=True)
    kinds = list(states.values())
    print(f"{kinds.count('done')} of {len(cells)} cells are done, {kinds.count('left')} are left")
    if set(kinds) - {"done", "left"}:
        return 1
    return LEFT if "left" in kinds else 0


# ---- verifying -----------------------------------------------------------------------------------


def judge(program, cell, options, baseline):
    command = [
        program,
        "eval",
        cell.problem["task"],
        cell.best,
        "--verify",
        "--json",
        "--no-keep",
        *cell.spec["eval_arguments"],
    ]
    for flag in cell.result()["best"].get("flags", []):
        command.append(f"--flag={flag}")
    command += ["--baseline", baseline] if baseline else []
    command += ["--device", options.device] if options.device else []
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {
            "status": "failed",
            "message": (done.stderr.strip().splitlines() or ["no output"])[-1],
        }


def verify(spec, cells, options):
    program, failed = program_of(spec), 0
    need(
        re.fullmatch(r"[\w.-]+", options.label),
        f"--as {options.label}: expected letters, digits, . _ -",
    )
    for cell in cells:
        result, path = cell.result(), os.path.join(cell.folder, f"verify.{options.label}.json")
        if (
            not result
            or not result.get("best")
            or not os.path.exists(cell.best)
            or os.path.exists(path)
        ):
            continue
        verdicts = {
            name or "baseline": judge(program, cell, options, name)
            for name in [None, *cell.problem.get("baselines", spec["baselines"])]
        }
        wrong = [
            f"{n}: {v['status']}: {v.get('message', '')}"
            for n, v in verdicts.items()
            if v["status"] != "correct"
        ]
        print(f"{cell.name}: {'; '.join(wrong) or 'correct'}", flush=True)
        failed += bool(wrong)
        write_whole(path, json.dumps(verdicts, indent=1) + "\n")
    return 1 if failed else 0


# ---- the table -----------------------------------------------------------------------------------


def number(value):
    """A figure of kforge's JSON, in which an unknown one is null or a string."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def interval(speedup):
    values = [number((speedup or {}).get(key)) for key in ("value", "low", "high")]
    return values if all(map(math.isfinite, values)) else None


def words(speedup):
    return "–" if not speedup else "{:.3g} [{:.3g}, {:.3g}]".format(*speedup)


def share_of_floor(verdict):
    """The geometric mean over timed workloads of the physical least time over the candidate's."""
    shares = [
        number(w.get("floor_seconds")) / number(w.get("candidate_seconds"))
        for w in verdict.get("workloads", [])
        if w.get("timed")
        and number(w.get("floor_seconds")) > 0
        and number(w.get("candidate_seconds")) > 0
    ]
    return math.exp(sum(map(math.log, shares)) / len(shares)) if shares else math.nan


def wilson(hits, of, z=1.959964):
    """The 95 % score interval of a share."""
    if not of:
        return math.nan, math.nan
    share, square = hits / of, z * z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def verified_files(cell):
    names = sorted(os.listdir(cell.folder)) if os.path.isdir(cell.folder) else []
    return {
        name[len("verify.") : -len(".json")]: read_json(os.path.join(cell.folder, name))
        for name in names
        if name.startswith("verify.") and name.endswith(".json")
    }


def row_of(cell):
    result = cell.result()
    if not result:
        return None
    best = result.get("best") or {}
    row = {
        "cell": cell,
        "searched": interval(best.get("speedup")),
        "replies": result.get("replies", result.get("model_calls")),
        "correct": result.get("correct", 0),
        "tokens": result.get("tokens"),
        "cost": number(result.get("cost_usd")),
        "seconds": number(result.get("seconds")),
        "verified": {},
        "against": {},
        "floor": math.nan,
    }
    for label, verdicts in verified_files(cell).items():
        for baseline, verdict in verdicts.items():
            figure = interval(verdict.get("speedup")) if verdict["status"] == "correct" else None
            row["verified" if baseline == "baseline" else "against"][
                label if baseline == "baseline" else (label, baseline)
            ] = (verdict["status"], figure)
        row["floor"] = share_of_floor(verdicts["baseline"])
    return row


def standing(row):
    """The speedup that counts: the lowest of all verifications; None if one was not correct."""
    if not row["verified"] or any(not figure for _, figure in row["verified"].values()):
        return None
    return min((figure for _, figure in row["verified"].values()), key=lambda figure: figure[0])


def solved(row, p):
    """True if the speedup that stands is above p. A search that found correct candidates, all slower
    than the baseline, has no winner. It solved the problem for p = 0 alone."""
    stands = standing(row)
    return stands[0] > p if stands else p == 0 and row["correct"] > 0 and not row["searched"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(spec, rows):
    yield f"{len(rows)} cells."
    for model in spec["models"]:
        answered = model.get("answered_by", "not said")
        yield f"Model {model['name']}: answered by {answered}."
    reference = spec["strategies"][0]
    for strategy in spec["strategies"][1:]:
        pairs = {}
        for row in rows:
            cell = row["cell"]
            if cell.strategy in (reference, strategy) and standing(row):
                pairs.setdefault((cell.problem["name"], cell.model["name"], cell.seed), {})[
                    cell.strategy
                ] = standing(row)[0]
        ratios = [p[strategy] / p[reference] for p in pairs.values() if len(p) == 2]
        alone = sum(set(p) == {strategy} for p in pairs.values()), sum(
            set(p) == {reference} for p in pairs.values()
        )
        yield (
            f"{strategy} over {reference}: geometric mean {geometric_mean(ratios):.3f} "
            f"of {len(ratios)} pairs. "
            f"{strategy} alone verified {alone[0]}, {reference} alone {alone[1]}."
        )


def fast_table(rows):
    def place(row):
        return row["cell"].problem["level"], row["cell"].strategy

    lines = [["level", "strategy", "cells", *[f"fast_{p:g}" for p in THRESHOLDS]]]
    for level, strategy in sorted(set(map(place, rows))):
        these = [row for row in rows if place(row) == (level, strategy)]
        line = [level or "–", strategy, str(len(these))]
        for p in THRESHOLDS:
            hits = sum(solved(row, p) for row in these)
            low, high = wilson(hits, len(these))
            line.append(f"{100 * hits / len(these):.0f} % [{100 * low:.0f}, {100 * high:.0f}]")
        lines.append(line)
    return lines


def table(spec, rows):
    labels = sorted({label for row in rows for label in row["verified"]})
    against = sorted({key for row in rows for key in row["against"]})
    heading = [
        "problem",
        "level",
        "model",
        "strategy",
        "seed",
        "search",
        *[f"verified: {l}" for l in labels],
        *[f"over {b}: {l}" for l, b in against],
        "share of floor",
        "replies",
        "tokens",
        "USD",
        "time",
        "kernel",
    ]
    lines = [heading]
    for row in rows:
        cell = row["cell"]

        def shown(entry):
            return "–" if not entry else words(entry[1]) if entry[1] else entry[0]

        lines.append(
            [
                cell.problem["name"],
                cell.problem["level"] or "–",
                cell.model["name"],
                cell.strategy,
                str(cell.seed),
                words(row["searched"]),
                *[shown(row["verified"].get(l)) for l in labels],
                *[shown(row["against"].get(key)) for key in against],
                "–" if math.isnan(row["floor"]) else f"{100 * row['floor']:.0f} %",
                str(row["replies"]),
                str(row["tokens"]),
                "–" if math.isnan(row["cost"]) else f"{row['cost']:.2f}",
                "–" if math.isnan(row["seconds"]) else f"{row['seconds']:.0f} s",
                spec["notes"].get(cell.name, "–"),
            ]
        )
    return lines


STYLE = """body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#222;background:#fff}
div{overflow-x:auto;margin:2rem 0}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}th,td{border-color:#444}}"""


def markdown(lines):
    rows = [
        "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in line) + " |"
        for line in lines
    ]
    return "\n".join(["", rows[0], "|" + "---|" * len(lines[0]), *rows[1:], ""])


def page(title, text, tables):
    def row(line, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in line) + "</tr>"

    title = html.escape(title)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        f"<title>{title}</title><style>{STYLE}</style><h1>{title}</h1><ul>",
        *[f"<li>{html.escape(t)}" for t in text],
        "</ul>",
    ]
    for lines in tables:
        parts += [
            "<div><table><thead>",
            row(lines[0], "th"),
            "</thead><tbody>",
            *[row(line, "td") for line in lines[1:]],
            "</tbody></table></div>",
        ]
    return "".join(parts) + "</html>\n"


def report(spec, cells, out):
    rows = [row for row in map(row_of, cells) if row]
    need(rows, f"{out}: no cell is done; call `run` first")
    text, tables = list(summary(spec, rows)), [fast_table(rows), table(spec, rows)]
    write_whole(
        os.path.join(out, "table.md"),
        "\n".join(
            [f"# {spec['name']}", "", *[f"- {t}" for t in text], *[markdown(t) for t in tables]]
        ),
    )
    write_whole(os.path.join(out, "table.html"), page(spec["name"], text, tables))
    kernels = os.path.join(out, "kernels")
    os.makedirs(kernels, exist_ok=True)
    for row in rows:
        if os.path.exists(row["cell"].best):
            shutil.copyfile(row["cell"].best, os.path.join(kernels, row["cell"].name + ".cu"))
    print("\n".join(text))
    return 0 if len(rows) == len(cells) else LEFT


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("run", "verify", "report"))
    parser.add_argument("spec")
    parser.add_argument("out")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--only", default="*")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--as", dest="label", default=time.strftime("%Y-%m-%d"))
    parser.add_argument("--device")
    options = parser.parse_args()
    options.minutes = min(options.minutes, 1e6)
    if options.action == "run":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
    try:
        need(options.parallel > 0, "--parallel: expected 1 or more")
        spec = read_spec(options.spec)
        cells = cells_of(spec, options.out, options.only)
        need(cells, f"--only {options.only}: no cell has such a name")
        os.makedirs(options.out, exist_ok=True)
        if options.action == "report":
            return report(spec, cells, options.out)
        return (run if options.action == "run" else verify)(spec, cells, options)
    except BadInput as why:
        print(f"campaign.py: {why}", file=sys.stderr)
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
