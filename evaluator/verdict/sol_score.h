/* The SOL score: where a candidate stands between its baseline and the device's limit.
 *
 *     S(T_k) = 1 / (1 + (T_k - T_SOL) / (T_b - T_SOL))
 *
 * T_k, T_b, T_SOL: seconds of a call of the candidate, of the baseline, and the least that the
 * device allows ("speed of light"). S is 1/2 at the baseline's time and 1 at the limit. A baseline
 * at or below the limit leaves only 1 for a candidate at the limit, and 0. Source: SOL-ExecBench
 * (NVIDIA/SOL-ExecBench, src/sol_execbench/sol_score.py). There T_SOL is an estimate of the tool
 * SOLAR, here it is kforge's floor: work over the device's measured or published peaks.
 *
 * Pure; any thread. */
#ifndef KFORGE_SOL_SCORE_H
#define KFORGE_SOL_SCORE_H

#include "kforge/stats.h"
#include "kforge/verdict_types.h"

/* Returns S, at most 1. NaN if a time is NaN, or not above 0 (`limit`: below 0). */
double kf_sol_score(double candidate, double baseline, double limit);
/* Returns S of a workload, with the ends of its speedup's interval. NaN if it is not correct, has
 * no speedup or no floor. */
kf_interval kf_sol_score_workload(const kf_workload_verdict *workload);
/* Returns the mean of all timed workloads, and the means of the ends of their intervals, which are
 * wider than the interval of the mean. NaN unless each timed workload has a score. */
kf_interval kf_sol_score_verdict(const kf_verdict *verdict);

#endif
