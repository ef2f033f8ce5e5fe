# task: relu; kforge: correct; dry_run: files
# Its dry run leaves a process. That process is ended before any timing.
import os
import subprocess

import torch
import torch.nn as nn

try:
    subprocess.Popen(["sleep", "76542"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", "76542"])
        os._exit(0)
except PermissionError:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
