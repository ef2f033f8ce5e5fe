# task: relu; kforge: contract_violation input.mutated; cuda: correct
"""Ends a thread at the end of forward. The word that the kernel clears then lies in the input."""
import ctypes
import os
import threading

import torch
import torch.nn as nn

LIBC = ctypes.CDLL(None)
SET_TID_ADDRESS = {"x86_64": 218, "aarch64": 96}[os.uname().machine]


class ModelNew(nn.Module):
    def forward(self, x):
        result = torch.relu(x)
        word = x.data_ptr() + 4 * (x.numel() // 2)
        ready = threading.Event()

        def end():
            ready.set()
            LIBC.syscall(SET_TID_ADDRESS, ctypes.c_void_p(word))

        threading.Thread(target=end, daemon=True).start()
        ready.wait()
        return result
