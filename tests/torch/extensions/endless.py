# task: relu; kforge: compile_error build.failed; build: 2; says: compiling its extensions went over a limit: killed after 8
# A compiler that never ends.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

with open("wait.sh", "w") as file:
    file.write("sleep 100000\n")
with open("endless.cpp", "w") as file:
    file.write("int x;\n")
extension = load(name="endless", sources=["endless.cpp"], extra_cflags=["-wrapper", "sh,%s/wait.sh" % __import__("os").getcwd()])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
