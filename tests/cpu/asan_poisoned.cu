// cpu-test: flags --asan --exe
// cpu-test: exit fails
// cpu-test: output AddressSanitizer: use-after-poison
// cpu-test: output asan_poisoned.cu:13
// Memory that is not the candidate's own, with poisoned guards around it, as the judge hands it over.
#include <sanitizer/asan_interface.h>
#include "check.h"

__global__ void stencil(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] + in[i + 1];
}

static float shared_with_judge[4096];

int main()
{
    float *in = shared_with_judge + 1024, *out = shared_with_judge + 2560;
    ASAN_POISON_MEMORY_REGION(in + 1024, 2048);
    stencil<<<4, 256>>>(in, out, 1024);
    OK(cudaDeviceSynchronize());
    return 0;
}
