#include "export_memory.h"

#include <inttypes.h>
#include <string.h>

#include "kforge/json.h"
#include "output.h"

#define WAIT_SECONDS 0.5

bool kf_memory_check_open(kf_memory_check *check, kf_store *store, const volatile int *interrupts,
                          kf_error *error)
{
    *check = (kf_memory_check){.store = store, .interrupts = interrupts};
    check->workers = kf_workers_open(NULL, 0, &(kf_workers_options){.device = "cpu"}, error);
    return check->workers || kf_fail_prefix(error, "--check-memory");
}

void kf_memory_check_close(kf_memory_check *check)
{
    kf_workers_close(check->workers);
    check->workers = NULL;
}

static kf_job *make_job(kf_memory_check *check, const kf_export_admission *asked, kf_task **task,
                        kf_error *error)
{
    kf_auto(cJSON) list = kf_json_parse(asked->flags, strlen(asked->flags), 0, "flags", error);
    const char *flags[KF_JOB_FLAGS];
    size_t count = 0;
    const cJSON *flag;
    char id[64];
    if (!list) return NULL;
    cJSON_ArrayForEach(flag, list)
    {
        if (cJSON_IsString(flag) && count < KF_JOB_FLAGS) flags[count++] = flag->valuestring;
    }
    check->jobs++;
    snprintf(id, sizeof id, "memory-%" PRId64, check->jobs);
    kf_job *job = kf_job_new(id, *task, asked->source, asked->size, flags, count, error);
    *task = NULL; /* the job owns it, also after a failure */
    if (job) job->options.asan = true;
    return job;
}

/* True if the source fails by its own fault. A source that the CPU device can't compile or finish
 * is not judged. */
static bool is_faulty(const kf_verdict *verdict)
{
    switch (verdict->status) {
    case KF_CRASH:
    case KF_LAUNCH_FAILURE:
    case KF_CONTRACT_VIOLATION:
    case KF_WRONG_RESULT:
    case KF_CHEATING: return verdict->blame == KF_BLAME_CANDIDATE;
    default: return false;
    }
}

bool kf_memory_check_admit(void *context, const kf_export_admission *asked, bool *admitted,
                           kf_error *error)
{
    kf_memory_check *check = context;
    __attribute__((cleanup(kf_workers_result_free))) kf_workers_result result = {0};
    kf_auto(kf_task) task = kf_stored_task(check->store, asked->task, error);
    *admitted = true;
    if (!task) return false;
    /* Solutions in Python have no sanitiser here. */
    if (kf_task_is_torch(task)) return check->unchecked++, true;
    kf_auto(kf_job) job = make_job(check, asked, &task, error);
    if (!job || !kf_workers_submit(check->workers, job, 1, error)) return false;
    int got;
    while ((got = kf_workers_wait(check->workers, WAIT_SECONDS, &result, error)) == 0)
        if (*check->interrupts) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    if (got < 0) return kf_fail_prefix(error, "--check-memory");
    if (result.outcome == KF_WORKERS_JUDGED && is_faulty(result.verdict))
        *admitted = false;
    else if (result.outcome == KF_WORKERS_JUDGED && result.verdict->status == KF_CORRECT)
        check->passed++;
    else
        check->unchecked++;
    return true;
}
