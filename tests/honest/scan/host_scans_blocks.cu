// The host scans the sums of the blocks, between two kernels.
// rule: work of the host in the call
// expect: correct
#include <cuda_runtime.h>
#include <numeric>
#include <stdint.h>
#include <vector>

#define WIDTH 256
__global__ void scan_blocks(const int32_t *x, int32_t *y, int32_t *sums, int64_t n)
{
    __shared__ int32_t values[WIDTH];
    int64_t i = (int64_t)blockIdx.x * WIDTH + threadIdx.x;
    values[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int step = 1; step < WIDTH; step *= 2) {
        int32_t left = threadIdx.x >= step ? values[threadIdx.x - step] : 0;
        __syncthreads();
        values[threadIdx.x] += left;
        __syncthreads();
    }
    if (i < n) y[i] = values[threadIdx.x];
    if (threadIdx.x == WIDTH - 1) sums[blockIdx.x] = values[threadIdx.x];
}

__global__ void add_before(int32_t *y, const int32_t *sums, int64_t n)
{
    int64_t i = (int64_t)(blockIdx.x + 1) * WIDTH + threadIdx.x;
    if (i < n) y[i] += sums[blockIdx.x];
}

extern "C" void scan(const int32_t *x, int32_t *y, int64_t n, cudaStream_t stream)
{
    int64_t blocks = (n + WIDTH - 1) / WIDTH;
    int32_t *sums = nullptr;
    std::vector<int32_t> host(blocks);
    cudaMallocAsync((void **)&sums, blocks * sizeof *sums, stream);
    scan_blocks<<<(unsigned)blocks, WIDTH, 0, stream>>>(x, y, sums, n);
    cudaMemcpyAsync(host.data(), sums, blocks * 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    std::partial_sum(host.begin(), host.end(), host.begin());
    cudaMemcpyAsync(sums, host.data(), blocks * 4, cudaMemcpyHostToDevice, stream);
    if (blocks > 1) add_before<<<(unsigned)(blocks - 1), WIDTH, 0, stream>>>(y, sums, n);
    cudaFreeAsync(sums, stream);
    cudaStreamSynchronize(stream);
}
