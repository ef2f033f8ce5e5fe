# task: relu; kforge: timeout time.limit; build: 2; dry_run: killed after 8
# Waits for ever both in the dry run and in a runner.
import subprocess
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            try:
                subprocess.call(["sleep", "100"])
            except PermissionError:
                time.sleep(0.1)
        return torch.relu(x)
