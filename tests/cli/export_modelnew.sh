#!/bin/bash
# export --format modelnew|kernelbench: the Python file is what KernelBench's evaluator takes. Here its CUDA part is compiled for the CPU device by a stand-in
# for load_inline, so that forward runs; the C++ part is compiled where PyTorch's headers are.
source "$(dirname "$0")/lib.sh"
expect 2 export --format modelnew --candidate x.cu -o x.py
complains "--candidate goes with --task"
expect 2 export --format sft --candidate x.cu
complains "--candidate goes with --format modelnew"
expect 2 export --format modelnew --task x
complains "writes files: name one"
python=/usr/bin/python3
"$python" -I -c 'import torch' 2>/dev/null || python=python3
if ! "$python" -I -c 'import torch.utils.cpp_extension' 2>/dev/null; then
    echo "skipped: no PyTorch that can build extensions (Debian: python3-torch, python3-setuptools)" >&2
    finish
    exit 0
fi

expect 0 import kernelbench "$root/tests/kernelbench" --ids 3,6 -o tasks
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
expect 2 export --format modelnew --task "$root/tasks/row_softmax" --candidate linear.cu -o x.py
complains "no task for PyTorch"
expect 0 export --format kernelbench --task "$linear" --candidate linear.cu -o runs/mine
[ -f runs/mine/level_1_problem_3_sample_0_kernel.py ] || fail "not KernelBench's name: $(ls runs/mine)"

cat >evaluate.py <<'END'
# What KernelBench's evaluator does with a problem and a solution, as far as a machine without a GPU can.
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
exec(solution, context)
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
        expected, got = reference(*inputs), new(*inputs)
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
headers=$("$python" -I -c 'from torch.utils import cpp_extension as e; print(" ".join("-I" + p for p in e.include_paths()))' 2>/dev/null)
there=
for folder in $headers; do [ -e "${folder#-I}/torch/types.h" ] && there=1; done
if [ "$there" ]; then
    g++ -std=c++17 -fsyntax-only $headers binding.cpp 2>err || fail "the binding: $(head -5 err)"
else
    echo "the C++ part was not compiled: no headers of PyTorch (Debian: libtorch-dev)" >&2
fi
finish
