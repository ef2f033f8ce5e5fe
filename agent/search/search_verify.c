/* The best candidate, and measuring it again.
 *
 * The highest of many noisy measurements is partly luck (the winner's curse). So the best is
 * measured once more, in fresh processes and longer, and that figure counts. If it falls behind
 * another one, that one is measured again too, until the highest figure is a verified one.
 * During the search only a candidate clearly ahead of the last verified one is measured again,
 * and not often, since it takes the time of several candidates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "kforge/list.h"
#include "search_internal.h"

/* least speedup over the last verified candidate to measure another one during the search */
#define AHEAD 1.10
/* least candidates judged in between */
#define EVERY 10
/* most tries of one candidate, since the machine may spoil one */
#define TRIES 2
/* number of best candidates to choose from */
#define LOOK 32

int kf_verify_tries(const kf_verification *verification, int64_t candidate)
{
    for (size_t i = 0; i < verification->tries_count; i++)
        if (verification->tries[i].candidate == candidate) return verification->tries[i].count;
    return 0;
}

void kf_verify_tried(kf_verification *verification, int64_t candidate)
{
    verification->judged_since = 0;
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
static bool is_settled(const kf_store_candidate *candidate)
{
    return candidate->reverified && (candidate->speedup.low > 1 || candidate->speedup.value <= 1);
}

/* Finds the best candidate except for the baseline: 1 found, 0 not found, -1 error. With `untried`:
 * the best that is not settled and may be tried. */
static int find_best(kf_search *s, bool untried, kf_store_candidate *best, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_store_best(s->store, &(kf_store_scope){.run = s->progress.run, .island = -1},
                      untried ? LOOK : 2, error);
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_store_next_candidate(cursor, best, error)) == 1) {
        if (best->id == s->sources.baseline_candidate) continue;
        if (!untried || (!is_settled(best) && kf_verify_tries(&s->verification, best->id) < TRIES))
            return 1;
    }
    return row;
}

typedef struct choice {
    /* 0: no candidate */
    int64_t id;
    kf_interval speedup;
    bool reverified;
} choice;

bool kf_best_refresh(kf_search *s, kf_error *error)
{
    /* The fastest that was measured again, even if its interval reaches below 1. */
    choice doubtful = {0};
    kf_autoresult kf_store_candidate best = {0}, verified = {0};
    kf_autoresult kf_store_run run = {0};
    if (!kf_store_find_run(s->store, s->progress.run, &run, error)) return false;
    s->progress.correct = run.correct;
    int found = find_best(s, false, &best, error);
    if (found < 0) return false;
    kf_auto(kf_store_cursor) cursor = kf_store_best(
        s->store, &(kf_store_scope){.run = s->progress.run, .island = -1, .reverified = true}, LOOK,
        error);
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_candidate(cursor, &verified, error) : row) == 1) {
        if (verified.id == s->sources.baseline_candidate) continue;
        if (!doubtful.id) doubtful = (choice){verified.id, verified.speedup, true};
        if (is_settled(&verified)) break;
    }
    if (row < 0) return false;
    s->verification.best = row == 1 ? verified.speedup.value : 0;
    /* At the end a verified candidate is called best, if there is one. kf_store_run has the
     * same rule, so `list` and `show` agree. */
    choice chosen = found ? (choice){best.id, best.speedup, best.reverified}
                          : (choice){0, {NAN, NAN, NAN}, false};
    if (s->over && found && !is_settled(&best)) {
        if (row == 1 && verified.speedup.low > 1)
            chosen = (choice){verified.id, verified.speedup, true};
        else if (doubtful.id)
            chosen = doubtful;
    }
    kf_search_progress *p = &s->progress;
    int64_t before = p->best;
    bool was_verified = p->best_reverified;
    double speedup_before = p->best_speedup.value;
    p->best = chosen.id;
    p->best_speedup = chosen.speedup;
    p->best_reverified = chosen.reverified;
    bool verified_now = p->best && p->best_reverified && (p->best != before || !was_verified);
    if (verified_now)
        kf_search_notify(s, KF_SEARCH_VERIFIED, "best measured again: %.3fx [%.3f, %.3f]",
                         chosen.speedup.value, chosen.speedup.low, chosen.speedup.high);
    else if (p->best && p->best != before)
        kf_search_notify(s, KF_SEARCH_BEST, "new best: %.3fx, not measured again yet",
                         chosen.speedup.value);
    if (p->best && (p->best != before || was_verified != p->best_reverified ||
                    chosen.speedup.value != speedup_before))
        kf_search_event_best(s);
    return true;
}

bool kf_best_note(kf_search *s, int64_t candidate, bool verified, kf_status status, double speedup,
                  kf_error *error)
{
    bool lower =
        status != KF_CORRECT || !(speedup > 0) || speedup <= s->progress.best_speedup.value;
    if (!lower || verified || candidate == s->progress.best) return kf_best_refresh(s, error);
    s->progress.correct = (int64_t)kf_population_size(s->selection.population);
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

static bool propose(kf_search *s, int64_t candidate, const char *flags, kf_proposal **result,
                    kf_error *error)
{
    kf_proposal *p = calloc(1, sizeof *p);
    *result = NULL;
    if (!p) return kf_fail_memory(error, "a candidate");
    p->origin.step = KF_STEP_VERIFY;
    p->origin.model = -1;
    p->candidate = candidate;
    p->source = kf_store_source(s->store, candidate, &p->size, error);
    if (!p->source || !fill_flags(p, flags, error)) {
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
           propose(s, candidate, found.flags, proposal, error);
}

bool kf_verify_propose(kf_search *s, bool final, kf_proposal **result, kf_error *error)
{
    kf_autoresult kf_store_candidate best = {0};
    *result = NULL;
    if (!final && s->verification.best > 0 && s->verification.judged_since < EVERY) return true;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        if (p->origin.step == KF_STEP_VERIFY) return true;
    double hurdle = final ? s->verification.best : fmax(1, s->verification.best * AHEAD);
    /* No candidate is above the best. */
    if (!(s->progress.best_speedup.value > hurdle)) return true;
    int found = find_best(s, true, &best, error);
    if (found <= 0) return found == 0;
    return !(best.speedup.value > hurdle) || propose(s, best.id, best.flags, result, error);
}
