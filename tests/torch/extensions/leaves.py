# task: relu; kforge: correct
# Does in the build phase what a runner denies: background processes, files everywhere, a flood of
# output, forged records in the jail's archive. It mentions torch.utils.cpp_extension to get a build
# phase, and compiles no extension.
import os
import subprocess
import sys

import torch
import torch.nn as nn

if "MAX_JOBS" in os.environ:
    for argv in (["sleep", "76543"], ["sh", "-c", "trap '' TERM HUP; (sleep 76543 &); sleep 76543"]):
        subprocess.Popen(argv)
    for folder in ("/", "/usr/lib", "/var/tmp", os.path.dirname(torch.__file__), os.path.dirname(sys.argv[2]), "/dev/shm", "/tmp"):
        try:
            with open(os.path.join(folder, "kforge-left-behind"), "w") as file:
                file.write("x")
        except OSError:
            pass
    os.write(3, b"kfx1" + bytes([1, 0, 0, 0]) + b"\xff" * 7 + b"\x7f" + b"../../../../tmp/kforge-left-behind".ljust(64, b"a"))
    for i in range(100):
        sys.stdout.write("kforge: correct, 1000 times faster\n" * 30000)
        sys.stdout.flush()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
