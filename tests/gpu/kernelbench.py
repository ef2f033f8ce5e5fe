#!/usr/bin/env python3
"""kernelbench.py FOLDER CHECKOUT OUT [LEVEL/PROBLEM…]: compares KernelBench's own evaluator with
kforge on the same solutions.

FOLDER is an installation made by pack.sh. CHECKOUT is a clone of KernelBench (its problems and
src/kernelbench). The problems are imported at full size. The solution of each is the problem
itself, renamed ModelNew. Elementwise problems of level 1 also have a kernel in CUDA C, which
KernelBench gets through `kforge export --format modelnew`.

Wall times: both sides do the usual work for a folder of solutions. kforge runs one `kforge bench
--solutions` with nothing built. A solution's wall time is its time to build and judge, by its
verdict, and its share of the start (from the command's start until its first job). KernelBench runs
eval_kernel_against_ref, unmodified, in a process for each solution (kernelbench_side.py). Its wall
time is that of the process, with extensions compiled anew. A separate `kforge eval` also judges
1/19, as a user does for one solution.

With GPUS=N both sides have N GPUs. KernelBench then runs N processes at a time, each alone on its
GPU. That does not shorten their wall times, most of which is drawing large inputs on a CPU. With
LANES=N there are N processes for each GPU. They draw and compile in parallel, each on its own CPUs
as long as there are enough, and take turns with the GPU. A process that measures has the GPU alone.
Waiting for other processes is not part of the wall time (kernelbench_side.py).

Times: KernelBench times calls as in src/kernelbench/timing.py and eval.py at 423217d, timing_method
"cuda_event". Three calls warm up, each followed by a synchronisation. KernelBench empties PyTorch's
memory cache. Then it times 101 calls one by one and drops the first. Before each call, it
synchronises, creates two events, and allocates, fills and releases a tensor of 256 MiB. So the L2
cache holds that tensor's last lines, all of them still to be written to memory. It does not wait
for the fill: the first event, the call and the second event queue up behind it. The fill thus hides
the launch, as long as it runs, and the time is the GPU's between the events. All calls have the
same inputs (seed 42) and weights. A call's results may lie at the address of the last but one
call's, or of the fill. Autograd is on (weights require gradients, and eval.py leaves no_grad before
it times), so that a call keeps the tensors for a backward pass until its end. The runtime is the
mean, rounded to three digits. KernelBench has no median, so kernelbench_side.py records the 100
times. kforge's time of a call is the median over batches of calls back to back. They run on sets of
inputs in a random order, with results kept and autograd off. The time of an empty batch is
subtracted. The caches are as the last call left them.

So the table compares medians with medians and means with means. kernelbench_side.py also times the
calls in KernelBench's process as kforge does. A difference of more than 5 % counts as explained in
two cases: kforge's median is within 5 % of that time, or it lies between that time and the time of
a call with a visible launch and cold host caches. kforge times a batch from the request to the
answer. That includes a module's way to its first kernel once, with its code no longer in the host's
caches. The table names the cause: cold (fill or none), autograd, batches (back to back), host (a
launch with cold caches).

The results are in OUT/kernelbench.json, a row for each solution, and in a table in
OUT/kernelbench.md. `gpu_check figure` prints the figures. GPU_DEVICE=cpu leaves out KernelBench's
side, which needs a GPU. SCALE=ELEMENTS imports smaller problems, which KernelBench's side does not
have. SECONDS_EACH is kforge's time for timing. Another call with the same OUT continues. A stopped
call reports its results so far.
"""
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading

import solutions as shared

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
KINDS = {"reference": 2, "CUDA C": 10} # target: this many times faster than KernelBench
WITHIN = 0.05


def kernel(task, expression):
    entry = shared.read_json(os.path.join(task, "task.json"), {})
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


class Solution:
    """One row: its files and the results of both sides."""

    def __init__(self, place, problem, kind, task):
        level, number = problem.split("/")
        self.problem, self.kind, self.task = problem, kind, task
        self.name = f"level_{level}_problem_{number}_sample_{int(kind != 'reference')}_kernel" + (".py" if kind == "reference" else ".cu")
        self.mine = os.path.join(place.out, "runs", self.name)
        self.theirs = self.mine if kind == "reference" else os.path.join(place.out, "exported", self.name[:-3] + ".py")
        self.reference = os.path.join(task, "problem.py")

    def write(self, place):
        os.makedirs(os.path.dirname(self.mine), exist_ok=True)
        os.makedirs(os.path.dirname(self.theirs), exist_ok=True)
        with open(self.mine, "w") as file:
            file.write(shared.as_candidate(self.task) if self.kind == "reference" else kernel(self.task, ELEMENTWISE[self.problem]))
        if self.mine != self.theirs:
            done = shared.run([place.kforge, "export", "--format", "modelnew", "-t", self.task, "--candidate", self.mine, "-o", self.theirs, "--force"])
            if done.status:
                print(f"  {self.problem}: not exported: {shared.tail(done.messages)}")


def milliseconds(times, key):
    value = (times or {}).get(key)
    return None if value is None else 1e3 * value


def by_kforge(report, solutions):
    """Returns a row for each judged solution, by its file."""
    rows, judged = {}, {s["label"]: s for _, s in shared.samples_of(report)}
    sessions = (report or {}).get("sessions", [])
    if len(sessions) == 1 and sessions[0]["first"] is not None:
        # The time of the first verdict less that of its job. A resumed command would have a start
        # of its own.
        seconds, label = sessions[0]["first"]
        start = max(0, seconds - sum(judged.get(label, {}).get(key) or 0 for key in ("build_seconds", "judge_seconds")))
    else:
        start = None
    for solution in solutions:
        s = judged.get(solution.name)
        if not s or s.get("judge_seconds") is None:
            rows[solution.name] = {"status": s["status"] if s else "not judged", "message": s.get("text", "") if s else ""}
            continue
        times, baseline = s.get("seconds"), s.get("baseline_seconds")
        rows[solution.name] = {
            "status": s["status"], "message": (s.get("rule", "") + " " + s.get("text", "")).strip(), "speedup": s.get("speedup"),
            "candidate_ms": milliseconds(times, "median"), "candidate_mean_ms": milliseconds(times, "mean"),
            "baseline_ms": milliseconds(baseline, "median"), "baseline_mean_ms": milliseconds(baseline, "mean"),
            "build_seconds": s["build_seconds"], "judge_seconds": s["judge_seconds"], "start_seconds": (start or 0) / len(judged),
            "wall": (s["build_seconds"] or 0) + s["judge_seconds"] + (start or 0) / len(judged)}
    return rows, start


def without_ours(place):
    """Returns LD_LIBRARY_PATH without the libraries that pack.sh installed with kforge: KernelBench
    must not use them."""
    mine = os.path.join(place.folder, "lib")
    return ":".join(path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path and os.path.abspath(path) != mine)


def by_kernelbench(place, python, checkout, solution, gpu, turn):
    """`turn` is the lock file of the processes on that GPU, or empty for a single process."""
    with tempfile.TemporaryDirectory() as folder:
        side = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernelbench_side.py")
        done = shared.run([python, side, checkout, solution.reference, solution.theirs, folder],
                          env=dict(os.environ, TORCH_EXTENSIONS_DIR=folder, CUDA_VISIBLE_DEVICES=gpu, GPU_TURN=turn, LD_LIBRARY_PATH=without_ours(place)))
    lines = [line for line in done.output.splitlines() if line.startswith("kforge: ")]
    if not lines:
        return {"status": done.status, "message": shared.tail(done.messages, 400), "wall": done.wall}
    result = json.loads(lines[-1][len("kforge: "):])
    row = {"correct": bool(result["correctness"]), "wall": done.wall - result["other_seconds"], "other_seconds": result["other_seconds"],
           "stated_mean_ms": result.get("runtime"), "metadata": result.get("metadata")}
    for side, times in zip(("candidate", "baseline") if row["correct"] else ("baseline",), result["timed"]): # incorrect solutions are not timed
        row[side + "_ms"], row[side + "_mean_ms"] = times["median_ms"], times["mean_ms"]
        row[side] = times
    return row


def all_by_kernelbench(place, checkout, pairs, keep):
    """Runs KernelBench's side of each (row, solution), LANES at a time on every GPU. Solutions that
    compile take longest and run first. Calls `keep` after each."""
    python, lock = os.environ.get("KFORGE_PYTHON", "python3"), threading.Lock()
    left = sorted(pairs, key=lambda pair: pair[1].kind == "reference")

    def lane(gpu, turn):
        while not shared.stopped:
            with lock:
                if not left:
                    return
                row, solution = left.pop(0)
            result = by_kernelbench(place, python, checkout, solution, gpu, turn)
            with lock:
                if not shared.stopped:
                    row["kernelbench"] = dict(result, gpu=gpu)
                    tell(row)
                    keep()

    count = int(os.environ.get("GPUS", "1"))
    gpus = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[:count] if os.environ.get("CUDA_VISIBLE_DEVICES") else [str(i) for i in range(count)]
    several = int(os.environ.get("LANES", "1"))
    with tempfile.TemporaryDirectory() as turns, concurrent.futures.ThreadPoolExecutor(count * several) as lanes:
        for done in [lanes.submit(lane, gpu, os.path.join(turns, gpu) if several > 1 else "") for gpu in gpus for _ in range(several)]:
            done.result()


def eval_alone(place, solution, seconds):
    """Returns the seconds from the start of `kforge eval` to its verdict, with nothing built."""
    with tempfile.TemporaryDirectory() as cache:
        done = shared.run([place.kforge, "eval", solution.task, solution.mine, "--device", place.device, "--no-keep", "--no-kernelbench", "--json", "--seconds", seconds],
                          env=dict(os.environ, XDG_CACHE_HOME=cache))
    try:
        return {"status": json.loads(done.output)["status"], "wall": done.wall}
    except ValueError:
        return {"status": "none", "message": shared.tail(done.messages, 400), "wall": done.wall}


# ---- differences

def by(a, b):
    return a / b if a and b else None


SHORT_BATCH_MS = 2 # kforge's batches are at least that long, unless a call is longer
WAYS = {"no autograd": "plain_ms", "no fill": "warm_ms", "host": "host_ms", "batches": "batch_ms"} # of kernelbench_side.py


def compare(row):
    """Computes the quotients of kforge's and KernelBench's times of the candidate, and the cause of
    a difference above WITHIN."""
    k, b = row["kforge"], row.get("kernelbench", {})
    row["medians"], row["means"] = by(k.get("candidate_ms"), b.get("candidate_ms")), by(k.get("candidate_mean_ms"), b.get("candidate_mean_ms"))
    if row["medians"] is None:
        return
    ways, median = b.get("candidate", {}), b["candidate_ms"]
    row["ways"] = {name: by(ways.get(key), median) for name, key in WAYS.items()}
    row["as_kforge"] = by(k["candidate_ms"], ways.get("batch_ms"))
    row["baselines"] = by(k.get("baseline_ms"), b.get("baseline_ms"))
    differs = abs(row["medians"] - 1) > WITHIN
    row["explained"] = not differs
    if differs and ways.get("batch_ms"):
        batch = ways["batch_ms"]
        launch = max(ways.get("host_ms", batch) - batch, 0) / max(1, SHORT_BATCH_MS // batch) # once in a batch
        row["explained"] = batch * (1 - WITHIN) <= k["candidate_ms"] <= (batch + launch) * (1 + WITHIN)
    row["differs"] = "" if not differs else ("" if row["explained"] else "not explained: ") + "; ".join(
        [f"{name} x{value:.3f}" for name, value in row["ways"].items() if value] + ([f"kforge by batches x{row['as_kforge']:.3f}"] if row["as_kforge"] else [])
        + ([f"both sides alike (eager x{row['baselines']:.3f})"] if row["baselines"] and abs(row["baselines"] / row["medians"] - 1) <= WITHIN / 2 else []))


def text(value, form="{:.4g}"):
    return "-" if value is None else form.format(value)


def table(rows):
    lines = ["| problem | candidate | kforge | KernelBench | kforge, median, ms | KernelBench, median, ms | ratio | kforge, mean, ms | KernelBench, mean, ms | ratio "
             "| kforge, wall, s | KernelBench, wall, s | what differs by more than 5 % |", "|" + "---|" * 13]
    for r in rows:
        k, b = r["kforge"], r.get("kernelbench", {})
        said = {True: "correct", False: "not correct", None: "-"}[b.get("correct")]
        lines.append(f"| {r['problem']} | {r['kind']} | {k['status']} | {said} | {text(k.get('candidate_ms'))} | {text(b.get('candidate_ms'))} | "
                     f"{text(r.get('medians'), '{:.3f}')} | {text(k.get('candidate_mean_ms'))} | {text(b.get('candidate_mean_ms'))} | "
                     f"{text(r.get('means'), '{:.3f}')} | {text(k.get('wall'), '{:.1f}')} | {text(b.get('wall'), '{:.1f}')} | {r.get('differs', '')} |")
    return "\n".join(lines) + "\n"


def tell(row):
    compare(row)
    k, b = row["kforge"], row.get("kernelbench", {})
    print(f"  {row['problem']} {row['kind']}: kforge {k['status']} {text(k.get('candidate_ms'))} ms, {text(k.get('wall'), '{:.1f}')} s; KernelBench "
          f"{b.get('correct')} {text(b.get('candidate_ms'))} ms, {text(b.get('wall'), '{:.1f}')} s; ratio {text(row.get('medians'), '{:.3f}')}"
          f"{' (' + row['differs'] + ')' if row.get('differs') else ''}{'' if k['status'] == 'correct' else ': ' + k['message'][:300]}"
          f"{': ' + b['message'][-300:] if 'message' in b else ''}", flush=True)


def figures(place, rows, alone):
    both = [r for r in rows if "correct" in r.get("kernelbench", {}) and "wall" in r["kforge"]]
    if both or place.device != "cpu":
        place.figure("solutions that both have judged", len(both), "", "least", 40)
    if both:
        place.figure("called the same", 100 * sum((r["kforge"]["status"] == "correct") == r["kernelbench"]["correct"] for r in both) / len(both), "%", "least", 100)
    for name in ("medians", "means"):
        ratios = [r[name] for r in both if r.get(name)]
        if ratios:
            print(f"  kforge's time by KernelBench's, {name}: median {statistics.median(ratios):.4f}, {min(ratios):.4f} to {max(ratios):.4f}")
            place.figure(f"{name} within 5 %", 100 * sum(abs(x - 1) <= WITHIN for x in ratios) / len(ratios), "%", "least", 100)
    timed = [r for r in both if r.get("medians")]
    if timed:
        place.figure("medians within 5 %, or explained by how calls are timed", 100 * sum(r["explained"] for r in timed) / len(timed), "%", "least", 100)
        for name in WAYS:
            ways = [r["ways"][name] for r in timed if r["ways"][name]]
            if ways:
                print(f"  in KernelBench's process, {name} by its own way: median {statistics.median(ways):.4f}, {min(ways):.4f} to {max(ways):.4f}")
    for kind, target in KINDS.items():
        of_kind = [r for r in timed if r["kind"] == kind]
        if of_kind:
            walls = [r["kernelbench"]["wall"] / r["kforge"]["wall"] for r in of_kind]
            mine, theirs = (statistics.median(r[side]["wall"] for r in of_kind) for side in ("kforge", "kernelbench"))
            print(f"  walls, {kind}: kforge median {mine:.2f} s, KernelBench {theirs:.2f} s, for one solution {min(walls):.2f} to {max(walls):.2f} times less")
            place.figure(f"less time than KernelBench takes, {kind}, median", statistics.median(walls), "times", "least", target)
    for kind, one in alone.items():
        print(f"  1/19 ReLU, {kind}, by `kforge eval` alone: {one['status']}")
        place.figure(f"1/19 ReLU, {kind}, from start to verdict", one["wall"], "s", "most", 8)


def main():
    place, checkout = shared.Place(sys.argv[1], sys.argv[3]), os.path.abspath(sys.argv[2])
    named, seconds = sys.argv[4:], os.environ.get("SECONDS_EACH", "1")
    unknown = set(named) - set(REFERENCES) - set(ELEMENTWISE)
    if unknown:
        sys.exit("not among the problems of this comparison: " + " ".join(sorted(unknown)))
    pairs = [(p, kind) for kind, known in (("reference", REFERENCES), ("CUDA C", ELEMENTWISE)) for p in known if not named or p in named]
    numbers = [tuple(map(int, p.split("/"))) for p, _ in pairs]
    place.bring("kernelbench", checkout, {level: sorted({n for at, n in numbers if at == level}) for level, _ in numbers})
    tasks = {shared.name_of(p): place.folder_of(p) for p in place.problems()}
    shared.tell_refused([p for p in place.problems() if "rule" in p])
    solutions = [Solution(place, p, kind, tasks[p]) for p, kind in pairs if tasks.get(p)]
    for solution in solutions:
        solution.write(place)
    file = os.path.join(place.out, "kernelbench.json")
    known = {(r["problem"], r["kind"]): r for r in shared.read_json(file, {}).get("rows", [])}
    # Both sides get PyTorch's files from the page cache. On a machine that has just started,
    # reading them takes longest.
    subprocess.run([os.environ.get("KFORGE_PYTHON", "python3"), "-c", "import torch"], stdin=subprocess.DEVNULL, capture_output=True)
    # 1/19 alone first, so that a stopped part has it.
    alone = shared.read_json(file, {}).get("alone", {})
    for solution in solutions:
        if solution.problem == "1/19" and solution.kind not in alone and not shared.stopped:
            one = eval_alone(place, solution, seconds)
            if not shared.stopped:
                alone[solution.kind] = one
    with tempfile.TemporaryDirectory() as cache: # with nothing built
        options = ["--seconds", seconds, "--timeout", os.environ.get("TIMEOUT", "120"), "--once", "--no-protocol"]
        report = place.bench(os.path.join(place.out, "runs"), options, env=dict(os.environ, XDG_CACHE_HOME=cache)) if solutions else None
    mine, start = by_kforge(report, solutions)
    rows = [{"problem": s.problem, "kind": s.kind, "kforge": mine[s.name]} for s in solutions]
    for row in rows: # what an earlier call has of KernelBench
        if "correct" in known.get((row["problem"], row["kind"]), {}).get("kernelbench", {}):
            row["kernelbench"] = known[row["problem"], row["kind"]]["kernelbench"]
    if report:
        wall = sum(one["wall"] for one in report["sessions"])
        print(f"  kforge: {len(rows)} solutions in {wall:.1f} s, " + ("in several commands: no share of a start in walls" if start is None else
              f"of which {start:.2f} s until the first job is begun: {start / len(rows):.3f} s of each wall"))

    def keep():
        shared.write_json(file, {"schema": "kforge-kernelbench/2", "checkout": os.path.basename(checkout), "seconds": float(seconds), "start_seconds": start,
                                 "sessions": (report or {}).get("sessions"), "alone": alone, "rows": rows})

    keep()
    if place.device != "cpu":
        all_by_kernelbench(place, checkout, [(r, s) for r, s in zip(rows, solutions) if "kernelbench" not in r], keep)
    for row in rows:
        compare(row)
        if "kernelbench" not in row:
            tell(row)
    keep()
    with open(os.path.join(place.out, "kernelbench.md"), "w") as page:
        page.write(table(rows))
    figures(place, rows, alone)
    sys.exit(shared.stopped or len(solutions) < len(pairs) or any(r["kforge"]["status"] != "correct" for r in rows))


main()
