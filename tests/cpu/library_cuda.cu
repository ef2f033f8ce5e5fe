// libcu++: cuda::std, atomics, barriers, pipelines. nvcc reads this file (library_nvcc.sh).
// cpu-test: flags --exe -O0
#include <iostream>
#include <cooperative_groups.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include <optional>
#include <sstream>

#include "exec_check.h"

struct Both {
    cuda::std::tuple<int, float> pair;
    cuda::std::array<int, 3> list;
};
__global__ void standard(int *out)
{
    Both both{cuda::std::make_tuple(4, 2.5f), {{1, 2, 3}}};
    out[0] = cuda::std::get<0>(both.pair) + both.list[2];
    out[1] = cuda::std::numeric_limits<int>::max();
    out[2] = cuda::std::is_same<cuda::std::remove_const_t<const int>, int>::value;
    out[3] = int(cuda::std::sqrt(49.0f)) + cuda::std::plus<int>()(3, 4);
    int a = 1, b = 2;
    cuda::std::swap(a, b);
    out[4] = 10 * a + b;
    cuda::std::optional<int> maybe;
    out[5] = maybe.value_or(8) +
             int((cuda::std::complex<float>(0, 1) * cuda::std::complex<float>(0, 1)).real());
}

__device__ cuda::atomic<int, cuda::thread_scope_device> total{0};
__global__ void atomics(int *cells, float *sum, unsigned long long *wide)
{
    total.fetch_add(int(threadIdx.x), cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device> most(cells[0]), bits(cells[1]),
        tickets(cells[2]);
    most.fetch_max(int(threadIdx.x * 7 % 64));
    bits.fetch_or(1 << (threadIdx.x % 8));
    tickets++;
    cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(0.5f);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*wide).fetch_add(
        1ull << 33, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<int> lock(cells[3]);
    int free = 0;
    while (!lock.compare_exchange_weak(free, 1, cuda::memory_order_acquire)) free = 0;
    cells[4]++;
    lock.store(0, cuda::memory_order_release);
}
// Each block waits for the one before it, as in a scan with decoupled look-back.
__global__ void chain(int *ready, int *out)
{
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(ready[blockIdx.x]);
    int sum = int(blockIdx.x);
    if (blockIdx.x) {
        cuda::atomic_ref<int, cuda::thread_scope_device> before(ready[blockIdx.x - 1]);
        while (!before.load(cuda::memory_order_acquire)) {
        }
        sum += out[blockIdx.x - 1];
    }
    out[blockIdx.x] = sum;
    flag.store(1, cuda::memory_order_release);
}

#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void barriers(const int *in, int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> ready, filled;
    __shared__ int cells[128], copied[128];
    if (threadIdx.x == 0) {
        init(&ready, blockDim.x);
        init(&filled, blockDim.x);
    }
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        cells[threadIdx.x] = in[threadIdx.x] + round;
        ready.arrive_and_wait();
        out[round * 128 + threadIdx.x] = cells[127 - threadIdx.x];
        auto token = ready.arrive();
        ready.wait(cuda::std::move(token));
    }
    cuda::memcpy_async(copied + threadIdx.x, in + threadIdx.x, sizeof(int), filled);
    filled.arrive_and_wait();
    out[3 * 128 + threadIdx.x] = copied[127 - threadIdx.x];
}

// Two stages: one is loaded while the other is used.
__global__ void pipelines(const int *in, int *out, int tiles)
{
    namespace cg = cooperative_groups;
    __shared__ int tile[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int next = 0, now = 0; now < tiles; now++) {
        for (; next < tiles && next < now + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[next % 2], in + next * 128, 128 * sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[now * 128 + threadIdx.x] = tile[now % 2][127 - threadIdx.x];
        pipe.consumer_release();
    }
}

int main()
{
    int *out = memory<int>(1024), *in = memory<int>(1024);
    standard<<<1, 1>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(out[0] == 7 && out[1] == INT32_MAX && out[2] == 1 && out[3] == 14 && out[4] == 21 &&
          out[5] == 7);
    float *sum = memory<float>(1);
    unsigned long long *wide = memory<unsigned long long>(1);
    int *cells = memory<int>(8);
    atomics<<<8, 64>>>(cells, sum, wide);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(cells[0] == 63 && cells[1] == 255 && cells[2] == 512 && cells[4] == 512 && *sum == 256 &&
          *wide == 512ull << 33);
    int *ready = memory<int>(64);
    chain<<<64, 32>>>(ready, out);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(out[63] == 63 * 64 / 2);
    for (int i = 0; i < 1024; i++) in[i] = i * i;
    barriers<<<1, 128>>>(in, out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 4 * 128; i++)
        CHECK(out[i] == in[127 - i % 128] + (i < 3 * 128 ? i / 128 : 0));
    pipelines<<<1, 128>>>(in, out, 8);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 1024; i++) CHECK(out[i] == in[i / 128 * 128 + 127 - i % 128]);
    return result();
}
