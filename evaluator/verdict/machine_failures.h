/* Failures of the machine: their number in a row, and findings that it may have caused. Pure.
 *
 * A machine fails without a compiler, without a GPU's device file, or with a full disk. One failure
 * may be an accident. After KF_MACHINE_FAILURES in a row the next job would waste
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
/* A flag of a verdict, followed by ":N": what looks like an event from outside came in N fresh
 * processes in a row, so the candidate caused it. */
#define KF_FLAG_MACHINE_CLEARED "machine.cleared"
/* True if a compiler's output has words about a program that a signal ended, or about too little
 * memory or disk. May be NULL. A source can print them, so they are a reason to build again, and no
 * proof. */
bool kf_words_of_a_kill(const char *text);
bool kf_words_of_a_shortage(const char *text);
/* True if a finding may be the work of a signal from outside, or of too little memory on the
 * machine, by its rule and text. `log` is the compiler's output; may be NULL. Judges up to protocol
 * version 23 blamed the candidate or the task. */
bool kf_finding_may_be_outside(kf_status status, const char *rule, const char *text,
                               const char *log);
/* True if the verdict rests on one of these findings. False if it has KF_FLAG_MACHINE_CLEARED, or
 * already blames the machine. For `store check` and `store repair`. */
bool kf_verdict_is_doubtful_old(const kf_verdict *verdict);
/* Counts a verdict in *row. Any verdict that is not a failure, or has the flag above, sets *row to
 * 0. False if *row has reached `most`; the error has the device and the last failure. */
bool kf_machine_failures_count(int *row, int most, const kf_verdict *verdict, kf_error *error);

#endif
