"""Fewer of PyTorch's headers for extensions: include/slim has a <torch/extension.h> with tensors,
factories, checks and bindings of functions.

The complete header is a C++ front end for training. A kernel's launcher does not need it, and a
compiler reads it for half a minute. If a source does not compile with the slim header, it is
compiled again as PyTorch's own code would, with that compiler's messages. So no source is refused
for it. Sources that name something beyond the slim header skip it.
"""
import os
import re

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(HERE, "include", "slim")
BEYOND = re.compile(
    r"\btorch::(?:nn|optim|data|jit|serialize|autograd|fft|linalg|nested|sparse|special)\b"
)
BINDING = re.compile(r"\bPYBIND11_|\bpy::|\bpybind11\b")  # in a CUDA source
CUDA = (".cu", ".cuh")


def flags(path):
    """Returns the flags to put first, for a source that may use the slim header. None for other or
    unreadable sources."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    if BEYOND.search(text):
        return None
    binds = path.endswith(CUDA) and BINDING.search(text)
    return ["-I" + FOLDER] + (["-DKFORGE_BINDING"] if binds else [])
