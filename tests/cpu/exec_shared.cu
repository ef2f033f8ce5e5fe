// Static, dynamic and namespace-scope shared memory, two dimensions, alignment, several arrays; every block has its own.
#include "exec_check.h"
#include <stdint.h>

__global__ void transpose(const float *in, float *out, int n)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void dynamic(int *out, int n)
{
    extern __shared__ int buffer[];
    int *second = buffer + n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = i * (blockIdx.x + 1);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) second[i] = buffer[n - 1 - i];
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < n; i++) sum += second[i];
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
template <class T> __global__ void typed(T *out)
{
    extern __shared__ __align__(16) unsigned char raw[];
    T *buffer = reinterpret_cast<T *>(raw);
    buffer[threadIdx.x] = (T)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = buffer[(threadIdx.x + 1) % blockDim.x];
    if (threadIdx.x == 0) out[blockDim.x] = (T)((uintptr_t)raw % 16 == 0);
}
__global__ void two(int *out)
{
    __shared__ alignas(16) int a[33], counter;
    __shared__ double b[33];
    if (threadIdx.x == 0) counter = 0;
    a[threadIdx.x] = threadIdx.x;
    b[threadIdx.x] = 0.5;
    __syncthreads();
    atomicAdd(&counter, a[32 - threadIdx.x] + (int)(2 * b[threadIdx.x]));
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = counter;
}

int main()
{
    int n = 100;
    float *in = memory<float>(n * n), *out = memory<float>(n * n);
    for (int i = 0; i < n * n; i++) in[i] = i;
    transpose<<<dim3(7, 7), dim3(16, 16)>>>(in, out, n);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < n * n; i++) CHECK(out[i] == (i % n) * n + i / n);
    int *sums = memory<int>(300);
    for (int size : {1, 100, 3000}) {
        dynamic<<<300, 64, 2 * size * sizeof(int)>>>(sums, size);
        CHECK_CUDA(cudaDeviceSynchronize());
        for (int b = 0; b < 300; b++) CHECK(sums[b] == (long long)size * (size - 1) / 2 * (b + 1));
    }
    double *d = memory<double>(101);
    typed<<<1, 100, 100 * sizeof(double)>>>(d);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++) CHECK(d[i] == (i + 1) % 100);
    CHECK(d[100] == 1);
    two<<<200, 33>>>(sums);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int b = 0; b < 200; b++) CHECK(sums[b] == 33 * 32 / 2 + 33);
    return result();
}
