"""How an oracle computes in float64.

Modules convert tensors themselves: to bfloat16 before a product, to float32 for a softmax.
`Conversions` replaces each conversion by one that rounds and stays in float64.

`prefers_cudnn` chooses how an oracle on a GPU computes convolutions.
cuDNN has no fast kernels for float64: a convolution of 2 ms in float32 may take a second. PyTorch's
own code, one matrix product of cuBLAS for each sample, takes some milliseconds. For other
convolutions and for recurrent networks cuDNN is the faster one. Both compute in float64, so the
faster one is chosen, once for each problem.
"""

import contextlib
import re
import time

CONVERTS = re.compile(
    r"half|bfloat16|float16|float32|float8|autocast|dtype|\.float\(|\.to\(|\.type\(|type_as"
)
WORDS = ("conv", "lstm", "gru", "rnn")  # other users of cuDNN are fast either way
QUICK = 0.02  # seconds: not worth a comparison
ONCE = 3.0  # seconds of a first call for loading and choosing kernels


def prefers_cudnn(text, call, synchronize, clock=time.monotonic):
    """True if `call` should run with torch.backends.cudnn.enabled. Leaves that setting changed.
    `text`: of the problem."""
    from torch.backends import cudnn

    def seconds(enabled):
        cudnn.enabled = enabled
        started = clock()
        call()
        synchronize()
        return clock() - started

    if not any(word in text.lower() for word in WORDS):
        return True
    first = seconds(True)
    if first < QUICK:
        return True
    try:
        if seconds(False) > first + ONCE:
            return True  # its kernels may be slower by far
        other = seconds(False)
    except RuntimeError:  # memory, mostly
        return True
    return not (2 * other < first - ONCE or other < seconds(True))


def conversions(text):
    """Returns a context for calls of the widened module of the problem `text`. It does nothing if
    the text has no word of a conversion."""
    if not CONVERTS.search(text):
        return contextlib.nullcontext()
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    low = {torch.float16, torch.bfloat16}
    low |= {getattr(torch, n) for n in dir(torch) if n.startswith("float8")}
    narrow = low | {torch.float32}

    def widened(value):
        is_narrow = isinstance(value, torch.Tensor) and value.dtype in narrow
        return value.to(torch.float64) if is_narrow else value

    class Conversions(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if function is torch.ops.aten.view.dtype and args[0].is_floating_point():
                raise TypeError("it reads the bits of a floating tensor")
            if not any(a.alias_info and a.alias_info.is_write for a in function._schema.arguments):
                args, kwargs = tree_map(widened, args), tree_map(widened, kwargs)
            dtype = kwargs.get("dtype")
            if dtype not in narrow:
                return function(*args, **kwargs)
            kwargs["dtype"] = torch.float64
            result = function(*args, **kwargs)
            converts = function is torch.ops.aten._to_copy.default
            if converts and dtype in low and args[0].is_floating_point():
                result = result.to(dtype).to(torch.float64)
            return result

    return Conversions()
