#!/usr/bin/env python3
"""references.py FOLDER CHECKOUT OUT [LEVEL/PROBLEM…]: judges every reference of KernelBench as a
candidate.

FOLDER is an installation made by pack.sh. CHECKOUT is a clone of KernelBench. The problems of
LEVELS (1 2 3) are imported at full size, or with SCALE=ELEMENTS. The Model of each, renamed
ModelNew, becomes a solution in KernelBench's layout. One `kforge bench --solutions` on GPUS GPUs
judges them all. It takes SECONDS_EACH (0.2) for timing and measures once. KernelBench's own
protocol runs only if PROTOCOL is set. All solutions have to be correct. AGAINST (compiled) names a
further baseline of the tasks. Their times are compared with it.

OUT holds the report in all forms, and references.json with a row for each problem. Another call
with the same OUT continues. A stopped call reports its results so far.
"""
import json
import os
import re
import sys

import solutions as shared


def numbers_of(checkout, level):
    """Returns the problems of a level by the numbers at the start of their file names."""
    for folder in (os.path.join(checkout, "KernelBench", f"level{level}"), os.path.join(checkout, f"level{level}")):
        if os.path.isdir(folder):
            return sorted(int(found.group(1)) for found in (re.match(r"(\d+)_.*\.py$", name) for name in os.listdir(folder)) if found)
    sys.exit(f"{checkout}: no folder level{level}")


def main():
    place, checkout = shared.Place(sys.argv[1], sys.argv[3]), os.path.abspath(sys.argv[2])
    levels = [int(level) for level in os.environ.get("LEVELS", "1 2 3").split()]
    wanted = shared.numbers_in(sys.argv[4:], {level: numbers_of(checkout, level) for level in levels})
    place.bring("kernelbench", checkout, wanted)
    asked = [p for p in place.problems() if p.get("problem") in wanted.get(p.get("level"), [])]
    imported = [p for p in asked if "folder" in p]
    print(f"  {sum(map(len, wanted.values()))} problems, {len(imported)} imported")
    refused = shared.tell_refused(asked)
    place.figure("problems imported, or refused with a reason", 100 * (len(imported) + refused) / max(1, sum(map(len, wanted.values()))), "%", "least", 100)
    folder = os.path.join(place.out, "runs")
    os.makedirs(folder, exist_ok=True)
    for p in imported:
        with open(os.path.join(folder, f"level_{p['level']}_problem_{p['problem']}_sample_0_kernel.py"), "w") as file:
            file.write(shared.as_candidate(place.folder_of(p)))
    options = ["--seconds", os.environ.get("SECONDS_EACH", "0.2"), "--timeout", os.environ.get("TIMEOUT", "120"), "--once"]
    options += (["--against", os.environ["AGAINST"]] if "AGAINST" in os.environ else []) + ([] if os.environ.get("PROTOCOL") else ["--no-protocol"])
    report = place.bench(folder, options) if imported else None
    judged = shared.samples_of(report)
    correct = sum(s["correct"] for _, s in judged)
    shared.write_json(os.path.join(place.out, "references.json"), {"refused": [p for p in asked if "rule" in p], "judged": [
        dict(s, task=p["task"], level=p.get("level"), problem=p.get("problem")) for p, s in judged]})
    print(f"  {correct} of {len(judged)} judged are correct; {len(imported) - len(judged)} were not reached")
    shared.tell_others(judged)
    for p, beside in [(p, one) for p in (report or {}).get("problems", []) for one in p.get("against", [])]:
        print(f"    {shared.name_of(p)} beside {os.environ.get('AGAINST')}: {json.dumps({key: value for key, value in beside.items() if key != 'baseline'})[:300]}")
    if judged:
        shared.tell_seconds(report, judged)
    place.figure("imported ones that were judged", 100 * len(judged) / max(1, len(imported)), "%", "least", 100)
    place.figure("references correct, of those judged", 100 * correct / max(1, len(judged)), "%", "least", 100)
    sys.exit(shared.stopped or correct < len(imported) or not imported)


main()
