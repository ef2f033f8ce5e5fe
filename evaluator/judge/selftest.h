/* The self-test: cheating and odd but honest candidates through the ordinary judge, to see that
 * each gets the verdict that its file asks for.
 *
 *   FOLDER/selftest/TASK/task.json   small, quick tasks
 *   FOLDER/hostile/TASK/NAME.cu      candidates that must not pass as something better than they
 * are FOLDER/honest/TASK/NAME.cu       candidates that must not be accused
 *
 * What a file asks for is in its leading comment lines:
 *   // One sentence on what it does.
 *   // rule: T8                                 the cheat it is a construction of
 * (docs/internals/trust.md lists them); free text for honest ones
 *   // expect: STATUS RULE | STATUS RULE …      any of these; RULE is that of the first finding and
 * is left out for `correct`
 *   // expect-cuda: …                           instead of `expect`, on a GPU
 *   // devices: cpu                             only there (cpu or cuda)
 *   // needs: landlock                         only with this layer of the sandbox, or namespaces;
 * "landlock | namespaces" asks for one of them
 *   // mode: timed                              timed as `eval` does; otherwise only checked, which
 * is quicker
 *   // says: overflow                          a part of the verdict's message or
 * of its next step
 *   // suspects: state.skips_work               the rule after the flag "suspected:", or nothing
 *   // at-most: 1.3                             timed and correct, it must not seem faster than
 * that, in throughput or latency
 *
 * A case is measured once more, for longer and in fresh processes, if it seemed too fast, if the
 * machine was at fault, or if it is hostile, timed and was not noticed. Then the second verdict
 * counts. A new case is added by dropping in a file.
 */
#ifndef KFORGE_SELFTEST_H
#define KFORGE_SELFTEST_H

#include <stdbool.h>

#include "kforge/error.h"
#include "kforge/judge.h"

/* Valid during the callback. */
typedef struct kf_selftest_case {
    bool hostile;
    const char *task, *name, *about, *rule, *expected;
    bool passed;
    /* The result. `finding` is "" without one. */
    const char *status, *finding;
    const kf_verdict *verdict;
    /* `verdict` is that of a second measurement. */
    bool again;
    /* that it held the judge, without waits for the timing of other processes, and that it may: the
     * limits of build and job, and 2 s to end it */
    double seconds, limit;
    /* its number from 1, and how many there are */
    size_t number, total;
} kf_selftest_case;

typedef void kf_selftest_report(void *context, const kf_selftest_case *row);

typedef struct kf_selftest_summary {
    /* Hostile cases, and those with an expected verdict. */
    int hostile, caught;
    int honest, accepted; /* honest cases, ditto */
    /* Cases that the device, the sandbox, the filter or the part excludes. */
    int skipped;
    /* Cases that took longer than allowed. */
    int late;
    /* Cases that were measured a second time. */
    int again;
    double seconds, longest;
} kf_selftest_summary;

/* Timed cases need the machine to themselves. Other cases may run next to other programs. */
typedef enum kf_selftest_part {
    KF_SELFTEST_ALL,
    KF_SELFTEST_CHECKED,
    KF_SELFTEST_TIMED
} kf_selftest_part;

/* Returns $KFORGE_SELFTEST or ROOT/share/kforge. The caller frees it. NULL if it is missing. */
char *kf_selftest_folder(kf_error *error);

/* Returns the names of the tasks in the folder, malloc'd: "axpy, gemm". NULL with the error. */
char *kf_selftest_tasks(const char *folder, kf_error *error);

/* Runs every case of the part with `filter` in its path (NULL: all). False for an unreadable
 * folder, a file without its lines or a task that does not load (KF_ERROR_INPUT, with the file's
 * name), and after an interruption (KF_ERROR_BUSY). A candidate's behaviour is never an error. */
bool kf_selftest_run(kf_judge *judge, const char *folder, kf_selftest_part part, const char *filter,
                     kf_selftest_report *report, void *context, const volatile int *stop,
                     kf_selftest_summary *summary, kf_error *error);

#endif
