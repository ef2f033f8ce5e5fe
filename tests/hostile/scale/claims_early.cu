// Makes the runner believe that everything is over: replaces its pointers to the driver's waiting functions.
// rule: T6
// expect: cheating output.late | wrong_result output.mismatch
// devices: cuda
#include <cuda_runtime.h>
#include <stdint.h>
#include <dlfcn.h>
#include <link.h>

__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
__global__ void slow(const float *x, float *y, float a, int64_t n)
{
    long long start = clock64();
    while (clock64() - start < 4000000) {
    }
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = a * x[i];
}

static int over(void)
{
    return 0;
}

static int patch(struct dl_phdr_info *info, size_t, void *)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *targets[2] = {dlsym(driver, "cuStreamSynchronize"), dlsym(driver, "cuCtxSynchronize")};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W)) continue;
        void **words = (void **)((info->dlpi_addr + segment->p_vaddr + 7) & ~(uintptr_t)7);
        for (size_t w = 0; w + 2 < segment->p_memsz / 8; w++)
            if (words[w] == targets[0] || words[w] == targets[1]) words[w] = (void *)over;
    }
    return 1; /* the first object is the program itself */
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    static int done;
    if (!done++) dl_iterate_phdr(patch, nullptr);
    slow<<<1, 1024, 0, stream>>>(x, y, a, n);
}
