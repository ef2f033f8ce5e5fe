// Forks and joins a second stream by values that streams write and wait for.
// rule: stream memory operations, joined in the call
// expect: correct
// devices: cuda
// mode: timed
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
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

typedef CUresult operation(CUstream, CUdeviceptr, cuuint32_t, unsigned);
static operation *driver(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) abort();
    return (operation *)function;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    static operation *wait = driver("cuStreamWaitValue32_v2"),
                     *write = driver("cuStreamWriteValue32_v2");
    static cudaStream_t side;
    static uint32_t *words, turn;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaMalloc(&words, 8);
        cudaMemset(words, 0, 8);
        part(A, B, C, m, n, k, side); // a kernel that is loaded later would wait for the device
        cudaStreamSynchronize(side);
    }
    int64_t half = m / 2;
    CUdeviceptr forked = (CUdeviceptr)words, joined = (CUdeviceptr)(words + 1);
    turn++;
    write((CUstream)stream, forked, turn, CU_STREAM_WRITE_VALUE_DEFAULT);
    wait((CUstream)side, forked, turn, CU_STREAM_WAIT_VALUE_GEQ);
    part(A, B, C, half, n, k, stream);
    part(A + half * k, B, C + half * n, m - half, n, k, side);
    write((CUstream)side, joined, turn, CU_STREAM_WRITE_VALUE_DEFAULT);
    wait((CUstream)stream, joined, turn, CU_STREAM_WAIT_VALUE_GEQ);
}
