/* Verdicts: all that the judge found out about one candidate, in memory and as JSON
 * ("kforge-verdict/1").
 *
 * What decisions are made from is typed; what is only carried along (build report, counters,
 * provenance) stays JSON. A verdict owns everything in it. JSON round-trips:
 * kf_verdict_from_json(kf_verdict_to_json(v)) equals v, every bit of every double. Reading is
 * strict: a verdict may come from another machine or a file. Text from candidates, compilers and
 * drivers may hold any bytes: every string becomes valid UTF-8 on its way in (kf_text_clean). A
 * verdict belongs to one thread at a time.
 */
#ifndef KFORGE_VERDICT_H
#define KFORGE_VERDICT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/stats.h"
#include "kforge/verdict_types.h"

#define KF_VERDICT_SCHEMA "kforge-verdict/1"

/* A malloc'd copy of `size` bytes as valid UTF-8: what is not (NUL bytes too) becomes U+FFFD,
 * control characters and those that turn the direction of text become a space. Newlines and tabs
 * stay unless `one_line`. NULL when out of memory. */
char *kf_text_clean(const char *bytes, size_t size, bool one_line);

/* An empty verdict for a job: judge_error until something better is known. NULL only when out of
 * memory. */
kf_verdict *kf_verdict_new(const char *id, const char *task, const char *device);
void kf_verdict_free(kf_verdict *verdict);
KF_DEFINE_AUTO(kf_verdict, kf_verdict_free)
/* Appends; copies all strings. Returns the new element, valid until the next append, or NULL when
 * out of memory (the verdict is then as it was before). */
kf_workload_verdict *kf_verdict_add_workload(kf_verdict *verdict, const char *workload, bool timed);
/* `workload` NULL: belongs to the whole verdict. */
kf_finding *kf_verdict_add_finding(kf_verdict *verdict, kf_workload_verdict *workload,
                                   kf_status status, kf_blame blame, const char *rule,
                                   double measured, double limit, const char *format, ...)
    __attribute__((format(printf, 8, 9)));
kf_output_check *kf_workload_add_output(kf_workload_verdict *workload, const char *argument);
bool kf_workload_add_sample(kf_workload_verdict *workload, const kf_sample *sample);
/* The verdict is on a solution in Python with the weights that its constructor drew, which it has
 * made others of (docs/internals/pytorch.md, Frozen weights). */
#define KF_FLAG_FROZEN "state.frozen"
/* Outputs are as exact as operands in tf32 make them, which PyTorch's defaults allow for
 * convolutions on a GPU, and the baseline's were more exact. */
#define KF_FLAG_TF32 "precision.tf32"
/* In tf32, as PyTorch's defaults have it for convolutions on a GPU, the baseline is more than a
 * tenth of the output off, of which no tolerance follows: PyTorch was told to compute in f32, for
 * baseline and solution. */
#define KF_FLAG_FULL_F32 "precision.f32"
bool kf_verdict_has_flag(const kf_verdict *verdict, const char *flag);
/* A flag that is there already is not added again. */
bool kf_verdict_add_flag(kf_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces an owned string of the verdict by a cleaned copy; false when out of memory (the old one
 * stays). */
bool kf_verdict_set_text(char **field, const char *text);
/* Settles statuses, blame, message and the combined speedup from findings and workloads, by the
 * order of kf_status. A workload's status is the first of its findings'; without findings the one
 * the judge set. Mismatched elements of an output get a finding "output.mismatch" when the judge
 * has written none. The verdict's status is the first of all findings'; without any it is correct
 * when there are workloads and all are, else judge_error. Findings of status correct are notes. May
 * be called again after changes. */
void kf_verdict_conclude(kf_verdict *verdict);

cJSON *kf_verdict_to_json(const kf_verdict *verdict); /* NULL when out of memory */
kf_verdict *kf_verdict_from_json(const cJSON *json, kf_error *error);

#endif
