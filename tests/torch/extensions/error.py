# task: relu; kforge: compile_error build.failed; says: candidate.py:11: error: ‘missing’ was not declared
import torch
import torch.nn as nn
import torch.utils.cpp_extension

SOURCE = """
#include <Python.h>

extern "C" PyObject *PyInit_broken()
{
    return missing(1);
}
"""
with open("broken.cpp", "w") as file:
    file.write(SOURCE)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.extension = torch.utils.cpp_extension.load(name="broken", sources=["broken.cpp"])

    def forward(self, x):
        return torch.relu(x)
