// A side stream waits for a value in memory that the call's stream writes, and is joined.
// rule: stream memory operations joined in the call
// expect: correct
// devices: cuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

template <typename function> static function *entry_point(const char *name)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion(name, &found, CUDA_VERSION, cudaEnableDefault, &status);
    return (function *)found;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static auto write = entry_point<decltype(cuStreamWriteValue32)>("cuStreamWriteValue32");
    static auto wait = entry_point<decltype(cuStreamWaitValue32)>("cuStreamWaitValue32");
    static cudaStream_t side;
    static uint32_t *flags, turn;
    if (!side) {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaMalloc(&flags, 2 * sizeof *flags);
        cudaMemset(flags, 0, 2 * sizeof *flags);
        cudaDeviceSynchronize();
    }
    turn++;
    CUdeviceptr begin = (CUdeviceptr)flags, end = (CUdeviceptr)(flags + 1);
    write(stream, begin, turn, CU_STREAM_WRITE_VALUE_DEFAULT);
    wait(side, begin, turn, CU_STREAM_WAIT_VALUE_EQ);
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, side>>>(x, y, a, n);
    write(side, end, turn, CU_STREAM_WRITE_VALUE_DEFAULT);
    wait(stream, end, turn, CU_STREAM_WAIT_VALUE_EQ);
}
