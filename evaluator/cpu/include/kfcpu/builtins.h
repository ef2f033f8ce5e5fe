// threadIdx and the other built-in variables.
//
// They are variables of the candidate's own translation unit, without external linkage. Only the
// candidate can take their address. So the compiler knows that no store through a pointer changes
// them. It keeps them in registers in the loop over the threads of a block. Only calls that may run
// another thread (barriers, warp operations) restore them.
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
// There is one worker. Plain objects get redzones, thread-local ones do not.
#define __shared__ static
#else
#define __shared__ static thread_local
#endif
#define __forceinline__ __inline__ __attribute__((always_inline))
// The rewriter replaces __noinline__ by __attribute__((noinline)), because a macro of that name
// breaks the C++ library.
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
// uint3 rather than dim3, because constructing an object takes its address. Headers must not take
// it either: a copy of a whole variable, as in dim3(blockDim), stops the vectorisation of loops
// over threads (tests/cpu/vectorises.sh).
static __thread uint3 blockDim __attribute__((unused));
static __thread uint3 gridDim __attribute__((unused));
static constexpr int warpSize __attribute__((unused)) = KFCPU_WARP;

namespace kfcpu
{

static __thread uint3 next_index;       // the index of the next thread to start
static __thread unsigned next_thread;   // the number of the next thread to start
static __thread unsigned thread_number; // linear number of the current thread in its block

#ifdef KFCPU_LEAVES
// Calls a function of the runtime that leaves the fiber and saves no register
// (runtime/exec_switch.S). The base pointer cannot be named as changed, so it is saved here. That
// this writes below the stack pointer cannot be named either, so candidates are compiled with
// -mno-red-zone.
#ifdef __AVX512F__
#define KFCPU_MORE_REGISTERS                                                                      \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",   \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", \
        "k6", "k7"
#else
#define KFCPU_MORE_REGISTERS
#endif
#define KFCPU_LEAVE(function, argument)                                                           \
    __asm__ volatile("push %%rbp\n\tcall *" #function "@GOTPCREL(%%rip)\n\tpop %%rbp"             \
                     : "+D"(argument)                                                             \
                     :                                                                            \
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", \
                       "r14", "r15", "cc", "memory", "st", "st(1)", "st(2)", "st(3)", "st(4)",    \
                       "st(5)", "st(6)", "st(7)", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", \
                       "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",        \
                       "xmm14", "xmm15" KFCPU_MORE_REGISTERS)
#endif

// A thread's arrival at a barrier, and the end of the loop over threads: see exec.h.
static inline void pass(unsigned thread)
{
#ifdef KFCPU_LEAVES
    KFCPU_LEAVE(kfcpu_pass, thread);
#else
    kfcpu_barrier(thread);
#endif
}
static inline void rest()
{
#ifdef KFCPU_LEAVES
    unsigned nothing = 0;
    KFCPU_LEAVE(kfcpu_rest, nothing);
#else
    kfcpu_threads_done();
#endif
}

// Runs OPERATION, which may run other threads, and restores the built-in variables of this thread.
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
