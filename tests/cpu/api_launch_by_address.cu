// Kernels launched through a type-erased address, a function pointer, a configuration with attributes, and cooperatively.
#include <utility>
#include "check.h"

struct big {
    double values[100];
};

__global__ void mixed(float *out, char c, double d, big b, const int *in, short s)
{
    out[threadIdx.x] = c + d + b.values[threadIdx.x] + in[0] + s;
}
template <class T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
__global__ void overloaded(int *x) { x[0] = 1; }
__global__ void overloaded(int *x, int value) { x[0] = value; }
static __global__ void in_file(int *x) { x[0] += 10; }
namespace inner {
namespace {
__global__ void hidden(int *x) { x[0] += 100; }
} // namespace
} // namespace inner

int main()
{
    float *out;
    int *in, ten = 10;
    OK(cudaMallocManaged(&out, 100 * sizeof *out));
    OK(cudaMallocManaged(&in, sizeof *in));
    *in = 1000;
    char c = 1;
    double d = 0.5;
    short s = 7;
    big b;
    for (int i = 0; i < 100; i++) b.values[i] = i;
    void *arguments[] = {&out, &c, &d, &b, &in, &s};
    OK(cudaLaunchKernel((void *)mixed, dim3(1), dim3(100), arguments, 0, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++) CHECK(out[i] == 1008.5f + i);

    float by = 2;
    void *pair[] = {&out, &by};
    OK(cudaLaunchKernel((const void *)scale<float>, dim3(1), dim3(100), pair, 0, 0));
    OK(cudaLaunchKernel(scale<float>, dim3(1), dim3(100), pair));
    OK(cudaDeviceSynchronize());
    CHECK(out[3] == 4 * 1011.5f);

    void (*pointer)(float *, float) = scale<float>;
    pointer<<<1, 1>>>(out, 0.25f);
    OK(cudaDeviceSynchronize());
    CHECK(out[0] == 1008.5f);
    (scale<float>)<<<1, 1>>>(out, 2);
    OK(cudaDeviceSynchronize());
    CHECK(out[0] == 2017);

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributePriority;
    attributes[1].val.priority = 0;
    config.attrs = attributes;
    config.numAttrs = 2;
    OK(cudaLaunchKernelEx(&config, scale<float>, out, 3)); // an int for a float parameter
    OK(cudaDeviceSynchronize());
    CHECK(out[0] == 6051);
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim.x = 2;
    attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
    EXPECT(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&config, scale<float>, out, 3));
    cudaGetLastError();

    overloaded<<<1, 1>>>(in);
    OK(cudaDeviceSynchronize());
    CHECK(*in == 1);
    overloaded<<<1, 1>>>(in, 5);
    OK(cudaDeviceSynchronize());
    CHECK(*in == 5);
    void *one[] = {&in}, *two[] = {&in, &ten};
    OK(cudaLaunchKernel((void (*)(int *, int))overloaded, dim3(1), dim3(1), two, 0, 0));
    OK(cudaDeviceSynchronize());
    CHECK(*in == 10);
    OK(cudaLaunchKernel((void *)in_file, dim3(1), dim3(1), one, 0, 0));
    OK(cudaLaunchKernel((void *)inner::hidden, dim3(1), dim3(1), one, 0, 0));
    OK(cudaDeviceSynchronize());
    CHECK(*in == 120);
    OK(cudaLaunchCooperativeKernel((void *)in_file, dim3(1), dim3(1), one, 0, 0));
    OK(cudaDeviceSynchronize());
    CHECK(*in == 130);
    EXPECT(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel((void *)in_file, dim3(1000000), dim3(1024), one, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaLaunchKernel((void *)in_file, dim3(1), dim3(2000), one, 0, 0));
    return 0;
}
