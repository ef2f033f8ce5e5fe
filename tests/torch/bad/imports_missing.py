# task: relu; kforge: launch_failure load.failed; says: no_such_module_anywhere
import no_such_module_anywhere


class ModelNew:
    pass
