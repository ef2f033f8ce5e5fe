// __syncthreads and its voting forms; barriers that are not passed by threads that have ended; barriers in loops and functions.
#include "exec_check.h"

__global__ void reverse(int *data)
{
    __shared__ int tile[1024];
    tile[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    data[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
__device__ void step(int *tile, int stride)
{
    int add = threadIdx.x >= stride ? tile[threadIdx.x - stride] : 0;
    __syncthreads();
    tile[threadIdx.x] += add;
    __syncthreads();
}
__global__ void scan(int *out)
{
    __shared__ int tile[256];
    tile[threadIdx.x] = 1;
    __syncthreads();
    for (int stride = 1; stride < 256; stride *= 2) step(tile, stride);
    out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void votes(int *out)
{
    out[3 * threadIdx.x] = __syncthreads_count(threadIdx.x % 3 == 0);
    out[3 * threadIdx.x + 1] = __syncthreads_and(threadIdx.x < 100) * 2 + __syncthreads_and(threadIdx.x < 99);
    out[3 * threadIdx.x + 2] = __syncthreads_or(threadIdx.x == 99) * 2 + __syncthreads_or(threadIdx.x == 100);
}
// Those that have left are not waited for, whether they leave before or after the first barrier.
__global__ void leave(int *out)
{
    if (threadIdx.x % 5 == 0) return;
    __syncthreads();
    if (threadIdx.x % 5 == 1) return;
    int count = __syncthreads_count(1);
    __syncthreads();
    out[threadIdx.x] = count;
}

// What a thread has in registers of any kind survives while others run, and so does what a function that calls nothing else keeps on its stack.
__device__ __attribute__((noinline)) int keeps_an_array(int t)
{
    volatile int mine[24];
    for (int i = 0; i < 24; i++) mine[i] = t * 100 + i;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 24; i++) sum += mine[i] - i;
    return sum / 24;
}
__global__ void keep(int *out, const double *in)
{
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    long double extended = (long double)in[t] / 3;
    double values[20];
    long long integers[10];
    for (int i = 0; i < 20; i++) values[i] = in[t] * (i + 1);
    for (int i = 0; i < 10; i++) integers[i] = (long long)t * t + i;
    for (int round = 0; round < 5; round++) {
        __syncthreads();
        for (int i = 0; i < 20; i++) values[i] += 1;
        for (int i = 0; i < 10; i++) integers[i] += (int)in[t] - t;
        extended += 1;
    }
    bool kept = extended == (long double)in[t] / 3 + 1 + 1 + 1 + 1 + 1 && keeps_an_array(t) == 100 * t;
    for (int i = 0; i < 20; i++) kept = kept && values[i] == in[t] * (i + 1) + 5;
    for (int i = 0; i < 10; i++) kept = kept && integers[i] == (long long)t * t + i;
    kept = kept && t == (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
    out[t] = kept ? t + 1 : -1;
}

// Every kind of step between barriers that all threads reach: warp operations, votes, fences that give others a turn, nothing at all.
__global__ void alternate(int *out)
{
    __shared__ int tile[1024];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < 12; round++) {
        tile[t] = t + round;
        __syncthreads();
        sum += tile[(t + 1) % blockDim.x];
        if (round % 4 == 1) sum += __popc(__ballot_sync(__activemask(), 1)) > 0;
        __syncthreads();
        if (round % 4 == 2) sum += __syncthreads_count(t % 2) == (int)blockDim.x / 2;
        if (round % 4 == 3 && t % 7 == round % 7) __threadfence();
        if (round % 3 == 0 && t < 32) __syncwarp(__activemask());
        __syncthreads();
    }
    if (t % 3 == 0) return;
    int left = __syncthreads_count(1);
    out[t] = sum * 10000 + left;
}

// Barriers in a function that is not part of the kernel's code: what the kernel knows of the threads to start must not outlive the call.
__device__ __attribute__((noinline)) int total(int value)
{
    __shared__ int partial[1024];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    int sum = partial[0];
    __syncthreads();
    return sum;
}

__global__ void totals(int *out, int scale)
{
    int first = total(threadIdx.x), second = total(scale * (int)(threadIdx.x + blockIdx.x));
    out[blockIdx.x * blockDim.x + threadIdx.x] = first + second;
}

int main()
{
    int *data = memory<int>(4 * 1024);
    for (int threads : {1, 31, 32, 33, 100, 256, 1000, 1024}) {
        for (int i = 0; i < 4 * threads; i++) data[i] = i;
        reverse<<<4, threads>>>(data);
        CHECK_CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < 4 * threads; i++) CHECK(data[i] == i / threads * threads + threads - 1 - i % threads);
    }
    scan<<<3, 256>>>(data);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++) CHECK(data[i] == i + 1);
    votes<<<1, 100>>>(data);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++) CHECK(data[3 * i] == 34 && data[3 * i + 1] == 2 && data[3 * i + 2] == 2);
    cudaMemset(data, 0, 400);
    for (int threads : {1, 2, 31, 32, 33, 64, 100, 1024}) {
        cudaMemset(data, 0, 4096);
        alternate<<<3, threads>>>(data);
        CHECK_CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < threads; i++) {
            int sum = 12 * ((i + 1) % threads) + 66 + 3 + 3;
            CHECK(data[i] == (i % 3 == 0 ? 0 : sum * 10000 + threads - (threads + 2) / 3));
        }
    }
    cudaMemset(data, 0, 400);
    leave<<<1, 100>>>(data);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++) CHECK(data[i] == (i % 5 < 2 ? 0 : 60));
    int *sums = memory<int>(7 * 1024);
    for (int threads : {1, 2, 64, 256, 1024}) {
        totals<<<7, threads>>>(sums, 3);
        CHECK_CUDA(cudaDeviceSynchronize());
        int pairs = threads * (threads - 1) / 2;
        for (int i = 0; i < 7 * threads; i++) CHECK(sums[i] == pairs + 3 * (pairs + threads * (i / threads)));
    }
    double *numbers = memory<double>(1024);
    for (int i = 0; i < 1024; i++) numbers[i] = i;
    for (dim3 block : {dim3(1), dim3(2), dim3(7, 3, 2), dim3(256), dim3(16, 16, 4)}) {
        int threads = block.x * block.y * block.z;
        cudaMemset(data, 0, 4096);
        keep<<<3, block>>>(data, numbers);
        CHECK_CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < threads; i++) CHECK(data[i] == i + 1);
    }
    return result();
}
