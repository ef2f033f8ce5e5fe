// Its first thread, which the judge knows the process by, ends; another one serves on.
// rule: T6
// expect: contract_violation threads.ended | timeout time.limit | crash runner.crashed | crash runner.exited
// devices: cpu
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t nonce;

struct answer {
    uint32_t magic, result;
    uint64_t nonce;
    int32_t code;
    uint32_t reserved;
    double claimed, gap;
};

static void *serve(void *)
{
    usleep(2000);
    struct answer a = {0x31676b66u, 0, nonce, 0, 0, 1e-6, 0};
    (void)!write(3, &a, sizeof a);
    for (;;) {
        char command[96];
        if (recv(3, command, sizeof command, MSG_WAITALL) != (ssize_t)sizeof command) continue;
        memcpy(&a.nonce, command + 8, 8);
        uint32_t count;
        memcpy(&count, command + 16, 4);
        static char much[8192];
        if (command[4] == 6) (void)!recv(3, much, count * 4, MSG_WAITALL);
        (void)!write(3, &a, sizeof a);
    }
}

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    cudaStreamSynchronize(stream);
    const uint32_t *word = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 4000 && (const void *)(word + i + 4) < (const void *)environ; i++) {
        if (word[i] != 0x31676b66u || word[i + 1] != 6) continue;
        memcpy(&nonce, &word[i + 2], 8);
        pthread_t other;
        pthread_create(&other, NULL, serve, NULL);
        syscall(SYS_exit, 0);
    }
}
