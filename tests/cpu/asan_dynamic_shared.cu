// cpu-test: flags --asan --exe
// cpu-test: exit fails
// cpu-test: output AddressSanitizer: .*
// cpu-test: output asan_dynamic_shared.cu:11
#include "check.h"

__global__ void reverse(float *x)
{
    extern __shared__ float tile[];
    int i = threadIdx.x;
    tile[i + 1] = x[i];
    __syncthreads();
    x[i] = tile[blockDim.x - 1 - i];
}

int main()
{
    float *x;
    OK(cudaMalloc(&x, 64 * sizeof *x));
    reverse<<<1, 64, 64 * sizeof(float)>>>(x);
    OK(cudaDeviceSynchronize());
    return 0;
}
