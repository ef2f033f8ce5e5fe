# task: relu; kforge: compile_error build.failed; says: it does not define class ModelNew
import torch.nn as nn


class Model(nn.Module):
    pass
