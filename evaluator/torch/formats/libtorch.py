"""The names of libtorch, PyTorch in C++, for drivers that raw_cuda.py has turned into Python.

C++ passes options as objects: torch::nn::Conv2dOptions(3, 16, 3).stride(2), or
torch::TensorOptions().dtype(torch::kHalf). Here `Options` collects them, and each call takes them
apart into keywords.
"""

import functools
import inspect
import re

import torch as python_torch
from torch.overrides import TorchFunctionMode

DTYPES = {
    "kFloat16": "float16",
    "kHalf": "float16",
    "kBFloat16": "bfloat16",
    "kFloat32": "float32",
    "kFloat": "float32",
    "kFloat64": "float64",
    "kDouble": "float64",
    "kInt64": "int64",
    "kLong": "int64",
    "kInt32": "int32",
    "kInt": "int32",
    "kInt16": "int16",
    "kInt8": "int8",
    "kUInt8": "uint8",
    "kByte": "uint8",
    "kBool": "bool",
}
# Names of libtorch that Python calls otherwise.
FUNCTIONS = {"upsample": "interpolate"}


class Options:
    """A call with options: Options(3, 16).stride(2) has arguments and keywords."""

    def __init__(self, *arguments, **keywords):
        self.arguments, self.keywords = arguments, keywords

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def put(*values):
            value = values[0] if len(values) == 1 else list(values)
            return Options(*self.arguments, **{**self.keywords, name: plain(value)})

        return put


class Nowhere:
    """A device. The judge places all tensors."""

    def __call__(self, *_):
        return self


class Reduction(str):
    """A name such as torch::kMean."""


def plain(value):
    return tuple(value) if isinstance(value, list) else value


def taken_apart(arguments, keywords):
    """Returns a call's arguments and keywords, with those of options in it."""
    positional, named = [], dict(keywords)
    for argument in arguments:
        if isinstance(argument, Options):
            positional += argument.arguments
            named.update(argument.keywords)
        elif isinstance(argument, python_torch.dtype):
            named["dtype"] = argument
        elif not isinstance(argument, Nowhere):
            positional.append(argument)
    for name in ("device", "layout", "pinned_memory"):
        named.pop(name, None)
    return positional, named


# Names of libtorch's enumerations that differ from Python's in more than their case.
ENUMERATED = {"kFanIn": "fan_in", "kFanOut": "fan_out", "kLeakyReLU": "leaky_relu"}


class Namespace:
    """A namespace of libtorch over a module of Python."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        if name.endswith("Options"):
            return Options
        if name.startswith("k") and name[1:2].isupper():
            if name in DTYPES:
                return getattr(python_torch, DTYPES[name])
            if name in ENUMERATED:
                return ENUMERATED[name]
            return Nowhere() if name in ("kCUDA", "kCPU") else Reduction(name[1:].lower())
        name = FUNCTIONS.get(name, name)
        # libtorch has functions of nn.functional in its main namespace, too.
        found = getattr(self._module, name, None) or getattr(python_torch.nn.functional, name)
        if isinstance(found, type) and issubclass(found, python_torch.nn.Module):
            return module_class(found)
        return calling(found) if callable(found) else found


def module_class(kind):
    """Returns a function that makes a module of a kind from C++'s arguments."""

    def make(*arguments, **keywords):
        positional, named = taken_apart(arguments, keywords)
        return Module.around(kind(*positional, **named))

    return make


def calling(function):
    def call(*arguments, **keywords):
        positional, named = taken_apart(arguments, keywords)
        return rounded(function, positional, named)

    return call


# ---- half precision on a processor ---------------------------------------------------------------

# Names of functions that a processor lacks in half precision.
WIDENED = set()


def converted(value, dtypes, dtype):
    """Returns a value with its tensors of some dtypes in another one."""
    if isinstance(value, python_torch.Tensor):
        return value.to(dtype) if value.dtype in dtypes else value
    if isinstance(value, (list, tuple)):
        return type(value)(converted(each, dtypes, dtype) for each in value)
    return value


def rounded(function, arguments, keywords):
    """Calls a function. If the processor lacks it in half precision, computes in float32 and
    rounds."""
    try:
        return function(*arguments, **keywords)
    except (NotImplementedError, RuntimeError) as error:
        found = next((d for d in ("Half", "BFloat16") if "for '%s'" % d in str(error)), None)
        if found is None or "not implemented" not in str(error) or keywords.get("out") is not None:
            raise
    WIDENED.add(getattr(function, "__name__", type(function).__name__))
    narrow = getattr(python_torch, DTYPES["k" + found])
    result = widened(function, arguments, keywords, narrow)
    if not changes_first(function):
        return result
    arguments[0].copy_(result)
    return arguments[0]


def widened(function, arguments, keywords, narrow):
    """Returns a function's result, computed in float32 and rounded to `narrow`."""
    wide = converted(list(arguments), (narrow,), python_torch.float32)
    named = {k: converted(v, (narrow,), python_torch.float32) for k, v in keywords.items()}
    result = function(*wide, **named)
    # What the function has changed: running statistics, a result in place.
    for old, new in zip([*arguments, *keywords.values()], [*wide, *named.values()]):
        if (
            isinstance(old, python_torch.Tensor)
            and new is not old
            and not python_torch.equal(new, old.to(new.dtype))
        ):
            with python_torch.no_grad():
                old.copy_(new)
    asked = keywords.get("dtype")
    return result if asked else converted(result, (python_torch.float32,), narrow)


def changes_first(function):
    """True if a function changes its first argument: x.clamp_(…), x += y."""
    name = getattr(function, "__name__", "")
    return re.fullmatch(r"[a-z]\w*[^_]_|__i(add|sub|mul|truediv|floordiv|pow)__", name) is not None


@functools.lru_cache(maxsize=None)
def lacks_half():
    """True if this PyTorch lacks operations in half precision on the processor, or adds up
    in half precision."""
    ones = python_torch.ones(4096).half()
    try:
        return ones.sqrt().norm().item() != 64
    except RuntimeError:
        return True


# Operations that older versions of PyTorch add up in half precision, which a GPU does not.
SUMS = re.compile(r"norm|mean|(?:nan)?sum|var|std|\w+_loss")


class HalfOnProcessor(TorchFunctionMode):
    """Computes each operation that the processor lacks in half precision as `rounded` does, and
    sums always."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        narrow = getattr(args[0], "dtype", None) if args else None
        name = getattr(function, "__name__", "")
        if SUMS.fullmatch(name) and narrow is python_torch.float16:
            WIDENED.add(name)
            return widened(function, args, kwargs, narrow)
        return rounded(function, args, kwargs)


def on_processor(forward):
    """Returns forward with half precision as on a GPU, if it runs on a processor."""

    @functools.wraps(forward)
    def call(self, *given):
        places = {v.device.type for v in given if isinstance(v, python_torch.Tensor)}
        if places == {"cpu"} and lacks_half():
            with HalfOnProcessor():
                return forward(self, *given)
        return forward(self, *given)

    return call


def rounded_module(kind, module, arguments, keywords):
    """Calls a module as `rounded` does, with its weights."""
    half = (python_torch.float16, python_torch.bfloat16)

    def call(*given, **named):
        wide = any(isinstance(v, python_torch.Tensor) and v.dtype not in half for v in given)
        kept = [(t, t.data) for t in module.state_dict(keep_vars=True).values() if wide]
        kept = [(tensor, data) for tensor, data in kept if data.dtype in half]
        for tensor, data in kept:
            tensor.data = data.float()
        try:
            return kind.forward(module, *given, **named)
        finally:
            for tensor, data in kept:
                tensor.data = data.copy_(tensor.data)

    call.__name__ = kind.__name__
    return rounded(call, arguments, keywords)


class Module:
    """Lets a module be moved as C++ does it."""

    @staticmethod
    def around(module):
        kind = type(module)

        def to(self, *arguments, **_):
            dtypes = [a for a in arguments if isinstance(a, python_torch.dtype)]
            return kind.to(self, dtypes[0]) if dtypes else self

        def forward(self, *arguments, **keywords):
            return rounded_module(kind, self, arguments, keywords)

        names = {"to": to, "is_empty": lambda self: False, "forward": forward}
        forward.__signature__ = inspect.signature(kind.forward)
        module.__class__ = type(kind.__name__, (kind,), names)
        return module


class Torch(Namespace):
    def TensorOptions(self, *values):
        return Options(**taken_apart(values, {})[1])

    def dtype(self, value):
        return Options(dtype=value)

    def device(self, *_):
        return Options()

    def Device(self, *_):
        return Nowhere()

    def Tensor(self, *values):
        """torch::Tensor() is an undefined tensor: None in Python."""
        return values[0] if values else None

    def IntArrayRef(self, value):
        return value


torch = Torch(python_torch)
nn = Namespace(python_torch.nn)
F = Namespace(python_torch.nn.functional)


def to(tensor, *arguments):
    """Returns tensor.to(…) with C++'s arguments: a dtype, a device, options, or several."""
    positional, named = taken_apart(arguments, {})
    dtype = named.get("dtype") or next(
        (a for a in positional if isinstance(a, python_torch.dtype)), None
    )
    return tensor.to(dtype) if dtype is not None else tensor


def module_to(module, *arguments):
    """Returns module.to(…) with C++'s arguments."""
    dtypes = [a for a in arguments if isinstance(a, python_torch.dtype)]
    return python_torch.nn.Module.to(module, dtypes[0]) if dtypes else module


def set_data(tensor, value):
    """Gives a parameter other numbers, as tensor.set_data(value) does."""
    tensor.data = value


def index(tensor, places):
    """Returns tensor.index({…})."""
    return tensor[tuple(Ellipsis if place == "..." else place for place in places)]


def div(a, b):
    """Returns a / b as C++ does: for integers the quotient, truncated towards zero."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a / b


def std_get(number, values):
    """Returns std::get<number>(values)."""
    return values[number]
