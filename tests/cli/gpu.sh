#!/bin/bash
# gpu.sh BIN: what tests/gpu brings to a machine with a GPU works: it packs, says what it skips, and on the CPU device in a GPU's place runs parts, tells what was
# reached and writes it all down. The figures mean nothing here.
source "$(dirname "$0")/lib.sh"
build=$(dirname "$bin")
bash "$root/tests/gpu/pack.sh" "$build" "$work/packed" >/dev/null || fail "it does not pack"
if ! ls /dev/nvidiactl >/dev/null 2>&1; then
    [ "$(bash "$root/tests/gpu/run.sh" "$work/packed")" = "skipped: no NVIDIA GPU here (/dev/nvidiactl)" ] || fail "a machine without a GPU is not skipped"
fi
cp -r "$build"/bin/kforge-* "$work/packed/bin/"
cp -r "$build"/lib/kforge/. "$work/packed/lib/kforge/"
LOGS=$work/logs GPU_DEVICE=cpu GPUS=2 TIMES=2 COUNT=4 SECONDS_EACH=0.1 SAME=tiny TASK=$work/packed/tests/selftest/scale FILTER=honest/scale/ \
    bash "$work/packed/tests/gpu/run.sh" "$work/packed" same throughput selftests >"$work/out" 2>&1
status=$?
python3 - "$work/logs" $status <<'END_OF_PYTHON' || fail "results.json is not as it should be: $(cat "$work/out")"
import json, sys
r = json.load(open(sys.argv[1] + "/results.json"))
assert r["schema"] == "kforge-gpu/1" and r["device"]["name"] == "cpu" and "; judge " in r["device"]["conditions"], r["device"]
assert [p["part"] for p in r["parts"]] == ["describe", "same", "throughput", "selftests"], r["parts"]
names = {p: [f["figure"] for f in r["figures"] if f["part"] == p] for p in ("same", "throughput", "selftests")}
assert names["same"] == ["A/A, intervals that hold 1", "A/A, median deviation"], names
assert names["throughput"] == ["candidates a second on one GPU", "times as many candidates on all GPUs"], names
assert len(names["selftests"]) == 10 and len(set(names["selftests"])) == 10, names
assert all(f["reached"] == (f["value"] >= f["target"] if f["to_reach"] == "at least" else f["value"] <= f["target"]) for f in r["figures"])
good = all(f["reached"] for f in r["figures"]) and not any(p["status"] for p in r["parts"]) # a busy machine may disturb a job
assert int(sys.argv[2]) == (0 if good else 1)
raw = [json.loads(line) for line in open(sys.argv[1] + "/raw-same.jsonl")]
assert len(raw) >= 2 and all(len(j["b"]) == len(j["c"]) >= 8 and len(j["speedup"]) == 3 for j in raw)
END_OF_PYTHON

# Time that is over: what was measured by then is there, and nothing goes on.
LIMIT=8 LOGS=$work/logs3 GPU_DEVICE=cpu bash "$work/packed/tests/gpu/run.sh" "$work/packed" selftests same >"$work/out" 2>&1 && fail "stopped parts passed"
python3 - "$work/logs3" <<'END_OF_PYTHON' || fail "a limit of time: $(cat "$work/out")"
import json, sys
r = json.load(open(sys.argv[1] + "/results.json"))
assert [(p["part"], p["status"]) for p in r["parts"]] == [("describe", 0), ("selftests", 124), ("same", 124)], r["parts"]
assert r["parts"][1]["seconds"] <= 20, r["parts"]
END_OF_PYTHON
grep -q '^== same: left out, 8 s are over' "$work/out" || fail "$(cat "$work/out")"
! pgrep -f "$work/packed/bin/" >/dev/null || fail "left running: $(pgrep -af "$work/packed/bin/")"

# KernelBench's evaluator needs a GPU; what is around it does not.
for python in python3 /usr/bin/python3; do
    "$python" -c "import torch" 2>/dev/null || continue
    LOGS=$work/logs2 GPU_DEVICE=cpu KFORGE_PYTHON=$python KERNELBENCH=$root/tests/kernelbench PROBLEMS=1/1 SCALE=100000 SECONDS_EACH=0.1 \
        bash "$work/packed/tests/gpu/run.sh" "$work/packed" kernelbench >"$work/out" 2>&1
    python3 - "$work/logs2" <<'END_OF_PYTHON' || fail "kernelbench: $(cat "$work/out")"
import json, sys
row, = json.load(open(sys.argv[1] + "/kernelbench/kernelbench.json"))["rows"]
assert row["problem"] == "1/1" and row["kforge"]["status"] == "correct" and row["kforge"]["candidate_ms"] > 0 and "kernelbench" not in row, row
END_OF_PYTHON
    break
done
finish
