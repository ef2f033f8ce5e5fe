/* Does this machine judge? Asked of one that failed several jobs in a row: a candidate that looks
 * like a broken machine is the exception, a broken machine is one for all candidates. So the task's
 * own baseline is judged as a candidate, from its build to the comparison with the oracle. */
#ifndef KFORGE_WORKS_H
#define KFORGE_WORKS_H

#include "kforge/judge.h"

#define KF_HEALTH_CHECK_ID "known-good" /* of that job */

/* True: the baseline of the job's task, which nobody trusts here more than another candidate, came
 * out correct just now. False: it did not, or can't be asked (a library that candidates have not, a
 * stop). */
bool kf_judge_health_check(kf_judge *judge, const kf_job *job, const volatile int *stop);

#endif
