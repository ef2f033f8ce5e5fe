// Hands out blocks to operating-system threads.
//
// The launching thread is a worker too, so a small launch wakes no other thread. After a launch the
// others spin briefly, because the next launch often follows at once. Then they sleep on a futex.
// Blocks are handed out in increasing order, several at a time. So a block that spins on an earlier
// one (decoupled look-back) finds it finished or running on another worker.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "exec_internal.h"

enum { IDLE, POSTED, RUNNING, ASLEEP }; // worker.state

const struct kfcpu_limits kfcpu_limits = {
    .threads_per_block = KFCPU_MAX_THREADS,
    .threads_per_sm = 2048,
    .blocks_per_sm = 32,
    .shared_per_block = 48 << 10,
    .shared_per_block_optin = 227 << 10,
    .shared_per_sm = 228 << 10,
    .grid = {INT_MAX, 65535, 65535},
    .block = {1024, 1024, 64},
};

static struct {
    pthread_once_t once;
    pthread_mutex_t turn; // one launch at a time
    int count;            // workers; worker 0 is the launching thread
    // The processors that this process may use, NULL if unknown. Worker i runs on the i-th of them.
    cpu_set_t *processors;
    size_t processors_size;
    struct worker **workers;
    _Atomic(struct launch *) launch;
    _Atomic uint32_t running; // other workers that still work on the launch
    struct worker **together; // workers of cooperative launches, kept for their stacks
    uint32_t together_count;
} pool = {.once = PTHREAD_ONCE_INIT, .turn = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t fault_mutex = PTHREAD_MUTEX_INITIALIZER;
static char fault_text[640];
static int fault_error; // that fault_text explains

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

enum { SPINS = 2000 }; // about 20 to 60 microseconds

// ---- Faults ------------------------------------------------------------------------------------

void kfcpu_record_fault(struct launch *launch, int error, const char *text)
{
    pthread_mutex_lock(&fault_mutex);
    int none = 0;
    if (atomic_compare_exchange_strong(&launch->error, &none, error)) {
        snprintf(fault_text, sizeof fault_text, "%s", text);
        fault_error = error;
    }
    pthread_mutex_unlock(&fault_mutex);
}

const char *kfcpu_last_fault(int error)
{
    return error == fault_error ? fault_text : "";
}

int kfcpu_refuse(const struct kfcpu_geometry *config, int error, const char *format, ...)
{
    va_list arguments;
    char why[200];
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&fault_mutex);
    snprintf(fault_text, sizeof fault_text, "kernel%s%s <<<(%u,%u,%u), (%u,%u,%u), %zu>>>: %s",
             config->kernel ? " " : "", config->kernel ? config->kernel : "", config->grid[0],
             config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2],
             config->dynamic_shared, why);
    fault_error = error;
    pthread_mutex_unlock(&fault_mutex);
    return error;
}

// ---- Workers -----------------------------------------------------------------------------------

bool kfcpu_take_blocks(struct worker *worker)
{
    struct launch *launch = worker->launch;
    uint64_t first = atomic_fetch_add_explicit(&launch->next, launch->chunk, memory_order_relaxed);
    if (first >= launch->blocks) return false;
    worker->block = first;
    worker->block_end =
        launch->blocks - first < launch->chunk ? launch->blocks : first + launch->chunk;
    return true;
}

// Binds the calling thread to the processor of a worker. A scheduler leaves threads where they
// slept: two workers can share a processor for milliseconds or longer while another one is idle.
// Each worker would then seem half as fast as it is.
static void go_to(int index)
{
    cpu_set_t *one = pool.processors ? calloc(1, pool.processors_size) : NULL;
    int left = index;
    for (size_t cpu = 0; one && cpu < 8 * pool.processors_size; cpu++)
        if (CPU_ISSET_S(cpu, pool.processors_size, pool.processors) && left-- == 0) {
            CPU_SET_S(cpu, pool.processors_size, one);
            sched_setaffinity(0, pool.processors_size, one);
            break;
        }
    free(one);
}

// Waits for the next launch. Sleeps if it does not come soon.
static void await_launch(struct worker *worker)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&worker->state, memory_order_acquire) == POSTED) return;
        pause_cpu();
    }
    uint32_t idle = IDLE;
    if (!atomic_compare_exchange_strong(&worker->state, &idle, ASLEEP)) return;
    while (atomic_load(&worker->state) == ASLEEP) futex_wait(&worker->state, ASLEEP);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    go_to(worker->index);
    for (;;) {
        await_launch(worker);
        uint32_t posted = POSTED;
        if (!atomic_compare_exchange_strong(&worker->state, &posted, RUNNING))
            continue; // the launch was over before this worker woke up
        kfcpu_run_blocks(worker, atomic_load(&pool.launch));
        atomic_store(&worker->state, IDLE);
        if (atomic_fetch_sub(&pool.running, 1) == 1) futex_wake(&pool.running);
    }
    return NULL;
}

static struct worker *new_worker(int index)
{
    struct worker *worker = NULL;
    if (posix_memalign((void **)&worker, 64, sizeof *worker)) return NULL;
    memset(worker, 0, sizeof *worker);
    worker->index = index;
    return worker;
}

// Finds the processors that this process may use. False if they are unknown.
static bool find_processors(void)
{
    for (int size = 1024; size <= 1 << 20; size *= 4) {
        pool.processors = CPU_ALLOC(size);
        pool.processors_size = CPU_ALLOC_SIZE(size);
        if (!pool.processors || sched_getaffinity(0, pool.processors_size, pool.processors) == 0)
            return pool.processors;
        CPU_FREE(pool.processors);
        pool.processors = NULL;
    }
    return false;
}

static int count_processors(void)
{
    bool known = find_processors();
#ifdef __SANITIZE_ADDRESS__
    known = false; // one worker, because static shared memory is a plain object (builtins.h)
#endif
    return known ? CPU_COUNT_S(pool.processors_size, pool.processors) : 1;
}

static int spawn(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return ENOMEM;
    pthread_attr_setstacksize(&attributes, 256 << 10); // small, because kernels run on fibers
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // signals belong to the program's own threads
    int error = pthread_create(thread, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void start_pool(void)
{
    int wanted = count_processors();
    pool.workers = calloc((size_t)wanted, sizeof *pool.workers);
    if (!pool.workers) return;
    pool.workers[0] = new_worker(0);
    if (!pool.workers[0]) return;
    pool.count = 1;
    for (int i = 1; i < wanted; i++) {
        struct worker *worker = new_worker(i);
        if (!worker) return;
        pool.workers[i] = worker;
        // Fewer threads are enough if their number is limited.
        if (spawn(&worker->thread, worker_main, worker)) {
            free(worker);
            pool.workers[i] = NULL;
            return;
        }
        pool.count++;
    }
}

void kfcpu_start(void)
{
    pthread_once(&pool.once, start_pool);
}

// Only moves the launching thread there. The thread stays unless something else needs that
// processor, and threads that the candidate starts inherit the right to run on all processors.
void kfcpu_ready(void)
{
    if (!pool.processors) return;
    go_to(0);
    sched_setaffinity(0, pool.processors_size, pool.processors);
}

int kfcpu_thread_count(void)
{
    kfcpu_start();
    return pool.count;
}

int kfcpu_blocks_per_sm(int threads, size_t shared)
{
    if (threads < 1 || threads > kfcpu_limits.threads_per_block ||
        shared > kfcpu_limits.shared_per_block_optin)
        return 0;
#ifdef __SANITIZE_ADDRESS__
    return 1; // plain static shared memory: one block at a time
#else
    int warps = (threads + KFCPU_WARP - 1) / KFCPU_WARP;
    int blocks = kfcpu_limits.threads_per_sm / (warps * KFCPU_WARP);
    if (blocks > kfcpu_limits.blocks_per_sm) blocks = kfcpu_limits.blocks_per_sm;
    // The hardware reserves 1 KiB a block.
    size_t by_shared = kfcpu_limits.shared_per_sm / (shared + 1024);
    return by_shared < (size_t)blocks ? (int)by_shared : blocks;
#endif
}

// ---- Launches ----------------------------------------------------------------------------------

static void run_pooled(struct launch *launch)
{
    uint64_t helpers = (uint64_t)pool.count - 1;
    if (helpers > launch->blocks - 1) helpers = launch->blocks - 1;
    atomic_store(&pool.launch, launch);
    atomic_store(&pool.running, (uint32_t)helpers);
    for (uint64_t i = 1; i <= helpers; i++)
        if (atomic_exchange(&pool.workers[i]->state, POSTED) == ASLEEP)
            futex_wake(&pool.workers[i]->state);
    kfcpu_run_blocks(pool.workers[0], launch);
    // Workers that still sleep are not needed any more.
    for (uint64_t i = 1; i <= helpers; i++) {
        uint32_t posted = POSTED;
        if (atomic_compare_exchange_strong(&pool.workers[i]->state, &posted, IDLE))
            atomic_fetch_sub(&pool.running, 1);
    }
    for (int i = 0; atomic_load(&pool.running) && i < SPINS; i++) pause_cpu();
    for (uint32_t left; (left = atomic_load(&pool.running)) != 0;) futex_wait(&pool.running, left);
}

static void *together_main(void *argument)
{
    struct worker *worker = argument;
    kfcpu_run_blocks(worker, worker->launch);
    return NULL;
}

static bool grow_together(uint32_t count)
{
    struct worker **workers = realloc(pool.together, count * sizeof *workers);
    if (!workers) return false;
    pool.together = workers;
    while (pool.together_count < count) {
        struct worker *worker = new_worker((int)pool.together_count);
        if (!worker) return false;
        pool.together[pool.together_count++] = worker;
    }
    return true;
}

// Runs a cooperative launch: each block on its own thread, so that all of them run at the same
// time.
static void run_together(struct launch *launch)
{
    uint32_t blocks = (uint32_t)launch->blocks, spawned = 0;
    if (blocks > pool.together_count && !grow_together(blocks)) {
        kfcpu_record_fault(launch, 2, "no memory for the blocks of a cooperative launch");
        return;
    }
    launch->grid_live = blocks;
    pthread_mutex_init(&launch->grid_mutex, NULL);
    pthread_cond_init(&launch->grid_released, NULL);
    for (; spawned + 1 < blocks; spawned++) {
        struct worker *worker = pool.together[spawned + 1];
        worker->launch = launch;
        if (spawn(&worker->thread, together_main, worker)) {
            kfcpu_record_fault(launch, 2,
                               "no operating-system thread for a block of a cooperative launch");
            break;
        }
    }
    if (spawned + 1 < blocks) {
        pthread_mutex_lock(&launch->grid_mutex);
        launch->grid_live = spawned + 1; // running blocks may finish; the launch has failed
        pthread_mutex_unlock(&launch->grid_mutex);
    }
    kfcpu_run_blocks(pool.together[0], launch);
    for (uint32_t i = 1; i <= spawned; i++) pthread_join(pool.together[i]->thread, NULL);
    pthread_cond_destroy(&launch->grid_released);
    pthread_mutex_destroy(&launch->grid_mutex);
}

static int check(const struct kfcpu_geometry *config, uint64_t *blocks)
{
    uint64_t threads = 1;
    *blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (config->grid[i] == 0 || config->grid[i] > kfcpu_limits.grid[i])
            return kfcpu_refuse(
                config, 9,
                "invalid grid: every extent must be 1 or more, at most (2147483647,65535,65535)");
        if (config->block[i] == 0 || config->block[i] > kfcpu_limits.block[i])
            return kfcpu_refuse(
                config, 9, "invalid block: every extent must be 1 or more, at most (1024,1024,64)");
        threads *= config->block[i];
        *blocks *= config->grid[i];
    }
    if (threads > KFCPU_MAX_THREADS)
        return kfcpu_refuse(config, 9, "invalid block: more than 1024 threads");
    if (config->dynamic_shared > kfcpu_limits.shared_per_block_optin)
        return kfcpu_refuse(config, 1,
                            "more dynamic shared memory than a block may have (232448 bytes)");
    // The loop over threads relies on this (launch.h).
    if ((uint64_t)config->grid[0] * config->block[0] > INT_MAX - KFCPU_MAX_THREADS)
        return kfcpu_refuse(
            config, 801, "not supported on the CPU device: gridDim.x * blockDim.x of 2^31 or more");
    if (config->cooperative) {
        uint64_t most = (uint64_t)kfcpu_blocks_per_sm((int)threads, config->dynamic_shared) *
                        (uint64_t)kfcpu_thread_count();
        if (*blocks > most)
            return kfcpu_refuse(
                config, 720, "cooperative launch of more blocks than the device holds at a time");
    }
    return 0;
}

int kfcpu_execute(const struct kfcpu_geometry *config, kfcpu_loop loop, void *closure)
{
    kfcpu_start();
    if (!pool.count) return kfcpu_refuse(config, 2, "no memory for the first worker");
    if (kfcpu_in_kernel())
        return kfcpu_refuse(config, 801, "not supported on the CPU device: a launch from a kernel");
    struct launch launch = {.config = config, .loop = loop, .closure = closure};
    int error = check(config, &launch.blocks);
    if (error) return error;
    pthread_mutex_lock(&pool.turn);
    if (config->cooperative) {
        launch.chunk = 1;
        run_together(&launch);
    } else {
        uint64_t chunk = launch.blocks / ((uint64_t)pool.count * 16);
        launch.chunk = chunk < 1 ? 1 : chunk > 64 ? 64 : chunk;
        run_pooled(&launch);
    }
    pthread_mutex_unlock(&pool.turn);
    return atomic_load(&launch.error);
}
