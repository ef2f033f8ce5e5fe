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
assert [p["part"] for p in r["parts"]] == ["describe", "same", "throughput", "selftests"] and not any(p["status"] for p in r["parts"]), r["parts"]
names = {p: [f["figure"] for f in r["figures"] if f["part"] == p] for p in ("same", "throughput", "selftests")}
assert names["same"] == ["A/A, intervals that hold 1", "A/A, median deviation"], names
assert names["throughput"] == ["candidates a second on one GPU", "times as many candidates on all GPUs"], names
assert len(names["selftests"]) == 10 and len(set(names["selftests"])) == 10, names
assert all(f["reached"] == (f["value"] >= f["target"] if f["to_reach"] == "at least" else f["value"] <= f["target"]) for f in r["figures"])
assert int(sys.argv[2]) == (0 if all(f["reached"] for f in r["figures"]) else 1)
raw = [json.loads(line) for line in open(sys.argv[1] + "/raw-same.jsonl")]
assert len(raw) == 4 and all(len(j["b"]) == len(j["c"]) >= 8 and len(j["speedup"]) == 3 for j in raw)
END_OF_PYTHON
finish
