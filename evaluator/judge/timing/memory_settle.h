/* Waits until a device's memory is as fast as usual, judging by the time of reads. A driver may
 * clear freed memory in the background, and other work then has less bandwidth. Apart from the
 * clock and from sleeping these functions are pure. */
#ifndef KFORGE_MEMORY_SETTLE_H
#define KFORGE_MEMORY_SETTLE_H

/* of one wait. Clearing all memory of an H200 takes 0.4 s; a longer delay has another reason. */
#define KF_MEMORY_SETTLE_SECONDS 0.5

typedef struct kf_memory_settle {
    /* Returns how many seconds a read takes now; 0 if that is unknown. */
    double (*read)(void *context);
    void *context;
    /* seconds that a read usually takes; 0 if not known yet */
    double rule;
} kf_memory_settle;

/* Finds out how long a read usually takes. Some reads let clocks rise first. If other work disturbs
 * them, the first faster read corrects the result later. */
void kf_memory_settle_learn(kf_memory_settle *settle);
/* Returns once a read takes no longer than usual, or after `most` seconds. The time of a read then
 * counts as usual. */
void kf_memory_settle_await(kf_memory_settle *settle, double most);

#endif
