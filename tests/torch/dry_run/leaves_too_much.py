# task: relu; kforge: correct; dry_run: others left out
# Leaves ten gigabytes, twenty thousand files, links and nested folders. Only this solution may see
# them.
import os
import pathlib
import subprocess  # noqa: F401

import torch
import torch.nn as nn

HOME = pathlib.Path.home()


def leave():
    if (HOME / "many").exists():
        return  # a runner
    os.symlink("/", HOME / "a-link")
    os.symlink("../../../etc/passwd", HOME / "another")
    os.mkfifo(HOME / "a-pipe")
    os.makedirs(HOME / "/".join("d" * 200))
    with open(HOME / "large", "wb") as file:
        try:
            for _ in range(10000):
                file.write(bytes(1 << 20))
        except OSError:
            pass
    (HOME / "large").unlink()
    with open(HOME / "sparse", "wb") as file:
        file.truncate(400 << 20)
    folder = HOME / "many"
    folder.mkdir()
    for number in range(20000):
        open(folder / str(number), "w").close()


leave()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
