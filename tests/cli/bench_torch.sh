#!/bin/bash
# kforge bench on solutions in Python (class ModelNew), by the real judge: both verdicts, kforge's and KernelBench's claim.
source "$(dirname "$0")/lib.sh"
needs_torch
mkdir -p suite/conv_scale runs
cp "$root"/tests/unit/data/tasks/torch/* suite/conv_scale
sed -i 's/"params"/"origin": {"suite": "kernelbench", "level": 1, "problem": 7}, "params"/' suite/conv_scale/task.json
sed 's/class Model(/class ModelNew(/' suite/conv_scale/problem.py >runs/level_1_problem_7_sample_0_kernel.py
expect 0 bench suite --solutions runs --device cpu --seconds 0.1 --json --kernelbench scores
json '[(s["status"], s["kernelbench"]["correct"]) for s in o["problems"][0]["samples"]] == [("correct", True)]'
json 'o["scores"]["solved"] == 1 and o["problems"][0]["samples"][0]["seconds"]["median"] > 0'
grep -q '"correctness":	true' scores/eval_results.json || fail "not KernelBench's results: $(cat scores/eval_results.json)"
expect 0 bench report last
says "KernelBench would say"
finish
