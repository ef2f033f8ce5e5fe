/* Attempts that a model proposed, with the verdict that stands for them: what all learning formats are made from. */
#include <math.h>
#include <string.h>

#include "export_internal.h"

/* The standing in the run's population, else the attempt's own verdict. An attempt that was only measured again (reverified) proposes nothing; one
 * that failed before there was any reply, or was thrown away or lost unjudged, teaches nothing. */
static const char items_sql[] =
    "SELECT r.id, a.number, a.model_call, a.candidate, c.source, m.system, m.prompt, r.task, a.outcome, v.status, v.blame, "
    "v.speedup, v.low,"
    " v.high, v.reverified, v.code_hash, v.id, (SELECT parent FROM lineage l WHERE l.run = r.id AND l.attempt = a.number AND "
    "l.ordinal = 0)"
    " FROM run r CROSS JOIN attempt a ON a.run = r.id CROSS JOIN model_call m ON m.id = a.model_call LEFT JOIN candidate c ON c.id "
    "= a.candidate"
    " LEFT JOIN member b ON b.run = r.id AND b.candidate = a.candidate LEFT JOIN verdict v ON v.id = coalesce(b.verdict, a.verdict)"
    " WHERE a.model_call IS NOT NULL AND (?1 = 0 OR r.id = ?1) AND (?2 = 0 OR r.task = ?2) AND m.reply IS NOT NULL"
    " AND a.outcome NOT IN ('model_failed', 'rejected', 'lost', 'reverified') ORDER BY r.key, a.number";

static void score(kf_exporter *e, sqlite3_stmt *row, kf_item *item)
{
    bool judged = sqlite3_column_type(row, 16) != SQLITE_NULL;
    item->status = kf_word_to_status(sqlite3_column_text(row, 9));
    item->blame = kf_word_to_blame(sqlite3_column_text(row, 10));
    item->speedup = (kf_interval){kf_sql_double(row, 11), kf_sql_double(row, 12), kf_sql_double(row, 13)};
    if (judged)
        item->word = kf_word_status(item->status);
    else { /* a reply without usable code is the model's failure like one that does not compile */
        kf_attempt_outcome outcome = kf_word_to_outcome(sqlite3_column_text(row, 8));
        item->word = kf_attempt_outcome_name(outcome);
        item->status = KF_COMPILE_ERROR;
        item->blame = outcome == KF_ATTEMPT_NO_SOURCE || outcome == KF_ATTEMPT_BAD_EDIT ? KF_BLAME_CANDIDATE : KF_BLAME_JUDGE;
    }
    kf_reward_input input = {item->status, item->blame, item->speedup, e->options->significant};
    item->reward = kf_reward_of(e->options->reward, &input);
}

static bool is_new(kf_exporter *e, sqlite3_stmt *row, const kf_item *item, bool *fresh, kf_error *error)
{
    *fresh = true;
    if (!e->options->dedup || !item->source) return true;
    size_t size;
    kf_autofree char *source = kf_blob_get(e->store, item->source, &size, error);
    if (!source) return false;
    *fresh = kf_export_is_new(e, item->task, source, size, (const char *)sqlite3_column_text(row, 15));
    return true;
}

bool kf_items_load(kf_exporter *e, kf_items *items, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(e->store, error, items_sql, "ii", e->only_run, e->only_task);
    size_t capacity = 0;
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        sqlite3_stmt *s = cursor->statement;
        kf_item item = {.run = sqlite3_column_int64(s, 0),
                        .number = sqlite3_column_int64(s, 1),
                        .call = sqlite3_column_int64(s, 2),
                        .candidate = sqlite3_column_int64(s, 3),
                        .source = sqlite3_column_int64(s, 4),
                        .system = sqlite3_column_int64(s, 5),
                        .prompt = sqlite3_column_int64(s, 6),
                        .task = sqlite3_column_int64(s, 7),
                        .parent = sqlite3_column_int64(s, 17)};
        const kf_export_task *task = kf_export_task_of(e, item.task);
        item.split = task ? task->split : KF_SPLIT_NONE;
        if (item.split == KF_SPLIT_NONE) {
            e->report->held_out++;
            continue;
        }
        bool fresh;
        score(e, s, &item);
        if (!is_new(e, s, &item, &fresh, error)) return false;
        if (!fresh) continue;
        if (items->count == capacity) {
            capacity = capacity ? capacity + capacity / 2 : 256;
            kf_item *list = realloc(items->list, capacity * sizeof *list);
            if (!list) return kf_fail(error, KF_ERROR_MEMORY, "%s: exporting: out of memory", e->store->path);
            items->list = list;
        }
        items->list[items->count++] = item;
    }
    return row == 0;
}

bool kf_item_wanted(const kf_exporter *e, const kf_item *item)
{
    bool correct = item->status == KF_CORRECT;
    switch (e->options->only) {
    case KF_ONLY_CORRECT: return correct;
    case KF_ONLY_FASTER: return correct && item->speedup.low > 1;
    case KF_ONLY_FAILED: return !correct && item->blame == KF_BLAME_CANDIDATE;
    case KF_ONLY_CHEATING: return item->status == KF_CHEATING;
    default: return true;
    }
}

void kf_item_texts_free(kf_item_texts *texts)
{
    free(texts->system);
    free(texts->prompt);
    free(texts->reply);
    *texts = (kf_item_texts){0};
}

bool kf_item_load_texts(kf_exporter *e, const kf_item *item, kf_item_texts *texts, kf_error *error)
{
    kf_item_texts_free(texts);
    if (item->system && !(texts->system = kf_blob_get(e->store, item->system, &texts->system_size, error))) return false;
    texts->prompt = kf_blob_get(e->store, item->prompt, &texts->prompt_size, error);
    if (texts->prompt) texts->reply = kf_store_model_call_text(e->store, item->call, KF_CALL_REPLY, &texts->reply_size, error);
    return texts->reply;
}

bool kf_row_origin(kf_exporter *e, const kf_item *item, kf_error *error)
{
    const kf_export_task *task = kf_export_task_of(e, item->task);
    kf_autoreset *statement = kf_sql(e->store, error, "SELECT key FROM run WHERE id = ?", "i", item->run);
    if (!statement || kf_sql_step(e->store, statement, error) != 1) return false;
    kf_row_word(e, "task", task->name);
    kf_row_word(e, "task_hash", task->hash);
    kf_row_word(e, "family", task->family);
    kf_row_word(e, "run", (const char *)sqlite3_column_text(statement, 0));
    kf_row_integer(e, "attempt", item->number);
    return true;
}

bool kf_row_model(kf_exporter *e, const kf_item *item, kf_error *error)
{
    kf_autoreset *statement = kf_sql(e->store, error, "SELECT model, settings FROM model_call WHERE id = ?", "i", item->call);
    if (!statement || kf_sql_step(e->store, statement, error) != 1) return false;
    const char *settings = (const char *)sqlite3_column_text(statement, 1);
    kf_row_word(e, "model", (const char *)sqlite3_column_text(statement, 0));
    kf_row_word(e, "settings", settings && *settings ? settings : "{}");
    return true;
}

bool kf_candidate_name(kf_exporter *e, int64_t candidate, char hash[KF_HASH_HEX], kf_error *error)
{
    hash[0] = '\0';
    if (!candidate) return true;
    kf_autoreset *statement = kf_sql(e->store, error, "SELECT hash FROM candidate WHERE id = ?", "i", candidate);
    if (!statement || kf_sql_step(e->store, statement, error) != 1) return false;
    kf_sql_copy(statement, 0, hash, KF_HASH_HEX);
    return true;
}

bool kf_row_score(kf_exporter *e, const kf_item *item, const char *prefix, kf_error *error)
{
    char hash[KF_HASH_HEX], name[64];
    if (!kf_candidate_name(e, item->candidate, hash, error)) return false;
    snprintf(name, sizeof name, "%scandidate", prefix);
    kf_row_word(e, name, hash);
    snprintf(name, sizeof name, "%sstatus", prefix);
    kf_row_word(e, name, item->word);
    snprintf(name, sizeof name, "%sspeedup", prefix);
    kf_row_number(e, name, item->speedup.value, 0);
    snprintf(name, sizeof name, "%sspeedup_low", prefix);
    kf_row_number(e, name, item->speedup.low, 0);
    snprintf(name, sizeof name, "%sspeedup_high", prefix);
    kf_row_number(e, name, item->speedup.high, 0);
    snprintf(name, sizeof name, "%sreward", prefix);
    kf_row_number(e, name, item->reward, 0);
    return true;
}
