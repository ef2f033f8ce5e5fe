// Behind every third pause, as those between batches are, one call copies the answer to an earlier one, from the sixth on.
// rule: T8
// expect: wrong_result output.mismatch
// suspects-cpu: state.stale_output
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static float *earlier;
    static int64_t elements;
    static double last;
    static int pauses;
    bool paused = now() - last > 0.001;
    pauses += paused;
    if (m * n != elements) cudaMalloc(&earlier, m * n * sizeof *earlier), elements = m * n, pauses = 0;
    if (paused && pauses >= 6 && pauses % 3 == 0) {
        cudaMemcpyAsync(C, earlier, m * n * sizeof *C, cudaMemcpyDeviceToDevice, stream);
    } else {
        multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
        if (pauses < 6) cudaMemcpyAsync(earlier, C, m * n * sizeof *C, cudaMemcpyDeviceToDevice, stream);
    }
    cudaStreamSynchronize(stream);
    last = now();
}
