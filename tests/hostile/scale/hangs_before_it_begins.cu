// Takes back in the runner's page that a call has begun, and then never returns.
// rule: E7
// expect: timeout time.limit
// mode: timed
// devices: cpu
#include <cuda_runtime.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>

static volatile uint32_t *begun;

static int find_page(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum && !begun; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t *at = (uintptr_t *)(info->dlpi_addr + part->p_vaddr),
                  *end = at + part->p_memsz / sizeof *at;
        for (; at < end && !begun; at++) {
            if (!*at || *at % 4096 || *at >= (uintptr_t)1 << 47) continue;
            if (msync((void *)*at, 4096, MS_ASYNC) != 0) continue;
            if (((uint32_t *)*at)[0] == 1 && ((uint32_t *)*at)[1] == 1) begun = (uint32_t *)*at;
        }
    }
    return 1;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int late;
    if (!begun) dl_iterate_phdr(find_page, 0);
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
    /* Any batch may be watched. */
    if (begun && late++ > 50)
        for (;;) *begun = 0;
}
