// The interface of the execution core, for the headers of candidates, the host API and the program
// that loads candidates. C and C++. libkfcpu.so exports every function. A returned int is a
// cudaError_t.
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

// One launch, in C. Messages show the text `kernel`, which must outlive the launch (a string
// literal).
struct kfcpu_geometry {
    uint32_t grid[3], block[3];
    size_t dynamic_shared; // bytes
    struct CUstream_st *stream;
    int cooperative;
    const char *kernel;
};

// Runs the threads of the current block that have not started yet. The kernel's body is inlined
// into a loop over threads.
typedef void (*kfcpu_loop)(void *closure);

// Starts the worker threads: one for each CPU of the affinity mask, including the launching thread.
// Further calls have no effect. The first launch calls it too. The program that loads candidates
// calls it first, so that the number of threads is known from then on.
void kfcpu_start(void);

// Moves the calling thread to a processor without another worker, because a launch follows soon.
void kfcpu_ready(void);
// Starts the warps of later launches in falling order, to find results that depend on the order of
// threads. Only for blocks of whole warps. 0: rising order, 1: falling, 2: falling, but the last
// warp stays last. A worker goes on with that one after the first barrier, so the order is falling
// there.
void kfcpu_reverse(int order);

// Returns the number of workers, including the launching thread. The host API reports it as the
// number of multiprocessors.
int kfcpu_thread_count(void);

// Returns how many blocks of `threads` threads and `shared` bytes fit into one multiprocessor at a
// time, by the limits in kfcpu_limits.
int kfcpu_blocks_per_sm(int threads, size_t shared);
struct kfcpu_limits {
    int threads_per_block, threads_per_sm, blocks_per_sm;
    size_t shared_per_block, shared_per_block_optin, shared_per_sm;
    uint32_t grid[3], block[3]; // largest extents
};
extern const struct kfcpu_limits kfcpu_limits;

// Runs the whole grid on the workers and the calling thread. Passes `closure` to every call of
// `loop`. Launches from several host threads take turns. Returns a cudaError_t: 0, invalid
// configuration (9), cooperative launch too large (720), launch failure (719: deadlock, trap),
// assert (710). kfcpu_last_fault() describes the last failure.
int kfcpu_execute(const struct kfcpu_geometry *geometry, kfcpu_loop loop, void *closure);

// Describes the last failed launch of this process: kernel, block, thread, reason. Never null, ""
// if that launch failed with another error. Valid until the next launch fails.
const char *kfcpu_last_fault(int error);
// Notes why a launch is refused, with its kernel and geometry. Returns `error`.
int kfcpu_refuse(const struct kfcpu_geometry *geometry, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- Inside a kernel ----
// `thread` is the linear number of the calling thread in its block. Only the inline functions of
// device.h call the functions below. They preserve threadIdx across calls that may run other
// threads.

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

// Called by the loop over threads when no thread is left. Returns when there are threads to start.
void kfcpu_threads_done(void);
void kfcpu_barrier(uint32_t thread); // __syncthreads
// The same two functions for inline assembly. It has to say that only the stack pointer survives:
// see KFCPU_LEAVE.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define KFCPU_LEAVES 1
void kfcpu_pass(void);
void kfcpu_rest(void);
#endif
// Returns the number of true predicates. *arrived: the number of threads that voted.
int kfcpu_barrier_count(uint32_t thread, int predicate, uint32_t *arrived);
// For all threads of a cooperative launch.
void kfcpu_grid_barrier(uint32_t thread);
int kfcpu_is_cooperative(void);
// Waits until all live lanes of `mask` have called with the same op and mask. SHUFFLE: the value of
// lane `lane`, or the own value if that lane takes no part. BALLOT: the lanes with a value other
// than 0. MATCH_*: the lanes with the same value (ALL: 0 if values differ). ADD and the others: the
// reduction of the values, as 32 bits.
uint64_t kfcpu_warp(uint32_t thread, uint32_t mask, int op, uint64_t value, uint32_t lane);
// Lanes that reach this call before another wait or their end.
uint32_t kfcpu_active_mask(uint32_t thread);
void kfcpu_yield(uint32_t thread); // lets the other threads of the block run
// Ends the launch.
void kfcpu_trap(uint32_t thread, int error, const char *text) __attribute__((noreturn, cold));
int kfcpu_in_kernel(void);

// The part of a worker that inline code reads. On a thread that runs no kernel, all members are
// zero.
struct kfcpu_view {
    // The loop is called for a new block: it must read the geometry and start with thread 0.
    uint32_t fresh;
    uint32_t spin; // atomics, fences and sleeps since the last yield, weighted
    uint32_t block[3];
    uint32_t reversed; // warps start in falling order (kfcpu_reverse)
    const struct kfcpu_geometry *geometry;
    void *dynamic_shared;
    size_t dynamic_size;
};
extern __thread struct kfcpu_view *kfcpu_self __attribute__((tls_model("initial-exec")));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
