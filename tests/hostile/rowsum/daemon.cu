// Forks twice and leaves a daemon in a session of its own.
// rule: E4
// expect: correct
#include <cuda_runtime.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static bool tried;
    if (!tried) {
        tried = true;
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                for (;;) pause();
            _exit(0);
        }
        if (syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0)
            for (;;) pause();
    }
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
