"""The place of a runner's modules on a processor. gpu.py is the other place. runner.py uses only
the methods of this class."""
import ctypes
import mmap
import os
import weakref

from formats import this_device

READ_ONLY = 2  # evaluator/protocol/wire.h

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
LIBC.mmap.restype = ctypes.c_void_p
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
MAP_FAILED = ctypes.c_void_p(-1).value


def mapped(fd, length, protection, offset):
    """Returns shared memory as an object with the buffer protocol, mapped while it is referenced.
    mmap.mmap keeps a descriptor for each mapping (until Python 3.13's trackfd), and many sets would
    exceed a process's limit."""
    address = LIBC.mmap(None, length, protection, mmap.MAP_SHARED, fd, offset)
    if address == MAP_FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    memory = (ctypes.c_ubyte * length).from_address(address)
    # Tensors may be in use until the end.
    weakref.finalize(memory, LIBC.munmap, address, length).atexit = False
    return memory


def wake_threads(torch):
    """Starts all threads that PyTorch will ever have, before the judge counts them."""
    a = torch.rand(256, 256)
    torch.relu(a @ a).sum()
    torch.nn.functional.conv2d(torch.rand(2, 8, 32, 32), torch.rand(8, 8, 3, 3))
    torch.rand(1 << 20).exp_()


class Place:
    kind = "cpu"

    def __init__(self, torch):
        self.torch = torch
        wake_threads(torch)

        self.names = this_device.OnThisDevice()

    def read_names(self, *texts):
        """Lets "cuda" in the texts of a problem or a solution mean this device, until the next
        call. Without that word PyTorch stays as it is."""
        self.names.__exit__()
        if any("cuda" in text for text in texts):
            self.names.__enter__()

    def move(self, module):
        return module

    def tensor(self, command, fd, dtype, count):
        """Returns the judge's memory as a flat tensor."""
        _, _, _, _, flags, _, _, offset, length, data_offset = command[:10]
        protection = mmap.PROT_READ if flags & READ_ONLY else mmap.PROT_READ | mmap.PROT_WRITE
        return self.torch.frombuffer(
            mapped(fd, length, protection, offset), dtype=dtype, count=count, offset=data_offset
        )

    def take_arena(self, command, fd):
        return False  # There is no such setting.

    def release(self):
        """Unmaps everything. No tensor of it exists any more."""

    def give_back(self):
        """Returns unused memory. PyTorch keeps no memory of a processor."""

    def reserved(self):
        """Returns the bytes that PyTorch holds of the device's memory."""
        return 0

    def use_host_memory(self, allowed):
        """Lets the device's memory continue in that of the host: they are the same."""

    def spilled(self):
        """True if that has happened since the last call of this."""
        return False

    @staticmethod
    def make(function):
        """Returns the result of `function`, a problem's get_inputs, on this device."""
        return function()

    @staticmethod
    def address(pointer):
        """Returns a result's address as the judge counts."""
        return pointer

    # The function that lets a call wait for its turn in the stream, by its address.
    begin_call = None

    @staticmethod
    def share_progress(fd):
        """Returns the words of a kf_wire_progress, which the judge reads in a batch."""
        words = (ctypes.c_uint32 * 2).from_buffer(
            mapped(fd, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, 0)
        )
        words[1] = 1
        return words

    @staticmethod
    def results_in():
        """Returns where results lie: the first address, the end, and what to add so that an address
        is as the judge counts."""
        return 0, (1 << 64) - 1, 0

    @staticmethod
    def sampled(nonce, calls):
        """Returns the calls that the judge samples results of."""
        return ()

    def nothing(self):
        """Gives the device the least work."""

    @staticmethod
    def wait():
        """Waits until all work is done. Returns the seconds of it after the end of the stream of
        the calls."""
        return 0.0
