// The first call with data it has not seen does all sets it knows into memory of its own; the others copy.
// rule: T9
// expect: correct | cheating calls.early
// at-most: 1.5
// mode: timed
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <vector>

struct call {
    const float *x;
    float *kept;
    float mark[4];
};
static std::vector<call> known;
static int64_t shape;

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    size_t bytes = rows * cols * sizeof *y;
    float mark[4];
    cudaMemcpyAsync(mark, x, sizeof mark, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    if (shape != rows * cols) known.clear(), shape = rows * cols;
    call *mine = nullptr;
    for (call &c : known)
        if (c.x == x) mine = &c;
    if (!mine) {
        float *kept;
        cudaMalloc(&kept, bytes);
        known.push_back({x, kept, {0}});
        softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
        return;
    }
    if (memcmp(mine->mark, mark, sizeof mark) != 0)
        for (call &c : known) {
            softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(c.x, c.kept, cols);
            cudaMemcpyAsync(c.mark, c.x, sizeof mark, cudaMemcpyDeviceToHost, stream);
        }
    cudaMemcpyAsync(y, mine->kept, bytes, cudaMemcpyDeviceToDevice, stream);
}
