// Warp shuffles: all four kinds, all widths, types of 4 and 8 bytes; sub-warp masks; a warp cut short by the block's end.
#include "exec_check.h"

template <class T> __global__ void all_kinds(T *out, int width)
{
    T own = (T)(threadIdx.x * 3 + 1);
    T *mine = out + threadIdx.x * 4;
    mine[0] = __shfl_sync(0xffffffffu, own, 5, width);
    mine[1] = __shfl_up_sync(0xffffffffu, own, 3, width);
    mine[2] = __shfl_down_sync(0xffffffffu, own, 3, width);
    mine[3] = __shfl_xor_sync(0xffffffffu, own, 1, width);
}
template <class T> void check_type()
{
    T *out = memory<T>(256 * 4);
    for (int width = 1; width <= 32; width *= 2) {
        all_kinds<<<1, 256>>>(out, width);
        CHECK_CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < 256; i++) {
            int first = i / width * width, at = i - first;
            auto value = [](int lane) { return (T)(lane * 3 + 1); };
            CHECK(out[4 * i] == value(first + 5 % width));
            CHECK(out[4 * i + 1] == value(at >= 3 ? i - 3 : i));
            CHECK(out[4 * i + 2] == value(at + 3 < width ? i + 3 : i));
            CHECK(out[4 * i + 3] == value(width > 1 || i % 2 ? i ^ 1 : i)); // a lower segment may be read, a higher one not
        }
    }
}
__global__ void halves(int *out)
{
    unsigned mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    int value = threadIdx.x;
    for (int offset = 8; offset; offset /= 2) value += __shfl_down_sync(mask, value, offset, 16);
    out[threadIdx.x] = value;
    if (threadIdx.x < 16) out[threadIdx.x] += 1000 * __shfl_sync(0x0000ffffu, value, 0);
}
__global__ void short_warp(int *out)
{
    out[threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x, 36);
}
// Lanes that have ended are not waited for.
__global__ void after_exit(int *out)
{
    if (threadIdx.x >= 20) return;
    out[threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x + 7, 3);
}
__global__ void warp_sums(float *out)
{
    float value = threadIdx.x + blockIdx.x;
    for (int offset = 16; offset; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
    __shared__ float partial[32];
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int offset = 16; offset; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
        if (threadIdx.x == 0) out[blockIdx.x] = value;
    }
}

int main()
{
    check_type<int>();
    check_type<unsigned>();
    check_type<float>();
    check_type<double>();
    check_type<long long>();
    check_type<unsigned long>();
    int *out = memory<int>(64);
    halves<<<1, 32>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(out[0] == 120 + 120000 && out[16] == 16 * 16 + 120);
    short_warp<<<1, 40>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 32; i < 40; i++) CHECK(out[i] == 36);
    after_exit<<<1, 32>>>(out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 20; i++) CHECK(out[i] == 10);
    float *sums = memory<float>(500);
    warp_sums<<<500, 512>>>(sums);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 500; i++) CHECK(sums[i] == 512 * 511 / 2 + 512 * i);
    return result();
}
