#!/usr/bin/env python3
"""cudal1.py FOLDER FILE OUT [LEVEL/PROBLEM…]: compares the claimed speedups of CUDA-L1's released
kernels for one GPU with verified ones.

FOLDER is an installation made by pack.sh. FILE is one of CUDA-L1's files of JSON lines
(optimized_cuda_code/h100.json). It also has the texts of the problems, and they are imported from
it. So each claim is verified for its own problem. One `kforge bench --solutions` on GPUS GPUs judges
all kernels. It takes SECONDS_EACH (1.5) for timing and measures once. KernelBench's own protocol
runs only if PROTOCOL is set. LEVELS (1 2 3) and LEVEL/PROBLEM select problems.

OUT holds the report in all forms, and cudal1.json with a row for each kernel. Another call with the
same OUT continues. A stopped call reports its results so far.
"""
import json
import math
import os
import sys

import solutions as shared


def main():
    place, release = shared.Place(sys.argv[1], sys.argv[3]), os.path.abspath(sys.argv[2])
    levels = [int(level) for level in os.environ.get("LEVELS", "1 2 3").split()]
    with open(release) as file:
        rows = [row for row in map(json.loads, filter(str.strip, file)) if row.get("custom_code") not in (None, "", "None")]
    wanted = shared.numbers_in(sys.argv[4:], {level: sorted({int(r["task_id"]) for r in rows if int(r["level_id"]) == level}) for level in levels})
    chosen = [r for r in rows if int(r["task_id"]) in wanted.get(int(r["level_id"]), [])]
    compiled = sum("cpp_extension" in r["custom_code"] for r in chosen)
    print(f"  {len(chosen)} kernels, {compiled} of them compile an extension")
    place.bring("cuda-l1", release, wanted)
    asked = [p for p in place.problems() if p.get("problem") in wanted.get(p.get("level"), [])]
    imported = [p for p in asked if "folder" in p]
    print(f"  {sum(map(len, wanted.values()))} problems, {len(imported)} imported")
    shared.tell_refused(asked)
    options = ["--seconds", os.environ.get("SECONDS_EACH", "1.5"), "--timeout", os.environ.get("TIMEOUT", "120"), "--once"]
    asked_for = os.path.join(place.out, "asked-for.json")
    with open(asked_for, "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in chosen)
    report = place.bench(asked_for, options + ([] if os.environ.get("PROTOCOL") else ["--no-protocol"])) if imported else None
    judged = shared.samples_of(report)
    shared.write_json(os.path.join(place.out, "cudal1.json"), [dict(s, task=p["task"], level=p.get("level"), problem=p.get("problem")) for p, s in judged])
    print("  problem      claimed  verified  95 %                 of claim  verdict")
    for p, s in sorted(judged, key=lambda one: (one[0].get("level", 0), one[0].get("problem", 0))):
        speedup, claimed = s.get("speedup") or {}, s.get("claimed")
        verified = speedup.get("value") if s["correct"] else None
        print(f"  {shared.name_of(p):<10} {number(claimed):>8}x {number(verified):>8}x  {interval(speedup) if verified else '':<20} "
              f"{number(verified / claimed) if verified and claimed else '':>8}  {s['status']} {s.get('rule', '')}")
    cheats = [(p, s) for p, s in judged if s["cheating"]]
    correct = [(p, s) for p, s in judged if s["correct"] and s.get("claimed") and (s.get("speedup") or {}).get("value")]
    print(f"  {len(judged)} judged of {len(chosen)}: {sum(s['correct'] for _, s in judged)} correct "
          f"({sum(s['correct'] and s.get('rule') == 'state.frozen' for _, s in judged)} with frozen weights), {len(cheats)} cheats, "
          f"{sum(not s['counts'] for _, s in judged)} that do not count")
    if correct:
        print(f"  of the correct ones: claimed {mean(s['claimed'] for _, s in correct):.3f}x, verified {mean(s['speedup']['value'] for _, s in correct):.3f}x "
              "(geometric means), " + f"{sum(s['speedup']['low'] > 1 for _, s in correct)} certainly faster than eager")
    for rule in sorted({s.get("rule", "") for _, s in judged if not s["correct"]}):
        names = [shared.name_of(p) for p, s in judged if not s["correct"] and s.get("rule", "") == rule]
        print(f"    {rule or 'no rule'}: {len(names)} ({' '.join(names)})")
    print("  what is not correct, cheats first:")
    shared.tell_others(cheats + [one for one in judged if not one[1]["cheating"]])
    if judged:
        shared.tell_seconds(report, judged)
    place.figure("kernels with a verdict, of those whose problem was imported", 100 * sum(s["counts"] for _, s in judged) / max(1, len(imported)), "%", "least", 100)
    sys.exit(shared.stopped or len(judged) < len(imported) or not imported)



def number(value):
    return "-" if value is None else f"{value:.3f}"


def interval(speedup):
    return f"[{number(speedup.get('low'))}, {number(speedup.get('high'))}]"


def mean(values):
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


main()
