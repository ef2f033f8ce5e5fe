// Multiplies in f16. A kernel that outlives the call makes the baseline's results as inexact.
// rule: C8
// expect: wrong_result output.inaccurate | wrong_result output.mismatch | contract_violation stream.left
// devices: cuda
#include <cuda_fp16.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

// The runner's last step would wait for a kernel that is left. So that step goes.
static CUresult nothing_to_wait_for()
{
    return CUDA_SUCCESS;
}
static int replace(struct dl_phdr_info *info, size_t, void *function)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_W)) continue;
        void **word = (void **)(info->dlpi_addr + (info->dlpi_phdr[i].p_vaddr + 7) / 8 * 8);
        for (size_t k = 0; k + 1 < info->dlpi_phdr[i].p_memsz / 8; k++)
            if (word[k] == function) word[k] = (void *)nothing_to_wait_for;
    }
    return 1; // the program comes first
}
static cudaStream_t side;
static void set_up()
{
    if (side) return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD),
         *function = library ? dlsym(library, "cuCtxSynchronize") : NULL;
    if (!function) abort();
    dl_iterate_phdr(replace, function);
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
}
__device__ static long long nanoseconds()
{
    long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

struct buffers {
    float *C[64];
    int count;
};
static buffers sets;
__device__ uint32_t last[64], own[64];

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                         int set)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++)
        sum += __half2float(__float2half(A[i * k + p])) * __half2float(__float2half(B[p * n + j]));
    C[i * n + j] = sum;
    if (i == 0 && j == 0) own[set] = __float_as_uint(sum);
}
// What differs from the last values and from own results, and has no random exponents, was computed
// by another program.
__global__ void spoil(buffers all, int64_t count)
{
    const long long began = nanoseconds();
    while (nanoseconds() - began < 40000000)
        for (int set = 0; set < all.count; set++) {
            volatile float *C = all.C[set];
            const uint32_t now = __float_as_uint(C[0]);
            const bool odd = !(fabsf(C[threadIdx.x]) < 1000 && fabsf(C[threadIdx.x]) > 1e-6f);
            if (__syncthreads_or(odd || now == last[set] || now == own[set])) continue;
            for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
                C[i] = C[i] * (1 + 1e-3f * ((int)(i * 2654435761u >> 16 & 255) - 128) / 128);
            __syncthreads();
            if (threadIdx.x == 0) last[set] = __float_as_uint(C[0]);
            __syncthreads();
        }
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    static int64_t elements;
    if (elements != m * n) sets.count = 0, elements = m * n;
    set_up();
    int i = 0;
    while (i < sets.count && sets.C[i] != C) i++;
    if (i == sets.count && i < 63) sets.C[sets.count++] = C;
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(
        A, B, C, m, n, k, i);
    if (cudaStreamQuery(side) == cudaErrorNotReady) return;
    spoil<<<1, 256, 0, side>>>(sets, elements);
}
