/* What follows from the kinds of the device and of the programs. */
#include "measure_internal.h"

/* Only calls of the baseline shorter than this get priming calls. In longer ones the cost of cold
 * code does not show. */
#define PRIMED_CALL 0.02

kf_runner_kind kf_measurement_kind(const kf_workbench *bench, kf_role role)
{
    return role == KF_ROLE_BASELINE && bench->programs.compiled ? KF_RUNNER_COMPILED
                                                                : bench->kinds[role];
}

bool kf_measurement_has_python(const kf_measurement *r)
{
    const kf_runner_kind *kinds = r->bench->kinds;
    return kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH ||
           kinds[KF_ROLE_BASELINE] == KF_RUNNER_TORCH;
}

bool kf_measurement_separates_batches(const kf_measurement *r)
{
    return r->bench->device->slow_start && !r->bench->device->calls_block;
}

bool kf_measurement_needs_priming(const kf_measurement *r, kf_side side)
{
    if (!kf_measurement_separates_batches(r) || r->schedule.baseline_call > PRIMED_CALL)
        return false;
    return r->bench->kinds[side == BASELINE ? KF_ROLE_BASELINE : KF_ROLE_CANDIDATE] ==
           KF_RUNNER_TORCH;
}

bool kf_measurement_shares_buffers(const kf_measurement *r)
{
    const kf_buffer_operations *buffers = &r->device->buffers;
    return buffers->sides_share && buffers->sides_share(r->sets);
}

bool kf_measurement_fetches_all(const kf_measurement *r)
{
    const kf_runner_kind *kinds = r->bench->kinds;
    return !kf_measurement_separates_batches(r) && kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH &&
           kinds[KF_ROLE_BASELINE] == KF_RUNNER_TORCH;
}
