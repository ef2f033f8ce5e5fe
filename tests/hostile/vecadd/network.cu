// Connects to the machine's network and asks a name server.
// rule: E5
// expect: correct
#include <arpa/inet.h>
#include <cuda_runtime.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    static bool tried;
    if (!tried) {
        tried = true;
        for (int type : {SOCK_STREAM, SOCK_DGRAM}) {
            int fd = socket(AF_INET, type, 0);
            struct sockaddr_in address = {};
            address.sin_family = AF_INET;
            address.sin_port = htons(53);
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return;
        }
        if (socket(AF_PACKET, SOCK_RAW, 0) >= 0 || gethostbyname("example.com")) return;
    }
    add<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, z, n);
}
