/* Measurements of the best candidates against extra baselines (`--against`). */
#ifndef KFORGE_AGENT_BENCH_EXTRA_BASELINES_H
#define KFORGE_AGENT_BENCH_EXTRA_BASELINES_H

#include "bench.h"

/* Measures the best correct candidate of each problem against each extra baseline of the plan for
 * which the store has no figure. Call it after the bench. A measurement that is impossible is not
 * an error: the report gives the reason. Does nothing without extra baselines, or when interrupted.
 */
bool kf_bench_extra_baselines(const kf_bench_plan *plan, const kf_bench_how *how, kf_error *error);

#endif
