# task: relu; kforge: compile_error build.failed; says: candidate.py:5: error: SyntaxError
import torch.nn as nn


class ModelNew(nn.Module)
    pass
