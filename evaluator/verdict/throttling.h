/* Timed batches during which the GPU held its clock down, from the reasons in samples. Pure.
 *
 * The reasons are the bits of NVML's nvmlClocksEventReasons. These count:
 *   heat       the software's and the hardware's thermal slowdown
 *   power      the power brake, which the power supply or the rack pulls
 *   hardware   a hardware slowdown of which NVML gives no further cause
 *   limit      the software's power cap, only if the figures suffer
 * A large GPU runs at its power cap whenever it has much to do. Both sides of a pair run there, so
 * the cap counts only where the interval of the speedup is wide. The other bits are settings
 * (application clocks, synchronised boost, display) or idleness.
 *
 * NVML may report a hardware slowdown while the clock only changes, and the median of the pairs
 * stands some outliers. So a workload is throttled from a tenth of its batches on. */
#ifndef KFORGE_THROTTLING_H
#define KFORGE_THROTTLING_H

#include "kforge/buffer.h"
#include "kforge/verdict.h"

/* A flag of a verdict, followed by ":WORKLOAD:N:M:REASON": N of M timed batches. REASON is one of
 * the four words above, the one with most batches. */
#define KF_FLAG_THROTTLED "clocks.throttled"

/* Adds the flag if the workload was throttled. Removes that of an earlier measurement. False
 * without memory. */
bool kf_throttling_flag(kf_verdict *verdict, const kf_workload_verdict *workload);
/* Returns the verdict's first flag of this kind, or NULL. */
const char *kf_throttling_find(const kf_verdict *verdict);
/* Appends the flag in words, with the remedy. False for another flag. */
bool kf_throttling_words(const char *flag, kf_buffer *text);
/* Returns what slows a GPU down now, by NVML's reasons of this moment, and the remedy. NULL:
 * nothing does. The power cap does not count, since the figures are not known yet. */
const char *kf_throttling_now(uint64_t reasons, const char **remedy);
/* Appends the next step as one sentence: the remedy, and to measure again. */
bool kf_throttling_next(const char *flag, kf_buffer *text);

#endif
