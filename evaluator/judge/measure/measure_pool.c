/* Which runners the pool starts ahead of need, and which it keeps for later jobs. */
#include "measure_internal.h"

void kf_measurement_expect_runners(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    bool strict = bench->options->strict_sandbox;
    char key[4400];
    size_t counts[KF_RUNNER_KINDS] = {0};
    counts[bench->kinds[KF_ROLE_CANDIDATE]] +=
        !(bench->round.candidate_runner && *bench->round.candidate_runner);
    counts[kf_measurement_kind(bench, KF_ROLE_BASELINE)] += !kf_runner_pool_can_serve(
        bench->pool, KF_ROLE_BASELINE, kf_measurement_key(bench, KF_ROLE_BASELINE, key), strict,
        bench->problem);
    counts[bench->kinds[KF_ROLE_ORACLE]] += !kf_runner_pool_can_serve(
        bench->pool, KF_ROLE_ORACLE, kf_measurement_key(bench, KF_ROLE_ORACLE, key), strict,
        bench->problem);
    for (int kind = 0; kind < KF_RUNNER_KINDS && !bench->options->asan; kind++)
        kf_runner_pool_expect(bench->pool, (kf_runner_kind)kind, strict, counts[kind]);
}

/* Comes when all buffers are mapped, because a driver that starts processes maps them slowly. The
 * pairs wait for these starts, which would disturb their times. */
void kf_measurement_expect_spares(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    bool strict = bench->options->strict_sandbox;
    if (bench->options->asan) return;
    if (bench->round.counts && bench->round.last)
        kf_runner_pool_expect(bench->pool, KF_RUNNER_COUNT, strict, 1);
    if (bench->round.spare)
        kf_runner_pool_expect(bench->pool, bench->kinds[KF_ROLE_CANDIDATE], strict,
                              bench->round.spare);
    /* The next job may have a task that this baseline's runner cannot serve. */
    if (bench->round.spare && bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH &&
        kf_measurement_kind(bench, KF_ROLE_BASELINE) == KF_RUNNER_TORCH)
        kf_runner_pool_expect(bench->pool, KF_RUNNER_TORCH, strict, 1);
}

/* Comes before the sets are made: the free memory decides how many sets have room for a truth, and
 * how much memory runners in Python get. */
void kf_measurement_make_room(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    char key[4400];
    kf_runner_pool_make_room(bench->pool, kf_measurement_key(bench, KF_ROLE_BASELINE, key),
                             bench->options->strict_sandbox, bench->problem);
}

/* On a processor a runner that starts disturbs the first measurement, the baseline alone. Starting
 * early gains no time there either, because the import of PyTorch needs the same processors. */
bool kf_measurement_await_starting(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (bench->device->slow_start || bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH)
        return true;
    kf_clock_pause(&bench->clock, kf_now());
    bool settled = kf_runner_pool_settle(bench->pool, true, error);
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, kf_now());
    return settled;
}

bool kf_measurement_await_spares(const kf_measurement *r, kf_error *error)
{
    return r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH ||
           kf_runner_pool_settle(r->bench->pool, true, error);
}

void kf_measurement_charge_lateness(kf_measurement *r)
{
    const kf_runner *runner = r->runners[CANDIDATE];
    kf_clock_charge_candidate(&r->bench->clock, runner ? kf_runner_late_seconds(runner) : 0);
}

/* They unmap their buffers first, because the next job needs that memory. */
void kf_measurement_keep_trusted(kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    kf_runner **runners[] = {&r->runners[BASELINE], &r->oracle};
    for (int i = 0; i < 2; i++) {
        char key[4400];
        kf_role role = i ? KF_ROLE_ORACLE : KF_ROLE_BASELINE;
        if (*runners[i] && kf_runner_unmap(*runners[i]) == KF_RUNNER_OK)
            kf_runner_pool_keep_trusted(bench->pool, role, kf_measurement_key(bench, role, key),
                                        bench->options->strict_sandbox, kf_steal(runners[i]));
    }
    if (r->history.stale)
        kf_runner_pool_unlearn(bench->pool, kf_task_hash(bench->task), bench->workload);
    else if (r->history.known.task[0] && !r->history.recalled)
        kf_runner_pool_learn(bench->pool, &r->history.known);
}

bool kf_measurement_keep_candidate(kf_measurement *r, kf_error *error)
{
    if (!r->bench->round.candidate_runner || r->bench->round.last) return true;
    kf_runner *runner = r->runners[CANDIDATE];
    kf_runner_event event = runner ? kf_runner_unmap(runner) : KF_RUNNER_OK;
    if (event != KF_RUNNER_OK)
        return kf_measurement_report(r, runner, KF_ROLE_CANDIDATE, event, 0,
                                     "unmapping its buffers", error);
    kf_measurement_charge_lateness(r);
    *r->bench->round.candidate_runner = kf_steal(&r->runners[CANDIDATE]);
    return true;
}
