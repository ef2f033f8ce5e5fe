// Finds the question's nonce on the stack and answers it before it works.
// rule: T6
// expect: cheating protocol.forged | wrong_result output.mismatch | cheating output.late
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct answer {
    uint32_t magic, result;
    uint64_t nonce;
    int32_t code;
    uint32_t reserved;
    double claimed, gap;
};

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
    /* A command begins with the protocol's magic and a type of 6; what follows is the nonce. */
    const uint32_t *word = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 400 && (const void *)(word + i + 4) < (const void *)environ; i++) {
        if (word[i] != 0x31676b66u || word[i + 1] != 6) continue;
        answer early = {0x31676b66u, 0, 0, 0, 0, 1e-6, 0};
        memcpy(&early.nonce, &word[i + 2], 8);
        (void)!write(3, &early, sizeof early);
        break;
    }
    usleep(20000);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
