/* Makes a candidate of a reply. */
#include <stdlib.h>
#include <string.h>

#include "episode.h"
#include "extract.h"
#include "kforge/file.h"
#include "search_internal.h"

/* Returns the reply's source, malloc'd; NULL with *outcome and the reason. */
static char *source_of(kf_search *s, const kf_call *call, kf_attempt_outcome *outcome,
                       kf_error *why)
{
    bool is_episode;
    *outcome = KF_ATTEMPT_NO_SOURCE;
    char *left = kf_episode_candidate(call->text, call->size, &is_episode, why);
    if (is_episode) return left;
    if (call->origin.parent && kf_extract_has_edits(call->text, call->size)) {
        int applied;
        kf_autofree char *parent =
            kf_search_source(s->store, s->progress.run, call->origin.parent, why);
        if (!parent) return NULL;
        *outcome = KF_ATTEMPT_BAD_EDIT;
        return kf_extract_apply(parent, call->text, call->size, &applied, why);
    }
    return kf_extract_source(call->text, call->size, kf_task_entry(s->task), why);
}

/* Stores the note, and in the same transaction that its reply no longer waits. */
static bool use_summary(kf_search *s, const kf_call *call, kf_error *why, kf_error *error)
{
    if (!kf_store_begin_quick(s->store, error)) return false;
    if (kf_notes_summarise(s, call, why, error)) {
        s->models.items[call->origin.model].useless = 0;
        return kf_state_commit(s, error);
    }
    kf_store_rollback(s->store);
    return false;
}

static bool use_diagnosis(kf_search *s, const kf_call *call, kf_error *error)
{
    kf_error why = {0};
    bool used = call->origin.step == KF_STEP_SUMMARY ? use_summary(s, call, &why, error)
                                                     : kf_choose_diagnosis(s, call, &why, error);
    if (used) {
        s->models.items[call->origin.model].useless = 0;
        return true;
    }
    if (!why.text[0]) return false;
    kf_models_count_useless(s, call->origin.model, why.text);
    return kf_record_failure(s, call, KF_ATTEMPT_NO_SOURCE, why.text, error);
}

/* Returns the tunable source of a reply. */
static kf_tunable_source *tunable_for(kf_search *s, const kf_call *call, const char *source,
                                      kf_error *error)
{
    kf_tunable_source *tunable = kf_tunable_source_find(&s->sources, source, strlen(source));
    return tunable ? tunable
                   : kf_tunable_source_add(s, kf_step_name(call->origin.step), source,
                                           strlen(source), false, error);
}

static bool propose_of(const kf_call *call, kf_tunable_source *tunable, kf_proposal **proposal,
                       kf_error *error)
{
    *proposal = kf_proposal_new(call->origin.step, tunable, &tunable->initial, error);
    if (!*proposal) return false;
    (*proposal)->origin = call->origin;
    if (call->origin.depth < 0) (*proposal)->origin.depth = 0;
    if (call->origin.step != KF_STEP_EPISODE)
        kf_notes_move(call->text, call->size, (*proposal)->move);
    return true;
}

/* Proposes the candidate of a reply. True with *proposal NULL: the reply was useless, which is
 * recorded. */
static bool propose_reply(kf_search *s, const kf_call *call, kf_proposal **proposal,
                          kf_error *error)
{
    kf_error why = {0};
    kf_attempt_outcome outcome;
    *proposal = NULL;
    /* Its model is not part of this session. */
    if (call->origin.model < 0 || call->origin.model >= (int)s->models.count) return true;
    if (kf_step_is_critic(call->origin.step)) return use_diagnosis(s, call, error);
    kf_autofree char *source = source_of(s, call, &outcome, &why);
    if (!source) {
        if (call->truncated)
            kf_fail_prefix(&why, "it was cut off at the token limit; answer with less: no remarks, "
                                 "and search/replace edits where they are allowed");
        kf_models_count_useless(s, call->origin.model, why.text);
        kf_ensemble_useless(&s->models, call->origin.model, call->origin.cost_usd);
        return kf_record_failure(s, call, outcome, why.text, error);
    }
    kf_tunable_source *tunable = tunable_for(s, call, source, error);
    if (!tunable || !propose_of(call, tunable, proposal, error)) return false;
    s->models.items[call->origin.model].useless = 0;
    free(s->models.items[call->origin.model].note);
    s->models.items[call->origin.model].note = NULL;
    return true;
}

/* True if the source's hash starts with these digits. */
static bool is_called(const char *source, const char *digits)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(source, strlen(source));
    kf_hash_hex(&hash, hex);
    return *digits && strncmp(hex, digits, strlen(digits)) == 0;
}

bool kf_replies_propose_again(kf_search *s, const kf_call *call, const char *hash,
                              kf_tunable_source *tunable, kf_proposal **proposal, kf_error *error)
{
    kf_error why = {0};
    kf_attempt_outcome outcome;
    *proposal = NULL;
    kf_autofree char *source = source_of(s, call, &outcome, &why);
    if (!source) return true;
    /* Older versions put another source in place of a reply's. */
    if (!is_called(source, hash)) return true;
    if (!tunable && !(tunable = tunable_for(s, call, source, error))) return false;
    return propose_of(call, tunable, proposal, error);
}

int64_t kf_replies_waiting_useless(kf_search *s)
{
    int64_t useless = 0;
    for (const kf_call *call = s->calls.replies; call; call = call->next) {
        kf_error why = {0};
        kf_attempt_outcome outcome;
        if (kf_step_is_critic(call->origin.step)) continue;
        kf_autofree char *source = source_of(s, call, &outcome, &why);
        useless += !source;
    }
    return useless;
}

bool kf_replies_propose(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    *proposal = NULL;
    kf_call *call = s->calls.replies;
    if (!call) return true;
    s->calls.replies = call->next;
    bool proposed = propose_reply(s, call, proposal, error);
    kf_call_free(call);
    return proposed;
}
