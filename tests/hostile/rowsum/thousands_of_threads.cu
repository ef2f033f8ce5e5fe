// Starts threads until it can start no more, and joins them.
// rule: E6
// expect: correct | crash runner.crashed | out_of_memory memory.limit | contract_violation threads.left | timeout time.limit
#include <atomic>
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#include <vector>

static std::atomic<bool> over;
static void *wait_for_all(void *)
{
    while (!over) usleep(1000);
    return nullptr;
}

__global__ void sum_rows(const float *x, float *s, int64_t cols)
{
    float sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += x[blockIdx.x * cols + j];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (threadIdx.x == 0) s[blockIdx.x] = sum;
}
extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    static bool tried;
    if (!tried) {
        tried = true;
        std::vector<pthread_t> threads;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 1 << 14);
        pthread_t one;
        while (threads.size() < 20000 && pthread_create(&one, &small, wait_for_all, nullptr) == 0) threads.push_back(one);
        over = true;
        for (pthread_t t : threads) pthread_join(t, nullptr);
    }
    sum_rows<<<(unsigned)rows, 32, 0, stream>>>(x, s, cols);
}
