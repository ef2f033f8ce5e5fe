# task: relu; kforge: launch_failure load.failed; says: is no subclass of torch.nn.Module
class ModelNew:
    def forward(self, x):
        return x
