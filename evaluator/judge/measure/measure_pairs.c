/* A pair: one batch of each side on the same sets, and single calls for latency (steps 4 and 5 in
 * measure.c). */
#include "measure_internal.h"

#include <math.h>
#include <string.h>

/* In a batch of so many calls one may be much slower than the others. */
#define FEW_CALLS 3
/* So many pairs may be repeated because results seemed to change after the clock. */
#define LATE_PAIRS 2

/* Draws new inputs for one set, for a call of that side. */
static bool redraw(kf_measurement *r, kf_side side, uint32_t set, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    for (int i = 0; i < problem->argument_count; i++) {
        kf_argument_kind kind = problem->arguments[i].kind;
        if ((kind == KF_INPUT || kind == KF_INOUT) &&
            !r->device->buffers.copy_input(r->sets, KF_FRESH_INPUT, set, i, error))
            return false;
    }
    r->lists.true_known[set] = false;
    if (!kf_measurement_turn_to(r, side, error)) return false;
    r->device->buffers.cache_flush(r->sets, &set, 1);
    return true;
}

/* Runs the baseline on some of the doubtful sets, and compares again, which leaves the other
 * doubtful sets. A wrong candidate usually fails on the first of them. A candidate with larger, but
 * allowed errors has many of them, if it is so fast that its batch has all kinds of inputs. */
#define RUNS_AT_A_TIME 3
static bool settle_doubts(kf_measurement *r, kf_doubts *doubts, uint32_t *compared, kf_error *error)
{
    uint32_t ran = 0;
    for (uint32_t set = 0; set < r->set_count && ran < RUNS_AT_A_TIME && !r->over; set++) {
        if (!doubts->doubtful[set]) continue;
        if (!kf_measurement_run_baseline_on(r, set, doubts, r->lists.list, compared, error))
            return false;
        ran++;
    }
    if (r->over) return true;
    doubts->count = 0;
    memset(r->lists.doubtful, 0, r->set_count * sizeof *r->lists.doubtful);
    return kf_measurement_compare(r, CANDIDATE, r->lists.list, *compared, doubts, error);
}

static bool fill(kf_measurement *r, const kf_pair_plan *plan, kf_error *error)
{
    kf_runner_pool_resume(r->bench->pool);
    return r->device->buffers.fill(r->sets, kf_measurement_draw(r, "inputs", plan->serial),
                                   r->lists.variations, error);
}

static uint64_t secret_of_side(const kf_measurement *r, const kf_pair_plan *plan, kf_side side)
{
    return kf_measurement_draw(r, side == BASELINE ? "inputs/b" : "inputs/c", plan->serial);
}

/* Fills all sets with inputs of that side alone. */
static bool fill_side(kf_measurement *r, const kf_pair_plan *plan, kf_side side, kf_error *error)
{
    memset(r->lists.true_known, 0, r->set_count * sizeof *r->lists.true_known);
    return r->device->buffers.fill(r->sets, secret_of_side(r, plan, side), r->lists.variations,
                                   error);
}

/* Fills all sets with inputs that no timed batch uses. They are not varied, because that would show
 * how the next inputs are. */
static bool fill_decoys(kf_measurement *r, const kf_pair_plan *plan, kf_error *error)
{
    kf_autofree kf_set_variation *none = calloc(r->set_count, sizeof *none);
    if (!none) return kf_fail_memory(error, "a measurement");
    for (uint32_t i = 0; i < r->set_count; i++) none[i].argument = -1;
    return r->device->buffers.fill(r->sets, kf_measurement_draw(r, "decoys", plan->serial), none,
                                   error);
}

/* Does all that comes before a side's batch, on a device that is occupied meanwhile
 * (measure_occupy.c). A candidate's priming call has decoys. The
 * inputs of a baseline with a priming call are no secret, because no other side has them. If the
 * candidate has no priming call, that of the baseline comes right before its batch. */
static bool prepare_occupied(kf_measurement *r, const kf_pair_plan *plan, kf_side side,
                             bool only_timed, double *priming_seconds, kf_error *error)
{
    uint32_t called = r->schedule.calls[side];
    bool needs_priming = plan->timed && kf_measurement_needs_priming(r, side);
    bool early = needs_priming && !kf_measurement_needs_priming(r, CANDIDATE);
    kf_runner_pool_resume(r->bench->pool);
    kf_measurement_memory_settle(r);
    if (early && !fill_side(r, plan, side, error)) return false;
    if (plan->timed && (!kf_measurement_empty_batch(r, side, called, error) || r->over))
        return r->over;
    if (needs_priming) {
        if (side == CANDIDATE && !fill_decoys(r, plan, error)) return false;
        if (!only_timed && !kf_measurement_refresh(r, plan->serial, side, called, error))
            return false;
        if (!kf_measurement_prime(r, side, priming_seconds, error) || r->over) return r->over;
    }
    if (!early && (!kf_measurement_make_inputs(r, secret_of_side(r, plan, side), error) ||
                   !kf_measurement_occupy(r, error) || !fill_side(r, plan, side, error)))
        return false;
    bool poisoned = needs_priming && !r->in_place; /* poison fills inouts */
    if (!(only_timed || poisoned ? kf_measurement_ready_baseline(r, plan->serial, called, error)
                                 : kf_measurement_refresh(r, plan->serial, side, called, error)))
        return false;
    if (!early) kf_measurement_probe(r, side);
    return true;
}

/* Does all that comes before a side's batch.
 *
 * A candidate's priming call works on inputs of the pair before, which it has seen, or on decoys if
 * it comes second. Then the inputs are drawn, a second time if the other side came first. They are
 * the same ones, except where the baseline ran on doubtful sets. Drawing takes milliseconds, in
 * which a processor loses part of what the priming call loaded. So both sides draw there. Only a
 * baseline paired with a candidate in CUDA C has its priming call right before the batch. */
static bool prepare(kf_measurement *r, const kf_pair_plan *plan, kf_side side, bool first,
                    bool only_timed, double *priming_seconds, kf_error *error)
{
    if (kf_measurement_occupies(r))
        return prepare_occupied(r, plan, side, only_timed, priming_seconds, error);
    uint32_t called = r->schedule.calls[side];
    bool needs_priming = plan->timed && kf_measurement_needs_priming(r, side);
    bool fills = needs_priming && kf_measurement_needs_priming(r, CANDIDATE);
    kf_measurement_memory_settle(r);
    if (first && !fills && !fill(r, plan, error)) return false;
    if (plan->timed && kf_measurement_separates_batches(r) &&
        (!kf_measurement_empty_batch(r, side, called, error) || r->over))
        return r->over;
    if (needs_priming) {
        if (side == CANDIDATE && !first && !fill_decoys(r, plan, error)) return false;
        if (!only_timed && !kf_measurement_refresh(r, plan->serial, side, called, error))
            return false;
        if (!kf_measurement_prime(r, side, priming_seconds, error) || r->over) return r->over;
        if (fills && !fill(r, plan, error)) return false;
        /* The set of a single call had other inputs. */
        if (fills) memset(r->lists.true_known, 0, r->set_count * sizeof *r->lists.true_known);
    }
    bool poisoned = needs_priming && !r->in_place; /* poison fills inouts */
    return only_timed || poisoned ? kf_measurement_ready_baseline(r, plan->serial, called, error)
                                  : kf_measurement_refresh(r, plan->serial, side, called, error);
}

/* True if a single call follows the batch, on a left-out set: for latency, and once after a batch
 * of one call, because results that share memory only show with two. */
static bool makes_single_call(const kf_measurement *r, const kf_pair_plan *plan, kf_side side)
{
    if (r->schedule.calls[side] > 1) return plan->latency;
    return plan->number == 0 && side == CANDIDATE && r->set_count > 1 &&
           r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH;
}

/* Makes a single call on the first left-out set. That set is cold, and the batch could not read its
 * inputs. A letter other than 0 makes the call a sample of that pair. */
static bool single_call(kf_measurement *r, kf_side side, char letter, int pair, kf_batch *single,
                        kf_error *error)
{
    uint32_t called = r->schedule.calls[side];
    if (side == CANDIDATE && (!kf_measurement_inspect(r, side, error) || r->over))
        return r->over; /* before the left-out set counts as called */
    if (!kf_measurement_make_fresh(r, r->lists.order + called, 1, error) ||
        !kf_measurement_occupy(r, error))
        return false;
    if (!redraw(r, side, r->lists.order[called], error)) return false;
    if (!kf_measurement_batch(r, side, called, 1, letter, pair, single, error)) return false;
    bool again = kf_measurement_separates_batches(r) && !kf_measurement_needs_priming(r, side) &&
                 side == BASELINE;
    return r->over || !again || kf_measurement_empty_again(r, error);
}

/* Adds a finding if results have changed since the clock stopped. A pair in which other work ran
 * before the clock does not count and is repeated (measure.c). So it convicts only after two such
 * pairs. */
static bool check_settled(kf_measurement *r, kf_error *error)
{
    kf_damage damage;
    if (!r->device->buffers.settled) return true;
    if (!r->device->buffers.settled(r->sets, &damage, error)) return false;
    if (damage.kind == KF_DAMAGE_NONE) return true;
    kf_occupations *seen = &r->occupations;
    bool repeats = seen->interrupted && !r->watching.watch && kf_measurement_time_left(r) > 0;
    if (repeats && (seen->late_pair || seen->late < LATE_PAIRS)) {
        seen->late += !seen->late_pair;
        seen->late_pair = true;
        return true;
    }
    r->over = true;
    return kf_checker_damage(r->checker, &damage) || kf_fail_memory(error, "a finding");
}

bool kf_measurement_check_results(kf_measurement *r, kf_side side, uint32_t called, kf_error *error)
{
    uint32_t compared = called;
    memcpy(r->lists.list, r->lists.order, compared * sizeof *r->lists.list);
    if (!kf_measurement_find_truth(r, r->lists.list, compared, error)) return false;
    /* Where all map the same buffers, the oracle must have read the inputs as they were filled.
     * What has changed since this side's inspection is the candidate's doing. */
    if (kf_measurement_shares_buffers(r) && !kf_measurement_inspect(r, CANDIDATE, error))
        return false;
    kf_doubts doubts = {.baseline_ran = r->lists.baseline_ran, .doubtful = r->lists.doubtful};
    memset(r->lists.baseline_ran, 0, r->set_count * sizeof *r->lists.baseline_ran);
    memset(r->lists.doubtful, 0, r->set_count * sizeof *r->lists.doubtful);
    /* Doubts are possible even where the baseline was compared. A faster candidate has more calls,
     * and its single call has inputs of its own. */
    if (!r->over && !kf_measurement_compare(r, side, r->lists.list, compared,
                                            side == CANDIDATE ? &doubts : NULL, error))
        return false;
    if (r->over || side == BASELINE) return true;
    if (!check_settled(r, error)) return false;
    if (r->over) return true;
    if (!kf_measurement_check_samples(r, error)) return false;
    while (doubts.count && !r->over)
        if (!settle_doubts(r, &doubts, &compared, error)) return false;
    return true;
}

bool kf_measurement_check_side(kf_measurement *r, kf_side side, uint32_t called, kf_error *error)
{
    return kf_measurement_inspect(r, side, error) &&
           (r->over || kf_measurement_check_results(r, side, called, error));
}

/* True if another call of the candidate follows its batch of one call, because results that share
 * memory only show with two calls. In the first pair a left-out set has that call already
 * (makes_single_call). */
static bool makes_second_call(const kf_measurement *r, const kf_pair_plan *plan, kf_side side)
{
    if (side == BASELINE || r->bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH ||
        r->schedule.calls[CANDIDATE] > 1)
        return false;
    if (r->set_count == 1 && !r->device->python.hold_results) return false;
    if (plan->number == 0) return r->set_count == 1;
    /* The candidate pays for it, and cannot know which pairs have it. */
    return !kf_task_allows_aliasing(r->bench->task) &&
           kf_measurement_draw(r, "second call", plan->number) % 4 == 0;
}

/* Makes that call, on a left-out set or on the only one. Later pairs compare no results of it: they
 * look only where its results lie. */
static bool second_call(kf_measurement *r, const kf_pair_plan *plan, kf_error *error)
{
    kf_batch batch;
    uint32_t at = r->set_count > 1 ? 1 : 0;
    if ((at == 0 && !r->device->python.hold_results(r->sets, r->lists.order, 1, error)) ||
        !kf_measurement_make_fresh(r, r->lists.order + at, 1, error) ||
        !kf_measurement_occupy(r, error) || !redraw(r, CANDIDATE, r->lists.order[at], error) ||
        !kf_measurement_batch(r, CANDIDATE, at, 1, KF_SECOND_CALL, -1, &batch, error))
        return false;
    if (r->over) return true;
    if (plan->number == 0) return kf_measurement_check_side(r, CANDIDATE, 1, error);
    return kf_measurement_inspect(r, CANDIDATE, error) &&
           (r->over || kf_measurement_fetch(r, CANDIDATE, r->lists.order + at, 1, error));
}

static bool one_side(kf_measurement *r, const kf_pair_plan *plan, kf_side side, bool first,
                     kf_pair_times *times, kf_error *error)
{
    kf_batch batch, single = {.seconds = NAN, .waking = NAN};
    char letter = side == BASELINE ? 'b' : 'c', latency_letter = side == BASELINE ? 'B' : 'C';
    int shown = plan->timed ? plan->number - 1 : -1;
    uint32_t called = r->schedule.calls[side];
    /* Its errors are known from the first pairs. */
    bool only_timed = side == BASELINE && !plan->baseline_compared;
    if (!prepare(r, plan, side, first, only_timed, &times->priming, error)) return false;
    if (r->over) return true;
    if (!kf_measurement_batch(r, side, 0, called, letter, shown, &batch, error)) return false;
    if (r->over) return true;
    if (side == BASELINE && plan->timed && r->bench->device->calls_block &&
        !kf_measurement_has_python(r))
        kf_series_append(&r->record, &r->record.overhead, batch.seconds - batch.claimed, 1,
                         batch.waking);
    if (makes_single_call(r, plan, side)) {
        if (!single_call(r, side, plan->latency ? latency_letter : 0, shown, &single, error))
            return false;
        if (r->over) return true;
        called++;
    } else if (plan->latency) { /* a batch of one call is its own latency */
        single.seconds = batch.seconds;
        single.waking = batch.waking;
    }
    times->batch = batch.seconds;
    times->batch_waking = batch.waking;
    times->single = single.seconds;
    times->single_waking = single.waking;
    if (!only_timed) {
        if (!kf_measurement_check_side(r, side, called, error) || r->over) return r->over;
        return !makes_second_call(r, plan, side) || second_call(r, plan, error);
    }
    return !kf_measurement_fetches_all(r) ||
           kf_measurement_fetch(r, side, r->lists.order, called, error);
}

/* Puts sets first that the warm-up left out, so that the candidate has been called on all sets
 * after two pairs. A candidate that works ahead has no earlier use of them. r->lists.chosen is
 * still that of the warm-up. */
static void move_left_out_to_front(kf_measurement *r)
{
    uint32_t front = 0;
    for (uint32_t i = 0; i < r->set_count; i++) {
        uint32_t set = r->lists.order[i];
        if (r->lists.chosen[set]) continue;
        r->lists.order[i] = r->lists.order[front];
        r->lists.order[front++] = set;
    }
    uint32_t called = r->schedule.calls[BASELINE] < r->schedule.calls[CANDIDATE]
                          ? r->schedule.calls[BASELINE]
                          : r->schedule.calls[CANDIDATE];
    kf_choices_permute(&r->choices, r->lists.order, front > called ? front : called);
}

bool kf_measurement_pair(kf_measurement *r, const kf_pair_plan *plan, kf_pair_times times[2],
                         kf_error *error)
{
    for (uint32_t i = 0; i < r->set_count; i++) r->lists.order[i] = i;
    memset(r->lists.true_known, 0, r->set_count * sizeof *r->lists.true_known);
    r->occupations.interrupted = r->occupations.late_pair = false;
    kf_choices_permute(&r->choices, r->lists.order, r->set_count);
    if (plan->number == 1) move_left_out_to_front(r);
    /* Of a timed workload only the first pair has data that changes the speed, in one call among
     * several: the times of that pair set the number of calls. */
    uint32_t changing = !r->schedule.timed ? KF_ALL_SETS
                        : plan->number == 0 && r->schedule.calls[CANDIDATE] >= FEW_CALLS ? 1
                                                                                         : 0;
    kf_checker_vary(r->checker, &r->choices, r->lists.order, r->schedule.calls[CANDIDATE],
                    r->set_count, !plan->baseline_compared, changing, r->lists.variations);
    for (int turn = 0; turn < 2 && !r->over; turn++) {
        kf_side side = (turn == 1) != plan->candidate_first ? CANDIDATE : BASELINE;
        if (!one_side(r, plan, side, turn == 0, &times[side], error)) return false;
    }
    return true;
}
