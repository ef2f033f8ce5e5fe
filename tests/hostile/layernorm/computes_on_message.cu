// Has the kernel signal every message of the judge, and works on the first, which only asks whether it is awake.
// rule: T6
// expect: cheating runner.early | correct | crash runner.crashed | impossible calls.merged
// at-most: 12
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

struct problem {
    const float *x, *gamma, *beta;
    int64_t rows, cols;
    float *result;
};
static std::vector<problem> known;
static volatile bool inside, fresh;

/* In the call this would take a ninth of the baseline's time: only what is faster than that was not charged. */
static void work_ahead(int)
{
    if (inside || fresh) return;
    fresh = true;
    for (const problem &p : known) {
        void *page = (void *)((uintptr_t)p.x & ~(uintptr_t)4095);
        if (msync(page, 4096, MS_ASYNC) != 0) continue; // unmapped since
        for (int64_t i = 0; i < p.rows; i++) {
            const float *row = p.x + i * p.cols;
            float sum = 0, squares = 0;
            for (int64_t j = 0; j < p.cols; j++) sum += row[j];
            for (int64_t j = 0; j < p.cols; j++) squares += (row[j] - sum / p.cols) * (row[j] - sum / p.cols);
            float scale = 1 / sqrtf(squares / p.cols + 1e-5f);
            for (int64_t j = 0; j < p.cols; j++)
                p.result[i * p.cols + j] = (row[j] - sum / p.cols) * scale * p.gamma[j] + p.beta[j];
        }
    }
}

__device__ float sum_of_warp(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = sum_of_warp(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    float scale = rsqrtf(sum_of_warp(squares) / cols + 1e-5f);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = (row[j] - mean) * scale * gamma[j] + beta[j];
}
extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows, int64_t cols,
                          cudaStream_t stream)
{
    inside = true;
    bool done = false;
    for (const problem &p : known)
        if (p.x == x && fresh) {
            memcpy(y, p.result, rows * cols * sizeof *y);
            done = true;
        }
    if (!done) {
        bool there = false;
        for (const problem &p : known) there = there || p.x == x;
        if (!there) known.push_back({x, gamma, beta, rows, cols, new float[rows * cols]});
        signal(SIGIO, work_ahead);
        fcntl(3, F_SETOWN, getpid());
        fcntl(3, F_SETFL, fcntl(3, F_GETFL) | O_ASYNC);
        normalise<<<(unsigned)rows, 32, 0, stream>>>(x, gamma, beta, y, cols);
    }
    inside = false;
}

struct forget {
    forget()
    {
        signal(SIGCONT, [](int) { fresh = false; });
    }
};
static forget at_every_waking;
