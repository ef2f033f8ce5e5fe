// cpu-test: flags --asan --exe
// cpu-test: exit fails
// cpu-test: output AddressSanitizer: heap-buffer-overflow
// cpu-test: output asan_shared.cu:11
#include "check.h"

template <int N> __global__ void reverse(float *x)
{
    __shared__ float tile[N];
    int i = threadIdx.x;
    tile[i + 1] = x[i];
    __syncthreads();
    x[i] = tile[N - 1 - i];
}

int main()
{
    float *x;
    OK(cudaMalloc(&x, 64 * sizeof *x));
    reverse<64><<<1, 64>>>(x);
    OK(cudaDeviceSynchronize());
    return 0;
}
