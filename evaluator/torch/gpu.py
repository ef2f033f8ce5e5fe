"""The place of a runner's modules on a GPU. The judge's buffers come as allocations of the driver's
virtual memory API, by descriptor. All memory that PyTorch allocates lies in one more of them, the
device pool (evaluator/runner/torch_cuda.c, which replaces cudaMalloc in this process).

Addresses of results are given as the judge counts, since the same allocations lie elsewhere in the
judge's process.
"""
import contextlib
import ctypes
import os
from time import monotonic

READ_ONLY = 2  # evaluator/protocol/wire.h
GRANULE = 2 << 20  # before each allocation, on both sides
NO_ADDRESS = 0
SAMPLE_SLOTS = 2  # evaluator/protocol/stream_page.h
COUNT_BYTES = 1 << 16  # evaluator/runner/torch_cuda.c


class Memory:
    """GPU memory in the form that torch.as_tensor accepts."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
        }


def load_library():
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    library = ctypes.CDLL(os.path.join(folder, "libkftorch.so"))
    library.kf_torch_device_pool.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)]
    library.kf_torch_region.argtypes = [ctypes.c_uint32, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]
    library.kf_torch_region.restype = ctypes.c_uint64
    library.kf_torch_use_host_memory.argtypes = [ctypes.c_int]
    library.kf_torch_take_page.argtypes = [ctypes.c_uint64]
    for function in (library.kf_torch_sampled_call, library.kf_torch_sampled_output):
        function.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32]
        function.restype = ctypes.c_uint32
    library.kf_torch_sample.argtypes = [
        ctypes.c_uint64,
        ctypes.c_uint32,
        ctypes.c_uint64,
        ctypes.c_uint64,
    ]
    return library


class Place:
    kind = "cuda"

    def __init__(self, torch):
        self.torch = torch
        self.library = load_library()
        if self.library.kf_torch_start():
            raise RuntimeError("the driver does not start")
        torch.cuda.init()
        self.device = torch.device("cuda", 0)
        self.synchronize, self.stream = torch.cuda.synchronize, torch.cuda.current_stream
        self.scratch = None
        # Of the device pool, and the difference to the judge's addresses.
        self.first = self.end = self.delta = 0
        self.regions = {}  # first address -> (end, difference to the judge's addresses)
        self._wake()
        if self.library.kf_torch_open_gates():
            raise RuntimeError("no memory for the stream page")
        self.library.kf_torch_count_prepare()
        self.begin_call = ctypes.cast(self.library.kf_torch_begin_call, ctypes.c_void_p)

    def _wake(self):
        """Starts the threads of the driver and of PyTorch. Keeps no memory allocated, since the
        device pool comes later."""
        torch = self.torch
        a = torch.rand(1 << 16, device=self.device)
        torch.relu(a).sum().item()
        torch.rand(1 << 18).exp_()
        del a
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def read_names(self, *texts):
        """Does nothing: "cuda" means this device."""

    def move(self, module):
        return module.to(self.device)

    def some_numbers(self, tensor):
        """Returns as many numbers as `tensor` has, on this device. They are small, so that results
        stay finite."""
        # Floating, as skip_init.py has it.
        return self.torch.empty(tensor.shape, dtype=tensor.dtype, device=self.device).uniform_(
            -0.01, 0.01
        )

    # ---- memory ----------------------------------------------------------------------------------

    def tensor(self, command, fd, dtype, count):
        _, _, _, _, flags, _, _, offset, _, data_offset, size, region_bytes, address, region = (
            command[:14]
        )
        base = self.library.kf_torch_region(
            region, fd, region_bytes, address, int(bool(flags & READ_ONLY))
        )
        if not base:
            raise MemoryError("the driver does not map it")
        self.regions[base] = (base + region_bytes, address + GRANULE - base)
        flat = self.torch.as_tensor(Memory(base + offset + data_offset, size), device=self.device)
        return flat.view(dtype)[:count]

    def take_arena(self, command, fd):
        region_bytes, address = command[11:13]
        base = ctypes.c_uint64(0)
        refused = self.library.kf_torch_device_pool(fd, region_bytes, address, ctypes.byref(base))
        if refused == 2:
            raise RuntimeError("PyTorch has allocated device memory before it was to")
        if refused:
            raise MemoryError("the driver does not map it")
        self.first, self.end, self.delta = (
            base.value,
            base.value + region_bytes,
            address + GRANULE - base.value,
        )
        probe = self.torch.empty(1, device=self.device)
        if not self.first <= probe.data_ptr() < self.end:
            raise RuntimeError(
                "this PyTorch does not take its device memory from libcudart.so's cudaMalloc"
            )
        return True

    def take_page(self, command, fd):
        region_bytes, address, region = command[11:14]
        base = self.library.kf_torch_region(region, fd, region_bytes, address, 0)
        if not base:
            raise MemoryError("the driver does not map it")
        self.library.kf_torch_take_page(base)

    def release(self):
        self.synchronize()
        self.regions.clear()
        self.library.kf_torch_unmap()
        if not self.first:  # The oracle's. Others need the memory.
            self.give_back()

    def give_back(self):
        """Returns unused memory to the device."""
        self.torch.cuda.empty_cache()

    def reserved(self):
        """Returns the bytes that PyTorch holds of the device's memory."""
        return self.torch.cuda.memory_reserved()

    def use_host_memory(self, allowed):
        """Lets allocations that the device has no memory for lie in the host's. The device reads
        and writes it, slowly."""
        self.library.kf_torch_use_host_memory(int(allowed))

    def spilled(self):
        """True if that has happened since the last call of this."""
        return bool(self.library.kf_torch_spilled())

    def make(self, function):
        """Draws on the GPU if the file leaves the device to PyTorch. At full size a processor takes
        ten seconds for some inputs."""
        with self.device if hasattr(self.device, "__enter__") else contextlib.nullcontext():
            values = function()
        return [
            value.to(self.device) if isinstance(value, self.torch.Tensor) else value
            for value in values
        ]

    def address(self, pointer):
        if self.first <= pointer < self.end:
            return pointer + self.delta
        for base, (end, delta) in self.regions.items():
            if base <= pointer < end:
                return pointer + delta
        return NO_ADDRESS

    @staticmethod
    def share_progress(fd):
        """Returns None: the stream says when a call begins."""

    def results_in(self):
        return self.first, self.end, self.delta % (1 << 64)

    # ---- order -----------------------------------------------------------------------------------

    def sampled(self, nonce, calls):
        """Returns the slots of each sampled call, by its number."""
        slots = {}
        for slot in range(SAMPLE_SLOTS):
            call = self.library.kf_torch_sampled_call(nonce, slot, calls)
            slots.setdefault(call, []).append(slot)
        return slots

    def sample(self, nonce, slots, tensors):
        """Has the stream copy bytes of a call's results. The judge knows which (order_cuda.c): of
        a result with gaps, the first element. A result without plain memory has no sample."""
        for slot in slots:
            tensor = tensors[self.library.kf_torch_sampled_output(nonce, slot, len(tensors))]
            if tensor.layout is not self.torch.strided or not tensor.is_cuda or tensor.is_neg():
                continue
            count = tensor.numel() if tensor.is_contiguous() else min(tensor.numel(), 1)
            self.library.kf_torch_sample(
                nonce, slot, tensor.data_ptr(), count * tensor.element_size()
            )

    # ---- device time -----------------------------------------------------------------------------

    def count(self, call):
        """Makes one call with a cold L2 cache. Returns the records of its device time."""
        try:
            size = 2 * self.torch.cuda.get_device_properties(self.device).L2_cache_size
            self.torch.empty(size, dtype=self.torch.uint8, device=self.device).zero_()
        except (AttributeError, RuntimeError):
            pass  # An older PyTorch, or little memory.
        records = ctypes.create_string_buffer(COUNT_BYTES)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(call)
        size = self.library.kf_torch_count(function, records)
        return records.raw[:size]

    # ---- time ------------------------------------------------------------------------------------

    def nothing(self):
        """Makes the GPU switch to this process, as calls would."""
        if self.scratch is None:
            self.scratch = self.torch.zeros(1, device=self.device)
        self.scratch.zero_()

    def wait(self):
        self.stream().synchronize()
        streamed = monotonic()
        self.synchronize()
        return monotonic() - streamed


class OwnMemory(Place):
    """For a process without memory of the judge: PyTorch takes it from the driver."""

    def __init__(self, torch):
        self.torch = torch
        torch.cuda.init()
        self.device = torch.device("cuda", 0)
        self.synchronize, self.stream = torch.cuda.synchronize, torch.cuda.current_stream
