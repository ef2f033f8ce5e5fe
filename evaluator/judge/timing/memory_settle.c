#include "memory_settle.h"

#include <time.h>

#include "kforge/file.h"
#include "kforge/stats.h"

/* The median of so many reads counts. */
#define READS 3
/* Times the usual time, for 512 MB of an H100 or H200 (docs/results/README.md). Nine in ten reads
 * take 0.98 to 1.03 otherwise, and all take 1.11 or more while memory is cleared. Wait while the
 * median is above SLOW. One read between QUICKER and USUAL is enough. A median below QUICKER is the
 * new usual time. */
#define SLOW 1.06
#define USUAL 1.04
#define QUICKER 0.97
/* nanoseconds between two looks */
#define PAUSE 1000000L

/* Returns how many seconds a read takes, the usual time if one read took that, or 0 if unknown. The
 * first read has to write back what other programs left in the cache. */
static double look(const kf_memory_settle *settle)
{
    double seconds[READS];
    for (int i = 0; i < READS; i++) {
        if (!((seconds[i] = settle->read(settle->context)) > 0)) return 0;
        if (seconds[i] < USUAL * settle->rule && seconds[i] > QUICKER * settle->rule)
            return settle->rule;
    }
    return kf_median(seconds, READS);
}

void kf_memory_settle_learn(kf_memory_settle *settle)
{
    look(settle);
    settle->rule = look(settle);
}

void kf_memory_settle_await(kf_memory_settle *settle, double most)
{
    double started = kf_now(), seconds;
    while ((seconds = look(settle)) > SLOW * settle->rule && kf_now() - started < most)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    /* This is no chance. The usual time was found while memory was cleared, or the device has
     * changed since (its clocks, other programs on it). */
    if (seconds > SLOW * settle->rule || (seconds > 0 && seconds < QUICKER * settle->rule))
        settle->rule = seconds;
}
