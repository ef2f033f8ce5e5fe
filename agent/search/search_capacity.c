/* How many jobs and calls the search may have under way, from one moment to the next. That follows
 * from the workers that are there, and so from what is nobody's decision: one comes up late,
 * another dies and is started again, a third is given up. What is tried next depends on it, so a
 * run writes down each change, with how far it was then (kf_search_clock), as a part of its state,
 * and a run that repeats it plans with the rooms that the first one had: where fewer workers are
 * there jobs wait for one, where more are some stay idle.
 *
 * A change is noticed before something is proposed, and counts from then on; fewer rooms from the
 * next point of the run on. That at the same point something was looked for before, with the rooms
 * of before, then makes no difference: it found nothing, or the run would have been further. With
 * fewer it would: the repeated run, which sees but the last rooms of each point, might not look at
 * all, where the first one had found that the tuner has nothing for its turn.
 */
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

static kf_capacity capacity_now(const kf_search *s)
{
    return (kf_capacity){.clock = kf_search_clock(s),
                         .jobs = kf_workers_capacity(s->workers),
                         .devices = kf_workers_devices(s->workers),
                         .least = kf_workers_least_jobs(s->workers)};
}

/* What held at `clock`; NULL: nothing is known of that. */
static const kf_capacity *capacity_at(const kf_capacity_history *history, int64_t clock)
{
    const kf_capacity *found = NULL;
    for (size_t i = 0; i < history->count && history->changes[i].clock <= clock; i++)
        found = &history->changes[i];
    return found;
}

/* What this point of the run has seen stays. */
static void keep_most(const kf_capacity *seen, kf_capacity *now)
{
    if (seen->clock != now->clock) return;
    if (seen->jobs > now->jobs) now->jobs = seen->jobs;
    if (seen->devices > now->devices) now->devices = seen->devices;
    if (seen->least > now->least) now->least = seen->least;
}

static void note(kf_capacity_history *history, const kf_capacity *capacity)
{
    /* A session that was interrupted was further, with what was under way and is not any more. */
    while (history->count && history->changes[history->count - 1].clock >= capacity->clock)
        history->count--;
    const kf_capacity *last = history->count ? &history->changes[history->count - 1] : NULL;
    if (last && last->jobs == capacity->jobs && last->devices == capacity->devices &&
        last->least == capacity->least)
        return;
    if (history->count < KF_CAPACITY_CHANGES)
        history->changes[history->count++] =
            *capacity; /* a worker that keeps dying is not worth more */
}

void kf_capacity_look(kf_search *s)
{
    kf_capacity now = capacity_now(s);
    const kf_capacity *then = capacity_at(&s->capacity_then, now.clock);
    bool went_on = then && then != &s->capacity_then.changes[s->capacity_then.count - 1];
    /* Without any the first run stood still here, until there was a worker again, or a reply came;
     * if there was none again, it has ended. */
    if (then && (then->jobs || (went_on && !s->idle))) {
        int64_t clock = now.clock;
        now = *then;
        now.clock = clock;
    }
    keep_most(&s->capacity, &now);
    s->capacity = now;
    note(&s->capacity_had, &now);
}

void kf_capacity_write(const kf_capacity_history *history, cJSON *state)
{
    cJSON *list = cJSON_AddArrayToObject(state, "rooms");
    for (size_t i = 0; i < history->count; i++) {
        const kf_capacity *r = &history->changes[i];
        const double numbers[] = {(double)r->clock, (double)r->jobs, (double)r->devices,
                                  (double)r->least};
        cJSON_AddItemToArray(list, cJSON_CreateDoubleArray(numbers, 4));
    }
}

void kf_capacity_read(const cJSON *state, kf_capacity_history *history)
{
    const cJSON *entry;
    history->count = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(state, "rooms"))
    {
        double numbers[4];
        for (int i = 0; i < 4; i++) {
            const cJSON *number = cJSON_GetArrayItem(entry, i);
            numbers[i] = cJSON_IsNumber(number) ? number->valuedouble : -1;
            if (!(numbers[i] >= 0 && numbers[i] < 1e15)) return;
        }
        if (history->count == KF_CAPACITY_CHANGES) return;
        history->changes[history->count++] = (kf_capacity){(int64_t)numbers[0], (size_t)numbers[1],
                                                           (size_t)numbers[2], (size_t)numbers[3]};
    }
}
