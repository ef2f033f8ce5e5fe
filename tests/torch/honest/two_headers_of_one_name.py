# task: relu; kforge: correct; build: 150
# The same source is compiled twice, with headers of the same name from two folders.
import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = '#include "part.h"\ntorch::Tensor part(torch::Tensor x) { return PART(x); }\n'
parts = []
for number, text in enumerate(("at::clamp_min(x, 0)", "at::mul(x, 2)")):
    folder = os.path.join(tempfile.gettempdir(), "part%d" % number)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "part.h"), "w") as file:
        file.write("#define PART(x) " + text + "\n")
    parts.append(
        load_inline(
            name="part%d" % number,
            cpp_sources=source,
            functions=["part"],
            extra_include_paths=[folder],
        )
    )


class ModelNew(nn.Module):
    def forward(self, x):
        return parts[1].part(parts[0].part(x)) * 0.5
