/* Compares outputs with the truth, and varies inputs so that shortcuts fail the comparison. */
#ifndef KFORGE_CHECK_OUTPUTS_H
#define KFORGE_CHECK_OUTPUTS_H

#include "kforge/compare.h"
#include "measure.h"

/* The advice in a mismatch on larger inputs. */
#define KF_OVERFLOW_REMEDY                                                                       \
    ". Larger inputs give NaN or infinity where the right value is finite: an overflow. Before " \
    "exp, subtract the maximum"

/* Knows the baseline's own errors, by output and by class of input (which argument was varied, and
 * how). */
typedef struct kf_checker kf_checker;

kf_checker *kf_checker_new(kf_workbench *bench);
void kf_checker_free(kf_checker *checker);
KF_DEFINE_AUTO(kf_checker, kf_checker_free)
/* From now on outputs of a set that the comparison refuses are right if `accepts` says so: the
 * task's own check (measure_check.c). */
typedef bool kf_checker_accepts(void *context, uint32_t set, bool *accepted, kf_error *error);
void kf_checker_ask(kf_checker *checker, kf_checker_accepts *accepts, void *context);

#define KF_ALL_SETS UINT32_MAX

/* Decides how each of `count` sets is varied, in the order in which they will be called. Every
 * other set is varied, each in its own way, until all ways have been used. Sets after the first
 * `called` may not be called, so chance decides how they are varied. Chance also decides whether
 * the first set is varied. If `known` is false, it is the opposite of the time before. If `known`
 * is true, only variations are used for which the baseline's errors are known. Of the first two
 * times with several `called` sets and `known` false, one scales inputs down if a variation can.
 *
 * At most `changing` sets get data on which an honest program may be much faster or slower
 * (kf_variation_changes_speed). */
void kf_checker_vary(kf_checker *checker, kf_choices *choices, const uint32_t *order,
                     uint32_t called, uint32_t count, bool known, uint32_t changing,
                     kf_set_variation *variations);

/* Sets with larger errors than the baseline has shown, on inputs that it has not run on. The
 * arrays, by set, belong to the caller. */
typedef struct kf_doubts {
    /* The baseline has run on these very inputs: too large an error there is wrong. */
    const bool *baseline_ran;
    /* true for `count` sets */
    bool *doubtful;
    uint32_t count;
} kf_doubts;

/* Compares all outputs of the listed sets, which have their truth. The baseline's errors add to
 * what is known of them. A wrong baseline is a finding against the task. A wrong candidate is a
 * finding against it. *passed is false if an output is wrong.
 *
 * With `doubts`, errors that are only larger than the baseline's are no findings yet, unless the
 * baseline has run on the same inputs. Then this function only names the sets. The caller runs the
 * baseline on their inputs and compares again. */
bool kf_checker_compare(kf_checker *checker, kf_sets *sets, const kf_set_variation *variations,
                        const uint32_t *list, uint32_t count, bool baseline, kf_doubts *doubts,
                        bool *passed, kf_error *error);

/* Compares the candidate's outputs of the listed sets, and adds no finding. *wrong is true if an
 * output is off by more than another order of summation could explain. */
bool kf_checker_find_wrong(kf_checker *checker, kf_sets *sets, const kf_set_variation *variations,
                           const uint32_t *list, uint32_t count, bool *wrong, kf_error *error);

/* Returns what is known of the baseline's errors in an output under this variation. The caller adds
 * the change of expected values (compare.h, "Long sums"). NULL for outputs that do not need it. */
kf_error_sums *kf_checker_sums(kf_checker *checker, int argument, kf_set_variation variation);

/* From now on an output that the device's sums show to be wrong only sets *passed to false, without
 * a finding, if no doubts are allowed. A finding needs the output on the host, which takes seconds
 * for a gigabyte. A caller that repeats a comparison on other inputs already has a finding. */
void kf_checker_be_brief(kf_checker *checker, bool brief);

/* Notes which outputs of the sets the candidate has written since they were poisoned. */
void kf_checker_note_written(kf_checker *checker, kf_sets *sets, uint32_t count);

/* Adds a finding about damage against the candidate. False without memory. */
bool kf_checker_damage(kf_checker *checker, const kf_damage *damage);

#endif
