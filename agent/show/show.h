/* Views of runs, candidates and tasks, as text or JSON, for `list`, `show` and `task show`. Unknown
 * figures are "-" in text and null in JSON. */
#ifndef KFORGE_SHOW_H
#define KFORGE_SHOW_H

#include "output.h"

bool kf_show_task(const kf_view *view, const kf_task *task, kf_error *error);

typedef struct kf_show_run_limits {
    /* number of best candidates and latest attempts */
    int64_t top, attempts;
} kf_show_run_limits;
bool kf_show_run(const kf_view *view, kf_store *store, const kf_store_run *run,
                 const kf_show_run_limits *limits, kf_error *error);

/* Shows the family tree of a run. `format` is "text", "dot" or "svg". */
bool kf_show_tree(const kf_view *view, kf_store *store, const kf_store_run *run, const char *format,
                  kf_error *error);

/* Shows a candidate. `samples` adds the raw timings. JSON always has source, verdict and samples.
 */
bool kf_show_candidate(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                       bool samples, kf_error *error);
/* Shows figures and findings of a verdict as text. */
void kf_show_verdict(const kf_view *view, const kf_verdict *verdict);
/* Show the compiler's output of a candidate that does not compile, hardware counters, and the tools
 * of compute-sanitizer. The last two are parts of kf_show_verdict. */
void kf_show_build_log(const kf_view *view, const kf_verdict *verdict);
void kf_show_counters(const kf_view *view, const kf_verdict *verdict);
void kf_show_sanitizer(const kf_view *view, const kf_verdict *verdict);
/* Returns the text with view->source_name for the compiler's name of the candidate. The caller
 * frees; NULL without memory. */
char *kf_show_named(const kf_view *view, const char *text);
/* Writes only the source. On a terminal (`view->width` is not 0) it removes control characters. */
bool kf_show_source(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                    kf_error *error);

#endif
