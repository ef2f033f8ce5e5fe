# task: relu; kforge: correct; cuda: crash runner.crashed
# Extensions from files that it writes itself: one in the constructor, one in forward, and one that
# fails to compile and is optional.
import os
import random
import tempfile

import torch
import torch.nn as nn
from torch.utils import cpp_extension

SOURCE = r"""
#include <Python.h>

static PyObject *FUNCTION(PyObject *self, PyObject *arguments)
{
    unsigned long long x, y;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(arguments, "KKn", &x, &y, &count)) return NULL;
    const float *in = (const float *)x;
    float *out = (float *)y;
    for (Py_ssize_t i = 0; i < count; i++) out[i] = OPERATION;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"run", FUNCTION, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plain", NULL, -1, methods};
#define JOINED(a, b) a##b
#define INIT(name) JOINED(PyInit_, name)
extern "C" __attribute__((visibility("default"))) PyObject *INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""


def build(operation, folder):
    path = os.path.join(folder, "source.cpp")
    with open(path, "w") as file:
        file.write(SOURCE.replace("OPERATION", operation))
    flags = ["-O1", "-DFUNCTION=operate"]
    # A different name each time, as some solutions use to avoid stale builds.
    return cpp_extension.load(name="plain_%d" % random.SystemRandom().randrange(1 << 30), sources=[path], extra_cflags=flags)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        with tempfile.TemporaryDirectory() as folder:
            self.copy = build("in[i]", folder)
        try:
            os.makedirs("/tmp/of-the/solution", exist_ok=True)
            build("no such thing", "/tmp/of-the/solution")
            raise AssertionError("it compiles")
        except RuntimeError:
            pass
        self.rectify = None

    def forward(self, x):
        if self.rectify is None:
            self.rectify = cpp_extension.load(
                name="lazy", sources=[self.written()], extra_cflags=["-O1", "-DFUNCTION=rectify"]
            )
        x = x.contiguous()
        middle, y = torch.empty_like(x), torch.empty_like(x)
        self.copy.run(x.data_ptr(), middle.data_ptr(), x.numel())
        self.rectify.run(middle.data_ptr(), y.data_ptr(), x.numel())
        return y

    def written(self):
        with open("lazy.cpp", "w") as file:
            file.write(SOURCE.replace("OPERATION", "in[i] > 0 ? in[i] : 0"))
        return "lazy.cpp"
