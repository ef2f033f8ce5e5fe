/* The progress of a search: one line that is redrawn on a terminal, or one line for each event
 * elsewhere. */
#ifndef KFORGE_PROGRESS_H
#define KFORGE_PROGRESS_H

#include <stdio.h>

#include "devices.h"
#include "kforge/buffer.h"
#include "search.h"

typedef struct kf_progress_view {
    FILE *log;
    bool terminal;
    /* Print each candidate. */
    bool verbose;
    /* printed before the name of a new run; or NULL */
    const char *note;
    /* names the fault of the GPU if no device was named; or NULL */
    kf_gpu_trouble *trouble;
    /* of --events; or NULL */
    kf_event_stream *events;
    /* when the line was drawn, and when a line of a log was printed; kf_now, 0: not yet */
    double drawn, waiting_since, printed;
    int width; /* of the present line */
    int64_t judged_told;
    /* The lines of news that were printed are appended here; or NULL. */
    kf_buffer *news;
} kf_progress_view;

/* A kf_search_observer; `context` is a kf_progress_view. */
void kf_progress_notify(void *context, kf_search_event event, const kf_search_progress *progress,
                        const char *text);
/* Removes the line, so that other text can be written. */
void kf_progress_clear(kf_progress_view *view);
/* True if a line of news has shown the text. It need not be printed again. */
bool kf_progress_has_shown(const kf_progress_view *view, const char *text);
/* Prints, once, that events were lost. */
void kf_progress_events(kf_progress_view *view);

#endif
