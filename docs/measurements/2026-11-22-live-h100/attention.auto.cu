// attention: candidate c53 of run 1rx2np6m9x, 39.842 times as fast as the baseline (95 % interval 35.527 to 40.573, measured again in fresh processes) on NVIDIA H100 80GB HBM3
/* Flash attention in f32. A warp owns 32 queries, a thread 8 queries x (KEYS/8) scores and 8 queries x 8 output columns.
 * Queries are kept transposed in shared memory, keys and values come by cp.async (values load while scores are computed,
 * the next keys while the values are used). Keys are split over blockIdx.y so that the whole device is busy; partial results
 * (unnormalised output, maximum, sum) are merged by a second kernel. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune WARPS 2 4 8
// kforge: tune KEYS 32 64
// kforge: tune UNROLL_D 1 2 4
// kforge: tune UNROLL_J 2 4 8
#ifndef WARPS
#define WARPS 8
#endif
#ifndef KEYS
#define KEYS 64
#endif
#ifndef UNROLL_D
#define UNROLL_D 4
#endif
#ifndef UNROLL_J
#define UNROLL_J 8
#endif

/* Macros are not expanded inside pragmas; constants are found there. */
constexpr int unroll_over_d = UNROLL_D;
constexpr int unroll_over_j = UNROLL_J;

#define DIM 64
#define THREADS (WARPS * 32)
#define BM (WARPS * 32)
#define CN (KEYS / 8)
#define KSTRIDE (DIM + 4)
#define PSTRIDE (BM + 8)
#define Q_FLOATS (DIM * BM)
#define K_FLOATS (KEYS * KSTRIDE)
#define V_FLOATS (KEYS * DIM)
#define P_FLOATS (KEYS * PSTRIDE)
#define SMEM_BYTES ((Q_FLOATS + K_FLOATS + V_FLOATS + P_FLOATS) * 4)
#define LOG2E 1.4426950408889634f

__device__ __forceinline__ float fast_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ void copy16(unsigned to, const float *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void copy_wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

template <int STRIDE>
__device__ __forceinline__ void load_tile(float *to, const float *__restrict__ from, int64_t j0, int64_t seq, int t)
{
    const unsigned base = (unsigned)__cvta_generic_to_shared(to);
#pragma unroll
    for (int n = 0; n < KEYS * (DIM / 4) / THREADS; n++) {
        const int c = t + n * THREADS;
        const int row = c / (DIM / 4), col = (c % (DIM / 4)) * 4;
        const bool in = j0 + row < seq;
        copy16(base + (unsigned)(row * STRIDE + col) * 4u, from + (in ? j0 + row : 0) * DIM + col, in ? 16 : 0);
    }
}

__global__ void __launch_bounds__(THREADS, 8 / WARPS)
attention_kernel(const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, float *__restrict__ o,
                 float *__restrict__ part, float2 *__restrict__ stats, int64_t seq, int64_t tiles, int64_t tiles_per_split)
{
    extern __shared__ __align__(16) float shared[];
    float *qs = shared;          /* [DIM][BM] */
    float *ks = qs + Q_FLOATS;   /* [KEYS][KSTRIDE] */
    float *vs = ks + K_FLOATS;   /* [KEYS][DIM] */
    float *ps = vs + V_FLOATS;   /* [KEYS][PSTRIDE], transposed: key, query */

    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    /* This order of lanes lets halves of the 16-byte shared loads merge for both operands. */
    const int tx = (lane >> 1) & 7;
    const int ty = ((lane >> 4) << 1) | (lane & 1);
    const int row0 = warp * 32 + ty * 4; /* rows row0 + 0..3 and row0 + 16 + 0..3 */
    const int64_t q0 = (int64_t)blockIdx.x * BM;
    const int64_t tile_begin = (int64_t)blockIdx.y * tiles_per_split;
    const int64_t tile_end = tile_begin + tiles_per_split < tiles ? tile_begin + tiles_per_split : tiles;

    load_tile<KSTRIDE>(ks, k, tile_begin * KEYS, seq, t);
    copy_commit();

    { /* a thread transposes one query: BM == THREADS */
        const bool in = q0 + t < seq;
        const float4 *from = reinterpret_cast<const float4 *>(q + (in ? q0 + t : 0) * DIM);
#pragma unroll 4
        for (int d = 0; d < DIM / 4; d++) {
            float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (in) x = from[d];
            qs[(d * 4 + 0) * BM + t] = x.x * 0.125f; /* 1 / sqrt(64), exact */
            qs[(d * 4 + 1) * BM + t] = x.y * 0.125f;
            qs[(d * 4 + 2) * BM + t] = x.z * 0.125f;
            qs[(d * 4 + 3) * BM + t] = x.w * 0.125f;
        }
    }

    float out[8][8], top[8], sum[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        top[i] = -INFINITY;
        sum[i] = 0.0f;
#pragma unroll
        for (int c = 0; c < 8; c++) out[i][c] = 0.0f;
    }

    for (int64_t tile = tile_begin; tile < tile_end; tile++) {
        const int64_t j0 = tile * KEYS;
        copy_wait();
        __syncthreads(); /* keys are here; values of the last tile are no longer needed */
        load_tile<DIM>(vs, v, j0, seq, t);
        copy_commit();

        float s[8][CN];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < CN; j++) s[i][j] = 0.0f;

#pragma unroll unroll_over_d
        for (int d = 0; d < DIM; d += 4) {
            float kk[CN][4];
#pragma unroll
            for (int j = 0; j < CN; j++) {
                const float4 x = *reinterpret_cast<const float4 *>(ks + (tx + 8 * j) * KSTRIDE + d);
                kk[j][0] = x.x;
                kk[j][1] = x.y;
                kk[j][2] = x.z;
                kk[j][3] = x.w;
            }
#pragma unroll
            for (int c = 0; c < 4; c++) {
                const float4 a = *reinterpret_cast<const float4 *>(qs + (d + c) * BM + row0);
                const float4 b = *reinterpret_cast<const float4 *>(qs + (d + c) * BM + row0 + 16);
                const float qq[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < CN; j++) s[i][j] = fmaf(qq[i], kk[j][c], s[i][j]);
            }
        }

        copy_wait();
        __syncthreads(); /* values are here; these keys are no longer needed */
        if (tile + 1 < tile_end) load_tile<KSTRIDE>(ks, k, j0 + KEYS, seq, t);
        copy_commit();

        if (j0 + KEYS > seq) {
#pragma unroll
            for (int j = 0; j < CN; j++)
                if (j0 + tx + 8 * j >= seq) {
#pragma unroll
                    for (int i = 0; i < 8; i++) s[i][j] = -INFINITY;
                }
        }

#pragma unroll
        for (int i = 0; i < 8; i++) {
            float m = s[i][0];
#pragma unroll
            for (int j = 1; j < CN; j++) m = fmaxf(m, s[i][j]);
            m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
            m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 4));
            m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 8));
            const float now = fmaxf(top[i], m * LOG2E); /* in units of log 2 */
            const float scale = fast_exp2(top[i] - now);
            top[i] = now;
            float total = 0.0f;
#pragma unroll
            for (int j = 0; j < CN; j++) {
                s[i][j] = fast_exp2(fmaf(s[i][j], LOG2E, -now));
                total += s[i][j];
            }
            sum[i] = fmaf(sum[i], scale, total);
#pragma unroll
            for (int c = 0; c < 8; c++) out[i][c] *= scale;
        }
        /* A warp reads only the scores that it writes. */
#pragma unroll
        for (int j = 0; j < CN; j++) {
            float *to = ps + (tx + 8 * j) * PSTRIDE + row0;
            *reinterpret_cast<float4 *>(to) = make_float4(s[0][j], s[1][j], s[2][j], s[3][j]);
            *reinterpret_cast<float4 *>(to + 16) = make_float4(s[4][j], s[5][j], s[6][j], s[7][j]);
        }
        __syncwarp();

#pragma unroll unroll_over_j
        for (int j = 0; j < KEYS; j++) {
            const float4 a = *reinterpret_cast<const float4 *>(ps + j * PSTRIDE + row0);
            const float4 b = *reinterpret_cast<const float4 *>(ps + j * PSTRIDE + row0 + 16);
            const float4 x = *reinterpret_cast<const float4 *>(vs + j * DIM + tx * 4);
            const float4 y = *reinterpret_cast<const float4 *>(vs + j * DIM + 32 + tx * 4);
            const float pp[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
            const float vv[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int c = 0; c < 8; c++) out[i][c] = fmaf(pp[i], vv[c], out[i][c]);
        }
        __syncwarp();
    }
    copy_wait();

#pragma unroll
    for (int i = 0; i < 8; i++) {
        float total = sum[i];
        total += __shfl_xor_sync(0xffffffffu, total, 2);
        total += __shfl_xor_sync(0xffffffffu, total, 4);
        total += __shfl_xor_sync(0xffffffffu, total, 8);
        const int64_t row = q0 + row0 + (i >> 2) * 16 + (i & 3);
        if (row < seq) {
            float *to;
            if (part) {
                const int64_t at = (int64_t)blockIdx.y * seq + row;
                to = part + at * DIM;
                if (tx == 0) stats[at] = make_float2(top[i], total);
            } else {
                to = o + row * DIM;
#pragma unroll
                for (int c = 0; c < 8; c++) out[i][c] = out[i][c] / total;
            }
            *reinterpret_cast<float4 *>(to + tx * 4) = make_float4(out[i][0], out[i][1], out[i][2], out[i][3]);
            *reinterpret_cast<float4 *>(to + 32 + tx * 4) = make_float4(out[i][4], out[i][5], out[i][6], out[i][7]);
        }
    }
}

__global__ void __launch_bounds__(256) combine_kernel(const float4 *__restrict__ part, const float2 *__restrict__ stats,
                                                      float4 *__restrict__ o, int64_t seq, int splits)
{
    const int64_t at = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (at >= seq * (DIM / 4)) return;
    const int64_t row = at / (DIM / 4);
    float top = -INFINITY;
#pragma unroll 4
    for (int s = 0; s < splits; s++) top = fmaxf(top, stats[s * seq + row].x);
    float4 total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float sum = 0.0f;
#pragma unroll 4
    for (int s = 0; s < splits; s++) {
        const float2 st = stats[s * seq + row];
        const float4 x = part[s * seq * (DIM / 4) + at];
        const float w = fast_exp2(st.x - top);
        sum = fmaf(st.y, w, sum);
        total.x = fmaf(x.x, w, total.x);
        total.y = fmaf(x.y, w, total.y);
        total.z = fmaf(x.z, w, total.z);
        total.w = fmaf(x.w, w, total.w);
    }
    o[at] = make_float4(total.x / sum, total.y / sum, total.z / sum, total.w / sum);
}

extern "C" void attention(const float *q, const float *k, const float *v, float *o, int64_t seq, cudaStream_t stream)
{
    if (seq <= 0) return;
    /* Facts about the device and a pool that keeps its (unused) memory; no results are kept. */
    static int known = -1, slots = 1;
    static cudaMemPool_t pool = 0;
    int device = 0;
    cudaGetDevice(&device);
    if (device != known) {
        int sms = 1, blocks = 1;
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
        cudaFuncSetAttribute(attention_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, attention_kernel, THREADS, SMEM_BYTES);
        slots = sms * (blocks > 0 ? blocks : 1);
        cudaMemPoolProps props = {};
        props.allocType = cudaMemAllocationTypePinned;
        props.handleTypes = cudaMemHandleTypeNone;
        props.location.type = cudaMemLocationTypeDevice;
        props.location.id = device;
        if (cudaMemPoolCreate(&pool, &props) == cudaSuccess) {
            uint64_t keep = UINT64_MAX;
            cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
        } else {
            cudaGetLastError();
            pool = 0;
        }
        known = device;
    }

    const int64_t query_blocks = (seq + BM - 1) / BM;
    const int64_t tiles = (seq + KEYS - 1) / KEYS;
    int64_t splits = slots / query_blocks;
    if (splits > 32) splits = 32;
    if (splits > tiles) splits = tiles;
    if (splits < 1) splits = 1;
    int64_t per_split = (tiles + splits - 1) / splits;
    splits = (tiles + per_split - 1) / per_split;

    float *part = 0;
    float2 *stats = 0;
    if (splits > 1) {
        const size_t part_bytes = (size_t)splits * (size_t)seq * DIM * sizeof(float);
        const size_t bytes = part_bytes + (size_t)splits * (size_t)seq * sizeof(float2);
        void *memory = 0;
        cudaError_t error = pool ? cudaMallocFromPoolAsync(&memory, bytes, pool, stream) : cudaMallocAsync(&memory, bytes, stream);
        if (error != cudaSuccess || !memory) {
            cudaGetLastError();
            splits = 1;
            per_split = tiles;
        } else {
            part = (float *)memory;
            stats = (float2 *)((char *)memory + part_bytes);
        }
    }

    const dim3 grid((unsigned)query_blocks, (unsigned)splits);
    attention_kernel<<<grid, THREADS, SMEM_BYTES, stream>>>(q, k, v, o, part, stats, seq, tiles, per_split);
    if (part) {
        const int64_t items = seq * (DIM / 4);
        combine_kernel<<<(unsigned)((items + 255) / 256), 256, 0, stream>>>((const float4 *)part, stats, (float4 *)o, seq,
                                                                            (int)splits);
        cudaFreeAsync(part, stream);
    }
}
