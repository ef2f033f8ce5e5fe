// Parameters of class types. Their namespaces join the search for functions, so one that has a
// function of the stub's names must not replace it.
#include <array>
#include <chrono>
#include <complex>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>
#include "check.h"

namespace own
{
struct factor {
    float value;
};
template <class... T> void bind(T &&...)
{
    exit(2);
}
template <class... T> void bind_packed(T &&...)
{
    exit(2);
}
template <class... T> void enter(T &&...)
{
    exit(2);
}
template <class... T> bool configure(T &&...)
{
    exit(2);
}
template <class... T> void apply(T &&...)
{
    exit(2);
}
template <class... T> void run(T &&...)
{
    exit(2);
}
} // namespace own

__global__ void with_pair(float *x, std::pair<float, float> p)
{
    x[threadIdx.x] += p.first * p.second;
}
__global__ void with_tuple(float *x, std::tuple<int, float> t)
{
    x[threadIdx.x] += std::get<0>(t) * std::get<1>(t);
}
__global__ void with_array(float *x, std::array<float, 3> a)
{
    x[threadIdx.x] += a[0] + a[1] + a[2];
}
__global__ void with_complex(float *x, std::complex<float> c)
{
    x[threadIdx.x] += c.real() * c.imag();
}
__global__ void with_duration(float *x, std::chrono::milliseconds d)
{
    x[threadIdx.x] += d.count();
}
__global__ void with_function(float *x, std::plus<float> f)
{
    x[threadIdx.x] = f(x[threadIdx.x], 6);
}
__global__ void with_view(float *x, std::string_view v)
{
    x[threadIdx.x] += v.size();
}
__global__ void with_own(float *x, own::factor f)
{
    x[threadIdx.x] += f.value;
}
template <class T> __global__ void with_any(float *x, T t)
{
    x[threadIdx.x] += t.first;
}

int main()
{
    float *x;
    OK(cudaMallocManaged(&x, 32 * sizeof *x));
    for (int i = 0; i < 32; i++) x[i] = 0;
    with_pair<<<1, 32>>>(x, std::pair<float, float>(2, 3));
    with_tuple<<<1, 32>>>(x, std::make_tuple(2, 3.0f));
    with_array<<<1, 32>>>(x, std::array<float, 3>{1, 2, 3});
    with_complex<<<1, 32>>>(x, {2, 3});
    with_duration<<<1, 32>>>(x, std::chrono::milliseconds(6));
    with_function<<<1, 32>>>(x, std::plus<float>());
    with_view<<<1, 32>>>(x, "sixsix");
    with_own<<<1, 32>>>(x, own::factor{6});
    with_any<<<1, 32>>>(x, std::make_pair(6, nullptr));
    own::factor packed = {6};
    void *arguments[] = {&x, &packed};
    OK(cudaLaunchKernel((const void *)with_own, dim3(1), dim3(32), arguments, 0, nullptr));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) CHECK(x[i] == 60);
    return 0;
}
