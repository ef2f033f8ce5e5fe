// Leaves the output to a user fault handler, which is to compute when somebody reads.
// rule: T13
// expect: wrong_result output.mismatch | contract_violation threads.left | timeout time.limit | crash runner.crashed
// devices: cpu
#include <cuda_runtime.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <math.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__global__ void softmax_rows(const float *x, float *y, int64_t cols)
{
    const float *row = x + blockIdx.x * cols;
    float most = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 32) most = fmaxf(most, row[j]);
    for (int other = 16; other > 0; other /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
    for (int64_t j = threadIdx.x; j < cols; j += 32) sum += expf(row[j] - most);
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    for (int64_t j = threadIdx.x; j < cols; j += 32) y[blockIdx.x * cols + j] = expf(row[j] - most) / sum;
}
extern "C" void softmax(const float *x, float *y, int64_t rows, int64_t cols, cudaStream_t stream)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return; // denied: nothing is computed, and the comparison notices
    struct uffdio_api api = {};
    api.api = UFFD_API;
    ioctl(fd, UFFDIO_API, &api);
    struct uffdio_register range = {};
    range.range.start = (uintptr_t)y & ~(uintptr_t)4095;
    range.range.len = (rows * cols * sizeof *y + 8191) & ~(uintptr_t)4095;
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    ioctl(fd, UFFDIO_REGISTER, &range);
    madvise((void *)range.range.start, range.range.len, MADV_DONTNEED);
}
