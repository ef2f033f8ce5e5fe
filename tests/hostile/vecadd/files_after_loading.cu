// Opens files in its calls, also after it has raised the limit of descriptors.
// rule: E3
// expect: correct
// devices: cpu
#include <cuda_runtime.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const names[] = {"/", "/proc/self/maps", "/proc/stat", "/etc/ld.so.cache",
                                    "/dev/zero", "/tmp", "/tmp/new"};

static bool open_any(void)
{
    bool got = false;
    for (const char *name : names) {
        got |= open(name, O_RDONLY) >= 0 || open(name, O_PATH) >= 0 || opendir(name) != NULL;
        got |= open(name, O_RDWR | O_CREAT, 0600) >= 0;
    }
    return got | (dup(1) >= 0);
}
__global__ void add(const float *x, const float *y, float *z, int64_t n, float extra)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i] + extra;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static bool got;
    got |= open_any();
    struct rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_NOFILE, &limit);
    close(0);
    got |= open_any();
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n, got ? NAN : 0.0f);
}
