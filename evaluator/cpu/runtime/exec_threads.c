// Runs the threads of a block.
//
// A block runs on one operating-system thread, and its CUDA threads are no operating-system
// threads. The kernel's body is inlined into a loop over threads (launch.h, run_threads), which
// starts on a fiber. Thread 0, thread 1, … run one after the other, at the cost of a loop. A thread
// that has to wait for others (barrier, warp operation) keeps its fiber, and a fresh fiber
// continues the loop with the next thread. Once all threads have started, one fiber switches
// directly to another, in the order of the thread numbers. No scheduler and no system call is
// involved.
//
// The end of a thread makes no call: its fiber just starts the next thread. The runtime can still
// derive it. Threads start in order, every call names the calling thread, and only one thread runs
// at a time. So a thread that has started, is not the caller and does not wait has ended. A barrier
// is complete when no thread can continue and no thread is left to start: all live threads wait,
// and ended threads do not count. If nothing can be released then, the block is deadlocked and the
// launch fails.
//
// Most kernels wait only at barriers, with all threads. Once all threads of a block stand at one
// barrier, the block runs in rounds: thread 0, 1, 2, … each run to their next barrier. The number
// of the running thread then describes the whole state, and the masks are empty. Before a thread
// does anything else (a warp operation, its end), leave_round writes the state into the masks.
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include "exec_internal.h"
#include "exec_offsets.h"

_Static_assert(offsetof(struct worker, round) == WORKER_ROUND &&
                   offsetof(struct worker, last) == WORKER_LAST &&
                   offsetof(struct worker, sp) == WORKER_SP,
               "exec_offsets.h");

static struct kfcpu_view no_view;
__thread struct kfcpu_view *kfcpu_self = &no_view;

int kfcpu_in_kernel(void)
{
    return kfcpu_self != &no_view;
}

// ---- The next thread ---------------------------------------------------------------------------

static inline void make_ready(struct worker *worker, uint32_t warp, uint32_t lanes)
{
    worker->ready[warp] |= lanes;
    worker->ready_warps |= 1u << warp;
}

static inline void clear_ready(struct worker *worker, uint32_t warp, uint32_t lane)
{
    worker->ready[warp] &= ~(1u << lane);
    if (!worker->ready[warp]) worker->ready_warps &= ~(1u << warp);
}

static inline uint32_t above(uint32_t bit)
{
    return ~((2u << bit) - 1);
}

static inline int take_lane(struct worker *worker, uint32_t warp, uint32_t lanes)
{
    uint32_t lane = __builtin_ctz(lanes);
    clear_ready(worker, warp, lane);
    return warp * KFCPU_WARP + lane;
}

// Returns the next ready thread after THREAD, first in its own warp, -1 without one.
static inline int next_ready(struct worker *worker, uint32_t thread)
{
    uint32_t warp = thread / KFCPU_WARP, lanes = worker->ready[warp];
    if (lanes) {
        uint32_t later = lanes & above(thread % KFCPU_WARP);
        return take_lane(worker, warp, later ? later : lanes);
    }
    if (worker->ready_warps) {
        uint32_t later = worker->ready_warps & above(warp);
        warp = __builtin_ctz(later ? later : worker->ready_warps);
        return take_lane(worker, warp, worker->ready[warp]);
    }
    return -1;
}

// Does the same in strict order of thread numbers, so that two lanes that take turns starve no
// thread.
static int next_in_turn(struct worker *worker, uint32_t thread)
{
    uint32_t warp = thread / KFCPU_WARP, lanes = worker->ready[warp] & above(thread % KFCPU_WARP);
    if (lanes) return take_lane(worker, warp, lanes);
    if (!worker->ready_warps) return -1;
    uint32_t later = worker->ready_warps & above(warp);
    warp = __builtin_ctz(later ? later : worker->ready_warps);
    return take_lane(worker, warp, worker->ready[warp]);
}

// ---- Warp operations ---------------------------------------------------------------------------

static inline uint32_t started_lanes(const struct worker *worker, uint32_t warp)
{
    uint32_t first = warp * KFCPU_WARP;
    if (worker->started <= first) return 0;
    return worker->started - first >= KFCPU_WARP ? ~0u : (1u << (worker->started - first)) - 1;
}

static inline uint32_t warp_lanes(const struct worker *worker, uint32_t warp)
{
    uint32_t rest = worker->threads - warp * KFCPU_WARP;
    return rest >= KFCPU_WARP ? ~0u : (1u << rest) - 1;
}

static inline uint32_t alive_waiting(const struct worker *worker, uint32_t warp)
{
    return worker->ready[warp] | worker->at_barrier[warp] | worker->at_grid[warp] |
           worker->in_op[warp] | worker->in_active[warp];
}

#define EACH_LANE(lane, lanes)                                                      \
    for (uint32_t left_ = (lanes), lane; left_ && (lane = __builtin_ctz(left_), 1); \
         left_ &= left_ - 1)

static uint32_t reduce(int op, uint32_t a, uint32_t b)
{
    switch (op) {
    case KFCPU_ADD: return a + b;
    case KFCPU_MIN_SIGNED: return (int32_t)a < (int32_t)b ? a : b;
    case KFCPU_MAX_SIGNED: return (int32_t)a > (int32_t)b ? a : b;
    case KFCPU_MIN_UNSIGNED: return a < b ? a : b;
    case KFCPU_MAX_UNSIGNED: return a > b ? a : b;
    case KFCPU_BITS_AND: return a & b;
    case KFCPU_BITS_OR: return a | b;
    default: return a ^ b;
    }
}

// Computes the results of a complete group. They are stored by lane, because a lane may begin its
// next operation before the last lane has read its result.
static void compute(struct worker *worker, uint32_t warp, uint32_t group)
{
    uint32_t base = warp * KFCPU_WARP, first = __builtin_ctz(group);
    uint64_t *result = worker->result + base, common = 0;
    const uint64_t *value = worker->value + base;
    int op = worker->op[base + first];
    switch (op) {
    case KFCPU_SYNC: return;
    case KFCPU_SHUFFLE:
        EACH_LANE(lane, group)
        {
            uint32_t source = worker->lane[base + lane] % KFCPU_WARP;
            result[lane] = value[group >> source & 1 ? source : lane];
        }
        return;
    case KFCPU_MATCH_ANY:
        EACH_LANE(lane, group)
        {
            uint32_t same = 0;
            for (uint32_t other = 0; other < KFCPU_WARP; other++)
                same |= (uint32_t)(value[other] == value[lane]) << other;
            result[lane] = same & group;
        }
        return;
    case KFCPU_BALLOT: EACH_LANE(lane, group) common |= (uint64_t)(value[lane] != 0) << lane; break;
    case KFCPU_MATCH_ALL:
        common = group;
        EACH_LANE(lane, group) if (value[lane] != value[first]) common = 0;
        break;
    default:
        common = value[first];
        EACH_LANE(lane, group & (group - 1)) common = reduce(op, common, value[lane]);
    }
    EACH_LANE(lane, group) result[lane] = common;
}

// Returns the waiting lanes of a warp with the same operation and mask as THREAD.
static uint32_t group_of(const struct worker *worker, uint32_t thread)
{
    uint32_t warp = thread / KFCPU_WARP, base = warp * KFCPU_WARP, group = 0;
    EACH_LANE(lane, worker->in_op[warp] & worker->mask[thread])
    group |= (uint32_t)(worker->mask[base + lane] == worker->mask[thread] &&
                        worker->op[base + lane] == worker->op[thread])
             << lane;
    return group;
}

static void leave_op(struct worker *worker, uint32_t warp, uint32_t lanes)
{
    worker->in_op[warp] &= ~lanes;
    worker->in_active[warp] &= ~lanes;
    if (!(worker->in_op[warp] | worker->in_active[warp])) worker->waiting_warps &= ~(1u << warp);
}

// Releases lanes that wait for lanes which have ended or cannot continue. Called when no thread is
// ready.
static bool complete_left_over(struct worker *worker)
{
    bool progress = false;
    for (uint32_t warps = worker->waiting_warps; warps; warps &= warps - 1) {
        uint32_t warp = __builtin_ctz(warps), base = warp * KFCPU_WARP,
                 active = worker->in_active[warp];
        if (started_lanes(worker, warp) != warp_lanes(worker, warp)) continue;
        if (active) {
            EACH_LANE(lane, active) worker->result[base + lane] = active;
            leave_op(worker, warp, active);
            make_ready(worker, warp, active);
            progress = true;
            continue;
        }
        uint32_t alive = alive_waiting(worker, warp);
        for (uint32_t left = worker->in_op[warp]; left;) {
            uint32_t thread = base + __builtin_ctz(left), group = group_of(worker, thread);
            left &= ~group & ~(1u << thread % KFCPU_WARP);
            if ((worker->mask[thread] & alive & ~group) == 0 && group) {
                compute(worker, warp, group);
                leave_op(worker, warp, group);
                make_ready(worker, warp, group);
                progress = true;
            }
        }
    }
    return progress;
}

// ---- Barriers ----------------------------------------------------------------------------------

static const char *where(const struct worker *worker, uint32_t warp, uint32_t lane)
{
    uint32_t bit = 1u << lane;
    if (worker->at_barrier[warp] & bit) return "__syncthreads";
    if (worker->at_grid[warp] & bit) return "a grid-wide barrier";
    static const char *const names[] = {"__syncwarp", "a warp shuffle", "a warp vote",
                                        "__match_any_sync", "__match_all_sync"};
    int op = worker->op[warp * KFCPU_WARP + lane];
    return op < (int)(sizeof names / sizeof *names) ? names[op] : "a warp reduction";
}

// Fails the launch because no thread can continue. The message says where the threads wait.
static void deadlock(struct worker *worker)
{
    uint32_t barrier = 0, grid = 0, op = 0, first = ~0u;
    const char *text = "";
    for (uint32_t warp = 0; warp * KFCPU_WARP < worker->threads; warp++) {
        barrier += __builtin_popcount(worker->at_barrier[warp]);
        grid += __builtin_popcount(worker->at_grid[warp]);
        op += __builtin_popcount(worker->in_op[warp]);
        if (worker->in_op[warp] && first == ~0u) {
            first = warp * KFCPU_WARP + __builtin_ctz(worker->in_op[warp]);
            text = where(worker, warp, __builtin_ctz(worker->in_op[warp]));
        }
    }
    if (first != ~0u)
        kfcpu_fault(
            worker, first, 719,
            "deadlock: this thread waits in %s with mask 0x%08x for lanes that never arrive "
            "(threads waiting: %u at __syncthreads, %u in warp operations, %u at a grid-wide "
            "barrier)",
            text, worker->mask[first], barrier, op, grid);
    else
        kfcpu_fault(worker, 0, 719,
                    "deadlock: %u threads wait at __syncthreads and %u at a grid-wide barrier",
                    barrier, grid);
}

static inline void count_votes(struct worker *worker)
{
    worker->last_votes = worker->votes;
    worker->last_voters = worker->voters;
    worker->votes = worker->voters = 0;
}

// Releases the barrier at which all live threads wait, once no thread is left to start. False: the
// threads wait somewhere else.
static bool release_barrier(struct worker *worker)
{
    uint32_t op = 0, grid = 0, barrier = 0, warps = (worker->threads + KFCPU_WARP - 1) / KFCPU_WARP;
    for (uint32_t warp = 0; warp < warps; warp++) {
        op |= worker->in_op[warp];
        grid |= worker->at_grid[warp];
        barrier |= worker->at_barrier[warp];
    }
    if (op || !(grid | barrier) || (grid && barrier)) return false;
    if (grid) kfcpu_grid_wait(worker->launch);
    uint32_t *from = grid ? worker->at_grid : worker->at_barrier, ready_warps = 0;
    for (uint32_t warp = 0; warp < warps; warp++) {
        worker->ready[warp] = from[warp];
        ready_warps |= (uint32_t)(from[warp] != 0) << warp;
        from[warp] = 0;
    }
    worker->ready_warps = ready_warps;
    count_votes(worker);
    return true;
}

// Begins a round with thread 0 if all threads of the block wait at __syncthreads. False: they do
// not.
static bool begin_round(struct worker *worker)
{
    uint32_t warps = (worker->threads + KFCPU_WARP - 1) / KFCPU_WARP;
    if (worker->threads == 1) return false; // a round needs a second thread to switch to
    for (uint32_t warp = 0; warp < warps; warp++)
        if (worker->at_barrier[warp] != warp_lanes(worker, warp)) return false;
    memset(worker->at_barrier, 0, warps * sizeof *worker->at_barrier);
    count_votes(worker);
    worker->round = 1;
    return true;
}

// Writes the state of a round into the masks: the threads before the running one wait at the
// barrier, and the threads after it are ready.
static __attribute__((noinline)) void write_round(struct worker *worker)
{
    uint32_t running = worker->round - 1;
    worker->round = 0;
    for (uint32_t warp = 0; warp * KFCPU_WARP < worker->threads; warp++) {
        uint32_t first = warp * KFCPU_WARP, lanes = warp_lanes(worker, warp);
        uint32_t before = running <= first                ? 0
                          : running - first >= KFCPU_WARP ? ~0u
                                                          : (1u << (running - first)) - 1;
        uint32_t here = running / KFCPU_WARP == warp ? 1u << running % KFCPU_WARP : 0;
        worker->at_barrier[warp] = before & lanes;
        uint32_t after = lanes & ~before & ~here;
        if (after) make_ready(worker, warp, after);
    }
}

static inline void leave_round(struct worker *worker)
{
    if (worker->round) write_round(worker);
}

// ---- Waiting -----------------------------------------------------------------------------------

// Switches from THREAD's fiber to the fiber of NEXT, which waits too. The normal build leaves only
// registers on the stack, because 256 suspended threads should occupy few cache lines.
static inline void switch_threads(struct worker *worker, uint32_t thread, uint32_t next)
{
#ifdef __SANITIZE_ADDRESS__
    worker->of[thread] = worker->current;
    kfcpu_fiber_jump(worker, &worker->sp[thread], worker->of[next], worker->sp[next]);
#else
    // Usually the thread after NEXT follows. Its stack is prefetched while NEXT runs.
    const char *soon = worker->sp[next + 1];
    __builtin_prefetch(soon);
    __builtin_prefetch(soon + 64);
    __builtin_prefetch(soon + 128);
    kfcpu_switch(&worker->sp[thread], worker->sp[next]);
#endif
}

// Takes a parked fiber for a thread that starts while THREAD waits.
static inline void *take_fresh(struct worker *worker, uint32_t thread)
{
    void *sp = kfcpu_take_parked(worker, thread);
    worker->suspended++;
    return sp;
}

// Switches from THREAD's fiber to a fresh one, which starts the next thread.
static inline void switch_to_fresh(struct worker *worker, uint32_t thread)
{
    void *sp = take_fresh(worker, thread);
#ifdef __SANITIZE_ADDRESS__
    worker->of[thread] = worker->current;
    kfcpu_fiber_jump(worker, &worker->sp[thread], worker->parked[worker->parked_count], sp);
#else
    kfcpu_switch(&worker->sp[thread], sp);
#endif
}

// Parks the running fiber and continues another one at SP.
static inline void park_and_switch(struct worker *worker, struct fiber *to, void *sp)
{
    uint32_t place = worker->parked_count++;
#ifdef __SANITIZE_ADDRESS__
    worker->parked[place] = worker->current;
    kfcpu_fiber_jump(worker, &worker->parked_sp[place], to, sp);
#else
    (void)to;
    kfcpu_switch(&worker->parked_sp[place], sp);
#endif
}

enum { FRESH = -1 }; // no waiting thread: one that has not started

// Returns the thread that continues. THREAD has entered one of the waiting masks, and no thread was
// ready. Returns THREAD itself once it is released.
static __attribute__((noinline)) int choose_slowly(struct worker *worker, uint32_t thread)
{
    uint32_t warp = thread / KFCPU_WARP, lane = thread % KFCPU_WARP;
    for (;;) {
        // Lanes may wait for lanes that have ended. That is known only after the whole warp has
        // started.
        if (worker->waiting_warps && worker->started % KFCPU_WARP == 0 &&
            complete_left_over(worker)) {
        } else if (worker->started < worker->threads) {
            return FRESH;
        } else if (!(worker->waiting_warps && complete_left_over(worker))) {
            if (begin_round(worker)) return 0;
            if (!release_barrier(worker)) deadlock(worker);
        }
        if (worker->ready[warp] >> lane & 1) {
            clear_ready(worker, warp, lane);
            return (int)thread;
        }
        int next = next_ready(worker, thread);
        if (next >= 0) return next;
    }
}

static inline int choose(struct worker *worker, uint32_t thread)
{
    int next = next_ready(worker, thread);
    if (next >= 0) return next;
    return worker->started < worker->threads && !worker->waiting_warps
               ? FRESH
               : choose_slowly(worker, thread);
}

// Runs other threads until THREAD, which has entered one of the waiting masks, is released.
static inline void wait_released(struct worker *worker, uint32_t thread)
{
    int next = choose(worker, thread);
    if (next == FRESH)
        switch_to_fresh(worker, thread);
    else if (next != (int)thread)
        switch_threads(worker, thread, (uint32_t)next);
}

static inline void arrive(struct worker *worker, uint32_t thread)
{
    kfcpu_note_started(worker, thread);
    worker->at_barrier[thread / KFCPU_WARP] |= 1u << thread % KFCPU_WARP;
}

void kfcpu_barrier(uint32_t thread)
{
    struct worker *worker = kfcpu_worker();
    uint32_t next = worker->round;
    if (__builtin_expect(next != 0, 1)) {
        if (__builtin_expect(next == worker->threads, 0)) {
            count_votes(worker);
            next = 0;
        }
        worker->round = next + 1;
        switch_threads(worker, thread, next);
        return;
    }
    arrive(worker, thread);
    wait_released(worker, thread);
}

void *kfcpu_choose_at_barrier(uint32_t thread, void *sp)
{
    struct worker *worker = kfcpu_worker();
    worker->sp[thread] = sp;
    if (worker->round) { // THREAD is the last of the round
        count_votes(worker);
        worker->round = 1;
        return worker->sp[0];
    }
    arrive(worker, thread);
    int next = choose(worker, thread);
    return next == FRESH ? take_fresh(worker, thread) : worker->sp[next];
}

int kfcpu_barrier_count(uint32_t thread, int predicate, uint32_t *arrived)
{
    struct worker *worker = kfcpu_worker();
    worker->votes += predicate != 0;
    worker->voters++;
    kfcpu_barrier(thread);
    *arrived = worker->last_voters;
    return (int)worker->last_votes;
}

void kfcpu_grid_barrier(uint32_t thread)
{
    struct worker *worker = kfcpu_worker();
    leave_round(worker);
    kfcpu_note_started(worker, thread);
    if (!worker->launch->config->cooperative)
        kfcpu_fault(
            worker, thread, 719,
            "grid-wide barrier in a kernel that was not launched with cudaLaunchCooperativeKernel");
    worker->at_grid[thread / KFCPU_WARP] |= 1u << thread % KFCPU_WARP;
    wait_released(worker, thread);
}

int kfcpu_is_cooperative(void)
{
    return kfcpu_in_kernel() && kfcpu_worker()->launch->config->cooperative;
}

uint64_t kfcpu_warp(uint32_t thread, uint32_t mask, int op, uint64_t value, uint32_t lane)
{
    struct worker *worker = kfcpu_worker();
    uint32_t warp = thread / KFCPU_WARP, bit = 1u << thread % KFCPU_WARP;
    leave_round(worker);
    kfcpu_note_started(worker, thread);
    if (!(mask & bit))
        kfcpu_fault(worker, thread, 719,
                    "the mask 0x%08x of a warp operation does not name the calling lane %u", mask,
                    thread % KFCPU_WARP);
    mask &= warp_lanes(worker, warp);
    worker->value[thread] = value;
    worker->mask[thread] = mask;
    worker->op[thread] = (uint8_t)op;
    worker->lane[thread] = (uint8_t)lane;
    worker->in_op[warp] |= bit;
    // Lanes that have not started are missing. Lanes that have started but do not wait have ended.
    uint32_t missing =
        mask & ~(started_lanes(worker, warp) & ~alive_waiting(worker, warp)) & ~worker->in_op[warp];
    if (!missing) {
        uint32_t group = group_of(worker, thread);
        if ((mask & worker->in_op[warp] & ~group) == 0) {
            compute(worker, warp, group);
            worker->in_op[warp] &= ~group;
            if (!(worker->in_op[warp] | worker->in_active[warp]))
                worker->waiting_warps &= ~(1u << warp);
            if (group & ~bit) make_ready(worker, warp, group & ~bit);
            return worker->result[thread];
        }
    }
    worker->waiting_warps |= 1u << warp;
    wait_released(worker, thread);
    return worker->result[thread];
}

uint32_t kfcpu_active_mask(uint32_t thread)
{
    struct worker *worker = kfcpu_worker();
    leave_round(worker);
    uint32_t warp = thread / KFCPU_WARP;
    kfcpu_note_started(worker, thread);
    worker->in_active[warp] |= 1u << thread % KFCPU_WARP;
    worker->waiting_warps |= 1u << warp;
    wait_released(worker, thread);
    return (uint32_t)worker->result[thread];
}

// Lets other threads run, because THREAD seems to spin until one of them acts. Threads that have
// not started come first, then the others in turn.
void kfcpu_yield(uint32_t thread)
{
    if (!kfcpu_in_kernel()) return;
    struct worker *worker = kfcpu_worker();
    uint32_t warp = thread / KFCPU_WARP, lane = thread % KFCPU_WARP;
    worker->view.spin = 0;
    leave_round(worker);
    kfcpu_note_started(worker, thread);
    if (atomic_load_explicit(&worker->launch->error, memory_order_relaxed))
        kfcpu_fault(worker, thread, 719, "stopped because another block failed");
    if (worker->started < worker->threads) {
        make_ready(worker, warp, 1u << lane);
        switch_to_fresh(worker, thread);
        return;
    }
    if (!worker->ready_warps && worker->waiting_warps) complete_left_over(worker);
    if (!worker->ready_warps) {
        sched_yield(); // the thread can only wait for another block
        return;
    }
    make_ready(worker, warp, 1u << lane);
    uint32_t next = (uint32_t)next_in_turn(worker, thread);
    if (next != thread) switch_threads(worker, thread, next);
}

// ---- The end of threads ------------------------------------------------------------------------

// Returns a thread to continue once all threads of the block have started, -1 when all have ended.
static int remaining(struct worker *worker)
{
    for (;;) {
        int next = next_ready(worker, worker->threads - 1);
        if (next >= 0 || !worker->suspended) return next;
        if (!(worker->waiting_warps && complete_left_over(worker)) && !release_barrier(worker))
            deadlock(worker);
    }
}

// Lets the suspended threads finish once all threads of the block have started, then begins the
// next block. Returns when there are threads to start, of this block or (view.fresh) of the next
// one. While other threads run, the fiber is parked here, directly below the loop over threads.
void kfcpu_threads_done(void)
{
    struct worker *worker = kfcpu_worker();
    leave_round(worker);
    worker->started = worker->threads;
    int next = remaining(worker);
    if (next >= 0) {
        worker->suspended--;
        park_and_switch(worker, worker->of[next], worker->sp[next]);
    } else if (!kfcpu_next_block(worker)) {
        // This call never returns: the launch is over.
        park_and_switch(worker, &worker->native, worker->native.sp);
    }
}

void *kfcpu_choose_at_end(void *sp)
{
    struct worker *worker = kfcpu_worker();
    leave_round(worker);
    worker->started = worker->threads;
    int next = remaining(worker);
    if (next < 0 && kfcpu_next_block(worker)) return sp;
    worker->parked_sp[worker->parked_count++] = sp;
    if (next < 0) return worker->native.sp;
    worker->suspended--;
    return worker->sp[next];
}

void kfcpu_fiber_main(struct worker *worker)
{
    kfcpu_fiber_arrived(NULL);
    for (;;) {
        worker->launch->loop(worker->launch->closure);
        kfcpu_threads_done();
    }
}
