/* The order of verdicts in a run that is repeated. With one worker it follows from the decisions; with several it depends on who was faster, and what comes
 * first decides what is tried next. So a run that replays a stored one (its models are replay:STORE#RUN) hands verdicts on in the order in which
 * that run had them: one that comes too early is held, and counts as still under way, until those before it have come.
 *
 * Verdicts are told apart by their candidates, and those of the same candidate by the call that proposed it. One that the stored run did not wait for (it
 * knew it, or has left the path) is handed on at once; one that this run does not wait for is passed over. So nothing is ever waited for that can't come,
 * and a replay that goes another way, because times differ, goes on as any other run.
 */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
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
    return attempt->candidate && (attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_SAME_CODE ||
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
        int64_t *grown = list->count & (list->count - 1) ? list->ids /* grows at powers of two */
                                                         : realloc(list->ids, (list->count ? 2 * list->count : 1) * sizeof *grown);
        if (!grown) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for the order of a run");
        list->ids = grown;
        list->ids[list->count++] = call.id;
    }
    return row == 0;
}

/* As kf_call.number. */
static int64_t number_of(const calls *list, int64_t id)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->ids[low] == id ? (int64_t)low + 1 : 0;
}

static bool append(kf_order *order, const kf_store_attempt *attempt, const calls *list, kf_error *error)
{
    if (order->count == order->capacity) {
        size_t capacity = order->capacity ? 2 * order->capacity : 256;
        void *grown = realloc(order->places, capacity * sizeof *order->places);
        if (!grown) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for the order of a run");
        order->places = grown;
        order->capacity = capacity;
    }
    kf_place *place = &order->places[order->count++];
    memcpy(place->hash, attempt->hash, KF_HASH_HEX);
    place->verify = strcmp(attempt->step, kf_step_name(KF_STEP_VERIFY)) == 0;
    place->number = attempt->model_call ? number_of(list, attempt->model_call) : 0;
    return true;
}

/* Appends the candidates that `run` had verdicts on, or, with `order` NULL, counts them. */
static bool read_attempts(kf_store *store, const char *run, kf_order *order, const calls *list, size_t *count, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    *count = 0;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1) {
        if (!is_of_worker(&attempt)) continue;
        ++*count;
        if (order && !append(order, &attempt, list, error)) return false;
    }
    return row == 0;
}

/* How many workers that run had, and when; which notes it knew, where it repeated another one. A run of an older kforge does not say it. */
static bool read_state(kf_search *s, kf_store *store, const char *run, kf_error *error)
{
    kf_autofree char *text = NULL;
    size_t size;
    if (!kf_store_run_state(store, run, &text, &size, error)) return false;
    kf_auto(cJSON) state = size ? cJSON_ParseWithLength(text, size) : NULL;
    kf_rooms_read(state, &s->rooms_then);
    s->notes_until = kf_json_get_number(state, "notes-until", s->notes_until);
    return true;
}

bool kf_order_read(kf_search *s, kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    kf_autofree char *path = NULL, *run = NULL;
    size_t count, done;
    if (!settings->model_count || !parse(settings->models[0], &path, &run)) return true;
    kf_store *store = s->notes_store = kf_store_open(path, KF_STORE_READ, error);
    kf_autoresult kf_store_run found = {0};
    if (!store || !kf_store_find_run(store, run, &found, error)) return false;
    s->notes_until = found.started;
    calls list = {0};
    bool read = read_calls(store, found.id, &list, error) && read_attempts(store, found.id, &s->order, &list, &count, error) &&
                read_state(s, store, found.id, error);
    free(list.ids);
    if (!read || !read_attempts(s->store, s->progress.run, NULL, NULL, &done, error)) return false;
    s->order.next = done < s->order.count ? done : s->order.count; /* this run goes on */
    return true;
}

void kf_order_clear(kf_order *order)
{
    for (size_t i = 0; i < order->held_count; i++) kf_workers_result_free(&order->held[i]);
    free(order->places);
    *order = (kf_order){0};
}

static const kf_proposal *proposal_of(const kf_search *s, int64_t ticket)
{
    for (const kf_proposal *p = s->in_flight; p; p = p->next)
        if (p->ticket == ticket) return p;
    return NULL;
}

static void hash_of(const kf_proposal *p, char hex[KF_HASH_HEX])
{
    kf_store_candidate_hash(p->source, p->size, (const char *const *)p->flags, (size_t)p->flag_count, hex);
}

/* The place of a candidate's next verdict in the stored run; order.count: there is none. One that came from the same call goes before any other: two calls
 * that are in flight at a time may bring the same source, and both are judged. */
static size_t place_of(const kf_search *s, const kf_proposal *p)
{
    const kf_order *order = &s->order;
    char hex[KF_HASH_HEX];
    size_t first = order->count;
    hash_of(p, hex);
    bool verify = p->step == KF_STEP_VERIFY;
    for (size_t i = order->next; i < order->count; i++) {
        const kf_place *place = &order->places[i];
        if (place->verify != verify || strcmp(place->hash, hex) != 0) continue;
        if (place->number == p->number) return i;
        if (first == order->count) first = i;
    }
    return first;
}

static void strike(kf_order *order, size_t place)
{
    if (place < order->count) order->places[place].hash[0] = '\0';
    while (order->next < order->count && !order->places[order->next].hash[0]) order->next++;
}

void kf_order_known(kf_search *s, const kf_proposal *p)
{
    if (s->order.next < s->order.count) strike(&s->order, place_of(s, p));
}

bool kf_order_hold(kf_search *s, kf_workers_result *result)
{
    kf_order *order = &s->order;
    const kf_proposal *p = proposal_of(s, result->ticket);
    if (!p || order->next == order->count || order->held_count == KF_ORDER_HELD || place_of(s, p) == order->count) return false;
    order->held[order->held_count++] = *result;
    *result = (kf_workers_result){0};
    return true;
}

bool kf_order_take(kf_search *s, kf_workers_result *result)
{
    kf_order *order = &s->order;
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
        memmove(order->held + i, order->held + i + 1, (--order->held_count - i) * sizeof *order->held);
        strike(order, first);
        return true;
    }
    return false;
}
