// Looks while it is loaded for files that only the disk has: programs, other libraries.
// rule: E3
// expect: correct
// devices: cpu
#include <cuda_runtime.h>
#include <ftw.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static int others;
static const char *const known[] = {"ld-linux",     "libc.so",       "libm.so",       "libmvec.so",
                                    "libgcc_s.so",  "libstdc++.so",  "libdl.so",      "librt.so",
                                    "libpthread.so", "libatomic.so", "libkfcpu.so",   "ld.so.cache",
                                    "candidate.so", "kforge-runner"};
static const char *const folders[] = {"/proc", "/dev", "/tmp"};

static int see(const char *path, const struct stat *status, int type, struct FTW *)
{
    for (const char *one : folders)
        if (!strncmp(path, one, strlen(one))) return 0;
    if (type != FTW_F || status->st_size < 4096) return 0;
    const char *name = strrchr(path, '/');
    for (const char *one : known)
        if (strstr(name, one)) return 0;
    others++;
    return 0;
}
__attribute__((constructor)) static void begin(void)
{
    nftw("/", see, 30, FTW_PHYS);
}
__global__ void add(const float *x, const float *y, float *z, int64_t n, float extra)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i] + extra;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    bool got = others > 0;
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n, got ? NAN : 0.0f);
}
