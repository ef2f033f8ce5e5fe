// Declarations inside the execution core. exec_threads.c explains how the threads of a block run,
// exec_block.c how one block follows another, exec_pool.c how workers get blocks.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "kfcpu/exec.h"

#define WARPS (KFCPU_MAX_THREADS / KFCPU_WARP)

// A stack. A parked fiber waits for threads to start: in kfcpu_threads_done, or before its first
// use.
struct fiber {
    void *sp;     // for the native stack only
    char *bottom; // lowest usable address, above a guard page
    size_t size;
    unsigned color; // selects the offset from the top of the stack at which the fiber begins
};

// One launch of a grid.
struct launch {
    const struct kfcpu_geometry *config;
    kfcpu_loop loop;
    void *closure;
    uint64_t blocks;
    uint64_t chunk;             // blocks handed out at a time
    _Atomic uint64_t next;      // first block not handed out
    _Atomic int error;          // the first failure, after which no block starts
    pthread_mutex_t grid_mutex; // for the barrier between the blocks of a cooperative launch
    pthread_cond_t grid_released;
    uint32_t grid_live, grid_arrived, grid_round;
};

// One operating-system thread, which runs blocks one after the other. Masks hold one bit a lane and
// one word a warp.
struct worker {
    struct kfcpu_view view;
    // In a round of barriers: the number of the running thread plus 1. Otherwise 0.
    uint32_t round;
    uint32_t last; // threads - 1
    struct launch *launch;
    // The stack pointers of suspended threads. Two more, because kfcpu_pass reads ahead.
    void *sp[KFCPU_MAX_THREADS + 2];
    // The number of the current block, and the end of the blocks that this worker has taken.
    uint64_t block, block_end;
    uint32_t threads; // threads of a block
    // How many threads of the block have started, as far as the runtime knows.
    uint32_t started;
    // How many threads have their fiber in `sp`.
    uint32_t suspended;
    // Warps with a bit in `ready`, and warps with a bit in `in_op` or `in_active`.
    uint32_t ready_warps, waiting_warps;
    uint32_t ready[WARPS];      // may continue
    uint32_t at_barrier[WARPS]; // wait at __syncthreads or a variant of it
    uint32_t at_grid[WARPS];    // wait for all blocks of a cooperative launch
    uint32_t in_op[WARPS];      // wait for lanes of their warp
    // Wait in __activemask until no other lane of their warp can continue.
    uint32_t in_active[WARPS];
    uint32_t votes, voters;           // at the barrier that threads arrive at now
    uint32_t last_votes, last_voters; // at the barrier that was released last
    bool failed;                      // the current block has ended with an error
    // The operands and results of warp operations, by thread.
    uint64_t value[KFCPU_MAX_THREADS], result[KFCPU_MAX_THREADS];
    uint32_t mask[KFCPU_MAX_THREADS];
    uint8_t op[KFCPU_MAX_THREADS], lane[KFCPU_MAX_THREADS];
    // The fiber of a suspended thread. Only the sanitized build uses it.
    struct fiber *of[KFCPU_MAX_THREADS];
    struct fiber *current;
    struct fiber native;   // the worker's own stack
    struct fiber **fibers; // all fibers
    // The parked fibers, last in, first out. Only the sanitized build keeps this list correct.
    struct fiber **parked;
    void **parked_sp;
    uint32_t parked_count, fiber_count, fiber_capacity;
    // Fibers from this index up have run since kfcpu_fibers_renew.
    uint32_t parked_low;
    void *shared; // dynamic shared memory, reused by each block
    size_t shared_size;
    // The state by which the pool wakes the worker.
    pthread_t thread;
    _Atomic uint32_t state;
    int index;
};

// exec_switch.S
void kfcpu_switch(void **save, void *to);
void kfcpu_resume(void);
void kfcpu_fiber_start(void);
void kfcpu_fiber_main(struct worker *worker) __attribute__((noreturn));

// exec_fiber.c
// Parks some more fibers. False: no memory.
bool kfcpu_fibers_add(struct worker *worker);
void kfcpu_fiber_jump(struct worker *worker, void **save, struct fiber *to, void *sp);
void kfcpu_fiber_arrived(void *fake);
// Prepares the used fibers for the next launch. All fibers are parked, and their stacks hold
// nothing that is needed.
void kfcpu_fibers_renew(struct worker *worker);
// Parks all fibers, whatever their stacks hold.
void kfcpu_fibers_reset(struct worker *worker);
void kfcpu_native_bounds(struct fiber *fiber);

// exec_threads.c
// For kfcpu_pass and kfcpu_rest, which left the caller's fiber at SP. They return the stack pointer
// to continue with, SP itself if no other thread has to run first.
void *kfcpu_choose_at_barrier(uint32_t thread, void *sp);
void *kfcpu_choose_at_end(void *sp);

// exec_block.c
// Begins the block after the current one. False: the launch is over.
bool kfcpu_next_block(struct worker *worker);
// Runs blocks until the launch has no more.
void kfcpu_run_blocks(struct worker *worker, struct launch *launch);
void kfcpu_fault(struct worker *worker, uint32_t thread, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
// Without the attribute for AddressSanitizer: before a call that does not return it clears the
// marks of the current stack, and on a fiber it takes the wrong stack.
#ifndef __SANITIZE_ADDRESS__
void kfcpu_fault(struct worker *worker, uint32_t thread, int error, const char *format, ...)
    __attribute__((noreturn));
#endif

// exec_pool.c
// Takes more blocks for the worker, into `block` and `block_end`. False: there are no more.
bool kfcpu_take_blocks(struct worker *worker);
void kfcpu_record_fault(struct launch *launch, int error, const char *text);

// exec_grid.c
// This block arrives. Returns when all live blocks have arrived, or when the launch failed.
void kfcpu_grid_wait(struct launch *launch);
// This block has ended.
void kfcpu_grid_leave(struct launch *launch);

// Functions that exec_threads.c and exec_block.c inline into their shortest paths.

// Returns the worker of this thread. `view` is the first member of a worker.
static inline struct worker *kfcpu_worker(void)
{
    return (struct worker *)kfcpu_self;
}

static inline void kfcpu_note_started(struct worker *worker, uint32_t thread)
{
    if (thread >= worker->started) worker->started = thread + 1;
}

// Takes a parked fiber. The caller has to switch to it.
static inline void *kfcpu_take_parked(struct worker *worker, uint32_t thread)
{
    if (!worker->parked_count && !kfcpu_fibers_add(worker))
        kfcpu_fault(worker, thread, 2, "no memory for the stack of one more waiting thread");
    worker->parked_count--;
    if (worker->parked_count < worker->parked_low) worker->parked_low = worker->parked_count;
    return worker->parked_sp[worker->parked_count];
}
