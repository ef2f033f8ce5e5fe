# task: relu; kforge: correct; kernelbench: correct
# Kernels of Triton's have to come from a file, so solutions that put a kernel's text together write it to one and import that; the decorator then reads it.
import importlib
import importlib.util
import inspect
import os
import sys
import tempfile

import torch.nn as nn

TEXT = """import torch


def relu(x):
    return torch.relu(x)
"""


def by_path(path):
    spec = importlib.util.spec_from_file_location("by_path", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path):
    with open(path, "w") as file:
        file.write(TEXT)
    return path


folder = tempfile.mkdtemp()
first = by_path(write(os.path.join(folder, "first.py")))
os.makedirs(os.path.join(folder, "below"), exist_ok=True)
write(os.path.join(folder, "below", "second.py"))
sys.path.insert(0, os.path.join(folder, "below"))
second = importlib.import_module("second")
third = {}
exec(compile(TEXT, write(os.path.join(folder, "third.py")), "exec"), third)
assert all("torch.relu(x)" in inspect.getsource(function) for function in (first.relu, second.relu, third["relu"]))


class ModelNew(nn.Module):
    def forward(self, x):
        return third["relu"](second.relu(first.relu(x)))
