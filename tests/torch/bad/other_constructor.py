# task: linear; kforge: launch_failure load.failed; says: ModelNew(…) fails: TypeError
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features_in):
        super().__init__()
