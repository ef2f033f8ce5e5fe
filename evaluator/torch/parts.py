"""How an oracle computes a call in parts.

In float64 a call takes twice the memory of its results and intermediate values, and its inputs
again. Many modules treat each index of the first dimension, the batch, alike and alone. Then a
call of some indices gives the same results for them, and the memory of one part is enough.

Whether a module is one of those is found out on its first indices. If they are different together
than apart, the module is called as a whole. The baseline is always called as a whole, and the judge
compares it with the oracle. So a wrong decision ends in an error of the task.

A module is called as a whole if its calls change its state or draw random numbers. Calls that only
decide, and calls that failed, leave the state as it was.
"""

import collections
import copy
import pickle
import random
import sys

# Bytes in float64 of a part's inputs and results. Smaller calls are made as a whole.
PART_BYTES = 2 << 30
# As many first indices are called together and apart.
TRIED = 3
# Relative to the largest result. Orders of summation differ by far less in float64, and by more in
# float32.
SAME = 1e-10
# Bytes of a module's tensors that are copied, to restore them. Changes of others are only noticed.
KEPT_BYTES = 1 << 30
CONTAINERS = (list, dict, set, collections.deque, collections.OrderedDict)
SHORT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")


def is_short(error):
    """True if a call failed because there was too little memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in SHORT_OF_MEMORY)
    )


def refill(holder, items):
    """Gives a container the items again that a copy of it has."""
    holder.clear()
    (holder.update if isinstance(holder, (dict, set)) else holder.extend)(items)


def same_items(one, other):
    """True if a container and an earlier copy of it hold the same objects."""
    if isinstance(one, set):
        return one == other
    if isinstance(one, dict):
        if list(one) != list(other):
            return False
        one, other = one.values(), other.values()
    return list(map(id, one)) == list(map(id, other))


def plain(state):
    """Returns a random generator's state in a form that can be compared."""
    return state.tolist() if hasattr(state, "tolist") else pickle.dumps(state)


class State:
    """What the calls of a module can change: random numbers, and the attributes and tensors of the
    module and its parts. `module` may be None."""

    def __init__(self, torch, module):
        self.torch = torch
        self.random = [(get, put, get()) for get, put in self._sources()]
        self.holders = []  # (attributes or a container, a copy of it)
        self.tensors = []  # (tensor, its version, its bytes or None)
        self.left = KEPT_BYTES
        for part in module.modules() if module is not None else ():
            own = vars(part)
            for holder in [own, *(v for v in own.values() if type(v) in CONTAINERS)]:
                self.holders.append((holder, copy.copy(holder)))
                for tensor in holder.values() if isinstance(holder, dict) else holder:
                    if isinstance(tensor, torch.Tensor):
                        self.tensors.append((tensor, tensor._version, self._copy(tensor)))

    def _sources(self):
        """Yields how the state of each source of random numbers is read and set."""
        numpy = sys.modules.get("numpy")
        yield self.torch.get_rng_state, self.torch.set_rng_state
        yield random.getstate, random.setstate
        if numpy is not None:
            yield numpy.random.get_state, numpy.random.set_state
        if self.torch.cuda.is_initialized():
            yield self.torch.cuda.get_rng_state, self.torch.cuda.set_rng_state

    def _copy(self, tensor):
        """Returns a copy in the host's memory. None: too large, a parameter, or of another kind."""
        size = tensor.numel() * tensor.element_size()
        large = size > self.left or isinstance(tensor, self.torch.nn.Parameter)
        if large or tensor.layout is not self.torch.strided or tensor.is_quantized:
            return None
        self.left -= size
        return tensor.detach().to("cpu", copy=True)

    def changed(self):
        """True if something is no longer as it was."""
        return (
            any(plain(get()) != plain(before) for get, _, before in self.random)
            or not all(same_items(*both) for both in self.holders)
            or any(self._differs(*tensor) for tensor in self.tensors)
        )

    def _differs(self, tensor, version, kept):
        if kept is None or tensor.shape != kept.shape:
            return tensor._version != version
        now, before = (
            t.contiguous().reshape(-1).view(self.torch.uint8) for t in (tensor.detach().cpu(), kept)
        )
        return not self.torch.equal(now, before)

    def restore(self):
        """Makes everything as it was, as far as it was kept."""
        for _, put, before in self.random:
            put(before)
        for holder, items in self.holders:
            refill(holder, items)
        with self.torch.no_grad():
            for tensor, version, kept in self.tensors:
                if kept is not None and self._differs(tensor, version, kept):
                    tensor.copy_(kept)


class Parts:
    """The calls of one module. `call`: calls it with a list of arguments and returns its results
    as a list of tensors. `place`: the device (gpu.py, cpu.py). `module`: holds the state."""

    def __init__(self, torch, call, place, part_bytes=PART_BYTES, module=None):
        self.torch, self.call, self.place, self.module = torch, call, place, module
        self.part_bytes = part_bytes
        self.count = 1
        # The numbers of the arguments that are divided. None: not decided. Empty: none can be.
        self.divided = None
        self.trying = False  # Calls are of a few indices only.
        # True if calls change the state. None: not known yet.
        self.stateful = None
        self.before = None  # The state before a call, unless calls are known not to change it.

    def state(self):
        return State(self.torch, self.module)

    def run(self, given, outputs):
        """Writes the results of a call into `outputs`."""
        self.before = None if self.stateful is False else self.state()
        if self.count == 1 and self._bytes(given, outputs) > self.part_bytes:
            self._divide(given, outputs, -(-self._bytes(given, outputs) // self.part_bytes))
        self.place.spilled()
        while not self._try(given, outputs):
            pass
        if self.stateful is None:
            self.stateful = self.before.changed()
        self.before = None
        if self.place.spilled():  # Smaller parts are faster from the next call on.
            self.place.give_back()
            self._divide(given, outputs, 2 * self.count)

    def _bytes(self, given, outputs):
        tensors = [v for v in given if isinstance(v, self.torch.Tensor)] + list(outputs)
        return sum(8 * tensor.numel() for tensor in tensors)

    def _try(self, given, outputs):
        """Makes the call. False if memory was short and smaller parts are left to try."""
        try:
            for first, end in self._bounds(outputs):
                self._store(
                    self.call(self._part(given, first, end)),
                    [out[first:end] for out in outputs] if self.count > 1 else outputs,
                )
            return True
        except Exception as error:
            if not is_short(error):
                raise
            short = error.with_traceback(None)  # The traceback would keep tensors.
        self._restore()
        self.place.give_back()
        if not self._divide(given, outputs, 2 * self.count):
            raise short
        return False

    def _bounds(self, outputs):
        if self.count == 1:
            return [(0, 0)]
        extent = outputs[0].shape[0]
        step = -(-extent // self.count)
        return [(first, min(first + step, extent)) for first in range(0, extent, step)]

    def _part(self, given, first, end):
        if self.count == 1:
            return given
        return [v[first:end] if i in self.divided else v for i, v in enumerate(given)]

    def _restore(self):
        """Undoes what calls have changed. True if they have."""
        if self.before is None or not self.before.changed():
            return False
        self.stateful = True
        self.before.restore()
        return True

    # ---- deciding --------------------------------------------------------------------------------

    def _divide(self, given, outputs, count):
        """Sets the number of parts, at most one an index. False if there are as many already, or
        the module cannot be called in parts."""
        if self.divided is None:
            self.divided = self._find(given, outputs)
        if not self.divided:
            return False
        before, self.count = self.count, min(count, outputs[0].shape[0])
        return self.count > before

    def _find(self, given, outputs):
        """Returns the arguments that have to be divided: all with the extent of the results, or the
        first one of them."""
        if self.stateful or any(out.dim() == 0 for out in outputs):
            return ()
        extents = {out.shape[0] for out in outputs}
        extent = extents.pop()
        if extents or extent < 2:
            return ()
        all_of_them = [
            i
            for i, value in enumerate(given)
            if isinstance(value, self.torch.Tensor) and value.dim() and value.shape[0] == extent
        ]
        self.trying = True
        try:
            for divided in (all_of_them, all_of_them[:1])[: len(all_of_them)]:
                if self._same_apart(given, outputs, divided, min(extent, TRIED)):
                    return divided
                if self.stateful:
                    break
            return ()
        finally:
            self.trying = False

    def _same_apart(self, given, outputs, divided, count):
        def results(first, end):
            made = self.call([v[first:end] if i in divided else v for i, v in enumerate(given)])
            if self._restore():
                return None
            shapes = [[end - first, *out.shape[1:]] for out in outputs]
            return made if [list(value.shape) for value in made] == shapes else None

        try:
            together = results(0, count)
            if together is None:
                return False
            for first, end in ((0, 1), (1, count)):
                apart = results(first, end)
                if apart is None or not all(
                    map(self._same, apart, (value[first:end] for value in together))
                ):
                    return False
        except Exception:  # The module needs all indices, or more memory for some than there is.
            self._restore()
            return False
        return True

    def _same(self, one, other):
        torch = self.torch
        if one.dtype != other.dtype or not one.is_floating_point():
            return torch.equal(one, other)
        if not one.numel():
            return True
        finite = torch.isfinite(other)
        if not torch.equal(torch.isfinite(one), finite):
            return False
        one, other = one[finite], other[finite]
        if not one.numel():
            return True
        return bool((one - other).abs().max() <= SAME * other.abs().max())

    # ---- results ---------------------------------------------------------------------------------

    def _store(self, results, outputs):
        if len(results) != len(outputs):
            raise RuntimeError(
                "forward returns %d tensors; the task has %d outputs" % (len(results), len(outputs))
            )
        for out, value in zip(outputs, results):
            if value.numel() != out.numel() or list(value.shape) not in (list(out.shape), []):
                raise RuntimeError(
                    "forward returns a tensor of shape %s; the task says %s"
                    % (list(value.shape), list(out.shape))
                )
            out.copy_(value.reshape(out.shape))
