/* Records what became of a proposal. One transaction stores the attempt, its effect on sources and
 * models, and the state of the search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine_failures.h"
#include "kforge/file.h"
#include "search_internal.h"
#include "table.h"
#include "throttling.h"

/* jobs in a row that workers refuse, after which the run ends */
#define REFUSALS 3
/* how often a candidate is judged again if its verdict blames the machine or the judge */
#define RETRIES 1

static const char *proposer_of(const kf_search *s, kf_step step, int model)
{
    if (model >= 0) return s->models.items[model].name;
    return step == KF_STEP_BASELINE || step == KF_STEP_SEED ? "seed"
           : step == KF_STEP_VERIFY                         ? "judge"
                                                            : "tuner";
}

/* True if the result counts for its model. What an agent has judged while it works is its own
 * affair: only the candidate that it leaves counts. */
static bool is_of_model(const kf_proposal *p)
{
    return p->origin.model >= 0 && p->origin.step != KF_STEP_TRY;
}

static const char *strategy_of(const kf_search *s)
{
    return s->models.count ? s->strategy.name : "tune";
}

/* Returns the part of an attempt that does not depend on its outcome. `parents` is storage for
 * the lineage. */
static kf_store_attempt_new attempt_of(const kf_search *s, const kf_proposal *p,
                                       kf_store_parent parents[1 + KF_EXEMPLARS])
{
    kf_store_attempt_new attempt = {.proposer = proposer_of(s, p->origin.step, p->origin.model),
                                    .strategy = strategy_of(s),
                                    .step = kf_step_name(p->origin.step),
                                    .model_call = p->origin.call,
                                    .began = p->began};
    if (p->candidate) {
        attempt.candidate = p->candidate;
    } else {
        attempt.content.source = p->source;
        attempt.content.source_size = p->size;
        attempt.content.flags = (const char *const *)p->flags;
        attempt.content.flag_count = (size_t)p->flag_count;
        attempt.content.canonical_hash = p->form;
    }
    attempt.island = p->origin.island;
    attempt.parents = parents;
    if (p->origin.parent)
        parents[attempt.parent_count++] =
            (kf_store_parent){p->origin.parent, p->origin.step == KF_STEP_TUNE ? "tuned" : "base"};
    for (int i = 0; i < p->origin.other_count; i++)
        parents[attempt.parent_count++] = (kf_store_parent){
            p->origin.others[i], p->origin.step == KF_STEP_CROSSOVER ? "crossed" : "exemplar"};
    return attempt;
}

/* Stores the attempt in the open transaction, or begins one that `finish` ends. The proposal
 * must no longer be in the lists of the state. */
static bool store(kf_search *s, kf_store_attempt_new *attempt, const kf_tunable_source *tunable,
                  const kf_tune_point *point, kf_store_recorded *recorded, kf_error *error)
{
    kf_autofree char *tunables = tunable ? kf_point_json(tunable, point) : NULL;
    attempt->run = s->progress.run;
    attempt->content.tunables = tunables;
    if ((!kf_store_in_group(s->store) && !kf_store_begin(s->store, error)) ||
        !kf_store_record(s->store, attempt, recorded, error))
        return false;
    s->progress.attempts = recorded->attempt;
    return true;
}

/* Stores the changed state in the same transaction. */
static bool finish(kf_search *s, kf_error *error)
{
    return kf_state_commit(s, error);
}

/* Gives the result to the tunable source and the model. Measuring again affects neither. */
static bool settle(kf_search *s, const kf_proposal *p, bool known, kf_status status, kf_blame blame,
                   double speedup, int64_t candidate, const char *cell, double floor_share,
                   kf_error *error)
{
    double score = status == KF_CORRECT && speedup > 0 ? speedup : NAN;
    kf_ensemble_judged(s, p, known, status, blame, score);
    if (p->tunable) {
        kf_tunable_source_report(p->tunable, &p->point, score);
        if (p->origin.step != KF_STEP_TUNE) {
            p->tunable->settled = true;
            if (!p->tunable->base) p->tunable->base = candidate;
        }
    }
    if (p->origin.step == KF_STEP_BASELINE) s->sources.baseline_candidate = candidate;
    kf_outcome outcome = {.step = p->origin.step,
                          .candidate = candidate,
                          .parent = p->origin.parent,
                          .island = p->origin.island,
                          .of_model = is_of_model(p),
                          .status = status,
                          .blame = blame,
                          .speedup = speedup,
                          .floor_share = floor_share,
                          .cell = cell};
    if (is_of_model(p) && !kf_notes_write(s, p, status, speedup, candidate, error)) return false;
    return kf_selection_take(s, &outcome, error) &&
           (!is_of_model(p) ||
            kf_models_judged(s, p, known, status, blame, score, candidate, error));
}

static const char *label(const kf_proposal *p)
{
    return p->tunable ? p->tunable->name : "candidate";
}

/* Reports an attempt to the observer and as an event. */
static void report(kf_search *s, const kf_proposal *p, kf_attempt_outcome outcome,
                   int64_t candidate, const kf_attempt_result *result)
{
    char point[200] = "", figure[KF_FIGURE];
    kf_search_event_attempt(s, proposer_of(s, p->origin.step, p->origin.model), &p->origin, outcome,
                            candidate, result);
    if (p->tunable && p->origin.step == KF_STEP_TUNE)
        kf_tune_point_describe(p->tunable->space, &p->point, point, sizeof point);
    if (result->speedup.value > 0 && strcmp(result->status, kf_status_name(KF_CORRECT)) == 0)
        kf_search_notify(s, KF_SEARCH_ATTEMPT, "%s %s%s%s: %s, %s", kf_step_name(p->origin.step),
                         label(p), *point ? " " : "", point, kf_attempt_outcome_name(outcome),
                         kf_figure_speedup(result->speedup, figure));
    else
        kf_search_notify(s, KF_SEARCH_ATTEMPT, "%s %s%s%s: %s: %s", kf_step_name(p->origin.step),
                         label(p), *point ? " " : "", point, result->status, result->message);
}

static kf_attempt_result without_verdict(kf_attempt_outcome outcome, const char *message)
{
    bool candidate = outcome == KF_ATTEMPT_NO_SOURCE || outcome == KF_ATTEMPT_BAD_EDIT;
    return (kf_attempt_result){.status = kf_attempt_outcome_name(outcome),
                               .blame = candidate ? kf_blame_name(KF_BLAME_CANDIDATE) : "",
                               .speedup = {NAN, NAN, NAN},
                               .message = message,
                               .build_seconds = NAN,
                               .judge_seconds = NAN};
}

/* Records the attempt with a stored verdict. */
static bool record_reuse(kf_search *s, kf_proposal *p, kf_attempt_outcome outcome,
                         const kf_store_candidate *known, kf_error *error)
{
    kf_store_parent parents[1 + KF_EXEMPLARS];
    kf_store_attempt_new attempt = attempt_of(s, p, parents);
    kf_store_recorded recorded = {0};
    kf_autoresult kf_store_candidate here = {0};
    if (!kf_store_get_candidate(s->store, known->id, s->progress.run, &here, error)) return false;
    bool of_earlier_run = outcome == KF_ATTEMPT_KNOWN && !here.attempt;
    s->progress.known += of_earlier_run;
    attempt.outcome = outcome;
    attempt.known_verdict = known->verdict;
    /* A resume reads the features from there. */
    attempt.content.features = *known->features ? known->features : NULL;
    if (!store(s, &attempt, p->tunable, &p->point, &recorded, error) ||
        !settle(s, p, true, known->status, known->blame, known->speedup.value, recorded.candidate,
                known->cell, kf_features_floor(known->features), error) ||
        !finish(s, error))
        return false;
    report(s, p, outcome, recorded.candidate,
           &(kf_attempt_result){.status = kf_status_name(known->status),
                                .blame = kf_blame_name(known->blame),
                                .speedup = known->speedup,
                                .message = known->message,
                                .build_seconds = NAN,
                                .judge_seconds = NAN});
    kf_episodes_answer_known(s, p, known->verdict, recorded.candidate);
    return kf_best_note(s, recorded.candidate, known->reverified, of_earlier_run, known->status,
                        known->speedup, error);
}

bool kf_record_known(kf_search *s, kf_proposal *p, bool *known, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    return kf_known_candidate(s, p, &candidate, known, error) &&
           (!*known || record_reuse(s, p, KF_ATTEMPT_KNOWN, &candidate, error));
}

bool kf_record_rejected(kf_search *s, kf_proposal *p, const char *message, kf_error *error)
{
    kf_store_parent parents[1 + KF_EXEMPLARS];
    kf_store_attempt_new attempt = attempt_of(s, p, parents);
    kf_store_recorded recorded = {0};
    attempt.outcome = KF_ATTEMPT_REJECTED;
    attempt.message = message;
    if (!store(s, &attempt, p->tunable, &p->point, &recorded, error) ||
        !settle(s, p, false, KF_JUDGE_ERROR, KF_BLAME_MACHINE, NAN, recorded.candidate, "", 0,
                error) ||
        !finish(s, error))
        return false;
    const kf_attempt_result result = without_verdict(KF_ATTEMPT_REJECTED, message);
    report(s, p, KF_ATTEMPT_REJECTED, recorded.candidate, &result);
    kf_episodes_answer(s, p, NULL, message, recorded.candidate);
    return true;
}

/* Keeps a sample of a benchmark until the run is resumed: it counts only by a verdict on itself. */
static bool postpone(kf_search *s, kf_proposal *p, const char *why)
{
    if (!s->settings->samples || !is_of_model(p)) return false;
    p->next = s->jobs.postponed;
    s->jobs.postponed = p;
    kf_fail(&s->jobs.postponed_why, KF_ERROR_MACHINE,
            "the machine failed with a candidate, which is judged when the run is resumed: %s",
            why);
    return true;
}

/* Records an attempt without a verdict that counts. *kept: the caller must not free the
 * proposal. */
static bool record_lost(kf_search *s, kf_proposal *p, const kf_workers_result *result,
                        const char *why, bool *kept, kf_error *error)
{
    kf_store_parent parents[1 + KF_EXEMPLARS];
    kf_store_attempt_new attempt = attempt_of(s, p, parents);
    kf_store_recorded recorded = {0};
    attempt.outcome = KF_ATTEMPT_LOST;
    attempt.message = why;
    s->jobs.refusals = result->outcome == KF_WORKERS_REFUSED ? s->jobs.refusals + 1 : 0;
    if (p->origin.step == KF_STEP_VERIFY)
        kf_verify_tried(&s->verification, p->candidate, (kf_interval){NAN, NAN, NAN});
    else
        s->progress.judged++;
    *kept = p->origin.step != KF_STEP_VERIFY && postpone(s, p, why);
    if (!store(s, &attempt, p->tunable, &p->point, &recorded, error) ||
        (!*kept && !settle(s, p, false, KF_JUDGE_ERROR, KF_BLAME_MACHINE, NAN, recorded.candidate,
                           "", 0, error)) ||
        !finish(s, error))
        return false;
    const kf_attempt_result lost = without_verdict(KF_ATTEMPT_LOST, why);
    report(s, p, KF_ATTEMPT_LOST, recorded.candidate, &lost);
    if (!*kept) kf_episodes_answer(s, p, NULL, why, recorded.candidate);
    return s->jobs.refusals < REFUSALS ||
           kf_fail(error, KF_ERROR_MACHINE, "workers refused %d jobs in a row; the last: %s",
                   s->jobs.refusals, why);
}

/* Notes how long the job took, for the end of the time and for the line of progress. */
static void note_time(kf_search *s, const kf_proposal *p)
{
    double seconds = kf_now() - p->started;
    kf_search_progress *progress = &s->progress;
    if (p->origin.step == KF_STEP_VERIFY)
        s->verification.longest = fmax(s->verification.longest, seconds);
    else
        progress->usual =
            progress->usual > 0 ? progress->usual + 0.25 * (seconds - progress->usual) : seconds;
}

/* Notes what a first measurement says about the machine and about measuring again. */
static void note_measured(kf_search *s, const kf_proposal *p, const kf_verdict *verdict,
                          int64_t candidate)
{
    if (verdict->status != KF_CORRECT) return;
    if (p->origin.step != KF_STEP_BASELINE) {
        kf_verify_first(&s->verification, candidate, verdict->speedup);
        return;
    }
    s->progress.baseline = verdict->speedup;
    const char *flag = kf_throttling_find(verdict);
    kf_autobuffer words = {0};
    if (flag && kf_throttling_words(flag, &words))
        kf_search_notify(s, KF_SEARCH_NEWS, "timing is noisy: %s", words.data);
}

bool kf_record_result(kf_search *s, kf_proposal *p, const kf_workers_result *result, bool *again,
                      kf_error *error)
{
    *again = false;
    double judged = result->verdict ? result->verdict->judge_seconds : NAN;
    note_time(s, p);
    s->progress.device_seconds += judged > 0 ? judged : kf_now() - p->started;
    if (result->outcome != KF_WORKERS_JUDGED)
        return record_lost(s, p, result, result->error.text, again, error);
    const kf_verdict *verdict = result->verdict;
    /* It was fast enough before, so a busy machine is the likelier reason. The first time it
     * keeps its place. */
    if (p->origin.step == KF_STEP_VERIFY && verdict->status == KF_TIMEOUT &&
        kf_verify_tries(&s->verification, p->candidate) == 0)
        return record_lost(s, p, result,
                           "it took too long when it was measured again, and is measured once more",
                           again, error);
    kf_autoresult kf_store_candidate known = {0};
    bool same;
    s->jobs.refusals = 0;
    if (p->origin.step == KF_STEP_VERIFY) {
        kf_verify_tried(&s->verification, p->candidate, verdict->speedup);
    } else {
        s->progress.judged += !kf_verdict_is_fault(verdict);
        s->verification.judged_since++;
    }
    if (!kf_known_code(s, p, verdict, &known, &same, error)) return false;
    p->same_code = same;
    if (same) return record_reuse(s, p, KF_ATTEMPT_SAME_CODE, &known, error);
    kf_store_parent parents[1 + KF_EXEMPLARS];
    kf_store_attempt_new attempt = attempt_of(s, p, parents);
    kf_store_recorded recorded = {0};
    attempt.outcome = p->origin.step == KF_STEP_VERIFY ? KF_ATTEMPT_REVERIFIED : KF_ATTEMPT_JUDGED;
    attempt.verdict = verdict;
    attempt.verdict_json = result->json;
    attempt.verdict_size = result->json_size;
    kf_autofree char *counters =
        verdict->counters ? cJSON_PrintUnformatted(verdict->counters) : NULL;
    attempt.counters = counters;
    char cell[KF_CELL_TEXT];
    double floor_share;
    kf_autofree char *features = kf_features(verdict, p->source, p->size, cell, &floor_share);
    if (!features) return kf_fail_memory(error, "an attempt");
    attempt.content.features = features;
    /* Measuring again does not change the cell. */
    if (p->origin.step != KF_STEP_VERIFY) attempt.cell = cell;
    bool flake = verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE;
    *again = flake && p->origin.step != KF_STEP_VERIFY && p->retries < RETRIES;
    attempt.device = s->environment_id;
    /* The state below includes it. */
    if (*again) {
        p->retries++;
        p->next = s->jobs.retries;
        s->jobs.retries = p;
    } else if (kf_verdict_is_fault(verdict) && p->origin.step != KF_STEP_VERIFY) {
        *again = postpone(s, p, verdict->message);
    }
    if (!flake && *verdict->code_hash && !kf_job_add_known(s->jobs.template, verdict->code_hash))
        return kf_fail_memory(error, "an attempt");
    if (!store(s, &attempt, p->tunable, &p->point, &recorded, error) ||
        (!*again && !settle(s, p, false, verdict->status, verdict->blame, verdict->speedup.value,
                            recorded.candidate, cell, floor_share, error)) ||
        !finish(s, error))
        return false;
    const kf_attempt_result of_verdict = kf_attempt_result_of(verdict);
    report(s, p, attempt.outcome, recorded.candidate, &of_verdict);
    if (!*again) kf_episodes_answer(s, p, verdict, NULL, recorded.candidate);
    /* No candidate of this task will get another verdict, so more of them would be wasted. */
    if (verdict->blame == KF_BLAME_TASK && !s->progress.correct)
        return kf_fail(error, KF_ERROR_INPUT, "the task can't be judged: %s", verdict->message);
    if (p->origin.step == KF_STEP_VERIFY) return kf_verify_note(s, p, verdict, error);
    note_measured(s, p, verdict, recorded.candidate);
    return kf_best_note(s, recorded.candidate, verdict->reverified, false, verdict->status,
                        verdict->speedup, error);
}

bool kf_record_failure(kf_search *s, const kf_call *call, kf_attempt_outcome outcome,
                       const char *message, kf_error *error)
{
    kf_store_attempt_new attempt = {.outcome = outcome,
                                    .message = message,
                                    .proposer = s->models.items[call->origin.model].name,
                                    .strategy = strategy_of(s),
                                    .step = kf_step_name(call->origin.step),
                                    .model_call = call->origin.call};
    kf_store_recorded recorded = {0};
    if (!store(s, &attempt, NULL, NULL, &recorded, error) || !finish(s, error)) return false;
    s->progress.useless += outcome == KF_ATTEMPT_NO_SOURCE || outcome == KF_ATTEMPT_BAD_EDIT;
    const kf_attempt_result result = without_verdict(outcome, message);
    kf_search_event_attempt(s, attempt.proposer, &call->origin, outcome, 0, &result);
    kf_search_notify(s, KF_SEARCH_ATTEMPT, "%s %s: %s: %s", kf_step_name(call->origin.step),
                     attempt.proposer, result.status, message);
    return true;
}
