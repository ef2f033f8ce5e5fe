// Atomic functions on global and shared memory; locks, look-back over blocks and spinning threads make progress.
#include "exec_check.h"

template <class T> __global__ void arithmetic(T *cells)
{
    T i = (T)(blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd(&cells[0], (T)1);
    atomicMin(&cells[1], i);
    atomicMax(&cells[2], i);
    atomicExch(&cells[3], i);
    atomicAnd(&cells[4], (T) ~(1u << threadIdx.x % 16));
    atomicOr(&cells[5], (T)(1u << threadIdx.x % 16));
    atomicXor(&cells[6], (T)(i + 1));
    T old = cells[7], seen;
    do {
        seen = old;
        old = atomicCAS(&cells[7], seen, seen + 2);
    } while (old != seen);
    atomicAdd(&cells[8], (T)-1);
}
template <class T> void check_integer()
{
    T *cells = memory<T>(9), x = 0;
    cells[1] = 1000000, cells[4] = 0xffff;
    arithmetic<<<50, 100>>>(cells);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (T i = 1; i <= 5000; i++) x ^= i;
    CHECK(cells[0] == 5000 && cells[1] == 0 && cells[2] == 4999 && cells[3] < 5000);
    CHECK(cells[4] == 0 && cells[5] == 0xffff && cells[6] == x && cells[7] == 10000 && cells[8] == (T)-5000);
}
__global__ void floats(float *f, double *d, unsigned *wrap)
{
    atomicAdd(f, 0.5f);
    atomicAdd_system(d, 0.25);
    atomicInc(&wrap[0], 6);
    atomicDec(&wrap[1], 6);
    atomicExch_block(&f[1], 3.0f);
    atomicSub(&wrap[2], 2u);
}
__global__ void histogram(const unsigned char *data, int n, unsigned *bins)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
__global__ void locked(int *lock, int *total)
{ // every thread of every block takes the lock in turn
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *total = *total + 1;
    __threadfence();
    atomicExch(lock, 0);
}
__global__ void handoff(volatile int *turn, int *order)
{ // a thread waits for the one after it, which has not started yet
    int next = blockDim.x - 1 - threadIdx.x;
    while (*turn != next) __threadfence();
    order[next] = threadIdx.x;
    *turn = next + 1;
}
__global__ void look_back(unsigned *sums)
{ // waits for the block before: blocks start in the order of their numbers
    if (threadIdx.x == 0) {
        unsigned before = 0;
        if (blockIdx.x > 0)
            while ((before = atomicAdd(&sums[blockIdx.x - 1], 0u)) == 0) __nanosleep(20);
        atomicExch(&sums[blockIdx.x], before + 1);
    }
}
__global__ void last_block(const float *in, float *partial, unsigned *done, float *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++) sum += partial[i];
        *out = sum;
    }
}

int main()
{
    check_integer<int>();
    check_integer<unsigned>();
    check_integer<unsigned long long>();
    float *f = memory<float>(2);
    double *d = memory<double>(1);
    unsigned *u = memory<unsigned>(1000);
    floats<<<10, 100>>>(f, d, u);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(f[0] == 500 && f[1] == 3 && d[0] == 250 && u[0] == 1000 % 7 && u[1] == (7 - 1000 % 7) % 7 && u[2] == -2000u);
    unsigned char *bytes = memory<unsigned char>(100000);
    for (int i = 0; i < 100000; i++) bytes[i] = (unsigned char)(i * 7 % 200);
    cudaMemset(u, 0, 4000);
    histogram<<<20, 256>>>(bytes, 100000, u);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++) CHECK(u[i] == (i < 200 ? 500u : 0u));
    int *ints = memory<int>(300);
    locked<<<4, 64>>>(ints, ints + 1);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(ints[1] == 256);
    handoff<<<1, 128>>>(ints + 2, ints + 3);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 128; i++) CHECK(ints[3 + i] == 127 - i);
    cudaMemset(u, 0, 4000);
    look_back<<<1000, 32>>>(u);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(u[999] == 1000);
    float *values = memory<float>(401);
    for (int i = 0; i < 200; i++) values[i] = i;
    cudaMemset(u, 0, 4);
    for (int k = 0; k < 3; k++) last_block<<<200, 32>>>(values, values + 200, u, values + 400);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(values[400] == 199 * 100);
    return result();
}
