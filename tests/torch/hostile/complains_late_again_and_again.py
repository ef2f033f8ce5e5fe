# task: relu; kforge: compile_error build.failed; build: 8
# Sleeps in the build jail until shortly before its limit, and then complains in the words of a
# compiler that was killed: the judge must not repeat it ten times.
import os
import struct
import sys
import time

import torch
import torch.nn as nn
import torch.utils.cpp_extension

if "build" in sys.argv:
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(1e6)
    sleep(24)
    text = b"candidate.py:1: error: g++: fatal error: Killed signal terminated program cc1plus"
    os.write(3, struct.pack("<4sIQ64s64s", b"kfx1", 4, len(text), b"", b"") + text)
    os._exit(0)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
