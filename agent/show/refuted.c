#include "refuted.h"

#include <stdlib.h>

#include "kforge/list.h"
#include "search.h"

/* the first figure of a candidate */
typedef struct claim {
    int64_t candidate;
    kf_interval speedup;
} claim;

typedef struct claims {
    claim *items;
    size_t count;
} claims;

static const claim *find(const claims *list, int64_t candidate)
{
    for (size_t i = list->count; i-- > 0;)
        if (list->items[i].candidate == candidate) return &list->items[i];
    return NULL;
}

static bool set(kf_refuted *refuted, int64_t candidate, bool is_refuted, kf_error *error)
{
    size_t at = 0;
    while (at < refuted->count && refuted->items[at] != candidate) at++;
    if (!is_refuted && at < refuted->count) refuted->items[at] = refuted->items[--refuted->count];
    if (!is_refuted || at < refuted->count) return true;
    if (!kf_list_grow(&refuted->items, refuted->count)) return kf_fail_memory(error, "a run");
    refuted->items[refuted->count++] = candidate;
    return true;
}

/* The last second measurement of a candidate decides. */
static bool take(kf_refuted *refuted, claims *list, const kf_store_attempt *a, kf_error *error)
{
    if (!a->candidate || !a->verdict) return true;
    if (a->outcome != KF_ATTEMPT_REVERIFIED) {
        if (a->status != KF_CORRECT) return true;
        if (!kf_list_grow(&list->items, list->count)) return kf_fail_memory(error, "a run");
        list->items[list->count++] = (claim){a->candidate, a->speedup};
        return true;
    }
    const claim *first = find(list, a->candidate);
    bool fault = a->blame == KF_BLAME_MACHINE || a->blame == KF_BLAME_JUDGE;
    return !first || fault ||
           set(refuted, a->candidate,
               kf_search_refutes(first->speedup, a->status, a->reverified, a->speedup), error);
}

bool kf_refuted_read(kf_store *store, const char *run, kf_refuted *refuted, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    claims list = {0};
    int row = cursor ? 1 : -1;
    *refuted = (kf_refuted){0};
    while (row == 1 && (row = kf_store_next_attempt(cursor, &attempt, error)) == 1)
        if (!take(refuted, &list, &attempt, error)) row = -1;
    free(list.items);
    return row == 0;
}

bool kf_refuted_has(const kf_refuted *refuted, int64_t candidate)
{
    for (size_t i = 0; i < refuted->count; i++)
        if (refuted->items[i] == candidate) return true;
    return false;
}

void kf_refuted_clear(kf_refuted *refuted)
{
    free(refuted->items);
    *refuted = (kf_refuted){0};
}
