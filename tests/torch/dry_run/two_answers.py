# task: relu; kforge: launch_failure load.failed; says: PermissionError; dry_run: files
# Runs the same command with different output each time. Its file in a runner may hold either.
import os
import subprocess

import torch
import torch.nn as nn

for number in range(2):
    with open("source", "w") as file:
        file.write(str(number))
    subprocess.check_call(["cp", "source", "made"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
