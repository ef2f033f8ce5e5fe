/* Verdicts in a stream of events (event_stream.h). */
#ifndef KFORGE_VERDICT_EVENT_H
#define KFORGE_VERDICT_EVENT_H

#include "event_stream.h"
#include "kforge/verdict.h"

/* The result of an attempt, for events of the kinds `attempt` and `verify`. */
typedef struct kf_attempt_result {
    /* Of the verdict, or how the attempt ended without one. */
    const char *status;
    /* "" without a verdict. */
    const char *blame;
    kf_interval speedup;
    const char *message;
    /* NaN if not known. */
    double build_seconds, judge_seconds;
} kf_attempt_result;

kf_attempt_result kf_attempt_result_of(const kf_verdict *verdict);
/* Adds "status", "blame", "speedup", "build_s", "judge_s" and "message". */
void kf_event_result(cJSON *fields, const kf_attempt_result *result);

#endif
