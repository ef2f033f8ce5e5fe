#include "job_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "machine_failures.h"
#include "health_check.h"
#include "kforge/task.h"
#include "verdict_event.h"

bool kf_job_queue_open(kf_job_queue *queue, kf_judge *judge, kf_error *error)
{
    size_t most = kf_judge_jobs(judge);
    *queue =
        (kf_job_queue){.judge = judge, .most = most < KF_JOB_QUEUE_MAX ? most : KF_JOB_QUEUE_MAX};
    return pipe2(queue->built, O_CLOEXEC | O_NONBLOCK) == 0 ||
           kf_fail(error, KF_ERROR_MACHINE, "no pipe: %s", strerror(errno));
}

void kf_job_queue_close(kf_job_queue *queue)
{
    while (queue->count) kf_job_queue_remove(queue, queue->count - 1);
    close(queue->built[0]);
    close(queue->built[1]);
}

void kf_job_queue_add(kf_job_queue *queue, kf_job *job, void *mark)
{
    kf_error why;
    queue->jobs[queue->count++] =
        (kf_queued_job){.job = job,
                        .prepared = kf_judge_prepare(queue->judge, job, queue->built[1], &why),
                        .mark = mark};
}

int kf_job_queue_choose(kf_job_queue *queue)
{
    char drained[64];
    while (read(queue->built[0], drained, sizeof drained) > 0) continue;
    for (size_t i = 0; i < queue->count; i++)
        if (!queue->jobs[i].prepared || kf_prepared_is_built(queue->jobs[i].prepared))
            return (int)i;
    return queue->count == 1 ? 0 : -1;
}

static void write_event(kf_job_queue *queue, const kf_job *job, const kf_verdict *verdict)
{
    const kf_attempt_result result = kf_attempt_result_of(verdict);
    queue->verdicts++;
    if (!queue->events) return;
    cJSON *fields = cJSON_CreateObject();
    kf_event_number(fields, "step", (double)queue->verdicts);
    kf_event_text(fields, "job", job->id);
    kf_event_text(fields, "task", verdict->task);
    /* The agent that sent the job knows them. */
    kf_event_text(fields, "proposer", "");
    kf_event_text(fields, "model", "");
    kf_event_result(fields, &result);
    kf_event_write(queue->events, KF_EVENT_ATTEMPT, kf_event_stream_id(queue->events), fields);
}

kf_verdict *kf_job_queue_measure(kf_job_queue *queue, size_t at, const volatile int *stop,
                                 kf_error *error)
{
    kf_queued_job *h = &queue->jobs[at];
    kf_auto(kf_verdict) verdict =
        h->prepared ? kf_judge_measure(queue->judge, h->prepared, queue->count > 1, stop, error)
                    : kf_judge_run(queue->judge, h->job, stop, error);
    if (!verdict) return NULL;
    queue->faults = kf_verdict_is_fault(verdict) ? queue->faults + 1 : 0;
    if (queue->faults >= KF_MACHINE_FAILURES_DOUBTED &&
        kf_judge_health_check(queue->judge, h->job, stop)) {
        queue->faults = 0;
        if (!kf_verdict_add_flag(verdict, KF_MACHINE_HEALTH_CHECK)) {
            kf_fail_memory(error, "a verdict");
            return NULL;
        }
    }
    write_event(queue, h->job, verdict);
    return kf_steal(&verdict);
}

void kf_job_queue_remove(kf_job_queue *queue, size_t at)
{
    kf_prepared_free(queue->jobs[at].prepared);
    kf_job_free(queue->jobs[at].job);
    queue->count--;
    memmove(queue->jobs + at, queue->jobs + at + 1, (queue->count - at) * sizeof *queue->jobs);
}
