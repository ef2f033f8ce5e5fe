/* Row sums without barriers: each thread adds ITEMS elements of a row in LANES independent sums and stores one partial in double;
 * a second kernel adds the partials of a row. LAYOUT 0: the threads of a block read side by side (GPU). LAYOUT 1: each thread
 * reads ITEMS consecutive floats, a loop that a CPU's compiler turns into SIMD code. */
#include <cuda_runtime.h>
#include <stdint.h>

// kforge: tune THREADS 1 4 16 64 128 256
// kforge: tune ITEMS 64 256 1024 4096 16384
// kforge: tune LANES 4 16 32 64
// kforge: tune LAYOUT 0 1
// kforge: require LAYOUT == 0 || LANES >= 16
// kforge: require ITEMS <= 256 * LANES
// kforge: require THREADS * ITEMS <= 262144
#ifndef THREADS
#define THREADS 4
#endif
#ifndef ITEMS
#define ITEMS 4096
#endif
#ifndef LANES
#define LANES 64
#endif
#ifndef LAYOUT
#define LAYOUT 1
#endif
#define SPAN ((int64_t)THREADS * ITEMS) /* elements a block takes at a time */
#define MAX_PARTIALS (1 << 18)

static __device__ double partials[MAX_PARTIALS];

__global__ void sum_items(const float *__restrict__ x, int64_t cols, int64_t spans, int parts)
{
    int64_t row = blockIdx.y;
    double sum = 0;
    for (int64_t span = blockIdx.x; span < spans; span += gridDim.x) {
        const float *from = x + row * cols + span * SPAN;
        if (span * SPAN + SPAN > cols) { /* the last span of a row */
            for (int64_t j = threadIdx.x; j < cols - span * SPAN; j += THREADS) sum += from[j];
            continue;
        }
        float part[LANES];
        for (int k = 0; k < LANES; k++) part[k] = 0.0f;
#if LAYOUT == 0
        from += threadIdx.x;
        const int stride = THREADS;
#else
        from += threadIdx.x * (int64_t)ITEMS;
        const int stride = 1;
#endif
        for (int j = 0; j < ITEMS; j += LANES)
            for (int k = 0; k < LANES; k++) part[k] += from[(j + k) * stride];
        for (int k = 0; k < LANES; k++) sum += part[k];
    }
    partials[row * parts + blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* One thread a row. */
__global__ void sum_partials(float *y, int rows, int parts)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum[4] = {0, 0, 0, 0};
    for (int k = 0; k + 4 <= parts; k += 4)
        for (int i = 0; i < 4; i++) sum[i] += partials[(int64_t)row * parts + k + i];
    for (int k = parts / 4 * 4; k < parts; k++) sum[0] += partials[(int64_t)row * parts + k];
    y[row] = (float)((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

extern "C" void reduction(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int64_t spans = (cols + SPAN - 1) / SPAN, most = MAX_PARTIALS / THREADS, blocks = spans < most ? spans : most;
    int64_t parts = blocks * THREADS, slab = MAX_PARTIALS / parts; /* of a row; rows a launch */
    if (slab > 65535) slab = 65535;
    for (int64_t first = 0; first < rows; first += slab) {
        unsigned count = (unsigned)(rows - first < slab ? rows - first : slab);
        sum_items<<<dim3((unsigned)blocks, count), THREADS, 0, stream>>>(x + first * cols, cols, spans, (int)parts);
        sum_partials<<<(count + 31) / 32, 32, 0, stream>>>(y + first, (int)count, (int)parts);
    }
}
