#!/bin/bash
# Imported problems are judged: more weights than a signature usually has, and structured inputs.
source "$(dirname "$0")/lib.sh"
needs_torch
cat >many.py <<'END'
import torch
import torch.nn as nn


class Model(nn.Module):
    """A sum of 100 weights times powers of x."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(3)) for _ in range(100)])

    def forward(self, x):
        return sum(w[i % 3] * x / (i + 1) for i, w in enumerate(self.weights))


def get_inputs():
    return [torch.rand(1000)]
END
expect 0 import torch many.py -o tasks --unchecked
expect 0 task show tasks/many --json
json 'len(o["task"]["arguments"]) == 102 and o["task"]["torch"]["state"][99]["argument"] == "weights_99"'
python3 - <<'END'
names = ["weights_%d" % i for i in range(100)]
for file, count in (("right.cu", 100), ("forgets.cu", 99)):
    body = "".join("    sum += w%d[%d] / %d;\n" % (i, i % 3, i + 1) for i in range(count))
    arguments = ", ".join("const float *" + n for n in names)
    short = ", ".join("const float *w%d" % i for i in range(100))
    open(file, "w").write(f"""
__global__ void kernel(const float *x, {short}, float *out)
{{
    double sum = 0;
{body}    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1000) out[i] = (float)(sum * x[i]);
}}
extern "C" void many(const float *x, {arguments}, float *out, cudaStream_t stream)
{{
    kernel<<<4, 256, 0, stream>>>(x, {", ".join(names)}, out);
}}
""")
END
# A mapping keeps no descriptor: a thousand of them are no question of how many files a process may have open.
(ulimit -n 256 && expect 1 eval tasks/many right.cu forgets.cu --device cpu --check-only --json && exit $failures) || failures=$?
json '[r["verdict"]["status"] for r in sorted(o["results"], key=lambda r: r["file"])] == ["wrong_result", "correct"]'
expect 0 import kernelbench "$root/tests/kernelbench/bad" --ids 20 -o tasks --unchecked
cat >structure.cu <<'END'
// Leaves out what is zero and takes the symmetric half that is nearer: right only where inputs have the structure that the problem gives them.
__global__ void multiply(const float *triangular, const float *symmetric, const float *signs, float *out)
{
    int row = blockIdx.x, column = threadIdx.x;
    float sum = 0;
    for (int k = row; k < 32; k++) sum += triangular[row * 32 + k] * symmetric[k < column ? k * 32 + column : column * 32 + k];
    out[row * 32 + column] = signs[column] < 0 ? -sum : sum;
}
extern "C" void level1_20_Signs_And_Matrices(const float *triangular, const float *symmetric, const float *signs, float *out, cudaStream_t stream)
{
    multiply<<<32, 32, 0, stream>>>(triangular, symmetric, signs, out);
}
END
expect_judged 0 eval tasks/level1_20_Signs_And_Matrices structure.cu --device cpu --check-only --json
json 'o["status"] == "correct"'
# Kinds of problems. The first line of each file says what the import does. It has judged the
# module of a made task. Some need a part of PyTorch that older ones lack. One import takes them all,
# so that they share processes that have loaded PyTorch.
python=$(torch_python) || exit 1
mkdir problems
unfit=
for file in "$root"/tests/torch/problems/*.py; do
    needed=$(sed -n 's/^# needs: //p' "$file")
    [ -z "$needed" ] || "$python" -c "import torch; torch.$needed" 2>/dev/null || { echo "left out: $(basename "$file") needs torch.$needed"; continue; }
    cp "$file" problems/
    read -r _ _ wanted what < <(head -n 1 "$file")
    [ "$wanted" != unfit ] || unfit=$file
done
expect 0 import torch problems -o kinds --device cpu --json
cp out all.json
json "len(o['problems']) == $(ls problems | wc -l)"
for file in problems/*.py; do
    name=$(basename "$file" .py)
    read -r _ _ wanted what < <(head -n 1 "$file")
    python3 -c 'import json, sys
o = json.load(open("all.json"))
o["problems"] = [p for p in o["problems"] if p["task"] == sys.argv[1]]
json.dump(o, open("out", "w"))' "$name"
    if [ "$wanted" = unfit ]; then
        json "o['problems'][0]['status'] == 'unfit' and o['problems'][0]['rule'] == '$what'"
        continue
    fi
    json "o['problems'][0]['status'] == 'made' and o['problems'][0]['check_seconds'] > 0 and 'not judged' not in o['problems'][0]['notes']"
    [ -z "$what" ] || grep -q "\"$what\"" "kinds/$name/task.json" || fail "$name is not $what"
done
[ -z "$unfit" ] || expect 1 import torch "$unfit" -o alone --json
finish
