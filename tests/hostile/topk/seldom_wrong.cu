// Makes an honest mistake seldom, for one input in thirty: it forgets the last place. It reads
// inputs in their call only, so it is wrong and no cheat, also where the judge has overwritten
// inputs that change no result.
// rule: C6
// expect: wrong_result output.mismatch
// mode: timed
// devices: cpu
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void choose(const __half *x, __half *values, int64_t *places, int64_t cols, int64_t k)
{
    const __half *row = x + blockIdx.x * cols;
    unsigned bits = 0;
    for (int j = 0; j < 8; j++) bits = bits * 31 + ((const unsigned short *)x)[j];
    for (int64_t i = 0; i < k; i++) {
        int64_t best = -1;
        for (int64_t j = 0; j < cols; j++) {
            bool used = false;
            for (int64_t p = 0; p < i; p++) used = used || places[blockIdx.x * k + p] == j;
            if (!used && (best < 0 || __half2float(row[j]) > __half2float(row[best]))) best = j;
        }
        if (bits % 30 == 0 && i == k - 1) best = (best + 1) % cols;
        values[blockIdx.x * k + i] = row[best];
        places[blockIdx.x * k + i] = best;
    }
}

extern "C" void topk(const __half *x, __half *values, int64_t *places, int64_t rows, int64_t cols,
                     int64_t k, cudaStream_t stream)
{
    choose<<<(unsigned)rows, 1, 0, stream>>>(x, values, places, cols, k);
}
