// The execution core from inside. See exec_threads.c for how the threads of a block run, exec_block.c for one block after
// the other, exec_pool.c for how blocks are handed out.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "kfcpu/exec.h"

#define WARPS (KFCPU_MAX_THREADS / KFCPU_WARP)

// A stack. Parked, it waits in kfcpu_threads_done (or has not run yet) for threads to start.
struct fiber {
    void *sp;     // of the native stack only
    char *bottom; // lowest usable address; a guard page lies below
    size_t size;
    unsigned color; // which offset from the top of the stack it starts at
};

// One grid being executed.
struct launch {
    const struct kfcpu_geometry *config;
    kfcpu_loop loop;
    void *closure;
    uint64_t blocks;
    uint64_t chunk;             // blocks handed out at a time
    _Atomic uint64_t next;      // first block not handed out
    _Atomic int error;          // the first failure; no new block starts then
    pthread_mutex_t grid_mutex; // cooperative launches: the barrier between blocks
    pthread_cond_t grid_released;
    uint32_t grid_live, grid_arrived, grid_round;
};

// One operating-system thread that runs blocks, one after the other. All masks hold one bit a lane, one word a warp.
struct worker {
    struct kfcpu_view view;
    uint32_t round; // in a round of barriers: one more than the running thread; 0: not in one
    uint32_t last;  // threads - 1
    struct launch *launch;
    void *sp[KFCPU_MAX_THREADS + 2];     // of suspended threads; two more, since kfcpu_pass looks ahead
    uint64_t block, block_end;           // linear number of the current block; end of the blocks handed out to this worker
    uint32_t threads;                    // of a block
    uint32_t started;                    // threads of the block that have begun, as far as the runtime knows
    uint32_t suspended;                  // threads whose fiber waits in `sp`
    uint32_t ready_warps, waiting_warps; // warps with a bit in ready; in in_op or in_active
    uint32_t ready[WARPS];               // may go on
    uint32_t at_barrier[WARPS];          // wait at __syncthreads or one of its kind
    uint32_t at_grid[WARPS];             // wait for all blocks of a cooperative launch
    uint32_t in_op[WARPS];               // wait for lanes of their warp
    uint32_t in_active[WARPS];           // wait until their warp can't go on, to know who is there
    uint32_t votes, voters;              // of the barrier that gathers
    uint32_t last_votes, last_voters;    // of the barrier that was released last
    bool failed;                         // the current block was given up
    uint64_t value[KFCPU_MAX_THREADS], result[KFCPU_MAX_THREADS]; // of warp operations, by thread
    uint32_t mask[KFCPU_MAX_THREADS];
    uint8_t op[KFCPU_MAX_THREADS], lane[KFCPU_MAX_THREADS];
    struct fiber *of[KFCPU_MAX_THREADS]; // the fiber of a suspended thread; only the sanitized build needs it
    struct fiber *current;
    struct fiber native;   // the stack that the worker itself came on
    struct fiber **fibers; // all of them
    struct fiber **parked; // the last parked is taken first; only the sanitized build keeps track of which is which
    void **parked_sp;
    uint32_t parked_count, fiber_count, fiber_capacity;
    uint32_t parked_low; // those from here up have been used since kfcpu_fibers_renew
    void *shared;        // dynamic shared memory, reused from block to block
    size_t shared_size;
    // How the pool wakes it.
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
bool kfcpu_fibers_add(struct worker *worker); // parks some more; false: no memory
void kfcpu_fiber_jump(struct worker *worker, void **save, struct fiber *to, void *sp);
void kfcpu_fiber_arrived(void *fake);
void kfcpu_fibers_renew(struct worker *worker); // all are parked: what the used ones have on their stacks is not needed any more
void kfcpu_fibers_reset(struct worker *worker); // parks all of them afresh, whatever was on them
void kfcpu_fibers_free(struct worker *worker);
void kfcpu_native_bounds(struct fiber *fiber);

// exec_threads.c
// For kfcpu_pass and kfcpu_rest: the caller's fiber was left at SP. What to go on with, SP itself if nobody else has to run first.
void *kfcpu_choose_at_barrier(uint32_t thread, void *sp);
void *kfcpu_choose_at_end(void *sp);

// exec_block.c
bool kfcpu_next_block(struct worker *worker);                        // begins the one after the current; false: the launch is over
void kfcpu_run_blocks(struct worker *worker, struct launch *launch); // until the launch has none left
void kfcpu_fault(struct worker *worker, uint32_t thread, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
#ifndef __SANITIZE_ADDRESS__ // which would forget the marks of the stack that it takes a fiber's for
void kfcpu_fault(struct worker *worker, uint32_t thread, int error, const char *format, ...) __attribute__((noreturn));
#endif

// exec_pool.c
bool kfcpu_take_blocks(struct worker *worker); // more for the worker, into block and block_end
void kfcpu_record_fault(struct launch *launch, int error, const char *text);

// exec_grid.c
void kfcpu_grid_wait(struct launch *launch);  // this block arrives; returns when all live ones have, or the launch failed
void kfcpu_grid_leave(struct launch *launch); // this block has ended

// What threads and blocks share on their shortest paths, inlined into both.

// The view is a worker's first member.
static inline struct worker *kfcpu_worker(void)
{
    return (struct worker *)kfcpu_self;
}

static inline void kfcpu_note_started(struct worker *worker, uint32_t thread)
{
    if (thread >= worker->started) worker->started = thread + 1;
}

// Takes a parked fiber, which then has to be switched to.
static inline void *kfcpu_take_parked(struct worker *worker, uint32_t thread)
{
    if (!worker->parked_count && !kfcpu_fibers_add(worker))
        kfcpu_fault(worker, thread, 2, "no memory for the stack of one more waiting thread");
    worker->parked_count--;
    if (worker->parked_count < worker->parked_low) worker->parked_low = worker->parked_count;
    return worker->parked_sp[worker->parked_count];
}
