#!/bin/bash
# export --format modelnew|kernelbench: the Python file suits KernelBench's evaluator. Here a
# stand-in for load_inline compiles its CUDA part for the CPU device, so that forward runs. The C++
# part is compiled if PyTorch's headers are installed.
source "$(dirname "$0")/lib.sh"
expect 2 export --format modelnew --candidate x.cu -o x.py
complains "--candidate needs --task"
expect 2 export --format sft --candidate x.cu
complains "--candidate needs --format modelnew"
expect 2 export --format modelnew --task x
complains "writes files: name one"
expect 2 export --format modelnew --task x --candidate x.cu --only faster -o x.py
complains "--candidate names the source"
python=/usr/bin/python3
"$python" -I -c 'import torch' 2>/dev/null || python=python3
if ! "$python" -I -c 'import torch.utils.cpp_extension' 2>/dev/null; then
    echo "skipped: no PyTorch that can build extensions (Debian: python3-torch, python3-setuptools)" >&2
    finish
    exit 0
fi

expect 0 import kernelbench "$root/tests/kernelbench" --ids 3,6 -o tasks --unchecked
linear=tasks/level1_3_Linear loss=tasks/level1_6_CrossEntropy
"$python" -I - "$linear/task.json" "$loss/task.json" <<'END' || fail "no candidates"
import json, sys
# Candidates are written for the shapes that the tasks have.
shapes = {a["name"]: a["shape"] for a in json.load(open(sys.argv[1]))["arguments"]}
names = [a["name"] for a in json.load(open(sys.argv[1]))["arguments"]]
rows, inner = shapes[names[0]]
columns = shapes[names[-1]][1]
weight, bias = sorted(names[1:-1], key=lambda n: -len(shapes[n]))
order = ", ".join(("float *" if n == "out" else "const float *") + n for n in names)
open("linear.cu", "w").write(f'''
// a "comment" with """quotes""" and a back\\slash
#define ROWS {rows}
#define INNER {inner}
#define COLUMNS {columns}
__global__ void multiply(const float *x, const float *weight, const float *bias, float *out)
{{
    int row = blockIdx.x, column = threadIdx.x;
    for (; column < COLUMNS; column += blockDim.x) {{
        float sum = bias[column];
        for (int k = 0; k < INNER; k++) sum += x[row * INNER + k] * weight[column * INNER + k];
        out[row * COLUMNS + column] = sum;
    }}
}}
extern "C" void level1_3_Linear({order}, cudaStream_t stream)
{{
    multiply<<<ROWS, 64, 0, stream>>>({names[0]}, {weight}, {bias}, out);
}}
''')
task = json.load(open(sys.argv[2]))
scores, targets = [a["name"] for a in task["arguments"]][:2]
rows, classes = task["arguments"][0]["shape"]
open("loss.cu", "w").write(f'''
__global__ void loss(const float *scores, const int64_t *targets, float *out)
{{
    double sum = 0;
    for (int row = 0; row < {rows}; row++) {{
        const float *s = scores + row * {classes};
        double total = 0;
        for (int k = 0; k < {classes}; k++) total += exp((double)s[k]);
        sum += log(total) - s[targets[row]];
    }}
    *out = (float)(sum / {rows});
}}
extern "C" void level1_6_CrossEntropy(const float *scores, const int64_t *targets, float *out, cudaStream_t stream)
{{
    loss<<<1, 1, 0, stream>>>(scores, targets, out);
}}
''')
END
expect 0 export --format modelnew --task "$linear" --candidate linear.cu -o linear.py
expect 2 export --format modelnew --task "$linear" --candidate linear.cu -o linear.py
complains "exists already"
expect 0 export --format modelnew --task "$loss" --candidate loss.cu -o loss.py
for name in stopped.py stopped; do # Ctrl-C when the first file is written (interrupting.c): nothing of it is left
    INTERRUPT_AT=1 ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$bin/../tests/interrupting.so \
        "$program" export --format modelnew --task "$loss" --candidate loss.cu -o $name >out 2>err
    [ $? = 130 ] || fail "interrupted: status $? $(cat err)"
    [ -z "$(compgen -G 'stopped*')" ] || fail "left behind: $(compgen -G 'stopped*')"
done
expect 2 export --format modelnew --task "$root/tasks/row_softmax" --candidate linear.cu -o x.py
complains "not a task for PyTorch"
expect 0 export --format kernelbench --task "$linear" --candidate linear.cu -o runs/mine
[ "$(ls runs/mine | tr '\n' ' ')" = "level_1_problem_3_sample_0_kernel.py provenance.json " ] || fail "not KernelBench's name: $(ls runs/mine)"
expect 2 export --format kernelbench --task "$linear" --candidate linear.cu -o runs/mine
complains "exists already"
expect 0 export --format kernelbench --task "$linear" --candidate linear.cu -o runs/mine --force
printf '\0' >nul.cu
expect 2 export --format modelnew --task "$linear" --candidate nul.cu -o x.py
complains "NUL byte"
# Weights of modules within modules are looked up by a path that Python takes.
expect 0 import kernelbench "$root/tests/kernelbench" --level 3 --ids 1 -o deep --unchecked
expect 0 export --format modelnew --task deep/level3_1_Small_Convolution_Net --candidate linear.cu -o deep.py
"$python" -I - <<'END' || fail "paths of weights: $(grep checked deep.py)"
import re
text = open("deep.py").read()
scope = {}
exec(text.split("# ---- the candidate ----")[0], scope)
self = scope["Model"](*scope["get_init_inputs"]())
found = {name: eval(path) for path, name in re.findall(r'_kforge_checked\((self.*|getattr.*), "(\w+)", \(', text)}
wanted = {name.replace(".", "_"): value for name, value in self.named_parameters()}
assert 'getattr(self.blocks, "0").first.weight' in text and set(found) == set(wanted) and all(found[n] is wanted[n] for n in wanted), (list(found), list(wanted))
END

# Secrets and places
(cat linear.cu; echo '// /home/jane/x.cu sk-proj-abcdefghijklmnop0123456789') >told.cu
expect 0 export --format modelnew --task "$linear" --candidate told.cu -o told.py
grep -q "sk-proj\|jane" told.py && fail "a secret in $(cat told.py)"
grep -q "this is not the judged text" told.py || fail "$(head -5 told.py)"

# Out of a store
for name in linear loss; do expect_judged 0 eval "${!name}" $name.cu --device cpu --seconds 0.1 --json; done
expect 0 export --format modelnew -o stored --license MIT
[ "$(ls stored | tr '\n' ' ')" = "level1_3_Linear.py level1_6_CrossEntropy.py provenance.json " ] || fail "$(ls stored)"
"$python" -I - <<'END' || fail "provenance: $(cat stored/provenance.json)"
import hashlib, json
o = json.load(open("stored/provenance.json"))
rows = {r["file"]: r for r in o["files"]}
assert o["schema"] == "kforge-modelnew/1" and o["license"] == "MIT" and len(rows) == 2
row = rows["level1_3_Linear.py"]
assert row["as_judged"] and row["sizes_of_the_problem"] and row["measured_on"].startswith("cpu") and len(row["candidate"]) == 64
assert row["source_sha256"] == hashlib.sha256(open("linear.cu", "rb").read()).hexdigest()
END
grep -q '^# Candidate .* on cpu .*, measured' stored/level1_3_Linear.py && grep -q '^# Licence: MIT' stored/level1_3_Linear.py || fail "$(head -5 stored/level1_3_Linear.py)"
expect 0 export --format modelnew -o stored --held-out level1_6_CrossEntropy --force --json
json 'o["files"] == 1 and o["held_out"] == 1'
[ "$(ls stored | tr '\n' ' ')" = "level1_3_Linear.py provenance.json " ] || fail "$(ls stored)"
expect 2 export --format modelnew -o two.py
complains "name a folder, or one with --task"
expect 0 export --format modelnew -o one.py --task level1_3_Linear
expect 0 export --format kernelbench -o runs/stored --only correct
[ "$(ls runs/stored | tr '\n' ' ')" = "kforge_results_level_1.json level_1_problem_3_sample_0_kernel.py level_1_problem_6_sample_0_kernel.py provenance.json " ] || fail "$(ls runs/stored)"
"$python" -I -c 'import json; r = json.load(open("runs/stored/kforge_results_level_1.json")); assert sorted(r) == ["3", "6"] and r["3"][0]["correctness"] and r["3"][0]["sample_id"] == 0' ||
    fail "$(cat runs/stored/kforge_results_level_1.json)"
expect 0 export --format kernelbench -o runs/sample --task level1_3_Linear
python3 "$root/tests/python/doc_samples.py" "$root/docs/reference/datasets.md" modelnew stored/level1_3_Linear.py 2>err || fail "$(tail -1 err)"
# The documentation names each key of the provenance.
for key in $("$python" -I -c 'import json; print(*json.load(open("stored/provenance.json"))["files"][0])'); do
    sed -n '/^## modelnew$/,/^## /p' "$root/docs/reference/datasets.md" | grep -q "\`$key\`" || fail "datasets.md lacks $key"
done
"$python" -I -c 'import json; r = json.load(open("runs/sample/kforge_results_level_1.json"))["3"][0]; assert set(r) == {"sample_id", "compiled", "correctness", "metadata", "runtime", "runtime_stats"}, r' || fail "KernelBench's form"
[ -z "$(compgen -G '*.part-*')" ] && [ ! -e two.py ] && [ ! -e x.py ] || fail "left over: $(ls)"

# A package of such tasks: their baseline is PyTorch's, so its test only sees that outputs are written. It can fail.
"$python" -I -c 'import sqlite3; c = sqlite3.connect("kforge.db"); c.execute("update verdict set reverified = 1, speedup = 2, low = 1.9, high = 2.1"); c.commit()'
expect 0 export --format package -o package --task level1_3_Linear
[ "$(ls package/test | tr '\n' ' ')" = "fill.h level1_3_Linear.cu " ] || fail "$(ls package/test)"
grep -q "Verified for: main (its one size)" package/include/kforge_kernels.h || fail "$(cat package/include/kforge_kernels.h)"
cmake -G Ninja -S package -B built -DKFORGE_CPUCC="$bin/kforge-cpucc" >log 2>&1 && cmake --build built >>log 2>&1 && ctest --test-dir built >>log 2>&1 || fail "a package of a task for PyTorch: $(tail -20 log)"
sed -i 's/out\[row \* COLUMNS + column\] = sum/if (row) &/' package/src/level1_3_Linear_*.cu
cmake --build built >>log 2>&1 && ctest --test-dir built >log 2>&1 && fail "a kernel that leaves a row out passes: $(cat log)"

cat >evaluate.py <<'END'
# Handles a problem and a solution as KernelBench's evaluator does, as far as possible without a
# GPU.
import ctypes, inspect, subprocess, sys
import torch
from torch.utils import cpp_extension

compiler, problem_file, solution_file, entry = sys.argv[1:5]
captured = {}


class Extension:
    def __init__(self, library):
        self.entry = getattr(ctypes.CDLL(library), entry)

    def kforge_run(self, tensors, numbers, integers, stream):
        assert all(t.is_contiguous() for t in tensors)
        self.entry(*[ctypes.c_void_p(t.data_ptr()) for t in tensors], *map(ctypes.c_double, numbers), *map(ctypes.c_int64, integers), ctypes.c_void_p(stream))


def load_inline(name, cpp_sources, cuda_sources, functions, **options):
    captured.update(options, binding=cpp_sources[0])
    assert functions == ["kforge_run"] and "void kforge_run(" in cpp_sources[0]
    open(name + ".cu", "w").write("\n".join(cuda_sources))
    open("binding.cpp", "w").write(cpp_sources[0])
    subprocess.run([compiler, name + ".cu", "-o", "./" + name + ".so"], check=True)
    return Extension("./" + name + ".so")


cpp_extension.load_inline = load_inline
context = {}
text = open(problem_file).read()
exec(compile(text, "<string>", "exec"), context)
Model, get_inputs, get_init_inputs = context["Model"], context["get_inputs"], context["get_init_inputs"]
torch.manual_seed(42)
init = get_init_inputs()
torch.manual_seed(42)
reference = Model(*init)
solution = open(solution_file).read()
compile(solution, "<string>", "exec")
there = torch.cuda.is_available, torch.cuda.get_device_capability
torch.cuda.is_available, torch.cuda.get_device_capability = lambda: True, lambda: (9, 0)
exec(solution, context)
torch.cuda.is_available, torch.cuda.get_device_capability = there
assert captured["extra_cuda_cflags"][-1] == "-gencode=arch=compute_90a,code=sm_90a", captured["extra_cuda_cflags"]
ModelNew = context["ModelNew"]
torch.manual_seed(42)
new = ModelNew(*init)
assert inspect.signature(ModelNew.__init__) == inspect.signature(Model.__init__)
a, b = reference.state_dict(), new.state_dict()
assert list(a) == list(b) and all(torch.equal(a[k], b[k]) for k in a), "another state_dict"
for trial in range(3):
    torch.manual_seed(100 + trial)
    inputs = get_inputs()
    with torch.no_grad():
        # KernelBench's evaluator casts all inputs to its precision, integers too. It can't run
        # references that need integers.
        expected, got = reference(*inputs), new(*[v.to(torch.float32) for v in inputs])
    assert expected.shape == got.shape, (expected.shape, got.shape)
    assert torch.allclose(expected, got, rtol=1e-4, atol=1e-4), (expected - got).abs().max()
try:
    new(*[v[: v.shape[0] // 2] for v in inputs])
except ValueError as reason:
    assert "written for" in str(reason)
else:
    sys.exit("another shape was taken")
print("fine")
END
for name in linear:3_Linear loss:6_CrossEntropy; do
    [ "$("$python" -W ignore evaluate.py "$bin/kforge-cpucc" "$root/tests/kernelbench/level1/${name#*:}.py" "${name%:*}.py" "level1_${name#*:}" 2>err | tail -1)" = fine ] ||
        fail "${name%:*}.py: $(tail -3 err)"
done
! grep -q -- '-std=' linear.py || fail "linear.py names a standard, which may be older than the headers of PyTorch need"
headers=$("$python" -I -c 'from torch.utils import cpp_extension as e; print(" ".join("-I" + p for p in e.include_paths()))' 2>/dev/null)
there=
for folder in $headers; do [ -e "${folder#-I}/torch/types.h" ] && there=1; done
if [ "$there" ]; then
    standard=$("$python" -W ignore -c "import sys; sys.path.insert(0, '$root/evaluator/torch'); from cpp_extension import cuda_on_cpu; print(cuda_on_cpu.pytorchs_standard())" 2>err) || fail "no standard: $(tail -1 err)"
    g++ "-std=${standard#-std=}" -fsyntax-only $headers binding.cpp 2>err || fail "the binding: $(head -5 err)"
else
    echo "the C++ part was not compiled: no headers of PyTorch (Debian: libtorch-dev)" >&2
fi
finish
