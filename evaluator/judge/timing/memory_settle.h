/* Waiting until a device's memory is as quick as it gets, by reads whose time says so. Pure but for
 * the clock and for sleeping. */
#ifndef KFORGE_QUIET_H
#define KFORGE_QUIET_H

/* at a time: clearing all memory of an H200 takes 0.4, and what lasts longer is something else */
#define KF_MEMORY_SETTLE_SECONDS 0.5

typedef struct kf_memory_settle {
    double (*read)(void *context); /* seconds that a read takes now; 0: nobody knows */
    void *context;
    double rule; /* seconds that it takes as a rule; 0: not known yet */
} kf_memory_settle;

/* The first reads, of which some are for clocks to rise. If something disturbs them, the first
 * quicker look makes another rule. */
void kf_memory_settle_learn(kf_memory_settle *quiet);
/* Returns once a read takes no longer than as a rule, or when `most` seconds are over: what it
 * takes then is the rule. */
void kf_memory_settle_await(kf_memory_settle *quiet, double most);

#endif
