// The loop over the threads of a block, and launches written by hand.
//
// What the rewriter makes of a kernel and of `<<<…>>>` is in kfcpu_stub.h: every launch ends in start_threads with a closure that holds the
// arguments and calls the kernel's body. The rest of the rewriting that these headers expect:
//   extern __shared__ T x[];             → T *x = (T *)kfcpu::dynamic_shared();
//   __noinline__                         → __attribute__((noinline))     (outside of __attribute__((…)))
//   static __shared__, __shared__ static → __shared__                    (the macro has its own static)
// A header that is refused says `#error kforge-unsupported: CONSTRUCT`.
#pragma once
#include <stdlib.h>
#include <tuple>
#include <type_traits>
#include <utility>
#include "builtins.h"

namespace kfcpu
{

// Touches the candidate's thread-local storage, which the loader allocates when a thread does so for the first time, in the middle of what the compiler
// takes for the computation of an address that changes one register. In glibc before 2.40 the allocator's vector registers are then not the
// candidate's any more (https://sourceware.org/bugzilla/show_bug.cgi?id=31372). So each thread comes here before it holds anything in one: workers in
// start_threads, whoever loads the candidate before its constructors. `noipa`: or callers would see which registers this function spares. Threads that a
// candidate starts itself, with storage for its functions of the host, are left as they are.
static __thread char storage __attribute__((unused));
#ifdef __clang__ // which reads this, but compiles no candidate
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
    // One load each: a wider one would have to wait until the runtime's three stores have reached the cache.
    const volatile uint32_t *block = view->block;
    blockIdx.x = block[0], blockIdx.y = block[1], blockIdx.z = block[2];
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
            rest();
            if (kfcpu_self->fresh) begin_block();
            continue;
        }
        threadIdx.x = next_index.x++, threadIdx.y = next_index.y, threadIdx.z = next_index.z;
        thread_number = next_thread++;
        (*closure)();
    }
}

// The rewriter gives the body of a kernel that calls __syncthreads and its like an enumerator `kfcpu_waits`. There is nothing to vectorise
// in such a kernel, and one copy of its code is enough, which halves what the compiler has to do.
template <class Body, class = void> struct body_waits : std::false_type {
};
template <class Body>
struct body_waits<Body, std::void_t<decltype(Body::kfcpu_waits)>> : std::integral_constant<bool, Body::kfcpu_waits != 0> {
};
template <class Closure> struct closure_waits : std::false_type {
};
template <template <class, class...> class Closure, class Body, class... P>
struct closure_waits<Closure<Body, P...>> : body_waits<Body> {
};

// Starts the threads of the current block. Absent calls that may switch to another fiber the compiler sees three plain nested loops.
template <class Closure> __attribute__((flatten, noinline)) void run_threads(void *opaque)
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

// The runtime's way in (kfcpu_loop).
template <class Closure> void start_threads(void *opaque)
{
    touch_storage();
    run_threads<Closure>(opaque);
}

} // namespace kfcpu
