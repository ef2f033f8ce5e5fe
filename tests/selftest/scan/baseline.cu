#include <cuda_runtime.h>
#include <stdint.h>

/* A warp's part of the input: at most 128 warps cover all of it. */
static int64_t part_of(int64_t n)
{
    int64_t part = (n + 127) / 128;
    return part < 256 ? 256 : part;
}

__global__ void sum_parts(const int32_t *x, int32_t *sums, int64_t n, int64_t part)
{
    int64_t end = (blockIdx.x + 1) * part < n ? (blockIdx.x + 1) * part : n;
    int32_t sum = 0;
    for (int64_t i = blockIdx.x * part + threadIdx.x; i < end; i += 32) sum += x[i];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void scan_parts(const int32_t *x, const int32_t *sums, int32_t *y, int64_t n,
                           int64_t part)
{
    int64_t end = (blockIdx.x + 1) * part < n ? (blockIdx.x + 1) * part : n;
    int32_t before = 0;
    for (unsigned b = 0; b < blockIdx.x; b++) before += sums[b];
    for (int64_t begin = blockIdx.x * part; begin < end; begin += 32) {
        int64_t i = begin + threadIdx.x;
        int32_t sum = i < end ? x[i] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int32_t left = __shfl_up_sync(~0u, sum, step);
            if (threadIdx.x >= step) sum += left;
        }
        if (i < end) y[i] = before + sum;
        before += __shfl_sync(~0u, sum, 31);
    }
}

extern "C" void scan(const int32_t *x, int32_t *y, int64_t n, cudaStream_t stream)
{
    static int32_t *sums;
    if (!sums) cudaMalloc(&sums, 128 * sizeof *sums);
    int64_t part = part_of(n);
    unsigned parts = (unsigned)((n + part - 1) / part);
    sum_parts<<<parts, 32, 0, stream>>>(x, sums, n, part);
    scan_parts<<<parts, 32, 0, stream>>>(x, sums, y, n, part);
}
