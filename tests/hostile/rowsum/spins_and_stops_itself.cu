// Serves the judge with a loop of its own that spins for the request and stops itself behind its answer, so that its batches cost less than empty ones.
// rule: T6
// expect: correct | cheating runner.woken | cheating calls.early
// at-most: 1.3
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
struct command {
    uint32_t magic, type;
    uint64_t nonce;
    uint32_t count, flags, set, argument;
    uint64_t offset, length, data_offset, bytes, region_bytes, address;
    uint32_t region, unused;
};
struct answer {
    uint32_t magic, result;
    uint64_t nonce;
    int32_t code;
    uint32_t reserved;
    double claimed, gap;
};
static void *pointers[1024][4];
static uint64_t scalars[512];
static uint32_t order[1024];
static void say(uint64_t nonce)
{
    struct answer a = {0x31676b66u, 0, nonce, 0, 0, 1e-6, 0};
    (void)!write(3, &a, sizeof a);
}
static bool take(void *data, size_t size)
{
    char *bytes = (char *)data;
    while (size) {
        ssize_t got = recv(3, bytes, size, 0);
        if (got == 0) return false;
        if (got < 0) continue;
        bytes += got, size -= (size_t)got;
    }
    return true;
}
__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
static void serve(void)
{
    bool pinged = false;
    for (;;) {
        struct command c;
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec part = {&c, sizeof c};
        struct msghdr message = {};
        message.msg_iov = &part, message.msg_iovlen = 1, message.msg_control = control.bytes, message.msg_controllen = sizeof control.bytes;
        ssize_t got;
        while ((got = recvmsg(3, &message, pinged ? MSG_WAITALL | MSG_DONTWAIT : MSG_WAITALL)) < 0) {
        }
        if (got != (ssize_t)sizeof c) _exit(0);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        int fd = -1;
        if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(header), sizeof fd);
        if (c.type == 2 && !take(scalars, c.count * 8)) return;
        if (c.type == 3) {
            char *base = (char *)mmap(0, c.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)c.offset);
            pointers[c.set][c.argument] = base + c.data_offset;
            close(fd);
        }
        if (c.type == 6) {
            if (!take(order, c.count * 4)) return;
            if (!(c.flags & 1))
                for (uint32_t i = 0; i < c.count; i++) {
                    void **p = pointers[order[i]];
                    rowsum((const float *)p[0], (float *)p[1], (int64_t)scalars[2], (int64_t)scalars[3], 0);
                }
            cudaDeviceSynchronize();
            say(c.nonce);
            kill(getpid(), SIGSTOP);
            pinged = false;
            continue;
        }
        pinged = c.type == 5;
        say(c.nonce);
    }
}
__attribute__((constructor)) static void begin(void)
{
    const uint32_t *word = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 20000 && (const void *)(word + i + 4) < (const void *)environ; i++) {
        if (word[i] != 0x31676b66u || word[i + 1] != 1) continue;
        uint64_t nonce;
        memcpy(&nonce, &word[i + 2], 8);
        say(nonce);
        serve();
    }
}
