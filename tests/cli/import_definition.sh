#!/bin/bash
# import sol-execbench and flashinfer-bench: definitions become tasks, solutions and cheats are
# judged, and export writes solutions and traces that can be imported again.
source "$(dirname "$0")/lib.sh"
python3 "$root/tests/cli/make_definitions.py"
mkdir empty

expect 2 import sol-execbench "$work/none"
complains "No such file"
"$program" doctor 2>&1 | grep -q '^ok  *pytorch' || { echo "skipped: no PyTorch (Debian: python3-torch)"; exit 77; }
expect 2 import flashinfer-bench empty
complains "no definitions; expected definitions/NAME.json and workloads/NAME.jsonl"

# Each fault is named with its place, and the others are not held up.
expect 1 import flashinfer-bench bad -o faulty --json
json '{p["task"]: p["rule"] for p in o["problems"] if p["task"] not in ("outside", "no_key")} == {"no_axis": "workload.axes", "no_reference": "reference", "odd_dtype": "dtype", "odd_input": "workload.inputs", "own_shape": "reference.outputs", "raises": "model.raises"}'
json '"workloads/no_axis.jsonl:1: axis \"M\" has no value" in [p["reason"] for p in o["problems"]]'
json '[p for p in o["problems"] if p["task"] == "outside"][0]["reason"].endswith("is outside of the folder")'
[ -e faulty/no_axis ] && fail "a faulty definition became a task"

# A definition with its workloads, dtypes and licence.
expect 0 import sol-execbench sol -o made --json
json '[(p["task"], p["status"]) for p in o["problems"]] == [("rmsnorm_h64", "made")]'
[ "$(ls made/solutions/rmsnorm_h64 | tr '\n' ' ')" = "cuda.py honest.py lazy.py mine.py " ] || fail "solutions: $(ls made/solutions/*)"
expect 0 task show made/rmsnorm_h64 --json
json 'o["task"]["license"] == "MIT" and o["task"]["params"] == {"rows": 40, "cols": 64}'
json '[(w["name"], w.get("params", {}).get("rows", 40)) for w in o["task"]["workloads"]] == [("norm-0", 40), ("norm-1", 9)]'
json '[(a["name"], a.get("dtype")) for a in o["task"]["arguments"]] == [("x", "bf16"), ("norm_weight", "bf16"), ("y", "bf16"), ("eps", "f64"), ("rows", "i64")]'
grep -q "KFORGE" made/rmsnorm_h64/problem.py && fail "the problem file has more than the problem"

# The other layout; without the package for them, inputs in safetensors name it.
expect 0 import flashinfer-bench set -o other --json
json '[p["status"] for p in o["problems"] if p["task"] != "paged_decode_h4_d16"] == ["made", "made"]'
decode='[p for p in o["problems"] if p["task"] == "paged_decode_h4_d16"][0]'
python=$(torch_python) || exit 1
if [ -n "$python" ] && "$python" -c 'import safetensors' 2>/dev/null; then
    json "$decode"'["status"] == "made"'
    grep -q '"total":.*"num_indices"' other/paged_decode_h4_d16/task.json || fail "offsets are not described"
else
    json '"python3 -m pip install safetensors" in '"$decode"'["reason"]'
fi
head -1 other/solutions/gemm_n48_k32/mine.py | grep -qx '# claimed speedup: 3.5' || fail "the claim of the traces is lost"

# Published solutions are candidates as any other.
needs_torch
(cat made/rmsnorm_h64/problem.py && echo "ModelNew = Model") >reference.py
expect_judged 0 eval made/rmsnorm_h64 reference.py --seconds 0.05
expect_judged 0 show c1
says "SOL score 0."
expect 0 show c1 --json
json '0 <= o["sol_score"]["low"] <= o["sol_score"]["value"] <= o["sol_score"]["high"] <= 1'
expect 1 eval made/rmsnorm_h64 made/solutions/rmsnorm_h64/{cuda,mine,lazy}.py --check-only --no-kernelbench --no-keep --json
json '[v["verdict"]["status"] == "correct" for v in o["results"]] == [True, False, False]'
expect 0 eval other/gemm_n48_k32 other/solutions/gemm_n48_k32/mine.py --check-only --no-kernelbench --no-keep

# There and back: the store's candidate is a solution, with one trace a workload.
expect 0 export --format flashinfer -o written
python3 - written <<'END' || fail "the export is not as expected"
import glob, json, sys
(path,) = glob.glob(sys.argv[1] + "/solutions/rmsnorm_h64_kforge_*.json")
solution = json.load(open(path))
assert solution["definition"] == "rmsnorm_h64" and "Licence of the definition: MIT" in solution["description"]
assert solution["spec"]["languages"] == ["pytorch"] and solution["spec"]["entry_point"] == "main.py::kforge_run"
traces = [json.loads(line) for line in open(sys.argv[1] + "/traces/rmsnorm_h64.jsonl")]
assert [(t["workload"]["uuid"], t["workload"]["axes"]) for t in traces] == [("norm-0", {"rows": 40}), ("norm-1", {"rows": 9})]
for trace in traces:
    assert trace["solution"] == solution["name"] and trace["evaluation"]["status"] == "PASSED"
    assert trace["evaluation"]["performance"]["speedup_factor"] > 0
(row,) = json.load(open(sys.argv[1] + "/provenance.json"))["files"]
assert row["task_license"] == "MIT"
END
mkdir again && cp -r sol/norm again && rm again/norm/solution_*.json && cp written/solutions/*.json again/norm/solution_back.json && cp -r written/traces again
expect 0 import sol-execbench again -o back --unchecked
back=$(echo back/solutions/rmsnorm_h64/rmsnorm_h64_kforge_*.py)
grep -q '^# claimed speedup: ' "$back" || fail "the exported traces are not read"
expect 0 eval back/rmsnorm_h64 "$back" --check-only --no-kernelbench --no-keep
finish
