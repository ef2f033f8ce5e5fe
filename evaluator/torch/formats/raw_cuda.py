"""Kernels in CUDA with a driver in C++, as problem files."""

import load


def translate(bundle):
    raise load.LoadError("not read yet", bundle["folder"], "")
