"""Constructs a problem's module without filling the weights that the judge brings. A processor
needs more than a second to draw the unused numbers of a Linear of 16384 x 16384. It is only for the
task's own module: a solution's constructor runs as anywhere else.

While the constructor runs, functions that fill a large tensor with random numbers do nothing. From
the first of them on, the seed gives other numbers. So all numbers that are drawn later, and all
values computed from them, may only become weights that are bound to the judge's buffers. If
anything else uses them (a norm of a large weight, a number for Python, a table of the module's
own), or draws without being seen here, the numbers count. Then construct() says so, and the module
is constructed as in KernelBench.

It is a mode for functions, not for operators: the first operator under an operator mode imports
torch._dynamo, which takes three seconds (PyTorch 2.11). PyTorch 1.13 does not report subscripts to
it, so subscripts are redirected.
"""
import contextlib

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function

LARGE = 1 << 20  # elements: a millisecond or two
FILLS = set("""
    uniform_ normal_ log_normal_ exponential_ cauchy_ geometric_ bernoulli_ random_
""".split())
# Of torch.nn.init.
FILLS |= {"kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_"}
FACTORIES = set("rand randn randint randperm rand_like randn_like randint_like normal".split())
OVERWRITES = {"zero_", "fill_", "constant_", "zeros_", "ones_"}
# Operations that change neither the numbers nor their place.
LOOKS = set("""
    __get__ __set__ __hash__ size dim ndimension numel nelement stride element_size is_contiguous
    is_floating_point is_complex get_device data_ptr requires_grad_ detach view _make_subclass
    _is_view
""".split())


class Needed(Exception):
    """Something uses the unfilled numbers."""


def _storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def storage_of(tensor):
    return _storage(tensor).data_ptr()


def tensors_in(values, depth=2):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple, dict)) and depth:
            yield from tensors_in(value.values() if isinstance(value, dict) else value, depth - 1)


class Draws(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.before = None  # the generator's state at the first skipped fill
        self.drawn = {}  # storage -> a tensor in it, so that its memory is not reused meanwhile
        self.left_out = set()  # storages
        self.needed = False  # even if a constructor ignores the exception

    def __torch_function__(self, function, types, arguments=(), named=None):
        name, named = getattr(function, "__name__", ""), named or {}
        if name in LOOKS:
            return function(*arguments, **named)
        given = list(tensors_in(arguments)) + list(tensors_in(named.values()))
        if name in FILLS and given and self._leaves_out(given[0]):
            return given[0]
        if name in FACTORIES and self.before is not None:
            result = function(*arguments, **named)
            torch.set_rng_state(self.before)
            self._mark(result)
            return result
        used = [tensor for tensor in given if self._is_drawn(tensor)] if self.drawn else []
        if (
            used
            and name in OVERWRITES
            and given[0].numel() * given[0].element_size() == _storage(given[0]).nbytes()
        ):
            self.drawn.pop(storage_of(given[0]), None)
            self.left_out.discard(storage_of(given[0]))
            used = []
        # The padded row of an embedding. It is filled afterwards.
        if name == "__getitem__" and len(used) == 1 and used[0] is given[0]:
            part = function(*arguments, **named)
            if isinstance(part, torch.Tensor) and storage_of(part) == storage_of(given[0]):
                return part
        if any(tensor.numel() >= LARGE for tensor in used):
            self.needed = True
            raise Needed(name)
        result = function(*arguments, **named)
        if used:  # a small weight is often a multiple of drawn numbers
            made = list(tensors_in([result])) + (given[:1] if name.endswith("_") else [])
            if not made:
                self.needed = True
                raise Needed(name)
            for tensor in made:
                self._mark(tensor)
        return result

    def _leaves_out(self, tensor):
        if (
            tensor.device.type != "cpu"
            or not tensor.is_floating_point()
            or (self.before is None and tensor.numel() < LARGE)
        ):
            return False
        if self.before is None:
            self.before = torch.get_rng_state()
        self._mark(tensor)
        if tensor.numel() < LARGE:  # uninitialised memory may hold NaN
            tensor.detach().zero_()
        else:
            self.left_out.add(storage_of(tensor))
        return True

    def _mark(self, tensor):
        if isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu":
            self.drawn[storage_of(tensor)] = tensor

    def _is_drawn(self, tensor):
        return (
            tensor.device.type == "cpu"
            and tensor.layout is torch.strided
            and tensor.numel() > 0
            and storage_of(tensor) in self.drawn
        )


def _tells_of_subscripts():
    class Seen(TorchFunctionMode):
        subscripts = 0

        def __torch_function__(self, function, types, arguments=(), named=None):
            self.subscripts += getattr(function, "__name__", "") == "__getitem__"
            return function(*arguments, **(named or {}))

    seen, tensor = Seen(), torch.zeros(1)
    with seen:
        tensor[0]
    return seen.subscripts > 0


@contextlib.contextmanager
def subscripts_told(draws):
    """Does the same as `draws`, and reports the subscripts of all tensors, too."""
    if _tells_of_subscripts():
        with draws:
            yield
        return
    own, base = {}, torch.Tensor.__base__
    for name in ("__getitem__", "__setitem__"):
        own[name] = torch.Tensor.__dict__.get(name)

        def told(*arguments, function=getattr(base, name)):
            return (
                handle_torch_function(function, arguments, *arguments)
                if has_torch_function(arguments)
                else function(*arguments)
            )

        setattr(torch.Tensor, name, told)
    try:
        with draws:
            yield
    finally:
        for name, function in own.items():
            if function is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, function)


def held(module):
    """Returns the tensors of a module and its parts, with those in lists and similar."""
    for part in module.modules():
        yield from tensors_in(vars(part).values(), 3)


def construct(make, bound):
    """Returns (make(), the large parameters that were not filled). Returns (None, ()) if the module
    has to be filled, or if the constructor fails, which it will do again. `bound`: a function from
    a module to its parameters with values of the judge."""
    draws = Draws()
    try:
        with subscripts_told(draws):
            module = make()
        if draws.before is None:
            return module, ()
        mine = list(bound(module))
        there = {
            storage_of(parameter): parameter
            for parameter in mine
            if parameter.device.type == "cpu" and parameter.numel()
        }
        known = set(map(id, mine))
        others = any(id(tensor) not in known and draws._is_drawn(tensor) for tensor in held(module))
        drawn_elsewhere = not torch.equal(torch.get_rng_state(), draws.before)
    except Exception:
        return None, ()
    if (
        draws.needed
        or others
        or drawn_elsewhere
        or any(storage not in there for storage in draws.drawn)
    ):
        return None, ()
    return module, [there[storage] for storage in draws.left_out]
