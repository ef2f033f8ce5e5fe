/* Time and progress of a run. */
#include "kforge/file.h"
#include "search_internal.h"

double kf_search_elapsed(const kf_search *s)
{
    return s->clock.elapsed_before + (s->clock.started > 0 ? kf_now() - s->clock.started : 0);
}

int64_t kf_search_position(const kf_search *s)
{
    int64_t count =
        2 * s->progress.attempts + 2 * s->progress.calls + kf_calls_count(&s->calls, -1);
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next) count++;
    return count;
}
