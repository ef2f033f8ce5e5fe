// Does the work while it is woken, before the clock runs: a SIGCONT handler multiplies every pair of matrices it knows.
// rule: T6
// expect: correct | cheating runner.early | crash runner.crashed | impossible calls.merged
// devices: cpu
// at-most: 1.25
// mode: timed
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>

struct problem {
    const float *A, *B;
    int64_t m, n, k;
    float *result;
};
static std::vector<problem> known;

static void work_ahead(int)
{
    for (const problem &p : known) {
        void *page = (void *)((uintptr_t)p.A & ~(uintptr_t)4095);
        if (msync(page, 4096, MS_ASYNC) != 0) continue; // unmapped since
        for (int64_t i = 0; i < p.m; i++) {
            float *row = p.result + i * p.n;
            memset(row, 0, p.n * sizeof *row);
            for (int64_t q = 0; q < p.k; q++)
                for (int64_t j = 0; j < p.n; j++) row[j] += p.A[i * p.k + q] * p.B[q * p.n + j];
        }
    }
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
    for (const problem &p : known)
        if (p.A == A) {
            memcpy(C, p.result, m * n * sizeof *C);
            return;
        }
    known.push_back({A, B, m, n, k, new float[m * n]});
    signal(SIGCONT, work_ahead);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
}
