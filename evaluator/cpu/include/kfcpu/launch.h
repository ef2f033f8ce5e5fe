// Launching kernels: what the rewriter turns `<<<…>>>` into, and the loop over the threads of a block.
//
// For the rewriter. KERNEL is the text before `<<<`, G B S ST the texts inside (S and ST optional), ARGS the arguments, KERNEL_STRING
// the text before `<<<` as a string literal without line breaks:
//
//   KERNEL<<<G, B, S, ST>>>(ARGS)
//     where KERNEL names no template, or a template with all its arguments, or is a variable (pointer to a kernel):
//   kfcpu::launch(kfcpu_config(KERNEL_STRING, G, B, S, ST), KERNEL, [=](auto... kf_a) { KERNEL(kf_a...); }, ARGS)
//     (ARGS are evaluated once and converted to the parameters' types; with no arguments drop the last comma)
//     where KERNEL names a template whose arguments, all or the last ones, are deduced:
//   kfcpu::launch_deduced(kfcpu_config(KERNEL_STRING, G, B, S, ST), [=](auto... kf_a) { KERNEL(kf_a...); }, ARGS)
//
//   axpy<<<(n + 255) / 256, 256, 0, stream>>>(a, x, y, n);
//   → kfcpu::launch(kfcpu_config("axpy", (n + 255) / 256, 256, 0, stream), axpy, [=](auto... kf_a) { axpy(kf_a...); }, a, x, y, n);
//   reduce<T, 256><<<blocks, 256>>>(in, out);                  (template <class T, int N> __global__ void reduce(const T *, T *))
//   → kfcpu::launch(kfcpu_config("reduce<T, 256>", blocks, 256), reduce<T, 256>, [=](auto... kf_a) { reduce<T, 256>(kf_a...); }, in, out);
//   reduce<256><<<blocks, 256>>>(in, out);                     (template <int N, class T> …)
//   → kfcpu::launch_deduced(kfcpu_config("reduce<256>", blocks, 256), [=](auto... kf_a) { reduce<256>(kf_a...); }, in, out);
//
// When in doubt for a template use launch_deduced: it is right for every kernel except that a literal 0 or NULL can't be passed for
// a pointer. The rest of the rewriting that these headers expect:
//   extern __shared__ T x[];            → T *x = (T *)kfcpu::dynamic_shared();   (in a function; T with its own attributes dropped)
//     at namespace scope: drop the declaration and put `T *x = (T *)kfcpu::dynamic_shared();` first in the functions that use x
//   __noinline__                        → __attribute__((noinline))    (outside of __attribute__((…)))
//   static __shared__, __shared__ static → __shared__                  (the macro has its own static)
//   kernels whose address is taken for cudaLaunchKernel, cudaLaunchCooperativeKernel, graph kernel nodes, cudaFuncSetAttribute…:
//     after the definition of each __global__ function that is no template, at namespace scope:
//   static kfcpu::kernel_record kf_kernel_N = kfcpu::record("axpy", axpy, [](auto... kf_a) { axpy(kf_a...); });
//     kfcpu_find_kernel(address) then gives its record; calls with a function of type void (*)(P...) can use
//     kfcpu::launch_packed(config, function, void **arguments) without one.
// Unsupported headers are `#error kforge-unsupported: CONSTRUCT`.
// Flags: -std=c++17 -O3 -march=native -fPIC -fvisibility=hidden -fno-semantic-interposition -fno-math-errno -fno-trapping-math
//   -fno-strict-aliasing -mtls-dialect=gnu2 (x86-64), and -fsanitize=address with libkfcpu-asan.so for the sanitized build.
#pragma once
#include <stdlib.h>
#include <tuple>
#include <type_traits>
#include <utility>
#include "builtins.h"

struct kfcpu_config : kfcpu_geometry {
    kfcpu_config(const char *name, dim3 g, dim3 b, size_t shared = 0, CUstream_st *s = nullptr, bool together = false)
        : kfcpu_geometry{}
    {
        grid[0] = g.x, grid[1] = g.y, grid[2] = g.z;
        block[0] = b.x, block[1] = b.y, block[2] = b.z;
        dynamic_shared = shared;
        stream = s;
        cooperative = together;
        kernel = name;
    }
};

namespace kfcpu
{

// Reads the geometry of a new block into the built-in variables. Out of line, and the first thing that touches the candidate's
// thread-local storage on a worker.
__attribute__((noinline, unused)) static void enter_block()
{
    const kfcpu_view *view = kfcpu_self;
    const kfcpu_geometry *geometry = view->geometry;
    blockIdx.x = view->block[0], blockIdx.y = view->block[1], blockIdx.z = view->block[2];
    blockDim.x = geometry->block[0], blockDim.y = geometry->block[1], blockDim.z = geometry->block[2];
    gridDim.x = geometry->grid[0], gridDim.y = geometry->grid[1], gridDim.z = geometry->grid[2];
}

// What the compiler may take for granted in the loop over threads: kfcpu_execute has refused launches where it would not hold.
// Knowing that blockIdx.x * blockDim.x + threadIdx.x does not wrap lets it treat indices as induction variables.
#define KFCPU_ASSUME(condition)                    \
    do {                                           \
        if (!(condition)) __builtin_unreachable(); \
    } while (0)

// Starts with the first thread of a new block.
__attribute__((always_inline)) static inline void begin_block()
{
    kfcpu_self->fresh = 0;
    enter_block();
    next_index.x = next_index.y = next_index.z = 0;
    next_thread = 0;
}

// The threads of a kernel that has barriers, one call each. It never returns: when all threads of a block have started, the fiber waits
// in kfcpu_threads_done for more, of this block or the next, and it is forgotten when the launch is over.
template <class Closure> __attribute__((noinline, noreturn)) void continue_threads(Closure *closure)
{
    for (;;) {
        if (next_index.x >= blockDim.x) {
            next_index.x = 0;
            if (++next_index.y >= blockDim.y) next_index.y = 0, ++next_index.z;
        }
        if (next_index.z >= blockDim.z) {
            next_index.x = blockDim.x, next_index.y = blockDim.y, next_index.z = blockDim.z;
            kfcpu_threads_done();
            if (kfcpu_self->fresh) begin_block();
            continue;
        }
        threadIdx.x = next_index.x++, threadIdx.y = next_index.y, threadIdx.z = next_index.z;
        thread_number = next_thread++;
        (*closure)();
    }
}

// A kernel's body may tell with an enumerator `waits` that it surely waits for other threads. Then there is nothing to vectorise, and one
// copy of it is enough.
template <class Body, class = void> struct body_waits : std::false_type {
};
template <class Body> struct body_waits<Body, std::void_t<decltype(Body::waits)>> : std::integral_constant<bool, Body::waits != 0> {
};
template <class Closure> struct closure_waits : std::false_type {
};
template <template <class, class...> class Closure, class Body, class... P>
struct closure_waits<Closure<Body, P...>> : body_waits<Body> {
};

// Starts the threads of the current block. Absent calls that may switch to another fiber the compiler sees three plain nested loops.
template <class Closure> __attribute__((flatten)) void run_threads(void *opaque)
{
    if constexpr (closure_waits<Closure>::value) {
        if (kfcpu_self->fresh) begin_block();
        continue_threads(static_cast<Closure *>(opaque));
    }
    Closure closure = *static_cast<const Closure *>(opaque); // a local copy: nothing the kernel stores to can change it
    // A thread of this block waits already.
    if (!kfcpu_self->fresh) continue_threads(static_cast<Closure *>(opaque));
    begin_block();
    const unsigned nx = blockDim.x, ny = blockDim.y, nz = blockDim.z;
    KFCPU_ASSUME(nx >= 1 && nx <= KFCPU_MAX_THREADS && ny >= 1 && ny <= KFCPU_MAX_THREADS && nz >= 1 && nz <= 64);
    const unsigned first = blockIdx.x * nx;
    KFCPU_ASSUME(first <= 0x7fffffffu - KFCPU_MAX_THREADS);
    // The loop counters are read back from next_index: others may have gone on while a thread waited. This form, with x, y and z
    // starting at 0 in plain sight, is the one that gcc vectorises.
    for (unsigned z = 0; z < nz; z = next_index.z) {
        for (unsigned y = 0; y < ny; y = next_index.y) {
            for (unsigned x = 0; x < nx; x = next_index.x) {
                threadIdx.x = x, threadIdx.y = next_index.y, threadIdx.z = next_index.z;
                thread_number = next_thread;
                next_index.x = x + 1;
                next_thread++;
                closure();
            }
            next_index.x = 0;
            next_index.y++;
        }
        next_index.y = 0;
        next_index.z++;
    }
    // Every thread has started. Those still suspended come here too when they end, and must start none.
    next_index.x = nx, next_index.y = ny, next_index.z = nz;
}

template <class Body, class... P> struct bound {
    Body body;
    std::tuple<P...> arguments;
    void operator()()
    {
        std::apply([this](P... a) { body(a...); }, arguments);
    }
};

template <class Closure> int submit(const kfcpu_config &config, const Closure &closure)
{
    return kfcpu_submit(
        &config, run_threads<Closure>, &closure, sizeof closure,
        [](const void *from) -> void * { return new Closure(*static_cast<const Closure *>(from)); },
        [](void *what) { delete static_cast<Closure *>(what); });
}

// A kernel with known parameter types P; BODY calls it by name, so that it can be inlined into the loop over threads.
template <class... P, class Body, class... A> int launch(const kfcpu_config &config, void (*)(P...), Body body, A &&...a)
{
    static_assert(sizeof...(P) == sizeof...(A), "the launch passes another number of arguments than the kernel takes");
    return submit(config, bound<Body, std::decay_t<P>...>{body, std::tuple<std::decay_t<P>...>(std::forward<A>(a)...)});
}

// A template whose arguments follow from the launch's: they keep their own (decayed) types.
template <class Body, class... A> int launch_deduced(const kfcpu_config &config, Body body, A &&...a)
{
    return submit(config, bound<Body, std::decay_t<A>...>{body, std::tuple<std::decay_t<A>...>(std::forward<A>(a)...)});
}

template <class Body, class... P, size_t... I>
int launch_packed_body(const kfcpu_config &config, Body body, void *const *arguments, std::index_sequence<I...>)
{
    (void)arguments;
    return submit(config, bound<Body, std::decay_t<P>...>{
                              body, std::tuple<std::decay_t<P>...>(*static_cast<std::decay_t<P> *>(arguments[I])...)});
}

// cudaLaunchKernel's form: ARGUMENTS[i] points to the i-th argument.
template <class... P> int launch_packed(const kfcpu_config &config, void (*kernel)(P...), void *const *arguments)
{
    return launch_packed_body<void (*)(P...), P...>(config, kernel, arguments, std::index_sequence_for<P...>());
}

struct kernel_record : kfcpu_kernel {
    kernel_record(const kfcpu_kernel &kernel) : kfcpu_kernel(kernel) { kfcpu_register_kernel(this); }
    kernel_record(const kernel_record &) = delete;
    ~kernel_record() { kfcpu_forget_kernel(this); }
};

// BODY must capture nothing: the record makes another of its kind when it launches.
template <class... P, class Body> kfcpu_kernel record(const char *name, void (*kernel)(P...), Body)
{
    static const size_t sizes[] = {sizeof(std::decay_t<P>)..., 0};
    auto launcher = [](const kfcpu_config *config, void *const *arguments) -> int {
        alignas(Body) static char empty[sizeof(Body)]; // a captureless lambda has no state and, before C++20, no constructor
        return launch_packed_body<Body, P...>(*config, *reinterpret_cast<Body *>(empty), arguments,
                                              std::index_sequence_for<P...>());
    };
    return kfcpu_kernel{reinterpret_cast<const void *>(kernel), name, int(sizeof...(P)), sizes, launcher, nullptr};
}

} // namespace kfcpu
