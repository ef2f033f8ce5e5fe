// Times two of its variants in its first call, with a clock of the machine, and keeps the better.
// rule: tuning in the first call
// expect: correct
#include <chrono>
#include <cuda_runtime.h>
#include <stdint.h>

template <int width> __global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * width + threadIdx.x, i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static int best;
    if (!best) {
        double seconds[2];
        for (int variant = 0; variant < 2; variant++) {
            auto started = std::chrono::steady_clock::now();
            if (variant)
                multiply<32>
                    <<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
            else
                multiply<16>
                    <<<dim3((unsigned)((n + 15) / 16), (unsigned)((m + 15) / 16)), dim3(16, 16), 0, stream>>>(A, B, C, m, n, k);
            cudaStreamSynchronize(stream);
            seconds[variant] = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
        }
        best = seconds[1] < seconds[0] ? 32 : 16;
    }
    if (best == 32)
        multiply<32><<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
    else
        multiply<16><<<dim3((unsigned)((n + 15) / 16), (unsigned)((m + 15) / 16)), dim3(16, 16), 0, stream>>>(A, B, C, m, n, k);
}
