/* The best candidate, and measuring it again.
 *
 * The highest of many noisy measurements is partly luck (the winner's curse). So the best is
 * measured once more, in fresh processes and longer, and that figure counts. If it falls behind
 * another one, that one is measured again too, until the highest figure is a verified one.
 * During the search only a candidate clearly ahead of the last verified one is measured again,
 * and not often, since it takes the time of several candidates. A candidate with an interval that
 * says nothing is measured again at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "kforge/list.h"
#include "search_internal.h"
#include "table.h"

/* least speedup over the last verified candidate to measure another one during the search */
#define AHEAD 1.10
/* least candidates judged in between */
#define EVERY 10
/* most tries of one candidate, since the machine may spoil one */
#define TRIES 2
/* number of best candidates to choose from */
#define LOOK 32
/* An interval that contains 1 says nothing if its ends differ by this factor. */
#define VAGUE 4
/* in a row that are as wide the second time, after which none is measured again for it */
#define VAGUE_TRIES 3

int kf_verify_tries(const kf_verification *verification, int64_t candidate)
{
    for (size_t i = 0; i < verification->tries_count; i++)
        if (verification->tries[i].candidate == candidate) return verification->tries[i].count;
    return 0;
}

bool kf_says_nothing(kf_interval speedup)
{
    if (isnan(speedup.value)) return true;
    return speedup.low < 1 && speedup.high > 1 && !(speedup.high < VAGUE * speedup.low);
}

void kf_verify_first(kf_verification *verification, int64_t candidate, kf_interval speedup)
{
    if (!kf_says_nothing(speedup) || verification->vague_again >= VAGUE_TRIES ||
        verification->vague_count == KF_VAGUE || kf_verify_tries(verification, candidate))
        return;
    verification->vague[verification->vague_count++] = candidate;
}

static void drop_vague(kf_verification *verification, int64_t candidate)
{
    size_t kept = 0;
    for (size_t i = 0; i < verification->vague_count; i++)
        if (verification->vague[i] != candidate)
            verification->vague[kept++] = verification->vague[i];
    verification->vague_count = kept;
}

void kf_verify_tried(kf_verification *verification, int64_t candidate, kf_interval speedup)
{
    verification->judged_since = 0;
    drop_vague(verification, candidate);
    verification->vague_again = kf_says_nothing(speedup) ? verification->vague_again + 1 : 0;
    for (size_t i = 0; i < verification->tries_count; i++)
        if (verification->tries[i].candidate == candidate) {
            verification->tries[i].count++;
            return;
        }
    /* Without memory the candidate is measured once more than needed. */
    if (!kf_list_grow(&verification->tries, verification->tries_count)) return;
    verification->tries[verification->tries_count++] = (kf_tries){candidate, 1};
}

/* True if measuring again would not help. A candidate that seems faster, with an interval that
 * reaches below 1, may be tried once more. */
static bool is_settled(bool reverified, kf_interval speedup)
{
    return reverified && (speedup.low > 1 || speedup.value <= 1);
}

/* Finds the first candidate by rank that is faster than `hurdle` and may be tried: of those that
 * were measured once, or of those that were measured again and are not settled. 1 found, 0 not
 * found, -1 error. */
static int find_untried(kf_search *s, bool once, double hurdle, kf_store_candidate *found,
                        kf_error *error)
{
    kf_store_scope scope = {.run = s->progress.run,
                            .island = -1,
                            .once = once,
                            .reverified = !once,
                            .without_baseline = true};
    kf_auto(kf_store_cursor) cursor = kf_store_best(s->store, &scope, LOOK, error);
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_store_next_candidate(cursor, found, error)) == 1)
        if (found->speedup.value > hurdle && !is_settled(found->reverified, found->speedup) &&
            kf_verify_tries(&s->verification, found->id) < TRIES)
            return 1;
    return row;
}

/* Reports a change of the best. */
static void report_best(kf_search *s, int64_t before, bool was_verified)
{
    const kf_search_progress *p = &s->progress;
    char figure[KF_FIGURE], interval[KF_FIGURE];
    if (!p->best || (p->best == before && (was_verified || !p->best_reverified))) return;
    kf_figure_speedup(p->best_speedup, figure);
    kf_figure_interval(p->best_speedup, interval);
    /* One that is slower than the baseline is no result. */
    bool slower = !(p->best_speedup.value > 1);
    if (p->best_reverified)
        kf_search_notify(s, KF_SEARCH_VERIFIED, "%s measured again: c%lld %s %s",
                         slower ? "fastest so far" : "best", (long long)p->best, figure, interval);
    else
        kf_search_notify(s, KF_SEARCH_BEST, "%s: c%lld %s %s, not measured again yet",
                         slower ? "fastest so far" : "new best", (long long)p->best, figure,
                         interval);
}

bool kf_best_refresh(kf_search *s, bool quiet, kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    if (!kf_store_find_run(s->store, s->progress.run, &run, error)) return false;
    kf_search_progress *p = &s->progress, before = *p;
    p->correct = run.correct;
    p->best = run.best;
    p->best_speedup = run.best_speedup;
    p->best_reverified = run.best_reverified;
    s->verification.best = p->best_reverified ? p->best_speedup.value : 0;
    if (quiet) return true;
    report_best(s, before.best, before.best_reverified);
    if (p->best && (p->best != before.best || before.best_reverified != p->best_reverified ||
                    p->best_speedup.value != before.best_speedup.value))
        kf_search_event_best(s);
    return true;
}

bool kf_best_note(kf_search *s, int64_t candidate, bool verified, bool quiet, kf_status status,
                  kf_interval speedup, kf_error *error)
{
    const kf_search_progress *p = &s->progress;
    char figure[KF_FIGURE], interval[KF_FIGURE];
    bool timed = status == KF_CORRECT && speedup.value > 0;
    bool ahead = timed && (!p->best || speedup.low >= p->best_speedup.low);
    if (verified || candidate == p->best || (ahead && !p->best_reverified))
        return kf_best_refresh(s, quiet, error);
    s->progress.correct = (int64_t)kf_population_size(s->selection.population);
    if (ahead && !quiet && speedup.value > 1 && candidate != s->sources.baseline_candidate)
        kf_search_notify(s, KF_SEARCH_BEST, "c%lld seems faster: %s %s, not measured again yet",
                         (long long)candidate, kf_figure_speedup(speedup, figure),
                         kf_figure_interval(speedup, interval));
    return true;
}

bool kf_search_refutes(kf_interval first, kf_status status, bool reverified, kf_interval second)
{
    return status != KF_CORRECT || !reverified || second.high < first.low;
}

/* Reports it if the second measurement does not confirm the first one, and returns true. */
static bool report_refuted(kf_search *s, const kf_proposal *p, const kf_verdict *verdict)
{
    char first[2][KF_FIGURE], second[2][KF_FIGURE];
    const kf_interval *was = &p->claimed, *now = &verdict->speedup;
    if (!kf_search_refutes(*was, verdict->status, verdict->reverified, *now)) return false;
    kf_figure_speedup(*was, first[0]);
    kf_figure_interval(*was, first[1]);
    kf_figure_speedup(*now, second[0]);
    kf_figure_interval(*now, second[1]);
    if (verdict->status != KF_CORRECT)
        kf_search_notify(s, KF_SEARCH_VERIFIED, "c%lld not confirmed: %s when measured again",
                         (long long)p->candidate, kf_status_name(verdict->status));
    else if (!verdict->reverified)
        kf_search_notify(s, KF_SEARCH_VERIFIED,
                         "c%lld not confirmed: two measurements disagree, %s %s and %s %s",
                         (long long)p->candidate, first[0], first[1], second[0], second[1]);
    else
        kf_search_notify(s, KF_SEARCH_VERIFIED,
                         "c%lld not confirmed: %s %s at first, %s %s measured again",
                         (long long)p->candidate, first[0], first[1], second[0], second[1]);
    return true;
}

bool kf_verify_note(kf_search *s, const kf_proposal *p, const kf_verdict *verdict, kf_error *error)
{
    char figure[KF_FIGURE], interval[KF_FIGURE];
    bool fault = verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE;
    bool refuted = !fault && report_refuted(s, p, verdict);
    if (!kf_best_note(s, p->candidate, true, false, verdict->status, verdict->speedup, error))
        return false;
    if (!fault && !refuted && s->progress.best != p->candidate)
        kf_search_notify(s, KF_SEARCH_VERIFIED, "c%lld measured again: %s %s",
                         (long long)p->candidate, kf_figure_speedup(verdict->speedup, figure),
                         kf_figure_interval(verdict->speedup, interval));
    return true;
}

static bool fill_flags(kf_proposal *proposal, const char *json, kf_error *error)
{
    kf_auto(cJSON) array = kf_json_parse(json, strlen(json), 0, "flags", error);
    const cJSON *flag;
    if (!array) return false;
    cJSON_ArrayForEach(flag, array)
    {
        if (!cJSON_IsString(flag) || proposal->flag_count == KF_MAX_TUNE_FLAGS) continue;
        proposal->flags[proposal->flag_count] = strdup(flag->valuestring);
        if (!proposal->flags[proposal->flag_count]) return kf_fail_memory(error, "a candidate");
        proposal->flag_count++;
    }
    return true;
}

static bool propose(kf_search *s, const kf_store_candidate *candidate, kf_proposal **result,
                    kf_error *error)
{
    kf_proposal *p = calloc(1, sizeof *p);
    *result = NULL;
    if (!p) return kf_fail_memory(error, "a candidate");
    p->origin.step = KF_STEP_VERIFY;
    p->origin.model = -1;
    p->candidate = candidate->id;
    p->claimed = candidate->speedup;
    p->source = kf_store_source(s->store, candidate->id, &p->size, error);
    if (!p->source || !fill_flags(p, candidate->flags, error)) {
        kf_proposal_free(p);
        return false;
    }
    *result = p;
    return true;
}

bool kf_verify_again(kf_search *s, int64_t candidate, kf_proposal **proposal, kf_error *error)
{
    kf_autoresult kf_store_candidate found = {0};
    *proposal = NULL;
    return kf_store_get_candidate(s->store, candidate, s->progress.run, &found, error) &&
           propose(s, &found, proposal, error);
}

/* Proposes a candidate with an interval that says nothing, unless it can't be the best. */
static bool propose_vague(kf_search *s, kf_proposal **result, kf_error *error)
{
    bool useful = s->verification.vague_again < VAGUE_TRIES;
    for (size_t i = 0; i < s->verification.vague_count && useful; i++) {
        kf_autoresult kf_store_candidate found = {0};
        if (!kf_store_get_candidate(s->store, s->verification.vague[i], s->progress.run, &found,
                                    error))
            return false;
        bool hopeless =
            s->progress.best_reverified && found.speedup.high < s->progress.best_speedup.low;
        if (!hopeless && found.id != s->sources.baseline_candidate &&
            kf_says_nothing(found.speedup))
            return propose(s, &found, result, error);
    }
    return true;
}

bool kf_verify_propose(kf_search *s, bool final, kf_proposal **result, kf_error *error)
{
    *result = NULL;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        if (p->origin.step == KF_STEP_VERIFY) return true;
    if (!final && (!propose_vague(s, result, error) || *result)) return *result;
    if (!final && s->verification.best > 0 && s->verification.judged_since < EVERY) return true;
    double hurdle = final ? s->verification.best : fmax(1, s->verification.best * AHEAD);
    const kf_member *fastest = kf_population_best(s->selection.population, -1);
    /* No candidate is above it. */
    if (!fastest || (!final && !(fastest->speedup > hurdle))) return true;
    kf_autoresult kf_store_candidate found = {0};
    bool settled = is_settled(s->progress.best_reverified, s->progress.best_speedup);
    int row = find_untried(s, true, hurdle, &found, error);
    if (row == 0 && final)
        row = find_untried(s, false, settled ? s->verification.best : 1, &found, error);
    return row == 1 ? propose(s, &found, result, error) : row == 0;
}

bool kf_verify_lacks_time(const kf_search *s)
{
    return kf_search_time_left(s) <= s->verification.longest;
}

bool kf_verify_left_out(kf_search *s, kf_search_result *result, kf_error *error)
{
    kf_proposal *missing;
    char figure[KF_FIGURE];
    if (s->jobs.in_flight) return true;
    if (!kf_verify_propose(s, true, &missing, error)) return false;
    /* Without a better figure it could not become the best. */
    bool is_best = missing && missing->candidate == s->progress.best && s->progress.best_reverified;
    if (missing && missing->claimed.value > 1 && !is_best) {
        result->unmeasured = missing->candidate;
        kf_fail(&result->left_out, KF_ERROR_LIMIT, "c%lld with %s was not measured again: %s",
                (long long)missing->candidate, kf_figure_speedup(missing->claimed, figure),
                kf_verify_lacks_time(s) ? "the time did not suffice"
                                        : "the end of a run measures only a few again");
    }
    kf_proposal_free(missing);
    return true;
}
