"""How an oracle computes a call in parts.

In float64 a call takes twice the memory of its results and intermediate values, and its inputs
again. Many modules treat each index of the first dimension, the batch, alike and alone. Then a
call of some indices gives the same results for them, and the memory of one part is enough.

Whether a module is one of those is found out on its first indices. If they are different together
than apart, the module is called as a whole. The baseline is always called as a whole, and the judge
compares it with the oracle. So a wrong decision ends in an error of the task.
"""

# Bytes in float64 of a part's inputs and results. Smaller calls are made as a whole.
PART_BYTES = 2 << 30
# As many first indices are called together and apart.
TRIED = 3
# Relative to the largest result. Orders of summation differ by far less in float64, and by more in
# float32.
SAME = 1e-10
SHORT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")


def is_short(error):
    """True if a call failed because there was too little memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in SHORT_OF_MEMORY)
    )


class Parts:
    """The calls of one module. `call`: calls it with a list of arguments and returns its results
    as a list of tensors. `place`: the device (gpu.py, cpu.py)."""

    def __init__(self, torch, call, place, part_bytes=PART_BYTES):
        self.torch, self.call, self.place = torch, call, place
        self.part_bytes = part_bytes
        self.count = 1
        # The numbers of the arguments that are divided. None: not decided. Empty: none can be.
        self.divided = None
        self.trying = False  # Calls are of a few indices only.

    def run(self, given, outputs):
        """Writes the results of a call into `outputs`."""
        if self.count == 1 and self._bytes(given, outputs) > self.part_bytes:
            self._divide(given, outputs, -(-self._bytes(given, outputs) // self.part_bytes))
        self.place.spilled()
        while not self._try(given, outputs):
            pass
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
        if any(out.dim() == 0 for out in outputs):
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
            return ()
        finally:
            self.trying = False

    def _same_apart(self, given, outputs, divided, count):
        def results(first, end):
            made = self.call([v[first:end] if i in divided else v for i, v in enumerate(given)])
            shapes = [[end - first, *out.shape[1:]] for out in outputs]
            return made if [list(value.shape) for value in made] == shapes else None

        try:
            together = results(0, count)
            for first, end in ((0, 1), (1, count)):
                apart = results(first, end)
                if together is None or apart is None:
                    return False
                if not all(map(self._same, apart, (value[first:end] for value in together))):
                    return False
        except Exception:  # The module needs all indices, or more memory for some than there is.
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
