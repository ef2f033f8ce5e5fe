/* Events of a bench (event_stream.h): of the whole bench, and of runs on existing solutions.
 * Searches write their own. All functions do nothing without a stream. */
#ifndef KFORGE_BENCH_EVENTS_H
#define KFORGE_BENCH_EVENTS_H

#include "bench.h"
#include "verdict_event.h"

void kf_bench_event_start(kf_event_stream *events, const kf_bench_plan *plan);
/* `why`: what failed; or NULL. */
void kf_bench_event_end(kf_event_stream *events, const kf_bench_plan *plan,
                        const kf_bench_outcome *outcome, const kf_error *why);

/* ---- a run on the solutions of one task ------------------------------------------------------ */

typedef struct kf_bench_run_event {
    const kf_bench_plan *plan;
    const kf_bench_task *task;
    /* solutions judged so far */
    size_t step;
} kf_bench_run_event;

void kf_bench_event_run_start(kf_event_stream *events, const kf_bench_run_event *run,
                              const char *hardware, bool resumed);
/* `solution`: its file. */
void kf_bench_event_attempt(kf_event_stream *events, const kf_bench_run_event *run,
                            const char *solution, kf_attempt_outcome outcome,
                            const kf_attempt_result *result);
/* `end`: "finished", "interrupted" or "failed". */
void kf_bench_event_run_end(kf_event_stream *events, const kf_bench_run_event *run,
                            const char *end);

#endif
