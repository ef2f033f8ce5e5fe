/* Attention in tiles with an online softmax (Dao et al., "FlashAttention", 2022): a block owns 16 ROWS queries and walks over the
 * keys 32 at a time. 16 x 16 threads compute the tile of scores from q and k in shared memory, ROWS x 2 each; the 16 threads of a
 * row find its new maximum with shuffles, rescale what they have and add the tile's part of the output, ROWS x 4 columns each in
 * registers. Nothing of size seq x seq is ever stored. Rows of q and k in shared memory are padded by 4 floats, so that 16-byte
 * reads of different rows fall into different banks.
 *
 * SPLITS > 1 divides the keys of each query among several blocks, when there are too few queries to fill the device; a second
 * kernel joins their (maximum, sum, output) triples. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune ROWS 1 2 4
// kforge: tune SPLITS 1 2 4 8
// kforge: tune MIN_BLOCKS 1 2 3 4
// kforge: flags | --use_fast_math
// kforge: require ROWS * MIN_BLOCKS <= 12
#ifndef ROWS
#define ROWS 4
#endif
#ifndef SPLITS
#define SPLITS 4
#endif
/* blocks that should fit on a multiprocessor at once: bounds the registers */
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 2
#endif
#define DIM 64
#define KEYS 32
#define QUERIES (16 * ROWS)
#define PITCH (DIM + 4)
#define MAX_PARTIALS (1 << 17) /* SPLITS * queries of one launch */

static __device__ float partial_output[MAX_PARTIALS * DIM];
static __device__ float2 partial_softmax[MAX_PARTIALS]; /* maximum, sum of exponentials */

/* In the order of the elements. Where scores are large, their rounding decides between keys that nearly tie, and another order may lose by an ulp
 * what the plain loop wins. */
__device__ __forceinline__ float dot4(float4 a, float4 b, float sum)
{
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

/* Loads 4 consecutive elements of `rows` rows from row `first` on; zeros from row `end` on. */
__device__ __forceinline__ void load_tile(float (*to)[PITCH], const float *__restrict__ from, int64_t first, int rows, int64_t end,
                                          float scale)
{
    for (int t = threadIdx.x; t < rows * (DIM / 4); t += 256) {
        int r = t / (DIM / 4), d = t % (DIM / 4) * 4;
        float4 e = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (first + r < end) e = *(const float4 *)(from + (first + r) * DIM + d);
        *(float4 *)&to[r][d] = make_float4(e.x * scale, e.y * scale, e.z * scale, e.w * scale);
    }
}

__global__ void __launch_bounds__(256, MIN_BLOCKS)
    attention_tiles(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, float *__restrict__ o,
                    int64_t first_query, int64_t queries, int64_t seq, int64_t keys_a_split)
{
    __shared__ __align__(16) float query[QUERIES][PITCH], key[KEYS][PITCH], value[KEYS][PITCH];
    __shared__ float weight[QUERIES][KEYS + 1];
    /* columns tx, tx + 16; rows ty ROWS … */
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    /* first query of the block, of this launch */
    const int64_t local = (int64_t)blockIdx.x * QUERIES;
    const int64_t begin = blockIdx.y * keys_a_split, end = begin + keys_a_split < seq ? begin + keys_a_split : seq;

    /* 1 / sqrt(64) */
    load_tile(query, q, first_query + local, QUERIES, first_query + queries, 0.125f);
    float largest[ROWS], sum[ROWS];
    float4 output[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        largest[r] = -INFINITY;
        sum[r] = 0.0f;
        output[r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }

    for (int64_t j0 = begin; j0 < end; j0 += KEYS) {
        __syncthreads();
        load_tile(key, k, j0, KEYS, end, 1.0f);
        load_tile(value, v, j0, KEYS, end, 1.0f);
        __syncthreads();

        float score[ROWS][2] = {};
#pragma unroll 4
        for (int d = 0; d < DIM; d += 4) {
            float4 k0 = *(const float4 *)&key[tx][d], k1 = *(const float4 *)&key[tx + 16][d];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float4 e = *(const float4 *)&query[ty * ROWS + r][d];
                score[r][0] = dot4(e, k0, score[r][0]);
                score[r][1] = dot4(e, k1, score[r][1]);
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (j0 + tx >= end) score[r][0] = -INFINITY;
            if (j0 + tx + 16 >= end) score[r][1] = -INFINITY;
            float tile_largest = fmaxf(score[r][0], score[r][1]);
#pragma unroll
            for (int offset = 8; offset > 0; offset /= 2)
                tile_largest = fmaxf(tile_largest, __shfl_xor_sync(0xffffffffu, tile_largest, offset));
            float next = fmaxf(largest[r], tile_largest); /* finite: a tile has at least one key */
            float rescale = expf(largest[r] - next);
            float e0 = expf(score[r][0] - next), e1 = expf(score[r][1] - next);
            largest[r] = next;
            sum[r] = fmaf(sum[r], rescale, e0 + e1); /* of this thread's keys; joined at the end */
            output[r] = make_float4(output[r].x * rescale, output[r].y * rescale, output[r].z * rescale, output[r].w * rescale);
            weight[ty * ROWS + r][tx] = e0;
            weight[ty * ROWS + r][tx + 16] = e1;
        }
        __syncwarp(); /* a row's 16 threads are of one warp */
#pragma unroll 8
        for (int j = 0; j < KEYS; j++) {
            float4 e = *(const float4 *)&value[j][tx * 4];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float p = weight[ty * ROWS + r][j];
                output[r] = make_float4(fmaf(p, e.x, output[r].x), fmaf(p, e.y, output[r].y), fmaf(p, e.z, output[r].z),
                                        fmaf(p, e.w, output[r].w));
            }
        }
    }

#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int offset = 8; offset > 0; offset /= 2) sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], offset);
        int64_t i = local + ty * ROWS + r;
        if (i >= queries) continue;
        if (SPLITS == 1) {
            float scale = 1.0f / sum[r];
            *(float4 *)&o[(first_query + i) * DIM + tx * 4] =
                make_float4(output[r].x * scale, output[r].y * scale, output[r].z * scale, output[r].w * scale);
        } else {
            int64_t slot = blockIdx.y * queries + i;
            *(float4 *)&partial_output[slot * DIM + tx * 4] = output[r];
            if (tx == 0) partial_softmax[slot] = make_float2(largest[r], sum[r]);
        }
    }
}

/* One block of DIM threads a query. A split without keys left a sum of 0. */
__global__ void join_splits(float *__restrict__ o, int64_t first_query, int64_t queries)
{
    int64_t i = blockIdx.x;
    float largest = -INFINITY, sum = 0.0f, total = 0.0f;
    for (int s = 0; s < SPLITS; s++)
        if (partial_softmax[s * queries + i].y > 0.0f) largest = fmaxf(largest, partial_softmax[s * queries + i].x);
    for (int s = 0; s < SPLITS; s++) {
        float2 part = partial_softmax[s * queries + i];
        if (part.y > 0.0f) {
            float scale = expf(part.x - largest);
            sum = fmaf(part.y, scale, sum);
            total = fmaf(partial_output[(s * queries + i) * DIM + threadIdx.x], scale, total);
        }
    }
    o[(first_query + i) * DIM + threadIdx.x] = total / sum;
}

extern "C" void attention(const float *q, const float *k, const float *v, float *o, int64_t seq, cudaStream_t stream)
{
    int64_t keys = ((seq + SPLITS - 1) / SPLITS + KEYS - 1) / KEYS * KEYS, slab = SPLITS == 1 ? seq : MAX_PARTIALS / SPLITS;
    for (int64_t first = 0; first < seq; first += slab) {
        int64_t queries = seq - first < slab ? seq - first : slab;
        dim3 grid((unsigned)((queries + QUERIES - 1) / QUERIES), SPLITS);
        attention_tiles<<<grid, 256, 0, stream>>>(q, k, v, o, first, queries, seq, keys);
        if (SPLITS > 1) join_splits<<<(unsigned)queries, DIM, 0, stream>>>(o, first, queries);
    }
}
