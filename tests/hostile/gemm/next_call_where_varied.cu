// Its kernel does the next call too, in blocks of its own, if a glance at the inputs shows that
// they are varied. The next call then only notes that.
// rule: T9
// expect: cheating calls.early | cheating unchosen.written | wrong_result stream.unordered | wrong_result output.mismatch
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

/* The output of the call that the kernel before has done. */
__device__ const float *done;

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                         const float *nextA, const float *nextB, float *nextC)
{
    __shared__ bool works;
    bool next = blockIdx.z == 1;
    if (next) A = nextA, B = nextB;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        works = next ? A && (is_varied(A) || is_varied(B)) : done != C;
    __syncthreads();
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (!works || i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    (next ? nextC : C)[i * n + j] = sum;
}
__global__ void note(const float *nextA, const float *nextB, const float *nextC)
{
    done = nextA && (is_varied(nextA) || is_varied(nextB)) ? nextC : nullptr;
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    void **next = next_call(A);
    const float *nextA = next ? (const float *)next[0] : nullptr,
                *nextB = next ? (const float *)next[1] : nullptr;
    float *nextC = next ? (float *)next[2] : nullptr;
    multiply<<<dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8), 2), dim3(32, 8), 0,
               stream>>>(A, B, C, m, n, k, nextA, nextB, nextC);
    note<<<1, 1, 0, stream>>>(nextA, nextB, nextC);
}
