"""A baseline through torch.compile with its defaults, as KernelBench means it: Inductor, without
CUDA graphs.

It is compiled when its plan is loaded, on inputs of the problem file with the shapes of a batch.
Inductor writes Triton or C++ and starts compilers for it. So the runner starts without the second
system call filter, never serves a solution, and installs the filter after it has compiled
(runner.py). Later batches must not compile. PyTorch 2.6 can make a compilation an error, in place
of a call that takes seconds.

One process compiles one kernel after another, since worker processes would stay behind.
"""
import os

SETTINGS = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",
    "TRITON_CACHE_DIR": "/tmp/triton",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
}
MOST_WORDS = 300


def words_of(error):
    """Returns one line. A compiler's message has hundreds of lines: its command, warnings, and
    somewhere the error."""
    lines = [" ".join(line.split()) for line in str(error).splitlines()]
    lines = [line for line in lines if line]
    wrong = next((line for line in lines[1:] if "error:" in line), "")
    return " ".join(([lines[0], wrong] if wrong else lines) if lines else [])[:MOST_WORDS]


def compile(module, inputs, load_error):
    """Returns a function to call in place of `module`. It looks weights up in the module at each
    call, so that they can be rebound."""
    for name, value in SETTINGS.items():
        os.environ[name] = value  # read at the first import of torch._inductor, here
    import torch

    if not hasattr(torch, "compile"):
        raise load_error(
            "a baseline through torch.compile can't be judged",
            "PyTorch %s" % torch.__version__,
            "it takes 2.0 or newer",
        )
    try:
        function = torch.compile(module)
        for _ in range(2):  # state that the first call made lazily compiles again
            function(*inputs)
    except Exception as error:
        raise load_error(
            "torch.compile: %s" % type(error).__name__, words_of(error), "take the eager baseline"
        )
    if hasattr(getattr(torch, "compiler", None), "set_stance"):
        torch.compiler.set_stance("fail_on_recompile")
    return function
