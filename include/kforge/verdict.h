/* Verdicts: the judge's results for one candidate, in memory and as JSON ("kforge-verdict/1").
 *
 * Values that decide are typed. The build report, counters and provenance stay JSON. A verdict owns
 * all of its content, and belongs to one thread at a time.
 *
 * kf_verdict_from_json(kf_verdict_to_json(v)) equals v in every bit of every double. Reading is
 * strict, because a verdict may come from another machine or a file. Text of candidates, compilers
 * and drivers may contain any bytes. Functions that store text turn it into valid UTF-8
 * (kf_text_clean).
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

/* Copies `size` bytes as valid UTF-8. Invalid bytes and NUL become U+FFFD. Control characters, and
 * characters that change the direction of text, become a space. Newlines and tabs stay unless
 * `one_line`. The caller frees; NULL without memory. */
char *kf_text_clean(const char *bytes, size_t size, bool one_line);

/* Makes an empty verdict for a job, with status KF_JUDGE_ERROR. The caller frees; NULL without
 * memory. */
kf_verdict *kf_verdict_new(const char *id, const char *task, const char *device);
void kf_verdict_free(kf_verdict *verdict);
KF_DEFINE_AUTO(kf_verdict, kf_verdict_free)
/* The next four functions append and copy all strings. They return the new element, valid until the
 * next append. Without memory they return NULL or false and change nothing. */
kf_workload_verdict *kf_verdict_add_workload(kf_verdict *verdict, const char *workload, bool timed);
/* `workload` NULL: the finding belongs to the whole verdict. */
kf_finding *kf_verdict_add_finding(kf_verdict *verdict, kf_workload_verdict *workload,
                                   kf_status status, kf_blame blame, const char *rule,
                                   double measured, double limit, const char *format, ...)
    __attribute__((format(printf, 8, 9)));
kf_output_check *kf_workload_add_output(kf_workload_verdict *workload, const char *argument);
/* Removes the last finding, which there has to be. */
void kf_workload_drop_finding(kf_workload_verdict *workload);
bool kf_workload_add_sample(kf_workload_verdict *workload, const kf_sample *sample);
/* The Python solution was judged with the weights that its constructor drew, because it had
 * replaced them (docs/internals/pytorch.md, Frozen weights). */
#define KF_FLAG_FROZEN "state.frozen"
#define KF_FLAG_GENERATED "inputs.generated"
/* An output has the precision of tf32 operands, and the baseline was more exact. PyTorch's defaults
 * allow tf32 for convolutions on a GPU. */
#define KF_FLAG_TF32 "precision.tf32"
/* PyTorch computed baseline and solution in f32, not in its default tf32 for convolutions. With
 * tf32 the baseline errs by more than a tenth of the output, which gives no usable tolerance. */
#define KF_FLAG_FULL_F32 "precision.f32"
/* The signature passes no sizes, so the candidate was not judged at others. */
#define KF_FLAG_SIZES_FIXED "sizes.fixed"
/* True if a finding of the workload counts for the verdict's status. In a workload that is only for
 * generalisation, only manipulating the measurement does. */
bool kf_finding_decides(const kf_workload_verdict *workload, const kf_finding *finding);
/* Returns in words if a correct candidate generalises: "to other data; not to other sizes (odd)";
 * "" if the verdict has no workload for it. `names`: with the workloads, which models do not see.
 * The caller frees; NULL without memory. */
char *kf_verdict_generalises(const kf_verdict *verdict, bool names);
/* Returns the rule of the first finding, of the workloads before the verdict; "" without one. */
const char *kf_verdict_first_rule(const kf_verdict *verdict);
/* True if a timed workload has measured pairs, even if they give no speedup. */
bool kf_verdict_was_timed(const kf_verdict *verdict);
bool kf_verdict_has_flag(const kf_verdict *verdict, const char *flag);
/* Adds a flag unless the verdict has it. False without memory. */
bool kf_verdict_add_flag(kf_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Removes all flags that begin with `prefix`. */
void kf_verdict_remove_flags(kf_verdict *verdict, const char *prefix);
/* Replaces an owned string of the verdict by a cleaned copy. Without memory returns false and keeps
 * the old string. */
bool kf_verdict_set_text(char **field, const char *text);
/* Computes statuses, blame, message and the combined speedup from findings and workloads.
 *
 *   workload  the finding with the first status (order of kf_status); without findings, the status
 *             that the judge set
 *   verdict   the finding with the first status; without findings KF_CORRECT if there are workloads
 *             and all are correct, else KF_JUDGE_ERROR
 *
 * Findings with status KF_CORRECT are notes. If an output has mismatched elements and the judge
 * added no finding, this adds "output.mismatch". May be called again after changes. */
void kf_verdict_conclude(kf_verdict *verdict);

/* Both results are the caller's to free. kf_verdict_to_json returns NULL without memory. */
cJSON *kf_verdict_to_json(const kf_verdict *verdict);
kf_verdict *kf_verdict_from_json(const cJSON *json, kf_error *error);
/* Turns "nan", "inf" and "-inf" in a parsed verdict into null, for readers outside kforge. Workers
 * and stores keep the words. kf_verdict_from_json reads null as NaN. */
void kf_verdict_publish(cJSON *json);

#endif
