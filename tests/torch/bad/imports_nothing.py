# task: relu; kforge: launch_failure load.failed; says: NameError
class ModelNew(nn.Module):
    pass
