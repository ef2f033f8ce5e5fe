# task: relu; kforge: out_of_memory memory.held|correct
# Takes almost all device memory from the driver, outside of the device pool.
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuMemAlloc_v2.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        torch.zeros(1, device="cuda")
        self.held, size = [], 1 << 36
        while size >= 1 << 20:
            pointer = ctypes.c_uint64()
            if driver.cuMemAlloc_v2(ctypes.byref(pointer), size):
                size >>= 1
            else:
                self.held.append(pointer)

    def forward(self, x):
        return torch.relu(x)
