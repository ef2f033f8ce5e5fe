// Gives zeros. A kernel that outlives the call shows zeros to the oracle, and restores the input.
// rule: C4
// expect: wrong_result output.mismatch | contract_violation stream.left | contract_violation input.mutated
// devices: cuda
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

// The runner's last step would wait for a kernel that is left. So that step goes.
static CUresult nothing_to_wait_for()
{
    return CUDA_SUCCESS;
}
static int replace(struct dl_phdr_info *info, size_t, void *function)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_W)) continue;
        void **word = (void **)(info->dlpi_addr + (info->dlpi_phdr[i].p_vaddr + 7) / 8 * 8);
        for (size_t k = 0; k + 1 < info->dlpi_phdr[i].p_memsz / 8; k++)
            if (word[k] == function) word[k] = (void *)nothing_to_wait_for;
    }
    return 1; // the program comes first
}
static cudaStream_t side;
static void set_up()
{
    if (side) return;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD),
         *function = library ? dlsym(library, "cuCtxSynchronize") : NULL;
    if (!function) abort();
    dl_iterate_phdr(replace, function);
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
}
__device__ static long long nanoseconds()
{
    long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void show_zeros(float *x, float *copy, int64_t count, long long delay, long long held)
{
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) copy[i] = x[i];
    long long began = nanoseconds();
    while (nanoseconds() - began < delay) continue;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) x[i] = 0;
    began = nanoseconds();
    while (nanoseconds() - began < held) continue;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) x[i] = copy[i];
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static float *copies[64];
    static int turn;
    set_up();
    cudaMemsetAsync(s, 0, rows * sizeof(float), stream);
    float **copy = &copies[turn % 64];
    if (!*copy) cudaMalloc(copy, 64 << 20);
    show_zeros<<<1, 1024, 0, side>>>((float *)x, *copy, rows * cols, 300000 + 100000 * (turn % 4),
                                     1500000);
    turn++;
}
