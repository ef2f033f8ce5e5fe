#include "wakeful.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kforge/cleanup.h"

#define THREAD_STACK (64 << 10)
#define LATE 100e-6 /* seconds; some 50 are usual where nothing slept */
#define LATE_PART 8 /* one in so many */
#define LEAST 8     /* that are looked at */
#define AFRESH 16   /* beginnings, until threads have to be shown to be needed again */

enum { RESTING, AWAKE, OVER };

typedef struct keeper {
    atomic_uint state; /* a futex: who rests sleeps on it */
    int stopped;       /* runners that were on this processor */
    bool started;
    pthread_t thread;
} keeper;

struct kf_wakeful {
    int file; /* of PM QoS, -1 none */
    bool begun, needed;
    int noted, late, beginnings; /* the first two since it has begun */
    keeper keepers[CPU_SETSIZE];
};

static inline void pause_briefly(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static void set_state(keeper *k, unsigned state)
{
    unsigned before = atomic_exchange(&k->state, state);
    if (before == RESTING && state != RESTING) syscall(SYS_futex, &k->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *stay_awake(void *context)
{
    const struct sched_param none = {0};
    keeper *k = context;
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) return NULL;
    for (;;) {
        unsigned state = atomic_load_explicit(&k->state, memory_order_relaxed);
        if (state == OVER) return NULL;
        if (state == AWAKE)
            pause_briefly();
        else
            syscall(SYS_futex, &k->state, FUTEX_WAIT_PRIVATE, RESTING, NULL, NULL, 0);
    }
}

static bool start(keeper *k, int processor)
{
    cpu_set_t only;
    pthread_attr_t attributes;
    if (k->started) return true;
    if (pthread_attr_init(&attributes)) return false;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    k->started = !pthread_attr_setaffinity_np(&attributes, sizeof only, &only) &&
                 !pthread_attr_setstacksize(&attributes, THREAD_STACK) && !pthread_create(&k->thread, &attributes, stay_awake, k);
    pthread_attr_destroy(&attributes);
    return k->started;
}

kf_wakeful *kf_wakeful_new(void)
{
    kf_wakeful *wakeful = calloc(1, sizeof *wakeful);
    if (wakeful) wakeful->file = -1;
    return wakeful;
}

void kf_wakeful_free(kf_wakeful *wakeful)
{
    if (!wakeful) return;
    kf_wakeful_end(wakeful);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (wakeful->keepers[cpu].started) {
            set_state(&wakeful->keepers[cpu], OVER);
            pthread_join(wakeful->keepers[cpu].thread, NULL);
        }
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
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (wakeful->keepers[cpu].started) set_state(&wakeful->keepers[cpu], RESTING);
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

/* -1: not known. The 39th of /proc/PID/stat (proc_pid_stat(5)); the second is a name, which may hold anything and ends at the last bracket. */
static int last_processor(pid_t pid)
{
    char path[64], text[2048];
    int processor;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size <= 0) return -1;
    text[size] = '\0';
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 39; field++) at = strchr(at + 1, ' ');
    return at && sscanf(at, "%d", &processor) == 1 && processor >= 0 && processor < CPU_SETSIZE ? processor : -1;
}

int kf_wakeful_keep(kf_wakeful *wakeful, pid_t pid)
{
    if (!wakeful || !wakeful->begun || !wakeful->needed) return -1;
    int processor = last_processor(pid);
    if (processor < 0 || !start(&wakeful->keepers[processor], processor)) return -1;
    wakeful->keepers[processor].stopped++;
    set_state(&wakeful->keepers[processor], AWAKE);
    return processor;
}

void kf_wakeful_let_go(kf_wakeful *wakeful, int processor)
{
    if (!wakeful || processor < 0) return;
    keeper *k = &wakeful->keepers[processor];
    if (--k->stopped == 0) set_state(k, RESTING);
}
