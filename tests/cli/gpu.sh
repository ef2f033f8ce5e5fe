#!/bin/bash
# gpu.sh BIN: tests the scripts of tests/gpu without a GPU. They pack an installation and list the
# skipped parts. On the CPU device, they run parts, print the figures and write the logs. The
# figures are meaningless here.
source "$(dirname "$0")/lib.sh"
build=$(dirname "$bin")
# sh, as its first line says: another shell would hide words that sh does not know
sh "$root/tests/gpu/pack.sh" "$build" "$work/packed" >/dev/null || fail "it does not pack"
env -i LD_LIBRARY_PATH="$work/packed/lib" "$work/packed/bin/kforge" help >/dev/null || fail "the packed kforge does not start"
for folder in lib/kforge/torch tasks/axpy tests/hostile tests/honest tests/selftest tests/gpu tests/torch tests/kernelbench tests/product; do
    [ -d "$work/packed/$folder" ] || fail "not packed: $folder"
done
for script in "$root"/tests/gpu/*.sh; do bash -n "$script" || fail "$script: it has an error of syntax"; done
if ! ls /dev/nvidiactl >/dev/null 2>&1; then
    [ "$(bash "$root/tests/gpu/run.sh" "$work/packed")" = "skipped: no NVIDIA GPU here (/dev/nvidiactl)" ] || fail "a machine without a GPU is not skipped"
fi
cp -r "$build"/bin/kforge-* "$work/packed/bin/"
cp -r "$build"/lib/kforge/. "$work/packed/lib/kforge/"
LOGS=$work/logs GPU_DEVICE=cpu GPUS=2 TIMES=2 COUNT=4 SECONDS_EACH=0.1 SAME=tiny TASK=$work/packed/tests/selftest/scale FILTER=honest/scale/t \
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

# Time that is over: what was measured by then is there, and nothing goes on. A busy machine may
# need it all for the first part.
for limit in 8 30 100; do
    rm -rf "$work/logs3"
    LIMIT=$limit LOGS=$work/logs3 GPU_DEVICE=cpu bash "$work/packed/tests/gpu/run.sh" "$work/packed" selftests same >"$work/out" 2>&1 && fail "stopped parts passed"
    grep -q '^== selftests: ' "$work/out" && break
done
python3 - "$work/logs3" $limit <<'END_OF_PYTHON' || fail "a limit of time: $(cat "$work/out")"
import json, sys
r = json.load(open(sys.argv[1] + "/results.json"))
assert [(p["part"], p["status"]) for p in r["parts"]] == [("describe", 0), ("selftests", 124), ("same", 124)], r["parts"]
assert r["parts"][1]["seconds"] <= int(sys.argv[2]) + 60, r["parts"]
END_OF_PYTHON
grep -q "^== same: left out, $limit s are over" "$work/out" || fail "$(cat "$work/out")"
! pgrep -f "$work/packed/bin/" >/dev/null || fail "left running: $(pgrep -af "$work/packed/bin/")"

# A driver that does not answer does not take all the time that there is.
FAKE_CUDA_HANG=cuModuleLoadData KFORGE_DRIVER_SECONDS=1 LD_LIBRARY_PATH=$bin/../tests/fake_driver LIMIT=400 LOGS=$work/logs5 GPU_DEVICE=cuda:0 \
    bash "$work/packed/tests/gpu/run.sh" "$work/packed" same numbers >"$work/out" 2>&1 && fail "a GPU that hangs passed"
python3 - "$work/logs5" <<'END_OF_PYTHON' || fail "a GPU that hangs: $(cat "$work/out")"
import json, sys
r = json.load(open(sys.argv[1] + "/results.json"))
assert [(p["part"], p["status"]) for p in r["parts"]] == [("describe", 3), ("doctor", 0)] and sum(p["seconds"] for p in r["parts"]) < 300, r["parts"]
facts = json.load(open(sys.argv[1] + "/doctor.json"))["facts"]
assert [f for f in facts if f["state"] == "fault" and "does not answer" in f["text"]], facts
END_OF_PYTHON

# KernelBench's evaluator needs a GPU. The code around it does not.
for python in python3 /usr/bin/python3; do
    "$python" -c "import torch" 2>/dev/null || continue
    LOGS=$work/logs2 GPU_DEVICE=cpu KFORGE_PYTHON=$python KERNELBENCH=$root/tests/kernelbench PROBLEMS=1/1 SCALE=100000 SECONDS_EACH=0.1 \
        bash "$work/packed/tests/gpu/run.sh" "$work/packed" kernelbench >"$work/out" 2>&1
    python3 - "$work/logs2" <<'END_OF_PYTHON' || fail "kernelbench: $(cat "$work/out")"
import json, sys
row, = json.load(open(sys.argv[1] + "/kernelbench/kernelbench.json"))["rows"]
assert row["problem"] == "1/1" and row["kforge"]["status"] == "correct" and row["kforge"]["candidate_ms"] > 0 and "kernelbench" not in row, row
assert row["kforge"]["wall"] >= row["kforge"]["build_seconds"] + row["kforge"]["judge_seconds"] > 0, row
END_OF_PYTHON

    # References as candidates, and a release's kernels. A stopped script reports its results so
    # far, and another call continues with the rest. On a busy machine, batches of short calls may
    # be disturbed. So the test checks only that the rows exist and that no solution is judged
    # twice.
    python3 - "$root" "$work/release.json" <<'END_OF_PYTHON'
import json, sys
text = open(sys.argv[1] + "/tests/kernelbench/level1/2_ReLU.py").read()
with open(sys.argv[2], "w") as out:
    print(json.dumps({"level_id": 1, "task_id": 2, "ref_code": text, "custom_code": text.replace("class Model(", "class ModelNew(").replace("torch.relu(x)", "x.relu_()"),
                      "score_default": 11.5}), file=out)
END_OF_PYTHON
    again() {
        LIMIT=$1 LOGS=$work/logs4 GPU_DEVICE=cpu KFORGE_PYTHON=$python KERNELBENCH=$root/tests/kernelbench CUDAL1=$work/release.json SCALE=100000 SECONDS_EACH=0.1 \
            LEVELS=1 PROBLEMS="1/2 1/6 1/9 1/12 1/13" bash "$work/packed/tests/gpu/run.sh" "$work/packed" "${@:2}" >"$work/out" 2>&1
    }
    "$program" import kernelbench "$root/tests/kernelbench" --level 1 --ids 2,6,9,12,13 --scale 100000 -o imported --unchecked >/dev/null 2>&1
    # A busy machine may not get to judging. With small steps it does not get to the end, either.
    for limit in 6 8 11 15 21 29 40 56; do
        rm -rf "$work/logs4"
        mkdir -p "$work/logs4/references"
        cp -r imported "$work/logs4/references/tasks"
        again $limit references && fail "a stopped part passed: $(cat "$work/out")"
        grep -q '^  judged for .* then stopped' "$work/out" && break
    done
    grep -q '^  judged for .* then stopped' "$work/out" && grep -q 'judged are correct; [1-4] were not reached' "$work/out" || fail "stopped: $(cat "$work/out")"
    again "" references cudal1
    python3 - "$work/logs4" <<'END_OF_PYTHON' || fail "references and cudal1: $(cat "$work/out")"
import json, os, sys
rows = json.load(open(sys.argv[1] + "/references/references.json"))
assert [(p["level"], p["problem"], p["rule"]) for p in rows["refused"]] == [(1, 9, "outputs.random")], rows
assert sorted(r["problem"] for r in rows["judged"]) == [2, 6, 12, 13] and not any("kernelbench" in r for r in rows["judged"]), rows
assert all(r["status"] in ("correct", "judge_error") for r in rows["judged"]), rows
sessions = [sum(" of " in line for line in open(f"{sys.argv[1]}/references/bench-{i}.log") if "level_1_problem" in line) for i in (1, 2)
            if os.path.exists(f"{sys.argv[1]}/references/bench-{i}.log")]
assert len(sessions) == 2 and sessions[1] >= 1, sessions
row, = json.load(open(sys.argv[1] + "/cudal1/cudal1.json"))
assert (row["claimed"], row["status"], row["rule"]) == (11.5, "contract_violation", "input.mutated"), row
figures = {f["figure"] for f in json.load(open(sys.argv[1] + "/results.json"))["figures"]}
assert {"references correct, of those judged", "problems imported, or refused with a reason"} <= figures, figures
END_OF_PYTHON
    break
done
finish
