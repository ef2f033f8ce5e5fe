// Copies and fills in one, two and three dimensions, and their argument checks.
#include <string.h>
#include "check.h"

int main()
{
    unsigned char *x, *y, host[64 * 8], back[64 * 8];
    for (int i = 0; i < (int)sizeof host; i++) host[i] = (unsigned char)i;
    OK(cudaMalloc(&x, sizeof host));
    OK(cudaMalloc(&y, sizeof host));
    OK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(y, x, sizeof host, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyAsync(back, y, sizeof host, cudaMemcpyDefault, 0));
    CHECK(memcmp(host, back, sizeof host) == 0);
    OK(cudaMemcpyPeer(y, 0, x, 0, 16));

    OK(cudaMemset(y, 0xab, sizeof host));
    OK(cudaMemcpy2D(y, 32, x + 1, 64, 10, 8, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, y, sizeof back, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 32; column++)
            CHECK(back[row * 32 + column] == (column < 10 ? (unsigned char)(row * 64 + column + 1) : 0xab));

    OK(cudaMemset2D(y, 16, 3, 5, 4));
    OK(cudaMemcpy(back, y, 64, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) CHECK(i % 16 < 5 ? back[i] == 3 : back[i] != 3 || i % 32 < 10);

    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, 16, 16, 8); // 4 slices of 8 rows of 16 bytes
    copy.dstPtr = make_cudaPitchedPtr(x, 8, 8, 4);
    copy.srcPos = make_cudaPos(2, 1, 1);
    copy.extent = make_cudaExtent(5, 3, 2);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemset(x, 0, sizeof host));
    OK(cudaMemcpy3D(&copy));
    OK(cudaMemcpy(back, x, 64, cudaMemcpyDeviceToHost));
    for (int z = 0; z < 2; z++)
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 8; column++) {
                unsigned char wanted = row < 3 && column < 5 ? host[((z + 1) * 8 + row + 1) * 16 + column + 2] : 0;
                CHECK(back[(z * 4 + row) * 8 + column] == wanted);
            }

    EXPECT(cudaErrorInvalidValue, cudaMemcpy(x, host, sizeof host + 1, cudaMemcpyHostToDevice)); // leaves the allocation
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(nullptr, host, 1, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(x, host, 1, (cudaMemcpyKind)9));
    EXPECT(cudaErrorInvalidPitchValue, cudaMemcpy2D(x, 4, host, 64, 10, 2, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemset(x, 0, sizeof host + 1));
    EXPECT(cudaErrorInvalidValue, cudaMemset2D(x, 3, 0, 5, 4));
    OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
    cudaFree(x);
    cudaFree(y);
    return 0;
}
