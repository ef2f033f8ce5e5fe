/* How a search shows itself while it runs: one line that is redrawn on a terminal, a line an event
 * elsewhere. */
#ifndef KFORGE_PROGRESS_H
#define KFORGE_PROGRESS_H

#include <stdio.h>

#include "devices.h"
#include "search.h"

typedef struct kf_progress_view {
    FILE *log;
    bool terminal;
    /* said before the run's name, and so only of a run that begins; or NULL */
    const char *note;
    /* where no device was named: what is the matter with the GPU is asked of this; else NULL */
    kf_gpu_trouble *trouble;
    double drawn, waiting_since;
    int width; /* of what stands on the line */
    int64_t failures_told, judged_told;
} kf_progress_view;

/* For kf_search_observer; `context` is a kf_progress_view. */
void kf_progress_notify(void *context, kf_search_event event, const kf_search_progress *progress,
                        const char *text);
/* Takes the line away, so that something else can be written. */
void kf_progress_clear(kf_progress_view *view);

#endif
