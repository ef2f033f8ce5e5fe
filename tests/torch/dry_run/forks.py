# task: relu; kforge: launch_failure forward.raised; says: PermissionError; dry_run: files
# Starts another process at each call. A runner denies that, whatever its dry run could do.
import subprocess  # noqa: F401

import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return torch.relu(x)
