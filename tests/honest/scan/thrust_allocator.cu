// Thrust's scan in the call's stream, with an allocator that keeps its blocks.
// rule: Thrust with an own allocator
// expect: correct
// devices: cuda
#include <cuda_runtime.h>
#include <map>
#include <stdint.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

struct caching_allocator {
    using value_type = char;
    std::multimap<size_t, char *> idle;
    std::map<char *, size_t> used;
    char *allocate(std::ptrdiff_t bytes)
    {
        char *block = nullptr;
        auto found = idle.lower_bound((size_t)bytes);
        if (found != idle.end()) {
            block = found->second;
            used[block] = found->first;
            idle.erase(found);
        } else {
            cudaMalloc(&block, bytes);
            used[block] = (size_t)bytes;
        }
        return block;
    }
    void deallocate(char *block, size_t)
    {
        idle.emplace(used[block], block);
        used.erase(block);
    }
};

extern "C" void scan(const int32_t *x, int32_t *y, int64_t n, cudaStream_t stream)
{
    static caching_allocator allocator;
    thrust::inclusive_scan(thrust::cuda::par_nosync(allocator).on(stream), x, x + n, y);
}
