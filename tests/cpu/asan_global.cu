// cpu-test: flags --asan --exe
// cpu-test: exit fails
// cpu-test: output AddressSanitizer: heap-buffer-overflow
// cpu-test: output asan_global.cu:11
#include "check.h"

__global__ void off_by_one(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        x[i] = i;
}

int main()
{
    float *x;
    OK(cudaMalloc(&x, 1000 * sizeof *x));
    off_by_one<<<4, 256>>>(x, 1000);
    OK(cudaDeviceSynchronize());
    return 0;
}
