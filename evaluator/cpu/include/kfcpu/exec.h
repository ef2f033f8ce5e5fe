// The execution core's interface, for the headers that a candidate is compiled with, the host API and the program that loads
// candidates. C and C++. Every function is exported by libkfcpu.so; values returned as int are cudaError_t values.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define KFCPU_WARP 32
#define KFCPU_MAX_THREADS 1024 // threads of a block

struct CUstream_st;

// One launch, in C. `kernel` is the text shown in messages; it must outlive the launch (a string literal).
struct kfcpu_geometry {
    uint32_t grid[3], block[3];
    size_t dynamic_shared; // bytes
    struct CUstream_st *stream;
    int cooperative;
    const char *kernel;
};

// Runs the threads of the current block that have not started yet: the kernel's body inlined into a loop over threads.
typedef void (*kfcpu_loop)(void *closure);

// Starts the worker threads (one a CPU of the affinity mask, the launching thread being one of them). Idempotent; the first
// launch does it too. The program that loads candidates calls it first, so that the number of threads is known from then on.
void kfcpu_start(void);

// A launch follows soon: brings the calling thread to a processor that no other worker runs on.
void kfcpu_ready(void);

// Workers, counting the thread that launches: what the host API reports as the number of multiprocessors.
int kfcpu_thread_count(void);

// Blocks of `threads` threads and `shared` bytes that one multiprocessor holds at a time, by the limits of kfcpu_limits.
int kfcpu_blocks_per_sm(int threads, size_t shared);
struct kfcpu_limits {
    int threads_per_block, threads_per_sm, blocks_per_sm;
    size_t shared_per_block, shared_per_block_optin, shared_per_sm;
    uint32_t grid[3], block[3]; // largest extents
};
extern const struct kfcpu_limits kfcpu_limits;

// Runs the whole grid now, on the workers and the calling thread; `closure` is passed to every call of `loop`. Launches from
// several host threads take turns. Returns a cudaError_t: 0, invalid configuration (9), cooperative launch too large (720),
// launch failure (719: deadlock, trap), assert (710). A text for the last one that failed is in kfcpu_last_fault().
int kfcpu_execute(const struct kfcpu_geometry *geometry, kfcpu_loop loop, void *closure);

// What was wrong with the last failed launch of this process: kernel, block, thread, what they waited for. Never null; "" if
// nothing failed. Valid until the next launch fails.
const char *kfcpu_last_fault(void);

// ---- Inside a kernel --------------------------------------------------------------------------------------------------------------
// `thread` is always the linear number of the calling thread in its block. The inline wrappers of device.h keep threadIdx over
// calls that may run other threads; nothing else calls these.

enum kfcpu_warp_op {
    KFCPU_SYNC,
    KFCPU_SHUFFLE,
    KFCPU_BALLOT,
    KFCPU_MATCH_ANY,
    KFCPU_MATCH_ALL,
    KFCPU_ADD,
    KFCPU_MIN_SIGNED,
    KFCPU_MIN_UNSIGNED,
    KFCPU_MAX_SIGNED,
    KFCPU_MAX_UNSIGNED,
    KFCPU_BITS_AND,
    KFCPU_BITS_OR,
    KFCPU_BITS_XOR,
};

void kfcpu_threads_done(void);       // from the loop over threads: none is left; returns when there are some to start again
void kfcpu_barrier(uint32_t thread); // __syncthreads
// The same two for inline assembly, which has to say that no register but the stack pointer survives: see KFCPU_LEAVE.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define KFCPU_LEAVES 1
void kfcpu_pass(void);
void kfcpu_rest(void);
#endif
int kfcpu_barrier_count(uint32_t thread, int predicate, uint32_t *arrived); // true predicates; *arrived: threads that voted
void kfcpu_grid_barrier(uint32_t thread);                                   // all threads of a cooperative launch
int kfcpu_is_cooperative(void);
// Waits until all live lanes of `mask` called with the same op and mask. SHUFFLE: the value of lane `lane` (own value if that
// lane takes no part); BALLOT: lanes whose value is not 0; MATCH_*: lanes with the same value (ALL: 0 if they differ);
// ADD and the others: over the values, as 32 bits.
uint64_t kfcpu_warp(uint32_t thread, uint32_t mask, int op, uint64_t value, uint32_t lane);
uint32_t kfcpu_active_mask(uint32_t thread); // lanes that reach this call before any other wait or exit
void kfcpu_yield(uint32_t thread);           // lets the other threads of the block run
void kfcpu_trap(uint32_t thread, int error, const char *text) __attribute__((noreturn, cold)); // ends the launch
int kfcpu_in_kernel(void);

// The part of a worker that inline code reads. On a thread that runs no kernel it is a record of zeros.
struct kfcpu_view {
    uint32_t fresh; // the loop is called for a new block: it must read the geometry and start with thread 0
    uint32_t spin;  // atomics, fences and naps since the last yield, weighted
    uint32_t block[3];
    const struct kfcpu_geometry *geometry;
    void *dynamic_shared;
    size_t dynamic_size;
};
extern __thread struct kfcpu_view *kfcpu_self __attribute__((tls_model("initial-exec")));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
