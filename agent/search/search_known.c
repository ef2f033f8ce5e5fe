/* Verdicts that are stored already: on the same candidate, on another one with the same machine
 * code, or on a source that differs in names and layout alone. Equal candidates share a verdict, so
 * that noise does not tell them apart. */
#include <stdio.h>
#include <string.h>

#include "canonical_source.h"
#include "kforge/file.h"
#include "search_internal.h"

char *kf_search_environment_id(const char *judged, const char *baseline)
{
    char *text;
    if (!baseline) return strdup(judged);
    return asprintf(&text, "%s, against baseline %s", judged, baseline) < 0 ? NULL : text;
}

/* True if the verdict counts whenever the candidate comes up again: it has a time, or blames the
 * candidate. */
static bool usable(const kf_store_candidate *known)
{
    if (!known->verdict) return false;
    return known->status == KF_CORRECT ? known->speedup.value > 0
                                       : known->blame == KF_BLAME_CANDIDATE;
}

/* Sets *counts to whether this run may use the stored verdict. With `anew` only verdicts of this
 * run count. */
static bool counts_here(kf_search *s, int64_t candidate, bool *counts, kf_error *error)
{
    kf_autoresult kf_store_candidate here = {0};
    *counts = true;
    if (!s->settings->anew) return true;
    if (!kf_store_get_candidate(s->store, candidate, s->progress.run, &here, error)) return false;
    *counts = here.attempt > 0;
    return true;
}

bool kf_known_candidate(kf_search *s, const kf_proposal *p, kf_store_candidate *known, bool *found,
                        kf_error *error)
{
    char hash[KF_HASH_HEX];
    *found = false;
    if (p->candidate) return true;
    kf_store_candidate_hash(p->source, p->size, (const char *const *)p->flags,
                            (size_t)p->flag_count, hash);
    if (!kf_store_find_candidate(s->store, kf_task_hash(s->task), hash, s->environment_id, known,
                                 found, error))
        return false;
    *found = *found && usable(known);
    if (*found && !counts_here(s, known->id, found, error)) return false;
    return *found || kf_replay_verdict(s, p, KF_ATTEMPT_KNOWN, known, found, error);
}

bool kf_known_code(kf_search *s, const kf_proposal *p, const kf_verdict *verdict,
                   kf_store_candidate *known, bool *found, kf_error *error)
{
    char hash[KF_HASH_HEX];
    *found = false;
    if (!*verdict->code_hash || p->origin.step == KF_STEP_VERIFY) return true;
    if (!kf_store_find_code(s->store, kf_task_hash(s->task), verdict->code_hash, s->environment_id,
                            known, found, error))
        return false;
    kf_store_candidate_hash(p->source, p->size, (const char *const *)p->flags,
                            (size_t)p->flag_count, hash);
    *found = *found && usable(known) && strcmp(known->hash, hash) != 0;
    if (*found && !counts_here(s, known->id, found, error)) return false;
    return *found || kf_replay_verdict(s, p, KF_ATTEMPT_SAME_CODE, known, found, error);
}

bool kf_known_source(kf_search *s, int64_t number, const char *source, size_t size, char **known,
                     kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    char form[KF_HASH_HEX], hash[KF_HASH_HEX];
    bool found;
    *known = NULL;
    if (!kf_canonical_source_hash(source, size, form, error)) return false;
    if (!*form) return true;
    if (!kf_replay_source(s, number, form, known, error)) return false;
    if (*known) return true;
    kf_store_candidate_hash(form, strlen(form), NULL, 0, hash);
    if (!kf_store_find_canonical(s->store, kf_task_hash(s->task), hash, s->environment_id,
                                 &candidate, &found, error))
        return false;
    found = found && usable(&candidate);
    if (found && !counts_here(s, candidate.id, &found, error)) return false;
    return !found || (*known = kf_store_source(s->store, candidate.id, NULL, error));
}
