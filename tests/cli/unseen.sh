#!/bin/bash
# Workloads that only show if a correct candidate generalises: sizes and values apart, never a verdict.
source "$(dirname "$0")/lib.sh"
mkdir twice
cat >twice/task.json <<'EOF'
{"schema": "kforge-task/1", "name": "twice", "description": "y[i] = 2 x[i] for i < n.",
 "params": {"n": 4096},
 "arguments": [
  {"name": "x", "kind": "input", "dtype": "f32", "shape": ["n"]},
  {"name": "y", "kind": "output", "dtype": "f32", "shape": ["n"]},
  {"name": "n", "kind": "scalar", "dtype": "i64", "value": "n"}],
 "oracle": {"file": "oracle.cu"}, "baseline": {"file": "baseline.cu"}, "aliasing": "allow",
 "workloads": [{"name": "main"},
  {"name": "odd", "params": {"n": 1003}, "unseen": "sizes"},
  {"name": "one", "params": {"n": 1}, "unseen": "sizes"},
  {"name": "equal", "distributions": {"x": {"kind": "constant", "value": 0.5}}, "unseen": "data"}]}
EOF
kernel() { # NAME TYPE BODY
    printf '__global__ void f(const float *x, %s *y, long n)\n{\n    long i = blockIdx.x * 256 + threadIdx.x;\n    %s\n}\nextern "C" void %s(const float *x, %s *y, int64_t n, cudaStream_t stream)\n{\n    f<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);\n}\n' "$2" "$3" "$1" "$2"
}
kernel twice_oracle double 'if (i < n) y[i] = 2.0 * x[i];' >twice/oracle.cu
kernel twice float 'if (i < n) y[i] = 2 * x[i];' >twice/baseline.cu
kernel twice float 'if (i < n - n % 4) y[i] = 2 * x[i];' >fours.cu
kernel twice float 'if (i < n) y[i] = x[0] == x[n / 2] && x[0] == x[n - 1] && n > 1 ? 0 : 2 * x[i];' >equal.cu
kernel twice float 'if (i < n) y[i] = 3 * x[i];' >wrong.cu
expect 0 eval twice fours.cu --device cpu --check-only --no-keep
says "generalises: not to other sizes (odd, one); to other data"
expect 0 eval twice fours.cu --device cpu --check-only --no-keep -v
case $out in *suspicious*) fail "it looks accused: $out" ;; esac
# The first crash at unseen sizes leaves the others out.
kernel twice float 'if (n < 2000) __builtin_trap(); if (i < n) y[i] = 2 * x[i];' >crash.cu
expect 0 eval twice crash.cu --device cpu --check-only --no-keep --json
json 'sum(w.get("unseen") == "sizes" for w in o["workloads"]) == 1 and any(f.startswith("sizes.given_only") for f in o["flags"])'
# A function with another name, in the words of the prototype
kernel thrice float 'if (i < n) y[i] = 2 * x[i];' >named.cu
expect 1 eval twice named.cu --device cpu --check-only --no-keep
says 'does not define extern "C" void twice('
expect 1 eval twice twice/baseline.cu fours.cu equal.cu wrong.cu --device cpu --check-only --no-keep --json
python3 - out <<'EOF' || fail "unseen workloads are judged in another way: $out"
import json, sys
verdicts = [row["verdict"] for row in json.load(open(sys.argv[1]))["results"]]
flags = [sorted(f for f in v["flags"] if f.split(".")[0] in ("sizes", "data", "suspected:output")) for v in verdicts]
assert [v["status"] for v in verdicts] == ["correct"] * 3 + ["wrong_result"], [v["message"] for v in verdicts]
assert flags == [
    ["data.generalise", "sizes.generalise"],
    ["data.generalise", "sizes.given_only:odd", "sizes.given_only:one"],
    ["data.given_only:equal", "sizes.generalise"],
    [],
], flags
assert [w["workload"] for w in verdicts[0]["workloads"]] == ["main", "odd", "one", "equal"]
assert [w.get("unseen") for w in verdicts[0]["workloads"]] == [None, "sizes", "sizes", "data"]
assert "; generalises: to other sizes; to other data" in verdicts[0]["message"]
# A wrong candidate is not tried further.
assert [w["workload"] for w in verdicts[3]["workloads"]] == ["main"]
EOF
# A search asks for them at the verification only. There the second measurement has them.
for options in '"check_only":true,"unseen":false' '"verify":true,"seconds":0.2'; do
    "$program" task bundle twice >bundle
    python3 - "$options" >job <<'EOF'
import json, sys
options = json.loads("{%s}" % sys.argv[1])
print(json.dumps({"schema": "kforge-job/1", "id": "j", "device": "cpu", "options": options, "flags": [],
                  "source": open("fours.cu").read(), "task": json.load(open("bundle"))}))
EOF
    for _ in {1..10}; do # judged again while the machine is busy with other things
        "$program" worker <job >out 2>err || fail "a job with $options: $(cat err)"
        grep -q '"blame":"machine"' out || break
    done
    python3 - "$options" <<'EOF' || fail "unseen workloads with $options: $(cat out err)"
import json, sys
verdict = json.loads(open("out").read().splitlines()[-1])
names = [w["workload"] for w in verdict["workloads"]]
asked = "verify" in sys.argv[1]
assert verdict["status"] == "correct" and names == (["main", "odd", "one", "equal"] if asked else ["main"]), names
assert any(f.startswith("sizes.") for f in verdict["flags"]) == asked, verdict["flags"]
EOF
done
expect 0 task show twice
says "unseen sizes"
# Sizes that no signature in C passes are for Python.
case $out in *"Python only"*) fail "sizes of the signature: $out" ;; esac
python3 - twice/task.json <<'EOF'
import json, sys
task = json.load(open(sys.argv[1]))
task["workloads"].append({"name": "wide", "unseen": "sizes", "shapes": {"x": [7], "y": [7]}})
json.dump(task, open(sys.argv[1], "w"))
EOF
expect 0 task show twice
[ "$(grep -c "^wide .*unseen sizes, Python only$" out)" = "$(grep -c "^wide " out)" ] || fail "$out"
says "unseen sizes, Python only"
finish
