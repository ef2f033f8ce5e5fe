/* The formats that follow lineage or the order of calls: contrast, multiturn, cassette. */
#include <math.h>
#include <string.h>

#include "export_internal.h"
#include "kforge/list.h"

/* ---- contrast -------------------------------------------------------------------------------- */

/* Writes the parents of an attempt with the figures that stand now. *leaks: the source of one holds
 * code of a test task. */
static bool exemplars(kf_exporter *e, const kf_item *item, bool *leaks, kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(e->store, error,
               "SELECT c.hash, l.role, c.source, v.status, v.speedup, v.low, v.high FROM lineage l "
               "JOIN candidate c ON c.id = l.parent"
               " LEFT JOIN member b ON b.run = l.run AND b.candidate = l.parent LEFT JOIN verdict "
               "w ON w.id = b.verdict LEFT JOIN verdict "
               "v"
               " ON v.id = coalesce((SELECT s.id FROM verdict s WHERE s.candidate = w.candidate "
               "AND s.device = w.device AND s.standing = 1"
               " AND (s.status <> 'correct' OR s.speedup IS NOT NULL OR w.speedup IS NULL)), w.id)"
               " WHERE l.run = ? AND l.attempt = ? ORDER BY l.ordinal",
               "ii", item->run, item->number);
    size_t count = 0;
    int row = statement ? 1 : -1;
    kf_row_key(e, "exemplars");
    while (row == 1 && (row = kf_sql_step(e->store, statement, error)) == 1) {
        size_t size;
        kf_autofree char *source =
            kf_blob_get(e->store, sqlite3_column_int64(statement, 2), &size, error);
        if (!source) return false;
        *leaks = *leaks || kf_leak_found(&e->prints, source, size);
        kf_buffer_format(&e->row, "%s{\"candidate\":\"%s\",\"role\":", count++ ? "," : "[",
                         (const char *)sqlite3_column_text(statement, 0));
        const char *role = (const char *)sqlite3_column_text(statement, 1),
                   *status = (const char *)sqlite3_column_text(statement, 3);
        kf_json_text(e, role, strlen(role), false);
        kf_buffer_string(&e->row, ",\"source\":");
        kf_json_text(e, source, size, false);
        kf_buffer_format(&e->row, ",\"status\":\"%s\"", status ? status : "");
        static const char *const names[] = {"speedup", "speedup_low", "speedup_high"};
        for (int i = 0; i < 3; i++) {
            double value = kf_sql_double(statement, 4 + i);
            kf_buffer_format(&e->row, ",\"%s\":", names[i]);
            kf_json_number(&e->row, isnan(value) ? 0 : value);
        }
        kf_buffer_append(&e->row, "}", 1);
    }
    kf_buffer_append(&e->row, "]", 1);
    return row == 0;
}

/* The prompt of a draft shows no candidate. */
static bool has_parents(const kf_exporter *e, const kf_item *item)
{
    return item->source && item->parent && kf_item_wanted(e, item);
}

static bool emit_contrast(kf_exporter *e, const kf_item *item, kf_item_texts *texts,
                          kf_error *error)
{
    size_t size;
    bool is_new, leaks;
    kf_scrub_count scrubbed = e->report->scrubbed;
    if (!kf_item_load_texts(e, item, texts, error)) return false;
    kf_autofree char *target = kf_blob_get(e->store, item->source, &size, error);
    if (!target) return false;
    /* After an edit, most of the source is neither in the prompt nor in the reply. */
    leaks = kf_leak_found(&e->prints, target, size);
    kf_row_begin(e);
    kf_row_messages(e, "prompt",
                    (const kf_row_message[]){{"system", texts->system, texts->system_size},
                                             {"user", texts->prompt, texts->prompt_size}},
                    2);
    if (!exemplars(e, item, &leaks, error)) return false;
    bool out = kf_export_count_leak(e, item->split, leaks);
    if (!out && !kf_item_is_new(e, item, &is_new, error)) return false;
    if (out || !is_new) return e->report->scrubbed = scrubbed, true;
    kf_row_text(e, "reply", texts->reply, texts->reply_size);
    kf_row_text(e, "target", target, size);
    if (!kf_row_origin(e, item, error) || !kf_row_model(e, item, "", error) ||
        !kf_row_score(e, item, "", error))
        return false;
    kf_row_end(e);
    return kf_export_emit(e, item->split, error);
}

bool kf_export_contrast(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    kf_autotexts texts = {0};
    if (!kf_items_load(e, &items, error) || !kf_items_keep(e, &items, has_parents, error))
        return false;
    for (size_t i = 0; i < items.count; i++)
        if (!emit_contrast(e, &items.list[i], &texts, error)) return false;
    return true;
}

/* ---- multiturn ------------------------------------------------------------------------------- */

#define MAX_TURNS 8 /* the number of serial refinements in Kevin-32B */

/* The items of one run, sorted by candidate and number, to find the first attempt that proposed a
 * candidate. */
typedef struct by_candidate {
    int64_t candidate;
    size_t index;
} by_candidate;

static int compare_candidates(const void *a, const void *b)
{
    const by_candidate *x = a, *y = b;
    if (x->candidate != y->candidate) return x->candidate < y->candidate ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Returns the index of the attempt before `limit` that proposed `candidate`, or `limit`. */
static size_t find_turn(const by_candidate *turns, size_t count, int64_t candidate, size_t limit)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (turns[middle].candidate < candidate)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && turns[low].candidate == candidate && turns[low].index < limit
               ? turns[low].index
               : limit;
}

/* A row under construction. Lists grow, because an episode has a turn for each evaluation. */
typedef struct conversation {
    kf_row_message *messages;
    size_t message_count;
    const kf_item **members;
    double *rewards;
    size_t turns;
    kf_item_texts texts[MAX_TURNS];
    kf_episode_turns episodes[MAX_TURNS];
} conversation;

static void conversation_free(conversation *c)
{
    for (size_t i = 0; i < MAX_TURNS; i++) {
        kf_item_texts_free(&c->texts[i]);
        kf_episode_turns_free(&c->episodes[i]);
    }
    free(c->messages);
    free(c->members);
    free(c->rewards);
}

static bool say(conversation *c, const char *role, const char *text, size_t size)
{
    if (!kf_list_grow(&c->messages, c->message_count)) return false;
    c->messages[c->message_count++] = (kf_row_message){role, text, size};
    return true;
}

/* Adds a reply with the attempt that judged it. */
static bool answer(conversation *c, const kf_item *item, const char *text, size_t size)
{
    if (!kf_list_grow(&c->members, c->turns) || !kf_list_grow(&c->rewards, c->turns)) return false;
    c->members[c->turns] = item;
    c->rewards[c->turns++] = item->reward;
    return say(c, "assistant", text, size);
}

/* Adds the attempt with index `i` of the chain. *leaks: an episode holds code of a test task, which
 * kf_items_keep does not see in its JSON. */
static bool add_attempt(kf_exporter *e, conversation *c, size_t i, const kf_item *item, bool *leaks,
                        kf_error *error)
{
    kf_item_texts *texts = &c->texts[i];
    kf_episode_turns *episode = &c->episodes[i];
    if (!kf_item_load_texts(e, item, texts, error) ||
        !kf_episode_turns_read(e, item, texts->reply, texts->reply_size, episode, error))
        return false;
    bool ok = (i > 0 || say(c, "system", texts->system, texts->system_size)) &&
              say(c, "user", texts->prompt, texts->prompt_size);
    for (size_t k = 0; ok && k < episode->count; k++) {
        const kf_episode_turn *turn = &episode->list[k];
        *leaks |= kf_leak_found(&e->prints, turn->reply, strlen(turn->reply)) ||
                  kf_leak_found(&e->prints, turn->feedback, strlen(turn->feedback));
        ok = answer(c, &turn->item, turn->reply, strlen(turn->reply)) &&
             say(c, "user", turn->feedback, strlen(turn->feedback));
    }
    const char *reply = episode->last ? episode->last : texts->reply;
    size_t size = episode->last ? strlen(episode->last) : texts->reply_size;
    if (episode->last) *leaks |= kf_leak_found(&e->prints, reply, size);
    return (ok && answer(c, item, reply, size)) || kf_fail_memory(error, "an export");
}

static bool emit_conversation(kf_exporter *e, const conversation *c, const kf_item *last,
                              kf_error *error)
{
    kf_autofree double *returns = calloc(c->turns, sizeof *returns);
    if (!returns) return kf_fail_memory(error, "an export");
    kf_reward_returns(c->rewards, c->turns, e->options->discount, returns);
    kf_row_begin(e);
    kf_row_messages(e, "messages", c->messages, c->message_count);
    kf_row_integer(e, "turns", (int64_t)c->turns);
    kf_row_numbers(e, "rewards", c->rewards, c->turns);
    kf_row_numbers(e, "returns", returns, c->turns);
    bool ok = kf_row_members(e, c->members, c->turns, error) && kf_row_origin(e, last, error) &&
              kf_row_score(e, last, "", error);
    kf_row_end(e);
    return ok && kf_export_emit(e, last->split, error);
}

static bool emit_chain(kf_exporter *e, const kf_item *const *chain, size_t turns, kf_error *error)
{
    __attribute__((cleanup(conversation_free))) conversation c = {0};
    bool leaks = false;
    for (size_t i = 0; i < turns; i++)
        if (!add_attempt(e, &c, i, chain[i], &leaks, error)) return false;
    const kf_item *last = chain[turns - 1];
    if (kf_export_count_leak(e, last->split, last->split == KF_SPLIT_TRAIN && leaks)) return true;
    return emit_conversation(e, &c, last, error);
}

/* Returns the turn before: the first attempt that proposed the refined candidate. An attempt under
 * another system text belongs to another conversation. */
static size_t turn_before(const kf_item *items, const by_candidate *turns, size_t count, size_t at)
{
    size_t parent = items[at].parent ? find_turn(turns, count, items[at].parent, at) : at;
    return items[parent].system == items[at].system ? parent : at;
}

/* Writes one row for each attempt that no later attempt refined. The chain goes up first parents,
 * at most MAX_TURNS. Attempts without a label are not among the items, because a turn without a
 * reward would get a wrong one. So a chain begins after such an attempt. */
static bool chains_of_run(kf_exporter *e, const kf_item *items, size_t count, kf_error *error)
{
    kf_autofree by_candidate *turns = calloc(count, sizeof *turns);
    kf_autofree bool *refined = calloc(count, sizeof *refined);
    if (!turns || !refined) return kf_fail_memory(error, "an export");
    for (size_t i = 0; i < count; i++) turns[i] = (by_candidate){items[i].candidate, i};
    qsort(turns, count, sizeof *turns, compare_candidates);
    for (size_t i = 0; i < count; i++) {
        size_t parent = turn_before(items, turns, count, i);
        if (parent < i) refined[parent] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (refined[i]) continue;
        bool is_new;
        if (!kf_item_wanted(e, &items[i])) {
            e->report->filtered++;
            continue;
        }
        if (!kf_item_is_new(e, &items[i], &is_new, error)) return false;
        if (!is_new) continue;
        const kf_item *up[MAX_TURNS], *chain[MAX_TURNS];
        size_t length = 0, at = i;
        for (;;) {
            up[length++] = &items[at];
            size_t parent = turn_before(items, turns, count, at);
            if (parent == at || length == MAX_TURNS) break;
            at = parent;
        }
        for (size_t k = 0; k < length; k++) chain[k] = up[length - 1 - k];
        if (!emit_chain(e, chain, length, error)) return false;
    }
    return true;
}

static bool any(const kf_exporter *e, const kf_item *item)
{
    (void)e;
    (void)item;
    return true;
}

bool kf_export_multiturn(kf_exporter *e, kf_error *error)
{
    kf_autoitems items = {0};
    if (!kf_items_load(e, &items, error) || !kf_items_keep(e, &items, any, error)) return false;
    for (size_t start = 0, end; start < items.count; start = end) {
        for (end = start + 1; end < items.count && items.list[end].run == items.list[start].run;)
            end++;
        if (!chains_of_run(e, items.list + start, end - start, error)) return false;
    }
    return true;
}

/* ---- cassette -------------------------------------------------------------------------------- */

static const char calls_sql[] =
    "SELECT m.id, r.task, m.model, m.outcome, m.message, m.prompt_tokens, m.completion_tokens, "
    "m.cost_usd, m.seconds, m.prompt, m.reply, json_extract(m.settings, '$.asked'), "
    "json_extract(m.settings, '$.after')"
    " FROM run r CROSS JOIN model_call m ON m.run = r.id WHERE (?1 = 0 OR r.id = ?1) AND (?2 = 0 "
    "OR "
    "r.task = ?2) ORDER BY r.key, m.created, m.id";

static bool cassette_header(kf_exporter *e, kf_error *error)
{
    kf_row_begin(e);
    kf_row_word(e, "schema", "kforge-cassette/1");
    kf_row_word(e, "source",
                "Exported from a kforge store: replies as the models named in each line gave them, "
                "secrets taken out.");
    kf_row_word(e, "model", "see each line");
    const kf_export_task *task = e->only_task         ? kf_export_task_of(e, e->only_task)
                                 : e->task_count == 1 ? e->tasks
                                                      : NULL;
    if (task) kf_row_word(e, "task", task->name);
    kf_row_end(e);
    e->report->rows--; /* not a reply */
    e->report->train--;
    return kf_export_emit(e, KF_SPLIT_TRAIN, error);
}

static long long integer_or(sqlite3_stmt *row, int column, long long unknown)
{
    return sqlite3_column_type(row, column) == SQLITE_INTEGER
               ? (long long)sqlite3_column_int64(row, column)
               : unknown;
}

static bool cassette_line(kf_exporter *e, sqlite3_stmt *row, kf_error *error)
{
    const kf_export_task *task = kf_export_task_of(e, sqlite3_column_int64(row, 1));
    if (!task || task->split == KF_SPLIT_NONE) return e->report->held_out++, true;
    size_t prompt_size, reply_size = 0;
    int64_t reply_blob = sqlite3_column_int64(row, 10);
    kf_autofree char *prompt =
        kf_blob_get(e->store, sqlite3_column_int64(row, 9), &prompt_size, error);
    kf_autofree char *reply =
        prompt && reply_blob ? kf_blob_get(e->store, reply_blob, &reply_size, error) : NULL;
    if (!prompt || (reply_blob && !reply)) return false;
    if (kf_export_leaks(e, task->split, prompt, prompt_size) ||
        kf_export_leaks(e, task->split, reply, reply_size))
        return true;
    /* A replay hashes the text that it sends, so this hashes the text that was sent. */
    kf_hash hash = kf_hash_bytes(prompt, prompt_size);
    char hex[KF_HASH_HEX];
    kf_hash_hex(&hash, hex);
    kf_row_begin(e);
    kf_row_word(e, "match", hex);
    kf_row_text(e, "reply", reply, reply_size);
    kf_row_word(e, "outcome", (const char *)sqlite3_column_text(row, 3));
    kf_row_word(e, "model", (const char *)sqlite3_column_text(row, 2));
    /* Every reply has every field, as in the rows of other formats, so that a reader can infer the
     * types from the first replies. */
    kf_row_word(e, "error", (const char *)sqlite3_column_text(row, 4));
    kf_buffer_format(&e->row, ",\"tokens\":{\"prompt\":%lld,\"completion\":%lld}",
                     integer_or(row, 5, -1), integer_or(row, 6, -1));
    kf_row_number(e, "cost_usd", kf_sql_double(row, 7), -1);
    kf_row_number(e, "seconds", kf_sql_double(row, 8), 0);
    kf_row_integer(e, "asked", integer_or(row, 11, 0));
    kf_row_integer(e, "after", integer_or(row, 12, 0));
    kf_row_end(e);
    return kf_export_emit(e, KF_SPLIT_TRAIN, error);
}

bool kf_export_cassette(kf_exporter *e, kf_error *error)
{
    if (!cassette_header(e, error)) return false;
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(e->store, error, calls_sql, "ii", e->only_run, e->only_task);
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1)
        if (!cassette_line(e, cursor->statement, error)) return false;
    return row == 0;
}
