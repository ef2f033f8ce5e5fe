/* Lint: faults of a task that loads, and shortcuts that its check would not catch.
 *
 * Two pure parts. kf_task_lint_static reads the task alone. kf_lint_outputs reads the oracle's
 * outputs for several inputs. It decides whether a shortcut passes (zeros, a copy of an input, the
 * mean, a table), whether outputs are nearly constant, and whether inputs matter. The caller runs
 * the oracle. Both are thread-safe and report findings to a callback.
 *
 * An error means that the task accepts a wrong candidate; `kforge task lint` refuses it. A warning
 * is advice.
 */
#ifndef KFORGE_LINT_H
#define KFORGE_LINT_H

#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/task.h"

typedef enum kf_lint_severity { KF_LINT_ERROR, KF_LINT_WARNING } kf_lint_severity;

/* Borrowed for the callback, except `rule`, which is static. */
typedef struct kf_lint_finding {
    kf_lint_severity severity;
    /* stable identifier: "workload.none_timed", "output.zeros", … (docs/reference/task-format.md
     * lists them) */
    const char *rule;
    /* field path in task.json, "arguments[2] (y)" */
    const char *path;
    /* the fault, one line */
    const char *text;
    /* the remedy, one line */
    const char *advice;
} kf_lint_finding;

typedef void kf_lint_report(void *context, const kf_lint_finding *finding);

/* Memory in bytes that judging one workload may take on a device: two sets of buffers and the
 * oracle's outputs. */
typedef struct kf_lint_limits {
    uint64_t cpu_bytes, cuda_bytes;
} kf_lint_limits;
/* for a laptop, and a few seconds of the oracle */
#define KF_LINT_CPU_BYTES ((uint64_t)512 << 20)
/* for a small GPU */
#define KF_LINT_CUDA_BYTES ((uint64_t)8 << 30)

/* Reports findings that need no execution. `limits` NULL: the two constants above. Returns the
 * number of errors. */
int kf_task_lint_static(const kf_task *task, const kf_lint_limits *limits, kf_lint_report *report,
                        void *context);

/* Thresholds after the filters of robust-kbench (SakanaAI): an output within ±0.01, a standard
 * deviation below 0.01 along an axis or over seeds. With an absolute tolerance (allclose) they are
 * absolute, and errors. With other tolerances the scale of an output does not matter, so the
 * deviation is relative to the output's RMS, and a warning. */
#define KF_LINT_RANGE 0.01
#define KF_LINT_DEVIATION 0.01

/* One run of the oracle on one set of inputs. Arrays are indexed by argument and hold doubles
 * (64-bit integers beyond 2^53 lose bits, which is exact enough here). All is borrowed. */
typedef struct kf_lint_case {
    /* the same workload and shapes in all cases of a call */
    const kf_problem *problem;
    /* inputs and inouts before the call; NULL for other kinds */
    const double *const *given;
    /* outputs and inouts after it; NULL for other kinds */
    const double *const *expected;
    /* the baseline's outputs; NULL if unknown: its error then counts as one rounding */
    const double *const *baseline;
    /* the case that equals this one in all inputs but one; -1: drawn independently */
    int base;
    /* number of that input's argument, if base >= 0 */
    int changed;
} kf_lint_case;

/* Reports findings from at least one case. Rules about seeds need two independent cases, rules
 * about influence one changed case for each input. A shortcut passes if it passes in every case.
 * Returns the number of errors, or -1 with the error set: out of memory, or cases that do not fit
 * each other. */
int kf_lint_outputs(const kf_lint_case *cases, size_t count, kf_lint_report *report, void *context,
                    kf_error *error);

/* Limits for the oracle. The judge compares every timed call with the oracle. If the oracle takes
 * more than KF_LINT_ORACLE_CALLS calls of the baseline and more than KF_LINT_ORACLE_SECONDS, few
 * calls are timed and the interval is wide. */
#define KF_LINT_ORACLE_CALLS 20
#define KF_LINT_ORACLE_SECONDS 0.005
/* Reports a warning if the oracle is above these limits. Both times are seconds a call. */
void kf_lint_pace(const kf_problem *problem, double oracle, double baseline, kf_lint_report *report,
                  void *context);

#endif
