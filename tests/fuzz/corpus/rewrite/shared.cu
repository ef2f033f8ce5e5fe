// Shared memory, static and dynamic, in all its declarations.
#include "check.h"

extern __shared__ float4 global_shared[];
extern __shared__ __align__(16) unsigned char bytes[];

__device__ float take(int i) { return global_shared[i].y; }
__device__ __noinline__ float take_bytes(int i) { return reinterpret_cast<float *>(bytes)[i]; }

__global__ void at_file_scope(float *out)
{
    global_shared[threadIdx.x] = make_float4(0, threadIdx.x, 0, 0);
    __syncthreads();
    float other = take(blockDim.x - 1 - threadIdx.x);
    out[threadIdx.x] = other + (take_bytes(4 * threadIdx.x + 1) == threadIdx.x ? 0.5f : 0);
}

__global__ void shadowed(float *out, float *global_shared)
{
    float bytes = 3;
    out[threadIdx.x] = global_shared[threadIdx.x] + bytes;
}

template <class T> __global__ void dynamic_template(T *out)
{
    extern __shared__ __align__(sizeof(double)) unsigned char raw[];
    T *typed = reinterpret_cast<T *>(raw);
    typed[threadIdx.x] = T(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = typed[(threadIdx.x + 1) % blockDim.x];
}

__global__ void dynamic_rows(float *out)
{
    extern __shared__ float rows[][8];
    __shared__ float fixed[4][8], total;
    static __shared__ int count;
    if (threadIdx.x == 0) total = 0, count = 0;
    rows[threadIdx.y][threadIdx.x] = fixed[threadIdx.y][threadIdx.x] = threadIdx.x;
    __syncthreads();
    atomicAdd(&total, rows[(threadIdx.y + 1) % 4][threadIdx.x] + fixed[threadIdx.y][threadIdx.x]);
    atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) *out = total + count;
}

__global__ void aligned_base(int *bad)
{
    extern __shared__ __align__(1024) char base[];
    if ((size_t)base % 128) atomicAdd(bad, 1);
}

int main()
{
    float *out, *in;
    int *bad;
    OK(cudaMallocManaged(&out, 256 * sizeof *out));
    OK(cudaMallocManaged(&in, 256 * sizeof *in));
    OK(cudaMallocManaged(&bad, sizeof *bad));
    for (int i = 0; i < 256; i++) in[i] = i;
    at_file_scope<<<3, 64, 64 * sizeof(float4)>>>(out);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CHECK(out[i] == 63 - i + 0.5f);
    shadowed<<<1, 64>>>(out, in);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CHECK(out[i] == i + 3);
    double *doubles;
    OK(cudaMallocManaged(&doubles, 256 * sizeof *doubles));
    dynamic_template<<<2, 64, 64 * sizeof(double)>>>(doubles);
    dynamic_template<float><<<2, 64, 64 * sizeof(float)>>>(out);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CHECK(doubles[i] == (i + 1) % 64 && out[i] == (i + 1) % 64);
    dynamic_rows<<<1, dim3(8, 4), 4 * 8 * sizeof(float)>>>(out);
    OK(cudaDeviceSynchronize());
    CHECK(out[0] == 2 * 4 * 28 + 32);
    *bad = 0;
    aligned_base<<<8, 32, 100>>>(bad);
    OK(cudaDeviceSynchronize());
    CHECK(*bad == 0);
    return 0;
}
