# task: relu; kforge: launch_failure load.failed; says: PermissionError; dry_run: files
# A question that is another one each time has no answer in a runner.
import subprocess
import time

import torch
import torch.nn as nn

said = subprocess.check_output(["echo", str(time.time())])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
