// Writes machine code over its own function through /proc/self/mem, in a host callback: a thread
// that the driver started before it.
// rule: L1
// expect: cheating library.loaded | wrong_result output.mismatch
// needs: namespaces
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static __attribute__((noinline)) float other(float a) { asm volatile("nop;nop"); return 2 * a + 1; }

static void write_code(void *)
{
    int file = open("/proc/self/mem", O_RDWR);
    /* movaps %xmm0,%xmm0; ret: the factor as it is. */
    static const unsigned char code[] = {0x0f, 0x28, 0xc0, 0xc3};
    if (file < 0) return;
    if (pwrite(file, code, sizeof code, (off_t)(uintptr_t)other) < 0) return;
    close(file);
}

static __attribute__((constructor)) void call_back()
{
    cudaLaunchHostFunc(0, write_code, nullptr);
    cudaDeviceSynchronize();
}

__global__ void scale_all(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    float (*volatile function)(float) = other;
    scale_all<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, function(a), n);
}
