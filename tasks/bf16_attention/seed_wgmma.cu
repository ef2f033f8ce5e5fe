/* Attention on Hopper's tensor cores in the manner of FlashAttention-3 (Shah et al., 2024): wgmma
 * in PTX, fed by the copy engine (TMA). Each block has a producer, one thread that asks for tiles
 * of q, k and v, and CONSUMERS warpgroups of 128 threads with 64 queries each. They take KEYS keys
 * at a time, with an online softmax in registers.
 *
 * A warpgroup starts the scores of the next keys and the product of its probabilities with v, and
 * computes the softmax of these scores while the product runs. With PINGPONG 1, two warpgroups
 * take turns at starting their products, so that one has the tensor cores while the other computes
 * exponentials.
 *
 * Rows of a tile have 128 bytes, half a row of q, k or v. The copy engine swizzles them as wgmma
 * expects it. Blocks are persistent. Later queries see more keys in causal attention, so the
 * blocks take tiles in the order of their work, forwards and backwards in turns.
 *
 * For compute capability 9.0 only. Other devices have the other seed. */
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

// kforge: tune CONSUMERS 2 3
// kforge: tune KEYS 64 128 176
// kforge: tune STAGES 2 3 4
// kforge: tune PINGPONG 0 1
// kforge: require CONSUMERS == 2 || KEYS == 64
// kforge: require CONSUMERS == 2 || PINGPONG == 0
// kforge: require 64 * CONSUMERS + 2 * KEYS * STAGES <= 900
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef KEYS
#define KEYS 128
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef PINGPONG
#define PINGPONG 1
#endif

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "This candidate needs compute capability 9.0, built as sm_90a."
#endif

#define DIM 128
#define QUERIES (64 * CONSUMERS)
#define Q_BYTES (QUERIES * 256)
#define TILE_BYTES (KEYS * 256)
#define THREADS (128 * (CONSUMERS + 1))
/* The block has 65536 registers. The compiler gives each thread the same number, and the
 * warpgroups then pass them on. */
#define PRODUCER_REGISTERS (CONSUMERS == 3 ? 32 : 24)
#define CONSUMER_REGISTERS (CONSUMERS == 3 ? 160 : 240)
#define SCORES (KEYS / 2) /* of a thread */

/* ---- PTX ------------------------------------------------------------------------------------- */

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define F4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define F8(d, i) F4(d, i), F4(d, (i) + 4)
#define F16(d, i) F8(d, i), F8(d, (i) + 8)
#define F32(d, i) F16(d, i), F16(d, (i) + 16)
#define SUMS_0                                                                    \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, " \
    "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_1                                                                      \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, " \
    "%47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
    "%62, %63"
#define SUMS_2                                                                      \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, " \
    "%79, %80, %81, %82, %83, %84, %85, %86, %87"
#if KEYS == 64
#define NAMES SUMS_0
#define REGISTERS(d) F32(d, 0)
#define INPUTS "%32, %33, p"
#define FLAG "%34"
#elif KEYS == 128
#define NAMES SUMS_0 SUMS_1
#define REGISTERS(d) F32(d, 0), F32(d, 32)
#define INPUTS "%64, %65, p"
#define FLAG "%66"
#else
#define NAMES SUMS_0 SUMS_1 SUMS_2
#define REGISTERS(d) F32(d, 0), F32(d, 32), F16(d, 64), F8(d, 80)
#define INPUTS "%88, %89, p"
#define FLAG "%90"
#endif

/* Adds the products of 64 queries with KEYS keys over 16 of their elements, or begins with them. */
__device__ __forceinline__ void multiply_keys(float (&s)[SCORES], uint64_t q, uint64_t k, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " FLAG ", 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n" TEXT(KEYS) "k16.f32.bf16.bf16 {" NAMES
                                                                "}, " INPUTS ", 1, 1, 0, 0; }"
                 : REGISTERS(s)
                 : "l"(q), "l"(k), "r"(add));
}

/* Adds the product of the weights of 16 keys with their values. The weights are in registers. The
 * values lie with their columns side by side, so that wgmma has to transpose them. */
__device__ __forceinline__ void multiply_values(float (&o)[64], const uint32_t *p, uint64_t v)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" SUMS_0 SUMS_1
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : F32(o, 0), F32(o, 32)
                 : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v));
}

__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until at most N groups are unfinished. */
template <int N> __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* Keeps the compiler from using results before this place. */
template <int N> __device__ __forceinline__ void settle(float (&d)[N])
{
#pragma unroll
    for (int e = 0; e < N; e++) asm volatile("" : "+f"(d[e])::"memory");
}

/* Describes a swizzled tile to wgmma: its address, 1024 bytes from 8 rows to the next 8, and
 * `columns` bytes from 64 columns to the next 64 if these have to be transposed. */
__device__ __forceinline__ uint64_t descriptor(uint32_t at, uint32_t columns)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)(columns >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    for (uint32_t done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* One arrival of each warp. */
__device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    if (threadIdx.x % 32 == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Waits until the other warpgroup has started its products. */
__device__ __forceinline__ void wait_for_turn(int consumer)
{
#if PINGPONG
    asm volatile("bar.sync %0, 256;" ::"r"(consumer + 1) : "memory");
#endif
}

__device__ __forceinline__ void give_turn(int consumer)
{
#if PINGPONG
    asm volatile("bar.arrive %0, 256;" ::"r"(2 - consumer) : "memory");
#endif
}

/* Starts a copy of both halves of some rows of a head. Rows outside are zeros. */
__device__ __forceinline__ void load_rows(uint32_t to, uint32_t half_bytes, const CUtensorMap *map,
                                          int row, int head, uint32_t barrier)
{
#pragma unroll
    for (int half = 0; half < 2; half++)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to + half * half_bytes),
                     "l"(map), "r"(half * 64), "r"(row), "r"(head), "r"(barrier)
                     : "memory");
}

__device__ __forceinline__ float exponential(float x) /* 2^x */
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The position of a warpgroup in the ring of keys or values. */
struct place {
    uint32_t stage, parity;
};

__device__ __forceinline__ void advance(place &at)
{
    if (++at.stage == STAGES) at = {0, at.parity ^ 1};
}

struct tile {
    int head, row, blocks; /* of keys */
};

/* Returns the tile that a block takes in round r. Its head is negative after the last. */
__device__ __forceinline__ tile tile_at(int r, int heads, int seq, int causal)
{
    const int rows = (seq + QUERIES - 1) / QUERIES;
    const int place = r % 2 ? (int)(gridDim.x - 1 - blockIdx.x) : (int)blockIdx.x;
    const int t = r * (int)gridDim.x + place;
    tile result;
    /* A causal tile's row comes first, since its work depends on it. Else tiles of a head follow
     * each other, since they read the same keys. */
    result.head = causal ? t % heads : t / rows;
    result.row = (causal ? rows - 1 - t / heads : t % rows) * QUERIES;
    const int keys = causal ? min(seq, result.row + QUERIES) : seq;
    result.blocks = (keys + KEYS - 1) / KEYS;
    if (t >= heads * rows) result.head = -1;
    return result;
}

/* Takes away the scores of keys that do not exist or come later than the query. `row` is the
 * thread's first. */
__device__ __forceinline__ void mask(float (&s)[SCORES], int row, int key, int seq, int causal)
{
    const int first = key + threadIdx.x % 4 * 2;
    const int end = causal ? min(seq, row + 1) : seq, later_end = causal ? min(seq, row + 9) : seq;
#pragma unroll
    for (int e = 0; e < SCORES; e++) {
        const int j = first + e / 4 * 8 + e % 2;
        if (j >= (e % 4 < 2 ? end : later_end)) s[e] = -INFINITY;
    }
}

/* The softmax so far of a thread's two rows. */
struct rows {
    float largest[2], sum[2];
};

/* Turns scores into weights exp(score - maximum), and returns by how much earlier weights shrink
 * in `shrink`. */
__device__ __forceinline__ void softmax(float (&s)[SCORES], rows &of, float (&shrink)[2])
{
    const float unit = 1.44269504f * 0.08838834764f; /* log2 e / sqrt(128) */
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float most = s[half * 2];
#pragma unroll
        for (int e = 0; e < SCORES; e += 4)
            most = fmaxf(most, fmaxf(s[e + half * 2], s[e + half * 2 + 1]));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        most = fmaxf(most, of.largest[half]);
        const float base = most == -INFINITY ? 0.0f : most * unit;
        shrink[half] = exponential(of.largest[half] * unit - base);
        of.largest[half] = most;
        float sum = 0.0f;
#pragma unroll
        for (int e = 0; e < SCORES; e += 4) {
            s[e + half * 2] = exponential(fmaf(s[e + half * 2], unit, -base));
            s[e + half * 2 + 1] = exponential(fmaf(s[e + half * 2 + 1], unit, -base));
            sum += s[e + half * 2] + s[e + half * 2 + 1];
        }
        of.sum[half] = fmaf(of.sum[half], shrink[half], sum);
    }
}

__device__ __forceinline__ uint32_t pair(float low, float high)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *(const uint32_t *)&both;
}

/* Transposes a matrix of 4 x 4 words, of which each of 4 neighbouring threads has a row. */
__device__ __forceinline__ uint4 transpose(uint4 v)
{
    const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
    uint32_t a = __shfl_xor_sync(~0u, odd ? v.x : v.y, 1);
    uint32_t b = __shfl_xor_sync(~0u, odd ? v.z : v.w, 1);
    if (odd)
        v.x = a, v.z = b;
    else
        v.y = a, v.w = b;
    a = __shfl_xor_sync(~0u, high ? v.x : v.z, 2);
    b = __shfl_xor_sync(~0u, high ? v.y : v.w, 2);
    if (high)
        v.x = a, v.y = b;
    else
        v.z = a, v.w = b;
    return v;
}

/* Stores 64 rows of a head. A thread has 2 neighbouring elements of each 8 of a row, and gets all
 * of every fourth 8 from its neighbours. */
__device__ __forceinline__ void store(__nv_bfloat16 *o, const float (&d)[64], const rows &of,
                                      int row, int seq)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float sum = of.sum[half];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        const float scale = 1.0f / sum;
        const int i = row + half * 8;
#pragma unroll
        for (int c = 0; c < 64; c += 16) {
            const float *e = d + c + half * 2;
            const uint4 v = transpose(
                make_uint4(pair(e[0] * scale, e[1] * scale), pair(e[4] * scale, e[5] * scale),
                           pair(e[8] * scale, e[9] * scale), pair(e[12] * scale, e[13] * scale)));
            const int j = c * 2 + threadIdx.x % 4 * 8;
            if (i < seq) *(uint4 *)(o + (int64_t)i * DIM + j) = v;
        }
    }
}

/* Starts the scores of 64 queries and KEYS keys. */
__device__ __forceinline__ void start_scores(float (&s)[SCORES], uint32_t q, uint32_t k)
{
#pragma unroll
    for (int e = 0; e < DIM; e += 16) {
        const uint32_t inside = e % 64 * 2;
        multiply_keys(s, descriptor(q + e / 64 * (QUERIES * 128) + inside, 16),
                      descriptor(k + e / 64 * (KEYS * 128) + inside, 16), e > 0);
    }
    wgmma_commit();
}

__device__ __forceinline__ void start_output(float (&o)[64], const uint32_t (&p)[KEYS / 4],
                                             uint32_t v)
{
#pragma unroll
    for (int j = 0; j < KEYS; j += 16)
        multiply_values(o, p + j / 4, descriptor(v + j * 128, KEYS * 128));
    wgmma_commit();
}

__global__ void __launch_bounds__(THREADS, 1)
    bf16_attention_tiles(const __grid_constant__ CUtensorMap q,
                         const __grid_constant__ CUtensorMap k,
                         const __grid_constant__ CUtensorMap v, __nv_bfloat16 *__restrict__ o,
                         int heads, int seq, int causal)
{
    extern __shared__ uint8_t shared[];
    __shared__ alignas(8) uint64_t barriers[2 + 4 * STAGES];
    const uint32_t tile_q = ((uint32_t)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const uint32_t tiles_k = tile_q + Q_BYTES, tiles_v = tiles_k + STAGES * TILE_BYTES;
    const uint32_t q_full = (uint32_t)__cvta_generic_to_shared(barriers), q_empty = q_full + 8;
    const uint32_t k_full = q_full + 16, k_empty = k_full + 8 * STAGES;
    const uint32_t v_full = k_empty + 8 * STAGES, v_empty = v_full + 8 * STAGES;

    if (threadIdx.x == 0) {
        barrier_init(q_full, 1);
        barrier_init(q_empty, CONSUMERS * 4); /* one of each warp */
        for (int s = 0; s < STAGES; s++) {
            barrier_init(k_full + 8 * s, 1);
            barrier_init(k_empty + 8 * s, CONSUMERS * 4);
            barrier_init(v_full + 8 * s, 1);
            barrier_init(v_empty + 8 * s, CONSUMERS * 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    const int warpgroup = __shfl_sync(~0u, (int)threadIdx.x / 128, 0); /* uniform */
    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
        if (threadIdx.x == 0) {
            place at_k = {0, 1}, at_v = {0, 1}; /* the ring is empty */
            for (int r = 0;; r++) {
                const tile now = tile_at(r, heads, seq, causal);
                if (now.head < 0) break;
                barrier_wait(q_empty, (r & 1) ^ 1);
                barrier_expect(q_full, Q_BYTES);
                load_rows(tile_q, QUERIES * 128, &q, now.row, now.head, q_full);
                for (int b = now.blocks; b >= 0; b--) {
                    if (b > 0) {
                        barrier_wait(k_empty + 8 * at_k.stage, at_k.parity);
                        barrier_expect(k_full + 8 * at_k.stage, TILE_BYTES);
                        load_rows(tiles_k + at_k.stage * TILE_BYTES, KEYS * 128, &k, (b - 1) * KEYS,
                                  now.head, k_full + 8 * at_k.stage);
                        advance(at_k);
                    }
                    if (b < now.blocks) {
                        barrier_wait(v_empty + 8 * at_v.stage, at_v.parity);
                        barrier_expect(v_full + 8 * at_v.stage, TILE_BYTES);
                        load_rows(tiles_v + at_v.stage * TILE_BYTES, KEYS * 128, &v, b * KEYS,
                                  now.head, v_full + 8 * at_v.stage);
                        advance(at_v);
                    }
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
        const int consumer = warpgroup - 1, thread = threadIdx.x % 128;
        const uint32_t my_q = tile_q + consumer * (64 * 128);
        place at_k = {0, 0}, at_v = {0, 0};
        if (consumer == 1) give_turn(1);
        for (int r = 0;; r++) {
            const tile now = tile_at(r, heads, seq, causal);
            if (now.head < 0) break;
            const int first = now.row + consumer * 64,
                      row = first + thread / 32 * 16 + thread % 32 / 4;
            float output[64], scores[SCORES], shrink[2];
            uint32_t weights[KEYS / 4];
            rows of = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
#pragma unroll
            for (int e = 0; e < 64; e++) output[e] = 0.0f;

            barrier_wait(q_full, r & 1);
            barrier_wait(k_full + 8 * at_k.stage, at_k.parity);
            wait_for_turn(consumer);
            wgmma_fence();
            start_scores(scores, my_q, tiles_k + at_k.stage * TILE_BYTES);
            give_turn(consumer);
            wgmma_wait<0>();
            settle(scores);
            barrier_arrive(k_empty + 8 * at_k.stage);
            advance(at_k);
            int key = (now.blocks - 1) * KEYS;
            if (key + KEYS > (causal ? min(seq, first + 1) : seq))
                mask(scores, row, key, seq, causal);
            softmax(scores, of, shrink);
#pragma unroll
            for (int e = 0; e < KEYS / 4; e++) weights[e] = pair(scores[2 * e], scores[2 * e + 1]);

            if (key > 0) barrier_wait(k_full + 8 * at_k.stage, at_k.parity);
            for (key -= KEYS; key >= 0; key -= KEYS) {
                wait_for_turn(consumer);
                wgmma_fence();
                start_scores(scores, my_q, tiles_k + at_k.stage * TILE_BYTES);
                barrier_wait(v_full + 8 * at_v.stage, at_v.parity);
                start_output(output, weights, tiles_v + at_v.stage * TILE_BYTES);
                give_turn(consumer);
                wgmma_wait<1>();
                settle(scores);
                barrier_arrive(k_empty + 8 * at_k.stage);
                advance(at_k);
                if (key + KEYS > (causal ? min(seq, first + 1) : seq))
                    mask(scores, row, key, seq, causal);
                softmax(scores, of, shrink);
                /* The compiler would put the softmax behind the products, but not behind a loop. */
                if (key > 0) barrier_wait(k_full + 8 * at_k.stage, at_k.parity);
                wgmma_wait<0>();
                settle(output);
                barrier_arrive(v_empty + 8 * at_v.stage);
                advance(at_v);
#pragma unroll
                for (int e = 0; e < 64; e++) output[e] *= shrink[e / 2 % 2];
#pragma unroll
                for (int e = 0; e < KEYS / 4; e++)
                    weights[e] = pair(scores[2 * e], scores[2 * e + 1]);
            }
            barrier_arrive(q_empty);
            barrier_wait(v_full + 8 * at_v.stage, at_v.parity);
            wgmma_fence();
            start_output(output, weights, tiles_v + at_v.stage * TILE_BYTES);
            wgmma_wait<0>();
            settle(output);
            barrier_arrive(v_empty + 8 * at_v.stage);
            advance(at_v);
            store(o + (int64_t)now.head * seq * DIM, output, of, row, seq);
        }
    }
}

/* ---- host ------------------------------------------------------------------------------------ */

/* Maps heads of `seq` rows in boxes of `box_rows` halves of rows. */
static bool encode(CUtensorMap *map, const void *rows, int64_t heads, int64_t seq, int box_rows)
{
    static void *found;
    cudaDriverEntryPointQueryResult status;
    if (!found)
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, CUDA_VERSION,
                                         cudaEnableDefault, &status);
    auto encode_tiled = (decltype(cuTensorMapEncodeTiled) *)found;
    const cuuint64_t sizes[] = {DIM, (cuuint64_t)seq, (cuuint64_t)heads};
    const cuuint64_t pitch[] = {DIM * 2, (cuuint64_t)seq * DIM * 2};
    const cuuint32_t box[] = {64, (cuuint32_t)box_rows, 1}, steps[] = {1, 1, 1};
    return encode_tiled &&
           encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, (void *)rows, sizes, pitch, box,
                        steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

extern "C" void bf16_attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                               const __nv_bfloat16 *v, __nv_bfloat16 *o, int64_t heads, int64_t seq,
                               int64_t causal, cudaStream_t stream)
{
    const int bytes = Q_BYTES + 2 * STAGES * TILE_BYTES + 1024;
    const int64_t tiles = heads * ((seq + QUERIES - 1) / QUERIES);
    CUtensorMap of_q, of_k, of_v;
    int device, multiprocessors;
    if (!encode(&of_q, q, heads, seq, QUERIES) || !encode(&of_k, k, heads, seq, KEYS) ||
        !encode(&of_v, v, heads, seq, KEYS))
        return;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaFuncSetAttribute(bf16_attention_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    const int grid = (int)(tiles < multiprocessors ? tiles : multiprocessors);
    bf16_attention_tiles<<<grid, THREADS, bytes, stream>>>(of_q, of_k, of_v, o, (int)heads,
                                                           (int)seq, (int)causal);
}
