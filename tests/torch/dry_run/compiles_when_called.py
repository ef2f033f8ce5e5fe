# task: relu; kforge: correct; kernelbench: correct; dry_run: files
# Compiles C for each size on first use and keeps it in a folder of the user, as compilers for
# Python do.
import ctypes
import hashlib
import os
import pathlib
import subprocess
import tempfile

import torch
import torch.nn as nn

SOURCE = """
void relu(const float *x, float *y) { for (long i = 0; i < %dL; i++) y[i] = x[i] > 0 ? x[i] : 0; }
"""


def load(count):
    source = SOURCE % count
    version = subprocess.check_output(["cc", "--version"]).decode()
    key = hashlib.sha256((source + version).encode()).hexdigest()
    folder = pathlib.Path.home() / ".cache" / "relu" / key
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "relu.so"
    if not library.exists():
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "relu.c")
            with open(path, "w") as file:
                file.write(source)
            made = os.path.join(work, "relu.so")
            subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", "-o", made, path])
            os.replace(made, library)
    return ctypes.CDLL(str(library)).relu


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.functions = {}

    def forward(self, x):
        if x.numel() not in self.functions:
            self.functions[x.numel()] = load(x.numel())
        here = x.cpu()
        result = torch.empty_like(here)
        self.functions[x.numel()](ctypes.c_void_p(here.data_ptr()), ctypes.c_void_p(result.data_ptr()))
        return result.to(x.device)
