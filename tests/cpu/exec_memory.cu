// Vector types and their alignment, cached loads, __constant__ and __device__ variables, pipeline primitives, printf, clocks, fences.
#include "exec_check.h"
#include <cuda_pipeline.h>

__constant__ float weights[8];
__device__ int counter;
__device__ float table[4] = {1, 2, 3, 4};

__global__ void vectors(const float4 *in, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = __ldg(&in[i]);
    v.x += weights[0], v.y *= table[1];
    float2 pair = *reinterpret_cast<float2 *>(&v.z);
    v.w = pair.x + pair.y;
    __stcs(&out[i], v);
    atomicAdd(&counter, 1);
}
__global__ void staged(const int4 *in, int4 *out)
{
    __shared__ __align__(16) int4 buffer[64];
    __pipeline_memcpy_async(&buffer[threadIdx.x], &in[threadIdx.x], sizeof(int4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = buffer[63 - threadIdx.x];
    long long before = clock64();
    __threadfence();
    __threadfence_block();
    if (clock64() < before) out[threadIdx.x].x = -1;
    if (threadIdx.x == 0) printf("block %d of %d\n", (int)blockIdx.x, (int)gridDim.x);
}

int main()
{
    static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && alignof(float4) == 16 && alignof(int2) == 8, "");
    static_assert(sizeof(uchar4) == 4 && alignof(uchar4) == 4 && alignof(double2) == 16 && alignof(short4) == 8, "");
    static_assert(alignof(longlong2) == 16 && sizeof(ushort3) == 6 && sizeof(char3) == 3 && alignof(uint4) == 16, "");
    float host[8] = {10};
    CHECK_CUDA(cudaMemcpyToSymbol(weights, host, sizeof host));
    float4 *in = memory<float4>(100), *out = memory<float4>(100);
    for (int i = 0; i < 100; i++) in[i] = make_float4(i, 1, 2, 3);
    vectors<<<4, 32>>>(in, out, 100);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++) CHECK(out[i].x == i + 10 && out[i].y == 2 && out[i].z == 2 && out[i].w == 5);
    int count = 0;
    CHECK_CUDA(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(count == 100);
    int4 *a = memory<int4>(64), *b = memory<int4>(64);
    for (int i = 0; i < 64; i++) a[i] = make_int4(i, 0, 0, -i);
    staged<<<1, 64>>>(a, b);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CHECK(b[i].x == 63 - i && b[i].w == i - 63);
    return result();
}
