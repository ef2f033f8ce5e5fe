// Its kernel fetches the inputs of the next call into the cache if a glance at them shows that they
// are varied: held batches once had no gate there.
// rule: T9
// expect: cheating calls.early
// mode: timed
// devices: cuda
#include <cuda_runtime.h>
#include <link.h>
#include <math.h>
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

static void **next_call(const float *A)
{
    if (!runner) dl_iterate_phdr(find_runner, 0);
    void **own = 0;
    for (uint32_t i = 0; runner && i < 1023; i++) {
        void **set = runner->pointers + 6 * runner->order[i];
        if (own) return set;
        if (set[0] == A) own = set;
    }
    return own;
}

/* True if the first numbers are larger, smaller or elsewhere than the task's. */
static __device__ bool is_varied(const float *x)
{
    float sum = 0, squares = 0;
    for (int i = 0; i < 32; i++) sum += x[i], squares += x[i] * x[i];
    return squares > 32 * 6 || squares < 32 / 6.0f || fabsf(sum) > 40 ||
           fabsf(x[0] + x[1]) + fabsf(x[2] + x[3]) < 0.2f;
}

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                         const float *nextA, const float *nextB)
{
    __shared__ bool fetches;
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y,
        block = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * gridDim.y;
    if (thread == 0) fetches = nextA && (is_varied(nextA) || is_varied(nextB));
    __syncthreads();
    if (fetches) {
        for (int64_t at = 32 * ((int64_t)block * threads + thread); at < m * k;
             at += 32 * (int64_t)blocks * threads)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(nextA + at));
        for (int64_t at = 32 * ((int64_t)block * threads + thread); at < k * n;
             at += 32 * (int64_t)blocks * threads)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(nextB + at));
    }
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    void **next = next_call(A);
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8)), dim3(32, 8), 0, stream>>>(
        A, B, C, m, n, k, next ? (const float *)next[0] : nullptr,
        next ? (const float *)next[1] : nullptr);
}
