/* Results: fetching them, the truth from the oracle, comparing both, and running the baseline on
 * doubtful sets. */
#include <math.h>
#include <stdlib.h>
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
    if (!kf_measurement_turn_to(r, side, error)) return false;
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

/* ---- the change of expected values by one rounding of the inputs ----------------------------- */

/* Samples of expected values of every output. */
typedef struct samples {
    double *values[KF_MAX_ARGUMENTS];
    int64_t counts[KF_MAX_ARGUMENTS];
} samples;

static void free_samples(samples *all)
{
    for (int i = 0; i < KF_MAX_ARGUMENTS; i++) free(all->values[i]);
}
#define autosamples __attribute__((cleanup(free_samples))) samples

/* How inputs move. */
typedef struct move {
    kf_moved moved;
    double share;
    int number;
} move;

/* True if argument `i` moves: f64 among other types only to count terms. */
static bool moves_in(const kf_measurement *r, int i, move how)
{
    const kf_problem *problem = r->bench->problem;
    bool inouts = r->device->buffers.nudges_inouts;
    return how.share > 0 && kf_condition_belongs(&problem->arguments[i], how.moved, inouts) &&
           (how.share < 1 || problem->arguments[i].dtype != KF_F64 ||
            kf_condition_unit(problem->arguments, problem->argument_count, inouts) ==
                kf_nudge_unit(KF_F64));
}

/* Makes the inputs of set `at` those of set `from`, moves a share of them, runs the oracle and
 * takes samples. */
static bool run_moved(kf_measurement *r, uint32_t from, uint32_t at, move how, samples *taken,
                      kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *a = &problem->arguments[i];
        if (a->kind != KF_INPUT && a->kind != KF_INOUT) continue;
        if (!r->device->buffers.copy_input(r->sets, from, at, i, error)) return false;
        if (moves_in(r, i, how) &&
            !r->device->buffers.nudge_input(r->sets, at, i,
                                            kf_measurement_draw(r, "nudge", how.number * 100 + i),
                                            how.share, error))
            return false;
    }
    r->lists.true_known[at] = false;
    if (!kf_measurement_find_truth(r, &at, 1, error) || r->over) return r->over;
    for (int i = 0; i < problem->argument_count; i++) {
        if (!kf_checker_sums(r->checker, i, r->lists.variations[at])) continue;
        if (!taken->values[i])
            taken->values[i] = malloc(KF_CONDITION_SAMPLE * sizeof *taken->values[i]);
        const double *truth = r->device->buffers.truth(r->sets, at, i, error);
        if (!truth) return false;
        if (!taken->values[i]) return kf_fail_memory(error, "a comparison");
        taken->counts[i] =
            kf_condition_sample(truth, problem->arguments[i].elements, taken->values[i]);
    }
    return true;
}

/* True if an argument moves with `moved`. */
static bool any_moves(const kf_measurement *r, kf_moved moved)
{
    const kf_problem *problem = r->bench->problem;
    for (int i = 0; i < problem->argument_count; i++)
        if (kf_condition_belongs(&problem->arguments[i], moved, r->device->buffers.nudges_inouts))
            return true;
    return false;
}

/* Finds the numbers of terms by the inputs that move with `moved`. */
static bool search_terms(kf_measurement *r, uint32_t from, uint32_t at, kf_moved moved,
                         const samples *before, const samples *again, kf_terms_search *searches,
                         kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    kf_set_variation none = {.argument = -1};
    autosamples all = {0}, after = {0};
    int number = 100 * ((int)moved + 1);
    move how = {moved, KF_TERMS_ALL, number};
    if (!run_moved(r, from, at, how, &all, error) || r->over) return r->over;
    for (;;) {
        how.share = 0;
        for (int i = 0; i < problem->argument_count && !(how.share > 0); i++)
            if (kf_checker_sums(r->checker, i, none)) how.share = kf_terms_share(&searches[i]);
        if (!(how.share > 0)) return true;
        how.number++;
        if (!run_moved(r, from, at, how, &after, error) || r->over) return r->over;
        for (int i = 0; i < problem->argument_count; i++)
            if (kf_checker_sums(r->checker, i, none) && kf_terms_share(&searches[i]) == how.share)
                kf_terms_note(&searches[i], before->values[i], again->values[i], all.values[i],
                              after.values[i], after.counts[i]);
    }
}

/* Finds the numbers of terms in set `at`, on inputs that are not varied: large values hide others.
 * The only set has to keep its inputs. */
static bool find_terms(kf_measurement *r, uint32_t doubtful, uint32_t at, kf_error *error)
{
    enum { KINDS = KF_MOVED_OTHERS + 1 };
    const kf_problem *problem = r->bench->problem;
    kf_set_variation none = {.argument = -1};
    uint32_t from = at == doubtful ? doubtful : KF_PLAIN_INPUT;
    autosamples before = {0}, again = {0};
    kf_autofree kf_terms_search *searches =
        calloc((size_t)KINDS * KF_MAX_ARGUMENTS, sizeof *searches);
    if (!searches) return kf_fail_memory(error, "a comparison");
    if (!run_moved(r, from, at, (move){0}, &before, error) || r->over) return r->over;
    if (!run_moved(r, from, at, (move){0}, &again, error) || r->over) return r->over;
    for (int moved = 0; moved < KINDS; moved++) {
        /* Without integers, all floating inputs are others. */
        if (!any_moves(r, (kf_moved)moved) ||
            (moved == KF_MOVED_OTHERS && !any_moves(r, KF_MOVED_INTEGERS)))
            continue;
        if (!search_terms(r, from, at, (kf_moved)moved, &before, &again,
                          searches + (size_t)moved * KF_MAX_ARGUMENTS, error) ||
            r->over)
            return r->over;
    }
    for (int i = 0; i < problem->argument_count; i++) {
        kf_error_sums *sums = kf_checker_sums(r->checker, i, none);
        double found[KINDS];
        if (!sums) continue;
        for (int moved = 0; moved < KINDS; moved++)
            found[moved] = searches[moved * KF_MAX_ARGUMENTS + i].terms;
        sums->terms = fmax(found[KF_MOVED_FLOATS], found[KF_MOVED_INTEGERS]);
        sums->integer_terms = kf_terms_of_integers(found);
        kf_terms_apply(problem->arguments, problem->argument_count, -1, KF_VARY_NONE, sums, sums);
    }
    return true;
}

/* Measures the change in set `at`, which has the inputs of `doubtful`, unless it is known. */
static bool measure_change(kf_measurement *r, uint32_t doubtful, uint32_t at, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    kf_set_variation variation = r->lists.variations[at], none = {.argument = -1};
    autosamples before = {0}, after = {0};
    bool needed = false, counted = true;
    double unit = kf_condition_unit(problem->arguments, problem->argument_count,
                                    r->device->buffers.nudges_inouts);
    int runs = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *a = &problem->arguments[i];
        const kf_error_sums *sums = kf_checker_sums(r->checker, i, variation);
        if (!sums || a->dtype == KF_F64) continue;
        needed = needed || !(unit > 0 ? sums->change_count > 0 : sums->terms > 0);
        counted = counted && kf_checker_sums(r->checker, i, none)->terms > 0;
        if (unit > 0 && kf_condition_runs(a->elements) > runs)
            runs = kf_condition_runs(a->elements);
    }
    if (!needed || !r->device->buffers.nudge_input ||
        !(unit > 0 || any_moves(r, KF_MOVED_INTEGERS)))
        return true;
    if (!run_moved(r, doubtful, at, (move){0}, &before, error) || r->over) return r->over;
    for (int run = 0; run < runs; run++) {
        move how = {KF_MOVED_FLOATS, 1, run + 1};
        if (!run_moved(r, doubtful, at, how, &after, error) || r->over) return r->over;
        for (int i = 0; i < problem->argument_count; i++) {
            kf_error_sums *sums = kf_checker_sums(r->checker, i, variation);
            if (sums &&
                !kf_condition_add(before.values[i], after.values[i], after.counts[i], unit, sums))
                return kf_fail_memory(error, "a comparison");
        }
    }
    if (!counted && (!find_terms(r, doubtful, at, error) || r->over)) return r->over;
    for (int i = 0; i < problem->argument_count; i++) {
        kf_error_sums *sums = kf_checker_sums(r->checker, i, variation);
        if (sums)
            kf_terms_apply(problem->arguments, problem->argument_count, variation.argument,
                           variation.variation, kf_checker_sums(r->checker, i, none), sums);
    }
    r->lists.true_known[at] = false;
    return true;
}

static uint32_t place_of(const kf_measurement *r, uint32_t set)
{
    uint32_t at = 0;
    while (r->lists.order[at] != set) at++;
    return at;
}

/* Gives a set the inputs again that a batch had. */
static bool restore(kf_measurement *r, uint32_t set, kf_error *error)
{
    for (int i = 0; i < r->bench->problem->argument_count; i++)
        if (r->bench->problem->arguments[i].kind == KF_INPUT &&
            !r->device->buffers.copy_input(r->sets, set, set, i, error))
            return false;
    r->lists.true_known[set] = false;
    return true;
}

bool kf_measurement_run_baseline_on(kf_measurement *r, uint32_t doubtful, kf_doubts *doubts,
                                    uint32_t *list, uint32_t *count, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    uint32_t at = find_overwritable(r, doubtful, doubts, list, count);
    bool only = at == r->set_count;
    r->lists.baseline_ran[doubtful] = true;
    /* There is only one set. A candidate in Python keeps its results elsewhere. Otherwise earlier
     * errors of the baseline have to suffice. */
    if (only && !kf_runner_is_python(kf_runner_kind_of(r->runners[CANDIDATE]))) return true;
    if (only) at = place_of(r, doubtful);
    uint32_t other = r->lists.order[at];
    doubts->doubtful[other] = false;
    for (int i = 0; i < problem->argument_count; i++) {
        kf_argument_kind kind = problem->arguments[i].kind;
        if ((kind == KF_INPUT || kind == KF_INOUT) &&
            !r->device->buffers.copy_input(r->sets, doubtful, other, i, error))
            return false;
    }
    if (r->watching.watch && !r->watching.repeat(r, doubtful, other, error)) return false;
    kf_batch batch;
    r->lists.variations[other] = r->lists.variations[doubtful];
    r->lists.true_known[other] = false;
    if (!kf_measurement_batch(r, BASELINE, at, 1, 0, -1, &batch, error)) return false;
    /* Buffers of its own are not as before a batch now, since nothing was poisoned. */
    if (kf_measurement_shares_buffers(r) && !kf_measurement_inspect(r, BASELINE, error))
        return false;
    if (r->over || !kf_measurement_find_truth(r, &other, 1, error)) return r->over;
    if (r->over || !kf_measurement_compare(r, BASELINE, &other, 1, NULL, error)) return r->over;
    if (r->over || !measure_change(r, doubtful, other, error) || r->over) return r->over;
    return !only || restore(r, doubtful, error);
}

/* ---- wrong results without a finding --------------------------------------------------------- */

static bool find_wrong(kf_measurement *r, const uint32_t *list, uint32_t count, bool *wrong,
                       kf_error *error)
{
    uint32_t room = truth_room(r);
    *wrong = false;
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

/* Finds out if the candidate is wrong on a set even by the baseline's error on the same inputs. Its
 * outputs stay there: the baseline runs on a set that was left out, or the candidate is a module,
 * which keeps its results elsewhere. */
static bool stays_wrong(kf_measurement *r, uint32_t set, uint32_t *compared, bool *wrong,
                        kf_error *error)
{
    kf_doubts doubts = {.baseline_ran = r->lists.baseline_ran, .doubtful = r->lists.doubtful};
    if (!find_wrong(r, &set, 1, wrong, error) || r->over || !*wrong) return r->over || !*wrong;
    r->lists.doubtful[set] = true;
    return kf_measurement_run_baseline_on(r, set, &doubts, r->lists.list, compared, error) &&
           (r->over ||
            (kf_measurement_turn_to(r, CANDIDATE, error) && find_wrong(r, &set, 1, wrong, error)));
}

bool kf_measurement_find_wrong(kf_measurement *r, const uint32_t *list, uint32_t count, bool *wrong,
                               kf_error *error)
{
    uint32_t compared = count;
    kf_runner_pool_resume(r->bench->pool);
    if (!find_wrong(r, list, count, wrong, error)) return false;
    if (r->over || !*wrong) return true;
    memcpy(r->lists.list, list, count * sizeof *list);
    memset(r->lists.baseline_ran, 0, r->set_count * sizeof *r->lists.baseline_ran);
    memset(r->lists.doubtful, 0, r->set_count * sizeof *r->lists.doubtful);
    *wrong = false;
    for (uint32_t k = 0; k < compared && !*wrong && !r->over; k++)
        if (!stays_wrong(r, r->lists.list[k], &compared, wrong, error)) return false;
    return true;
}
