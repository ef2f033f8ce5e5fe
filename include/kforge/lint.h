/* Lint: what is wrong with a task that loads, and what would make it easy to cheat on.
 *
 * Two pure parts. kf_task_lint_static reads the task alone. kf_lint_outputs looks at what the
 * oracle gave for several inputs and decides whether a shortcut — zeros, a copy of an input, the
 * mean, a table — would pass, whether outputs are nearly constant and whether inputs matter.
 * Running the oracle is the caller's part. Thread-safe; neither prints: findings go to a callback.
 *
 * An error means that the task can't tell a right candidate from a wrong one: `kforge task lint`
 * refuses it. A warning is advice.
 */
#ifndef KFORGE_LINT_H
#define KFORGE_LINT_H

#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/task.h"

typedef enum kf_lint_severity { KF_LINT_ERROR, KF_LINT_WARNING } kf_lint_severity;

/* Borrowed for the duration of the callback, but for `rule`, which is static. */
typedef struct kf_lint_finding {
    kf_lint_severity severity;
    /* stable identifier: "workload.none_timed", "output.zeros", … (docs/reference/task-format.md
     * lists them) */
    const char *rule;
    const char *path;   /* field path in task.json, "arguments[2] (y)" */
    const char *text;   /* what was found, one line */
    const char *advice; /* what to do about it, one line */
} kf_lint_finding;

typedef void kf_lint_report(void *context, const kf_lint_finding *finding);

/* Memory in bytes that judging one workload may take on a device: two sets of buffers and the
 * oracle's outputs. */
typedef struct kf_lint_limits {
    uint64_t cpu_bytes, cuda_bytes;
} kf_lint_limits;
#define KF_LINT_CPU_BYTES ((uint64_t)512 << 20) /* a laptop, and a few seconds for the oracle */
#define KF_LINT_CUDA_BYTES ((uint64_t)8 << 30)  /* a small GPU */

/* Findings that need no execution. `limits` NULL: the two constants above. Returns the number of
 * errors among them. */
int kf_task_lint_static(const kf_task *task, const kf_lint_limits *limits, kf_lint_report *report,
                        void *context);

/* Thresholds, after the filters of robust-kbench (SakanaAI): an output within ±0.01, a standard
 * deviation below 0.01 along an axis or over seeds. They are absolute where the tolerance is
 * (allclose), and then errors. Under the other tolerances the scale of an output does not matter to
 * the comparison, so the deviation is relative to the output's RMS, and a warning. */
#define KF_LINT_RANGE 0.01
#define KF_LINT_DEVIATION 0.01

/* One run of the oracle on one set of inputs. Arrays are indexed by argument and hold doubles
 * (64-bit integers beyond 2^53 lose bits, which is good enough here); everything is borrowed. */
typedef struct kf_lint_case {
    const kf_problem *problem;     /* the same workload and shapes for all cases of one call */
    const double *const *given;    /* inputs and inouts before the call; NULL for other kinds */
    const double *const *expected; /* outputs and inouts after it; NULL for other kinds */
    /* what the baseline gave for them; NULL where unknown: its error counts as one rounding */
    const double *const *baseline;
    /* the case that this one equals in all inputs but one, or -1: drawn independently */
    int base;
    int changed; /* that input's argument number, where base >= 0 */
} kf_lint_case;

/* Decides over at least one case; two or more independent ones make the rules about seeds possible,
 * and one changed case per input those about influence. A shortcut counts as passing when it passes
 * in every case. Returns the number of errors reported, or -1 when out of memory or when the cases
 * do not fit each other (error). */
int kf_lint_outputs(const kf_lint_case *cases, size_t count, kf_lint_report *report, void *context,
                    kf_error *error);

/* Every call that is timed is compared, so an oracle that takes more than KF_LINT_ORACLE_CALLS
 * calls of the baseline, and KF_LINT_ORACLE_SECONDS, leaves few calls to time and a wide interval:
 * a warning. Both in seconds a call. */
#define KF_LINT_ORACLE_CALLS 20
#define KF_LINT_ORACLE_SECONDS 0.005
void kf_lint_pace(const kf_problem *problem, double oracle, double baseline, kf_lint_report *report,
                  void *context);

#endif
