#include "wakeful.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREAD_STACK (64 << 10)
#define LATE 100e-6 /* seconds; some 50 are usual where nothing slept */
#define LATE_PART 8 /* one in so many */
#define LEAST 8     /* that are looked at */
#define AFRESH 16   /* beginnings, until a thread has to be shown to be needed again */

enum { RESTING, AWAKE, OVER };

struct kf_wakeful {
    int processor;
    int file; /* of PM QoS, -1 none */
    bool begun, needed, started;
    int noted, late, beginnings; /* the first two since it has begun */
    atomic_uint state;           /* a futex: the thread that rests sleeps on it */
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

static void set_state(kf_wakeful *wakeful, unsigned state)
{
    unsigned before = atomic_exchange(&wakeful->state, state);
    if (before == RESTING && state != RESTING) syscall(SYS_futex, &wakeful->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *stay_awake(void *context)
{
    const struct sched_param none = {0};
    kf_wakeful *wakeful = context;
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) return NULL;
    for (;;) {
        unsigned state = atomic_load_explicit(&wakeful->state, memory_order_relaxed);
        if (state == OVER) return NULL;
        if (state == AWAKE)
            pause_briefly();
        else
            syscall(SYS_futex, &wakeful->state, FUTEX_WAIT_PRIVATE, RESTING, NULL, NULL, 0);
    }
}

/* With all signals blocked: they are the caller's. */
static bool start(kf_wakeful *wakeful)
{
    cpu_set_t only;
    sigset_t all, before;
    pthread_attr_t attributes;
    if (wakeful->started) return true;
    if (pthread_attr_init(&attributes)) return false;
    CPU_ZERO(&only);
    CPU_SET(wakeful->processor, &only);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    wakeful->started = !pthread_attr_setaffinity_np(&attributes, sizeof only, &only) &&
                       !pthread_attr_setstacksize(&attributes, THREAD_STACK) &&
                       !pthread_create(&wakeful->thread, &attributes, stay_awake, wakeful);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return wakeful->started;
}

kf_wakeful *kf_wakeful_new(int processor)
{
    kf_wakeful *wakeful = calloc(1, sizeof *wakeful);
    if (wakeful) wakeful->file = -1, wakeful->processor = processor;
    return wakeful;
}

void kf_wakeful_free(kf_wakeful *wakeful)
{
    if (!wakeful) return;
    kf_wakeful_end(wakeful);
    set_state(wakeful, OVER);
    if (wakeful->started) pthread_join(wakeful->thread, NULL);
    free(wakeful);
}

void kf_wakeful_begin(kf_wakeful *wakeful)
{
    const int32_t microseconds = 0;
    if (!wakeful || wakeful->begun) return;
    wakeful->begun = true;
    if (wakeful->beginnings++ % AFRESH == 0) wakeful->needed = false;
    wakeful->noted = wakeful->late = 0;
    wakeful->file = open(KF_WAKEFUL_FILE, O_WRONLY | O_CLOEXEC);
    if (wakeful->file >= 0 && write(wakeful->file, &microseconds, sizeof microseconds) != sizeof microseconds) {
        close(wakeful->file);
        wakeful->file = -1;
    }
}

void kf_wakeful_end(kf_wakeful *wakeful)
{
    if (!wakeful || !wakeful->begun) return;
    wakeful->begun = false;
    set_state(wakeful, RESTING);
    if (wakeful->file >= 0) close(wakeful->file);
    wakeful->file = -1;
}

void kf_wakeful_note(kf_wakeful *wakeful, double seconds)
{
    if (!wakeful) return;
    wakeful->noted++;
    wakeful->late += seconds > LATE;
    if (wakeful->noted >= LEAST && wakeful->late * LATE_PART >= wakeful->noted) wakeful->needed = true;
}

void kf_wakeful_keep(kf_wakeful *wakeful)
{
    if (wakeful && wakeful->begun && wakeful->needed && wakeful->processor >= 0 && start(wakeful)) set_state(wakeful, AWAKE);
}

void kf_wakeful_rest(kf_wakeful *wakeful)
{
    if (wakeful) set_state(wakeful, RESTING);
}
