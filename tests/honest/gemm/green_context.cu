// Half of the product on a green context's stream, forked and joined by events.
// rule: green contexts, joined in the call
// expect: correct
// devices: cuda
// mode: timed
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
static void part(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                 cudaStream_t stream)
{
    if (m)
        multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0,
                   stream>>>(A, B, C, m, n, k);
}

template <typename F> static F *driver(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) abort();
    return (F *)function;
}
static void check(CUresult result)
{
    if (result != CUDA_SUCCESS) fprintf(stderr, "error %d\n", (int)result), abort();
}
static cudaStream_t green_stream()
{
    CUdevResource all, some, rest;
    CUdevResourceDesc description;
    CUgreenCtx green;
    CUstream stream;
    unsigned groups = 1;
    check(driver<CUresult(CUdevice, CUdevResource *, CUdevResourceType)>("cuDeviceGetDevResource")(
        0, &all, CU_DEV_RESOURCE_TYPE_SM));
    check(driver<CUresult(CUdevResource *, unsigned *, const CUdevResource *, CUdevResource *,
                          unsigned, unsigned)>("cuDevSmResourceSplitByCount")(&some, &groups, &all,
                                                                              &rest, 0, 64));
    check(driver<CUresult(CUdevResourceDesc *, CUdevResource *, unsigned)>(
        "cuDevResourceGenerateDesc")(&description, &some, 1));
    check(driver<CUresult(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned)>("cuGreenCtxCreate")(
        &green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    check(driver<CUresult(CUstream *, CUgreenCtx, unsigned, int)>("cuGreenCtxStreamCreate")(
        &stream, green, CU_STREAM_NON_BLOCKING, 0));
    return (cudaStream_t)stream;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    static cudaStream_t side = green_stream();
    static cudaEvent_t fork, join;
    if (!fork) {
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    int64_t half = m / 2;
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(side, fork, 0);
    part(A, B, C, half, n, k, stream);
    part(A + half * k, B, C + half * n, m - half, n, k, side);
    cudaEventRecord(join, side);
    cudaStreamWaitEvent(stream, join, 0);
}
