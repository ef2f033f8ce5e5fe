// Runs blocks one after the other on one operating-system thread: chooses the next block, sets up
// its shared memory, and ends it if one of its threads does something that faults on a GPU.
// exec_threads.c runs the threads inside a block.
//
// A worker enters a launch once, on a fiber (kfcpu_run_blocks). It leaves the launch when no block
// is left or a block has failed. The threads of a block end by beginning the next block, which
// saves most of the setup.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exec_internal.h"

// ---- The next block ----------------------------------------------------------------------------

// Computes the index of a block from its number.
static void locate_block(struct worker *worker)
{
    const uint32_t *grid = worker->launch->config->grid;
    uint64_t row = worker->block / grid[0];
    worker->view.block[0] = (uint32_t)(worker->block % grid[0]);
    worker->view.block[1] = (uint32_t)(row % grid[1]);
    worker->view.block[2] = (uint32_t)(row / grid[1]);
}

// Computes the index of the block after the current one, without divisions.
static inline void advance_block(struct worker *worker)
{
    const uint32_t *grid = worker->launch->config->grid;
    uint32_t *index = worker->view.block;
    if (++index[0] < grid[0]) return;
    index[0] = 0;
    if (++index[1] < grid[1]) return;
    index[1] = 0;
    index[2]++;
}

static inline bool begin_block(struct worker *worker)
{
    worker->view.fresh = 1;
    worker->view.spin = 0;
    worker->started = 0;
// With AddressSanitizer each block gets new memory, so that a read of an older block's data is
// found.
#ifdef __SANITIZE_ADDRESS__
    free(worker->shared);
    worker->shared = NULL;
    if (posix_memalign(&worker->shared, 128,
                       worker->view.dynamic_size ? worker->view.dynamic_size : 1)) {
        worker->shared = NULL;
        kfcpu_record_fault(worker->launch, 2, "no memory for dynamic shared memory");
        return false;
    }
    worker->view.dynamic_shared = worker->shared;
#endif
    return true;
}

bool kfcpu_next_block(struct worker *worker)
{
    if (worker->launch->config->cooperative) kfcpu_grid_leave(worker->launch);
    if (atomic_load_explicit(&worker->launch->error, memory_order_relaxed)) return false;
    if (++worker->block < worker->block_end)
        advance_block(worker);
    else if (kfcpu_take_blocks(worker))
        locate_block(worker);
    else
        return false;
    return begin_block(worker);
}

// ---- Faults ------------------------------------------------------------------------------------

// Ends the launch after an error of one thread: drops the block with its fibers and returns to
// kfcpu_run_blocks.
void kfcpu_fault(struct worker *worker, uint32_t thread, int error, const char *format, ...)
{
    char what[320], text[640];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    const struct kfcpu_geometry *config = worker->launch->config;
    uint32_t x = thread % config->block[0], row = thread / config->block[0];
    snprintf(text, sizeof text, "kernel%s%s, block (%u,%u,%u), thread (%u,%u,%u): %s",
             config->kernel ? " " : "", config->kernel ? config->kernel : "", worker->view.block[0],
             worker->view.block[1], worker->view.block[2], x, row % config->block[1],
             row / config->block[1], what);
    kfcpu_record_fault(worker->launch, error, text);
    worker->failed = true;
    void *unused;
    kfcpu_fiber_jump(worker, &unused, &worker->native, worker->native.sp);
    __builtin_unreachable();
}

void kfcpu_trap(uint32_t thread, int error, const char *text)
{
    if (!kfcpu_in_kernel()) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
    struct worker *worker = kfcpu_worker();
    kfcpu_note_started(worker, thread);
    kfcpu_fault(worker, thread, error, "%s", text);
    __builtin_unreachable();
}

// ---- A launch ----------------------------------------------------------------------------------

static void forget_block(struct worker *worker)
{
    kfcpu_fibers_reset(worker);
    worker->suspended = worker->round = worker->ready_warps = worker->waiting_warps =
        worker->votes = worker->voters = 0;
    memset(worker->ready, 0, sizeof worker->ready);
    memset(worker->at_barrier, 0, sizeof worker->at_barrier);
    memset(worker->at_grid, 0, sizeof worker->at_grid);
    memset(worker->in_op, 0, sizeof worker->in_op);
    memset(worker->in_active, 0, sizeof worker->in_active);
    worker->failed = false;
}

static bool prepare_shared(struct worker *worker, size_t size)
{
    worker->view.dynamic_size = size;
#ifndef __SANITIZE_ADDRESS__
    if (size > worker->shared_size || !worker->shared) {
        free(worker->shared);
        worker->shared = NULL;
        worker->shared_size = (size + 4095) / 4096 * 4096 + 4096;
        if (posix_memalign(&worker->shared, 128, worker->shared_size)) {
            worker->shared = NULL;
            return false;
        }
    }
    worker->view.dynamic_shared = worker->shared;
#endif
    return true;
}

static int reversed_order;

void kfcpu_reverse(int order)
{
    reversed_order = order;
}

void kfcpu_run_blocks(struct worker *worker, struct launch *launch)
{
    struct kfcpu_view *outer = kfcpu_self;
    const struct kfcpu_geometry *config = launch->config;
    worker->launch = launch;
    worker->threads = config->block[0] * config->block[1] * config->block[2];
    worker->last = worker->threads - 1;
    worker->view.geometry = config;
    worker->view.reversed = worker->threads % KFCPU_WARP ? 0 : (uint32_t)reversed_order;
    if (!prepare_shared(worker, config->dynamic_shared) ||
        (!worker->parked_count && !kfcpu_fibers_add(worker))) {
        kfcpu_record_fault(launch, 2, "no memory for dynamic shared memory or stacks");
        return;
    }
    if (!kfcpu_take_blocks(worker)) return;
    locate_block(worker);
    if (!begin_block(worker)) return;
    kfcpu_native_bounds(&worker->native);
    kfcpu_self = &worker->view;
    void *sp = kfcpu_take_parked(worker, 0);
    kfcpu_fiber_jump(worker, &worker->native.sp, worker->parked[worker->parked_count], sp);
    if (worker->failed) {
        if (config->cooperative) kfcpu_grid_leave(launch);
        forget_block(worker);
    } else {
        kfcpu_fibers_renew(worker);
    }
    kfcpu_self = outer;
}
