"""The output directory: for each set of arguments, where the results of its call lie. It is memory
that the judge reads (evaluator/protocol/output_directory_wire.h)."""
import ctypes
import struct

MOST_DIMS = 8
# The output directory: for each set a head (returned tensors, flaw), then an entry for each output
# (address, dtype, dims, sizes, strides).
HEAD = struct.Struct("<II8x")
ENTRY = struct.Struct("<QII8q8q")
ADDRESS = struct.Struct("<Q")
FLAW_NONE, FLAW_TYPE, FLAW_LAYOUT, FLAW_REPLACED = 0, 1, 2, 3
# PyTorch's message about results of its CUDA graphs.
REPLACED_WORDS = "has been overwritten by a subsequent run"
# kf_dtype
DTYPE_CODES = "f64 f32 tf32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u8 bool".split()


class CallsPlan(ctypes.Structure):
    """kf_calls_plan of evaluator/runner/python_calls.c."""

    _fields_ = [
        ("directory", ctypes.c_void_p),
        ("stride", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("plain", ctypes.c_void_p),
        ("type", ctypes.py_object),
        ("dtype", ctypes.py_object),
        ("shape", ctypes.py_object),
        ("device_test", ctypes.py_object),
        ("first", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
        ("delta", ctypes.c_uint64),
    ]


class Writer:
    """Fills the output directory for a runner, which is a subclass."""

    def open_ledger(self, memory):
        """Fills every entry with its expected contents, so that a batch writes only addresses."""
        loaded = self.loaded
        self.ledger = memory
        self.expected = []
        self.stride = HEAD.size + ENTRY.size * len(loaded.outputs)
        for number in loaded.outputs:
            argument = loaded.arguments[number]
            model = self.torch.empty(
                argument["shape"], dtype=loaded.load.torch_dtype(argument["dtype"]), device="meta"
            )
            self.expected.append((model.dtype, tuple(model.shape), tuple(model.stride())))
        self.packed = {}  # what an entry says behind its address, by dtype, shape and strides
        self.kind, self.address = self.place.kind, self.place.address
        room = self.kind if self.kind == "cpu" else "meta"  # only call_nothing needs it
        nothing = [
            self.torch.empty(shape, dtype=dtype, device=room) for dtype, shape, _ in self.expected
        ]
        self.nothing = nothing[0] if len(nothing) == 1 else nothing
        count = len(memory) // self.stride
        self.plain = bytearray(b"\1" * count)
        for number in range(count):
            self._plain_entries(number * self.stride)
        self._plan_calls(count)

    def _plan_calls(self, count):
        self.calls_memory = [
            (ctypes.c_ubyte * len(memory)).from_buffer(memory)
            for memory in (self.ledger, self.plain)
        ]
        directory, plain = [ctypes.addressof(memory) for memory in self.calls_memory]
        usual = ()
        if len(self.expected) == 1:
            usual = (self.tensor_and_clone[0],) + self.expected[0][:2] + ("is_" + self.kind,)
        self.calls_plan = CallsPlan(directory, self.stride, count, plain, *usual)

    def _plain_entries(self, at):
        HEAD.pack_into(self.ledger, at, len(self.expected), FLAW_NONE)
        for i, (dtype, shape, strides) in enumerate(self.expected):
            self._entry(at + HEAD.size + i * ENTRY.size, 0, dtype, shape, strides)

    def _entry(self, at, address, dtype, shape, strides):
        key = (dtype, shape, strides)
        found = self.packed.get(key)
        if found is None:
            found = self.packed[key] = self._pack(dtype, shape, strides)
        ADDRESS.pack_into(self.ledger, at, address)
        self.ledger[at + ADDRESS.size : at + ENTRY.size] = found

    def _pack(self, dtype, shape, strides):
        name = self.loaded.load.dtype_name(dtype)
        code = DTYPE_CODES.index(name) if name in DTYPE_CODES else 0xFFFF
        dims = len(shape)
        sizes = list(shape[:MOST_DIMS]) + [0] * (MOST_DIMS - min(dims, MOST_DIMS))
        steps = list(strides[:MOST_DIMS]) + [0] * (MOST_DIMS - min(dims, MOST_DIMS))
        return ENTRY.pack(0, code, dims, *sizes, *steps)[ADDRESS.size :]

    def write_ledger(self, number, result):
        """Writes where the results of a call lie. The usual case is one tensor of the expected
        kind."""
        at = number * self.stride
        try:
            if (
                self.plain[number]
                and len(self.expected) == 1
                and isinstance(result, self.torch.Tensor)
            ):
                dtype, shape, strides = self.expected[0]
                here = result.device.type == self.kind
                if (
                    here
                    and result.dtype is dtype
                    and result.shape == shape
                    and result.stride() == strides
                    and not result.is_neg()
                ):
                    ADDRESS.pack_into(self.ledger, at + HEAD.size, self.address(result.data_ptr()))
                    return result
            self.plain[number] = False  # Its record has changed.
            return self._write_any(at, result)
        except RuntimeError as error:
            if REPLACED_WORDS not in str(error):
                raise
            self.plain[number] = False
            HEAD.pack_into(self.ledger, at, 0, FLAW_REPLACED)
            return result

    def _write_any(self, at, result):
        try:
            tensors = self.loaded.load.flatten(result)
        except (TypeError, RecursionError):
            HEAD.pack_into(self.ledger, at, 0, FLAW_TYPE)
            return result
        # KernelBench compares tensors, not containers.
        if isinstance(result, (list, tuple, dict)) and len(self.expected) == 1:
            HEAD.pack_into(self.ledger, at, len(tensors), FLAW_TYPE)
            return result
        HEAD.pack_into(self.ledger, at, len(tensors), FLAW_NONE)
        kept = []
        for i, tensor in enumerate(tensors[: len(self.expected)]):
            if tensor.layout != self.torch.strided or tensor.device.type != self.kind:
                HEAD.pack_into(self.ledger, at, len(tensors), FLAW_LAYOUT)
                return result
            if tensor.is_neg():
                tensor = tensor.resolve_neg()
            kept.append(tensor)
            address = self.address(tensor.data_ptr())
            self._entry(
                at + HEAD.size + i * ENTRY.size,
                address,
                tensor.dtype,
                tuple(tensor.shape),
                tuple(tensor.stride()),
            )
        return kept
