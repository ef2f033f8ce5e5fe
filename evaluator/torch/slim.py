"""Less of PyTorch's headers for extensions to compile: include/slim has a <torch/extension.h> with tensors, factories, checks and bindings of functions.

The whole one is a C++ front end for training, which a kernel's launcher has no use for and a compiler reads for half a minute. What does not compile without it is compiled
again as PyTorch's own code would, so nothing is refused for it, and the compiler's words are those of that second time. Sources that name something
beyond it are not tried.
"""
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include", "slim")
BEYOND = re.compile(r"\btorch::(?:nn|optim|data|jit|serialize|autograd|fft|linalg|nested|sparse|special)\b")
BINDING = re.compile(r"\bPYBIND11_|\bpy::|\bpybind11\b")  # in a CUDA source
CUDA = (".cu", ".cuh")


def flags(path):
    """Before all others: with them this source may do. None where it can't, or can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    if BEYOND.search(text):
        return None
    binds = path.endswith(CUDA) and BINDING.search(text)
    return ["-I" + FOLDER] + (["-DKFORGE_BINDING"] if binds else [])
