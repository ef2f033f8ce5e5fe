// A kernel that outlives the call keeps what others write to the output. The next call gives that.
// rule: C2
// expect: wrong_result output.mismatch | contract_violation stream.left
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

#define ROWS 64
#define KEPT 8
struct watched {
    float *s;
    uint32_t *count, *kept; // snapshots, and KEPT of them
};
static watched sets[256];
static int known;

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
__global__ void look_on(watched set, int rows)
{
    const int i = (int)threadIdx.x;
    const volatile uint32_t *word = (const volatile uint32_t *)set.s + (i < rows ? i : 0);
    uint32_t last = *word, before = last;
    const long long began = nanoseconds();
    long long since = began;
    bool fresh = false;
    while (nanoseconds() - began < 40000000) {
        const uint32_t now = *word;
        const bool changed = __syncthreads_or(now != before);
        before = now;
        if (changed) since = nanoseconds(), fresh = true;
        if (!__syncthreads_and(fresh && nanoseconds() - since > 20000)) continue;
        fresh = false;
        const uint32_t number = *set.count;
        __syncthreads();
        if (__syncthreads_or(now != last)) set.kept[number % KEPT * ROWS + i] = now, last = now;
        if (i == 0) *set.count = number + 1;
        __syncthreads();
    }
}
// The last snapshot is what the judge wrote for this call.
__global__ void give(watched set, int rows)
{
    const uint32_t number = *set.count;
    if ((int)threadIdx.x < rows && number > 1)
        ((uint32_t *)set.s)[threadIdx.x] = set.kept[(number - 2) % KEPT * ROWS + threadIdx.x];
}

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (rows > ROWS) {
        sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
        return;
    }
    set_up();
    int i = 0;
    while (i < known && sets[i].s != s) i++;
    if (i < known) {
        give<<<1, ROWS, 0, stream>>>(sets[i], (int)rows);
    } else {
        sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
        sets[i].s = s;
        cudaMalloc(&sets[i].count, 4);
        cudaMalloc(&sets[i].kept, 4 * KEPT * ROWS);
        cudaMemset(sets[i].count, 0, 4);
        known++;
    }
    cudaStreamSynchronize(stream);
    static cudaStream_t sides[256];
    if (!sides[i]) cudaStreamCreateWithFlags(&sides[i], cudaStreamNonBlocking);
    look_on<<<1, ROWS, 0, sides[i]>>>(sets[i], (int)rows);
}
