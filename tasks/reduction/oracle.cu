/* y_i = sum_j x_ij in float64, in three steps that need no barrier: PARTS threads a row add every PARTS-th element, GROUPS threads
 * a row add up the parts, one thread a row adds up the groups. Rows are taken SLAB at a time to bound the scratch memory. */
#include <cuda_runtime.h>
#include <stdint.h>

#define PARTS 4096
#define GROUPS 64
#define SLAB 64

static __device__ double parts[SLAB * PARTS], groups[SLAB * GROUPS];

__global__ void sum_elements(const float *x, int64_t cols)
{
    int64_t row = blockIdx.y;
    int part = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (int64_t j = part; j < cols; j += PARTS) sum += (double)x[row * cols + j];
    parts[row * PARTS + part] = sum;
}

__global__ void sum_parts()
{
    int row = blockIdx.x, group = threadIdx.x;
    double sum = 0;
    for (int k = group; k < PARTS; k += GROUPS) sum += parts[row * PARTS + k];
    groups[row * GROUPS + group] = sum;
}

__global__ void sum_groups(double *y, int rows)
{
    int row = threadIdx.x;
    double sum = 0;
    for (int k = 0; k < GROUPS; k++) sum += groups[row * GROUPS + k];
    y[row] = sum;
}

extern "C" void reduction_oracle(const float *x, double *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    for (int64_t first = 0; first < rows; first += SLAB) {
        int count = (int)(rows - first < SLAB ? rows - first : SLAB);
        sum_elements<<<dim3(PARTS / 128, count), 128, 0, stream>>>(x + first * cols, cols);
        sum_parts<<<count, GROUPS, 0, stream>>>();
        sum_groups<<<1, count, 0, stream>>>(y + first, count);
    }
}
