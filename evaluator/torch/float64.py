"""Chooses how an oracle on a GPU computes convolutions.

cuDNN has no fast kernels for float64: a convolution of 2 ms in float32 may take a second. PyTorch's
own code, one matrix product of cuBLAS for each sample, takes some milliseconds. For other
convolutions and for recurrent networks cuDNN is the faster one. Both compute in float64, so the
faster one is chosen, once for each problem.
"""
import time

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
