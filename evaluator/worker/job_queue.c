#include "job_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "machine_failures.h"
#include "health_check.h"

bool kf_job_queue_open(kf_job_queue *hand, kf_judge *judge, kf_error *error)
{
    size_t most = kf_judge_jobs(judge);
    *hand =
        (kf_job_queue){.judge = judge, .most = most < KF_JOB_QUEUE_MAX ? most : KF_JOB_QUEUE_MAX};
    return pipe2(hand->built, O_CLOEXEC | O_NONBLOCK) == 0 ||
           kf_fail(error, KF_ERROR_MACHINE, "no pipe: %s", strerror(errno));
}

void kf_job_queue_close(kf_job_queue *hand)
{
    while (hand->count) kf_job_queue_let_go(hand, hand->count - 1);
    close(hand->built[0]);
    close(hand->built[1]);
}

void kf_job_queue_add(kf_job_queue *hand, kf_job *job, void *mark)
{
    kf_error why;
    hand->hands[hand->count++] =
        (kf_hand){.job = job,
                  .prepared = kf_judge_prepare(hand->judge, job, hand->built[1], &why),
                  .mark = mark};
}

int kf_job_queue_choose(kf_job_queue *hand)
{
    char drained[64];
    while (read(hand->built[0], drained, sizeof drained) > 0) continue;
    for (size_t i = 0; i < hand->count; i++)
        if (!hand->hands[i].prepared || kf_prepared_is_built(hand->hands[i].prepared))
            return (int)i;
    return hand->count == 1 ? 0 : -1;
}

kf_verdict *kf_job_queue_measure(kf_job_queue *hand, size_t at, const volatile int *stop,
                                 kf_error *error)
{
    kf_hand *h = &hand->hands[at];
    kf_auto(kf_verdict) verdict =
        h->prepared ? kf_judge_measure(hand->judge, h->prepared, hand->count > 1, stop, error)
                    : kf_judge_run(hand->judge, h->job, stop, error);
    if (!verdict) return NULL;
    hand->faults = kf_verdict_is_fault(verdict) ? hand->faults + 1 : 0;
    if (hand->faults >= KF_MACHINE_FAILURES_DOUBTED &&
        kf_judge_health_check(hand->judge, h->job, stop)) {
        hand->faults = 0;
        if (!kf_verdict_add_flag(verdict, KF_MACHINE_HEALTH_CHECK)) {
            kf_fail_memory(error, "a verdict");
            return NULL;
        }
    }
    return kf_steal(&verdict);
}

void kf_job_queue_let_go(kf_job_queue *hand, size_t at)
{
    kf_prepared_free(hand->hands[at].prepared);
    kf_job_free(hand->hands[at].job);
    hand->count--;
    memmove(hand->hands + at, hand->hands + at + 1, (hand->count - at) * sizeof *hand->hands);
}
