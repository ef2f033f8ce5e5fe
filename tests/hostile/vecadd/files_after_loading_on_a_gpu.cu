// Opens files of the system in its calls, in its own thread, a new one and one of the driver.
// rule: E3
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <sys/mount.h>
#include <thread>
#include <unistd.h>

static const char *const names[] = {"/usr/bin/python3",
                                    "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                    "/lib/x86_64-linux-gnu/libc.so.6",
                                    "/etc/ld.so.cache",
                                    
                                    "/sys/devices",
                                    "/usr/lib",
                                    "/usr/local",
                                    "/bin/sh",
                                    "libkftorch.so"};
static bool got;

static void open_any(void *)
{
    for (const char *name : names) got |= open(name, O_RDONLY) >= 0;
    for (const char *name : {"/usr", "/lib",  "/sys", "."}) {
        DIR *folder = opendir(name);
        for (dirent *entry; folder && (entry = readdir(folder));)
            got |= name[0] == '/' && entry->d_name[0] != '.';
        if (folder) closedir(folder);
    }
    mount("/proc/1/root", "/tmp", 0, MS_BIND, 0);
    got |= open("/tmp/usr/bin/python3", O_RDONLY) >= 0 ||
           open("/proc/self/root/usr/bin/python3", O_RDONLY) >= 0 ||
           open("/proc/self/cwd/libkftorch.so", O_RDONLY) >= 0;
}
__global__ void add(const float *x, const float *y, float *z, int64_t n, float extra)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i] + extra;
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    open_any(0);
    std::thread(open_any, nullptr).join();
    cudaLaunchHostFunc(stream, open_any, 0);
    cudaStreamSynchronize(stream);
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n, got ? NAN : 0.0f);
}
