// fp8 storage types: every code survives the way to float and back, halves round to even, saturation.
#include "exec_check.h"
#include <cuda_fp8.h>
#include <math.h>

__global__ void convert(const float *x, __nv_fp8_e4m3 *a, __nv_fp8_e5m2 *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = __nv_fp8_e4m3(x[i]), b[i] = __nv_fp8_e5m2(x[i]);
}

int main()
{
    for (int i = 0; i < 256; i++) {
        __nv_fp8_e4m3 a;
        __nv_fp8_e5m2 b;
        a.__x = b.__x = (unsigned char)i;
        float f = float(a), g = float(b);
        CHECK((f != f) == ((i & 127) == 127));
        if (f == f) CHECK(__nv_fp8_e4m3(f).__x == i);
        if (g - g == 0) CHECK(__nv_fp8_e5m2(g).__x == i);
    }
    float values[] = {1,     1.0625f, 1.1875f, 448,      1000, -1000, 0.001953125f, 0.0009765625f,
                      1e-9f, 57344,   1e6f,    INFINITY, 0.3f, -0.0f};
    float e4m3[] = {1, 1, 1.25f, 448, 448, -448, 0.001953125f, 0, 0, 448, 448, 448, 0.3125f, 0};
    float e5m2[] = {1, 1, 1.25f, 448, 1024, -1024, 0.001953125f, 0.0009765625f, 0, 57344, 57344, 57344, 0.3125f, 0};
    int n = sizeof values / sizeof *values;
    float *x = memory<float>(n);
    __nv_fp8_e4m3 *a = memory<__nv_fp8_e4m3>(n);
    __nv_fp8_e5m2 *b = memory<__nv_fp8_e5m2>(n);
    for (int i = 0; i < n; i++) x[i] = values[i];
    convert<<<1, n>>>(x, a, b, n);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) {
        CHECK_NEAR(float(a[i]), e4m3[i], 0);
        CHECK_NEAR(float(b[i]), e5m2[i], 0);
    }
    CHECK(__nv_cvt_float_to_fp8(1000.0f, __NV_NOSAT, __NV_E4M3) == 0x7f);
    CHECK(__nv_cvt_float_to_fp8(INFINITY, __NV_NOSAT, __NV_E5M2) == 0x7c);
    float4 four = float4(__nv_fp8x4_e5m2(make_float4(1, 2, 3, -4)));
    CHECK(four.x == 1 && four.y == 2 && four.z == 3 && four.w == -4);
    return result();
}
