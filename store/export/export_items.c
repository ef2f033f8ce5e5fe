/* Items: the attempts that a model proposed, with the verdicts that stand for them. All formats but
 * raw are made from them. */
#include <math.h>
#include <string.h>

#include "export_internal.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "kforge/verdict_types.h"

/* The population of the run, or else the attempt, names a verdict. The label is the verdict that
 * stands for its candidate on its device, even if it is from another run or an `eval`. A correct
 * verdict without a time does not replace one with a time. Attempts that only measured a candidate
 * again, that had no reply, or that were rejected or lost are left out. Attempts with the verdict
 * of another text (migration 8 of schema.sql) get no label. */
#define ITEMS                                                                             \
    "SELECT r.id, a.number, a.model_call, a.candidate, c.source, m.system, m.prompt, "    \
    "r.task, a.outcome, v.status, v.blame, v.speedup, v.low, v.high, v.reverified, "      \
    "v.code_hash, v.id, (SELECT parent FROM lineage l WHERE l.run = r.id AND l.attempt "  \
    "= a.number AND l.ordinal = 0), coalesce(v.device, r.device), m.outcome, "            \
    "a.unverified FROM run r CROSS JOIN attempt a ON a.run = r.id LEFT JOIN model_call "  \
    "m ON m.id = a.model_call LEFT JOIN candidate c ON c.id = a.candidate LEFT JOIN "     \
    "member b ON b.run = r.id AND b.candidate = a.candidate LEFT JOIN verdict w ON w.id " \
    "= coalesce(b.verdict, a.verdict) LEFT JOIN verdict v ON v.id = coalesce((SELECT "    \
    "s.id FROM verdict s WHERE s.candidate = w.candidate AND s.device = w.device AND "    \
    "s.standing = 1 AND (s.status <> 'correct' OR s.speedup IS NOT NULL OR w.speedup IS " \
    "NULL)), w.id)"
static const char items_sql[] =
    ITEMS " WHERE a.model_call IS NOT NULL AND (?1 = 0 OR r.id = ?1) AND (?2 = 0 OR r.task = ?2) "
          "AND m.reply IS NOT NULL AND a.outcome NOT IN ('model_failed', 'rejected', 'lost', "
          "'reverified') ORDER BY r.key, a.number";
static const char unprompted_sql[] =
    "SELECT r.task, count(*) FROM run r CROSS JOIN attempt a ON a.run = r.id WHERE a.model_call IS "
    "NULL AND (?1 = 0 OR r.id = ?1) AND (?2 = 0 OR r.task = ?2) AND a.step <> 'try' AND a.outcome "
    "<> 'reverified' GROUP BY r.task";
/* What the agent of an episode had judged: these attempts have no call of their own. */
static const char tried_sql[] =
    ITEMS " WHERE a.step = 'try' AND r.id = ?1 AND a.number < ?2 AND substr(c.hash, 1, 12) = ?3 "
          "ORDER BY a.number DESC LIMIT 1";

static void score(kf_exporter *e, sqlite3_stmt *row, kf_item *item)
{
    bool judged = sqlite3_column_type(row, 16) != SQLITE_NULL;
    if (sqlite3_column_int(row, 20)) {
        item->status_name = "unverified";
        item->status = KF_JUDGE_ERROR;
        item->blame = KF_BLAME_JUDGE;
        item->reward = NAN;
        return;
    }
    item->status = kf_sql_status(row, 9);
    item->blame = kf_sql_blame(row, 10);
    item->speedup =
        (kf_interval){kf_sql_double(row, 11), kf_sql_double(row, 12), kf_sql_double(row, 13)};
    if (judged)
        item->status_name = kf_status_name(item->status);
    else { /* A reply without usable code fails like one that does not compile. */
        kf_attempt_outcome outcome = kf_sql_outcome(row, 8);
        item->status_name = kf_attempt_outcome_name(outcome);
        item->status = KF_COMPILE_ERROR;
        item->blame = outcome == KF_ATTEMPT_NO_SOURCE || outcome == KF_ATTEMPT_BAD_EDIT
                          ? KF_BLAME_CANDIDATE
                          : KF_BLAME_JUDGE;
    }
    kf_reward_input input = {item->status, item->blame, item->speedup, e->options->significant};
    item->reward = kf_reward_of(e->options->reward, &input);
}

bool kf_export_is_suspected(const char *verdict, size_t size)
{
    /* Most verdicts have no such text, and need no parsing. */
    if (!memmem(verdict, size, "\"" KF_FLAG_SUSPECTED, strlen("\"" KF_FLAG_SUSPECTED)))
        return false;
    kf_auto(cJSON) json = cJSON_ParseWithLength(verdict, size);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, cJSON_GetObjectItemCaseSensitive(json, "flags"))
    {
        if (cJSON_IsString(flag) &&
            strncmp(flag->valuestring, KF_FLAG_SUSPECTED, strlen(KF_FLAG_SUSPECTED)) == 0)
            return true;
    }
    return false;
}

/* Sets item->suspected if `only` needs it. */
static bool load_suspicion(kf_exporter *e, kf_item *item, kf_error *error)
{
    if (e->options->only != KF_ONLY_SUSPECTED || !item->verdict || item->status == KF_CORRECT)
        return true;
    kf_autoreset *statement =
        kf_sql(e->store, error, "SELECT size, codec, data FROM verdict_json WHERE verdict = ?", "i",
               item->verdict);
    int row = statement ? kf_sql_step(e->store, statement, error) : -1;
    if (row != 1) return row == 0;
    size_t size;
    kf_autofree char *text = kf_unpack(e->store, statement, 0, &size, error);
    item->suspected = text && kf_export_is_suspected(text, size);
    return text;
}

bool kf_export_has_own_work(const kf_exporter *e, const char *counters, size_t size)
{
    kf_auto(cJSON) json = cJSON_ParseWithLength(counters, size);
    const cJSON *own =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "work"), "own");
    return cJSON_IsNumber(own) && own->valuedouble >= e->options->own_work;
}

/* Sets item->borrowed if options ask for it. */
static bool load_work(kf_exporter *e, kf_item *item, kf_error *error)
{
    if (!(e->options->own_work > 0) || item->status != KF_CORRECT) return true;
    item->borrowed = true;
    kf_autoreset *statement =
        kf_sql(e->store, error,
               "SELECT size, codec, data FROM counters WHERE candidate = ? AND device = ?", "ii",
               item->candidate, item->device);
    int row = statement ? kf_sql_step(e->store, statement, error) : -1;
    if (row != 1) return row == 0;
    size_t size;
    kf_autofree char *text = kf_unpack(e->store, statement, 0, &size, error);
    item->borrowed = !text || !kf_export_has_own_work(e, text, size);
    return text;
}

static kf_item item_of(sqlite3_stmt *row)
{
    kf_item item = {.run = sqlite3_column_int64(row, 0),
                    .number = sqlite3_column_int64(row, 1),
                    .call = sqlite3_column_int64(row, 2),
                    .candidate = sqlite3_column_int64(row, 3),
                    .source = sqlite3_column_int64(row, 4),
                    .system = sqlite3_column_int64(row, 5),
                    .prompt = sqlite3_column_int64(row, 6),
                    .task = sqlite3_column_int64(row, 7),
                    .verdict = sqlite3_column_int64(row, 16),
                    .parent = sqlite3_column_int64(row, 17),
                    .device = sqlite3_column_int64(row, 18)};
    const char *code = (const char *)sqlite3_column_text(row, 15),
               *call = (const char *)sqlite3_column_text(row, 19);
    item.code = kf_fold_code(code, code ? (size_t)sqlite3_column_bytes(row, 15) : 0);
    item.whole = call && strcmp(call, "ok") == 0;
    return item;
}

bool kf_item_tried(kf_exporter *e, const kf_item *item, const char *hash, kf_item *found,
                   kf_error *error)
{
    *found = (kf_item){0};
    kf_autoreset *statement =
        kf_sql(e->store, error, tried_sql, "iit", item->run, item->number, hash);
    int row = statement ? kf_sql_step(e->store, statement, error) : -1;
    if (row != 1) return false;
    *found = item_of(statement);
    found->call = item->call;
    found->system = item->system;
    found->prompt = item->prompt;
    found->split = item->split;
    found->whole = item->whole;
    score(e, statement, found);
    return true;
}

/* Counts the attempts that no item is made from, because no model was asked. */
static bool count_unprompted(kf_exporter *e, kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(e->store, error, unprompted_sql, "ii", e->only_run, e->only_task);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = kf_sql_step(e->store, statement, error)) == 1) {
        const kf_export_task *task = kf_export_task_of(e, sqlite3_column_int64(statement, 0));
        if (task && task->split != KF_SPLIT_NONE)
            e->report->unprompted += sqlite3_column_int64(statement, 1);
    }
    return row == 0;
}

bool kf_items_load(kf_exporter *e, kf_items *items, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(e->store, error, items_sql, "ii", e->only_run, e->only_task);
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        sqlite3_stmt *s = cursor->statement;
        kf_item item = item_of(s);
        item.order = (uint32_t)items->count;
        const kf_export_task *task = kf_export_task_of(e, item.task);
        item.split = task ? task->split : KF_SPLIT_NONE;
        if (item.split == KF_SPLIT_NONE) {
            e->report->held_out++;
            continue;
        }
        score(e, s, &item);
        if (!load_suspicion(e, &item, error) || !load_work(e, &item, error)) return false;
        if (!kf_list_grow(&items->list, items->count)) return kf_fail_memory(error, "an export");
        items->list[items->count++] = item;
    }
    return row == 0 && count_unprompted(e, error);
}

bool kf_item_wanted(const kf_exporter *e, const kf_item *item)
{
    bool correct = item->status == KF_CORRECT;
    if (item->borrowed) return false;
    switch (e->options->only) {
    case KF_ONLY_CORRECT: return correct;
    case KF_ONLY_FASTER: return correct && item->speedup.low > 1;
    case KF_ONLY_FAILED: return !correct && item->blame == KF_BLAME_CANDIDATE;
    case KF_ONLY_CHEATING: return item->status == KF_CHEATING;
    case KF_ONLY_SUSPECTED: return item->suspected;
    default: return true;
    }
}

static bool leaks(kf_exporter *e, const kf_item *item, bool *found, kf_error *error)
{
    kf_autotexts texts = {0};
    *found = false;
    if (item->split != KF_SPLIT_TRAIN || !e->prints.size) return true;
    if (!kf_item_load_texts(e, item, &texts, error)) return false;
    *found = kf_leak_found(&e->prints, texts.system, texts.system_size) ||
             kf_leak_found(&e->prints, texts.prompt, texts.prompt_size) ||
             kf_leak_found(&e->prints, texts.reply, texts.reply_size);
    return true;
}

bool kf_items_keep(kf_exporter *e, kf_items *items,
                   bool (*fits)(const kf_exporter *e, const kf_item *item), kf_error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < items->count; i++) {
        const kf_item *item = &items->list[i];
        bool found;
        if (isnan(item->reward))
            e->report->unlabelled++;
        else if (!fits(e, item))
            (*(kf_item_wanted(e, item) ? &e->report->unused : &e->report->filtered))++;
        else if (!leaks(e, item, &found, error))
            return false;
        else if (!kf_export_count_leak(e, item->split, found))
            items->list[kept++] = *item;
    }
    items->count = kept;
    return true;
}

bool kf_item_fold(kf_exporter *e, const kf_item *item, kf_fold *fold, kf_error *error)
{
    *fold = (kf_fold){0};
    if (!e->options->dedup || !item->source) return true;
    size_t size;
    kf_autofree char *source = kf_blob_get(e->store, item->source, &size, error);
    if (source) *fold = kf_fold_of(item->task, item->device, source, size, item->code);
    return source;
}

bool kf_item_is_new(kf_exporter *e, const kf_item *item, bool *is_new, kf_error *error)
{
    kf_fold fold;
    if (!kf_item_fold(e, item, &fold, error)) return false;
    *is_new = kf_export_is_new(e, &fold);
    return true;
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
    if (item->system &&
        !(texts->system = kf_blob_get(e->store, item->system, &texts->system_size, error)))
        return false;
    texts->prompt = kf_blob_get(e->store, item->prompt, &texts->prompt_size, error);
    if (texts->prompt)
        texts->reply = kf_store_model_call_text(e->store, item->call, KF_CALL_REPLY,
                                                &texts->reply_size, error);
    return texts->reply;
}

static bool run_key(kf_exporter *e, const kf_item *item, char key[KF_RUN_ID], kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(e->store, error, "SELECT key FROM run WHERE id = ?", "i", item->run);
    if (!statement || kf_sql_step(e->store, statement, error) != 1) return false;
    kf_sql_copy(statement, 0, key, KF_RUN_ID);
    return true;
}

bool kf_row_id(kf_exporter *e, const char *name, const kf_item *item, kf_error *error)
{
    char key[KF_RUN_ID], id[KF_RUN_ID + 24];
    if (!run_key(e, item, key, error)) return false;
    snprintf(id, sizeof id, "%s/%lld", key, (long long)item->number);
    kf_row_word(e, name, id);
    return true;
}

bool kf_row_origin(kf_exporter *e, const kf_item *item, kf_error *error)
{
    const kf_export_task *task = kf_export_task_of(e, item->task);
    char key[KF_RUN_ID];
    if (!run_key(e, item, key, error)) return false;
    kf_autoreset *statement =
        kf_sql(e->store, error, "SELECT name FROM device WHERE id = ?", "i", item->device);
    if (!statement || kf_sql_step(e->store, statement, error) != 1) return false;
    kf_row_word(e, "task", task->name);
    kf_row_word(e, "task_hash", task->hash);
    kf_row_word(e, "family", task->family);
    kf_row_word(e, "run", key);
    kf_row_integer(e, "attempt", item->number);
    kf_row_word(e, "device", (const char *)sqlite3_column_text(statement, 0));
    return true;
}

static sqlite3_stmt *call_of(kf_exporter *e, const kf_item *item, kf_error *error)
{
    kf_autoreset *statement = kf_sql(
        e->store, error,
        "SELECT model, coalesce(nullif(settings, ''), '{}'), outcome, coalesce(prompt_tokens, -1),"
        " coalesce(completion_tokens, -1) FROM model_call WHERE id = ?",
        "i", item->call);
    return statement && kf_sql_step(e->store, statement, error) == 1 ? kf_steal(&statement) : NULL;
}

bool kf_row_model(kf_exporter *e, const kf_item *item, const char *prefix, kf_error *error)
{
    static const char *const words[] = {"model", "settings", "call_outcome"},
                             *const counts[] = {"prompt_tokens", "completion_tokens"};
    char name[64];
    if (!kf_export_note_verdict(e, item->verdict, error)) return false;
    kf_autoreset *statement = call_of(e, item, error);
    if (!statement) return false;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, words[i]);
        kf_row_word(e, name, (const char *)sqlite3_column_text(statement, i));
    }
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, counts[i]);
        kf_row_integer(e, name, sqlite3_column_int64(statement, 3 + i));
    }
    return true;
}

void kf_row_numbers(kf_exporter *e, const char *name, const double *values, size_t count)
{
    kf_row_key(e, name);
    for (size_t i = 0; i < count; i++) {
        kf_buffer_append(&e->row, i ? "," : "[", 1);
        kf_json_number(&e->row, isnan(values[i]) ? 0 : values[i]);
    }
    kf_buffer_append(&e->row, "]", 1);
}

/* Writes the columns of the calls of all members, one list for each column. */
static bool member_calls(kf_exporter *e, const kf_item *const *items, size_t count, kf_error *error)
{
    static const char *const names[] = {"models", "settings", "call_outcomes", "prompt_tokens",
                                        "completion_tokens"};
    for (int column = 0; column < 5; column++) {
        kf_row_key(e, names[column]);
        for (size_t i = 0; i < count; i++) {
            kf_autoreset *statement = call_of(e, items[i], error);
            if (!statement) return false;
            kf_buffer_append(&e->row, i ? "," : "[", 1);
            const char *text = (const char *)sqlite3_column_text(statement, column);
            if (column < 3)
                kf_json_text(e, text, (size_t)sqlite3_column_bytes(statement, column), false);
            else
                kf_buffer_string(&e->row, text);
        }
        kf_buffer_append(&e->row, "]", 1);
    }
    return true;
}

bool kf_row_members(kf_exporter *e, const kf_item *const *items, size_t count, kf_error *error)
{
    static const char *const names[] = {"speedups", "speedups_low", "speedups_high"};
    kf_autofree double *figures = calloc(count, sizeof *figures);
    if (!figures) return kf_fail_memory(error, "an export");
    kf_row_key(e, "statuses");
    for (size_t i = 0; i < count; i++)
        kf_buffer_format(&e->row, "%s\"%s\"", i ? "," : "[", items[i]->status_name);
    kf_buffer_append(&e->row, "]", 1);
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < count; i++)
            figures[i] = k == 0   ? items[i]->speedup.value
                         : k == 1 ? items[i]->speedup.low
                                  : items[i]->speedup.high;
        kf_row_numbers(e, names[k], figures, count);
    }
    kf_row_key(e, "candidates");
    for (size_t i = 0; i < count; i++) {
        char hash[KF_HASH_HEX];
        if (!kf_candidate_name(e, items[i]->candidate, hash, error)) return false;
        if (!kf_export_note_verdict(e, items[i]->verdict, error)) return false;
        kf_buffer_format(&e->row, "%s\"%s\"", i ? "," : "[", hash);
    }
    kf_buffer_append(&e->row, "]", 1);
    kf_row_key(e, "ids");
    for (size_t i = 0; i < count; i++) {
        char key[KF_RUN_ID];
        if (!run_key(e, items[i], key, error)) return false;
        kf_buffer_format(&e->row, "%s\"%s/%lld\"", i ? "," : "[", key, (long long)items[i]->number);
    }
    kf_buffer_append(&e->row, "]", 1);
    return member_calls(e, items, count, error);
}

bool kf_candidate_name(kf_exporter *e, int64_t candidate, char hash[KF_HASH_HEX], kf_error *error)
{
    hash[0] = '\0';
    if (!candidate) return true;
    kf_autoreset *statement =
        kf_sql(e->store, error, "SELECT hash FROM candidate WHERE id = ?", "i", candidate);
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
    kf_row_word(e, name, item->status_name);
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
