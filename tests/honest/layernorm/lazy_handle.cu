// A handle for each device, made on first use, owns a stream, events and a workspace.
// rule: lazily initialised handles
// expect: correct
#include <cuda_runtime.h>
#include <map>
#include <memory>
#include <mutex>
#include <stdint.h>

__device__ float warp_sum(float value)
{
    for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(~0u, value, other);
    return value;
}

__global__ void moments(const float *x, float2 *stats, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += row[j];
    float mean = warp_sum(sum) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 32) squares += (row[j] - mean) * (row[j] - mean);
    squares = warp_sum(squares);
    if (threadIdx.x == 0) stats[blockIdx.x] = make_float2(mean, rsqrtf(squares / cols + 1e-5f));
}

__global__ void apply(const float *x, const float2 *stats, const float *gamma, const float *beta,
                      float *y, int64_t cols)
{
    float2 row = stats[blockIdx.x];
    for (int64_t j = threadIdx.x; j < cols; j += 128)
        y[blockIdx.x * cols + j] = (x[blockIdx.x * cols + j] - row.x) * row.y * gamma[j] + beta[j];
}

struct handle {
    cudaStream_t side = nullptr;
    cudaEvent_t fork = nullptr, join = nullptr;
    float2 *stats = nullptr;
    int64_t capacity = 0;
    handle()
    {
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    void reserve(int64_t rows)
    {
        if (rows <= capacity) return;
        cudaFree(stats);
        cudaMalloc(&stats, rows * sizeof *stats);
        capacity = rows;
    }
};

extern "C" void layernorm(const float *x, const float *gamma, const float *beta, float *y,
                          int64_t rows, int64_t cols, cudaStream_t stream)
{
    static std::mutex lock;
    static std::map<int, std::unique_ptr<handle>> handles;
    std::lock_guard<std::mutex> held(lock);
    int device = 0;
    cudaGetDevice(&device);
    std::unique_ptr<handle> &h = handles[device];
    if (!h) h.reset(new handle);
    h->reserve(rows);
    cudaEventRecord(h->fork, stream);
    cudaStreamWaitEvent(h->side, h->fork, 0);
    moments<<<(unsigned)rows, 32, 0, h->side>>>(x, h->stats, cols);
    cudaEventRecord(h->join, h->side);
    cudaStreamWaitEvent(stream, h->join, 0);
    apply<<<(unsigned)rows, 128, 0, stream>>>(x, h->stats, gamma, beta, y, cols);
}
