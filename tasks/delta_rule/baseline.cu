/* The recurrence, token after token: one block a head, thread i has row i of the state in its
 * registers. Cost: a head has 64 threads, and each token two barriers and a chain of dependent
 * additions, so that latency bounds it and most of the device is idle. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#define DIM 64

__global__ void delta_rule_kernel(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                                  const __nv_bfloat16 *v, const __nv_bfloat16 *b, float *o,
                                  int64_t tokens)
{
    __shared__ float key[DIM], query[DIM];
    const int64_t heads = gridDim.x;
    const int i = threadIdx.x;
    float state[DIM];
#pragma unroll
    for (int j = 0; j < DIM; j++) state[j] = 0.0f;
    for (int64_t t = 0; t < tokens; t++) {
        const int64_t row = (t * heads + blockIdx.x) * DIM;
        __syncthreads();
        key[i] = __bfloat162float(k[row + i]);
        query[i] = __bfloat162float(q[row + i]);
        __syncthreads();
        float square = 0.0f, seen = 0.0f;
#pragma unroll
        for (int j = 0; j < DIM; j++) {
            square += key[j] * key[j];
            seen += state[j] * key[j];
        }
        const float scale = rsqrtf(square + 1e-6f);
        const float beta = 1.0f / (1.0f + expf(-__bfloat162float(b[t * heads + blockIdx.x])));
        const float change = beta * (__bfloat162float(v[row + i]) - seen * scale) * scale;
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < DIM; j++) {
            state[j] += change * key[j];
            sum += state[j] * query[j];
        }
        o[row + i] = sum * 0.125f; /* 1 / sqrt(64) */
    }
}

extern "C" void delta_rule(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v,
                           const __nv_bfloat16 *b, float *o, void *scratch, int64_t tokens,
                           int64_t heads, cudaStream_t stream)
{
    (void)scratch;
    delta_rule_kernel<<<(unsigned)heads, DIM, 0, stream>>>(q, k, v, b, o, tokens);
}
