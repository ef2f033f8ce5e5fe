/* Verdicts that are stored already: on the same candidate, or on another one with the same binary.
 * Equal candidates share a verdict, so that noise does not tell them apart. A source that differs
 * in names and layout alone is built, too, and its binary compared. */
#include <stdio.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "search_internal.h"

char *kf_search_environment_id(const char *judged, const char *baseline)
{
    char *text;
    if (!baseline) return strdup(judged);
    return asprintf(&text, "%s, against baseline %s", judged, baseline) < 0 ? NULL : text;
}

bool kf_search_limits_hold(kf_store *store, const kf_store_candidate *known,
                           const kf_job_options *options, bool *hold, kf_error *error)
{
    size_t size;
    *hold = true;
    if (known->status != KF_TIMEOUT && known->status != KF_COMPILE_ERROR) return true;
    kf_autofree char *text = kf_store_verdict_json(store, known->verdict, &size, error);
    kf_auto(cJSON) json =
        text ? kf_json_parse(text, size, KF_JOB_BYTES, "a stored verdict", error) : NULL;
    if (!json) return false;
    *hold = kf_job_limits_hold(options, known->status,
                               cJSON_GetObjectItemCaseSensitive(json, "provenance"));
    return true;
}

/* True if the verdict counts whenever the candidate comes up again: it has a time, or blames the
 * candidate. */
static bool usable(const kf_store_candidate *known)
{
    if (!known->verdict) return false;
    return known->status == KF_CORRECT ? known->speedup.value > 0
                                       : known->blame == KF_BLAME_CANDIDATE;
}

/* Sets *counts to whether this run may use the stored verdict. Verdicts of another run do not count
 * with `anew`, or if their interval says nothing. */
static bool counts_here(kf_search *s, const kf_store_candidate *known, bool *counts,
                        kf_error *error)
{
    kf_autoresult kf_store_candidate here = {0};
    if (!kf_search_limits_hold(s->store, known, &s->jobs.template->options, counts, error))
        return false;
    if (!*counts) return true;
    if (!s->settings->anew && (known->status != KF_CORRECT || !kf_says_nothing(known->speedup)))
        return true;
    if (!kf_store_get_candidate(s->store, known->id, s->progress.run, &here, error)) return false;
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
    if (*found && !counts_here(s, known, found, error)) return false;
    return *found || kf_replay_verdict(s, p, KF_ATTEMPT_KNOWN, known, found, error);
}

bool kf_known_code(kf_search *s, const kf_proposal *p, const kf_verdict *verdict,
                   kf_store_candidate *known, bool *found, kf_error *error)
{
    char hash[KF_HASH_HEX];
    *found = false;
    if (!*verdict->code_hash || p->origin.step == KF_STEP_VERIFY ||
        p->origin.step == KF_STEP_EPISODE || p->asked.wish != KF_LLM_WISH_EVAL)
        return true;
    if (!kf_store_find_code(s->store, kf_task_hash(s->task), verdict->code_hash, s->environment_id,
                            known, found, error))
        return false;
    kf_store_candidate_hash(p->source, p->size, (const char *const *)p->flags,
                            (size_t)p->flag_count, hash);
    *found = *found && usable(known) && strcmp(known->hash, hash) != 0;
    if (*found && !counts_here(s, known, found, error)) return false;
    return *found || kf_replay_verdict(s, p, KF_ATTEMPT_SAME_CODE, known, found, error);
}

bool kf_known_form(kf_search *s, const kf_proposal *p, kf_error *error)
{
    kf_autoresult kf_store_candidate twin = {0};
    bool found;
    if (!*p->form) return true;
    if (!kf_store_find_canonical(s->store, kf_task_hash(s->task), p->form, s->environment_id, &twin,
                                 &found, error))
        return false;
    found = found && usable(&twin) && *twin.code_hash;
    if (found && !counts_here(s, &twin, &found, error)) return false;
    if (!found || kf_job_knows(s->jobs.template, twin.code_hash)) return true;
    return kf_job_add_known(s->jobs.template, twin.code_hash) || kf_fail_memory(error, "a job");
}
