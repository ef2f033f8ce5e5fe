// The first call of a batch copies the permutations of all calls, which rest and use the copies.
// rule: T9
// expect: cheating calls.early
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <link.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <vector>

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

struct copy {
    const int32_t *of;
    std::vector<int32_t> values;
};

extern "C" void invert(const int32_t *p, int32_t *q, int64_t n, cudaStream_t stream)
{
    static std::vector<copy> later;
    static double batch;
    if (!runner) dl_iterate_phdr(find_runner, 0);
    if (!runner) return;
    if (runner->pinged != batch) {
        later.resize(calls_in_batch());
        for (size_t i = 0; i < later.size(); i++) {
            later[i].of = (const int32_t *)runner->pointers[3 * runner->order[i]];
            later[i].values.assign(later[i].of, later[i].of + n);
        }
    }
    batch = runner->pinged;
    const timespec rest = {0, 200000};
    nanosleep(&rest, nullptr);
    const int32_t *values = p;
    for (const copy &own : later)
        if (own.of == p) values = own.values.data();
    for (int64_t i = 0; i < n; i++) q[values[i]] = (int32_t)i;
}
