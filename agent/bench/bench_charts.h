/* Charts of the HTML report, as SVG elements that refer to nothing outside the page. */
#ifndef KFORGE_AGENT_BENCH_CHARTS_H
#define KFORGE_AGENT_BENCH_CHARTS_H

#include "bench_result.h"

/* Draws fast_p over p, with its interval as a band. */
void kf_chart_curve(const kf_bench_result *result, kf_buffer *out);
/* Draws the number of problems for each speedup, one bar for each half octave. */
void kf_chart_histogram(const kf_bench_result *result, kf_buffer *out);
/* Writes a table with the interval of the best of each solved problem, the fastest first, on one
 * axis. Writes nothing if no problem was solved. */
void kf_chart_forest(const kf_bench_result *result, kf_buffer *out);
/* Draws operations per second over operations per byte, below the limits of the device's
 * memory and arithmetic. Each point has its number in the table of rooflines.
 * False if no workload has known operations: then the function draws nothing. */
bool kf_chart_roofline(const kf_bench_result *result, kf_buffer *out);

#endif
