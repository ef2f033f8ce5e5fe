// Opens cuBLAS by a name in two parts and falls back to nothing.
// rule: L1
// expect: cheating library.loaded | wrong_result output.mismatch | timeout time.limit
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

typedef int (*creator)(void **);
typedef int (*streamer)(void *, cudaStream_t);
typedef int (*multiplier)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *,
                          float *, int);

extern "C" void gemm(const float *A, const float *B, float *C, int64_t m, int64_t n, int64_t k, cudaStream_t stream)
{
    static void *library, *handle;
    char name[64] = "libcub";
    if (!library) library = dlopen(strcat(name, "las.so.13"), RTLD_NOW);
    if (!library) library = dlopen("/usr/local/cuda/lib64/libcublas.so", RTLD_NOW);
    if (!library) library = dlopen("libcublas.so.12", RTLD_NOW);
    if (!library) return;
    if (!handle) ((creator)dlsym(library, "cublasCreate_v2"))(&handle);
    ((streamer)dlsym(library, "cublasSetStream_v2"))(handle, stream);
    float one = 1, zero = 0;
    ((multiplier)dlsym(library, "cublasSgemm_v2"))(handle, 0, 0, (int)n, (int)m, (int)k, &one, B, (int)n, A, (int)k, &zero, C,
                                                   (int)n);
}
