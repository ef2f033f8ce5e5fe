// A graph begins with a kernel that polls an input until the judge writes it.
// rule: T15
// expect: cheating device.busy | wrong_result stream.unordered
// devices: cuda
// mode: timed
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

// A kernel in the runner's context cannot be left: its last step would wait for it. So that step
// goes.
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
static void *driver(const char *name)
{
    static void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) abort();
    return function;
}
// A set of buffers that was called before: its product, and two words of the inputs that it is of.
struct early {
    const float *A, *B;
    float *C;
    uint32_t *of;
};
static early sets[256];
static int known;

__global__ void multiply(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
__global__ void delay(long long clocks)
{
    long long start = clock64();
    while (clock64() - start < clocks) {
    }
}
__global__ void stamp(const float *A, const float *B, uint32_t *of)
{
    of[0] = __float_as_uint(A[5]), of[1] = __float_as_uint(B[5]);
}
// Takes the product that is there, or multiplies.
__global__ void finish(const float *A, const float *B, float *C, early set, int64_t m, int64_t n,
                       int64_t k)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            i = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    if (set.of[0] == __float_as_uint(A[5]) && set.of[1] == __float_as_uint(B[5])) {
        C[i * n + j] = set.C[i * n + j];
        return;
    }
    float sum = 0;
    for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}
static dim3 grid_of(int64_t m, int64_t n)
{
    return dim3((unsigned)((n + 31) / 32), (unsigned)((m + 7) / 8));
}

static void work(const early &set, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    delay<<<1, 1, 0, stream>>>(200000);
    multiply<<<grid_of(m, n), dim3(32, 8), 0, stream>>>(set.A, set.B, set.C, m, n, k);
    stamp<<<1, 1, 0, stream>>>(set.A, set.B, set.of);
}

__global__ void poll(const float *A)
{
    volatile const uint32_t *word = (volatile const uint32_t *)A;
    const uint32_t before = *word;
    while (*word == before) __nanosleep(1000);
}

static cudaStream_t side;
static void set_up()
{
    if (side) return;
    dl_iterate_phdr(replace, driver("cuCtxSynchronize"));
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    work(sets[0], 32, 32, 32, side); // kernels that are loaded later wait for the device
    cudaStreamSynchronize(side);
}
static void arm(const early &set, int64_t m, int64_t n, int64_t k)
{
    if (cudaStreamQuery(side) == cudaErrorNotReady) return;
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal);
    poll<<<1, 1, 0, side>>>(set.A);
    work(set, m, n, k, side);
    cudaStreamEndCapture(side, &graph);
    if (cudaGraphInstantiate(&launchable, graph, 0) != cudaSuccess ||
        cudaGraphLaunch(launchable, side) != cudaSuccess)
        abort();
}

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k,
                     cudaStream_t stream)
{
    if (m < 256) {
        multiply<<<grid_of(m, n), dim3(32, 8), 0, stream>>>(A, B, C, m, n, k);
        return;
    }
    int i = 0;
    while (i < known && sets[i].A != A) i++;
    if (i == known && known < 256) {
        sets[i] = early{A, B, NULL, NULL};
        cudaMalloc(&sets[i].C, m * n * sizeof(float));
        cudaMalloc(&sets[i].of, 8);
        cudaMemset(sets[i].of, 0xff, 8);
        known++;
    }
    set_up();
    finish<<<grid_of(m, n), dim3(32, 8), 0, stream>>>(A, B, C, sets[i], m, n, k);
    arm(sets[i], m, n, k);
}
