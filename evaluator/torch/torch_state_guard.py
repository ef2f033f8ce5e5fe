"""Restores PyTorch's state in a runner that goes on from one task's problem to another's.

A problem file may change settings (the default type, TF32, determinism), and may replace functions
of PyTorch. The next task's oracle or baseline must not find the changes. Settings are restored. Any
other change is refused, and the judge starts a fresh runner (measure_runners.c, load_afresh). Only
the task's own problems share a runner. A solution's runner serves one solution.

This is no defence: a problem file can patch this module. Its author is the author of the task, and
decides what is right. The final measurement runs in fresh processes.
"""
import builtins
import ctypes
import gc
import math
import sys

# The modules and classes that are usually patched, by their path below torch. "" is torch itself.
PLACES = (
    "",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.Module",
    "Tensor",
    "nn.Parameter",
    "linalg",
    "fft",
    "special",
    "autograd",
    "nn.Linear",
    "nn.Conv2d",
    "nn.Conv3d",
    "nn.BatchNorm2d",
    "nn.LayerNorm",
    "nn.modules.batchnorm._BatchNorm",
)
# (object below torch, attribute) of settings.
FLAGS = (
    ("backends.cudnn", "benchmark"),
    ("backends.cudnn", "deterministic"),
    ("backends.cudnn", "allow_tf32"),
    ("backends.cudnn", "enabled"),
    ("backends.cuda.matmul", "allow_tf32"),
    ("backends.cuda.matmul", "allow_fp16_reduced_precision_reduction"),
    ("backends.cuda.matmul", "allow_bf16_reduced_precision_reduction"),
    ("backends.mkldnn", "enabled"),
)
# (getter, setter) of torch.
SETTINGS = (
    ("get_default_dtype", "set_default_dtype"),
    ("get_num_threads", "set_num_threads"),
    ("are_deterministic_algorithms_enabled", "use_deterministic_algorithms"),
    ("get_float32_matmul_precision", "set_float32_matmul_precision"),
)


class Changed(Exception):
    pass


def below(torch, path):
    found = torch
    for name in path.split(".") if path else ():
        found = getattr(found, name, None)
    return found


def names_of(place):
    """Returns functions and classes by name. Other values may change, since PyTorch keeps some of
    its state in them."""
    return {
        name: value
        for name, value in vars(place).items()
        if callable(value) or isinstance(value, (staticmethod, classmethod, property))
    }


def is_same(now, value):
    """True if a function is unchanged. PyTorch 2 itself wraps torch.manual_seed at the first import
    of torch.compile's parts, which a request for deterministic algorithms causes."""
    own, code = sys.modules.get("torch._compile"), getattr(now, "__code__", None)
    return now is value or (
        getattr(now, "__wrapped__", None) is value
        and own is not None
        and code is not None
        and code.co_filename == own.__file__
    )


class Beginning:
    """The state before any foreign code."""

    def __init__(self, torch):
        self.about = None
        places = [(path or "torch", below(torch, path)) for path in PLACES] + [
            ("builtins", builtins),
            ("math", math),
        ]
        self.names = [(path, place, names_of(place)) for path, place in places if place is not None]
        self.flags = []
        for path, name in FLAGS:
            place = below(torch, path)
            try:
                self.flags.append((place, name, getattr(place, name)))
            except Exception:
                pass  # Missing in this version.
        self.settings = [
            (getattr(torch, get), getattr(torch, put), getattr(torch, get)())
            for get, put in SETTINGS
            if hasattr(torch, get)
        ]
        self.device = torch.empty(0).device

    def restore(self, torch, about):
        """Restores the state before a plan is loaded. `about` (the problem file and the task's
        settings) identifies the task. Within one task's workloads it restores only the default
        type, which the oracle changes."""
        before, self.about = self.about, about
        if before is None or before == about:
            return
        gc.collect()
        # Settings first: torch.Storage, for one, follows the default type.
        torch.set_grad_enabled(False)  # as runner.py has it
        for get, put, value in self.settings:
            if get() != value:
                put(value)
        for place, name, value in self.flags:
            if getattr(place, name) != value:
                setattr(place, name, value)
        for path, place, names in self.names:
            now = vars(place)
            for name, value in names.items():
                if not is_same(now.get(name), value):
                    raise Changed("the problem before this one has changed %s of %s" % (name, path))
        if torch.empty(0).device != self.device:
            raise Changed("the problem before this one has changed the default device")
        try:
            # Gives the heap's free memory back, as in a fresh runner.
            ctypes.CDLL(None).malloc_trim(0)
        except (AttributeError, OSError):
            pass
