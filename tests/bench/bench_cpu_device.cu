// Measures the costs of the CPU device and compares them with their targets:
//   element-wise: axpy as a kernel of 256-thread blocks, against the same loop compiled by
//     g++ -O3. At most 2 on one CPU. The kernel has all the workers and the loop one thread, so
//     with more CPUs the ratio falls.
//   barrier: a block-wide tree reduction, 256 threads, 8 barriers a block. At most 15 ns per
//     thread and barrier on each worker.
//   launch: an empty kernel of one block.
//   suspended: 256 threads that wait once, per thread.
// Prints one line. Every figure is the median of 21 runs. The barrier's figure is also given in
// CPU time of all threads of this process, which is more exact if other programs run.
#include <algorithm>
#include <cuda_runtime.h>
#include <stdio.h>
#include <time.h>
#include <vector>

__global__ void axpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__attribute__((noinline)) static void loop(float a, const float *__restrict x, float *__restrict y, int n)
{
    for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}
__global__ void reduce(const float *in, float *out)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    partial[t] = in[blockIdx.x * 256 + t];
    __syncthreads();                   // 1
    for (int k = 128; k > 1; k /= 2) { // 7 more
        if (t < k) partial[t] += partial[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0] + partial[1];
}
__global__ void wait_once()
{
    __syncthreads();
}
__global__ void nothing() {}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

template <class F> static double median(F run, clockid_t clock = CLOCK_MONOTONIC)
{
    std::vector<double> times;
    for (int i = 0; i < 21; i++) {
        double start = now(clock);
        run();
        cudaDeviceSynchronize();
        times.push_back(now(clock) - start);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

int main()
{
    int workers = 1;
    cudaDeviceGetAttribute(&workers, cudaDevAttrMultiProcessorCount, 0);
    double ratios[2];
    int sizes[2] = {1 << 17, 1 << 23}; // in the caches, and not
    for (int s = 0; s < 2; s++) {
        int n = sizes[s] + 3;
        std::vector<float> x(n, 1), y(n, 2);
        double kernel = median([&] { axpy<<<(n + 255) / 256, 256>>>(3, x.data(), y.data(), n); });
        double plain = median([&] { loop(3, x.data(), y.data(), n); });
        ratios[s] = kernel / plain;
    }
    const int blocks = 1000;
    std::vector<float> in(blocks * 256, 1), out(blocks);
    auto reduction = [&] { reduce<<<blocks, 256>>>(in.data(), out.data()); };
    double tree = median(reduction) * workers / (blocks * 256.0 * 8) * 1e9;
    double busy = median(reduction, CLOCK_PROCESS_CPUTIME_ID) / (blocks * 256.0 * 8) * 1e9;
    double suspended = median([&] { wait_once<<<blocks, 256>>>(); }) * workers / (blocks * 256.0) * 1e9;
    double launch = median([&] { nothing<<<1, 32>>>(); }) * 1e9;
    printf("cpu_device: workers %d, axpy kernel/loop %.2f (1 MiB) %.2f (64 MiB), barrier %.1f ns per thread (%.1f ns of "
           "processor time), suspended thread %.1f ns, launch %.0f ns\n",
           workers, ratios[0], ratios[1], tree, busy, suspended, launch);
    return 0;
}
