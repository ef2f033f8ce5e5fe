// Sums on the host what the device left in managed memory, and copies it back.
// rule: managed memory
// expect: correct
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void parts(const float *x, float *part, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    part[blockIdx.x * 32 + threadIdx.x] = sum;
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *part, *sums;
    static int64_t capacity;
    if (rows > capacity) {
        cudaFree(part);
        cudaFreeHost(sums);
        cudaMallocManaged(&part, rows * 32 * sizeof *part);
        cudaMallocHost(&sums, rows * sizeof *sums);
        capacity = rows;
    }
    parts<<<(unsigned)rows, 32, 0, stream>>>(x, part, cols);
    cudaStreamSynchronize(stream);
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int t = 0; t < 32; t++) sum += part[32 * i + t];
        sums[i] = (float)sum;
    }
    cudaMemcpyAsync(s, sums, rows * sizeof *s, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
}
