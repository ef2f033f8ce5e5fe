"""The table of a campaign, as Markdown and JSON. The pages of its runs are those of `kforge show`.

A problem's times and a cell's speedups come from verifications alone. If there are several, the
lowest speedup counts. A cell is unsolved without a verification, or if one failed.
"""

import json
import math
import os
import re
import shutil
import subprocess

from campaign_carry import need, read_json, write_whole

# of fast_p: the share of cells with a speedup above p that stands
THRESHOLDS = (0, 1, 1.5, 2)
SENTENCE = 200


# ---- figures -------------------------------------------------------------------------------------


def number(value):
    """A figure of kforge's JSON, in which an unknown one is null or a string."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def interval(speedup):
    values = [number((speedup or {}).get(key)) for key in ("value", "low", "high")]
    return values if all(map(math.isfinite, values[:2])) else None


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def timed(verdict):
    return [w for w in verdict.get("workloads", []) if w.get("timed")]


def seconds_of(verdict, key):
    """The geometric mean over timed workloads; NaN if one has no time."""
    times = [number(w.get(key)) for w in timed(verdict)]
    return geometric_mean(times) if times and all(t > 0 for t in times) else math.nan


def share_of_floor(verdict):
    """The geometric mean over timed workloads of the physical least time over the candidate's."""
    floor, mine = seconds_of(verdict, "floor_seconds"), seconds_of(verdict, "candidate_seconds")
    return floor / mine


def sol_score(verdict):
    """As evaluator/verdict/sol_score.h defines it: the mean over timed workloads."""
    scores = []
    for w in timed(verdict):
        limit, base = number(w.get("floor_seconds")), number(w.get("baseline_seconds"))
        mine = base / number((w.get("speedup") or {}).get("value"))
        if not limit > 0 or not base > 0 or not mine > 0:
            continue
        if mine <= limit:
            scores.append(1.0)
        elif base <= limit:
            scores.append(0.0)
        else:
            scores.append(1 / (1 + (mine - limit) / (base - limit)))
    return sum(scores) / len(scores) if scores else math.nan


def binomial_tail(hits, of, p):
    """The chance of at least `hits` of `of`, each with chance p."""
    return sum(math.comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(hits, of + 1))


def root(function):
    """Where an increasing function of [0, 1] crosses 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


def clopper_pearson(hits, of, level=0.95):
    """The exact interval of a share."""
    if not of:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else root(lambda p: binomial_tail(hits, of, p) - tail)
    high = 1.0 if hits == of else root(lambda p: binomial_tail(hits + 1, of, p) - (1 - tail))
    return low, high


# ---- rows ----------------------------------------------------------------------------------------


def best_of(result):
    """The winner, or the best correct candidate of a search that found nothing faster."""
    return result.get("best") or result.get("loss")


def labelled(folder, kind):
    """Files KIND.LABEL.json of a folder, by label."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {
        name[len(kind) + 1 : -len(".json")]: read_json(os.path.join(folder, name))
        for name in names
        if name.startswith(kind + ".") and name.endswith(".json")
    }


def clean(text):
    """One line of printable text."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= SENTENCE else text[: SENTENCE - 1] + "…"


def attempts_of(cell, program):
    """The rows of `kforge export` for the cell's run, with replies."""
    done = subprocess.run(
        [program, "export", "--format", "raw", "--store", cell.store, "--output", "-"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def author_says(cell, program):
    """Returns the proposer of the best source, and what its author says about it: the line "Move:"
    of the reply, else the first sentence of the source's first comment."""
    if not os.path.exists(cell.best):
        return None, None
    with open(cell.best, encoding="utf-8") as file:
        source = file.read()
    rows = [row for row in attempts_of(cell, program) if (row["source"] or "-").strip() in source]
    if not rows:
        return None, None
    # Above its source, kforge's file has a comment of its own.
    source, proposer = rows[0]["source"], rows[0]["proposer"]
    proposer = cell.model["name"] if proposer == cell.model["spec"] else proposer
    for row in rows:
        move = re.search(r"^[*_# >-]*Move:[* ]*(.+)", row.get("reply") or "", re.M)
        if move:
            return proposer, clean(move.group(1))
    comment = re.search(r"/\*(.*?)\*/|((?:^[ \t]*//[^\n]*\n)+)", source, re.S | re.M)
    if not comment:
        return proposer, None
    text = re.sub(r"^[ \t]*(?://|\*)+", "", comment.group(1) or comment.group(2), flags=re.M)
    words = clean(text.split("\n\n")[0])
    return proposer, re.split(r"(?<=[.!?]) ", words)[0] or None


def empty_row(cell):
    return {
        "cell": cell.name,
        "problem": cell.problem.name,
        "level": cell.problem.level,
        "model": cell.model["name"],
        "strategy": cell.strategy,
        "seed": cell.seed,
        "outcome": "left",
        "correct": 0,
        "verified": {},
        "against": {},
        "speedup": None,
        "kernelbench": {},
        "says": None,
    }


def outcome_of(row):
    """A word for a searched cell."""
    statuses = {status for status, _ in row["verified"].values()}
    if not row["verified"]:
        return "not verified" if row["correct"] else "no correct candidate"
    if statuses != {"correct"}:
        return "refuted: " + ", ".join(sorted(statuses - {"correct"}))
    if not row["speedup"]:
        return "no figure"
    value, low, high = row["speedup"]
    return "win" if low > 1 else "loss" if high < 1 else "even"


def lowest(entries):
    """The lowest figure; None if one verification was not correct or had no figure."""
    figures = [figure for _, figure in entries]
    return min(figures, key=lambda f: f[0]) if figures and all(figures) else None


def row_of(cell, program, notes):
    row, result = empty_row(cell), cell.result()
    if not result:
        row["outcome"] = f"no task: {cell.problem.missing()}" if cell.problem.missing() else "left"
        return row
    for key in ("run", "correct", "replies", "judged", "tokens", "device"):
        row[key] = result.get(key)
    for key in ("cost_usd", "seconds", "gpu_seconds"):
        row[key] = number(result.get(key))
    row["searched"] = interval((best_of(result) or {}).get("speedup"))
    verdicts = labelled(cell.folder, "verify")
    for label, by_baseline in verdicts.items():
        for baseline, verdict in by_baseline.items():
            good = verdict["status"] == "correct"
            entry = [verdict["status"], interval(verdict.get("speedup")) if good else None]
            if baseline == "baseline":
                row["verified"][label] = entry
            else:
                row["against"].setdefault(baseline, {})[label] = entry
        row["roofline"] = share_of_floor(by_baseline["baseline"])
        row["sol_score"] = sol_score(by_baseline["baseline"])
    row["speedup"] = lowest(row["verified"].values())
    row["over"] = {name: lowest(by.values()) for name, by in row["against"].items()}
    for label, said in labelled(cell.folder, "kernelbench").items():
        row["kernelbench"][label] = compare(said, verdicts.get(label, {}).get("baseline", {}))
    row["by"], said = author_says(cell, program)
    row["says"] = notes.get(cell.name, said)
    row["outcome"] = outcome_of(row)
    return row


def compare(said, verdict):
    """KernelBench's result, and its median over kforge's."""
    correct, timed_calls = bool(said.get("correctness")), said.get("timed") or []
    theirs = number(timed_calls[0].get("median_ms")) if correct and timed_calls else math.nan
    ours = 1e3 * seconds_of(verdict, "candidate_seconds")
    return {"correct": correct, "ms": theirs, "ratio": theirs / ours}


def times_of(problem):
    """Times of a problem's baselines in ms, by label and name; "own" is the task's own."""
    times = {}
    for label, verdicts in labelled(problem.folder, "baselines").items():
        times[label] = {}
        for baseline, verdict in verdicts.items():
            if verdict["status"] != "correct":
                times[label][baseline] = verdict["status"]
                continue
            times[label]["own"] = 1e3 * seconds_of(verdict, "candidate_seconds")
            if baseline != "baseline":
                times[label][baseline] = 1e3 * seconds_of(verdict, "baseline_seconds")
    return times


# ---- scores --------------------------------------------------------------------------------------


def solved(row, p):
    """True if the speedup that stands is above p."""
    return bool(row["speedup"]) and row["speedup"][0] > p


def share(rows, hit):
    hits = sum(map(bool, map(hit, rows)))
    low, high = clopper_pearson(hits, len(rows))
    return {"hits": hits, "of": len(rows), "share": hits / len(rows), "low": low, "high": high}


def score(rows, baselines):
    """The shares and means of a group of cells. Cells that are left count as unsolved."""
    result = {f"fast_{p:g}": share(rows, lambda row, p=p: solved(row, p)) for p in THRESHOLDS}
    result["surely"] = share(rows, lambda row: row["speedup"] and row["speedup"][1] > 1)
    result["mean"] = geometric_mean(row["speedup"][0] for row in rows if solved(row, 0))
    result["over"] = {}
    for name in baselines:
        having = [row for row in rows if name in row["baselines"]]
        figures = [row["over"][name] for row in having if row.get("over", {}).get(name)]
        if having:
            result["over"][name] = {
                "surely": share(
                    having, lambda row: (row.get("over", {}).get(name) or [0, 0])[1] > 1
                ),
                "mean": geometric_mean(figure[0] for figure in figures),
                "of": len(figures),
            }
    return result


def scores_of(rows, baselines):
    """Scores by level, model and strategy, then of levels 1 and 2 together, then of all."""
    levels = sorted({row["level"] for row in rows})
    groups = [([level], level or "–") for level in levels]
    if {"1", "2"} <= set(levels):
        groups.append((["1", "2"], "1 and 2"))
    if len(levels) > 1:
        groups.append((levels, "all"))
    found = []
    for these, name in groups:
        inside = [row for row in rows if row["level"] in these]
        for model, strategy in sorted({(row["model"], row["strategy"]) for row in inside}):
            mine = [row for row in inside if (row["model"], row["strategy"]) == (model, strategy)]
            entry = {"level": name, "model": model, "strategy": strategy}
            found.append(entry | score(mine, baselines))
    return found


def ratios_of(spec, rows):
    """Each other strategy over the first one, in pairs of one problem and seed. A strategy that is
    run by a model of its own (agent) is compared with each model of the first."""
    reference = spec["strategies"][0]
    found = []
    strategies = dict.fromkeys((row["strategy"], row["model"]) for row in rows)
    for strategy, model in strategies:
        if strategy == reference:
            continue
        same = (reference, model) in strategies
        for other in [m for s, m in strategies if s == reference and (m == model or not same)]:
            found.append(ratio_of(rows, (strategy, model), (reference, other)))
    return found


def ratio_of(rows, one, other):
    def cells(strategy, model):
        return {
            (row["problem"], row["seed"]): row
            for row in rows
            if row["strategy"] == strategy and row["model"] == model
        }

    mine, theirs = cells(*one), cells(*other)
    pairs = [(mine[key], theirs[key]) for key in mine if key in theirs]
    both = [(a, b) for a, b in pairs if solved(a, 0) and solved(b, 0)]

    def total(key, of):
        return sum(row.get(key) or 0 for row in of)

    return {
        "strategy": one[0],
        "model": one[1],
        "over": other[0],
        "over_model": other[1],
        "mean": geometric_mean(a["speedup"][0] / b["speedup"][0] for a, b in both),
        "pairs": len(both),
        "alone": sum(solved(a, 0) and not solved(b, 0) for a, b in pairs),
        "other_alone": sum(solved(b, 0) and not solved(a, 0) for a, b in pairs),
        "replies": [total("replies", [p[i] for p in pairs]) for i in (0, 1)],
        "tokens": [total("tokens", [p[i] for p in pairs]) for i in (0, 1)],
    }


# ---- Markdown ------------------------------------------------------------------------------------


def figure(value, form="{:.3g}"):
    if isinstance(value, str):
        return value
    return "–" if value is None or math.isnan(value) else form.format(value)


def speedup_text(values):
    if not values:
        return "–"
    # An interval that says nothing ends at infinity, which JSON does not have.
    return "{} [{}, {}]".format(*(f"{v:.3g}" if math.isfinite(v) else "?" for v in values))


def share_text(entry):
    return "{} of {}: {:.0f} % [{:.0f}, {:.0f}]".format(
        entry["hits"], entry["of"], *(100 * entry[key] for key in ("share", "low", "high"))
    )


def markdown(lines):
    def cell(text):
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")
        return text.replace("|", "\\|")

    rows = ["| " + " | ".join(map(cell, line)) + " |" for line in lines]
    return "\n".join([rows[0], "|" + "---|" * len(lines[0]), *rows[1:]])


def score_lines(scores, baselines):
    fast = [f"fast_{p:g}" for p in THRESHOLDS]
    heading = ["level", "model", "strategy", *fast, "surely faster", "geometric mean"]
    for name in baselines:
        heading += [f"surely over {name}", f"mean over {name}"]
    lines = [heading]
    for entry in scores:
        line = [entry["level"], entry["model"], entry["strategy"]]
        line += [share_text(entry[key]) for key in (*fast, "surely")] + [figure(entry["mean"])]
        for name in baselines:
            over = entry["over"].get(name)
            line += [share_text(over["surely"]), f"{figure(over['mean'])} of {over['of']}"] \
                if over else ["–", "–"]
        lines.append(line)
    return lines


def problem_lines(problems, rows):
    labels = sorted({label for p in problems.values() for label in p["times"]})
    names = sorted({n for p in problems.values() for t in p["times"].values() for n in t} - {"own"})
    columns = [(label, name) for label in labels for name in ("own", *names)]
    heading = ["problem", "level", *[f"{n}, ms ({l})" for l, n in columns], "best", "by", "cell"]
    lines = [heading]
    for name, problem in problems.items():
        these = [row for row in rows if row["problem"] == name]
        best = max(these, key=lambda row: row["speedup"][0] if row["speedup"] else 0)
        line = [name, problem["level"] or "–"]
        line += [figure(problem["times"].get(l, {}).get(n)) for l, n in columns]
        found = bool(best["speedup"])
        line += [speedup_text(best["speedup"]), best["by"] or "–" if found else "–"]
        lines.append(line + [best["cell"] if found else best["outcome"]])
    return lines


def cell_lines(rows, baselines):
    labels = sorted({label for row in rows for label in row["verified"]})
    theirs = any(row["kernelbench"] for row in rows)
    heading = ["problem", "level", "model", "strategy", "seed", "outcome", "search"]
    heading += [f"verified: {l}" for l in labels] + [f"over {b}" for b in baselines]
    heading += ["roofline", "SOL", *(["KernelBench"] if theirs else []), "replies", "judged"]
    heading += ["tokens", "USD", "time", "device time", "kernel"]
    lines = [heading]
    for row in rows:
        line = [row["problem"], row["level"] or "–", row["model"], row["strategy"]]
        line += [str(row["seed"]), row["outcome"], speedup_text(row.get("searched"))]
        for label in labels:
            status, values = row["verified"].get(label, ["–", None])
            line.append(speedup_text(values) if values else status)
        line += [speedup_text(row.get("over", {}).get(name)) for name in baselines]
        line += [figure(row.get("roofline"), "{:.0%}"), figure(row.get("sol_score"), "{:.2f}")]
        if theirs:
            line.append(
                "; ".join(
                    f"{l}: {'correct' if k['correct'] else 'wrong'}, time {figure(k['ratio'])}x"
                    for l, k in row["kernelbench"].items()
                )
                or "–"
            )
        line += [str(row.get(key) if row.get(key) is not None else "–") for key in
                 ("replies", "judged", "tokens")]
        line += [figure(row.get("cost_usd"), "{:.2f}"), figure(row.get("seconds"), "{:.0f} s")]
        line += [figure(row.get("gpu_seconds"), "{:.0f} s"), row["says"] or "–"]
        lines.append(line)
    return lines


def sentences(spec, rows, ratios):
    done = sum(row["outcome"] != "left" for row in rows)
    yield f"{done} of {len(rows)} cells are done."
    for word in dict.fromkeys(row["outcome"].split(":")[0] for row in rows):
        yield f"{word}: {sum(row['outcome'].split(':')[0] == word for row in rows)}"
    devices = sorted({row["device"] for row in rows if row.get("device")})
    yield f"Device: {', '.join(devices) or 'none yet'}."
    for model in spec["models"]:
        yield f"Model {model['name']}: answered by {model.get('answered_by', 'not said')}."
    for ratio in ratios:
        yield (
            "{strategy} ({model}) over {over} ({over_model}): geometric mean {figure} of {pairs} "
            "pairs. {strategy} alone verified {alone}, {over} alone {other_alone}. Replies "
            "{replies[0]} and {replies[1]}, tokens {tokens[0]} and {tokens[1]}."
        ).format(**ratio, figure=figure(ratio["mean"]))


# ---- files ---------------------------------------------------------------------------------------


def plain(value):
    """JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_pages(cells, out, program):
    """Has kforge write a page for each run, and copies the kernels. Returns their names."""
    pages, kernels = os.path.join(out, "pages"), os.path.join(out, "kernels")
    os.makedirs(pages, exist_ok=True)
    os.makedirs(kernels, exist_ok=True)
    made = []
    for cell in cells:
        if os.path.exists(cell.best):
            shutil.copyfile(cell.best, os.path.join(kernels, cell.name + ".cu"))
        run = cell.run_id()
        page = os.path.join(pages, cell.name + ".html")
        if not run:
            continue
        done = subprocess.run(
            [program, "show", run, "--store", cell.store, "--html", page],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            made.append(cell.name)
        else:
            print(f"{cell.name}: no page: {done.stderr.strip()}")
    return made


def write(spec, cells, out, program):
    """Returns the number of cells that are done."""
    rows = [row_of(cell, program, spec["notes"]) for cell in cells]
    done = sum(bool(cell.result()) for cell in cells)
    need(done, f"{out}: no cell is done; call `run` first")
    problems = {
        cell.problem.name: {
            "level": cell.problem.level,
            "task": cell.problem.task,
            "why": cell.problem.missing(),
            "baselines": [] if cell.problem.missing() else cell.problem.baselines(),
            "times": times_of(cell.problem),
        }
        for cell in cells
    }
    for row in rows:
        row["baselines"] = problems[row["problem"]]["baselines"]
        row["against"] = row.pop("against")
    baselines = sorted({name for p in problems.values() for name in p["baselines"]})
    scores, ratios = scores_of(rows, baselines), ratios_of(spec, rows)
    pages = write_pages(cells, out, program)
    text = [f"# {clean(spec['name'])}", ""]
    text += [f"- {clean(line)}" for line in sentences(spec, rows, ratios)]
    text += ["", "## Scores", "", "Shares of all cells of the campaign, with 95 % intervals of "
             "Clopper and Pearson.", "", markdown(score_lines(scores, baselines))]
    text += ["", "## Problems", "", markdown(problem_lines(problems, rows))]
    text += ["", "## Cells", "", markdown(cell_lines(rows, baselines)), "", "## Pages", ""]
    text += [f"- [{name}](pages/{name}.html)" for name in pages]
    write_whole(os.path.join(out, "table.md"), "\n".join(text) + "\n")
    document = {
        "schema": "kforge-campaign/1",
        "name": spec["name"],
        "models": spec["models"],
        "problems": problems,
        "cells": rows,
        "scores": scores,
        "ratios": ratios,
    }
    write_whole(os.path.join(out, "table.json"), json.dumps(plain(document), indent=1) + "\n")
    print("\n".join(sentences(spec, rows, ratios)))
    return done
