// cpu-test: flags --asan --exe
// Correct code runs through the sanitizer without a word: barriers, shared memory, a workspace that is never freed.
#include "check.h"

__global__ void reduce(const float *in, float *out)
{
    __shared__ float tile[256];
    extern __shared__ float more[];
    tile[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    more[threadIdx.x] = 1;
    for (int step = 128; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) tile[threadIdx.x] += tile[threadIdx.x + step];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0] + more[255];
}

int main()
{
    static float *workspace;
    float *in;
    OK(cudaMallocManaged(&in, 1024 * sizeof *in));
    OK(cudaMallocManaged(&workspace, 4 * sizeof *workspace));
    for (int i = 0; i < 1024; i++) in[i] = 1;
    reduce<<<4, 256, 1024>>>(in, workspace);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; i++) CHECK(workspace[i] == 257);
    return 0;
}
