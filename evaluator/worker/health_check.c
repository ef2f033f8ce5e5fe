#include "health_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"

/* The limit of the build, and of the rest. A machine that needs longer for a baseline is unhealthy.
 */
#define SECONDS 30.0

static kf_job *make_job(const kf_job *like)
{
    kf_auto(kf_job) job =
        kf_job_of_baseline(KF_HEALTH_CHECK_ID, like->task, like->options.baseline, NULL);
    if (!job) return NULL;
    job->options.check_only = true;
    job->options.strict_sandbox = like->options.strict_sandbox;
    job->options.build_seconds = fmin(like->options.build_seconds, SECONDS);
    job->options.timeout_seconds = fmin(like->options.timeout_seconds, SECONDS);
    return kf_steal(&job);
}

bool kf_judge_health_check(kf_judge *judge, const kf_job *job, const volatile int *stop)
{
    kf_error why = {0};
    kf_auto(kf_job) known_good = make_job(job);
    kf_auto(kf_verdict) verdict = known_good ? kf_judge_run(judge, known_good, stop, &why) : NULL;
    return verdict && verdict->status == KF_CORRECT;
}
