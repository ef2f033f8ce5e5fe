#include "at_hand.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "works.h"

bool kf_at_hand_open(kf_at_hand *hand, kf_judge *judge, kf_error *error)
{
    size_t most = kf_judge_jobs(judge);
    *hand = (kf_at_hand){.judge = judge, .most = most < KF_AT_HAND_MOST ? most : KF_AT_HAND_MOST};
    return pipe2(hand->built, O_CLOEXEC | O_NONBLOCK) == 0 || kf_fail(error, KF_ERROR_MACHINE, "no pipe: %s", strerror(errno));
}

void kf_at_hand_close(kf_at_hand *hand)
{
    while (hand->count) kf_at_hand_let_go(hand, hand->count - 1);
    close(hand->built[0]);
    close(hand->built[1]);
}

void kf_at_hand_add(kf_at_hand *hand, kf_job *job, void *mark)
{
    kf_error why;
    hand->hands[hand->count++] =
        (kf_hand){.job = job, .prepared = kf_judge_prepare(hand->judge, job, hand->built[1], &why), .mark = mark};
}

int kf_at_hand_choose(kf_at_hand *hand)
{
    char drained[64];
    while (read(hand->built[0], drained, sizeof drained) > 0) continue;
    for (size_t i = 0; i < hand->count; i++)
        if (!hand->hands[i].prepared || kf_prepared_is_built(hand->hands[i].prepared)) return (int)i;
    return hand->count == 1 ? 0 : -1;
}

kf_verdict *kf_at_hand_measure(kf_at_hand *hand, size_t at, const volatile int *stop, kf_error *error)
{
    kf_hand *h = &hand->hands[at];
    kf_auto(kf_verdict) verdict = h->prepared ? kf_judge_measure(hand->judge, h->prepared, hand->count > 1, stop, error)
                                              : kf_judge_run(hand->judge, h->job, stop, error);
    if (!verdict) return NULL;
    hand->faults = kf_verdict_is_fault(verdict) ? hand->faults + 1 : 0;
    if (hand->faults >= KF_FAULTS_DOUBTED && kf_judge_works(hand->judge, h->job, stop)) {
        hand->faults = 0;
        if (!kf_verdict_add_flag(verdict, KF_MACHINE_WORKS)) {
            kf_fail(error, KF_ERROR_MEMORY, "out of memory for a verdict");
            return NULL;
        }
    }
    return kf_steal(&verdict);
}

void kf_at_hand_let_go(kf_at_hand *hand, size_t at)
{
    kf_prepared_free(hand->hands[at].prepared);
    kf_job_free(hand->hands[at].job);
    hand->count--;
    memmove(hand->hands + at, hand->hands + at + 1, (hand->count - at) * sizeof *hand->hands);
}
