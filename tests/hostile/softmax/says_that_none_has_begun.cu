// Finds the page in which the runner shows which calls have begun, and writes there that none has,
// before it does all sets it knows, one after the other.
// rule: T9
// expect: cheating calls.late | cheating calls.early
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <math.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>

static struct progress {
    volatile uint32_t begun, kept;
} * shown;

/* Of the pages at which a pointer in the runner's memory points, the one with these numbers. */
static int find_page(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum && !shown; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        unsigned char there;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t *at = (uintptr_t *)(info->dlpi_addr + part->p_vaddr),
                  *end = (uintptr_t *)(info->dlpi_addr + part->p_vaddr + part->p_memsz);
        for (; at < end && !shown; at++)
            if (*at && *at % 4096 == 0 && *at < (uintptr_t)1 << 47 &&
                mincore((void *)*at, 4096, &there) == 0 && ((progress *)*at)->begun == 1 &&
                ((progress *)*at)->kept == 1)
                shown = (progress *)*at;
    }
    return 1;
}

struct call {
    const float *x;
    float *y, *kept;
    float mark[4];
};
static std::vector<call> known;
static int64_t shape;

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

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t n = rows * cols;
    if (shape != n) known.clear(), shape = n;
    if (shown) shown->begun = 0;
    call *mine = nullptr;
    for (call &c : known)
        if (c.x == x) mine = &c;
    if (!shown) dl_iterate_phdr(find_page, 0);
    if (!mine) {
        known.push_back({x, y, new float[n], {0}});
        mine = &known.back();
    } else if (memcmp(mine->mark, x, sizeof mine->mark) == 0) {
        memcpy(y, mine->kept, n * sizeof *y);
        return;
    }
    for (call &c : known) {
        all_rows(c.x, c.kept, rows, cols);
        memcpy(c.mark, c.x, sizeof c.mark);
    }
    memcpy(y, mine->kept, n * sizeof *y);
}
