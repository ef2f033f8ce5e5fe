/* Results: fetching them, the truth from the oracle, comparing both, and running the baseline on
 * doubtful sets. */
#include <math.h>
#include <string.h>

#include "measure_internal.h"

bool kf_measurement_fetch(kf_measurement *r, kf_side side, const uint32_t *list, uint32_t count,
                          kf_error *error)
{
    kf_runner *runner = r->runners[side];
    kf_role role = side == CANDIDATE ? KF_ROLE_CANDIDATE : KF_ROLE_BASELINE;
    kf_workbench *bench = r->bench;
    kf_fetch_fault fault;
    if (!kf_runner_is_python(kf_runner_kind_of(runner))) return true;
    if (!r->device->python.fetch(r->sets, runner, role, list, count, r->lists.chosen, &fault,
                                 error))
        return false;
    if (!fault.rule[0]) return true;
    if (fault.machine)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "%s. The judge reads results of PyTorch with process_vm_readv: allow user "
                       "namespaces, or add --cap-add SYS_PTRACE to a container",
                       fault.text);
    r->over = true;
    bool candidate = role == KF_ROLE_CANDIDATE;
    return kf_verdict_add_finding(bench->verdict, bench->result,
                                  candidate ? KF_CONTRACT_VIOLATION : KF_JUDGE_ERROR,
                                  candidate ? KF_BLAME_CANDIDATE : KF_BLAME_TASK,
                                  candidate ? fault.rule : "baseline.failed", NAN, NAN, "%s%s",
                                  candidate ? "" : "the task's baseline: ", fault.text) != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Returns for how many sets the truth can be there at the same time. */
static uint32_t truth_room(const kf_measurement *r)
{
    return r->device->buffers.truth_room ? r->device->buffers.truth_room(r->sets) : r->set_count;
}

bool kf_measurement_find_truth(kf_measurement *r, const uint32_t *list, uint32_t count,
                               kf_error *error)
{
    kf_autofree uint32_t *missing = calloc(count + 1, sizeof *missing);
    uint32_t used = 0;
    if (count > truth_room(r)) return true; /* kf_measurement_compare asks again, for fewer */
    if (!missing) return kf_fail_memory(error, "a measurement");
    for (uint32_t i = 0; i < count; i++)
        if (!r->lists.true_known[list[i]]) missing[used++] = list[i];
    if (!used) return true;
    if (!r->device->buffers.prepare_truth(r->sets, missing, used, error)) return false;
    kf_batch batch = {
        .order = missing, .count = used, .timeout = 60 + r->bench->options->timeout_seconds};
    kf_runner_event event = kf_runner_batch(r->oracle, &batch);
    if (event != KF_RUNNER_OK)
        return kf_measurement_report(r, r->oracle, KF_ROLE_ORACLE, event, batch.code,
                                     "running a call", error);
    if (truth_room(r) < r->set_count)
        memset(r->lists.true_known, 0, r->set_count * sizeof *r->lists.true_known);
    for (uint32_t i = 0; i < used; i++) r->lists.true_known[missing[i]] = true;
    return true;
}

bool kf_measurement_compare(kf_measurement *r, kf_side side, const uint32_t *list, uint32_t count,
                            kf_doubts *doubts, kf_error *error)
{
    bool passed = true;
    uint32_t room = truth_room(r);
    kf_runner_pool_resume(r->bench->pool);
    kf_measurement_turn_to(r, side);
    if (!kf_measurement_fetch(r, side, list, count, error)) return false;
    for (uint32_t first = 0; first < count && passed && !r->over; first += room) {
        uint32_t some = count - first < room ? count - first : room;
        if (room < r->set_count &&
            (!kf_measurement_find_truth(r, list + first, some, error) || r->over))
            return r->over;
        if (!kf_checker_compare(r->checker, r->sets, r->lists.variations, list + first, some,
                                side == BASELINE, doubts, &passed, error))
            return false;
    }
    if (!passed) r->over = true;
    return true;
}

bool kf_measurement_find_wrong(kf_measurement *r, const uint32_t *list, uint32_t count, bool *wrong,
                               kf_error *error)
{
    uint32_t room = truth_room(r);
    kf_runner_pool_resume(r->bench->pool);
    if (!kf_measurement_fetch(r, CANDIDATE, list, count, error)) return false;
    for (uint32_t first = 0; first < count && !*wrong && !r->over; first += room) {
        uint32_t some = count - first < room ? count - first : room;
        if (!kf_measurement_find_truth(r, list + first, some, error) || r->over) return r->over;
        if (!kf_checker_find_wrong(r->checker, r->sets, r->lists.variations, list + first, some,
                                   wrong, error))
            return false;
    }
    return true;
}

static bool among(uint32_t set, const uint32_t *list, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (list[k] == set) return true;
    return false;
}

static void drop(uint32_t set, uint32_t *list, uint32_t *count)
{
    uint32_t k = 0;
    while (list[k] != set) k++;
    list[k] = list[--*count];
}

/* Returns the place in the order of a set with outputs that may be overwritten, or r->set_count
 * without one. A set that is no longer compared comes first, from the end of the order. The next
 * choice is a set that has passed, which leaves the list. The last choice is another doubtful set,
 * which is then not judged in this pair. */
static uint32_t find_overwritable(const kf_measurement *r, uint32_t doubtful,
                                  const kf_doubts *doubts, uint32_t *list, uint32_t *count)
{
    uint32_t found = r->set_count, worth = 0;
    for (uint32_t at = r->set_count; at-- > 0 && worth < 3;) {
        uint32_t set = r->lists.order[at], now = !among(set, list, *count) ? 3
                                                 : !doubts->doubtful[set]  ? 2
                                                 : set != doubtful         ? 1
                                                                           : 0;
        if (now > worth) found = at, worth = now;
    }
    if (worth == 1 || worth == 2) drop(r->lists.order[found], list, count);
    return found;
}

bool kf_measurement_run_baseline_on(kf_measurement *r, uint32_t doubtful, kf_doubts *doubts,
                                    uint32_t *list, uint32_t *count, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    uint32_t at = find_overwritable(r, doubtful, doubts, list, count);
    r->lists.baseline_ran[doubtful] = true;
    /* There is only one set: earlier errors of the baseline have to suffice. */
    if (at == r->set_count) return true;
    uint32_t other = r->lists.order[at];
    doubts->doubtful[other] = false;
    for (int i = 0; i < problem->argument_count; i++) {
        kf_argument_kind kind = problem->arguments[i].kind;
        if ((kind == KF_INPUT || kind == KF_INOUT) &&
            !r->device->buffers.copy_input(r->sets, doubtful, other, i, error))
            return false;
    }
    kf_batch batch;
    r->lists.variations[other] = r->lists.variations[doubtful];
    r->lists.true_known[other] = false;
    if (!kf_measurement_batch(r, BASELINE, at, 1, 0, -1, &batch, error)) return false;
    /* Buffers of its own are not as before a batch now, since nothing was poisoned. */
    if (!r->device->buffers.turn_to && !kf_measurement_inspect(r, BASELINE, error)) return false;
    if (r->over || !kf_measurement_find_truth(r, &other, 1, error)) return r->over;
    return r->over || kf_measurement_compare(r, BASELINE, &other, 1, NULL, error);
}
