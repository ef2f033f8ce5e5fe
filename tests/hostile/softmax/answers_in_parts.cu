// The first call sends a part of the batch's answer, and then does all calls of the batch on two
// processors. The judge once took the part for the end of the batch, and looked no more.
// rule: T9
// expect: cheating calls.early
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <thread>
#include <vector>
#include <link.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);
static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512];
    uint64_t scalars[512];
    uint32_t order[1024];
    double pinged;
} *runner;
struct command_view {
    uint32_t magic, type;
    uint64_t nonce;
    uint32_t count;
};
static int find_runner(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum && !runner; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        void **at = (void **)(info->dlpi_addr + part->p_vaddr),
             **end = (void **)(info->dlpi_addr + part->p_vaddr + part->p_memsz);
        for (; at + 2 < end && !runner; at++)
            if (*at == (void *)kforge_entry) runner = (runner_view *)(at - 2);
    }
    return 1;
}
/* The command lies in a frame further up. */
static uint32_t calls_in_batch(void)
{
    const uint32_t *at = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 4096 && (const void *)(at + i + 6) < (const void *)environ; i++) {
        const command_view *command = (const command_view *)(at + i);
        if (command->magic == 0x31676b66u && command->type == 6 && command->count <= 1024)
            return command->count;
    }
    return 0;
}
static double batch;
static uint32_t number, count;
static bool new_batch(void)
{
    if (!runner) dl_iterate_phdr(find_runner, 0);
    bool fresh = runner && runner->pinged != batch;
    if (fresh) number = 0, count = calls_in_batch(), batch = runner->pinged;
    number++;
    return fresh;
}
__host__ __device__ static void rows_of(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) most = fmaxf(most, x[j]);
        for (int64_t j = 0; j < cols; j++) sum += y[j] = expf(x[j] - most);
        for (int64_t j = 0; j < cols; j++) y[j] = (float)(y[j] / sum);
    }
}
static std::vector<float> in[1024], out[1024];
static void do_some(uint32_t from, uint32_t to, int64_t rows, int64_t cols)
{
    size_t size = rows * cols;
    for (uint32_t i = from; i < to; i += 2) {
        const float *x = (const float *)runner->pointers[4 * runner->order[i]];
        if (in[i].empty()) in[i].resize(size), out[i].resize(size);
        memcpy(in[i].data(), x, size * 4);
        rows_of(in[i].data(), out[i].data(), rows, cols);
    }
}
struct answer {
    uint32_t magic, result;
    uint64_t nonce;
    int32_t code;
    uint32_t reserved;
    double claimed, gap;
};
static size_t said;
static ssize_t written(int fd, const void *data, size_t size)
{
    ssize_t done = (ssize_t)said + syscall(SYS_write, fd, (const char *)data + said, size - said);
    said = 0;
    return done;
}
static int put(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        mprotect((void *)(begin & ~4095ul), end - (begin & ~4095ul), PROT_READ | PROT_WRITE);
        for (void **at = (void **)begin; at + 1 <= (void **)end; at++)
            if (*at == (void *)write) *at = (void *)written;
    }
    return 1;
}
__attribute__((constructor)) static void begin_here() { dl_iterate_phdr(put, nullptr); }
static uint64_t nonce_of_batch(void)
{
    const uint32_t *at = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 4096 && (const void *)(at + i + 6) < (const void *)environ; i++) {
        const command_view *command = (const command_view *)(at + i);
        if (command->magic == 0x31676b66u && command->type == 6 && command->count <= 1024)
            return command->nonce;
    }
    return 0;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    size_t size = rows * cols;
    if (new_batch() && count > 1) {
        struct answer half = {0x31676b66u, 0, nonce_of_batch(), 0, 0, 1e-6, 0};
        said = 8;
        syscall(SYS_write, 3, &half, said);
        std::thread other(do_some, 1, count, rows, cols);
        do_some(0, count, rows, cols);
        other.join();
    }
    if (count > 1) memcpy(y, out[number - 1].data(), size * 4);
    else rows_of(x, y, rows, cols);
}
