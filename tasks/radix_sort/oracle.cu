/* A stable merge sort, so that it shares nothing with the candidates' method (Knuth, "The Art of
 * Computer Programming 3", section 5.2.4). A thread sorts a run of 32 by insertion. Then runs are
 * merged in pairs: the place of an element is its place in its run, plus how many elements of the
 * other run come first, which a binary search finds. */
#include <cuda_runtime.h>
#include <stdint.h>

#define RUN 32

__global__ void sort_runs(const int32_t *keys, const int32_t *values, int32_t *to_keys,
                          int32_t *to_values, int64_t n)
{
    const int64_t begin = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * RUN;
    const int64_t end = begin + RUN < n ? begin + RUN : n;
    for (int64_t i = begin; i < end; i++) {
        const int32_t key = keys[i];
        int64_t at = i;
        for (; at > begin && to_keys[at - 1] > key; at--) {
            to_keys[at] = to_keys[at - 1];
            to_values[at] = to_values[at - 1];
        }
        to_keys[at] = key;
        to_values[at] = values[i];
    }
}

__global__ void merge_runs(const int32_t *keys, const int32_t *values, int32_t *to_keys,
                           int32_t *to_values, int64_t length, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int64_t pair = i / (2 * length) * (2 * length), middle = pair + length;
    const bool left = i < middle;
    /* Elements of the other run in front of this one: equal ones of the left run only. */
    int64_t low = left ? middle : pair, high = left ? pair + 2 * length : middle;
    if (low > n) low = n;
    if (high > n) high = n;
    const int64_t first = low;
    while (low < high) {
        const int64_t half = (low + high) / 2;
        if (left ? keys[half] < keys[i] : keys[half] <= keys[i])
            low = half + 1;
        else
            high = half;
    }
    const int64_t to = pair + (i - (left ? pair : middle)) + (low - first);
    to_keys[to] = keys[i];
    to_values[to] = values[i];
}

extern "C" void radix_sort_oracle(const int32_t *keys, const int32_t *values, int32_t *sorted_keys,
                                  int32_t *sorted_values, void *scratch, int64_t n,
                                  cudaStream_t stream)
{
    int32_t *from_keys = (int32_t *)scratch, *from_values = from_keys + n;
    int32_t *to_keys = sorted_keys, *to_values = sorted_values;
    int passes = 0;
    for (int64_t length = RUN; length < n; length *= 2) passes++;
    if (passes % 2 == 0) {
        to_keys = from_keys;
        to_values = from_values;
        from_keys = sorted_keys;
        from_values = sorted_values;
    }
    const int64_t runs = (n + RUN - 1) / RUN;
    sort_runs<<<(unsigned)((runs + 63) / 64), 64, 0, stream>>>(keys, values, from_keys, from_values,
                                                               n);
    for (int64_t length = RUN; length < n; length *= 2) {
        merge_runs<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(from_keys, from_values, to_keys,
                                                                    to_values, length, n);
        int32_t *keys_read = from_keys, *values_read = from_values;
        from_keys = to_keys;
        from_values = to_values;
        to_keys = keys_read;
        to_values = values_read;
    }
}
