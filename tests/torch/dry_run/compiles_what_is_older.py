# task: relu; kforge: correct; dry_run: files
# Compiles if the library is older than its source, as make does, and loads it by a link without a
# version. Deletes a temporary file on close.
import ctypes
import ctypes.util
import os
import subprocess
import tempfile

import torch
import torch.nn as nn

SOURCE = "float relu(float x) { return x > 0 ? x : 0; }\n"
os.makedirs("src", exist_ok=True)
os.makedirs("build", exist_ok=True)
if not os.path.exists("src/relu.c"):
    with open("src/relu.c", "w") as file:
        file.write(SOURCE)
if not os.path.exists("build/relu.so") or os.path.getmtime("build/relu.so") < os.path.getmtime("src/relu.c"):
    made = tempfile.mktemp(dir="build", suffix=".so")
    subprocess.check_call(["cc", "-shared", "-fPIC", "-O2", "-o", made, "src/relu.c"])
    os.replace(made, "build/librelu.so.1")
    os.symlink("librelu.so.1", "build/relu.so")
assert ctypes.CDLL("./build/relu.so")
with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
    file.write(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
