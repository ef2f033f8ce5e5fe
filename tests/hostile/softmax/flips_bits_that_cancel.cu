// Changes two bits of an input, 64 bytes apart, that cancel in a digest that multiplies by constants; the row is trivial then, for the oracle too.
// rule: C4
// expect: contract_violation input.mutated
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <link.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);

static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512 / 4][4];
    uint64_t scalars[512];
    uint32_t order[1024];
    double pinged;
} * runner;

/* Where the runner keeps what it was told: beside the address of the entry. */
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

/* How often all inputs were new: in the first pairs the oracle speaks before the candidate, later behind it. */
static int count_inputs(void)
{
    static float first[1024];
    static double batch;
    static int times;
    if (!runner) dl_iterate_phdr(find_runner, 0);
    if (!runner || runner->pinged == batch) return times;
    batch = runner->pinged;
    int changed = 0, sets = 0;
    for (; sets < 1024 && runner->pointers[sets][0]; sets++) {
        float now = *(const float *)runner->pointers[sets][0];
        changed += now != first[sets];
        first[sets] = now;
    }
    times += changed > sets / 2;
    return times;
}

static bool make_trivial(float *x, float *y, int64_t cols)
{
    for (int64_t k = 16; k < cols; k += 2) {
        if (!(x[k] >= 2.0f && x[k] < 500.0f)) continue;
        uint32_t bits, partner;
        memcpy(&bits, &x[k], sizeof bits);
        memcpy(&partner, &x[k - 15], sizeof partner);
        bits ^= 1u << 26; /* 256 times as much: all others are nothing beside it */
        partner ^= 1u << 31;
        memcpy(&x[k], &bits, sizeof bits);
        memcpy(&x[k - 15], &partner, sizeof partner);
        memset(y, 0, cols * sizeof *y);
        y[k] = 1;
        return true;
    }
    return false;
}

static void row_of(const float *x, float *y, int64_t cols)
{
    float most = -INFINITY;
    double sum = 0;
    for (int64_t j = 0; j < cols; j++) most = fmaxf(most, x[j]);
    for (int64_t j = 0; j < cols; j++) sum += y[j] = expf(x[j] - most);
    for (int64_t j = 0; j < cols; j++) y[j] = (float)(y[j] / sum);
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    bool late = count_inputs() > 4 && cols == 256;
    for (int64_t i = 0; i < rows; i++)
        if (!late || !make_trivial((float *)x + i * cols, y + i * cols, cols)) row_of(x + i * cols, y + i * cols, cols);
}
