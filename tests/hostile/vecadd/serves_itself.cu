// Never returns from its constructor: it serves the judge with a loop of its own, which does not sleep between ping and batch, moves no threads and so
// takes less than an empty batch of the runner does.
// rule: T6
// expect: correct | impossible floor.undercut | cheating calls.early
// at-most: 20
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
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

static void *pointers[1024][8];
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
        ssize_t got = recv(3, bytes, size, MSG_DONTWAIT);
        if (got == 0) return false;
        if (got < 0) continue;
        bytes += got, size -= (size_t)got;
    }
    return true;
}

static void add(const float *x, const float *y, float *z, int64_t n)
{
    for (int64_t i = 0; i < n; i++) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    add(x, y, z, n);
}

static void serve(void)
{
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
        while ((got = recvmsg(3, &message, MSG_WAITALL | MSG_DONTWAIT)) < 0) {
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
            for (uint32_t i = 0; i < c.count; i++) {
                void **p = pointers[order[i]];
                add((const float *)p[0], (const float *)p[1], (float *)p[2], (int64_t)scalars[3]);
            }
        }
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
