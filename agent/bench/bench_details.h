/* The texts behind a sample of the HTML report: its source, its change, and the model's reply. */
#ifndef KFORGE_AGENT_BENCH_DETAILS_H
#define KFORGE_AGENT_BENCH_DETAILS_H

#include "bench_result.h"

/* Appends "c12, source, change, reply" as folded elements. Writes nothing without a store, or once
 * the page holds some megabytes of texts: *left counts down. */
void kf_bench_details(const kf_bench_result *result, const kf_bench_row *row,
                      const kf_bench_sample *sample, size_t *left, kf_buffer *out);

#endif
