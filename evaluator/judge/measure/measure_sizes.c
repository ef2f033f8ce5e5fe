/* How many sets there are, and how many calls make a batch. */
#include <math.h>
#include <string.h>

#include "measure_internal.h"

#define MIN_SETS 3
/* of all sets: each costs messages to three runners, and tasks of the judge's own */
#define MAX_BUFFERS 8192
#define PAIRS_WANTED 16.0 /* in the time there is for them */
/* Where a side rehearses: what comes with its batches is nothing that more pairs take out, but
 * longer ones do; and how often a pair fills the sets. */
#define PYTHON_PAIRS 9.0
#define PYTHON_FILLS 2.5
#define PAIRS_PART 0.75 /* of all the time; the rest warms up, and measures the baseline alone */
/* empty batches: as long as a batch of calls has to be for what comes with any batch to be little
 * beside it */
#define TELLING 8.0
#define OVERTIME 2.0 /* times the time for pairs: what may be spent on that */
/* empty batches: of an oracle that takes so long what comes with any batch is little */
#define LONG_TRUTH 10.0
#define SHORT_BATCH 0.002 /* seconds; shorter batches of a candidate get more calls */
#define LONG_BATCH 0.02   /* seconds; none has to be longer */
#define PYTHON_FACTOR 6   /* times that, where a side is Python */
#define CACHED 4.0        /* times that a call may be faster on sets that a cache holds */
#define FASTER 1.5        /* a candidate this much faster may need more calls than the baseline */
/* who asks for an interval of less than this on either side gets it of slow candidates, too */
#define EXACT 0.005
#define SHORT_CALLS 32

/* Sets that no batch calls, so that nobody can do the work of several calls in one. */
static uint32_t left_out(uint32_t sets)
{
    return sets >= 16 ? sets / 8 : 1;
}

/* ---- sets ------------------------------------------------------------------------------------ */

void kf_measurement_drop_sets(kf_measurement *r)
{
    if (r->sets) r->device->sets_free(r->sets);
    free(r->variations);
    free(r->order);
    free(r->list);
    free(r->chosen);
    free(r->true_known);
    free(r->heard);
    free(r->doubtful);
    r->sets = NULL;
    r->variations = NULL;
    r->order = r->list = NULL;
    r->chosen = r->true_known = r->heard = r->doubtful = NULL;
}

bool kf_measurement_make_sets(kf_measurement *r, uint32_t count, kf_error *error)
{
    kf_measurement_drop_sets(r);
    r->set_count = count;
    r->variations = calloc(count, sizeof *r->variations);
    r->order = calloc(count, sizeof *r->order);
    r->list = calloc(count, sizeof *r->list);
    r->chosen = calloc(count, sizeof *r->chosen);
    r->true_known = calloc(count, sizeof *r->true_known);
    r->heard = calloc(count, sizeof *r->heard);
    r->doubtful = calloc(count, sizeof *r->doubtful);
    if (!r->variations || !r->order || !r->list || !r->chosen || !r->true_known || !r->heard ||
        !r->doubtful)
        return no_memory(error);
    for (uint32_t i = 0; i < count; i++) r->variations[i].argument = -1;
    r->sets = r->device->sets_new(r->bench->device, r->bench->problem, count, true, error);
    if (r->sets) return true;
    /* A candidate that is still dying may have their memory. */
    if (!kf_runner_pool_settle(r->bench->pool, false, error)) return false;
    r->sets = r->device->sets_new(r->bench->device, r->bench->problem, count, true, error);
    return r->sets != NULL;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Only runners in Python have memory of the device put aside for them. */
uint32_t kf_measurement_least_sets(const kf_measurement *r)
{
    const kf_workbench *bench = r->bench;
    bool python = kf_measurement_is_apart(r) || bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH;
    return python && r->device->least_sets ? r->device->least_sets(bench->device, bench->problem)
                                           : MIN_SETS;
}

uint32_t kf_measurement_sets_for(const kf_measurement *r, double calls)
{
    uint64_t a_set = r->bench->problem->total_bytes ? r->bench->problem->total_bytes : 1;
    uint64_t room = r->bench->device->set_bytes / a_set;
    double most = fmin(r->bench->device->most_sets,
                       MAX_BUFFERS / (double)(r->bench->problem->argument_count + 1));
    uint32_t least = kf_measurement_least_sets(r);
    if (least < MIN_SETS) return least; /* there is no room for more */
    return (uint32_t)fmax(fmin(fmin(ceil(calls * 8 / 7) + 1, (double)room), most), least);
}

/* Other sets for all runners there are. */
static bool change_sets(kf_measurement *r, uint32_t count, kf_error *error)
{
    struct {
        kf_runner *runner;
        kf_role role;
    } rows[] = {{r->runners[BASELINE], KF_ROLE_BASELINE},
                {r->oracle, KF_ROLE_ORACLE},
                {r->runners[CANDIDATE], KF_ROLE_CANDIDATE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_runner_event event = rows[i].runner ? kf_runner_unmap(rows[i].runner) : KF_RUNNER_OK;
        if (event != KF_RUNNER_OK)
            return kf_measurement_report(r, rows[i].runner, rows[i].role, event, 0,
                                         "giving its buffers back", error);
    }
    if (!kf_measurement_make_sets(r, count, error)) return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !r->over; i++)
        if (rows[i].runner && !kf_measurement_hand_over(r, rows[i].role, rows[i].runner, error))
            return false;
    return true;
}

double kf_measurement_batch_length(const kf_measurement *r)
{
    const kf_device *device = r->bench->device;
    double more = r->bench->options->seconds / device->default_seconds,
           length = device->batch_seconds * fmax(more, 1);
    /* Python takes several times as long to answer as a runner in C, and not always the same. */
    return fmin(kf_measurement_is_apart(r) ? PYTHON_FACTOR * length : length, LONG_BATCH);
}

/* Calls that are short beside an empty batch, many at a time and the same few sets again and again:
 * only how many make a batch follows from it. */
static bool time_short_calls(kf_measurement *r, double *best, kf_error *error)
{
    uint32_t order[SHORT_CALLS];
    for (uint32_t i = 0; i < SHORT_CALLS; i++) order[i] = i % r->set_count;
    *best = INFINITY;
    for (int turn = 0; turn < 3; turn++) {
        kf_batch batch = {.order = order,
                          .count = SHORT_CALLS,
                          .timeout = kf_measurement_timeout(r, BASELINE, SHORT_CALLS)};
        if (r->device->snapshot) batch.answered = kf_measurement_snapshot_nothing;
        r->device->cache_flush(r->sets, order,
                               r->set_count < SHORT_CALLS ? r->set_count : SHORT_CALLS);
        kf_runner_event event = kf_runner_batch(r->runners[BASELINE], &batch);
        if (event != KF_RUNNER_OK)
            return kf_measurement_report(r, r->runners[BASELINE], KF_ROLE_BASELINE, event,
                                         batch.code, "running a batch of calls", error);
        *best = fmin(*best, fmax(batch.seconds - r->empty_batch, 1e-6) / SHORT_CALLS);
    }
    return true;
}

/* Seconds that the oracle takes for the truth of the first sets, at least: of three times, of which
 * the first warms up. */
static bool time_truths(kf_measurement *r, uint32_t count, double *seconds, kf_error *error)
{
    uint32_t list[MIN_SETS];
    for (uint32_t i = 0; i < count; i++) list[i] = i;
    *seconds = INFINITY;
    for (int turn = 0; turn < 3 && !r->over; turn++) {
        double started = kf_now();
        memset(r->true_known, 0, r->set_count * sizeof *r->true_known);
        if (!kf_measurement_find_truth(r, list, count, error)) return false;
        if (turn) *seconds = fmin(*seconds, kf_now() - started);
    }
    return true;
}

/* What the truth of a set takes: all calls of a candidate are compared with it, so an oracle far
 * slower than the baseline makes for fewer calls. Where it is short beside what any batch costs,
 * what the other sets take longer than one says it. */
static bool time_truth(kf_measurement *r, double *seconds, kf_error *error)
{
    double more = 0;
    uint32_t some = r->set_count < MIN_SETS ? r->set_count : MIN_SETS;
    if (!time_truths(r, 1, seconds, error)) return false;
    if (r->over || *seconds > LONG_TRUTH * r->empty_batch) return true;
    if (!time_truths(r, some, &more, error)) return false;
    *seconds = fmax(more - *seconds, 0) / (some - 1);
    return true;
}

/* Where sets are dear and calls short, many pairs of short batches tell less than the fewest pairs
 * that make an interval, of batches that stand out from what comes with any. */
static double fewer_longer_batches(kf_measurement *r, double pairs, double call, double calls)
{
    double time = OVERTIME * r->pair_time * pairs / KF_MIN_PAIRS;
    double longer = fmin(ceil(TELLING * r->empty_batch / call),
                         floor((time - 2 * call) / (r->set_cost + 2 * call)));
    if (longer <= calls) return calls;
    r->pair_time = longer * (r->set_cost + 2 * call) + 2 * call;
    return longer;
}

bool kf_measurement_size_batches(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    double started = kf_now(), best = INFINITY, around = INFINITY;
    if (!r->device->fill(r->sets, kf_measurement_draw(r, "probe", 0), r->variations, error))
        return false;
    double filling = kf_now() - started;
    for (int turn = 0; turn < 3 && !r->over; turn++) {
        kf_batch batch, empty = {.order = r->order, .count = 1, .null = true, .timeout = 20};
        if (r->device->snapshot) empty.answered = kf_measurement_snapshot_nothing;
        r->order[0] = (uint32_t)turn % r->set_count;
        started = kf_now();
        if (!kf_measurement_refresh(r, turn, BASELINE, 1, error)) return false;
        kf_runner_event event = kf_runner_batch(r->runners[BASELINE], &empty);
        if (event != KF_RUNNER_OK)
            return kf_measurement_report(r, r->runners[BASELINE], KF_ROLE_BASELINE, event,
                                         empty.code, "running an empty batch", error);
        if (!kf_measurement_batch(r, BASELINE, 0, 1, 0, -1, &batch, error) ||
            !kf_measurement_inspect(r, BASELINE, error))
            return false;
        if (turn == 0) continue; /* the first call warms up */
        best = fmin(best, fmax(batch.seconds - empty.seconds, 1e-6));
        r->empty_batch = turn == 1 ? empty.seconds : fmin(r->empty_batch, empty.seconds);
        around = fmin(around, fmax(kf_now() - started - batch.seconds - empty.seconds, 0));
    }
    if (r->over) return true;
    if (r->timed && best < 3 * r->empty_batch && !time_short_calls(r, &best, error)) return false;
    if (r->over) return true;
    r->baseline_call = best;
    r->calls[BASELINE] = r->calls[CANDIDATE] = r->set_count - left_out(r->set_count);
    if (!r->timed) return true;
    double truth = 0;
    if (!time_truth(r, &truth, error) || r->over) return r->over;
    /* Comparing costs about as much again as poison and inspection. Beside the batch a pair has a
     * single call of each side, unless that is the batch, and a rehearsal. */
    bool needs_priming =
        kf_measurement_needs_priming(r, BASELINE) || kf_measurement_needs_priming(r, CANDIDATE);
    double pairs = needs_priming ? PYTHON_PAIRS : PAIRS_WANTED;
    r->pair_time = bench->seconds * PAIRS_PART / pairs;
    r->set_cost =
        ((needs_priming ? PYTHON_FILLS : 1) * filling + 3 * around) / r->set_count + truth;
    double fitting =
        floor((r->pair_time - (needs_priming ? 4 : 2) * best) / (r->set_cost + 2 * best));
    if (fitting * best < TELLING * r->empty_batch)
        fitting = fewer_longer_batches(r, pairs, best, fmax(fitting, 1));
    double wanted = fmin(ceil(kf_measurement_batch_length(r) / best), fmax(fitting, 1));
    uint32_t count = kf_measurement_sets_for(r, wanted);
    r->calls[BASELINE] = r->calls[CANDIDATE] =
        (uint32_t)fmin(fmax(wanted, 1), count - left_out(count));
    return count <= kf_measurement_least_sets(r) || change_sets(r, count, error);
}

bool kf_measurement_adapt(kf_measurement *r, const double seconds[2], kf_stopping_rule *rule,
                          bool *again, kf_error *error)
{
    double call = fmax(seconds[CANDIDATE] - r->empty_batch, 1e-6) / r->calls[CANDIDATE];
    double slower =
        (seconds[CANDIDATE] / r->calls[CANDIDATE]) / (seconds[BASELINE] / r->calls[BASELINE]);
    if (slower > KF_SLOW && r->bench->options->half_width >= EXACT) {
        rule->half_width = fmax(rule->half_width, 0.1);
        rule->most_pairs = rule->least_pairs;
        double fewer = r->calls[BASELINE] / slower;
        r->calls[CANDIDATE] =
            fewer < 1 ? 1 : (uint32_t)fewer; /* the baseline's stay, so that it can still be
                                                compared with it alone */
        return true;
    }
    /* Of what a batch costs at its beginning more calls get less each: where there is nothing to
     * make up for, both sides have as many. */
    if (1 / slower < FASTER) return true;
    double enough = fmin(fmax(SHORT_BATCH, 20 * r->empty_batch), kf_measurement_batch_length(r));
    if (*again || call * r->calls[CANDIDATE] >= enough) return true;
    /* Half as many pairs are still enough, and twice the calls make each of them worth more than
     * that. */
    double time_for_sets =
        fmax(2 * r->pair_time - r->calls[BASELINE] * r->baseline_call, r->pair_time);
    double wanted = fmin(ceil(enough / call), floor(time_for_sets / (r->set_cost + call)));
    /* Never a longer batch than the baseline's: beside its calls either has what an empty one
     * takes. */
    wanted = fmin(wanted, fmax(seconds[BASELINE] - r->empty_batch, 0) / call);
    uint32_t count = kf_measurement_sets_for(r, wanted),
             calls = (uint32_t)fmin(fmax(wanted, 1), count - left_out(count));
    if (calls <= r->calls[CANDIDATE]) return true;
    r->calls[CANDIDATE] = calls;
    *again = true;
    return count <= r->set_count || change_sets(r, count, error);
}

/* No cache makes as much of a difference as a machine that stands still. */
void kf_measurement_shorten_batches(kf_measurement *r, double seconds)
{
    if (isinf(seconds)) return;
    double call = fmax(seconds - r->empty_batch, 1e-6) / r->calls[BASELINE],
           enough = ceil(kf_measurement_batch_length(r) / call);
    enough = fmax(enough, ceil(r->calls[BASELINE] / CACHED));
    if (enough < r->calls[BASELINE]) r->calls[BASELINE] = r->calls[CANDIDATE] = (uint32_t)enough;
}
