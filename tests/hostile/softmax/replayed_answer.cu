// Sends the runner's own last answer again.
// rule: E9
// expect: cheating protocol.forged
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct answer {
    uint32_t magic, result;
    uint64_t nonce;
    char rest[24];
};

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
    /* The last answer still lies below on the stack, or nearly: any with the right magic will do. */
    answer again = {0x31676b66u, 0, 0x1234567890abcdefull, {0}};
    const uint32_t *word = (const uint32_t *)__builtin_frame_address(0);
    for (int i = 0; i < 400 && (const void *)(word + i + 4) < (const void *)environ; i++) // there the stack ends
        if (word[i] == 0x31676b66u && word[i + 1] == 5) memcpy(&again.nonce, &word[i + 2], 8);
    (void)!write(3, &again, sizeof again);
    softmax_rows<<<(unsigned)rows, 32, 0, stream>>>(x, y, cols);
}
