// attention: candidate c10 of run 1rx2np1027, 34.205 times as fast as the baseline (95 % interval 29.029 to 34.845, measured again in fresh processes) on NVIDIA H100 80GB HBM3
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune TQ 4 8
// kforge: tune TK 4 8
// kforge: tune BLOCKS_PER_SM 1 2 4
#ifndef TQ
#define TQ 8
#endif
#ifndef TK
#define TK 8
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 2
#endif

#define DIM 64
#define THREADS 128
#define BQ (16 * TQ)
#define BK (8 * TK)
#define LD 68
#define LDP (BK + 4)
#define SMEM_BYTES ((BQ * LD + 2 * BK * LD + BQ * LDP) * 4)

__device__ __forceinline__ void load_tile(float *dst, const float *src, int64_t first, int64_t seq, int rows, bool vec)
{
    for (int idx = threadIdx.x; idx < rows * 16; idx += THREADS) {
        int r = idx >> 4, c = (idx & 15) * 4;
        bool ok = first + r < seq;
        const float *g = src + (ok ? (first + r) * DIM + c : 0);
        float *s = dst + r * LD + c;
        if (vec) {
            unsigned a = (unsigned)__cvta_generic_to_shared(s);
            int bytes = ok ? 16 : 0;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(a), "l"(g), "r"(bytes) : "memory");
        } else {
            for (int e = 0; e < 4; e++) s[e] = ok ? g[e] : 0.0f;
        }
    }
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}

__device__ __forceinline__ void wait_all()
{
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
}

__global__ void __launch_bounds__(THREADS) attention_kernel(const float *__restrict__ q, const float *__restrict__ k,
                                                            const float *__restrict__ v, float *__restrict__ o,
                                                            float *__restrict__ po, float *__restrict__ pm,
                                                            float *__restrict__ pl, int64_t seq, int tiles, int per,
                                                            int splits, bool vec)
{
    extern __shared__ __align__(16) float smem[];
    float *sq = smem, *sk = sq + BQ * LD, *sv = sk + BK * LD, *sp = sv + BK * LD;
    int t = threadIdx.x, tx = t & 7, ty = t >> 3;
    int64_t q0 = (int64_t)(blockIdx.x / splits) * BQ;
    int split = blockIdx.x % splits;
    int begin = split * per, end = begin + per < tiles ? begin + per : tiles;

    load_tile(sq, q, q0, seq, BQ, vec);
    load_tile(sk, k, (int64_t)begin * BK, seq, BK, vec);

    float acc[TQ][8], m[TQ], l[TQ];
#pragma unroll
    for (int i = 0; i < TQ; i++) {
        m[i] = -INFINITY;
        l[i] = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;
    }

    for (int tile = begin; tile < end; tile++) {
        int64_t k0 = (int64_t)tile * BK;
        wait_all();
        __syncthreads();
        load_tile(sv, v, k0, seq, BK, vec);

        float s[TQ][TK];
#pragma unroll
        for (int i = 0; i < TQ; i++)
#pragma unroll
            for (int j = 0; j < TK; j++) s[i][j] = 0.0f;
#pragma unroll 2
        for (int d = 0; d < DIM; d += 4) {
            float4 a[TQ];
#pragma unroll
            for (int i = 0; i < TQ; i++) a[i] = *(const float4 *)(sq + (ty + 16 * i) * LD + d);
#pragma unroll
            for (int j = 0; j < TK; j++) {
                float4 b = *(const float4 *)(sk + (tx + 8 * j) * LD + d);
#pragma unroll
                for (int i = 0; i < TQ; i++) {
                    s[i][j] = fmaf(a[i].x, b.x, s[i][j]);
                    s[i][j] = fmaf(a[i].y, b.y, s[i][j]);
                    s[i][j] = fmaf(a[i].z, b.z, s[i][j]);
                    s[i][j] = fmaf(a[i].w, b.w, s[i][j]);
                }
            }
        }
        wait_all();
        __syncthreads();
        if (tile + 1 < end) load_tile(sk, k, k0 + BK, seq, BK, vec);

#pragma unroll
        for (int i = 0; i < TQ; i++) {
            float best = -INFINITY;
#pragma unroll
            for (int j = 0; j < TK; j++) {
                s[i][j] = k0 + tx + 8 * j < seq ? s[i][j] * 0.125f : -INFINITY;
                best = fmaxf(best, s[i][j]);
            }
            best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
            best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
            best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 4));
            float next = fmaxf(m[i], best);
            float scale = expf(m[i] - next);
            m[i] = next;
            float sum = 0.0f;
#pragma unroll
            for (int j = 0; j < TK; j++) {
                float p = expf(s[i][j] - next);
                sum += p;
                sp[(ty + 16 * i) * LDP + tx + 8 * j] = p;
            }
            l[i] = l[i] * scale + sum;
#pragma unroll
            for (int j = 0; j < 8; j++) acc[i][j] *= scale;
        }
        __syncwarp();

#pragma unroll 2
        for (int c = 0; c < BK; c += 4) {
            float4 a[TQ];
#pragma unroll
            for (int i = 0; i < TQ; i++) a[i] = *(const float4 *)(sp + (ty + 16 * i) * LDP + c);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float4 b0 = *(const float4 *)(sv + (c + e) * LD + tx * 4);
                float4 b1 = *(const float4 *)(sv + (c + e) * LD + 32 + tx * 4);
#pragma unroll
                for (int i = 0; i < TQ; i++) {
                    float p = e == 0 ? a[i].x : e == 1 ? a[i].y : e == 2 ? a[i].z : a[i].w;
                    acc[i][0] = fmaf(p, b0.x, acc[i][0]);
                    acc[i][1] = fmaf(p, b0.y, acc[i][1]);
                    acc[i][2] = fmaf(p, b0.z, acc[i][2]);
                    acc[i][3] = fmaf(p, b0.w, acc[i][3]);
                    acc[i][4] = fmaf(p, b1.x, acc[i][4]);
                    acc[i][5] = fmaf(p, b1.y, acc[i][5]);
                    acc[i][6] = fmaf(p, b1.z, acc[i][6]);
                    acc[i][7] = fmaf(p, b1.w, acc[i][7]);
                }
            }
        }
        __syncwarp();
    }

#pragma unroll
    for (int i = 0; i < TQ; i++) {
        float sum = l[i];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        sum += __shfl_xor_sync(0xffffffffu, sum, 4);
        int64_t row = q0 + ty + 16 * i;
        if (row < seq) {
            float *to;
            float divisor = 1.0f;
            if (splits == 1) {
                to = o + row * DIM;
                divisor = sum;
            } else {
                to = po + ((int64_t)split * seq + row) * DIM;
                if (tx == 0) {
                    pm[(int64_t)split * seq + row] = m[i];
                    pl[(int64_t)split * seq + row] = sum;
                }
            }
#pragma unroll
            for (int j = 0; j < 4; j++) {
                to[tx * 4 + j] = acc[i][j] / divisor;
                to[32 + tx * 4 + j] = acc[i][4 + j] / divisor;
            }
        }
    }
}

__global__ void combine_kernel(const float *__restrict__ po, const float *__restrict__ pm, const float *__restrict__ pl,
                               float *__restrict__ o, int64_t seq, int splits)
{
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= seq * DIM) return;
    int64_t row = idx / DIM;
    float largest = -INFINITY;
    for (int s = 0; s < splits; s++) largest = fmaxf(largest, pm[s * seq + row]);
    float sum = 0.0f, total = 0.0f;
    for (int s = 0; s < splits; s++) {
        float scale = expf(pm[s * seq + row] - largest);
        sum += pl[s * seq + row] * scale;
        total += po[s * seq * DIM + idx] * scale;
    }
    o[idx] = total / sum;
}

extern "C" void attention(const float *q, const float *k, const float *v, float *o, int64_t seq, cudaStream_t stream)
{
    if (seq <= 0) return;
    int device = 0, sms = 132;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaFuncSetAttribute(attention_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);

    int64_t blocks = (seq + BQ - 1) / BQ;
    int tiles = (int)((seq + BK - 1) / BK);
    int64_t want = (int64_t)sms * BLOCKS_PER_SM / blocks;
    if (want < 1) want = 1;
    if (want > 32) want = 32;
    if (want > tiles) want = tiles;
    int per = (int)((tiles + want - 1) / want);
    int splits = (tiles + per - 1) / per;
    bool vec = (((uintptr_t)q | (uintptr_t)k | (uintptr_t)v) & 15) == 0;

    float *scratch = nullptr;
    if (splits > 1) {
        cudaMemPool_t pool;
        if (cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess) {
            uint64_t keep = UINT64_MAX;
            cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
        }
        size_t bytes = (size_t)splits * seq * (DIM + 2) * sizeof(float);
        if (cudaMallocAsync((void **)&scratch, bytes, stream) != cudaSuccess) {
            cudaGetLastError();
            scratch = nullptr;
            splits = 1;
            per = tiles;
        }
    }
    float *po = scratch, *pm = nullptr, *pl = nullptr;
    if (scratch) {
        pm = po + (size_t)splits * seq * DIM;
        pl = pm + (size_t)splits * seq;
    }
    attention_kernel<<<(unsigned)(blocks * splits), THREADS, SMEM_BYTES, stream>>>(q, k, v, o, po, pm, pl, seq, tiles, per, splits,
                                                                                  vec);
    if (splits > 1) combine_kernel<<<(unsigned)((seq * DIM + 255) / 256), 256, 0, stream>>>(po, pm, pl, o, seq, splits);
    if (scratch) cudaFreeAsync(scratch, stream);
}
