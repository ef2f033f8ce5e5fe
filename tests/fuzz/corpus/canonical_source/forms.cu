# 1 "cand.cu"
template <class T, int N = (3 > 2)> __global__ void __launch_bounds__(N * 32, 2) k(const T *__restrict__ x,
    T *y, int, float (*f)(int), std::pair<int, int> p = {1, 2}, const unsigned = 4)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ static float t[32][33];
#pragma unroll
    for (int i = 0; i < 3; i++) { y[i] = x[i] << 3; }
#pragma unroll 4
    y++;
}
extern __shared__ float4 sm[][2];
__device__ __noinline__ float g(int i) { return sm[i][0].x; }
template <> __global__ void k<float>(const float *x) { sm[0][1].x = *x; }
template <typename... Ts> __global__ void pk(Ts... args) {}
struct S { __device__ S(int q) : a{q}, b(q) { asm volatile("bar.sync 0;"); } int a, b; };
void host(cudaStream_t s) {
    if (x) (kern)<<<1, 2>>>(a, b);
    else ns::k<float, sizeof(T) < 8><<<dim3((n + 1) / 2), 256, 0,
        s>>>(x, y);
    table[i]->fp<<<g, b>>>();
    obj.template run<A<B<int>>><<<f<2, C<D>>(1), 3>>>(foo(2));
    std::cout << "k<<<1,2>>>(3)" << R"(a<<<1,1>>>())" << std::endl;
    auto l = [=] __device__ (int i) { other<<<1, 1>>>(); };
    return k<<<1, 1>>>();
}
