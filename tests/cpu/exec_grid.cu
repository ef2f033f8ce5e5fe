// Cooperative launches: grid-wide barriers, and the refusal of grids that are not resident at a time.
#include "exec_check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void relax(int *a, int *b, int rounds)
{
    auto grid = cg::this_grid();
    unsigned n = grid.size(), i = grid.thread_rank();
    for (int k = 0; k < rounds; k++) {
        b[i] = a[(i + 1) % n] + 1;
        grid.sync();
        a[i] = b[(i + n - 1) % n];
        grid.sync();
    }
    if (!grid.is_valid() || grid.num_blocks() != gridDim.x) a[i] = -1;
}
__global__ void early(int *out)
{ // blocks that end are not waited for
    if (blockIdx.x % 2) return;
    out[blockIdx.x] = 1;
    cg::this_grid().sync();
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; i += 2) sum += out[i];
    if (threadIdx.x == 0) out[gridDim.x + blockIdx.x] = sum;
}

int main()
{
    int per_sm = 0, sms = 0;
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, relax, 64, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    int blocks = per_sm * sms, n = blocks * 64, rounds = 10, *a = memory<int>(n), *b = memory<int>(n);
    for (int i = 0; i < n; i++) a[i] = i;
    void *arguments[] = {&a, &b, &rounds};
    CHECK_CUDA(cudaLaunchCooperativeKernel((void *)relax, dim3(blocks), dim3(64), arguments, 0, 0));
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) CHECK(a[i] == i + rounds);
    CHECK(cudaLaunchCooperativeKernel((void *)relax, dim3(blocks * 100), dim3(64), arguments, 0, 0) ==
          cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();
    int some = blocks < 8 ? blocks : 8, *out = memory<int>(2 * some);
    void *more[] = {&out};
    CHECK_CUDA(cudaLaunchCooperativeKernel((void *)early, dim3(some), dim3(32), more, 0, 0));
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < some; i += 2) CHECK(out[some + i] == (some + 1) / 2);
    return result();
}
