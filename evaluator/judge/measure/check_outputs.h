/* Comparing what a batch left behind with the truth, and how inputs are varied so that the
 * comparison means something. */
#ifndef KFORGE_CHECK_H
#define KFORGE_CHECK_H

#include "kforge/compare.h"
#include "measure.h"

/* The baseline's own errors, by output and by class of input (which argument was varied, and how).
 */
typedef struct kf_checker kf_checker;

kf_checker *kf_checker_new(kf_workbench *bench);
void kf_checker_free(kf_checker *checker);
KF_DEFINE_AUTO(kf_checker, kf_checker_free)

/* How each of `count` sets is varied, in the order in which they will be called: every other one
 * not at all, the others each in its own way, until all ways have been gone; those behind the first
 * `called`, which may not be called, by chance. Whether the first of them is varied is chance, too,
 * and where `known` is false the opposite of the time before. `known`: only as the baseline's
 * errors are known for already. */
void kf_checker_vary(kf_checker *checker, kf_choices *choices, const uint32_t *order,
                     uint32_t called, uint32_t count, bool known, kf_set_variation *variations);

/* Sets whose outputs err more than the baseline has been seen to, on inputs that it was not seen
 * on. Arrays by set, the caller's. */
typedef struct kf_doubts {
    /* the baseline was run on these very inputs: what errs too much there is wrong */
    const bool *heard;
    bool *doubtful; /* set for those that are named; `count` of them */
    uint32_t count;
} kf_doubts;

/* Compares all outputs of the listed sets, whose truth is there. The baseline's add to what is
 * known of its errors; when the baseline itself is wrong, that is a finding against the task. The
 * candidate's mismatches become findings. *passed tells. With `doubts` (NULL: none are allowed)
 * errors that are only too large beside the baseline's are no findings yet, unless it was heard:
 * the sets are named, nothing else is noted, and the caller lets the baseline run on their inputs
 * and asks again. */
bool kf_checker_compare(kf_checker *checker, kf_sets *sets, const kf_set_variation *variations,
                        const uint32_t *list, uint32_t count, bool baseline, kf_doubts *doubts,
                        bool *passed, kf_error *error);

/* From now on what the device's sums say is wrong beyond doubt, where no doubts are allowed, makes
 * *passed false and no finding. For words an output is brought to the host and looked through,
 * which takes seconds for a gigabyte, and whoever asks the same of other inputs again has them
 * already. */
void kf_checker_be_brief(kf_checker *checker, bool brief);

/* Words for damage: a finding against the candidate. */
bool kf_checker_damage(kf_checker *checker, const kf_damage *damage);

#endif
