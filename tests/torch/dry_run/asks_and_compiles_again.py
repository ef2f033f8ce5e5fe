# task: relu; kforge: correct; kernelbench: correct; dry_run: files
# Compiles on every import, in its start folder. First looks for a compiler that does not exist.
import ctypes
import subprocess

import torch
import torch.nn as nn

SOURCE = "float relu(float x) { return x > 0 ? x : 0; }\n"


def compiler():
    for name in ("no-such-compiler", "cc"):
        try:
            answer = subprocess.run([name, "--version"], capture_output=True, text=True)
        except FileNotFoundError:
            continue
        if answer.returncode == 0 and answer.stdout:
            return name
    raise RuntimeError("no compiler")


with open("relu.c", "w") as file:
    file.write(SOURCE)
subprocess.run([compiler(), "-shared", "-fPIC", "-o", "relu.so", "relu.c"], check=True)
relu = ctypes.CDLL("./relu.so").relu
relu.restype, relu.argtypes = ctypes.c_float, [ctypes.c_float]
assert relu(-1) == 0 and relu(2) == 2


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
