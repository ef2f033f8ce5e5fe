// Does all calls of a batch in the first one, if that came soon after the judge's last message, as
// if no judge looks on. The others dawdle. On a busy machine a call seldom comes so soon. Without
// that each call does its own work, eight times.
// rule: T9
// expect: cheating calls.early | correct
// at-most: 1.0
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <link.h>
#include <math.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);

static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512 / 4][4];
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

static void all_rows(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) most = fmaxf(most, x[j]);
        for (int64_t j = 0; j < cols; j++) sum += y[j] = expf(x[j] - most);
        for (int64_t j = 0; j < cols; j++) y[j] = (float)(y[j] / sum);
    }
}

static double seconds()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static double batch;
    static bool done;
    if (!runner) dl_iterate_phdr(find_runner, 0);
    if (runner && runner->pinged == batch && done) {
        for (double until = seconds() + 10e-6; seconds() < until;) continue;
        return;
    }
    bool first = runner && runner->pinged != batch;
    done = first && seconds() - runner->pinged < 15e-6;
    if (first) batch = runner->pinged;
    uint32_t count = done ? calls_in_batch() : 0;
    done = count > 0;
    for (int i = 0; i < 8 && !done; i++) all_rows(x, y, rows, cols);
    for (uint32_t i = 0; i < count; i++) {
        void **set = runner->pointers[runner->order[i]];
        all_rows((const float *)set[0], (float *)set[1], rows, cols);
    }
}
