/* The formats of single replies and of groups of replies: sft, kto, dpo, grpo. */
#include <math.h>
#include <string.h>

#include "export_internal.h"

/* ---- single replies -------------------------------------------------------------------------- */

static void prompt_of(kf_exporter *e, const kf_item_texts *texts)
{
    kf_row_messages(e, "prompt",
                    (const kf_row_message[]){{"system", texts->system, texts->system_size},
                                             {"user", texts->prompt, texts->prompt_size}},
                    2);
}

static void reply_of(kf_exporter *e, const char *name, const kf_item_texts *texts)
{
    kf_row_messages(e, name, &(kf_row_message){"assistant", texts->reply, texts->reply_size}, 1);
}

/* True for replies to imitate. A reply that was cut off is not one, even if its code is good. */
static bool to_imitate(const kf_exporter *e, const kf_item *item)
{
    return item->whole && kf_item_wanted(e, item);
}

/* Asks options->admit for an item. Counts it if it is left out. */
static bool is_admitted(kf_exporter *e, const kf_item *item, bool *admitted, kf_error *error)
{
    *admitted = true;
    if (!e->options->admit || !item->source) return true;
    const kf_export_task *task = kf_export_task_of(e, item->task);
    size_t size;
    kf_autofree char *source = kf_blob_get(e->store, item->source, &size, error);
    kf_autofree char *flags = NULL;
    if (!source) return false;
    {
        kf_autoreset *statement = kf_sql(
            e->store, error, "SELECT flags FROM candidate WHERE id = ?", "i", item->candidate);
        if (!statement || kf_sql_step(e->store, statement, error) != 1) return false;
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        flags = strdup(text ? text : "[]");
    }
    if (!flags) return kf_fail_memory(error, "an export");
    const kf_export_admission asked = {task->hash, source, size, flags};
    if (!e->options->admit(e->options->admit_context, &asked, admitted, error)) return false;
    e->report->refused += !*admitted;
    return true;
}

bool kf_export_sft(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    kf_autotexts texts = {0};
    bool is_new;
    if (!kf_items_load(e, &items, error) || !kf_items_keep(e, &items, to_imitate, error))
        return false;
    for (size_t i = 0; i < items.count; i++) {
        const kf_item *item = &items.list[i];
        if (!kf_item_is_new(e, item, &is_new, error)) return false;
        if (is_new && !is_admitted(e, item, &is_new, error)) return false;
        if (!is_new) continue;
        if (!kf_item_load_texts(e, item, &texts, error)) return false;
        kf_row_begin(e);
        kf_row_messages(e, "messages",
                        (const kf_row_message[]){{"system", texts.system, texts.system_size},
                                                 {"user", texts.prompt, texts.prompt_size},
                                                 {"assistant", texts.reply, texts.reply_size}},
                        3);
        if (!kf_row_origin(e, item, error) || !kf_row_model(e, item, "", error) ||
            !kf_row_score(e, item, "", error))
            return false;
        kf_row_end(e);
        if (!kf_export_emit(e, item->split, error)) return false;
    }
    return true;
}

/* Returns 1 for good, 0 for bad, -1 for a reply that is as fast as the baseline within the
 * interval, or good but cut off. */
static int verdict_of(const kf_exporter *e, const kf_item *item)
{
    if (item->status != KF_CORRECT) return 0;
    double low = e->options->significant ? item->speedup.low : item->speedup.value;
    double high = e->options->significant ? item->speedup.high : item->speedup.value;
    return low > 1 ? (item->whole ? 1 : -1) : high < 1 ? 0 : -1;
}

static bool is_clear(const kf_exporter *e, const kf_item *item)
{
    return verdict_of(e, item) >= 0 && kf_item_wanted(e, item);
}

bool kf_export_kto(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    kf_autotexts texts = {0};
    bool is_new;
    if (!kf_items_load(e, &items, error) || !kf_items_keep(e, &items, is_clear, error))
        return false;
    for (size_t i = 0; i < items.count; i++) {
        const kf_item *item = &items.list[i];
        if (!kf_item_is_new(e, item, &is_new, error)) return false;
        if (!is_new) continue;
        if (!kf_item_load_texts(e, item, &texts, error)) return false;
        kf_row_begin(e);
        prompt_of(e, &texts);
        reply_of(e, "completion", &texts);
        kf_row_boolean(e, "label", verdict_of(e, item) == 1);
        if (!kf_row_origin(e, item, error) || !kf_row_model(e, item, "", error) ||
            !kf_row_score(e, item, "", error))
            return false;
        kf_row_end(e);
        if (!kf_export_emit(e, item->split, error)) return false;
    }
    return true;
}

/* ---- groups ----
 *
 * Of one task on one device, so that speedups can be compared, and with one prompt unless by_task.
 * Duplicates are folded group by group: within a group, and against members of groups that became
 * rows, so that what became no row never takes a place. */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_likeness(const void *a, const void *b, void *context)
{
    const kf_item *x = a, *y = b;
    const kf_exporter *e = context;
    int order = compare_numbers(x->task, y->task);
    if (!order) order = compare_numbers(x->device, y->device);
    if (!order && !e->options->by_task) order = compare_numbers(x->prompt, y->prompt);
    if (!order && !e->options->by_task) order = compare_numbers(x->system, y->system);
    return order ? order : compare_numbers(x->order, y->order);
}

static int by_group(const void *a, const void *b)
{
    const kf_item *x = a, *y = b;
    int order = compare_numbers(x->group, y->group);
    return order ? order : compare_numbers(x->order, y->order);
}

static bool same_prompt(const kf_item *a, const kf_item *b)
{
    return a->task == b->task && a->prompt == b->prompt && a->system == b->system;
}

/* Sorts items into groups, and the groups by their first members. */
static void group_items(kf_exporter *e, kf_items *items)
{
    if (!items->count) return;
    qsort_r(items->list, items->count, sizeof *items->list, by_likeness, e);
    for (size_t i = 0, start = 0; i < items->count; i++) {
        const kf_item *first = &items->list[start], *item = &items->list[i];
        bool alike = item->task == first->task && item->device == first->device &&
                     (e->options->by_task || same_prompt(item, first));
        if (!alike) start = i;
        items->list[i].group = items->list[start].order;
    }
    qsort(items->list, items->count, sizeof *items->list, by_group);
}

typedef struct group {
    kf_item *items;
    kf_fold *folds;
    size_t count;
} group;

/* Removes duplicates of members of the group and of earlier rows. */
static bool fold_group(kf_exporter *e, group *g, kf_error *error)
{
    kf_hash_set seen = {0};
    size_t kept = 0;
    bool ok = true;
    for (size_t i = 0; i < g->count && ok; i++) {
        kf_fold fold;
        ok = kf_item_fold(e, &g->items[i], &fold, error);
        if (!ok || kf_fold_has(&seen, &fold) || kf_fold_has(&e->seen, &fold)) {
            e->report->duplicates += ok;
            continue;
        }
        kf_fold_add(&seen, &fold);
        g->folds[kept] = fold;
        g->items[kept++] = g->items[i];
    }
    g->count = kept;
    if (seen.failed) ok = kf_fail_memory(error, "an export");
    kf_hash_set_free(&seen);
    return ok;
}

static bool for_groups(kf_exporter *e,
                       bool (*take)(kf_exporter *e, const group *g, kf_error *error),
                       kf_error *error)
{
    kf_autoitems items = {0};
    if (!kf_items_load(e, &items, error) || !kf_items_keep(e, &items, kf_item_wanted, error))
        return false;
    group_items(e, &items);
    kf_autofree kf_fold *folds = calloc(items.count + 1, sizeof *folds);
    if (!folds) return kf_fail_memory(error, "an export");
    for (size_t start = 0, end; start < items.count; start = end) {
        for (end = start + 1;
             end < items.count && items.list[end].group == items.list[start].group;)
            end++;
        group g = {items.list + start, folds, end - start};
        if (!fold_group(e, &g, error) || !take(e, &g, error)) return false;
    }
    return true;
}

/* True if `a` is better than `b`. Correct is better than failed. Of two correct replies the one
 * that is faster by the margin is better, with `significant` only if their intervals do not
 * overlap. */
static bool better(const kf_exporter *e, const kf_item *a, const kf_item *b, double margin)
{
    if (a->status != KF_CORRECT) return false;
    if (b->status != KF_CORRECT) return true;
    if (!(a->speedup.value > b->speedup.value) || !(a->speedup.value >= margin * b->speedup.value))
        return false;
    return !e->options->significant || a->speedup.low > b->speedup.high;
}

static bool emit_pair(kf_exporter *e, const kf_item *chosen, const kf_item *rejected,
                      kf_error *error)
{
    kf_autotexts good = {0}, bad = {0};
    if (!kf_item_load_texts(e, chosen, &good, error) ||
        !kf_item_load_texts(e, rejected, &bad, error))
        return false;
    kf_row_begin(e);
    prompt_of(e, &good);
    reply_of(e, "chosen", &good);
    reply_of(e, "rejected", &bad);
    kf_row_boolean(e, "same_prompt", same_prompt(chosen, rejected));
    if (!kf_row_origin(e, chosen, error) || !kf_row_id(e, "chosen_id", chosen, error) ||
        !kf_row_score(e, chosen, "chosen_", error) || !kf_row_model(e, chosen, "chosen_", error) ||
        !kf_row_id(e, "rejected_id", rejected, error) ||
        !kf_row_score(e, rejected, "rejected_", error) ||
        !kf_row_model(e, rejected, "rejected_", error))
        return false;
    kf_row_end(e);
    return kf_export_emit(e, chosen->split, error);
}

/* Pairs every chosen reply of the group with up to most_pairs rejected ones. They are spread over
 * the group from a start that depends on the number of the reply, so that replies get different
 * ones. */
static bool pair_group(kf_exporter *e, const group *g, kf_error *error)
{
    kf_autofree bool *used = calloc(g->count + 1, sizeof *used);
    if (!used) return kf_fail_memory(error, "an export");
    for (size_t i = 0; i < g->count; i++) {
        const kf_item *chosen = &g->items[i];
        int64_t pairs = 0;
        if (chosen->status != KF_CORRECT || !chosen->whole) continue;
        size_t start = (size_t)(kf_hash_mix(i, &chosen->number, sizeof chosen->number) % g->count);
        for (size_t k = 0; k < g->count && pairs < e->options->most_pairs; k++) {
            size_t other = (start + k) % g->count;
            if (other == i || !better(e, chosen, &g->items[other], e->options->margin)) continue;
            if (!emit_pair(e, chosen, &g->items[other], error)) return false;
            used[i] = used[other] = true;
            pairs++;
        }
    }
    for (size_t i = 0; i < g->count; i++) {
        if (used[i])
            kf_fold_add(&e->seen, &g->folds[i]);
        else
            e->report->unused++;
    }
    return true;
}

bool kf_export_dpo(kf_exporter *e, kf_error *error)
{
    return for_groups(e, pair_group, error);
}

static bool row_completions(kf_exporter *e, const group *g, kf_error *error)
{
    kf_autotexts texts = {0};
    for (size_t i = 0; i < g->count; i++) {
        if (!kf_item_load_texts(e, &g->items[i], &texts, error)) return false;
        if (i == 0) {
            prompt_of(e, &texts);
            kf_row_key(e, "completions");
        }
        kf_buffer_append(&e->row, i ? "," : "[", 1);
        kf_json_text(e, texts.reply, texts.reply_size, false);
    }
    kf_buffer_append(&e->row, "]", 1);
    return true;
}

/* True if one reply of the group is better than another. Otherwise dividing by the deviation would
 * turn noise into a preference. */
static bool tells_apart(const kf_exporter *e, const group *g)
{
    const kf_item *best = NULL;
    bool failed = false;
    for (size_t i = 0; i < g->count; i++) {
        const kf_item *item = &g->items[i];
        failed |= item->status != KF_CORRECT;
        /* The item with the highest lower end: if it is better than no other, no item is. */
        if (item->status == KF_CORRECT && (!best || !(item->speedup.low <= best->speedup.low)))
            best = item;
    }
    if (!e->options->significant || (best && failed)) return true;
    for (size_t i = 0; i < g->count && best; i++)
        if (better(e, best, &g->items[i], 1)) return true;
    return false;
}

static bool emit_group(kf_exporter *e, const group *g, kf_error *error)
{
    if ((int64_t)g->count < e->options->least_group || !g->count)
        return e->report->unused += (int64_t)g->count, true;
    kf_autofree double *figures = calloc(2 * g->count, sizeof *figures);
    kf_autofree const kf_item **members = calloc(g->count, sizeof *members);
    if (!figures || !members) return kf_fail_memory(error, "an export");
    double *rewards = figures, *advantages = figures + g->count;
    for (size_t i = 0; i < g->count; i++) {
        members[i] = &g->items[i];
        rewards[i] = g->items[i].reward;
    }
    if (tells_apart(e, g)) kf_reward_advantages(rewards, g->count, advantages);
    kf_row_begin(e);
    if (!row_completions(e, g, error)) return false;
    kf_row_numbers(e, "rewards", rewards, g->count);
    kf_row_numbers(e, "advantages", advantages, g->count);
    if (!kf_row_members(e, members, g->count, error)) return false;
    kf_row_integer(e, "group", (int64_t)g->count);
    if (!kf_row_origin(e, g->items, error)) return false;
    kf_row_end(e);
    for (size_t i = 0; i < g->count; i++) kf_fold_add(&e->seen, &g->folds[i]);
    return kf_export_emit(e, g->items->split, error);
}

bool kf_export_grpo(kf_exporter *e, kf_error *error)
{
    return for_groups(e, emit_group, error);
}
