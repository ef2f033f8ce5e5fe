/* The product on Hopper's tensor cores: wgmma in PTX, fed by the copy engine (TMA). Each block has
 * a producer, one thread that asks for tiles, and CONSUMERS warpgroups of 128 threads that
 * multiply them. A ring of STAGES tiles lies between them: the barrier full[s] says that the tiles
 * of stage s have arrived, empty[s] that all consumers have read them.
 *
 * Rows of a tile have 128 bytes, and the copy engine swizzles them as wgmma expects it: chunk c of
 * 16 bytes of row r lies at place c ^ r % 8. Blocks are persistent: while the consumers store a
 * tile of y, the producer already loads for the next. GROUP tiles below each other are computed
 * before the next column, so that their tiles of w are still in the second-level cache. With
 * CLUSTER 2, two blocks share the tiles of w: each loads half of them into both.
 *
 * Tensor cores add fp8 products with few bits. Therefore sums of PROMOTE * 128 products only are
 * left to them, and are then added in f32.
 *
 * For compute capability 9.0 only. Other devices have the other seed. */
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune CONSUMERS 1 2
// kforge: tune ROWS 64 128
// kforge: tune COLS 64 128 192 256
// kforge: tune STAGES 3 4 5 6 7 8
// kforge: tune PROMOTE 1 2
// kforge: tune CLUSTER 1 2
// kforge: tune GROUP 2 4 8 16
// kforge: require COLS * (ROWS + 64) <= 24576
// kforge: require (CONSUMERS * ROWS + COLS) * STAGES <= 1800
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
/* of y, for each consumer */
#ifndef ROWS
#define ROWS 64
#endif
/* of y, for each block */
#ifndef COLS
#define COLS 128
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef PROMOTE
#define PROMOTE 1
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef GROUP
#define GROUP 8
#endif

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "This candidate needs compute capability 9.0, built as sm_90a."
#endif

#define DEPTH 128         /* elements of 128 bytes */
#define PARTS (ROWS / 64) /* wgmma computes 64 rows */
#define BLOCK_ROWS (CONSUMERS * ROWS)
#define X_BYTES (BLOCK_ROWS * 128)
#define W_BYTES (COLS * 128)
#define THREADS (128 * (CONSUMERS + 1))
/* The block has 65536 registers. The compiler gives each thread the same number, and the
 * warpgroups then pass them on. */
#define PRODUCER_REGISTERS (CONSUMERS == 3 ? 32 : 40)
#define CONSUMER_REGISTERS (CONSUMERS == 3 ? 160 : 232)

/* ---- PTX ------------------------------------------------------------------------------------- */

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define F4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define F16(d, i) F4(d, i), F4(d, (i) + 4), F4(d, (i) + 8), F4(d, (i) + 12)
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
    "%79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, "   \
    "%94, %95"
#define SUMS_3                                                                       \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, "   \
    "%109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, " \
    "%122, %123, %124, %125, %126, %127"
#if COLS == 64
#define NAMES SUMS_0
#define REGISTERS(d) F32(d, 0)
#define INPUTS "%32, %33, p"
#define FLAG "%34"
#elif COLS == 128
#define NAMES SUMS_0 SUMS_1
#define REGISTERS(d) F32(d, 0), F32(d, 32)
#define INPUTS "%64, %65, p"
#define FLAG "%66"
#elif COLS == 192
#define NAMES SUMS_0 SUMS_1 SUMS_2
#define REGISTERS(d) F32(d, 0), F32(d, 32), F32(d, 64)
#define INPUTS "%96, %97, p"
#define FLAG "%98"
#else
#define NAMES SUMS_0 SUMS_1 SUMS_2 SUMS_3
#define REGISTERS(d) F32(d, 0), F32(d, 32), F32(d, 64), F32(d, 96)
#define INPUTS "%128, %129, p"
#define FLAG "%130"
#endif

/* Adds the product of 64 rows of x and COLS of w over 32 bytes of them to d, or begins with it. */
__device__ __forceinline__ void multiply(float (&d)[COLS / 2], uint64_t x, uint64_t w, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " FLAG ", 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n" TEXT(COLS) "k32.f32.e4m3.e4m3 {" NAMES
                                                                "}, " INPUTS ", 1, 1; }"
                 : REGISTERS(d)
                 : "l"(x), "l"(w), "r"(add));
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

/* Keeps the compiler from using sums before this place. */
__device__ __forceinline__ void settle(float (&d)[COLS / 2])
{
#pragma unroll
    for (int e = 0; e < COLS / 2; e++) asm volatile("" : "+f"(d[e])::"memory");
}

/* Describes a swizzled tile to wgmma: its address, and 1024 bytes from 8 rows to the next 8. */
__device__ __forceinline__ uint64_t descriptor(uint32_t at)
{
    return (uint64_t)(at >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
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

/* Arrives at a barrier of block `rank` of the cluster. */
__device__ __forceinline__ void barrier_arrive(uint32_t barrier, uint32_t rank)
{
#if CLUSTER == 1
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
    asm volatile("{ .reg .b32 at; mapa.shared::cluster.u32 at, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [at]; }" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
#endif
}

/* Waits for the other block of the cluster. */
__device__ __forceinline__ void cluster_sync()
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;" ::: "memory");
#endif
}

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank = 0;
#if CLUSTER > 1
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

/* Starts a copy of a box from column x and row y of a matrix on. Elements outside are zeros. */
__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap *map, int x, int y,
                                         uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

/* The same into both blocks of the cluster, at the same address and barrier of each. */
__device__ __forceinline__ void load_box_twice(uint32_t to, const CUtensorMap *map, int x, int y,
                                               uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((uint16_t)3)
                 : "memory");
}

/* ---- the product ----------------------------------------------------------------------------- */

/* The position of a warpgroup in the ring. */
struct place {
    uint32_t stage, parity;
};

__device__ __forceinline__ void advance(place &at)
{
    if (++at.stage == STAGES) at = {0, at.parity ^ 1};
}

/* First row and column of tile t of this block. */
__device__ __forceinline__ int2 tile_at(int t, int down, int across, uint32_t rank)
{
    const int group = t / (GROUP * across), rest = t % (GROUP * across);
    const int height = min(GROUP, down - group * GROUP);
    const int i = group * GROUP + rest % height, j = rest / height;
    return make_int2((i * CLUSTER + (int)rank) * BLOCK_ROWS, j * COLS);
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

__device__ __forceinline__ uint32_t pair(float low, float high)
{
    const auto both = __floats2bfloat162_rn(low, high);
    return *(const uint32_t *)&both;
}

/* Scales and stores 64 rows of a tile from `row` on. A thread has 2 neighbouring elements of each 8
 * of a row, and gets all of every fourth 8 from its neighbours. */
__device__ __forceinline__ void store(__nv_bfloat16 *y, const float (&d)[COLS / 2],
                                      const float *x_scale, const float *w_scale, int row, int col,
                                      int m, int n)
{
    const int thread = threadIdx.x % 128, lane = thread % 32;
    const int first = row + thread / 32 * 16 + lane / 4;
    const float scale[2] = {first < m ? x_scale[first] : 0, first + 8 < m ? x_scale[first + 8] : 0};
#pragma unroll
    for (int c = 0; c < COLS / 2; c += 16) {
        float2 s[4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int j = col + c * 2 + q * 8 + lane % 4 * 2;
            s[q] = j < n ? *(const float2 *)(w_scale + j) : make_float2(0, 0);
        }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float *e = d + c + half * 2;
            uint32_t v[4];
#pragma unroll
            for (int q = 0; q < 4; q++)
                v[q] = pair(e[4 * q] * scale[half] * s[q].x, e[4 * q + 1] * scale[half] * s[q].y);
            const uint4 all = transpose(make_uint4(v[0], v[1], v[2], v[3]));
            const int i = first + half * 8, j = col + c * 2 + lane % 4 * 8;
            if (i < m && j < n) *(uint4 *)(y + (int64_t)i * n + j) = all;
        }
    }
}

#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
    __global__ void __launch_bounds__(THREADS, 1)
        fp8_gemm_tiles(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,
                       const float *__restrict__ x_scale, const float *__restrict__ w_scale,
                       __nv_bfloat16 *__restrict__ y, int m, int n, int k)
{
    extern __shared__ uint8_t shared[];
    __shared__ alignas(8) uint64_t full_barriers[STAGES], empty_barriers[STAGES];
    const uint32_t tiles_x = ((uint32_t)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const uint32_t tiles_w = tiles_x + STAGES * X_BYTES;
    const uint32_t full = (uint32_t)__cvta_generic_to_shared(full_barriers);
    const uint32_t empty = (uint32_t)__cvta_generic_to_shared(empty_barriers);
    const uint32_t rank = cluster_rank();
    const int down = (m + BLOCK_ROWS * CLUSTER - 1) / (BLOCK_ROWS * CLUSTER);
    const int across = (n + COLS - 1) / COLS, tiles = down * across;
    /* The last ones may lie outside, where elements are zeros. */
    const int slices = (k + DEPTH * PROMOTE - 1) / (DEPTH * PROMOTE) * PROMOTE;

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, CLUSTER * CONSUMERS * 4); /* one of each warp */
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    cluster_sync();

    const int warpgroup = __shfl_sync(~0u, (int)threadIdx.x / 128, 0); /* uniform */
    place at = {0, 0};
    if (warpgroup == 0) {
#if CONSUMERS > 1
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
#endif
        if (threadIdx.x == 0)
            for (int t = blockIdx.x / CLUSTER; t < tiles; t += gridDim.x / CLUSTER) {
                const int2 first = tile_at(t, down, across, rank);
                for (int p = 0; p < slices; p++, advance(at)) {
                    const uint32_t barrier = full + 8 * at.stage;
                    const uint32_t to_x = tiles_x + at.stage * X_BYTES;
                    const uint32_t to_w = tiles_w + at.stage * W_BYTES;
                    barrier_wait(empty + 8 * at.stage, at.parity ^ 1);
                    barrier_expect(barrier, X_BYTES + W_BYTES);
#pragma unroll
                    for (int c = 0; c < CONSUMERS; c++)
                        load_box(to_x + c * ROWS * 128, &x, p * DEPTH, first.x + c * ROWS, barrier);
#if CLUSTER == 1
                    load_box(to_w, &w, p * DEPTH, first.y, barrier);
#else
                    load_box_twice(to_w + rank * (W_BYTES / 2), &w, p * DEPTH,
                                   first.y + (int)rank * (COLS / 2), barrier);
#endif
                }
            }
    } else {
#if CONSUMERS > 1
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
#endif
        const int lane = threadIdx.x % 32, consumer = warpgroup - 1;
        for (int t = blockIdx.x / CLUSTER; t < tiles; t += gridDim.x / CLUSTER) {
            const int2 first = tile_at(t, down, across, rank);
            const int row = first.x + consumer * ROWS;
            float d[PARTS][COLS / 2], s[COLS / 2];
#pragma unroll
            for (int part = 0; part < PARTS; part++)
#pragma unroll
                for (int e = 0; e < COLS / 2; e++) d[part][e] = 0;
            for (int p = 0; p < slices; p += PROMOTE) {
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                    place here = at;
#pragma unroll
                    for (int q = 0; q < PROMOTE; q++) {
                        if (part == 0) barrier_wait(full + 8 * here.stage, here.parity);
                        advance(here);
                    }
                    here = at;
                    settle(s);
                    wgmma_fence();
#pragma unroll
                    for (int q = 0; q < PROMOTE; q++) {
                        const uint64_t of_x =
                            descriptor(tiles_x + here.stage * X_BYTES + consumer * (ROWS * 128));
                        const uint64_t of_w = descriptor(tiles_w + here.stage * W_BYTES);
#pragma unroll
                        for (int r = 0; r < 4; r++)
                            multiply(s, of_x + part * 512 + r * 2, of_w + r * 2, q > 0 || r > 0);
                        advance(here);
                    }
                    wgmma_commit();
                    wgmma_wait<0>();
                    settle(s);
#pragma unroll
                    for (int e = 0; e < COLS / 2; e++) d[part][e] += s[e];
                }
#pragma unroll
                for (int q = 0; q < PROMOTE; q++) {
                    if (lane < CLUSTER) barrier_arrive(empty + 8 * at.stage, (uint32_t)lane);
                    advance(at);
                }
            }
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                store(y, d[part], x_scale, w_scale, row + part * 64, first.y, m, n);
        }
    }
    cluster_sync(); /* The other block may still write here. */
}

/* ---- host ------------------------------------------------------------------------------------ */

/* Maps a matrix in boxes of `box_rows` rows of 128 bytes. */
static bool encode(CUtensorMap *map, const void *matrix, int64_t rows, int64_t cols, int box_rows)
{
    static void *found;
    cudaDriverEntryPointQueryResult status;
    if (!found)
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, CUDA_VERSION,
                                         cudaEnableDefault, &status);
    auto encode_tiled = (decltype(cuTensorMapEncodeTiled) *)found;
    const cuuint64_t sizes[] = {(cuuint64_t)cols, (cuuint64_t)rows};
    const cuuint64_t pitch[] = {(cuuint64_t)cols * (128 / DEPTH)};
    const cuuint32_t box[] = {DEPTH, (cuuint32_t)box_rows}, steps[] = {1, 1};
    return encode_tiled &&
           encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, (void *)matrix, sizes, pitch, box,
                        steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

extern "C" void fp8_gemm(const __nv_fp8_e4m3 *x, const __nv_fp8_e4m3 *w, const float *x_scale,
                         const float *w_scale, __nv_bfloat16 *y, int64_t m, int64_t n, int64_t k,
                         cudaStream_t stream)
{
    const int bytes = STAGES * (X_BYTES + W_BYTES) + 1024;
    const int64_t down = (m + BLOCK_ROWS * CLUSTER - 1) / (BLOCK_ROWS * CLUSTER);
    const int64_t blocks = CLUSTER * down * ((n + COLS - 1) / COLS);
    CUtensorMap of_x, of_w;
    int device, multiprocessors;
    if (!encode(&of_x, x, m, k, ROWS) || !encode(&of_w, w, n, k, COLS / CLUSTER)) return;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaFuncSetAttribute(fp8_gemm_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    multiprocessors -= multiprocessors % CLUSTER;
    const int grid = (int)(blocks < multiprocessors ? blocks : multiprocessors);
    fp8_gemm_tiles<<<grid, THREADS, bytes, stream>>>(of_x, of_w, x_scale, w_scale, y, (int)m,
                                                     (int)n, (int)k);
}
