"""The PyTorch worker. The judge and `kforge import` start it, always in the sandbox.

    python3 -I kforge_torch.py serve [--cuda] FILE    a runner (runner.py)
    python3 -I kforge_torch.py check FILE             checks a solution (solution_check.py)
    python3 -I kforge_torch.py build PLANS            compiles a solution's extensions
                                                      (cpp_extension/build.py)
    python3 -I kforge_torch.py dry_run PLANS [--cuda] executes a solution that compiles when it is
                                                      called (dry_run.py)
    python3 -I kforge_torch.py describe FILE --seconds S [--patch N=V …]
                                                      describes a problem file (describe.py)
    python3 -I kforge_torch.py definitions FORMAT PATH
                                                      translates definitions (formats/flashinfer.py)

Each mode is a file of its own with a function main(arguments) that returns the exit status.
"""
import importlib
import os
import sys

MODES = {
    "serve": "runner",
    "check": "solution_check",
    "build": "cpp_extension.build",
    "dry_run": "dry_run",
    "describe": "describe",
    "definitions": "formats.flashinfer",
}


def main(arguments):
    if not arguments or arguments[0] not in MODES:
        print("kforge_torch.py is started by kforge; it is of no use by hand", file=sys.stderr)
        return 2
    sys.dont_write_bytecode = True
    # -I leaves the script's folder out.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    module = importlib.import_module(MODES[arguments[0]])
    status = module.main(arguments[1:])
    if arguments[0] == "describe":
        # Python would take PyTorch down first, which takes a quarter of the time of its import.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
