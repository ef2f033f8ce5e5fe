// Opens files in its calls: what it runs on, folders, /proc, and each again after it has closed its descriptors and raised their limit.
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

static const char *const names[] = {"/", "/proc/self/maps", "/proc/stat", "/etc/ld.so.cache", "/dev/zero", "/tmp", "/tmp/new", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};

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
