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
kernel twice float 'y[i] = 2 * x[i];' >unguarded.cu
kernel twice float 'if (i < n) y[i] = x[0] == x[n / 2] && x[0] == x[n - 1] && n > 1 ? 0 : 2 * x[i];' >equal.cu
expect 0 eval twice twice/baseline.cu --device cpu --check-only --no-keep
says "generalises: to other sizes; to other data"
expect 0 eval twice twice/baseline.cu fours.cu unguarded.cu equal.cu --device cpu --check-only --no-keep --json
python3 - out <<'EOF' || fail "unseen workloads are judged in another way: $out"
import json, sys
verdicts = [json.loads(line) for line in open(sys.argv[1]) if line.strip()]
flags = [sorted(f for f in v["flags"] if f.split(".")[0] in ("sizes", "data", "suspected:output")) for v in verdicts]
assert [v["status"] for v in verdicts] == ["correct"] * 4, [v["message"] for v in verdicts]
assert flags == [
    ["data.generalise", "sizes.generalise"],
    ["data.generalise", "sizes.given_only:odd", "sizes.given_only:one"],
    ["data.generalise", "sizes.given_only:odd", "sizes.given_only:one"],
    ["data.given_only:equal", "sizes.generalise"],
], flags
assert [w["workload"] for w in verdicts[0]["workloads"]] == ["main", "odd", "one", "equal"]
assert [w.get("unseen") for w in verdicts[0]["workloads"]] == [None, "sizes", "sizes", "data"]
EOF
# A wrong candidate is wrong, and not tried further.
kernel twice float 'if (i < n) y[i] = 3 * x[i];' >wrong.cu
expect 1 eval twice wrong.cu --device cpu --check-only --no-keep --json
json 'o["status"] == "wrong_result" and [w["workload"] for w in o["workloads"]] == ["main"]'
expect 0 task show twice
says "unseen sizes"
finish
