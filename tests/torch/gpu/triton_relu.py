# task: relu; kforge: correct
# Two kernels in Triton. The second is tuned in the dry run. The runner finds both compiled.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < count, other=0.0)
    tl.store(y + at, tl.maximum(value, 0.0), mask=at < count)


@triton.autotune(configs=[triton.Config({"BLOCK": 256}, num_warps=2), triton.Config({"BLOCK": 1024}, num_warps=4)], key=["count"])
@triton.jit
def copy_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < count), mask=at < count)


class ModelNew(nn.Module):
    def forward(self, x):
        between, result = torch.empty_like(x), torch.empty_like(x)
        count = x.numel()
        copy_kernel[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](x, between, count)
        relu_kernel[(triton.cdiv(count, 512),)](between, result, count, BLOCK=512)
        return result
