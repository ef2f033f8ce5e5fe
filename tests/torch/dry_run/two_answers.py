# task: relu; kforge: launch_failure load.failed; says: PermissionError; dry_run: files
# The same command, which writes something else each time: what its file holds in a runner could be either.
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
