"""KernelBench's own protocol on a solution: the seed 42 before each constructor, five correctness
trials with seeds drawn from 42, allclose with one tolerance on equal inputs, reference first. Then
three calls to warm up and a hundred timed calls on one input, in milliseconds.

All of it runs in one process with the solution, as in KernelBench. So the output is a claim of the
solution: foreign code may have patched everything that is used here. On a GPU calls are timed with
events, each after a write of 256 MiB, as in KernelBench. There are two differences. The time for
timing is limited, since a processor may take seconds for a call. And for a GPU inputs are drawn on
the GPU: KernelBench draws them on a processor and copies, which takes minutes at full size.
"""
import json
import sys
import time

from cpp_extension import extensions

TRIALS = 5
WARM_UPS = 3
TIMED = 100
TIMING_SECONDS = 6.0  # for each of the two
MARK = "kforge-claim: "


def tolerance_of(dtype):
    return 1e-2 if str(dtype) in ("torch.float16", "torch.bfloat16") else 1e-4


def time_call(module, inputs):
    started = time.perf_counter()
    module(*inputs)
    return (time.perf_counter() - started) * 1e3


def time_call_by_events(module, inputs):
    import torch

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    # No input is in the cache.
    torch.empty((32, 1024, 1024), dtype=torch.int64, device="cuda").fill_(42)
    start.record()
    module(*inputs)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def time_calls(module, inputs, seconds, one):
    for _ in range(WARM_UPS):
        module(*inputs)
    if one is time_call_by_events:
        one(module, inputs)  # the first one does not count there
    times, until = [], time.perf_counter() + seconds
    while len(times) < TIMED and (not times or time.perf_counter() < until):
        times.append(one(module, inputs))
    mean = sum(times) / len(times)
    spread = (sum((t - mean) ** 2 for t in times) / len(times)) ** 0.5
    return {
        "mean": mean,
        "std": spread,
        "min": min(times),
        "max": max(times),
        "num_trials": len(times),
    }


class Protocol:
    def __init__(self, plan, folder, place):
        import load
        import torch

        self.place = place
        self.time_call = time_call if place.kind == "cpu" else time_call_by_events
        self.torch, self.load, self.plan, self.folder = torch, load, plan, folder
        self.claim = {
            "protocol": "kernelbench",
            "compiled": False,
            "correctness": False,
            "metadata": {},
        }
        self.problem = load.Problem.of_plan(plan)

    def build(self):
        candidate = self.plan["candidate"]
        load, seed = self.load, self.plan["seed"]
        extensions.serve(candidate["text"], candidate["name"], self.folder)
        solution = self.problem.solution(
            candidate["text"], candidate["name"], self.plan.get("solution")
        )
        init = self.problem.init_inputs(seed)
        self.reference = self.place.move(self.problem.construct(init, seed))
        self.solution = self.place.move(self.problem.construct(init, seed, solution))
        self.claim["compiled"] = True

    def inputs(self, seed):
        return self.place.make(lambda: self.problem.inputs(seed))

    def same(self, expected, got, metadata):
        if not isinstance(got, self.torch.Tensor):
            metadata["correctness_issue"] = "forward returned %s" % type(got).__name__
            return False
        if expected.shape != got.shape:
            metadata["correctness_issue"] = "output shape mismatch: expected %s, got %s" % (
                list(expected.shape),
                list(got.shape),
            )
            return False
        tolerance = tolerance_of(expected.dtype)
        if self.torch.allclose(expected, got, atol=tolerance, rtol=tolerance):
            return True
        difference = (expected.double() - got.double()).abs()
        metadata.setdefault("max_difference", []).append("%.6f" % float(difference.max()))
        metadata.setdefault("avg_difference", []).append("%.6f" % float(difference.mean()))
        metadata["correctness_issue"] = "output mismatch"
        return False

    def correctness(self):
        torch, load = self.torch, self.load
        torch.manual_seed(self.plan["seed"])
        seeds = [int(torch.randint(0, 2**32 - 1, (1,)).item()) for _ in range(TRIALS)]
        passed = 0
        for seed in seeds:
            inputs = self.inputs(seed)
            expected = self.reference(*inputs)
            got = self.solution(*inputs)
            parts = (
                [(expected, got)]
                if isinstance(expected, torch.Tensor)
                else list(zip(load.flatten(expected), load.flatten(got)))
            )
            passed += all(self.same(one, other, self.claim["metadata"]) for one, other in parts)
        self.claim["metadata"]["correctness_trials"] = "(%d / %d)" % (passed, TRIALS)
        self.claim["correctness"] = passed == TRIALS

    def runtimes(self):
        inputs = self.inputs(self.plan["seed"])
        stats = time_calls(self.solution, inputs, TIMING_SECONDS, self.time_call)
        reference = time_calls(self.reference, inputs, TIMING_SECONDS, self.time_call)
        self.claim.update(
            runtime=stats["mean"], runtime_stats=stats, reference_runtime=reference["mean"]
        )
        if stats["mean"] > 0:
            self.claim["speedup"] = reference["mean"] / stats["mean"]


def run(plan, folder, place):
    """Prints the protocol's result for the plan's solution. The runner has loaded nothing before,
    and serves nothing after."""
    import gc

    gc.enable()  # as in any program, unlike in the judge's batches
    protocol = Protocol(plan, folder, place)
    claim = protocol.claim
    try:
        protocol.build()
        protocol.correctness()
        if claim["correctness"] and plan.get("timed", True):
            protocol.runtimes()
    except BaseException as error:  # KernelBench counts every exception as incorrect
        text = " ".join(str(error).split())[:300]
        claim["metadata"]["runtime_error" if claim["compiled"] else "compilation_error"] = (
            text if type(error).__name__ == "LoadError" else "%s: %s" % (type(error).__name__, text)
        )
        claim["correctness"] = False
    sys.stdout.write("\n" + MARK + json.dumps(claim) + "\n")
    sys.stdout.flush()
