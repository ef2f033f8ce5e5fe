#!/bin/bash
# import: a new task is linted, and its module judged, before it is made. Unseen sizes and values, and results that share memory, in Python.
source "$(dirname "$0")/lib.sh"
needs_torch
mkdir mine
cat >mine/rows.py <<'EOF'
import torch
import torch.nn as nn


class Model(nn.Module):
    """Scales rows."""

    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))

    def forward(self, x, by):
        return x * self.scale * by


def get_inputs():
    return [torch.randn(4, 48, 64), torch.rand(4, 48, 1)]


def get_init_inputs():
    return [64]
EOF
# Its float64 oracle takes another branch where inputs are large, which only the judge's are.
cat >mine/branch.py <<'EOF'
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = 2 * x
        return y.masked_fill(x.abs() > 60, float("nan")) if x.dtype == torch.float64 else y


def get_inputs():
    return [torch.randn(64, 64)]
EOF
# Too large to be measured or judged here; a loop over its values has no shape rule.
cat >mine/pages.py <<'EOF'
import torch


class Model(torch.nn.Module):
    def forward(self, pool, lengths):
        return torch.stack([pool[: int(n)].sum(0) for n in lengths])


def get_inputs():
    return [torch.randn(1 << 21, 4096), torch.full((4,), 100, dtype=torch.int32)]
EOF
expect 0 import torch mine -o tasks --aliasing allow --device cpu --jobs 2 --json
json '[(p["task"], p["status"], p["rule"]) for p in o["problems"]] == [("branch", "unfit", "reference"), ("pages", "made", ""), ("rows", "made", "")]'
json '"judged as a solution, its module fails" in o["problems"][0]["reason"] and "first at" in o["problems"][0]["reason"] and "varied" in o["problems"][0]["reason"]'
json '"not judged by this import: it takes" in o["problems"][1]["notes"] and "no call at its own size" in o["problems"][1]["notes"]'
json 'o["problems"][2]["check_seconds"] > 0 and "not judged" not in o["problems"][2]["notes"]'
case $err in *"lint and judging the modules: "*) ;; *) fail "the cost of the checks is not there: $err" ;; esac
[ -e tasks/branch ] && fail "a refused task is there"
ls -A tasks | grep '^\.' && fail "half a task is left"
python3 - <<'EOF' || fail "shapes or workloads are others"
import json
pages, rows = (json.load(open("tasks/%s/task.json" % n)) for n in ("pages", "rows"))
assert [a["shape"] for a in pages["arguments"]] == [[1 << 21, 4096], [4], [4, 4096]]
assert rows["aliasing"] == "allow"
sizes = [w for w in rows["workloads"] if w.get("unseen") == "sizes"]
assert [w["name"] for w in sizes] == ["ragged", "odd", "minimal"], sizes
assert all(w["shapes"]["out"] == w["shapes"]["x"] and w["shapes"]["x"][2] == 64 for w in sizes)
assert all(w["shapes"]["by"] == w["shapes"]["x"][:2] + [1] for w in sizes)
assert sizes[2]["shapes"]["x"] == [1, 1, 64] and sizes[1]["shapes"]["x"][1] % 2
assert {w["name"] for w in rows["workloads"] if w.get("unseen") == "data"} == {"equal", "sparse", "clustered"}
EOF
# The same memory for every result of the given size, and right there only.
cat >given.py <<'EOF'
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))
        self.out = torch.empty(4, 48, 64)

    def forward(self, x, by):
        if x.shape != self.out.shape:
            return torch.zeros_like(x)
        return torch.mul(x * self.scale, by, out=self.out)
EOF
expect 0 eval tasks/rows given.py --device cpu --check-only --no-keep --json
json 'o["status"] == "correct" and {"sizes.given_only:ragged", "sizes.given_only:odd", "sizes.given_only:minimal", "data.generalise"} <= set(o["flags"])'
sed -i 's/"aliasing":\t*"allow"/"aliasing": "forbid"/' tasks/rows/task.json
expect 1 eval tasks/rows given.py --device cpu --check-only --no-kernelbench --no-keep --json
json 'o["findings"] or [f["rule"] for w in o["workloads"] for f in w["findings"]] == ["output.aliased"]'
# A problem's code can write to the describer's descriptors, but not describe itself.
{
    cat <<'EOF'
import json, os
for descriptor in range(3, 64):
    try:
        os.write(descriptor, (json.dumps({"torch": "2.0", "arguments": [], "outputs": []}) + "\n").encode())
    except OSError:
        pass
os._exit(0)
EOF
    cat mine/rows.py
} >forged.py
expect 1 import torch forged.py -o forged --unchecked --device cpu
complains_of() { case "$out$err" in *"$1"*) ;; *) fail "does not say \"$1\": $out $err" ;; esac; }
complains_of "forged.py: its code wrote to a descriptor that it did not open"
[ ! -e forged/forged ] || fail "a forged description became a task"
# An answer that a limit cut is no forgery.
sed 's/^os._exit(0)/import time; time.sleep(600)/' forged.py >late.py
expect 1 import torch late.py -o late --unchecked --device cpu --timeout 10s
complains_of "late.py: takes longer than 10 s"
cat mine/rows.py >large.py
cat >>large.py <<'EOF'
import json
json.dumps = lambda *_, **__: "x" * (65 << 20)
EOF
expect 1 import torch large.py -o large --unchecked --device cpu
complains_of "large.py: its description has more than 64 MiB"
# A class of another name is judged, too. Checks run again with --force.
sed 's/class Model(/class Rows(/' mine/rows.py >rows_class.py
expect 0 import torch rows_class.py --class Rows -o named --device cpu --json
json 'o["problems"][0]["status"] == "made" and o["problems"][0]["check_seconds"] > 0'
expect 0 import torch rows_class.py --class Rows -o named --device cpu --json
json 'o["problems"][0]["status"] == "unchanged" and o["problems"][0]["check_seconds"] == 0'
# No signature in CUDA C passes other sizes.
cat >rows.cu <<'EOF'
__global__ void f(const float *x, const float *by, const float *scale, float *out)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = x[i] * scale[i % 64] * by[i / 64];
}
extern "C" void rows(const float *x, const float *by, const float *scale, float *out, cudaStream_t stream)
{
    f<<<48, 256, 0, stream>>>(x, by, scale, out);
}
EOF
expect 0 eval tasks/rows rows.cu --device cpu --check-only --no-keep
says "generalises: to other data; sizes are fixed by the signature"
finish
