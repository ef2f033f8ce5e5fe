/* A second measurement of the best candidates, beside further baselines of their tasks. */
#ifndef KFORGE_AGENT_BENCH_AGAINST_H
#define KFORGE_AGENT_BENCH_AGAINST_H

#include "bench.h"

/* After the bench itself: measures the best correct candidate of each problem against each baseline
 * that the plan names ("against"), where the store has no figure yet. What can't be measured is no
 * error: the report says why. Without such names, or interrupted: nothing. */
bool kf_bench_extra_baselines(const kf_bench_plan *plan, const kf_bench_how *how, kf_error *error);

#endif
