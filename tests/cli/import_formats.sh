#!/bin/bash
# import gpu-mode, kernelbench.com and raw: problems of our own in these formats become tasks, the
# solutions of each format are judged, and faulty problems are refused with place and remedy.
source "$(dirname "$0")/lib.sh"
needs_torch
mkdir empty
for format in gpu-mode kernelbench.com raw; do
    expect 2 import $format empty
    complains "no folder in it has"
done
formats=$root/tests/formats
python=$(torch_python) || exit 1
"$python" -c 'import yaml' 2>/dev/null || { echo "skipped: no PyYAML (Debian: python3-yaml)"; exit 77; }

# GPU MODE: tests and benchmarks are workloads, room for the output is no argument, and the licence
# travels.
cp -r "$formats/gpu_mode" checkout
printf 'A licence of its own\n\nConditions.\n' >checkout/LICENSE
expect 0 import gpu-mode checkout -o gpu --json
json '[(p["task"], p["status"]) for p in o["problems"]] == [("cache", "made"), ("chunks", "made"), ("in_place", "made"), ("own_check", "made"), ("scaled_sum", "made")]'
json '["inputs: own generator" in p["notes"] for p in o["problems"]] == [False, True, False, False, False]'
expect 0 task show gpu/scaled_sum --json
json 'o["task"]["license"] == "A licence of its own" and o["task"]["origin"]["suite"] == "gpu-mode"'
json 'o["task"]["torch"]["inputs"] == ["a", "b"] and o["task"]["torch"]["sizes"] == ["rows", "columns"]'
json 'o["task"]["torch"]["solution"] == "custom_kernel"'
json '[(w["name"], w.get("timed", True), w["params"]["rows"]) for w in o["task"]["workloads"]] == [("benchmark1", True, 128), ("benchmark2", True, 64), ("test1", False, 7), ("test2", False, 8)]'
# Several candidates share processes that have loaded PyTorch.
judge() { # TASK FILE…
    expect 1 eval "gpu/$1" "${@:2}" --device cpu --check-only --no-keep --json
}
verdict() { # FILE STATUS [WORDS]
    json '[r["verdict"]["status"] for r in o["results"] if r["file"].endswith("'"$1"'") and "'"${3:-}"'" in r["verdict"]["message"]] == ["'"$2"'"]'
}
expect 0 eval gpu/in_place checkout/in_place/submission.py --device cpu --check-only --no-keep
# Weights in a dataclass and the cache of a module are arguments. Each call gets a cache of its own.
expect 0 task show gpu/cache --json
json 'o["task"]["torch"]["inputs"] == ["layer_weight", "given_x", "cache_data"]'
json '{a["name"]: a.get("value") for a in o["task"]["arguments"] if a["kind"] == "scalar"}["cache_filled"] == "filled"'
sed 's/, cache.data$/, torch.zeros_like(cache.data)/' checkout/cache/submission.py >no_cache.py
judge cache checkout/cache/submission.py no_cache.py
verdict submission.py correct
verdict no_cache.py wrong_result
# Results that the problem's own check accepts are right, and no others.
sed 's/-x.norm/-1.001 * x.norm/' checkout/own_check/submission.py >longer.py
judge own_check --no-kernelbench checkout/own_check/submission.py longer.py
verdict submission.py correct
verdict longer.py wrong_result
sed 's/alpha=2/alpha=2.01/' checkout/scaled_sum/submission.py >wrong.py
sed 's/def custom_kernel/def other_kernel/' checkout/scaled_sum/submission.py >no_entry.py
# A candidate in CUDA C gets the sizes as scalars.
cat >sum.cu <<'EOF'
#include <cstdint>
__global__ void sum(const float *a, const float *b, float *out, int64_t count)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count) out[i] = 2 * a[i] + b[i];
}
extern "C" void scaled_sum(const float *a, const float *b, float *out, int64_t rows, int64_t columns, cudaStream_t stream)
{
    sum<<<(rows * columns + 127) / 128, 128, 0, stream>>>(a, b, out, rows * columns);
}
EOF
# A submission that knows the inputs of task.yml's seeds knows none of the judge's.
cat >knows_seeds.py <<'EOF'
import torch
from reference import generate_input, ref_kernel

CASES = [(128, 256, "normal", 13), (64, 100, "uniform", 14), (7, 33, "normal", 11), (8, 64, "uniform", 12)]
known = [generate_input(*case) for case in CASES]


def custom_kernel(data):
    for made in known:
        if made[0].shape == data[0].shape and torch.equal(made[0], data[0]):
            return ref_kernel(made)
    return torch.zeros_like(data[0])
EOF
judge scaled_sum --no-kernelbench checkout/scaled_sum/submission.py wrong.py no_entry.py sum.cu knows_seeds.py
verdict knows_seeds.py wrong_result
verdict submission.py correct
verdict wrong.py wrong_result
verdict no_entry.py compile_error custom_kernel
verdict sum.cu correct
# Inputs that depend on each other come from generate_input, with seeds that the judge draws. Import
# (above), task and verdict say so.
expect 0 task show gpu/chunks --json
json '[(a["name"], a["distribution"]["kind"]) for a in o["task"]["arguments"] if a["kind"] == "input"] == [("x", "generated"), ("lengths", "generated"), ("decay", "generated")]'
json '[w["name"] for w in o["task"]["workloads"]] == ["benchmark1", "benchmark2", "test1"]'
cat >knows_seeds.py <<'EOF'
import torch
from reference import generate_input, ref_kernel

known = [generate_input(*case) for case in [(1, 64, 22), (4, 64, 23), (3, 40, 21)]]


def custom_kernel(data):
    return next(ref_kernel(made) for made in known if made[0].shape == data[0].shape)
EOF
judge chunks checkout/chunks/submission.py knows_seeds.py
verdict submission.py correct
verdict knows_seeds.py wrong_result
json 'all("inputs.generated" in r["verdict"]["flags"] for r in o["results"])'
# Candidates go back as submission.py: CUDA C with its own loading, ModelNew with a call.
expect 0 export --format submission -t gpu/scaled_sum --candidate sum.cu -o cuda.py
"$python" -m py_compile cuda.py || fail "cuda.py is not Python"
grep -q 'rows = a.shape\[0\]' cuda.py && grep -q '^    a, b, _, = data' cuda.py || fail "cuda.py: $(tail -15 cuda.py)"
printf 'import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, a, b):\n        return a + a + b\n' >new.py
expect 0 export --format submission -t gpu/scaled_sum --candidate new.py -o called.py
"$python" -m py_compile called.py && grep -q '_kforge_model(a, b, )' called.py || fail "called.py: $(cat called.py)"

# kernelbench.com: each shape is a workload, and a solution defines Model.
# The module is judged in all sizes. Lengths and page numbers stay within those of each size.
expect 0 import kernelbench.com "$formats/kernelbench_com" -o com --json
json 'len(o["problems"]) == 3 and all(p["check_seconds"] > 0 and "not judged" not in p["notes"] for p in o["problems"])'
expect 0 task show com/lengths --json
json 'o["task"]["entry"] == "task_lengths" and o["task"]["torch"]["patches"] == {"ROWS": "ROWS", "LENGTH": "LENGTH", "PAGES": "PAGES"}'
json '[(w.get("distributions") or {}).get("lengths", {}).get("high") for w in o["task"]["workloads"]] == [13, None, 10]'
expect 0 task show com/affine --json
json '[w["params"] for w in o["task"]["workloads"]] == [{"BATCH": 16, "FEATURES": 32, "workload": 0}, {"BATCH": 5, "FEATURES": 64, "workload": 1}, {"BATCH": 16, "FEATURES": 33, "workload": 2}]'
json 'o["task"]["torch"]["patches"] == {"BATCH": "BATCH", "FEATURES": "FEATURES", "SLOPE": "workload == 0 ? 0.5 : workload == 1 ? 0.25 : 0.5"}'
expect 0 eval com/affine "$formats/kernelbench_com/affine/solution.py" --device cpu --check-only --no-keep
# What problem.yaml forbids is a policy of the task.
expect 0 task show com/affine --json
json 'o["task"]["forbidden"] == ["torch.addmm", ".addmm("]'
sed 's/F.linear(x, self.weight, self.bias)/torch.addmm(self.bias, x, self.weight.T)/' "$formats/kernelbench_com/affine/solution.py" >forbidden.py
expect 1 eval com/affine forbidden.py --device cpu --check-only --no-keep --json
json '[(f["status"], f["rule"], f["text"]) for f in o["findings"]] == [("contract_violation", "source.forbidden", "line 14 has \"torch.addmm\", which the task forbids")]'
# A problem without inputs is a call of run.
expect 0 eval com/rollout "$formats/kernelbench_com/rollout/solution.py" --device cpu --check-only --no-keep
sed 's/scaled_sum(const float \*a, const float \*b,/affine(const float *x, const float *weight, const float *bias,/; s/rows, int64_t columns/FEATURES, int64_t BATCH/; /<<</d' sum.cu >affine.cu
expect 0 export --format modelnew -t com/affine --candidate affine.cu -o sized.py
grep -q 'kforge_run(given + outputs, \[\], \[[0-9]*, [0-9]*\]' sized.py || fail "sized.py: $(tail -5 sized.py)"
expect 2 export --format submission -t com/affine --candidate sum.cu -o none.py
complains "not imported with kforge import gpu-mode"

# A driver in C++: its reference is the oracle, and init.cu a seed.
cp -r "$formats/raw" raw-source
expect 0 import raw raw-source -o raw
cp raw-source/affine/init.cu init.cu
sed -i 's/factor/ factor/' raw-source/affine/init.cu
expect 0 import raw raw-source -o raw --unchecked
case $err in *"affine: raw/affine exists and differs"*) ;; *) fail "a changed source is not seen: $err" ;; esac
cp init.cu raw-source/affine
expect 2 export --format modelnew -t raw/affine --candidate raw/affine/init.cu -o none.py
complains "its problem file uses modules of kforge"
sed 's/sum += A/sum -= A/' raw/scaled_product/baseline.cu >wrong.cu
expect 1 eval raw/scaled_product raw/scaled_product/baseline.cu wrong.cu --device cpu --check-only --no-keep --json
verdict baseline.cu correct
verdict wrong.cu wrong_result
sed 's/+ other\[/- other[/' raw/affine/init.cu >wrong.cu
expect 1 eval raw/affine raw/affine/init.cu wrong.cu --device cpu --check-only --no-keep --json
verdict init.cu correct
verdict wrong.cu wrong_result

# Faulty problems are refused with the rule "file", a place and a remedy. test_formats.py has one of
# each kind.
refused() { # FORMAT FOLDER WORDS
    expect 1 import "$1" "$2" -o refused --json
    json "o['problems'][0]['status'] == 'failed' and o['problems'][0]['rule'] == 'file' and '$3' in o['problems'][0]['reason']"
}
faulty() { # FILE OLD NEW: a copy of the problem with one change
    rm -rf faulty && mkdir faulty && cp -r checkout/. faulty && rm -rf faulty/{cache,in_place,own_check,chunks}
    sed -i "s|$2|$3|" "faulty/scaled_sum/$1"
}
faulty task.yml '^tests:' 'tests: ['
refused gpu-mode faulty 'task.yml:'
faulty task.yml '../helpers.py' '../missing.py'
refused gpu-mode faulty 'there is no file ../missing.py'
# A file outside of the checkout is not read.
mkdir -p inside && cp -r checkout/scaled_sum checkout/helpers.py inside
refused gpu-mode inside/scaled_sum 'there is no file ../helpers.py'
mkdir driver && cp "$formats/raw/affine/"* driver
sed -i 's/bool passed = .*/bool passed = true;/' driver/driver.cpp
refused raw driver 'it compares nothing'
finish
