/* Verdicts in a row that are the machine's fault: no compiler, a GPU whose device file is gone, a
 * full disk. One may be an accident; after KF_MACHINE_FAILURES in a row the next job would only use
 * up a budget and a reply that somebody paid for. Who hands out jobs counts for each of its workers
 * (agent/workers/workers.c: optimize and bench), and a worker of a folder for itself
 * (evaluator/worker/spool.c), since it would take the jobs of those that work. (Of kf_model; pure.)
 */
#ifndef KFORGE_FAULTS_H
#define KFORGE_FAULTS_H

#include "kforge/verdict.h"

#define KF_MACHINE_FAILURES 6
/* A flag of a fault: the same machine judged the task's own baseline well right behind it
 * (evaluator/worker/health_check.h). Such a fault is the job's own, whosever it is, and ends the
 * row; else three hostile candidates, each of which is tried twice, ended everybody's bench. A
 * worker asks from number KF_MACHINE_FAILURES_DOUBTED on. */
#define KF_MACHINE_HEALTH_CHECK "machine.works"
#define KF_MACHINE_FAILURES_DOUBTED 3

/* The machine had no judging to offer: judge_error, blamed on the machine. What was disturbed is
 * none, nor what was not measured since equal machine code was, nor what takes longer than a job
 * may: several large problems in a row say nothing about the next. */
bool kf_verdict_is_fault(const kf_verdict *verdict);
/* Counts a verdict; any other than a fault begins anew, and so does one that is flagged. False: it
 * was number `most` of the faults in *row; `error` says so, on which device and why. */
bool kf_machine_failures_count(int *row, int most, const kf_verdict *verdict, kf_error *error);

#endif
