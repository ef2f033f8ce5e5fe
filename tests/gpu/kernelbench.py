#!/usr/bin/env python3
"""kernelbench.py FOLDER CHECKOUT OUT [LEVEL/PROBLEM…]: KernelBench's own evaluator beside kforge, on the same solutions.

FOLDER is an installation made by pack.sh, CHECKOUT one of KernelBench (its problems and src/kernelbench). The problems are imported at full size. Each is
solved by itself, renamed ModelNew, and elementwise ones of level 1 by a kernel in CUDA C, too, which KernelBench gets through `kforge export --format
modelnew`. Either side gets a process of its own for each solution, one behind the other, and is timed from its start to its end; extensions are compiled
anew. KernelBench's is eval_kernel_against_ref, unmodified, with 5 trials and 100 timed calls between CUDA events.

All of it goes to OUT/kernelbench.json, a row a solution; `gpu_check figure` tells what was reached. GPU_DEVICE=cpu leaves KernelBench's side out, which needs a
GPU; SCALE=ELEMENTS imports smaller problems, which KernelBench's side would not have; SECONDS_EACH is kforge's time for timing.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

REFERENCES = ("1/1 1/2 1/8 1/10 1/12 1/13 1/14 1/15 1/16 1/17 1/18 1/19 1/40 1/50 1/54 1/58 1/60 1/66 1/72 1/73 1/77 "
              "2/12 2/14 2/15 2/18 2/20 2/22 2/30 2/50 2/68").split()
ELEMENTWISE = {
    "1/19": "fmaxf(v, 0.f)",
    "1/20": "v > 0.f ? v : 0.01f * v",
    "1/21": "1.f / (1.f + expf(-v))",
    "1/22": "tanhf(v)",
    "1/25": "v / (1.f + expf(-v))",
    "1/26": "0.5f * v * (1.f + erff(v * 0.70710678118654752f))",
    "1/27": "1.0507009873554805f * (v > 0.f ? v : 1.6732632423543772f * expm1f(v))",
    "1/28": "fminf(fmaxf(v / 6.f + 0.5f, 0.f), 1.f)",
    "1/29": "v > 20.f ? v : log1pf(expf(v))",
    "1/30": "v / (1.f + fabsf(v))",
    "1/31": "v > 0.f ? v : expm1f(v)",
    "1/32": "fminf(fmaxf(v, -1.f), 1.f)",
}
WITHIN = 0.05

# In a process of its own: argv is CHECKOUT, the problem's file, the solution's, a folder to compile in. What of its packages is for asking models or for
# downloading is stood in for where it is missing.
EVALUATE = r"""
import importlib, json, sys, types
checkout, problem, solution, folder = sys.argv[1:]
class Missing(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: None
for name in ("dotenv", "openai", "litellm", "tqdm", "datasets", "requests"):
    try:
        importlib.import_module(name)
    except ImportError:
        sys.modules[name] = Missing(name)
try:
    import pydantic
except ImportError: # of it the evaluator only has the result made
    class BaseModel:
        def __init__(self, **given):
            named = {name: getattr(type(self), name) for name in type(self).__annotations__}
            self.__dict__.update({name: dict(value) if isinstance(value, dict) else value for name, value in named.items()})
            self.__dict__.update(given)
    sys.modules["pydantic"] = types.ModuleType("pydantic")
    sys.modules["pydantic"].BaseModel = BaseModel
sys.path.insert(0, checkout + "/src")
import torch
from kernelbench import eval as evaluator
result = evaluator.eval_kernel_against_ref(open(problem).read(), open(solution).read(), num_correct_trials=5, num_perf_trials=100,
                                           measure_performance=True, build_dir=folder, device=torch.device("cuda:0"))
said = {"compiled": False, "correctness": False} if result is None else json.loads(json.dumps(result.__dict__, default=str))
print("\nkforge: " + json.dumps(said))
"""


def run(arguments, **named):
    """(exit status, output, messages, seconds)"""
    started = time.monotonic()
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, **named)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - started


def task_of(tasks, problem):
    level, number = problem.split("/")
    found = [name for name in os.listdir(tasks) if name.startswith(f"level{level}_{number}_")]
    return os.path.join(tasks, found[0]) if found else None


def kernel(task, expression):
    entry = json.load(open(os.path.join(task, "task.json")))
    given, made = entry["arguments"]
    elements = 1
    for size in given["shape"]:
        elements *= size
    assert given["dtype"] == made["dtype"] == "f32" and elements % 4 == 0, task
    return f"""__device__ float one(float v)
{{
    return {expression};
}}

__global__ void all(const float4 *x, float4 *y, size_t quarter)
{{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quarter) return;
    float4 v = x[i];
    y[i] = make_float4(one(v.x), one(v.y), one(v.z), one(v.w));
}}

extern "C" void {entry["entry"]}(const float *x, float *y, cudaStream_t stream)
{{
    size_t quarter = {elements // 4}ull;
    all<<<(unsigned)((quarter + 255) / 256), 256, 0, stream>>>((const float4 *)x, (float4 *)y, quarter);
}}
"""


def by_kforge(kforge, device, task, solution, seconds):
    status, said, messages, wall = run([kforge, "eval", task, solution, "--device", device, "--no-keep", "--no-kernelbench", "--json", "--seconds", seconds])
    try:
        verdict = json.loads(said)
    except ValueError:
        return {"status": "none", "message": messages.strip()[-400:], "wall": wall}
    timed = next((w for w in verdict["workloads"] if w["timed"]), {})
    return {"status": verdict["status"], "message": verdict["message"], "wall": wall, "speedup": timed.get("speedup"),
            "baseline_ms": 1e3 * (timed.get("baseline_seconds") or 0), "candidate_ms": 1e3 * (timed.get("candidate_seconds") or 0),
            "build_seconds": verdict["build_seconds"], "judge_seconds": verdict["judge_seconds"]}


def by_kernelbench(python, checkout, problem, solution):
    with tempfile.TemporaryDirectory() as folder:
        surroundings = dict(os.environ, TORCH_EXTENSIONS_DIR=folder)
        status, said, messages, wall = run([python, "-c", EVALUATE, checkout, problem, solution, folder], env=surroundings)
    line = [line for line in said.splitlines() if line.startswith("kforge: ")]
    if not line:
        return {"status": status, "message": messages.strip()[-400:], "wall": wall}
    result = json.loads(line[-1][len("kforge: "):])
    return {"correct": bool(result["correctness"]), "wall": wall, "candidate_ms": result.get("runtime"), "baseline_ms": result.get("ref_runtime"),
            "stats": result.get("runtime_stats"), "metadata": result.get("metadata")}


def figure(check, name, value, unit, sense, target):
    subprocess.run([check, "figure", name, str(value), unit, sense, str(target)])


def main():
    folder, checkout, out = (os.path.abspath(path) for path in sys.argv[1:4])
    wanted = sys.argv[4:]
    device = os.environ.get("GPU_DEVICE", "cuda")
    seconds = os.environ.get("SECONDS_EACH", "1")
    kforge, check = (os.path.join(folder, "bin", name) for name in ("kforge", "gpu_check"))
    python = os.environ.get("KFORGE_PYTHON", "python3")
    tasks = os.path.join(out, "tasks")
    os.makedirs(out, exist_ok=True)
    references = [p for p in REFERENCES if p in wanted] if wanted else REFERENCES
    kernels = [p for p in ELEMENTWISE if p in wanted] if wanted else list(ELEMENTWISE)
    unknown = set(wanted) - set(REFERENCES) - set(ELEMENTWISE)
    if unknown:
        sys.exit("not among the problems of this comparison: " + " ".join(sorted(unknown)))
    for level in sorted({p.split("/")[0] for p in references + kernels}):
        ids = ",".join(sorted({p.split("/")[1] for p in references + kernels if p.split("/")[0] == level}, key=int))
        scale = ["--scale", os.environ["SCALE"]] if "SCALE" in os.environ else []
        status, said, messages, wall = run([kforge, "import", "kernelbench", checkout, "--level", level, "--ids", ids, "-o", tasks] + scale)
        print(f"  level {level} imported in {wall:.1f} s: {(said.strip().splitlines() or [messages.strip()[-300:]])[0]}", flush=True)
    rows = []
    for problem, python_file in [(p, True) for p in references] + [(p, False) for p in kernels]:
        task = task_of(tasks, problem)
        if not task:
            print(f"  {problem}: not imported")
            rows.append({"problem": problem, "kind": "reference" if python_file else "CUDA C", "imported": False})
            continue
        base = os.path.join(out, problem.replace("/", "_") + ("_reference" if python_file else "_kernel"))
        reference = os.path.join(task, "problem.py")
        if python_file:
            mine = theirs = base + ".py"
            with open(mine, "w") as file:
                file.write(open(reference).read() + "\n\nModelNew = Model\n")
        else:
            mine, theirs = base + ".cu", base + ".py"
            with open(mine, "w") as file:
                file.write(kernel(task, ELEMENTWISE[problem]))
            status, said, messages, wall = run([kforge, "export", "--format", "modelnew", "-t", task, "--candidate", mine, "-o", theirs, "--force"])
            if status:
                print(f"  {problem}: not exported: {messages.strip()[-300:]}")
        row = {"problem": problem, "kind": "reference" if python_file else "CUDA C", "imported": True,
               "kforge": by_kforge(kforge, device, task, mine, seconds)}
        if device != "cpu":
            row["kernelbench"] = by_kernelbench(python, checkout, reference, theirs)
        rows.append(row)
        k, b = row["kforge"], row.get("kernelbench", {})
        print(f"  {problem} {row['kind']}: kforge {k['status']} {k.get('candidate_ms', 0):.4g} ms, {k['wall']:.1f} s; KernelBench "
              f"{b.get('correct')} {b.get('candidate_ms')} ms, {b.get('wall', 0):.1f} s{'' if k['status'] == 'correct' else ': ' + k['message'][:300]}"
              f"{': ' + b['message'][-300:] if 'message' in b else ''}", flush=True)
        with open(os.path.join(out, "kernelbench.json"), "w") as file:
            json.dump({"schema": "kforge-kernelbench/1", "checkout": os.path.basename(checkout), "seconds": float(seconds), "rows": rows}, file, indent=1)
    both = [r for r in rows if r["imported"] and "correct" in r.get("kernelbench", {})]
    right = [r for r in both if r["kforge"]["status"] == "correct" and r["kernelbench"]["correct"] and r["kernelbench"]["candidate_ms"] > 0]
    ratios = [r["kforge"]["candidate_ms"] / r["kernelbench"]["candidate_ms"] for r in right]
    figure(check, "solutions that both have judged", len(both), "", "least", 40)
    if both:
        figure(check, "called the same", 100 * sum((r["kforge"]["status"] == "correct") == r["kernelbench"]["correct"] for r in both) / len(both), "%", "least", 100)
    if ratios:
        print(f"  kforge's time by KernelBench's: median {statistics.median(ratios):.4f}, {min(ratios):.4f} to {max(ratios):.4f}")
        figure(check, "times within 5 %", 100 * sum(abs(x - 1) <= WITHIN for x in ratios) / len(ratios), "%", "least", 100)
    for kind, target in (("CUDA C", 10), ("reference", 2)):
        walls = [r["kernelbench"]["wall"] / r["kforge"]["wall"] for r in right if r["kind"] == kind]
        if walls:
            figure(check, f"less time than KernelBench takes, {kind}, median", statistics.median(walls), "times", "least", target)
    for r in rows:
        if r["problem"] == "1/19" and r["imported"]:
            figure(check, f"1/19 ReLU, {r['kind']}, from start to verdict", r["kforge"]["wall"], "s", "most", 8)
    sys.exit(any(not r["imported"] or r["kforge"]["status"] != "correct" for r in rows))


main()
