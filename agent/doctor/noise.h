/* What disturbs timing on this machine: other programs, a frequency that changes, throttling, and a
 * baseline that disagrees with itself. For `doctor`, and for the start and the result of a run. */
#ifndef KFORGE_NOISE_H
#define KFORGE_NOISE_H

#include <stdbool.h>

#include "kforge/buffer.h"
#include "kforge/stats.h"

typedef struct kf_noise {
    /* programs that want a processor, other than this one: now and in the last minute; the smaller
     * figure; NaN: not known */
    double busy;
    int processors;
    /* of the processor's frequency; "": not known */
    char governor[32];
    /* how often the processor was too hot since the start of the machine */
    long long throttled;
    /* it is too hot now, and has a lower frequency for that */
    bool slowed;
} kf_noise;

/* Reads /proc and /sys below `root`, "" for those of this machine. */
void kf_noise_read(const char *root, kf_noise *noise);
/* Appends one line with what disturbs timing and the remedy. False, and nothing is appended, if
 * nothing does. `start` may be NULL, without what happened since; so may `now`. `baseline`: the
 * speedup of the baseline over itself, NaN if it was not measured. */
bool kf_noise_words(const kf_noise *start, const kf_noise *now, kf_interval baseline,
                    kf_buffer *text);
/* Cuts the remedy off such a line and returns it; "" if it has none. */
const char *kf_noise_remedy(char *line);

#endif
