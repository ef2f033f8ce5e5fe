/* Pieces of the page of a bench: text that can't be markup, and charts as SVG. Nothing refers to
 * anything outside of the page. */
#ifndef KFORGE_AGENT_BENCH_HTML_H
#define KFORGE_AGENT_BENCH_HTML_H

#include "bench_result.h"

/* Safe between tags and in quoted attributes. */
void kf_html_text(kf_buffer *out, const char *text);

/* fast_p over p, with its interval as a band. */
void kf_chart_curve(const kf_bench_result *result, kf_buffer *out);
/* How many problems came to which speedup, a bar for every half octave. */
void kf_chart_histogram(const kf_bench_result *result, kf_buffer *out);
/* Work per byte against work per second, below what the device's memory allows; false when nothing
 * is known to be drawn. */
bool kf_chart_roofline(const kf_bench_result *result, kf_buffer *out);

#endif
