// Puts its own function in place of close(2) in the runner's table, so that it keeps a descriptor
// of
// the buffers. It maps a buffer a second time, executable, and writes code there.
// rule: L1
// expect: cheating library.loaded | crash runner.crashed | contract_violation unchosen.written | contract_violation files.open
// needs: namespaces
// devices: cpu
#include <cuda_runtime.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int kept = -1;

static int keep(int fd)
{
    if (kept < 0) kept = (int)syscall(SYS_dup, fd);
    return (int)syscall(SYS_close, fd);
}

static int put(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        mprotect((void *)(begin & ~4095ul), end - (begin & ~4095ul), PROT_READ | PROT_WRITE);
        for (void **at = (void **)begin; at + 1 <= (void **)end; at++)
            if (*at == (void *)close) *at = (void *)keep;
    }
    return 1;
}

__attribute__((constructor)) static void begin()
{
    dl_iterate_phdr(put, nullptr);
}

__attribute__((noinline, noclone, used)) static float times(float a, float x)
{
    asm volatile("");
    return a * x;
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static char *code, *data;
    if (!code && kept >= 0) {
        data = (char *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0);
        code = (char *)mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, kept, 0);
    }
    if (!code || code == MAP_FAILED || data == MAP_FAILED) return;
    char before[32];
    memcpy(before, data, 32);
    memcpy(data, (const void *)times, 32);
    float (*volatile made)(float, float) = (float (*)(float, float))code;
    for (int64_t i = 0; i < n; i++) y[i] = made(a, x[i]);
    memcpy(data, before, 32);
}
