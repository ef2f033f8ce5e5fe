#include "cpu_idle_guard.h"
#include "parallel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREAD_STACK (64 << 10)
/* seconds; about 50 us are usual if the processor did not sleep */
#define LATE 100e-6
/* The thread starts if one waking in so many is late, of at least MIN_NOTED. */
#define LATE_PART 8
#define MIN_NOTED 8
/* After so many beginnings the need for a thread has to show again. */
#define AFRESH 16

enum { RESTING, AWAKE, OVER };

struct kf_cpu_idle_guard {
    int processor;
    int file; /* of PM QoS; -1 if not open */
    bool begun, needed, started;
    /* the first two count from the last beginning */
    int noted, late, beginnings;
    /* a futex, on which the resting thread sleeps */
    atomic_uint state;
    pthread_t thread;
};

static inline void pause_briefly(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static void set_state(kf_cpu_idle_guard *idle_guard, unsigned state)
{
    unsigned before = atomic_exchange(&idle_guard->state, state);
    if (before == RESTING && state != RESTING)
        syscall(SYS_futex, &idle_guard->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *stay_awake(void *context)
{
    const struct sched_param none = {0};
    kf_cpu_idle_guard *idle_guard = context;
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) return NULL;
    for (;;) {
        unsigned state = atomic_load_explicit(&idle_guard->state, memory_order_relaxed);
        if (state == OVER) return NULL;
        if (state == AWAKE)
            pause_briefly();
        else
            syscall(SYS_futex, &idle_guard->state, FUTEX_WAIT_PRIVATE, RESTING, NULL, NULL, 0);
    }
}

static bool start(kf_cpu_idle_guard *idle_guard)
{
    cpu_set_t only;
    pthread_attr_t attributes;
    if (idle_guard->started) return true;
    if (pthread_attr_init(&attributes)) return false;
    CPU_ZERO(&only);
    CPU_SET(idle_guard->processor, &only);
    idle_guard->started =
        !pthread_attr_setaffinity_np(&attributes, sizeof only, &only) &&
        !pthread_attr_setstacksize(&attributes, THREAD_STACK) &&
        !kf_thread_start(&idle_guard->thread, &attributes, stay_awake, idle_guard);
    pthread_attr_destroy(&attributes);
    return idle_guard->started;
}

kf_cpu_idle_guard *kf_cpu_idle_guard_new(int processor)
{
    kf_cpu_idle_guard *idle_guard = calloc(1, sizeof *idle_guard);
    if (idle_guard) idle_guard->file = -1, idle_guard->processor = processor;
    return idle_guard;
}

void kf_cpu_idle_guard_free(kf_cpu_idle_guard *idle_guard)
{
    if (!idle_guard) return;
    kf_cpu_idle_guard_end(idle_guard);
    set_state(idle_guard, OVER);
    if (idle_guard->started) pthread_join(idle_guard->thread, NULL);
    free(idle_guard);
}

void kf_cpu_idle_guard_begin(kf_cpu_idle_guard *idle_guard)
{
    const int32_t microseconds = 0;
    if (!idle_guard || idle_guard->begun) return;
    idle_guard->begun = true;
    if (idle_guard->beginnings++ % AFRESH == 0) idle_guard->needed = false;
    idle_guard->noted = idle_guard->late = 0;
    idle_guard->file = open(KF_CPU_IDLE_GUARD_FILE, O_WRONLY | O_CLOEXEC);
    if (idle_guard->file >= 0 &&
        write(idle_guard->file, &microseconds, sizeof microseconds) != sizeof microseconds) {
        close(idle_guard->file);
        idle_guard->file = -1;
    }
}

void kf_cpu_idle_guard_end(kf_cpu_idle_guard *idle_guard)
{
    if (!idle_guard || !idle_guard->begun) return;
    idle_guard->begun = false;
    set_state(idle_guard, RESTING);
    if (idle_guard->file >= 0) close(idle_guard->file);
    idle_guard->file = -1;
}

void kf_cpu_idle_guard_note(kf_cpu_idle_guard *idle_guard, double seconds)
{
    if (!idle_guard) return;
    idle_guard->noted++;
    idle_guard->late += seconds > LATE;
    if (idle_guard->noted >= MIN_NOTED && idle_guard->late * LATE_PART >= idle_guard->noted)
        idle_guard->needed = true;
}

void kf_cpu_idle_guard_keep(kf_cpu_idle_guard *idle_guard)
{
    if (idle_guard && idle_guard->begun && idle_guard->needed && idle_guard->processor >= 0 &&
        start(idle_guard))
        set_state(idle_guard, AWAKE);
}

void kf_cpu_idle_guard_rest(kf_cpu_idle_guard *idle_guard)
{
    if (idle_guard) set_state(idle_guard, RESTING);
}
