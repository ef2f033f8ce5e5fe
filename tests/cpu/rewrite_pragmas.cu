// Unrolling pragmas before loops and where they mean nothing, qualifiers in odd places, kernels from macros.
#include "check.h"

#define KERNEL(name, op) \
    __global__ void name(int *x, int n) \
    { \
        _Pragma("unroll") \
        for (int i = 0; i < n; i++) x[i] = x[i] op 2; \
    }
KERNEL(plus, +)
KERNEL(times, *)

#define HD __host__ __device__ __forceinline__
HD int twice(int x) { return 2 * x; }
__device__ __host__ inline constexpr int thrice(int x) { return 3 * x; }
__noinline__ __device__ int quadruple(int x) { return 4 * x; }
struct __align__(16) aligned {
    int a;
    HD aligned(int v) : a{v}, b(v) {}
    HD int operator()() const { return a + b; }
    HD operator int() const { return a; }
    friend HD aligned operator+(const aligned &l, const aligned &r) { return aligned(l.a + r.a); }
    int b;
};

template <int N> __global__ void unrolled(int *x, const __grid_constant__ int n)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll 4
        for (int j = 0; j < 2; j++) x[i] += j;
    }
#pragma unroll (N)
    for (int i = 0; i < N; ++i) x[i] += n;
#pragma unroll 1
    while (x[0] < 100) x[0]++;
#pragma unroll
    do x[1]++;
    while (x[1] < 50);
#pragma unroll
    x[2] = twice(x[2]) + thrice(1) + quadruple(1) + aligned(3)() + (int)(aligned(1) + aligned(2));
#pragma nv_diag_suppress 177
}

int main()
{
    int *x;
    OK(cudaMallocManaged(&x, 8 * sizeof *x));
    for (int i = 0; i < 8; i++) x[i] = i;
    plus<<<1, 1>>>(x, 8);
    times<<<1, 1>>>(x, 8);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++) CHECK(x[i] == (i + 2) * 2);
    unrolled<8><<<1, 1>>>(x, 1);
    OK(cudaDeviceSynchronize());
    CHECK(x[0] == 100 && x[1] == 50 && x[2] == 10 * 2 + 3 + 4 + 6 + 3 && x[3] == 12);
    CHECK(sizeof(aligned) == 16 && twice(2) == 4);
    return 0;
}
