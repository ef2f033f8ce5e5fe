// The loop over the threads of a block, and launches written by hand.
//
// kfcpu_stub.h describes how the rewriter changes kernels and `<<<…>>>`. Every launch ends in
// start_threads, with a closure that holds the arguments and calls the kernel's body. The rest of
// the rewriting that these headers expect:
//   extern __shared__ T x[];             → T *x = (T *)kfcpu::dynamic_shared();
//   __noinline__                         → __attribute__((noinline))  (not in __attribute__((…)))
//   static __shared__, __shared__ static → __shared__                 (the macro contains static)
// A header of an unsupported feature says `#error kforge-unsupported: CONSTRUCT`.
#pragma once
#include <stdlib.h>
#include <type_traits>
#include <utility>
#include "builtins.h"

namespace kfcpu
{

// Touches the candidate's thread-local storage. The loader allocates this storage at a thread's
// first use of it, in the middle of an address computation that changes one register for the
// compiler. In glibc before 2.40 the allocator changes vector registers there
// (https://sourceware.org/bugzilla/show_bug.cgi?id=31372). So each thread calls this function
// before it holds a value in a vector register: workers in start_threads, the loading thread before
// the constructors. `noipa` hides from callers which registers the function leaves alone. Threads
// that the candidate starts itself, with thread-local storage of its own host functions, are not
// covered.
static __thread char storage __attribute__((unused));
// clang reads this file but compiles no candidate.
#ifdef __clang__
#define KFCPU_OPAQUE __attribute__((noinline))
#else
#define KFCPU_OPAQUE __attribute__((noipa))
#endif
KFCPU_OPAQUE __attribute__((unused, constructor(101))) static void touch_storage()
{
    __asm__ volatile("" : : "r"(&storage) : "memory");
}

// Reads the geometry of a new block into the built-in variables.
__attribute__((noinline, unused)) static void enter_block()
{
    const kfcpu_view *view = kfcpu_self;
    const kfcpu_geometry *geometry = view->geometry;
    // One load each: a wider load would wait until the runtime's three stores have reached the
    // cache.
    const volatile uint32_t *block = view->block;
    blockIdx.x = block[0], blockIdx.y = block[1], blockIdx.z = block[2];
    blockDim.x = geometry->block[0], blockDim.y = geometry->block[1],
    blockDim.z = geometry->block[2];
    gridDim.x = geometry->grid[0], gridDim.y = geometry->grid[1], gridDim.z = geometry->grid[2];
}

// Conditions that the compiler may rely on in the loop over threads. kfcpu_execute refuses launches
// without them. If blockIdx.x * blockDim.x + threadIdx.x does not wrap, the compiler can treat
// indices as induction variables.
#define KFCPU_ASSUME(condition)                    \
    do {                                           \
        if (!(condition)) __builtin_unreachable(); \
    } while (0)

// Begins a new block with its first thread.
__attribute__((always_inline)) static inline void begin_block()
{
    kfcpu_self->fresh = 0;
    enter_block();
    next_index.x = next_index.y = next_index.z = 0;
    next_thread = 0;
}

// Gives the thread that starts now the index of the same lane in the warp as far from the end.
__attribute__((noinline, unused)) static void reverse_warp()
{
    unsigned warps = blockDim.x * blockDim.y * blockDim.z / KFCPU_WARP,
             warp = (2 * warps - kfcpu_self->reversed - thread_number / KFCPU_WARP) % warps,
             number = warp * KFCPU_WARP + thread_number % KFCPU_WARP;
    threadIdx.x = number % blockDim.x;
    threadIdx.y = number / blockDim.x % blockDim.y;
    threadIdx.z = number / blockDim.x / blockDim.y;
}

// Runs the threads of a kernel with barriers, one call each. It never returns: when all threads of
// a block have started, the fiber waits in kfcpu_threads_done for more threads, of this block or
// the next. It is dropped when the launch is over.
template <class Closure> __attribute__((noinline, noreturn)) void continue_threads(Closure *closure)
{
    for (;;) {
        if (next_index.x >= blockDim.x) {
            next_index.x = 0;
            if (++next_index.y >= blockDim.y) next_index.y = 0, ++next_index.z;
        }
        if (next_index.z >= blockDim.z) {
            next_index.x = blockDim.x, next_index.y = blockDim.y, next_index.z = blockDim.z;
            rest();
            if (kfcpu_self->fresh) begin_block();
            continue;
        }
        threadIdx.x = next_index.x++, threadIdx.y = next_index.y, threadIdx.z = next_index.z;
        thread_number = next_thread++;
        if (__builtin_expect(kfcpu_self->reversed, 0)) reverse_warp();
        (*closure)();
    }
}

// The rewriter adds an enumerator `kfcpu_waits` to the body of a kernel that calls __syncthreads or
// the like. A kernel of this kind has no loop to vectorise. One copy of its code is enough, which
// halves the compiler's work.
template <class Body, class = void> struct body_waits : std::false_type {
};
template <class Body>
struct body_waits<Body, std::void_t<decltype(Body::kfcpu_waits)>>
    : std::integral_constant<bool, Body::kfcpu_waits != 0> {
};
template <class Closure> struct closure_waits : std::false_type {
};
template <template <class, class...> class Closure, class Body, class... P>
struct closure_waits<Closure<Body, P...>> : body_waits<Body> {
};

// Starts the threads of the current block. Without calls that may switch to another fiber, the
// compiler sees three plain nested loops.
template <class Closure> __attribute__((flatten, noinline)) void run_threads(void *opaque)
{
    if constexpr (closure_waits<Closure>::value) {
        if (kfcpu_self->fresh) begin_block();
        continue_threads(static_cast<Closure *>(opaque));
    }
    // A local copy: no store of the kernel can change it.
    Closure closure = *static_cast<const Closure *>(opaque);
    // A thread of this block is waiting.
    if (!kfcpu_self->fresh) continue_threads(static_cast<Closure *>(opaque));
    begin_block();
    if (kfcpu_self->reversed) continue_threads(static_cast<Closure *>(opaque));
    const unsigned nx = blockDim.x, ny = blockDim.y, nz = blockDim.z;
    KFCPU_ASSUME(nx >= 1 && nx <= KFCPU_MAX_THREADS && ny >= 1 && ny <= KFCPU_MAX_THREADS &&
                 nz >= 1 && nz <= 64);
    const unsigned first = blockIdx.x * nx;
    KFCPU_ASSUME(first <= 0x7fffffffu - KFCPU_MAX_THREADS);
    // The loop counters are read back from next_index, because other threads may have started while
    // one waited. gcc vectorises only this form, in which x, y and z visibly start at 0.
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
    // Every thread has started. Suspended threads also come here when they end, and must not start
    // another.
    next_index.x = nx, next_index.y = ny, next_index.z = nz;
}

// The entry point for the runtime (kfcpu_loop).
template <class Closure> void start_threads(void *opaque)
{
    touch_storage();
    run_threads<Closure>(opaque);
}

} // namespace kfcpu
