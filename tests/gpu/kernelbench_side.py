"""kernelbench_side.py CHECKOUT PROBLEM SOLUTION FOLDER [DEVICE]: runs KernelBench's own evaluator
on one solution, in its own process as KernelBench's scripts do.

eval_kernel_against_ref runs unmodified, with 5 trials and 100 timed calls. Extensions are compiled
in FOLDER. Missing packages that serve only to query models or to download are replaced by
stand-ins. The last line of the output is "kforge: " and the result as JSON.

KernelBench's summary keeps mean, deviation, minimum and maximum of its times, each rounded to three
digits. This script also records the times themselves: "samples" has all of them for the candidate
and then the reference. After each of the two, the same process times the same calls in other ways.
These times explain differences to kforge's:
    plain_ms  as KernelBench does, but without autograd, which KernelBench leaves on while it times
              (median of 20 calls)
    warm_ms   as KernelBench does, but without the write before the call: the cache is as the last
              call left it (median of 20)
    host_ms   with no queued work before the call to hide its launch, and with the host's caches
              emptied, as if other processes had computed since the last call (median of 20)
    batch_ms  as kforge does: without autograd, calls back to back between two events, on three
              copies of the inputs in turn, results kept (median of 9 batches)
"other_seconds" is the time that this took. It is not part of KernelBench's time.

GPU_TURN names a lock file for processes that share a GPU. A process that uses the GPU holds a
shared lock. A process that measures holds an exclusive lock. A process that draws inputs or
compiles holds no lock: that is most of KernelBench's time and needs no GPU. Meanwhile it releases
the memory in PyTorch's cache. Waiting for the lock is part of "other_seconds".
"""
import fcntl
import importlib
import json
import os
import statistics
import sys
import time
import types

BATCH_MS = 15              # as kforge's on a GPU where a side is Python, which KernelBench's problems are
BATCH_CALLS = 256          # at most
ALONE = 20                 # calls that are timed one by one
KEPT_BYTES = 8 << 30       # of results in a batch
COPIED_BYTES = 24 << 30    # of inputs
CACHES_BYTES = 512 << 20   # more than a host's caches hold


class Missing(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: None


def stand_in():
    for name in ("dotenv", "openai", "litellm", "tqdm", "datasets", "requests"):
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = Missing(name)
    try:
        import pydantic # noqa: F401
    except ImportError: # of it the evaluator only has the result made
        class BaseModel:
            def __init__(self, **given):
                named = {name: getattr(type(self), name) for name in type(self).__annotations__}
                self.__dict__.update({name: dict(value) if isinstance(value, dict) else value for name, value in named.items()})
                self.__dict__.update(given)
        sys.modules["pydantic"] = types.ModuleType("pydantic")
        sys.modules["pydantic"].BaseModel = BaseModel


def tensors_in(value):
    import torch
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for one in value for tensor in tensors_in(one)] if isinstance(value, (list, tuple)) else []


def bytes_of(value):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(value))


def between_events(device, work, before=None):
    import torch
    torch.cuda.synchronize(device=device)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    if before:
        before(device=device)
    begin.record()
    kept = work()
    end.record()
    torch.cuda.synchronize(device=device)
    del kept
    return begin.elapsed_time(end)


def other_ways(call, inputs, device, clear):
    import torch
    warm = statistics.median([between_events(device, lambda: call(*inputs)) for _ in range(ALONE)])
    with torch.no_grad():
        plain = statistics.median([between_events(device, lambda: call(*inputs), clear) for _ in range(ALONE)])
        evicting = torch.zeros(CACHES_BYTES // 8, dtype=torch.int64)

        def clear_all(device):
            clear(device=device)
            torch.cuda.synchronize(device=device)
            evicting.add_(1)

        host = statistics.median([between_events(device, lambda: call(*inputs), clear_all) for _ in range(ALONE)])
        return {"warm_ms": warm, "plain_ms": plain, "host_ms": host, **in_batches(call, inputs, device, plain)}


def in_batches(call, inputs, device, one):
    import torch
    result = call(*inputs)
    calls = max(1, min(BATCH_CALLS, int(BATCH_MS / max(one, 1e-3)), KEPT_BYTES // max(1, bytes_of(result))))
    del result
    copies = [inputs]
    while len(copies) < 3 and (len(copies) + 1) * bytes_of(inputs) <= COPIED_BYTES:
        copies.append([x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    batches = [between_events(device, lambda: [call(*copies[i % len(copies)]) for i in range(calls)]) / calls for _ in range(11)]
    return {"batch_ms": statistics.median(batches[2:]), "batch_calls": calls, "copies": len(copies)}


class Turn:
    """Turns with the GPU among the processes that share it. Without GPU_TURN, all methods do
    nothing."""

    def __init__(self):
        path = os.environ.get("GPU_TURN")
        self.file, self.waited, self.kind = open(path, "a") if path else None, 0.0, None

    def take(self, kind):
        if not self.file or self.kind == kind:
            return
        started = time.monotonic()
        self.leave() # one that is only changed could wait for one that waits for it
        fcntl.flock(self.file, kind)
        self.kind, self.waited = kind, self.waited + time.monotonic() - started

    def leave(self):
        if self.file and self.kind is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)
            self.kind = None

    def apart(self, function):
        """Returns `function`, wrapped to release the GPU to other processes while it runs."""
        if not self.file:
            return function

        def called(*given, **named):
            import torch
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            self.leave()
            try:
                return function(*given, **named)
            finally:
                self.take(fcntl.LOCK_SH)
        return called


def main():
    checkout, problem, solution, folder = sys.argv[1:5]
    device = sys.argv[5] if len(sys.argv) > 5 else "cuda:0"
    stand_in()
    sys.path.insert(0, checkout + "/src")
    import torch
    from kernelbench import eval as evaluator
    choose, load = evaluator.timing.get_timing_function, evaluator.load_original_model_and_inputs
    seen, other, turn = [], [0.0], Turn()

    def watched(*given, **named):
        timing = choose(*given, **named)

        def time_it(call, inputs, **how):
            turn.take(fcntl.LOCK_EX)
            samples = timing(call, inputs, **how)
            started = time.monotonic()
            seen.append({"samples": samples, "median_ms": statistics.median(samples), "mean_ms": statistics.fmean(samples)})
            try:
                seen[-1].update(other_ways(call, inputs, how["device"], evaluator.timing.clear_l2_cache))
            except Exception as error: # of memory, say: KernelBench's own result is there
                seen[-1]["other_ways"] = f"{type(error).__name__}: {error}"[:300]
            torch.cuda.empty_cache()
            other[0] += time.monotonic() - started
            turn.take(fcntl.LOCK_SH)
            return samples
        return time_it

    def loaded(*given):
        model, init_inputs, inputs = load(*given)
        return model, turn.apart(init_inputs), turn.apart(inputs)

    evaluator.timing.get_timing_function = watched
    evaluator.load_original_model_and_inputs = loaded
    evaluator.load_custom_model = turn.apart(evaluator.load_custom_model)
    turn.take(fcntl.LOCK_SH) # no process measures while this one creates its context, which lasts until its end
    with open(problem) as file, open(solution) as candidate:
        result = evaluator.eval_kernel_against_ref(file.read(), candidate.read(), num_correct_trials=5, num_perf_trials=100, measure_performance=True,
                                                   build_dir=folder, device=torch.device(device))
    said = {"compiled": False, "correctness": False} if result is None else json.loads(json.dumps(result.__dict__, default=str))
    print("\nkforge: " + json.dumps(dict(said, other_seconds=other[0] + turn.waited, timed=seen)))


main()
