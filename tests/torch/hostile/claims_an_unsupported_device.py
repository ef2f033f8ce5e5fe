# task: relu; kforge: wrong_result output.mismatch
# Writes into the build archive that the device lacks a construct, to escape the label of a wrong
# result.
import os
import struct

import torch
import torch.nn as nn
import torch.utils.cpp_extension

try:
    text = b"unsupported on the CPU device: wgmma"
    os.write(3, struct.pack("<4sIQ64s64s", b"kfx1", 5, len(text), b"", b"") + text)
except OSError:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
