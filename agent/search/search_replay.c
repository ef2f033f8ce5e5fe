/* What a replayed run found in its store.
 *
 * A run counts candidates by verdicts of earlier runs that it finds in the store. The run that
 * replays it (its models are replay:STORE#RUN) judges all candidates that the first run judged. It
 * reuses a verdict of another run only where the first run did so too, and reads the notes that
 * existed when the first run started. So the replay of a run with one worker makes the same
 * decisions if its verdicts agree. */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "search_internal.h"

/* Splits "replay[,…]:PATH#RUN[#NAME]" into path and run, malloc'd; false for another spec. */
static bool parse(const char *spec, char **path, char **run)
{
    *path = *run = NULL;
    if (strncmp(spec, "replay", 6) != 0 || (spec[6] != ':' && spec[6] != ',')) return false;
    const char *start = strchr(spec, ':'), *mark = start ? strchr(start, '#') : NULL;
    if (!mark) return false;
    *path = strndup(start + 1, (size_t)(mark - start - 1));
    *run = strndup(mark + 1, strcspn(mark + 1, "#"));
    return *path && *run;
}

/* A growing list of store ids in ascending order. */
typedef struct ids {
    int64_t *items;
    size_t count;
} ids;

static bool append_id(ids *list, int64_t id, kf_error *error)
{
    if (!kf_list_grow(&list->items, list->count)) return kf_fail_memory(error, "a replayed run");
    list->items[list->count++] = id;
    return true;
}

/* Returns the index of the id, or the count if the list does not contain it. */
static size_t find(const ids *list, int64_t id)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->items[low] == id ? low : list->count;
}

/* The replayed run while its attempts are read. */
typedef struct reading {
    kf_replay *replay;
    /* in the order in which the replies came */
    ids calls;
    /* verdicts that the run made itself */
    ids judged;
} reading;

static bool read_calls(kf_store *store, const char *run, ids *calls, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_model_calls(store, run, NULL, error);
    kf_autoresult kf_store_model_call call = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_model_call(cursor, &call, error) : row) == 1)
        if (!append_id(calls, call.id, error)) return false;
    return row == 0;
}

static bool append_reused(kf_replay *replay, const kf_store_attempt *attempt, int64_t number,
                          kf_error *error)
{
    if (!kf_list_grow(&replay->reused, replay->reused_count))
        return kf_fail_memory(error, "a replayed run");
    kf_reused_verdict *reused = &replay->reused[replay->reused_count++];
    *reused = (kf_reused_verdict){.number = number,
                                  .outcome = attempt->outcome,
                                  .verdict = attempt->verdict,
                                  .candidate = attempt->candidate,
                                  .status = attempt->status,
                                  .blame = attempt->blame,
                                  .speedup = attempt->speedup};
    memcpy(reused->hash, attempt->hash, KF_HASH_HEX);
    return true;
}

static bool append(reading *r, const kf_store_attempt *attempt, kf_error *error)
{
    kf_replay *replay = r->replay;
    size_t call = attempt->model_call ? find(&r->calls, attempt->model_call) : r->calls.count;
    int64_t number = call < r->calls.count ? (int64_t)call + 1 : 0;
    bool judged =
        attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_REVERIFIED;
    bool reused = attempt->outcome == KF_ATTEMPT_KNOWN || attempt->outcome == KF_ATTEMPT_SAME_CODE;
    if (reused && attempt->verdict && find(&r->judged, attempt->verdict) == r->judged.count)
        return append_reused(replay, attempt, number, error);
    return !judged || !attempt->verdict || append_id(&r->judged, attempt->verdict, error);
}

static bool read_attempts(kf_store *store, const char *run, reading *r, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1)
        if (attempt.candidate && !append(r, &attempt, error)) return false;
    return row == 0;
}

static bool read_run(kf_search *s, kf_store *store, const kf_store_run *run, kf_error *error)
{
    /* Without `anew` the search finds stored verdicts itself. Those of another device do not
     * count. */
    if (!s->settings->anew || strcmp(run->device, s->environment_id) != 0) return true;
    reading r = {.replay = &s->replay};
    bool good = read_calls(store, run->id, &r.calls, error);
    good = good && read_attempts(store, run->id, &r, error);
    free(r.calls.items);
    free(r.judged.items);
    return good;
}

/* Reads until when notes of other runs count, if the replayed run was itself a replay. */
static bool read_notes_until(kf_search *s, kf_store *store, const char *run, kf_error *error)
{
    kf_autofree char *text = NULL;
    size_t size;
    if (!kf_store_run_state(store, run, &text, &size, error)) return false;
    kf_auto(cJSON) state = size ? cJSON_ParseWithLength(text, size) : NULL;
    s->notes.until = kf_json_get_number(state, "notes-until", s->notes.until);
    return true;
}

bool kf_replay_read(kf_search *s, kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    kf_autofree char *path = NULL, *run = NULL;
    if (!settings->model_count || !parse(settings->models[0], &path, &run)) return true;
    kf_store *store = s->notes.store = kf_store_open(path, KF_STORE_READ, error);
    kf_autoresult kf_store_run found = {0};
    if (!store || !kf_store_find_run(store, run, &found, error)) return false;
    s->notes.until = found.started;
    return read_run(s, store, &found, error) && read_notes_until(s, store, found.id, error);
}

void kf_replay_clear(kf_replay *replay)
{
    free(replay->reused);
    *replay = (kf_replay){0};
}

bool kf_replay_verdict(kf_search *s, const kf_proposal *p, kf_attempt_outcome outcome,
                       kf_store_candidate *known, bool *found, kf_error *error)
{
    const kf_replay *replay = &s->replay;
    char hex[KF_HASH_HEX];
    *found = false;
    if (!replay->reused_count) return true;
    kf_store_candidate_hash(p->source, p->size, (const char *const *)p->flags,
                            (size_t)p->flag_count, hex);
    for (size_t i = 0; i < replay->reused_count; i++) {
        const kf_reused_verdict *r = &replay->reused[i];
        if (r->outcome != outcome || r->number != p->origin.number || strcmp(r->hash, hex) != 0)
            continue;
        if (!kf_store_get_candidate(s->store, r->candidate, NULL, known, error)) return false;
        known->verdict = r->verdict;
        known->status = r->status;
        known->blame = r->blame;
        known->speedup = r->speedup;
        /* It may be one. Then kf_best_note reads the best from the store again. */
        known->reverified = true;
        known->cell = "";
        return *found = true;
    }
    return true;
}
