/* The order of batches.
 *
 *   1. Three sets (two where memory is short), the baseline's and the oracle's runner; the baseline's time of a call says how many sets a batch needs.
 *   2. The baseline alone, before the candidate is loaded.
 *   3. The candidate's runner: load, hand over.
 *   4. Pairs: fresh inputs; one batch of each side on the same sets in the same random order, a few sets left out. Before each side outputs are
 *      poisoned and caches emptied; behind it inputs, guards and left-out sets are inspected and the outputs of all calls compared, of the
 *      baseline's in the first two pairs. The first pair is a warm-up: compared like any other, not timed. Baseline first in the first two
 *      pairs, because the candidate's errors are judged beside its; then BC CB BC CB, so that drift cancels (ABBA).
 *   5. In the first timed pairs a single call of each side on a left-out set: latency.
 *   6. The rule of stats.h ends it. If the baseline was slower beside the candidate than alone, alone is measured once more.
 *
 * At any time at most one of the three runners runs; the others are stopped. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "libraries.h"
#include "measure_internal.h"

#define LEAST_SETS 3
#define MOST_BUFFERS 8192 /* of all sets: each costs messages to three runners, and tasks of the judge's own */
#define WARM_CALLS 4096   /* by then the driver's buffers have been written once around, and calls take what they will */
#define WARM_SECONDS 0.03 /* of batches; long calls need fewer */
#define WARM_BATCHES 20
#define WARM_SETTLED 0.02 /* two batches that agree so well end it, unless calls wait for their launch */
#define CHECK_PAIRS 3     /* of workloads that are not timed */
#define COMPARED_PAIRS 2  /* in which the baseline's outputs are compared, too */
#define PAIRS_WANTED 16.0 /* in the time there is for them */
/* Where a side rehearses: what comes with its batches is nothing that more pairs take out, but longer ones do; and how often a pair fills the sets. */
#define PYTHON_PAIRS 9.0
#define PYTHON_FILLS 2.5
#define PAIRS_PART 0.75 /* of all the time; the rest warms up, and measures the baseline alone */
#define LEAST_PAIRS 8
#define TELLING 8.0  /* empty batches: as long as a batch of calls has to be for what comes with any batch to be little beside it */
#define OVERTIME 2.0 /* times the time for pairs: what may be spent on that */
#define NULL_BATCHES 36 /* empty ones, a few before each pair: on a busy machine their median needs many */
#define NULLS_A_PAIR 4
#define LATENCY_PAIRS 8
#define LONG_TRUTH 10.0   /* empty batches: of an oracle that takes so long what comes with any batch is little */
#define SHORT_BATCH 0.002 /* seconds; shorter batches of a candidate get more calls */
#define LONG_BATCH 0.02   /* seconds; none has to be longer */
#define PYTHON_FACTOR 6   /* times that, where a side is Python */
#define CACHED 4.0        /* times that a call may be faster on sets that a cache holds */
#define FASTER 1.5        /* a candidate this much faster may need more calls than the baseline */
#define SLOW 3.0          /* a candidate this much slower is judged on few calls */
#define EXACT 0.005       /* who asks for an interval of less than this on either side gets it of slow candidates, too */
#define SHORT_CALLS 32
#define MOST_PART 0.5 /* of the time that is gone: who took more is to blame when it is over */

/* ---- small things ---------------------------------------------------------------------------------------------------------------------------- */

/* Sets that no batch calls, so that nobody can do the work of several calls in one. */
static uint32_t left_out(uint32_t sets)
{
    return sets >= 16 ? sets / 8 : 1;
}

/* ---- sets -------------------------------------------------------------------------------------------------------------------------------------- */

static void drop_sets(kf_run *r)
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

static bool make_sets(kf_run *r, uint32_t count, kf_error *error)
{
    drop_sets(r);
    r->set_count = count;
    r->computed = false;
    r->variations = calloc(count, sizeof *r->variations);
    r->order = calloc(count, sizeof *r->order);
    r->list = calloc(count, sizeof *r->list);
    r->chosen = calloc(count, sizeof *r->chosen);
    r->true_known = calloc(count, sizeof *r->true_known);
    r->heard = calloc(count, sizeof *r->heard);
    r->doubtful = calloc(count, sizeof *r->doubtful);
    if (!r->variations || !r->order || !r->list || !r->chosen || !r->true_known || !r->heard || !r->doubtful)
        return no_memory(error);
    for (uint32_t i = 0; i < count; i++) r->variations[i].argument = -1;
    r->sets = r->device->sets_new(r->bench->device, r->bench->problem, count, true, error);
    if (r->sets) return true;
    /* A candidate that is still dying may have their memory. */
    if (!kf_crew_settle(r->bench->crew, false, error)) return false;
    r->sets = r->device->sets_new(r->bench->device, r->bench->problem, count, true, error);
    return r->sets != NULL;
}

/* ---- the parts, in order --------------------------------------------------------------------------------------------------------------------------- */

/* Only runners in Python have memory of the device put aside for them. */
static uint32_t least_sets(const kf_run *r)
{
    const kf_workbench *bench = r->bench;
    bool python = kf_run_is_apart(r) || bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH;
    return python && r->device->least_sets ? r->device->least_sets(bench->device, bench->problem) : LEAST_SETS;
}

/* Sets for batches of so many calls: as many as memory allows, some more than are called. */
static uint32_t sets_for(const kf_run *r, double calls)
{
    uint64_t a_set = r->bench->problem->total_bytes ? r->bench->problem->total_bytes : 1;
    uint64_t room = r->bench->device->set_bytes / a_set;
    double most = fmin(r->bench->device->most_sets, MOST_BUFFERS / (double)(r->bench->problem->argument_count + 1));
    uint32_t least = least_sets(r);
    if (least < LEAST_SETS) return least; /* there is no room for more */
    return (uint32_t)fmax(fmin(fmin(ceil(calls * 8 / 7) + 1, (double)room), most), least);
}

/* Other sets for all runners there are. */
static bool change_sets(kf_run *r, uint32_t count, kf_error *error)
{
    struct {
        kf_peer *peer;
        kf_role role;
    } rows[] = {{r->peers[BASELINE], KF_ROLE_BASELINE}, {r->oracle, KF_ROLE_ORACLE}, {r->peers[CANDIDATE], KF_ROLE_CANDIDATE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_peer_event event = rows[i].peer ? kf_peer_unmap(rows[i].peer) : KF_PEER_OK;
        if (event != KF_PEER_OK) return kf_run_report(r, rows[i].peer, rows[i].role, event, 0, "giving its buffers back", error);
    }
    if (!make_sets(r, count, error)) return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !r->over; i++)
        if (rows[i].peer && !kf_run_hand_over(r, rows[i].role, rows[i].peer, error)) return false;
    return true;
}

/* What a batch has to become cold costs, which an empty one has not, counts less in a longer one: who gives more time gets that. */
static double batch_length(const kf_run *r)
{
    const kf_device *device = r->bench->device;
    double more = r->bench->options->seconds / device->default_seconds, length = device->batch_seconds * fmax(more, 1);
    /* Python takes several times as long to answer as a runner in C, and not always the same. */
    return fmin(kf_run_is_apart(r) ? PYTHON_FACTOR * length : length, LONG_BATCH);
}

/* Calls that are short beside an empty batch, many at a time and the same few sets again and again: only how many make a batch follows from it. */
static bool time_short_calls(kf_run *r, double *best, kf_error *error)
{
    uint32_t order[SHORT_CALLS];
    for (uint32_t i = 0; i < SHORT_CALLS; i++) order[i] = i % r->set_count;
    *best = INFINITY;
    for (int turn = 0; turn < 3; turn++) {
        kf_batch batch = {.order = order, .count = SHORT_CALLS, .timeout = kf_run_timeout(r, BASELINE, SHORT_CALLS)};
        if (r->device->glance) batch.answered = kf_run_glance_at_nothing;
        r->device->cool(r->sets, order, r->set_count < SHORT_CALLS ? r->set_count : SHORT_CALLS);
        kf_peer_event event = kf_peer_batch(r->peers[BASELINE], &batch);
        if (event != KF_PEER_OK)
            return kf_run_report(r, r->peers[BASELINE], KF_ROLE_BASELINE, event, batch.code, "running a batch of calls", error);
        *best = fmin(*best, fmax(batch.seconds - r->empty_batch, 1e-6) / SHORT_CALLS);
    }
    return true;
}

/* Seconds that the oracle takes for the truth of the first sets, at least: of three times, of which the first warms up. */
static bool time_truths(kf_run *r, uint32_t count, double *seconds, kf_error *error)
{
    uint32_t list[LEAST_SETS];
    for (uint32_t i = 0; i < count; i++) list[i] = i;
    *seconds = INFINITY;
    for (int turn = 0; turn < 3 && !r->over; turn++) {
        double started = kf_now();
        memset(r->true_known, 0, r->set_count * sizeof *r->true_known);
        if (!kf_run_find_truth(r, list, count, error)) return false;
        if (turn) *seconds = fmin(*seconds, kf_now() - started);
    }
    return true;
}

/* What the truth of a set takes: all calls of a candidate are compared with it, so an oracle far slower than the baseline makes for fewer calls. Where it
 * is short beside what any batch costs, what the other sets take longer than one says it. */
static bool time_truth(kf_run *r, double *seconds, kf_error *error)
{
    double more = 0;
    uint32_t some = r->set_count < LEAST_SETS ? r->set_count : LEAST_SETS;
    if (!time_truths(r, 1, seconds, error)) return false;
    if (r->over || *seconds > LONG_TRUTH * r->empty_batch) return true;
    if (!time_truths(r, some, &more, error)) return false;
    *seconds = fmax(more - *seconds, 0) / (some - 1);
    return true;
}

/* Where sets are dear and calls short, many pairs of short batches tell less than the fewest pairs that make an interval, of batches that stand out from
 * what comes with any. */
static double fewer_longer_batches(kf_run *r, double pairs, double call, double calls)
{
    double time = OVERTIME * r->pair_time * pairs / LEAST_PAIRS;
    double longer = fmin(ceil(TELLING * r->empty_batch / call), floor((time - 2 * call) / (r->set_cost + 2 * call)));
    if (longer <= calls) return calls;
    r->pair_time = longer * (r->set_cost + 2 * call) + 2 * call;
    return longer;
}

/* How long a call of the baseline takes and what a set costs beside it, and with that how many sets make a batch. */
static bool size_batches(kf_run *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    double started = kf_now(), best = INFINITY, around = INFINITY;
    if (!r->device->fill(r->sets, kf_run_draw(r, "probe", 0), r->variations, error)) return false;
    double filling = kf_now() - started;
    for (int turn = 0; turn < 3 && !r->over; turn++) {
        kf_batch batch, empty = {.order = r->order, .count = 1, .null = true, .timeout = 20};
        if (r->device->glance) empty.answered = kf_run_glance_at_nothing;
        r->order[0] = (uint32_t)turn % r->set_count;
        started = kf_now();
        if (!kf_run_refresh(r, turn, BASELINE, 1, error)) return false;
        kf_peer_event event = kf_peer_batch(r->peers[BASELINE], &empty);
        if (event != KF_PEER_OK)
            return kf_run_report(r, r->peers[BASELINE], KF_ROLE_BASELINE, event, empty.code, "running an empty batch", error);
        if (!kf_run_batch(r, BASELINE, 0, 1, 0, -1, &batch, error) || !kf_run_inspect(r, BASELINE, error)) return false;
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
    /* Comparing costs about as much again as poison and inspection. Beside the batch a pair has a single call of each side, unless that is the batch, and a
     * rehearsal. */
    bool rehearses = kf_run_rehearses(r, BASELINE) || kf_run_rehearses(r, CANDIDATE);
    double pairs = rehearses ? PYTHON_PAIRS : PAIRS_WANTED;
    r->pair_time = bench->seconds * PAIRS_PART / pairs;
    r->set_cost = ((rehearses ? PYTHON_FILLS : 1) * filling + 3 * around) / r->set_count + truth;
    double fitting = floor((r->pair_time - (rehearses ? 4 : 2) * best) / (r->set_cost + 2 * best));
    if (fitting * best < TELLING * r->empty_batch) fitting = fewer_longer_batches(r, pairs, best, fmax(fitting, 1));
    double wanted = fmin(ceil(batch_length(r) / best), fmax(fitting, 1));
    uint32_t count = sets_for(r, wanted);
    r->calls[BASELINE] = r->calls[CANDIDATE] = (uint32_t)fmin(fmax(wanted, 1), count - left_out(count));
    return count <= least_sets(r) || change_sets(r, count, error);
}

/* A candidate that is much faster than the baseline needs more calls for its batch to stand out against the fixed cost; one that is much slower
 * gets a few short ones. Seen in the warm-up pair, which is repeated with more calls. */
static bool adapt(kf_run *r, const double seconds[2], kf_stopping_rule *rule, bool *again, kf_error *error)
{
    double call = fmax(seconds[CANDIDATE] - r->empty_batch, 1e-6) / r->calls[CANDIDATE];
    double slower = (seconds[CANDIDATE] / r->calls[CANDIDATE]) / (seconds[BASELINE] / r->calls[BASELINE]);
    if (slower > SLOW && r->bench->options->half_width >= EXACT) {
        rule->half_width = fmax(rule->half_width, 0.1);
        rule->most_pairs = rule->least_pairs;
        double fewer = r->calls[BASELINE] / slower;
        r->calls[CANDIDATE] =
            fewer < 1 ? 1 : (uint32_t)fewer; /* the baseline's stay, so that it can still be compared with it alone */
        return true;
    }
    /* Of what a batch costs at its beginning more calls get less each: where there is nothing to make up for, both sides have as many. */
    if (1 / slower < FASTER) return true;
    double enough = fmin(fmax(SHORT_BATCH, 20 * r->empty_batch), batch_length(r));
    if (*again || call * r->calls[CANDIDATE] >= enough) return true;
    /* Half as many pairs are still enough, and twice the calls make each of them worth more than that. */
    double time_for_sets = fmax(2 * r->pair_time - r->calls[BASELINE] * r->baseline_call, r->pair_time);
    double wanted = fmin(ceil(enough / call), floor(time_for_sets / (r->set_cost + call)));
    /* Never a longer batch than the baseline's: beside its calls either has what an empty one takes. */
    wanted = fmin(wanted, fmax(seconds[BASELINE] - r->empty_batch, 0) / call);
    uint32_t count = sets_for(r, wanted), calls = (uint32_t)fmin(fmax(wanted, 1), count - left_out(count));
    if (calls <= r->calls[CANDIDATE]) return true;
    r->calls[CANDIDATE] = calls;
    *again = true;
    return count <= r->set_count || change_sets(r, count, error);
}

/* Batches whose time does not count, until a side's calls have become as fast as they get. Where there are no inouts, outputs are
 * poisoned before the first and all is looked at behind the last. `least`: seconds of the shortest, of two at least; INFINITY without. */
static bool warm_up(kf_run *r, kf_side side, double *least, kf_error *error)
{
    double seconds = 0, last = INFINITY;
    *least = INFINITY;
    bool launches = r->baseline_call < r->bench->device->launch_bound;
    if (!r->device->fill(r->sets, kf_run_draw(r, "warm", (int)side), r->variations, error)) return false;
    for (uint32_t i = 0; i < r->set_count; i++) r->order[i] = i;
    for (uint32_t i = 0; i < WARM_BATCHES && seconds < WARM_SECONDS && !r->over; i++) {
        kf_batch batch;
        kf_choices_permute(&r->choices, r->order, r->set_count);
        if (i && !r->in_place)
            r->device->cool(r->sets, r->order, r->calls[side]);
        else if (!(side == BASELINE ? kf_run_ready_baseline(r, -1, r->calls[side], error)
                                    : kf_run_refresh(r, -1, side, r->calls[side], error)))
            return false;
        if (!kf_run_batch(r, side, 0, r->calls[side], 0, -1, &batch, error)) return false;
        if (side == CANDIDATE && r->in_place && !kf_run_inspect(r, side, error)) return false;
        seconds += batch.seconds;
        bool settled = fabs(batch.seconds - last) < WARM_SETTLED * batch.seconds;
        if (i) *least = fmin(*least, fmin(last, batch.seconds));
        last = batch.seconds;
        if (settled && (!launches || kf_peer_calls(r->peers[side]) >= WARM_CALLS)) break;
    }
    return side == BASELINE || r->in_place || kf_run_inspect(r, side, error);
}

/* Short calls were timed on few sets, which a cache may hold: what all of them take says whether a batch of so many is longer than it has to be. No cache makes
 * as much of a difference as a machine that stands still. */
static void shorten_batches(kf_run *r, double seconds)
{
    if (isinf(seconds)) return;
    double call = fmax(seconds - r->empty_batch, 1e-6) / r->calls[BASELINE], enough = ceil(batch_length(r) / call);
    enough = fmax(enough, ceil(r->calls[BASELINE] / CACHED));
    if (enough < r->calls[BASELINE]) r->calls[BASELINE] = r->calls[CANDIDATE] = (uint32_t)enough;
}

/* The baseline's batches with no candidate there. */
bool kf_run_measure_alone(kf_run *r, uint32_t calls, kf_error *error)
{
    r->alone_count = 0;
    r->alone_calls = calls;
    for (uint32_t i = 0; i < r->set_count; i++) r->order[i] = i;
    /* Inputs varied as beside a candidate: where results are denormal, for one, a division takes longer. */
    kf_checker_vary(r->checker, &r->choices, r->order, 0, r->set_count, false, r->variations);
    if (!r->device->fill(r->sets, kf_run_draw(r, "alone", 0), r->variations, error)) return false;
    for (int i = 0; i <= KF_ALONE_BATCHES && !r->over; i++) { /* the first one warms up */
        kf_batch batch;
        if (kf_run_steps_aside(r) && (!kf_run_null_batch(r, BASELINE, calls, error) || r->over)) return r->over;
        if (kf_run_rehearses(r, BASELINE)) {
            if (!kf_run_rehearse(r, BASELINE, error) || r->over) return r->over;
            if (kf_run_rehearses(r, CANDIDATE) && !r->device->fill(r->sets, kf_run_draw(r, "alone", 0), r->variations, error))
                return false; /* as beside it */
        }
        if (!kf_run_ready_baseline(r, i, calls, error)) return false;
        if (!kf_run_batch(r, BASELINE, 0, calls, i ? 'a' : 0, -1, &batch, error)) return false;
        if (kf_run_fetches_all(r) && !r->over && !kf_run_fetch(r, BASELINE, r->order, calls, error)) return false;
        if (!i || r->over) continue;
        r->alone.woken[r->alone_count] = batch.waking;
        r->alone.seconds[r->alone_count++] = batch.seconds / calls;
    }
    return true;
}

#define ALL_SERIES 12
static void list_series(kf_run *r, kf_series *all[ALL_SERIES])
{
    kf_series *list[ALL_SERIES] = {&r->throughput[0], &r->throughput[1], &r->latency[0],     &r->latency[1],
                                   &r->alone,         &r->null,          &r->null_candidate, &r->beside,
                                   &r->null_again,    &r->idle_again,    &r->rehearsals[0],  &r->rehearsals[1]};
    memcpy(all, list, sizeof list);
}

static bool reserve(kf_run *r, kf_error *error)
{
    size_t capacity = r->capacity;
    kf_series *all[ALL_SERIES];
    list_series(r, all);
    for (size_t i = 0; i < ALL_SERIES; i++)
        if (!(all[i]->seconds = calloc(capacity, sizeof(double))) || !(all[i]->woken = calloc(capacity, sizeof(double))))
            return no_memory(error);
    return true;
}

/* Seconds of this workload. */
static double candidate_took(const kf_run *r)
{
    const kf_peer *peer = r->peers[CANDIDATE];
    return r->candidate_time + (peer ? kf_peer_dawdled(peer) : 0);
}

/* The job's time is over. A candidate that took most of it is slow, or of this workload's part: one that takes the time of those before chooses where the
 * cut falls. Else the machine or the task is. */
bool kf_run_out_of_time(kf_run *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    double now = kf_now(), here = candidate_took(r), all = bench->candidate_time + here,
           began = bench->deadline - bench->options->timeout_seconds; /* of the job, but for what is nobody's time */
    bool slow = here > MOST_PART * (now - r->started) || all > MOST_PART * (now - began);
    r->over = true;
    return kf_verdict_add_finding(
               bench->verdict, bench->result, slow ? KF_TIMEOUT : KF_JUDGE_ERROR, slow ? KF_BLAME_CANDIDATE : KF_BLAME_MACHINE,
               slow ? "time.limit" : "time.budget", all, bench->options->timeout_seconds,
               "not done with %.0f s for the whole job, of which the candidate took %.3g s, %.3g s of them in this workload",
               bench->options->timeout_seconds, all, here) != NULL ||
           no_memory(error);
}

static void keep_times(kf_run *r, const double seconds[2], const double latency[2])
{
    for (int side = 0; side < 2; side++) {
        r->throughput[side].seconds[r->pairs] = seconds[side] / r->calls[side];
        r->throughput[side].woken[r->pairs] = r->woke[side][0];
        r->rehearsals[side].seconds[r->pairs] = r->rehearsed[side];
    }
    r->pairs++;
    if (isnan(latency[BASELINE]) || isnan(latency[CANDIDATE])) return;
    for (int side = 0; side < 2; side++) {
        r->latency[side].seconds[r->latency_pairs] = latency[side];
        r->latency[side].woken[r->latency_pairs] = r->woke[side][1];
    }
    r->latency_pairs++;
}

/* Those for jobs to come, and the one that will count. A driver that starts some has little time for buffers meanwhile, and what is timed beside it is
 * noisy: so when all buffers are there, and pairs wait for them. */
static void expect_spares(const kf_run *r)
{
    const kf_workbench *bench = r->bench;
    bool strict = bench->options->strict_sandbox;
    if (bench->options->asan) return;
    if (bench->counts && bench->last) kf_crew_expect(bench->crew, KF_RUNNER_COUNT, strict, 1);
    if (bench->spare) kf_crew_expect(bench->crew, bench->kinds[KF_ROLE_CANDIDATE], strict, bench->spare);
    /* The next job may be on a task that the baseline's runner does not suit. */
    if (bench->spare && bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH && bench->kinds[KF_ROLE_BASELINE] == KF_RUNNER_TORCH)
        kf_crew_expect(bench->crew, KF_RUNNER_TORCH, strict, 1);
}

/* Python takes seconds to start: nobody waits for that. */
static bool await_spares(const kf_run *r, kf_error *error)
{
    return r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH || kf_crew_settle(r->bench->crew, true, error);
}

/* Slow in the warm-up by chance, or so as to be judged on few calls, where chance is large: whose short batch turns out to be shorter than half the
 * baseline's gets as many calls as make one like that, and what was timed so far does not count. At least twice as many, so it ends soon. */
static bool recovers(kf_run *r, const double seconds[2], const kf_stopping_rule *rule, kf_stopping_rule *bound)
{
    double longer = seconds[BASELINE] / seconds[CANDIDATE], slower = r->calls[BASELINE] / (longer * r->calls[CANDIDATE]);
    if (r->calls[CANDIDATE] >= r->calls[BASELINE] || !(longer > 2)) return false;
    r->calls[CANDIDATE] = slower > SLOW ? (uint32_t)(longer * r->calls[CANDIDATE]) : r->calls[BASELINE];
    if (!(slower > SLOW)) *bound = *rule;
    kf_workload_verdict *result = r->bench->result;
    for (size_t i = 0; i < result->sample_count; i++) result->samples[i].pair = -1;
    r->pairs = r->latency_pairs = 0;
    return true;
}

static bool measure_pairs(kf_run *r, const kf_stopping_rule *rule, kf_error *error)
{
    kf_stopping_rule bound = *rule;
    bool repeated = false; /* the warm-up, with other sets */
    for (int number = 0; !r->over; number++) {
        if (!r->timed && number == CHECK_PAIRS) break;
        double seconds[2] = {NAN, NAN}, latency[2] = {NAN, NAN};
        kf_pair_plan plan = {.number = number,
                             .serial = r->serial++,
                             .timed = r->timed && number > 0,
                             .baseline_compared = number < COMPARED_PAIRS || !r->timed,
                             .latency = r->timed && number > 0 && number <= LATENCY_PAIRS,
                             .candidate_first = number >= COMPARED_PAIRS && r->timed && number % 2};
        if (plan.timed && number == 1 && !await_spares(r, error)) return false;
        for (int i = 0; i < NULLS_A_PAIR && plan.timed && !r->over && r->null_count < NULL_BATCHES && !kf_run_steps_aside(r); i++)
            if (!kf_run_null_batch(r, CANDIDATE, r->calls[BASELINE], error)) return false;
        if (!r->over && !kf_run_pair(r, &plan, seconds, latency, error)) return false;
        if (r->over) break;
        if (number == 0 && r->timed) {
            bool again = repeated;
            if (!adapt(r, seconds, &bound, &again, error)) return false;
            if (again != repeated) number--; /* it has number 0 once more */
            repeated = again;
        }
        bool enough = r->pairs >= bound.least_pairs;
        if (kf_run_time_left(r) <= 0) {
            if (enough) break;
            return kf_run_out_of_time(r, error);
        }
        if (!plan.timed) continue;
        if (recovers(r, seconds, rule, &bound)) {
            number = 0; /* the next is the first */
            continue;
        }
        keep_times(r, seconds, latency);
        kf_interval speedup = {NAN, NAN, NAN};
        if (kf_stopping_look(&bound, r->pairs))
            speedup = kf_speedup(r->throughput[BASELINE].seconds, r->throughput[CANDIDATE].seconds, r->pairs, KF_TIMING_CONFIDENCE);
        if (r->pairs < bound.least_pairs) continue; /* without an interval the time so far were wasted */
        if (r->pairs == r->capacity || kf_stop_measuring(&bound, &speedup, r->pairs, kf_now() - r->started)) break;
    }
    r->bench->result->sets = (int)r->set_count;
    r->bench->result->pairs = (int)r->pairs;
    return true;
}

/* ---- beginning and end -------------------------------------------------------------------------------------------------------------- */

/* What failed may have left work on the device behind, and nothing else begins before that is gone. */
static void release(kf_run *r, bool clean)
{
    kf_peer *peers[] = {r->peers[CANDIDATE], r->peers[BASELINE], r->oracle, r->idle};
    r->bench->candidate_time += candidate_took(r);
    if (clean) drop_sets(r); /* the driver takes twice as long for that while it ends a process */
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) kf_peer_doom(peers[i]);
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        double began = kf_now();
        kf_crew_retire(r->bench->crew, peers[i], !clean);
        if (i == 0) r->bench->candidate_time += kf_now() - began; /* its memory, which may be large, is given back */
    }
    if (!clean) kf_crew_drop_trusted(r->bench->crew);
    r->peers[BASELINE] = r->peers[CANDIDATE] = r->oracle = r->idle = NULL;
    drop_sets(r);
    kf_series *all[ALL_SERIES];
    list_series(r, all);
    for (size_t i = 0; i < ALL_SERIES; i++) {
        free(all[i]->seconds);
        free(all[i]->woken);
    }
    kf_checker_free(r->checker);
    r->checker = NULL;
}

/* The task's own runners go on from job to job; without their buffers, whose memory is wanted. */
static void keep_trusted(kf_run *r)
{
    const kf_workbench *bench = r->bench;
    kf_peer **peers[] = {&r->peers[BASELINE], &r->oracle};
    for (int i = 0; i < 2; i++) {
        char key[4400];
        kf_role role = i ? KF_ROLE_ORACLE : KF_ROLE_BASELINE;
        if (*peers[i] && kf_peer_unmap(*peers[i]) == KF_PEER_OK)
            kf_crew_keep_trusted(bench->crew, role, kf_run_key(bench, role, key), bench->options->strict_sandbox,
                                 kf_steal(peers[i]));
    }
    if (r->stale)
        kf_crew_unlearn(bench->crew, kf_task_hash(bench->task), bench->workload);
    else if (r->known.task[0] && !r->recalled)
        kf_crew_learn(bench->crew, &r->known);
}

/* The candidate's runner for the next workload of this round. */
static bool keep_candidate(kf_run *r, kf_error *error)
{
    if (!r->bench->going || r->bench->last) return true;
    kf_peer *peer = r->peers[CANDIDATE];
    kf_peer_event event = peer ? kf_peer_unmap(peer) : KF_PEER_OK;
    if (event != KF_PEER_OK) return kf_run_report(r, peer, KF_ROLE_CANDIDATE, event, 0, "giving its buffers back", error);
    r->candidate_time = candidate_took(r);
    *r->bench->going = kf_steal(&r->peers[CANDIDATE]);
    return true;
}

/* Runners for this workload, started side by side. */
static void expect_runners(const kf_run *r)
{
    const kf_workbench *bench = r->bench;
    bool strict = bench->options->strict_sandbox;
    char key[4400];
    size_t counts[KF_RUNNER_KINDS] = {0};
    counts[bench->kinds[KF_ROLE_CANDIDATE]] += !(bench->going && *bench->going);
    counts[bench->kinds[KF_ROLE_BASELINE]] +=
        !kf_crew_can_serve(bench->crew, KF_ROLE_BASELINE, kf_run_key(bench, KF_ROLE_BASELINE, key), strict, bench->problem);
    counts[bench->kinds[KF_ROLE_ORACLE]] +=
        !kf_crew_can_serve(bench->crew, KF_ROLE_ORACLE, kf_run_key(bench, KF_ROLE_ORACLE, key), strict, bench->problem);
    for (int kind = 0; kind < KF_RUNNER_KINDS && !bench->options->asan; kind++)
        kf_crew_expect(bench->crew, (kf_runner_kind)kind, strict, counts[kind]);
}

/* How many sets there are truths for, and how large arenas are, follows from what memory is free once this is done. */
static void make_room(const kf_run *r)
{
    const kf_workbench *bench = r->bench;
    char key[4400];
    kf_crew_make_room(bench->crew, kf_run_key(bench, KF_ROLE_BASELINE, key), bench->options->strict_sandbox, bench->problem);
}

/* On a processor what starts takes from what is measured first, the baseline alone, and there is nothing to be gained by it: importing PyTorch keeps
 * processors as busy as measuring does. Nobody's time, as in kf_run_start_peer. */
static bool await_starting(kf_run *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (bench->device->slow_start || bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH) return true;
    double asked = kf_now();
    bool settled = kf_crew_settle(bench->crew, true, error);
    r->started += kf_now() - asked;
    bench->deadline += kf_now() - asked;
    return settled;
}

/* Does what one job finds out about the baseline hold for the next? In Python its buffers may be others, and importing takes longer than that. */
static bool is_remembered(const kf_run *r)
{
    return kf_run_steps_aside(r) && !kf_run_is_apart(r);
}

/* What an earlier job found out about this baseline, if its runner is still there. */
static bool recall(kf_run *r)
{
    const kf_workbench *bench = r->bench;
    char key[4400];
    const char *task = kf_task_hash(bench->task);
    if (!r->timed || !is_remembered(r) || !task ||
        !kf_crew_has_trusted(bench->crew, KF_ROLE_BASELINE, kf_run_key(bench, KF_ROLE_BASELINE, key),
                             bench->options->strict_sandbox))
        return false;
    const kf_known *known = kf_crew_recall(bench->crew, task, bench->workload, bench->seconds);
    if (!known || known->batch != batch_length(r)) return false;
    r->known = *known;
    return true;
}

static void take_over(kf_run *r)
{
    const kf_known *known = &r->known;
    r->baseline_call = known->call;
    r->empty_batch = known->empty_batch;
    r->set_cost = known->set_cost;
    r->pair_time = known->pair_time;
    r->calls[BASELINE] = r->calls[CANDIDATE] = r->alone_calls = known->calls;
    r->alone_count = known->alone_count;
    memcpy(r->alone.seconds, known->alone_seconds, sizeof known->alone_seconds);
    memcpy(r->alone.woken, known->alone_woken, sizeof known->alone_woken);
}

static void note(kf_run *r)
{
    const kf_workbench *bench = r->bench;
    const char *task = kf_task_hash(bench->task);
    if (!is_remembered(r) || !task || r->alone_count > KF_ALONE_BATCHES) return;
    r->known = (kf_known){.workload = bench->workload,
                          .at = kf_now(),
                          .seconds = bench->seconds,
                          .batch = batch_length(r),
                          .sets = sets_for(r, r->alone_calls),
                          .calls = r->alone_calls,
                          .call = r->baseline_call,
                          .empty_batch = r->empty_batch,
                          .set_cost = r->set_cost,
                          .pair_time = r->pair_time,
                          .alone_count = r->alone_count};
    snprintf(r->known.task, sizeof r->known.task, "%s", task);
    memcpy(r->known.alone_seconds, r->alone.seconds, r->alone_count * sizeof(double));
    memcpy(r->known.alone_woken, r->alone.woken, r->alone_count * sizeof(double));
}

/* The baseline by itself: how many calls make a batch, and what they take with no candidate there. */
static bool know_baseline(kf_run *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    if (r->timed && !kf_crew_settle(bench->crew, false, error)) return false;
    if (!size_batches(r, error)) return false;
    if (!r->over && (r->timed || bench->last)) expect_spares(r);
    if (r->over || !r->timed) return true;
    double seconds;
    if (!warm_up(r, BASELINE, &seconds, error)) return false;
    if (!r->over) shorten_batches(r, seconds);
    if (!r->over && !kf_run_measure_alone(r, r->calls[BASELINE], error)) return false;
    if (!r->over) note(r);
    return true;
}

static bool measure(kf_run *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_stopping_rule rule = {
        .least_pairs = LEAST_PAIRS, .most_pairs = 400, .half_width = bench->options->half_width, .seconds = bench->seconds};
    r->capacity = rule.most_pairs;
    expect_runners(r);
    make_room(r);
    if (!(r->checker = kf_checker_new(bench))) return no_memory(error);
    if (!reserve(r, error) || !await_starting(r, error)) return false;
    r->recalled = recall(r);
    if (!make_sets(r, r->recalled ? r->known.sets : least_sets(r), error)) return false;
    if (!kf_run_start_peer(r, KF_ROLE_BASELINE, &r->peers[BASELINE], error)) return false;
    if (!r->over && !kf_run_start_peer(r, KF_ROLE_ORACLE, &r->oracle, error)) return false;
    if (!r->over && !kf_run_hand_over(r, KF_ROLE_BASELINE, r->peers[BASELINE], error)) return false;
    if (!r->over && !kf_run_hand_over(r, KF_ROLE_ORACLE, r->oracle, error)) return false;
    r->recalled = r->recalled && kf_peer_calls(r->peers[BASELINE]) > 0; /* no other runner than that */
    if (r->recalled) take_over(r);
    if (!r->over && !r->recalled && !know_baseline(r, error)) return false;
    /* What another candidate has of the device is given back before the next one begins. */
    if (r->recalled && !kf_crew_settle(bench->crew, false, error)) return false;
    /* Nothing that pairs could tell is finer than what two processes differ by. */
    if (r->baseline_call < bench->device->launch_bound)
        rule.half_width = fmax(rule.half_width, bench->device->launch_bias / r->baseline_call / 4);
    if (!r->over && !kf_run_start_peer(r, KF_ROLE_CANDIDATE, &r->peers[CANDIDATE], error)) return false;
    if (!r->over && !kf_run_hand_over(r, KF_ROLE_CANDIDATE, r->peers[CANDIDATE], error)) return false;
    if (!r->over && r->recalled) expect_spares(r); /* not before: a driver that starts processes has little time for buffers */
    if (!r->over && r->timed && !kf_run_start_idle(r, error)) return false;
    double seconds;
    if (!r->over && r->timed && !warm_up(r, CANDIDATE, &seconds, error)) return false;
    if (!r->over && !measure_pairs(r, &rule, error)) return false;
    if (!r->over && !kf_run_audit(r, r->peers[CANDIDATE], error)) return false;
    if (!r->over && r->timed && !kf_run_conclude(r, error)) return false;
    if (!r->over && !keep_candidate(r, error)) return false;
    if (!r->over) bench->result->status = KF_CORRECT;
    return true;
}

/* The device is as it was: what went wrong, if anything, were numbers; or it was in a process of the CPU device, of which nothing is left. */
static bool is_clean(const kf_run *r, bool done)
{
    const kf_workload_verdict *result = r->bench->result;
    bool gone = r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH && r->bench->device->calls_block;
    for (size_t i = 0; i < result->finding_count; i++)
        if (result->findings[i].status != KF_WRONG_RESULT && !gone) return false;
    return done && (!result->finding_count || result->findings[0].blame == KF_BLAME_CANDIDATE);
}

bool kf_measure_workload(kf_workbench *bench, kf_error *error)
{
    kf_run r = {.bench = bench, .device = bench->device->operations};
    if (r.device->reserve && !r.device->reserve(bench->device, true, bench->stop, error)) return false;
    r.started = kf_now();
    for (int i = 0; i < bench->problem->argument_count; i++)
        r.in_place = r.in_place || bench->problem->arguments[i].kind == KF_INOUT;
    r.timed = bench->result->timed && !bench->options->check_only && !bench->options->asan;
    r.choices.state = kf_secret_draw(bench->secret, bench->attempt ? "choices/1" : "choices/0", (uint32_t)bench->workload, 0);
    bool done = measure(&r, error), clean = is_clean(&r, done);
    if (clean) keep_trusted(&r);
    release(&r, clean);
    kf_crew_resume(bench->crew);
    if (r.device->reserve) r.device->reserve(bench->device, false, NULL, NULL);
    return done;
}
