/* Views of what the store and task folders hold, as text or JSON; what `list`, `show` and `task
 * show` share. Figures that are not known are "-" in text and null in JSON. */
#ifndef KFORGE_SHOW_H
#define KFORGE_SHOW_H

#include "output.h"

bool kf_show_task(const kf_view *view, const kf_task *task, kf_error *error);

typedef struct kf_show_run_limits {
    int64_t top, attempts; /* best candidates and latest attempts to show */
} kf_show_run_limits;
bool kf_show_run(const kf_view *view, kf_store *store, const kf_store_run *run,
                 const kf_show_run_limits *limits, kf_error *error);

/* The family tree of a run; `format`: "text", "dot", "svg". */
bool kf_show_tree(const kf_view *view, kf_store *store, const kf_store_run *run, const char *format,
                  kf_error *error);

/* `samples`: the raw timings as well. JSON always has source and verdict, samples included. */
bool kf_show_candidate(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                       bool samples, kf_error *error);
/* Figures, findings and the compiler's words of a verdict as text. */
void kf_show_verdict(const kf_view *view, const kf_verdict *verdict);
/* The source alone; control characters are taken out where it goes to a terminal (`view->width` is
 * not 0). */
bool kf_show_source(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                    kf_error *error);

#endif
