/* Radix sort by CUB, 8 bits a pass in a single pass over the data each (Adinets and Merrill,
 * "Onesweep: a faster least significant digit radix sort for GPUs", 2022). Its temporary memory is
 * in scratch. */
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t status)
{
    if (status == cudaSuccess) return;
    fprintf(stderr, "CUB: %s\n", cudaGetErrorString(status));
    exit(1);
}

extern "C" void radix_sort(const int32_t *keys, const int32_t *values, int32_t *sorted_keys,
                           int32_t *sorted_values, void *scratch, int64_t n, cudaStream_t stream)
{
    size_t bytes = 0;
    check(cub::DeviceRadixSort::SortPairs((void *)NULL, bytes, keys, sorted_keys, values,
                                          sorted_values, n, 0, 32, stream));
    void *temporary = scratch;
    /* Short inputs may need more than scratch has. */
    static void *own;
    static size_t room;
    if (bytes > (size_t)n * 16 + 65536) {
        if (bytes > room) {
            check(cudaStreamSynchronize(stream));
            check(cudaFree(own));
            check(cudaMalloc(&own, bytes));
            room = bytes;
        }
        temporary = own;
    }
    check(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, values,
                                          sorted_values, n, 0, 32, stream));
}
