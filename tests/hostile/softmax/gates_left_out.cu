// Replaces the runner's wait for gates where none is closed, and lets calls overlap there.
// rule: T1
// expect: correct | wrong_result stream.unordered | impossible launch.undercut
// devices: cuda
// at-most: 1.2
// mode: timed
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

// The runner's table of driver functions holds the one that lets the stream wait for a gate. It
// lies in writable data. The replacement is the candidate's own code.
typedef int (*wait_function)(void *, unsigned long long, uint32_t, unsigned);
typedef int (*copy_function)(void *, unsigned long long, size_t, void *);
static wait_function real_wait;
static copy_function copy_out;
static unsigned long long page, last;
static bool free_run;
static uint32_t *seen;
static cudaStream_t look;

static int own_wait(void *stream, unsigned long long address, uint32_t value, unsigned flags)
{
    bool first = address != last + 4;
    last = address;
    if (first) {
        page = address;
        free_run = false;
        return real_wait(stream, address, value, flags);
    }
    if (address == page + 4) {
        free_run = copy_out(seen, page, 4096, look) == 0 &&
                   cudaStreamSynchronize(look) == cudaSuccess;
        for (int i = 0; i < 1024; i++) free_run = free_run && seen[i] == 0x01010101u;
    }
    return free_run ? 0 : real_wait(stream, address, value, flags);
}

static int find_table(struct dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        void **at = (void **)(info->dlpi_addr + part->p_vaddr),
             **end = (void **)(info->dlpi_addr + part->p_vaddr + part->p_memsz);
        for (; at < end; at++)
            if (*at == (void *)real_wait) *at = (void *)own_wait;
    }
    return 1;
}

__attribute__((constructor)) static void replace(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) return;
    real_wait = (wait_function)dlsym(driver, "cuStreamWaitValue32_v2");
    copy_out = (copy_function)dlsym(driver, "cuMemcpyDtoHAsync_v2");
    cudaStreamCreateWithFlags(&look, cudaStreamNonBlocking);
    cudaMallocHost((void **)&seen, 4096);
    if (real_wait && copy_out && seen) dl_iterate_phdr(find_table, 0);
}

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32)
        y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}

extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols,
                        cudaStream_t stream)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = free_run;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3((unsigned)rows);
    how.blockDim = dim3(32);
    how.stream = stream;
    how.attrs = &attribute;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, softmax_rows, x, y, cols);
}
