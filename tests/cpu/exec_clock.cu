// clock() and clock64() of device code count in the unit of the device's clock rate. The host's
// clock() keeps its own.
#include <ctime>
#include "check.h"

struct watch {
    long long begin;
    __device__ long long clock() const { return begin; }
};
__device__ long long waited(long long ticks)
{
    // The outer clock begins first and ends last, whenever this thread is interrupted.
    long long begin64 = clock64();
    clock_t begin = clock();
    while (clock() - begin < ticks) {
    }
    return clock64() - begin64;
}
__host__ __device__ clock_t either()
{
    return clock();
}
__global__ void wait(long long *out, long long ticks)
{
    out[0] = waited(ticks);
    clock_t begin_either = either();
    clock_t begin = ::clock();
    while (::clock() - begin < ticks) {
    }
    out[1] = either() - begin_either;
    watch w = {7};
    out[2] = w.clock();
}

int main()
{
    int khz;
    OK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    long long *out;
    OK(cudaMallocManaged(&out, 3 * sizeof *out));
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    wait<<<1, 1>>>(out, 20LL * khz); // 20 ms, twice
    OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ms = (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6;
    CHECK(ms >= 40 && out[0] >= 20LL * khz && out[1] >= 20LL * khz && out[2] == 7);
    CHECK(double(out[0] + out[1]) / khz <= ms);
    // Processor time since the program's start in CLOCKS_PER_SEC, not the time since the boot.
    CHECK(either() < 3600L * CLOCKS_PER_SEC && std::clock() >= either() - CLOCKS_PER_SEC);
    return 0;
}
