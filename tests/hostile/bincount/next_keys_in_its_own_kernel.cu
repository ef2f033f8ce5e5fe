// Its kernel has threads that fetch the 60 KB of the next call into the cache.
// rule: T9
// expect: cheating calls.early
// mode: timed
// devices: cuda
#include <cuda_runtime.h>
#include <link.h>
#include <stdint.h>

extern "C" void kforge_entry(void *const *, const unsigned long long *, cudaStream_t);

static struct runner_view {
    const char *binary;
    void *stream, *entry, *last_error;
    void *pointers[1024 * 512];
    uint64_t scalars[512];
    uint32_t order[1024];
} * runner;

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

static void **next_call(const uint8_t *keys)
{
    if (!runner) dl_iterate_phdr(find_runner, 0);
    void **own = 0;
    for (uint32_t i = 0; runner && i < 1023; i++) {
        void **set = runner->pointers + 3 * runner->order[i];
        if (own) return set;
        if (set[0] == keys) own = set;
    }
    return own;
}
#define CHUNK 4096

__global__ void bincount_kernel(const uint8_t *keys, int32_t *counts, int64_t n,
                                const uint8_t *next)
{
    __shared__ int32_t local[256];
    local[threadIdx.x] = 0;
    const int64_t at = 128 * (int64_t)(blockIdx.x * 256 + threadIdx.x);
    if (next && at < n) asm volatile("prefetch.global.L2 [%0];" ::"l"(next + at));
    __syncthreads();
    int64_t begin = (int64_t)blockIdx.x * CHUNK, end = begin + CHUNK < n ? begin + CHUNK : n;
    for (int64_t i = begin + threadIdx.x; i < end; i += 256) atomicAdd(&local[keys[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

extern "C" void bincount(const uint8_t *keys, int32_t *counts, int64_t n, cudaStream_t stream)
{
    void **next = next_call(keys);
    cudaMemsetAsync(counts, 0, 256 * sizeof(int32_t), stream);
    bincount_kernel<<<(unsigned)((n + CHUNK - 1) / CHUNK), 256, 0, stream>>>(
        keys, counts, n, next ? (const uint8_t *)next[0] : 0);
}
