/* The order of verdicts in a run that is repeated. With one worker it follows from the decisions;
 * with several it depends on who was faster, and what comes first decides what is tried next. So a
 * run that replays a stored one (its models are replay:STORE#RUN) hands verdicts on in the order in
 * which that run had them: one that comes too early is held, and counts as still under way, until
 * those before it have come.
 *
 * Verdicts are told apart by their candidates, and those of the same candidate by the call that
 * proposed it. One that the stored run did not wait for (it knew it, or has left the path) is
 * handed on at once; one that this run does not wait for is passed over. So nothing is ever waited
 * for that can't come, and a replay that goes another way, because times differ, goes on as any
 * other run.
 *
 * A run may count by what others have judged before: candidates that it found in the store. The one
 * that repeats it judges all that it has judged, and counts by the same verdicts where it counted
 * by others': what it began with is no result of it.
 */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "canonical_source.h"
#include "kforge/json.h"
#include "search_internal.h"

/* "PATH#RUN…" of a spec "replay[,…]:PATH#RUN[#NAME]"; false when it is none. malloc'd. */
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

static bool is_of_worker(const kf_store_attempt *attempt)
{
    return attempt->candidate &&
           (attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_SAME_CODE ||
            attempt->outcome == KF_ATTEMPT_REVERIFIED || attempt->outcome == KF_ATTEMPT_LOST);
}

/* The calls of a run, in the order in which their replies came. */
typedef struct calls {
    int64_t *ids;
    size_t count;
} calls;

static bool read_calls(kf_store *store, const char *run, calls *list, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_model_calls(store, run, NULL, error);
    kf_autoresult kf_store_model_call call = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_model_call(cursor, &call, error) : row) == 1) {
        int64_t *grown =
            list->count & (list->count - 1)
                ? list->ids /* grows at powers of two */
                : realloc(list->ids, (list->count ? 2 * list->count : 1) * sizeof *grown);
        if (!grown) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for the order of a run");
        list->ids = grown;
        list->ids[list->count++] = call.id;
    }
    return row == 0;
}

/* Where an id is in an ascending list; `count`: nowhere. */
static size_t find(const int64_t *ids, size_t count, int64_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ids[low] == id ? low : count;
}

/* As kf_call.number. */
static int64_t number_of(const calls *list, int64_t id)
{
    size_t at = find(list->ids, list->count, id);
    return at < list->count ? (int64_t)at + 1 : 0;
}

/* Room for one more in a list that grows at powers of two. */
static bool grow(void *list, size_t count, size_t size, kf_error *error)
{
    void **items = list;
    if (count & (count - 1)) return true;
    void *grown = realloc(*items, (count ? 2 * count : 1) * size);
    if (grown) *items = grown;
    return grown || kf_fail(error, KF_ERROR_MEMORY, "out of memory for the order of a run");
}

/* A stored run on its way into an order. */
typedef struct reading {
    kf_replay_order *order;
    calls list;
    int64_t *judged; /* verdicts that are its own, as they came: ascending */
    size_t judged_count;
} reading;

static bool is_own(const reading *r, int64_t verdict)
{
    return find(r->judged, r->judged_count, verdict) < r->judged_count;
}

static bool append_place(reading *r, const kf_store_attempt *attempt, int64_t number,
                         kf_error *error)
{
    kf_replay_order *order = r->order;
    if (!grow(&order->places, order->count, sizeof *order->places, error)) return false;
    kf_replay_place *place = &order->places[order->count++];
    memcpy(place->hash, attempt->hash, KF_HASH_HEX);
    place->verify = strcmp(attempt->step, kf_step_name(KF_STEP_VERIFY)) == 0;
    place->number = number;
    return true;
}

static bool append_told(reading *r, const kf_store_attempt *attempt, int64_t number,
                        kf_error *error)
{
    kf_replay_order *order = r->order;
    if (!grow(&order->told, order->told_count, sizeof *order->told, error)) return false;
    kf_told *told = &order->told[order->told_count++];
    *told = (kf_told){.number = number,
                      .outcome = attempt->outcome,
                      .verdict = attempt->verdict,
                      .candidate = attempt->candidate,
                      .status = attempt->status,
                      .blame = attempt->blame,
                      .speedup = attempt->speedup};
    memcpy(told->hash, attempt->hash, KF_HASH_HEX);
    return true;
}

static bool append(reading *r, const kf_store_attempt *attempt, kf_error *error)
{
    kf_replay_order *order = r->order;
    int64_t number = attempt->model_call ? number_of(&r->list, attempt->model_call) : 0;
    bool judged =
        attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_REVERIFIED;
    bool reused = attempt->outcome == KF_ATTEMPT_KNOWN || attempt->outcome == KF_ATTEMPT_SAME_CODE;
    if (number > 0 && (size_t)number <= order->candidate_count)
        order->candidates[number - 1] = attempt->candidate;
    if (is_of_worker(attempt) && !append_place(r, attempt, number, error)) return false;
    if (reused && attempt->verdict && !is_own(r, attempt->verdict))
        return append_told(r, attempt, number, error);
    if (!judged || !attempt->verdict) return true;
    if (!grow(&r->judged, r->judged_count, sizeof *r->judged, error)) return false;
    r->judged[r->judged_count++] = attempt->verdict;
    return true;
}

/* Takes the attempts of `run` in, or, with `r` NULL, counts those that a worker had. */
static bool read_attempts(kf_store *store, const char *run, reading *r, size_t *count,
                          kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    *count = 0;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1) {
        *count += is_of_worker(&attempt);
        if (r && attempt.candidate && !append(r, &attempt, error)) return false;
    }
    return row == 0;
}

static bool read_run(kf_search *s, kf_store *store, const kf_store_run *run, kf_error *error)
{
    reading r = {.order = &s->order};
    size_t count;
    bool good = read_calls(store, run->id, &r.list, error);
    s->order.candidates = good ? calloc(r.list.count + 1, sizeof *s->order.candidates) : NULL;
    if (good && !s->order.candidates)
        good = kf_fail(error, KF_ERROR_MEMORY, "out of memory for the order of a run");
    s->order.candidate_count = good ? r.list.count : 0;
    good = good && read_attempts(store, run->id, &r, &count, error);
    /* Verdicts under other conditions are none here; and a run that does not judge anew finds them
     * itself. */
    if (!s->settings->anew || strcmp(run->device, s->environment_id) != 0)
        s->order.told_count = s->order.candidate_count = 0;
    free(r.list.ids);
    free(r.judged);
    return good;
}

/* How many workers that run had, and when; which notes it knew, where it repeated another one. A
 * run of an older kforge does not say it. */
static bool read_state(kf_search *s, kf_store *store, const char *run, kf_error *error)
{
    kf_autofree char *text = NULL;
    size_t size;
    if (!kf_store_run_state(store, run, &text, &size, error)) return false;
    kf_auto(cJSON) state = size ? cJSON_ParseWithLength(text, size) : NULL;
    kf_capacity_read(state, &s->capacity_then);
    s->notes_until = kf_json_get_number(state, "notes-until", s->notes_until);
    return true;
}

bool kf_replay_order_read(kf_search *s, kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    kf_autofree char *path = NULL, *run = NULL;
    size_t done;
    if (!settings->model_count || !parse(settings->models[0], &path, &run)) return true;
    kf_store *store = s->notes_store = kf_store_open(path, KF_STORE_READ, error);
    kf_autoresult kf_store_run found = {0};
    if (!store || !kf_store_find_run(store, run, &found, error)) return false;
    s->notes_until = found.started;
    if (!read_run(s, store, &found, error) || !read_state(s, store, found.id, error) ||
        !read_attempts(s->store, s->progress.run, NULL, &done, error))
        return false;
    s->order.next = done < s->order.count ? done : s->order.count; /* this run goes on */
    return true;
}

void kf_replay_order_clear(kf_replay_order *order)
{
    for (size_t i = 0; i < order->held_count; i++) kf_workers_result_free(&order->held[i]);
    free(order->places);
    free(order->told);
    free(order->candidates);
    *order = (kf_replay_order){0};
}

static const kf_proposal *proposal_of(const kf_search *s, int64_t ticket)
{
    for (const kf_proposal *p = s->in_flight; p; p = p->next)
        if (p->ticket == ticket) return p;
    return NULL;
}

static void hash_of(const kf_proposal *p, char hex[KF_HASH_HEX])
{
    kf_store_candidate_hash(p->source, p->size, (const char *const *)p->flags,
                            (size_t)p->flag_count, hex);
}

/* The place of a candidate's next verdict in the stored run; order.count: there is none. One that
 * came from the same call goes before any other: two calls that are in flight at a time may bring
 * the same source, and both are judged. */
static size_t place_of(const kf_search *s, const kf_proposal *p)
{
    const kf_replay_order *order = &s->order;
    char hex[KF_HASH_HEX];
    size_t first = order->count;
    hash_of(p, hex);
    bool verify = p->step == KF_STEP_VERIFY;
    for (size_t i = order->next; i < order->count; i++) {
        const kf_replay_place *place = &order->places[i];
        if (place->verify != verify || strcmp(place->hash, hex) != 0) continue;
        if (place->number == p->number) return i;
        if (first == order->count) first = i;
    }
    return first;
}

bool kf_replay_order_expects(const kf_search *s, const kf_proposal *proposal)
{
    return place_of(s, proposal) < s->order.count;
}

static void strike(kf_replay_order *order, size_t place)
{
    if (place < order->count) order->places[place].hash[0] = '\0';
    while (order->next < order->count && !order->places[order->next].hash[0]) order->next++;
}

void kf_replay_order_known(kf_search *s, const kf_proposal *p)
{
    if (s->order.next == s->order.count) return;
    size_t place = place_of(s, p);
    /* That of another call is still to come: both were under way at a time, and it was this one
     * that was known by then. */
    if (place < s->order.count && s->order.places[place].number == p->number)
        strike(&s->order, place);
}

bool kf_replay_order_told(kf_search *s, const kf_proposal *p, kf_attempt_outcome outcome,
                          kf_store_candidate *known, bool *told, kf_error *error)
{
    const kf_replay_order *order = &s->order;
    char hex[KF_HASH_HEX];
    *told = false;
    if (!order->told_count) return true;
    hash_of(p, hex);
    for (size_t i = 0; i < order->told_count; i++) {
        const kf_told *t = &order->told[i];
        if (t->outcome != outcome || t->number != p->number || strcmp(t->hash, hex) != 0) continue;
        if (!kf_store_get_candidate(s->store, t->candidate, NULL, known, error)) return false;
        known->verdict = t->verdict;
        known->status = t->status;
        known->blame = t->blame;
        known->speedup = t->speedup;
        known->reverified = true; /* it may be: what is best is looked up again */
        known->cell = "";
        return *told = true;
    }
    return true;
}

bool kf_replay_order_told_source(kf_search *s, int64_t number, const char *form, char **known,
                                 kf_error *error)
{
    const kf_replay_order *order = &s->order;
    char hash[KF_HASH_HEX];
    size_t size;
    *known = NULL;
    if (number < 1 || (size_t)number > order->candidate_count || !order->candidates[number - 1])
        return true;
    kf_autofree char *source =
        kf_store_source(s->store, order->candidates[number - 1], &size, error);
    if (!source || !kf_canonical_source_hash(source, size, hash, error)) return false;
    if (strcmp(hash, form) == 0) *known = kf_steal(&source);
    return true;
}

bool kf_replay_order_hold(kf_search *s, kf_workers_result *result)
{
    kf_replay_order *order = &s->order;
    const kf_proposal *p = proposal_of(s, result->ticket);
    if (!p || order->next == order->count || order->held_count == KF_REPLAY_ORDER_HELD ||
        !kf_replay_order_expects(s, p))
        return false;
    order->held[order->held_count++] = *result;
    *result = (kf_workers_result){0};
    return true;
}

bool kf_replay_order_take(kf_search *s, kf_workers_result *result)
{
    kf_replay_order *order = &s->order;
    size_t first = order->count;
    int64_t ticket = 0;
    if (!order->held_count) return false;
    for (const kf_proposal *p = s->in_flight; p; p = p->next) { /* what is held is in flight, too */
        size_t place = place_of(s, p);
        if (place < first) first = place, ticket = p->ticket;
    }
    for (size_t i = 0; i < order->held_count; i++) {
        if (order->held[i].ticket != ticket && first < order->count) continue;
        *result = order->held[i];
        memmove(order->held + i, order->held + i + 1,
                (--order->held_count - i) * sizeof *order->held);
        strike(order, first);
        return true;
    }
    return false;
}
