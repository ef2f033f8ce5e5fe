# task: relu; kforge: correct
# Writes the output of its dry run itself, with names that point outside of the folder.
import json
import os
import struct
import subprocess

import torch
import torch.nn as nn

NAMES = ["../kforge-elsewhere", "/tmp/../kforge-elsewhere"]


def put(name):
    head = json.dumps({"top": "/tmp", "files": [[name, 4, 0o777]], "commands": {}}).encode()
    content = b"kfc1" + struct.pack("<Q", len(head)) + head + b"left"
    os.write(3, struct.pack("<4sIQ64s64s", b"kfx1", 6, len(content), b"", b"") + content)


try:
    subprocess.call(["true"])
    for name in NAMES:
        put(name)
    put("x" * 5000)
    os.write(3, b"kfx1" + bytes(100))
    os._exit(0)
except PermissionError:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
