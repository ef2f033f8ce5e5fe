// threadIdx and the other built-in variables.
//
// They are variables of the candidate's own translation unit, without external linkage and (unless the candidate does it) without
// their address taken. So the compiler knows that no store through a pointer changes them and keeps them in registers all through
// the loop over the threads of a block; only calls that may run another thread (barriers, warp operations) restore them.
#pragma once
#include "../vector_types.h"
#include "exec.h"

#define __global__ __attribute__((visibility("hidden")))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#ifdef __SANITIZE_ADDRESS__
#define __shared__ static // one worker only: a plain object gets redzones, a thread's storage does not
#else
#define __shared__ static thread_local
#endif
#define __forceinline__ __inline__ __attribute__((always_inline))
// The rewriter replaces the word __noinline__ by __attribute__((noinline)): a macro of that name breaks the C++ library.
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __nv_pure__ __attribute__((pure))
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDA_ARCH__ 900
#define CUDART_VERSION 12080
#define CUDA_VERSION 12080

static __thread uint3 threadIdx __attribute__((unused));
static __thread uint3 blockIdx __attribute__((unused));
// uint3 rather than dim3, since constructing an object takes its address. No header may take it either: copying one of these whole, as
// in dim3(blockDim), is enough to keep loops over threads from being vectorised (tests/cpu/vectorises.sh).
static __thread uint3 blockDim __attribute__((unused));
static __thread uint3 gridDim __attribute__((unused));
static constexpr int warpSize __attribute__((unused)) = KFCPU_WARP;

namespace kfcpu
{

static __thread uint3 next_index;       // the next thread to start: its index in the block …
static __thread unsigned next_thread;   // … and its number
static __thread unsigned thread_number; // linear number of the current thread in its block

// Runs OPERATION, which may run other threads meanwhile, and restores what belongs to this one.
template <class Operation> static inline auto switching(Operation operation)
{
    uint3 index = threadIdx;
    unsigned number = thread_number;
    struct restore {
        uint3 index;
        unsigned number;
        inline ~restore()
        {
            threadIdx.x = index.x, threadIdx.y = index.y, threadIdx.z = index.z;
            thread_number = number;
        }
    } restored{index, number};
    return operation(number);
}

static inline void *dynamic_shared()
{
    return kfcpu_self->dynamic_shared;
}

} // namespace kfcpu
