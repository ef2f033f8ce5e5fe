#include "health_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"

/* The limit of the build, and of the rest. A machine that needs longer for a baseline is unhealthy.
 */
#define SECONDS 30.0

/* Returns the baseline's source as a candidate's: a problem file for PyTorch defines Model, and a
 * solution ModelNew. The caller frees it. */
static char *as_candidate(const kf_task_file *baseline)
{
    char *text = NULL;
    const char *solution =
        baseline->kind == KF_SOURCE_TORCH ? "\n\nclass ModelNew(Model):\n    pass\n" : "";
    return asprintf(&text, "%.*s%s", (int)baseline->size, baseline->text, solution) < 0 ? NULL
                                                                                        : text;
}

static kf_job *make_job(const kf_job *like)
{
    kf_auto(cJSON) bundle = kf_task_bundle(like->task);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, NULL) : NULL;
    if (!task) return NULL;
    const char *name = like->options.baseline;
    const kf_task_file *baseline =
        name ? kf_task_baseline_named(task, name) : kf_task_baseline(task);
    kf_autofree char *source = baseline ? as_candidate(baseline) : NULL;
    if (!source) {
        kf_task_free(task);
        return NULL;
    }
    bool torch = baseline->kind == KF_SOURCE_TORCH;
    kf_auto(kf_job) job =
        kf_job_new(KF_HEALTH_CHECK_ID, task, source, strlen(source), NULL, 0, NULL);
    if (!job || (name && !(job->options.baseline = strdup(name)))) return NULL;
    job->options.torch = torch;
    job->options.kernelbench = false;
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
