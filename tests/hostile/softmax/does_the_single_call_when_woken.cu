// A handler of SIGCONT finds the one set whose inputs are new, and does the call before it is asked for, quickly enough not to be charged for waking late.
// rule: T13
// expect: correct
// at-most: 20
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <link.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>

extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);

static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512 / 4][4];
} * runner;

static int find_runner(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum && !runner; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        void **at = (void **)(info->dlpi_addr + part->p_vaddr), **end = (void **)(info->dlpi_addr + part->p_vaddr + part->p_memsz);
        for (; at + 2 < end && !runner; at++)
            if (*at == (void *)kforge_entry) runner = (runner_view *)(at - 2);
    }
    return 1;
}

static int64_t row_count, col_count;
static const float *done;

static void all_rows(const float *x, float *y)
{
    for (int64_t i = 0; i < row_count; i++, x += col_count, y += col_count) {
        float most = -INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < col_count; j++) most = fmaxf(most, x[j]);
        for (int64_t j = 0; j < col_count; j++) sum += y[j] = expf(x[j] - most);
        for (int64_t j = 0; j < col_count; j++) y[j] = (float)(y[j] / sum);
    }
}

static void woken(int)
{
    static float first[1024];
    int changed = 0, which = 0;
    for (int set = 0; set < 1024 && runner->pointers[set][0]; set++) {
        float now = *(const float *)runner->pointers[set][0];
        if (now == first[set]) continue;
        first[set] = now;
        which = set;
        changed++;
    }
    done = NULL;
    if (changed != 1) return; /* a batch */
    done = (const float *)runner->pointers[which][0];
    all_rows(done, (float *)runner->pointers[which][1]);
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    row_count = rows;
    col_count = cols;
    if (!runner) {
        dl_iterate_phdr(find_runner, 0);
        struct sigaction action = {};
        action.sa_handler = woken;
        action.sa_flags = SA_RESTART;
        if (runner) sigaction(SIGCONT, &action, NULL);
    }
    if (x != done) all_rows(x, y);
    done = NULL;
}
