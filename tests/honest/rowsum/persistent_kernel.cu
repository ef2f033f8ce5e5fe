// A kernel that stays for the call takes jobs from mapped memory until the host ends it.
// rule: persistent kernels joined in the call
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

struct mailbox {
    volatile int posted, finished;
};

__global__ void serve(const float *x, float *s, int64_t rows, int64_t cols, mailbox *box)
{
    __shared__ int job;
    for (int taken = 0;; taken++) {
        if (threadIdx.x == 0) {
            while ((job = box->posted) == taken) __nanosleep(200);
            __threadfence_system();
        }
        __syncthreads();
        if (job < 0) return;
        for (int64_t i = taken * rows / 4 + threadIdx.x / 32; i < (taken + 1) * rows / 4; i += 8) {
            float sum = 0;
            for (int64_t j = threadIdx.x % 32; j < cols; j += 32) sum += x[i * cols + j];
            sum = warp_sum(sum);
            if (threadIdx.x % 32 == 0) s[i] = sum;
        }
        __syncthreads();
        __threadfence_system();
        if (threadIdx.x == 0) box->finished = taken + 1;
    }
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static mailbox *box, *seen;
    if (!box) {
        cudaHostAlloc((void **)&box, sizeof *box, cudaHostAllocMapped);
        cudaHostGetDevicePointer((void **)&seen, box, 0);
    }
    box->posted = box->finished = 0;
    serve<<<1, 256, 0, stream>>>(x, s, rows, cols, seen);
    for (int job = 1; job <= 4; job++) {
        box->posted = job;
        while (box->finished < job && cudaStreamQuery(stream) == cudaErrorNotReady) continue;
    }
    box->posted = -1;
    cudaStreamSynchronize(stream);
}
