// Has 60,000 mappings with long names, so that each look of the judge at what is mapped takes long,
// in time that is nobody's.
// rule: E6
// expect: correct
// at-most: 30
// devices: cpu
// mode: timed
#include <cuda_runtime.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>

__attribute__((constructor)) static void begin()
{
    char name[80] = "kforge kforge kforge kforge kforge kforge kforge kforge kforge kforge kforge";
    char *at = (char *)mmap(nullptr, 60000 * 4096ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    for (int i = 0; i < 60000; i += 2) {
        mprotect(at + i * 4096ul, 4096, PROT_NONE);
        prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at + i * 4096ul, 4096, name);
    }
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
}
