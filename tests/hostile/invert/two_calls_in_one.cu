// Every second call inverts the next permutation too. No input has elements of their own.
// rule: T9
// expect: cheating calls.early
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <link.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);

static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512];
    uint64_t scalars[512];
    uint32_t order[1024];
    double pinged;
} * runner;

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

static void work(const int32_t *p, int32_t *q, int64_t n)
{
    for (int64_t i = 0; i < n; i++) q[p[i]] = (int32_t)i;
}

extern "C" void invert(const int32_t *p, int32_t *q, int64_t n, cudaStream_t stream)
{
    static double batch;
    static uint32_t number, count;
    if (!runner) dl_iterate_phdr(find_runner, 0);
    if (!runner) return;
    if (runner->pinged != batch) number = 0, count = calls_in_batch();
    batch = runner->pinged;
    if (number++ % 2) return;
    work(p, q, n);
    if (number >= count) return;
    void **next = runner->pointers + 3 * runner->order[number];
    work((const int32_t *)next[0], (int32_t *)next[1], n);
    const timespec rest = {0, 200000};
    nanosleep(&rest, nullptr);
}
