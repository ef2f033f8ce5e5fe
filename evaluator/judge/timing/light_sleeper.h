/* A thread that sleeps until it is woken, calls one function, and ends. On a busy machine a thread
 * that has computed for long waits for a processor for milliseconds when it wakes. This thread has
 * hardly computed, and asks for short turns, so it mostly runs within 0.1 ms. */
#ifndef KFORGE_LIGHT_SLEEPER_H
#define KFORGE_LIGHT_SLEEPER_H

#include <stdbool.h>

typedef struct kf_light_sleeper kf_light_sleeper;

/* Starts a thread, and returns once it is about to sleep. NULL without memory or another thread.
 * spares_first: it keeps off the first of the caller's processors if there is another one. */
kf_light_sleeper *kf_light_sleeper_start(void (*function)(void *), void *context,
                                         bool spares_first);

/* Has the thread call its function, and returns at once. Call it once at most. */
void kf_light_sleeper_wake(kf_light_sleeper *sleeper);

/* Waits until the function has returned, and frees the rest. A thread that was not woken calls
 * nothing. NULL is accepted. */
void kf_light_sleeper_end(kf_light_sleeper *sleeper);

#endif
