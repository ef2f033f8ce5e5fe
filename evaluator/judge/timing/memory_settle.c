#include "memory_settle.h"

#include <time.h>

#include "kforge/file.h"
#include "kforge/stats.h"

#define READS 3 /* of which the median counts */
/* Times the rule, for 512 MB of an H100 or H200 (docs/results/README.md): nine in ten take 0.98
 * to 1.03 in quiet, all of them 1.11 or more while memory is cleared. */
#define SLOW 1.06      /* a median beyond this waits */
#define USUAL 1.04     /* a single one up to this, and from QUICKER on, is enough */
#define QUICKER 0.97   /* a median below this is another rule */
#define PAUSE 1000000L /* nanoseconds between two looks */

/* Seconds of a read; the rule where one is as usual; 0 as above. The first has to write back what
 * somebody has left in the cache. */
static double look(const kf_memory_settle *quiet)
{
    double seconds[READS];
    for (int i = 0; i < READS; i++) {
        if (!((seconds[i] = quiet->read(quiet->context)) > 0)) return 0;
        if (seconds[i] < USUAL * quiet->rule && seconds[i] > QUICKER * quiet->rule)
            return quiet->rule;
    }
    return kf_median(seconds, READS);
}

void kf_memory_settle_learn(kf_memory_settle *quiet)
{
    look(quiet);
    quiet->rule = look(quiet);
}

void kf_memory_settle_await(kf_memory_settle *quiet, double most)
{
    double started = kf_now(), seconds;
    while ((seconds = look(quiet)) > SLOW * quiet->rule && kf_now() - started < most)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    /* Not by chance: the rule was made while something was cleared, or the device has become
     * another since (its clocks, its neighbours). */
    if (seconds > SLOW * quiet->rule || (seconds > 0 && seconds < QUICKER * quiet->rule))
        quiet->rule = seconds;
}
