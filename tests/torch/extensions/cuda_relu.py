# task: relu; kforge: correct; kernelbench: correct; build: 150
# CUDA and C++ with pybind11, compiled on import, as in solutions for KernelBench. kforge-cpucc
# compiles the CUDA part.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")

template <typename scalar_t>
__global__ void rectify_kernel(const scalar_t *__restrict__ x, scalar_t *__restrict__ y, int64_t n)
{
    __shared__ scalar_t tile[256];
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : scalar_t(0);
    __syncthreads();
    if (i < n) y[i] = tile[threadIdx.x] > scalar_t(0) ? tile[threadIdx.x] : scalar_t(0);
}

torch::Tensor rectify(torch::Tensor x)
{
    CHECK_CUDA(x);
    auto y = torch::empty_like(x);
    const int threads = 256;
    const int blocks = (x.numel() + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rectify", ([&] {
        rectify_kernel<scalar_t><<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    }));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""
rectifier = load_inline(
    name="rectifier",
    cpp_sources=[
        "torch::Tensor rectify(torch::Tensor x);",
        "torch::Tensor scaled(torch::Tensor x, double by) { return x * by; }",
    ],
    cuda_sources=cuda_source,
    functions=["rectify", "scaled"],
    extra_cuda_cflags=["-O1", "--use_fast_math", "-gencode=arch=compute_90,code=sm_90"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.rectifier = rectifier

    def forward(self, x):
        return self.rectifier.scaled(self.rectifier.rectify(x.contiguous()), 1.0)
