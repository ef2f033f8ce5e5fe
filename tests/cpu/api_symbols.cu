// __device__, __constant__ and __managed__ variables from the host.
#include "check.h"

__constant__ float table[4] = {1, 2, 3, 4};
__constant__ int scale;
__device__ int counter;
__device__ float matrix[3][5];
__managed__ int managed = 5;
struct pair {
    int a;
    double b;
};
__constant__ pair settings;

__global__ void use(float *out)
{
    int i = threadIdx.x;
    out[i] = table[i] * scale + matrix[1][i] + (float)settings.b;
    atomicAdd(&counter, 1);
    if (i == 0) managed = 6;
}

int main()
{
    int two = 2, count = 100;
    OK(cudaMemcpyToSymbol(scale, &two, sizeof two));
    OK(cudaMemcpyToSymbol(counter, &count, sizeof count));
    float row[5] = {10, 20, 30, 40, 50};
    OK(cudaMemcpyToSymbol(matrix, row, sizeof row, sizeof row));
    pair made = {1, 0.5};
    OK(cudaMemcpyToSymbolAsync(settings, &made, sizeof made, 0, cudaMemcpyHostToDevice, 0));
    float three = 30;
    OK(cudaMemcpyToSymbol(table, &three, sizeof three, 2 * sizeof(float)));
    float *out, host[4];
    OK(cudaMalloc(&out, sizeof host));
    use<<<1, 4>>>(out);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 12.5f && host[1] == 24.5f && host[2] == 90.5f && host[3] == 48.5f);
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(count == 104);
    CHECK(managed == 6);
    void *address;
    size_t size;
    OK(cudaGetSymbolAddress(&address, matrix));
    OK(cudaGetSymbolSize(&size, matrix));
    OK(cudaMemcpy(row, (float *)address + 5, sizeof row, cudaMemcpyDeviceToHost));
    CHECK(size == sizeof matrix && row[0] == 10);
    OK(cudaMemset(address, 0, size));
    OK(cudaMemcpyFromSymbol(row, matrix, sizeof row, sizeof row));
    CHECK(row[0] == 0);
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToSymbol(scale, row, 100));
    cudaFree(out);
    return 0;
}
