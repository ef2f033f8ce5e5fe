// Every way in which people write a launch.
#include <functional>
#include "check.h"

#define LAUNCH(kernel, n, ...) kernel<<<((n) + 31) / 32, 32>>>(__VA_ARGS__)
#define THREADS 32

template <class T> struct box {
    T value;
};
template <class A, class B> struct couple {
    static constexpr int size = sizeof(A) + sizeof(B);
};

__global__ void add(int *x, int n) { atomicAdd(x, n); }
template <int N> __global__ void add_constant(int *x) { atomicAdd(x, N); }
template <class T, int N = 2> __global__ void add_typed(T *x, box<T> by) { atomicAdd(x, by.value * N); }
template <bool Flag, class T> __global__ void deduced(T *x, const T *null) { atomicAdd(x, Flag && !null ? 1 : 100); }
template <class... T> __global__ void sum(int *x, T... values) { atomicAdd(x, (0 + ... + values)); }
template <class F> __global__ void call(F f, int n) { if ((int)threadIdx.x < n) f(threadIdx.x); }
__global__ void unnamed(int *x, int, const float *__restrict__, void (*)(int)) { atomicAdd(x, 1); }
__global__ void with_array(int *x, int (*rows)[4], int n) { atomicAdd(x, rows[1][n]); }
__global__ void
    on_several_lines
    (
        int *x, // a comment, with a comma
        int n   /* and ( another */
    )
{
    atomicAdd(x, n);
}
extern "C" __global__ void plain_c(int *x) { atomicAdd(x, 1); }
__global__ static void __launch_bounds__(64, 1) qualified(int *x) { atomicAdd(x, 1); }
void __global__ late(int *x) { atomicAdd(x, 1); }
__global__ void declared_first(int *x, int n);
template <class T> __global__ void specialised(T *x);
template <> __global__ void specialised<int>(int *x) { atomicAdd(x, 3); }

namespace outer { namespace inner {
__global__ void nested(int *x) { atomicAdd(x, 1); }
template <class T> __global__ void nested_template(T *x) { atomicAdd(x, 1); }
} } // namespace outer::inner

struct launcher {
    void (*kernel)(int *, int) = add;
    int *x;
    template <int N> void run() { add_constant<N><<<1, 1>>>(x); }
    void run_pointer(int n) const { this->kernel<<<1, 1>>>(x, n); }
};

template <class T> static void in_template(T *x)
{
    add_typed<T><<<1, 1>>>(x, box<T>{1});
    add_typed<T, couple<char, short>::size><<<1, 1>>>(x, {1});
}

static int argument(int *x)
{
    add<<<1, 1>>>(x, 1000); // a launch while another one's arguments are evaluated
    return 1;
}

int main()
{
    int *x, wanted = 0;
    OK(cudaMallocManaged(&x, sizeof *x));
    *x = 0;
#define IS(n)                                                                                                                        \
    wanted += (n);                                                                                                                   \
    OK(cudaDeviceSynchronize());                                                                                                     \
    CHECK(*x == wanted)
    add<<<1, 1>>>(x, 1);
    IS(1);
    add<<<dim3(2, 2), dim3(2, 2, 2), 0, 0>>>(x, 1);
    IS(32);
    add <<< 1 , THREADS >>> (x, 1);
    IS(32);
    LAUNCH(add, 100, x, 1);
    IS(128);
    LAUNCH(add_constant<3>, 1, x);
    IS(96);
    add_constant<(4 > 3) ? 5 : 6><<<1, 1>>>(x);
    IS(5);
    add_constant<sizeof(int) < 8><<<1, 1>>>(x);
    IS(1);
    add_constant<couple<box<box<int>>, int>::size><<<1, 1>>>(x);
    IS(8);
    add_constant<(1 << 3)><<<1 << 1, 8 >> 3>>>(x);
    IS(16);
    add_typed<<<1, 1>>>(x, box<int>{3});
    IS(6);
    deduced<true><<<1, 1>>>(x, (const int *)nullptr);
    IS(1);
    deduced<true, int><<<1, 1>>>(x, NULL);
    IS(1);
    sum<<<1, 1>>>(x, 1, (short)2, 'a' - 'a');
    IS(3);
    sum<<<1, 1>>>(x);
    IS(0);
    unnamed<<<1, 1>>>(x, 0, 0, nullptr);
    IS(1);
    int (*rows)[4];
    OK(cudaMallocManaged(&rows, 2 * sizeof *rows));
    rows[1][2] = 9;
    with_array<<<1, 1>>>(x, rows, 2);
    IS(9);
    on_several_lines<<<
        1,
        1
    >>>(
        x,
        4);
    IS(4);
    plain_c<<<1, 1>>>(x);
    qualified<<<1, 1>>>(x);
    late<<<1, 1>>>(x);
    IS(3);
    declared_first<<<1, 1>>>(x, 6);
    IS(6);
    specialised<int><<<1, 1>>>(x);
    specialised<<<1, 1>>>(x);
    IS(6);
    outer::inner::nested<<<1, 1>>>(x);
    ::outer::inner::nested_template<int><<<1, 1>>>(x);
    IS(2);
    launcher l;
    l.x = x;
    l.run<7>();
    l.run_pointer(8);
    IS(15);
    l.kernel<<<1, 1>>>(x, 1);
    (*l.kernel)<<<1, 1>>>(x, 1);
    (wanted > 0 ? add : declared_first)<<<1, 1>>>(x, 1);
    IS(3);
    void (*table[2])(int *, int) = {add, declared_first};
    for (int i = 0; i < 2; i++) table[i]<<<1, 1>>>(x, 10);
    IS(20);
    in_template(x);
    IS(5);
    add<<<1, 1>>>(x, argument(x));
    IS(1001);
    if (wanted) add<<<1, 1>>>(x, 1); else add<<<1, 1>>>(x, 2);
    IS(1);
    std::function<void(int)> from_lambda = [=](int n) { add<<<1, 1>>>(x, n); };
    from_lambda(12);
    IS(12);
    call<<<1, 4>>>([=] __device__(int i) { atomicAdd(x, i); }, 3);
    IS(3);
    size_t shared = 16;
    cudaStream_t stream = 0;
    add<<<(unsigned)1, {1, 1, 1}, shared, stream>>>(x, 1);
    IS(1);
    const char *text = "add<<<1, 1>>>(x, 1);", *raw = R"(add<<<1, 1>>>(x, 1);)";
    CHECK(text[3] == '<' && raw[3] == '<');
    return 0;
}

__global__ void declared_first(int *x, int n) { atomicAdd(x, n); }
