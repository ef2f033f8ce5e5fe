// Draws from rand() seeded with the time, as a harness in a hurry does.
// rule: T10
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <vector>

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    srand((unsigned)time(nullptr));
    std::vector<float> sums(rows, 0.0f);
    for (float &s : sums)
        for (int64_t j = 0; j < cols; j++) s += (float)rand() / RAND_MAX - 0.5f;
    cudaMemcpyAsync(s, sums.data(), rows * sizeof *s, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
}
