// Bulk copies to shared memory complete on a barrier. What is left over takes plain loads.
// rule: bulk asynchronous copies
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

#define CHUNK 1024
__device__ void copy_in(float *to, const float *from, unsigned barrier)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(at),
                 "l"(from), "r"(CHUNK * 4), "r"(barrier)
                 : "memory");
}

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    __shared__ alignas(128) float a[CHUNK], b[CHUNK];
    __shared__ alignas(8) uint64_t barrier;
    int64_t first = (int64_t)blockIdx.x * CHUNK;
    if (first + CHUNK > n || ((uintptr_t)x | (uintptr_t)y) % 16 != 0) {
        for (int64_t i = first + threadIdx.x; i < n && i < first + CHUNK; i += blockDim.x)
            z[i] = x[i] + y[i];
        return;
    }
    unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), done = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at),
                     "r"(2 * CHUNK * 4)
                     : "memory");
        copy_in(a, x + first, at);
        copy_in(b, y + first, at);
    }
    __syncthreads();
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at)
                     : "memory");
    for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) z[first + i] = a[i] + b[i];
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add<<<(unsigned)((n + CHUNK - 1) / CHUNK), 128, 0, stream>>>(x, y, z, n);
}
