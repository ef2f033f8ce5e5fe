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
    return result();
}
