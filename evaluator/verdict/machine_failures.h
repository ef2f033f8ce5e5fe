/* Counts a machine's failures in a row: no compiler, a missing device file of a GPU, a full disk.
 * Pure.
 *
 * One failure may be an accident. After KF_MACHINE_FAILURES in a row the next job would waste
 * budget and replies. optimize and bench count for each worker (agent/workers/workers.c). A worker
 * of a spool folder counts its own (evaluator/worker/spool.c), because it would take jobs from
 * working machines. */
#ifndef KFORGE_MACHINE_FAILURES_H
#define KFORGE_MACHINE_FAILURES_H

#include "kforge/verdict.h"

#define KF_MACHINE_FAILURES 6
/* A flag of a failed job: right after it the machine judged the task's own baseline successfully
 * (evaluator/worker/health_check.h). The job then caused the failure, and the count starts again.
 * Without this check, three hostile candidates with two attempts each would end a bench. Workers
 * check from failure KF_MACHINE_FAILURES_DOUBTED on. */
#define KF_MACHINE_HEALTH_CHECK "machine.works"
#define KF_MACHINE_FAILURES_DOUBTED 3

/* True if the machine could not judge: KF_JUDGE_ERROR, blamed on the machine. False for a disturbed
 * measurement, for known machine code ("code.known"), and for a job beyond its time
 * ("time.budget"), because several large problems in a row say nothing about the next job. */
bool kf_verdict_is_fault(const kf_verdict *verdict);
/* Counts a verdict in *row. Any verdict that is not a failure, or has the flag above, sets *row to
 * 0. False if *row has reached `most`; the error has the device and the last failure. */
bool kf_machine_failures_count(int *row, int most, const kf_verdict *verdict, kf_error *error);

#endif
