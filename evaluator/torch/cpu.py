"""The place of a runner's modules on a processor. gpu.py is the other place. runner.py uses only
the methods of this class."""
import ctypes
import mmap
import os
import weakref

READ_ONLY = 2  # evaluator/protocol/wire.h

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mmap.restype = ctypes.c_void_p
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
MAP_FAILED = ctypes.c_void_p(-1).value


def mapped(fd, length, protection, offset):
    """Shared memory as an object with the buffer protocol, mapped for as long as anything refers to
    it. mmap.mmap keeps a descriptor for each mapping (until Python 3.13's trackfd): sets of many
    arguments are more than a process may have."""
    address = LIBC.mmap(None, length, protection, mmap.MAP_SHARED, fd, offset)
    if address == MAP_FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    memory = (ctypes.c_ubyte * length).from_address(address)
    # Tensors may be in use until the end.
    weakref.finalize(memory, LIBC.munmap, address, length).atexit = False
    return memory


def wake_threads(torch):
    """All threads that PyTorch will ever have are started before anybody counts them."""
    a = torch.rand(256, 256)
    torch.relu(a @ a).sum()
    torch.nn.functional.conv2d(torch.rand(2, 8, 32, 32), torch.rand(8, 8, 3, 3))
    torch.rand(1 << 20).exp_()


class Place:
    kind = "cpu"

    def __init__(self, torch):
        self.torch = torch
        wake_threads(torch)

    def move(self, module):
        return module

    def tensor(self, command, fd, dtype, count):
        """The judge's memory as a flat tensor."""
        _, _, _, _, flags, _, _, offset, length, data_offset = command[:10]
        protection = mmap.PROT_READ if flags & READ_ONLY else mmap.PROT_READ | mmap.PROT_WRITE
        return self.torch.frombuffer(mapped(fd, length, protection, offset), dtype=dtype, count=count, offset=data_offset)

    def take_arena(self, command, fd):
        return False  # there is none

    def release(self):
        """Everything that was mapped; tensors of it are gone by now."""

    @staticmethod
    def make(function):
        """What `function` returns, a problem's get_inputs, on this device."""
        return function()

    @staticmethod
    def address(pointer):
        """A result's address as the judge counts."""
        return pointer

    def nothing(self):
        """The least that makes the device do anything."""

    @staticmethod
    def wait():
        """Until all that was begun is done; seconds of it after the stream that calls are made on.
        """
        return 0.0
