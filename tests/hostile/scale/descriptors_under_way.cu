// Has as many descriptors under way in its socket as fit: the kernel counts them for the user, who beyond a limit can hand none over to anybody.
// rule: E6
// expect: cheating protocol.forged | timeout time.limit
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

__global__ void multiply(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    multiply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
    cudaStreamSynchronize(stream);
    int some[250], sent = 0;
    for (int &fd : some) fd = 1;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof some)];
    } control = {};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {};
    message.msg_iov = &part, message.msg_iovlen = 1, message.msg_control = control.bytes, message.msg_controllen = sizeof control.bytes;
    control.header.cmsg_level = SOL_SOCKET, control.header.cmsg_type = SCM_RIGHTS, control.header.cmsg_len = CMSG_LEN(sizeof some);
    memcpy(CMSG_DATA(&control.header), some, sizeof some);
    while (sendmsg(3, &message, MSG_DONTWAIT) == 1) sent++;
    usleep(900000);
}
