/* Formats made of single replies and groups of them: sft, kto, dpo, grpo. */
#include <math.h>
#include <string.h>

#include "export_internal.h"

/* ---- single replies ---- */

static void prompt_of(kf_exporter *e, const kf_item_texts *texts)
{
    kf_row_messages(
        e, "prompt",
        (const kf_row_message[]){{"system", texts->system, texts->system_size}, {"user", texts->prompt, texts->prompt_size}}, 2);
}

static void reply_of(kf_exporter *e, const char *name, const kf_item_texts *texts)
{
    kf_row_messages(e, name, &(kf_row_message){"assistant", texts->reply, texts->reply_size}, 1);
}

bool kf_export_sft(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    if (!kf_items_load(e, &items, error)) return false;
    kf_autotexts texts = {0};
    for (size_t i = 0; i < items.count; i++) {
        const kf_item *item = &items.list[i];
        if (!kf_item_wanted(e, item) || isnan(item->reward)) {
            (*(isnan(item->reward) ? &e->report->unlabelled : &e->report->filtered))++;
            continue;
        }
        if (!kf_item_load_texts(e, item, &texts, error)) return false;
        if (kf_export_texts_leak(e, item->split, &texts)) continue;
        kf_row_begin(e);
        kf_row_messages(e, "messages",
                        (const kf_row_message[]){{"system", texts.system, texts.system_size},
                                                 {"user", texts.prompt, texts.prompt_size},
                                                 {"assistant", texts.reply, texts.reply_size}},
                        3);
        if (!kf_row_origin(e, item, error) || !kf_row_model(e, item, error) || !kf_row_score(e, item, "", error)) return false;
        kf_row_end(e);
        if (!kf_export_emit(e, item->split, error)) return false;
    }
    return true;
}

/* 1 good, 0 bad, -1 neither: as fast as the baseline as far as one can tell, or no label. */
static int verdict_of(const kf_exporter *e, const kf_item *item)
{
    if (isnan(item->reward)) return -1;
    if (item->status != KF_CORRECT) return 0;
    double low = e->options->significant ? item->speedup.low : item->speedup.value;
    double high = e->options->significant ? item->speedup.high : item->speedup.value;
    return low > 1 ? 1 : high < 1 ? 0 : -1;
}

bool kf_export_kto(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    if (!kf_items_load(e, &items, error)) return false;
    kf_autotexts texts = {0};
    for (size_t i = 0; i < items.count; i++) {
        const kf_item *item = &items.list[i];
        int good = verdict_of(e, item);
        if (good < 0 || !kf_item_wanted(e, item)) {
            (*(isnan(item->reward) ? &e->report->unlabelled : &e->report->filtered))++;
            continue;
        }
        if (!kf_item_load_texts(e, item, &texts, error)) return false;
        if (kf_export_texts_leak(e, item->split, &texts)) continue;
        kf_row_begin(e);
        prompt_of(e, &texts);
        reply_of(e, "completion", &texts);
        kf_row_boolean(e, "label", good == 1);
        if (!kf_row_origin(e, item, error) || !kf_row_model(e, item, error) || !kf_row_score(e, item, "", error)) return false;
        kf_row_end(e);
        if (!kf_export_emit(e, item->split, error)) return false;
    }
    return true;
}

/* ---- groups ---- */

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_task(const void *a, const void *b)
{
    const kf_item *x = a, *y = b;
    int order = compare_numbers(x->task, y->task);
    if (!order) order = compare_numbers(x->run, y->run);
    return order ? order : compare_numbers(x->number, y->number);
}

static int by_prompt(const void *a, const void *b)
{
    const kf_item *x = a, *y = b;
    int order = compare_numbers(x->task, y->task);
    if (!order) order = compare_numbers(x->prompt, y->prompt);
    if (!order) order = compare_numbers(x->system, y->system);
    return order ? order : by_task(a, b);
}

/* Labelled items that are wanted, sorted into groups. */
static void keep_labelled(kf_exporter *e, kf_items *items)
{
    size_t kept = 0;
    for (size_t i = 0; i < items->count; i++) {
        const kf_item *item = &items->list[i];
        if (isnan(item->reward))
            e->report->unlabelled++;
        else if (!kf_item_wanted(e, item))
            e->report->filtered++;
        else
            items->list[kept++] = *item;
    }
    items->count = kept;
    qsort(items->list, kept, sizeof *items->list, e->options->by_task ? by_task : by_prompt);
}

static bool same_prompt(const kf_item *a, const kf_item *b)
{
    return a->task == b->task && a->prompt == b->prompt && a->system == b->system;
}

static size_t group_end(const kf_exporter *e, const kf_items *items, size_t start)
{
    size_t end = start + 1;
    const kf_item *first = &items->list[start];
    while (end < items->count &&
           (e->options->by_task ? items->list[end].task == first->task : same_prompt(&items->list[end], first)))
        end++;
    return end;
}

/* Is `a` better than `b`, as far as one can tell? Correct beats failed; of two correct ones the faster by the margin, and with `significant`
 * only where their intervals do not overlap. */
static bool better(const kf_exporter *e, const kf_item *a, const kf_item *b)
{
    if (a->status != KF_CORRECT) return false;
    if (b->status != KF_CORRECT) return true;
    if (!(a->speedup.value > b->speedup.value) || !(a->speedup.value >= e->options->margin * b->speedup.value)) return false;
    return !e->options->significant || a->speedup.low > b->speedup.high;
}

static bool emit_pair(kf_exporter *e, const kf_item *chosen, const kf_item *rejected, kf_error *error)
{
    kf_autotexts good = {0}, bad = {0};
    if (!kf_item_load_texts(e, chosen, &good, error) || !kf_item_load_texts(e, rejected, &bad, error)) return false;
    if (kf_export_texts_leak(e, chosen->split, &good) || kf_export_leaks(e, rejected->split, bad.reply, bad.reply_size))
        return true;
    kf_row_begin(e);
    prompt_of(e, &good);
    reply_of(e, "chosen", &good);
    reply_of(e, "rejected", &bad);
    kf_row_boolean(e, "same_prompt", same_prompt(chosen, rejected));
    if (!kf_row_origin(e, chosen, error) || !kf_row_score(e, chosen, "chosen_", error) ||
        !kf_row_score(e, rejected, "rejected_", error))
        return false;
    kf_row_end(e);
    return kf_export_emit(e, chosen->split, error);
}

/* Every chosen reply of the group with up to most_pairs rejected ones, spread over the group from a place that its number decides, so that not all
 * are paired with the same few. */
static bool pair_group(kf_exporter *e, const kf_item *items, size_t count, kf_error *error)
{
    for (size_t i = 0; i < count; i++) {
        int64_t pairs = 0;
        if (items[i].status != KF_CORRECT) continue;
        size_t start = (size_t)(kf_hash_mix((uint64_t)items[i].run, &items[i].number, sizeof items[i].number) % count);
        for (size_t k = 0; k < count && pairs < e->options->most_pairs; k++) {
            const kf_item *other = &items[(start + k) % count];
            if (other == &items[i] || !better(e, &items[i], other)) continue;
            if (!emit_pair(e, &items[i], other, error)) return false;
            pairs++;
        }
    }
    return true;
}

bool kf_export_dpo(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    if (!kf_items_load(e, &items, error)) return false;
    keep_labelled(e, &items);
    for (size_t start = 0, end; start < items.count; start = end) {
        end = group_end(e, &items, start);
        if (!pair_group(e, items.list + start, end - start, error)) return false;
    }
    return true;
}

static void row_numbers(kf_exporter *e, const char *name, const double *values, size_t count)
{
    kf_row_key(e, name);
    for (size_t i = 0; i < count; i++) {
        kf_buffer_append(&e->row, i ? "," : "[", 1);
        kf_json_number(&e->row, isnan(values[i]) ? 0 : values[i]);
    }
    kf_buffer_append(&e->row, "]", 1);
}

static bool row_completions(kf_exporter *e, const kf_item *items, size_t count, bool *leak, kf_error *error)
{
    kf_autotexts texts = {0};
    for (size_t i = 0; i < count && !*leak; i++) {
        if (!kf_item_load_texts(e, &items[i], &texts, error)) return false;
        if (i == 0) {
            prompt_of(e, &texts);
            kf_row_key(e, "completions");
        }
        *leak = kf_export_texts_leak(e, items[i].split, &texts);
        kf_buffer_append(&e->row, i ? "," : "[", 1);
        kf_json_text(e, texts.reply, texts.reply_size, false);
    }
    kf_buffer_append(&e->row, "]", 1);
    return true;
}

static bool row_names(kf_exporter *e, const kf_item *items, size_t count, kf_error *error)
{
    char hash[KF_HASH_HEX];
    kf_row_key(e, "candidates");
    for (size_t i = 0; i < count; i++) {
        if (!kf_candidate_name(e, items[i].candidate, hash, error)) return false;
        kf_buffer_format(&e->row, "%s\"%s\"", i ? "," : "[", hash);
    }
    kf_buffer_append(&e->row, "]", 1);
    return true;
}

static bool emit_group(kf_exporter *e, const kf_item *items, size_t count, kf_error *error)
{
    kf_autofree double *figures = calloc(3 * count, sizeof *figures);
    if (!figures) return kf_fail(error, KF_ERROR_MEMORY, "%s: exporting: out of memory", e->store->path);
    double *rewards = figures, *advantages = figures + count, *speedups = figures + 2 * count;
    bool leak = false;
    for (size_t i = 0; i < count; i++) {
        rewards[i] = items[i].reward;
        speedups[i] = items[i].speedup.value;
    }
    kf_reward_advantages(rewards, count, advantages);
    kf_row_begin(e);
    if (!row_completions(e, items, count, &leak, error)) return false;
    if (leak) return true;
    row_numbers(e, "rewards", rewards, count);
    row_numbers(e, "advantages", advantages, count);
    kf_row_key(e, "statuses");
    for (size_t i = 0; i < count; i++) kf_buffer_format(&e->row, "%s\"%s\"", i ? "," : "[", items[i].word);
    kf_buffer_append(&e->row, "]", 1);
    row_numbers(e, "speedups", speedups, count);
    if (!row_names(e, items, count, error)) return false;
    kf_row_integer(e, "group", (int64_t)count);
    if (!kf_row_origin(e, items, error)) return false;
    kf_row_end(e);
    return kf_export_emit(e, items->split, error);
}

bool kf_export_grpo(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    if (!kf_items_load(e, &items, error)) return false;
    keep_labelled(e, &items);
    for (size_t start = 0, end; start < items.count; start = end) {
        end = group_end(e, &items, start);
        if ((int64_t)(end - start) < e->options->least_group)
            e->report->filtered += (int64_t)(end - start);
        else if (!emit_group(e, items.list + start, end - start, error))
            return false;
    }
    return true;
}
