/* Decides if several faults of the machine in a row come from the machine or from the candidates. A
 * broken machine fails for every candidate. So the check judges the task's own baseline as a
 * candidate, from its build to the comparison with the oracle. */
#ifndef KFORGE_HEALTH_CHECK_H
#define KFORGE_HEALTH_CHECK_H

#include "kforge/judge.h"

/* The id of that job. */
#define KF_HEALTH_CHECK_ID "known-good"

/* True if the baseline of the job's task is judged correct now. False also if the check cannot run:
 * the baseline uses a library that candidates do not have, or `stop` is set. */
bool kf_judge_health_check(kf_judge *judge, const kf_job *job, const volatile int *stop);

#endif
