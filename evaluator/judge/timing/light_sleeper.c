#include "light_sleeper.h"
#include "parallel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* nanoseconds a turn; the least that Linux allows */
#define TURN 100000

struct kf_light_sleeper {
    void (*function)(void *context);
    void *context;
    sem_t sleeps, woken;
    bool call;
    pthread_t thread;
};

/* From Linux 6.12 on such a thread runs before others when it wakes, unless it has had more than
 * its share (sched_setattr(2)). An older kernel ignores the request. */
static void ask_for_short_turns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t turn, deadline, period;
    } attributes = {.size = sizeof attributes, .turn = TURN};
    if (sched_getscheduler(0) != SCHED_OTHER) return;
    attributes.nice = getpriority(PRIO_PROCESS, 0);
    syscall(SYS_sched_setattr, 0, &attributes, 0u);
}

static void await_post(sem_t *semaphore)
{
    while (sem_wait(semaphore) && errno == EINTR) continue;
}

static void *sleep_and_call(void *context)
{
    kf_light_sleeper *sleeper = context;
    ask_for_short_turns();
    sem_post(&sleeper->sleeps);
    await_post(&sleeper->woken);
    if (sleeper->call) sleeper->function(sleeper->context);
    return NULL;
}

static bool start(kf_light_sleeper *sleeper, bool spares_first)
{
    cpu_set_t others;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return false;
    if (spares_first && !sched_getaffinity(0, sizeof others, &others) && CPU_COUNT(&others) > 1) {
        int first = 0;
        while (!CPU_ISSET(first, &others)) first++;
        CPU_CLR(first, &others);
        pthread_attr_setaffinity_np(&attributes, sizeof others, &others);
    }
    bool started = !kf_thread_start(&sleeper->thread, &attributes, sleep_and_call, sleeper);
    pthread_attr_destroy(&attributes);
    return started;
}

kf_light_sleeper *kf_light_sleeper_start(void (*function)(void *), void *context, bool spares_first)
{
    kf_light_sleeper *sleeper = calloc(1, sizeof *sleeper);
    if (!sleeper) return NULL;
    sleeper->function = function;
    sleeper->context = context;
    sem_init(&sleeper->sleeps, 0, 0);
    sem_init(&sleeper->woken, 0, 0);
    if (!start(sleeper, spares_first)) {
        free(sleeper);
        return NULL;
    }
    await_post(&sleeper->sleeps);
    return sleeper;
}

void kf_light_sleeper_wake(kf_light_sleeper *sleeper)
{
    sleeper->call = true;
    sem_post(&sleeper->woken);
}

void kf_light_sleeper_end(kf_light_sleeper *sleeper)
{
    if (!sleeper) return;
    sem_post(&sleeper->woken);
    pthread_join(sleeper->thread, NULL);
    free(sleeper);
}
