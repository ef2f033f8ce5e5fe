#include "sol_score.h"

#include <math.h>
#include <stddef.h>

static const kf_interval no_score = {NAN, NAN, NAN};

double kf_sol_score(double candidate, double baseline, double limit)
{
    if (!(candidate > 0) || !(baseline > 0) || !(limit >= 0)) return NAN;
    if (baseline <= limit) return candidate <= limit ? 1 : 0;
    if (candidate <= limit) return 1;
    return 1 / (1 + (candidate - limit) / (baseline - limit));
}

/* A speedup's interval may reach from 0 to infinity: an endless call, and one without time. */
static double score_at(const kf_workload_verdict *w, double speedup)
{
    if (speedup == 0) return 0;
    if (isinf(speedup)) return 1;
    return kf_sol_score(w->baseline_seconds / speedup, w->baseline_seconds, w->floor_seconds);
}

kf_interval kf_sol_score_workload(const kf_workload_verdict *w)
{
    if (w->status != KF_CORRECT || !(w->floor_seconds > 0) || !(w->baseline_seconds > 0))
        return no_score;
    return (kf_interval){.value = score_at(w, w->speedup.value),
                         .low = score_at(w, w->speedup.low),
                         .high = score_at(w, w->speedup.high)};
}

kf_interval kf_sol_score_verdict(const kf_verdict *verdict)
{
    kf_interval sum = {0, 0, 0};
    size_t count = 0;
    if (verdict->status != KF_CORRECT) return no_score;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        if (!verdict->workloads[i].timed) continue;
        kf_interval one = kf_sol_score_workload(&verdict->workloads[i]);
        sum.value += one.value, sum.low += one.low, sum.high += one.high;
        count++;
    }
    if (!count) return no_score;
    return (kf_interval){sum.value / (double)count, sum.low / (double)count,
                         sum.high / (double)count};
}
