// Works in a context of its own, which no stream of the runner's context waits for. Each call waits
// for the one before it, so it gains nothing.
// rule: T1
// expect: wrong_result stream.unordered | wrong_result output.mismatch | correct
// at-most: 1.1
// devices: cuda
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>

typedef int (*create_function)(void **context, unsigned flags, int device);
typedef int (*get_function)(void **context);
typedef int (*set_function)(void *context);

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

static void *driver(const char *name)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult how;
    cudaGetDriverEntryPointByVersion(name, &found, 11040, cudaEnableDefault, &how);
    return found;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static void *own;
    void *before;
    (void)stream;
    ((get_function)driver("cuCtxGetCurrent"))(&before);
    if (!own) ((create_function)driver("cuCtxCreate"))(&own, 0, 0);
    ((set_function)driver("cuCtxSetCurrent"))(own);
    cudaDeviceSynchronize();
    k<<<(unsigned)((n + 255) / 256), 256>>>(x, y, a, n);
    ((set_function)driver("cuCtxSetCurrent"))(before);
}
