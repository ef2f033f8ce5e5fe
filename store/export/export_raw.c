/* Format raw: one row for each attempt in the order of runs, then one for each verdict without an
 * attempt. A single join yields all columns of a row. */
#include <math.h>
#include <string.h>

#include "export_internal.h"

/* Columns of candidate c, of verdict v and of their texts. The first 15 columns are the attempt's.
 */
#define COLUMNS                                                                                   \
    "c.hash, c.flags, c.tunables, c.features, s.size, s.codec, s.data, s.hash, v.status, "        \
    "v.blame, v.message, v.speedup, v.low, "                                                      \
    "v.high,"                                                                                     \
    " v.reverified, v.standing, v.code_hash, v.build_seconds, v.judge_seconds, j.size, j.codec, " \
    "j.data, k.size, k.codec, k.data, "                                                           \
    "d.name, v.device"
#define VERDICT_JSON 34 /* its first column */
#define COUNTERS 37     /* likewise */
#define TABLES                                                                                     \
    " LEFT JOIN blob s ON s.id = c.source LEFT JOIN verdict_json j ON j.verdict = v.id LEFT JOIN " \
    "device d ON d.id = v.device"                                                                  \
    " LEFT JOIN counters k ON k.candidate = c.id AND k.device = v.device "

static const char attempts_sql[] =
    "SELECT r.key, a.number, r.task, a.created, a.outcome, a.message, a.proposer, a.strategy, "
    "a.step, a.island, a.model_call, "
    "v.id,"
    " r.id, x.name, a.candidate, " COLUMNS
    " FROM run r CROSS JOIN device x ON x.id = r.device CROSS JOIN attempt a ON a.run = "
    "r.id LEFT JOIN candidate c ON c.id = a.candidate"
    " LEFT JOIN verdict v ON v.id = a.verdict AND a.unverified = 0" TABLES
    "WHERE r.id = ?1 AND a.number BETWEEN ?2 AND ?3 ORDER BY a.number";
static const char verdicts_sql[] =
    "SELECT '', 0, v.task, v.created, 'judged', '', '', '', '', 0, 0, v.id, 0, '', c.id, " COLUMNS
    " FROM verdict v CROSS JOIN candidate c ON c.id = v.candidate" TABLES "WHERE v.id = ?";
static const char lone_sql[] = "SELECT v.created, v.id, c.hash, d.name, v.status, v.speedup FROM "
                               "verdict v CROSS JOIN candidate c ON c.id = v.candidate"
                               " CROSS JOIN device d ON d.id = v.device WHERE v.id BETWEEN ?2 AND "
                               "?3 AND (?1 = 0 OR v.task = ?1) ORDER BY v.id";
static const char parents_sql[] = "SELECT l.attempt, c.hash, l.role FROM lineage l CROSS JOIN "
                                  "candidate c ON c.id = l.parent WHERE l.run = ? AND l.attempt"
                                  " BETWEEN ? AND ? ORDER BY l.attempt, l.ordinal";

/* Writes the fields of a verdict. */
static double label(const kf_exporter *e, const kf_standing *verdict, const kf_interval *speedup)
{
    kf_reward_input input = {verdict->status, verdict->blame, *speedup, e->options->significant};
    return verdict->verdict ? kf_reward_of(e->options->reward, &input) : NAN;
}

static bool wanted(const kf_exporter *e, const kf_standing *verdict, const kf_interval *speedup)
{
    switch (e->options->only) {
    case KF_ONLY_CORRECT: return verdict->verdict && verdict->status == KF_CORRECT;
    case KF_ONLY_FASTER:
        return verdict->verdict && verdict->status == KF_CORRECT && speedup->low > 1;
    case KF_ONLY_FAILED:
        return verdict->verdict && verdict->status != KF_CORRECT &&
               verdict->blame == KF_BLAME_CANDIDATE;
    case KF_ONLY_CHEATING: return verdict->verdict && verdict->status == KF_CHEATING;
    /* If is_suspected agrees. */
    case KF_ONLY_SUSPECTED: return verdict->verdict && verdict->status != KF_CORRECT;
    default: return true;
    }
}

static bool is_suspected(kf_exporter *e, sqlite3_stmt *row, bool *suspected, kf_error *error)
{
    size_t size;
    *suspected = false;
    if (sqlite3_column_type(row, VERDICT_JSON) == SQLITE_NULL) return true;
    kf_autofree char *text = kf_unpack(e->store, row, VERDICT_JSON, &size, error);
    *suspected = text && kf_export_is_suspected(text, size);
    return text;
}

/* Sets *keep to false for a correct attempt with too little work of its own. */
static bool check_work(kf_exporter *e, sqlite3_stmt *row, const kf_standing *verdict, bool *keep,
                       kf_error *error)
{
    size_t size;
    if (!(e->options->own_work > 0) || !verdict->verdict || verdict->status != KF_CORRECT)
        return true;
    *keep = false;
    if (sqlite3_column_type(row, COUNTERS) == SQLITE_NULL) return true;
    kf_autofree char *text = kf_unpack(e->store, row, COUNTERS, &size, error);
    *keep = text && kf_export_has_own_work(e, text, size);
    return text;
}

/* Hexadecimal digits and names of kforge need no escaping and no scrubbing. */
static void plain_column(kf_exporter *e, const char *name, sqlite3_stmt *row, int at)
{
    const char *text = (const char *)sqlite3_column_text(row, at);
    kf_row_plain(e, name, text ? text : "", text ? (size_t)sqlite3_column_bytes(row, at) : 0);
}

static void column(kf_exporter *e, const char *name, sqlite3_stmt *row, int at)
{
    const char *text = (const char *)sqlite3_column_text(row, at);
    kf_row_text(e, name, text, text ? (size_t)sqlite3_column_bytes(row, at) : 0);
}

/* Writes a JSON text that may be NULL. */
static void json_column(kf_exporter *e, const char *name, sqlite3_stmt *row, int at,
                        const char *nothing)
{
    if (sqlite3_column_type(row, at) == SQLITE_NULL)
        kf_row_word(e, name, nothing);
    else
        column(e, name, row, at);
}

/* Writes a packed JSON text that may be NULL. */
static bool packed_column(kf_exporter *e, const char *name, sqlite3_stmt *row, int at,
                          kf_error *error)
{
    if (sqlite3_column_type(row, at) == SQLITE_NULL) {
        kf_row_word(e, name, "{}");
        return true;
    }
    size_t size;
    kf_autofree char *text = kf_unpack(e->store, row, at, &size, error);
    if (text) kf_row_log(e, name, text, size);
    return text && (at != VERDICT_JSON || kf_export_note_tools(e, text, size, error));
}

/* The parents of the attempts of a chunk, read in the same order. */
typedef struct family {
    kf_store_cursor *cursor; /* NULL: a verdict outside a run has none */
    int row;                 /* of kf_cursor_step: 1 while `attempt` is the next one's */
    int64_t attempt;
} family;

static int next_parent(family *f, kf_error *error)
{
    f->row = kf_cursor_step(f->cursor, error);
    if (f->row == 1) f->attempt = sqlite3_column_int64(f->cursor->statement, 0);
    return f->row;
}

static bool parents(kf_exporter *e, family *f, int64_t number, kf_error *error)
{
    kf_row_key(e, "parents");
    bool first = true;
    kf_append(&e->row, "\"[", 2);
    /* of attempts that are no rows */
    while (f->row == 1 && f->attempt < number) next_parent(f, error);
    for (; f->row == 1 && f->attempt == number; next_parent(f, error)) {
        const char *hash = (const char *)sqlite3_column_text(f->cursor->statement, 1);
        const char *role = (const char *)sqlite3_column_text(f->cursor->statement, 2);
        kf_buffer_string(&e->row, first ? "{\\\"candidate\\\":\\\"" : ",{\\\"candidate\\\":\\\"");
        kf_buffer_string(&e->row, hash);
        kf_buffer_string(&e->row, "\\\",\\\"role\\\":\\\"");
        /* a word; whatever else it might hold stays out of a string in a string */
        for (; role && *role; role++)
            if (*role >= ' ' && *role < 0x7f && *role != '"' && *role != '\\')
                kf_append(&e->row, role, 1);
        kf_buffer_string(&e->row, "\\\"}");
        first = false;
    }
    kf_append(&e->row, "]\"", 2);
    return f->row >= 0;
}

/* Writes a text of a call as a scrubbed JSON string. The last texts are kept, since a search sends
 * the same system text with every prompt, and the same prompt several times. *leaks becomes true if
 * the text holds code of a test task. */
static bool call_text(kf_exporter *e, const char *name, int which, int64_t blob, bool *leaks,
                      kf_error *error)
{
    kf_export_text *kept = &e->kept[which];
    if (!blob) return kf_row_text(e, name, NULL, 0), true;
    if (kept->blob != blob) {
        size_t size;
        kf_autofree char *text = kf_blob_get(e->store, blob, &size, error);
        if (!text) return false;
        kept->blob = 0;
        kf_buffer_clear(&kept->json);
        kept->scrubbed = (kf_scrub_count){0};
        if (size)
            kf_scrub_append(e->scrubber, &kept->json, text, size, false, true, &kept->scrubbed);
        kept->leaks = kf_leak_found(&e->prints, text, size);
        if (kept->json.failed) return kf_fail_memory(error, "an export");
        kept->blob = blob;
    }
    kf_scrub_count_add(&e->report->scrubbed, &kept->scrubbed);
    kf_row_plain(e, name, kept->json.data ? kept->json.data : "", kept->json.size);
    *leaks |= kept->leaks;
    return true;
}

static bool call(kf_exporter *e, int64_t id, bool *leaks, kf_error *error)
{
    static const char *const words[] = {"provider", "model", "settings", "call_outcome"},
                             *const texts[] = {"system", "prompt", "reply"};
    kf_autoreset *statement = NULL;
    if (id) {
        statement = kf_sql(
            e->store, error,
            "SELECT provider, model, settings, outcome, system, prompt, reply, "
            "coalesce(prompt_tokens, -1),"
            " coalesce(completion_tokens, -1), cost_usd, seconds FROM model_call WHERE id = ?",
            "i", id);
        if (!statement || kf_sql_step(e->store, statement, error) != 1) return false;
    }
    for (int i = 0; i < 4; i++) {
        const char *nothing = i == 2 ? "{}" : "";
        if (id)
            json_column(e, words[i], statement, i, nothing);
        else
            kf_row_word(e, words[i], nothing);
    }
    kf_row_integer(e, "prompt_tokens", id ? sqlite3_column_int64(statement, 7) : -1);
    kf_row_integer(e, "completion_tokens", id ? sqlite3_column_int64(statement, 8) : -1);
    for (int i = 0; i < 3; i++)
        if (!call_text(e, texts[i], i, id ? sqlite3_column_int64(statement, 4 + i) : 0, leaks,
                       error))
            return false;
    kf_row_number(e, "cost_usd", id ? kf_sql_double(statement, 9) : NAN, -1);
    kf_row_number(e, "call_seconds", id ? kf_sql_double(statement, 10) : NAN, -1);
    return true;
}

/* Writes the source, after comparing its hash. A damaged text must not get a label. */
static char *source_of(kf_exporter *e, sqlite3_stmt *row, size_t *size, kf_error *error)
{
    *size = 0;
    if (sqlite3_column_type(row, 19) == SQLITE_NULL) return calloc(1, 1);
    kf_autofree char *text = kf_unpack(e->store, row, 19, size, error);
    if (!text) return NULL;
    kf_hash hash = kf_hash_bytes(text, *size);
    const void *expected = sqlite3_column_blob(row, 22);
    if (expected && sqlite3_column_bytes(row, 22) == KF_HASH_SIZE &&
        memcmp(expected, hash.bytes, KF_HASH_SIZE) == 0)
        return kf_steal(&text);
    kf_fail(error, KF_ERROR_IO, "%s: a stored source is damaged: restore a copy of the store",
            e->store->path);
    return NULL;
}

static void identify(kf_exporter *e, sqlite3_stmt *row, const kf_export_task *task)
{
    const char *run = (const char *)sqlite3_column_text(row, 0);
    kf_row_key(e, "id");
    if (run && *run)
        kf_buffer_format(&e->row, "\"%s/%lld\"", run, (long long)sqlite3_column_int64(row, 1));
    else
        kf_buffer_format(&e->row, "\"verdict/%s@%.6f\"", (const char *)sqlite3_column_text(row, 15),
                         sqlite3_column_double(row, 3));
    kf_row_word(e, "task", task->name);
    kf_row_plain(e, "task_hash", task->hash, strlen(task->hash));
    kf_row_word(e, "family", task->family);
    column(e, "run", row, 0);
    kf_row_integer(e, "attempt", sqlite3_column_int64(row, 1));
    column(e, "device", row, sqlite3_column_type(row, 40) == SQLITE_NULL ? 13 : 40);
    kf_row_seconds(e, "created", sqlite3_column_double(row, 3), 0);
    plain_column(e, "outcome", row, 4);
    const char *message = (const char *)sqlite3_column_text(row, 5);
    kf_row_log(e, "message", message, (size_t)sqlite3_column_bytes(row, 5));
    column(e, "proposer", row, 6);
    column(e, "strategy", row, 7);
    column(e, "step", row, 8);
    kf_row_integer(e, "island", sqlite3_column_int64(row, 9));
}

static bool emit(kf_exporter *e, sqlite3_stmt *row, family *f, kf_error *error)
{
    const kf_export_task *task = kf_export_task_of(e, sqlite3_column_int64(row, 2));
    if (!task || task->split == KF_SPLIT_NONE) return e->report->held_out++, true;
    int64_t verdict_id = sqlite3_column_int64(row, 11);
    kf_standing verdict = {
        .verdict = verdict_id, .status = kf_sql_status(row, 23), .blame = kf_sql_blame(row, 24)};
    kf_interval speedup = {kf_sql_double(row, 26), kf_sql_double(row, 27), kf_sql_double(row, 28)};
    bool keep = wanted(e, &verdict, &speedup);
    if (keep && e->options->only == KF_ONLY_SUSPECTED && !is_suspected(e, row, &keep, error))
        return false;
    if (keep && !check_work(e, row, &verdict, &keep, error)) return false;
    if (!keep) return e->report->filtered++, true;
    size_t size;
    kf_autofree char *source = source_of(e, row, &size, error);
    if (!source) return false;
    bool leaks = kf_leak_found(&e->prints, source, size),
         has_candidate = sqlite3_column_type(row, 15) != SQLITE_NULL;
    kf_scrub_count scrubbed = e->report->scrubbed;
    kf_row_begin(e);
    identify(e, row, task);
    if (!parents(e, f, sqlite3_column_int64(row, 1), error)) return false;
    plain_column(e, "candidate", row, 15);
    kf_row_text(e, "source", source, size);
    json_column(e, "flags", row, 16, "[]");
    json_column(e, "tunables", row, 17, "{}");
    json_column(e, "features", row, 18, "{}");
    plain_column(e, "status", row, 23);
    plain_column(e, "blame", row, 24);
    const char *message = (const char *)sqlite3_column_text(row, 25);
    kf_row_log(e, "verdict_message", message, message ? (size_t)sqlite3_column_bytes(row, 25) : 0);
    kf_row_number(e, "speedup", speedup.value, 0);
    kf_row_number(e, "speedup_low", speedup.low, 0);
    kf_row_number(e, "speedup_high", speedup.high, 0);
    kf_row_boolean(e, "reverified", sqlite3_column_int(row, 29) != 0);
    kf_row_boolean(e, "stands", sqlite3_column_int(row, 30) != 0);
    double reward = label(e, &verdict, &speedup);
    kf_row_boolean(e, "labelled", !isnan(reward));
    kf_row_number(e, "reward", reward, 0);
    column(e, "code_hash", row, 31);
    kf_row_seconds(e, "build_seconds", kf_sql_double(row, 32), -1);
    kf_row_seconds(e, "judge_seconds", kf_sql_double(row, 33), -1);
    if (!packed_column(e, "verdict", row, VERDICT_JSON, error) ||
        !packed_column(e, "counters", row, COUNTERS, error) ||
        !call(e, sqlite3_column_int64(row, 10), &leaks, error))
        return false;
    kf_row_end(e);
    bool out = kf_export_count_leak(e, task->split, leaks);
    if (!out && e->options->dedup && has_candidate && !isnan(reward)) {
        const char *code = (const char *)sqlite3_column_text(row, 31);
        kf_fold fold =
            kf_fold_of(task->id, sqlite3_column_int64(row, 41), source, size,
                       kf_fold_code(code, code ? (size_t)sqlite3_column_bytes(row, 31) : 0));
        out = !kf_export_is_new(e, &fold);
    }
    if (out) return e->report->scrubbed = scrubbed, true;
    e->report->unlabelled += isnan(reward);
    return kf_export_emit(e, task->split, error);
}

bool kf_raw_attempts(kf_exporter *e, const kf_raw_chunk *chunk, unsigned char *used,
                     int64_t verdicts, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(e->store, error, attempts_sql, "iii", chunk->run, chunk->from, chunk->to);
    kf_auto(kf_store_cursor) lineage =
        kf_cursor(e->store, error, parents_sql, "iii", chunk->run, chunk->from, chunk->to);
    family f = {.cursor = lineage};
    int row = cursor && lineage && next_parent(&f, error) >= 0 ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        int64_t verdict = sqlite3_column_int64(cursor->statement, 11);
        if (verdict > 0 && verdict < verdicts)
            __atomic_fetch_or(&used[verdict / 8], (unsigned char)(1u << verdict % 8),
                              __ATOMIC_RELAXED);
        if (!emit(e, cursor->statement, &f, error)) return false;
    }
    return row == 0;
}

/* Emits the verdicts without an attempt by their times, and at equal times by their content. */
typedef struct lone {
    double created;
    uint64_t place;
    int64_t verdict;
} lone;

static int by_time(const void *a, const void *b)
{
    const lone *x = a, *y = b;
    if (x->created != y->created) return x->created < y->created ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return (x->verdict > y->verdict) - (x->verdict < y->verdict);
}

/* Runs one query for each gap in `used`. */
static bool list_lone(kf_exporter *e, const unsigned char *used, int64_t verdicts, kf_buffer *list,
                      kf_error *error)
{
    for (int64_t from = 1, to; from < verdicts; from = to + 1) {
        while (from < verdicts && used[from / 8] >> from % 8 & 1)
            from += from % 8 == 0 && used[from / 8] == 0xff ? 8 : 1;
        for (to = from; to + 1 < verdicts && !(used[(to + 1) / 8] >> (to + 1) % 8 & 1);) to++;
        if (from >= verdicts) break;
        kf_auto(kf_store_cursor) cursor =
            kf_cursor(e->store, error, lone_sql, "iii", e->only_task, from, to);
        int row = cursor ? 1 : -1;
        while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
            lone next = {sqlite3_column_double(cursor->statement, 0), 0,
                         sqlite3_column_int64(cursor->statement, 1)};
            for (int i = 2; i < 6; i++) {
                const char *text = (const char *)sqlite3_column_text(cursor->statement, i);
                next.place =
                    kf_hash_mix(next.place, text,
                                text ? (size_t)sqlite3_column_bytes(cursor->statement, i) : 0);
            }
            kf_buffer_append(list, &next, sizeof next);
        }
        if (row < 0) return false;
    }
    return !list->failed || kf_fail_memory(error, "an export");
}

static bool lone_verdicts(kf_exporter *e, const unsigned char *used, int64_t verdicts,
                          kf_error *error)
{
    kf_autobuffer list = {0};
    if (!list_lone(e, used, verdicts, &list, error)) return false;
    lone *all = (lone *)(void *)list.data; /* malloc'd, so aligned */
    size_t count = list.size / sizeof *all;
    if (count) qsort(all, count, sizeof *all, by_time);
    for (size_t i = 0; i < count; i++) {
        kf_autoreset *statement = kf_sql(e->store, error, verdicts_sql, "i", all[i].verdict);
        if (!statement || kf_sql_step(e->store, statement, error) != 1 ||
            !emit(e, statement, &(family){0}, error))
            return false;
    }
    return true;
}

/* Cuts all runs, in the order of their keys, into chunks. */
static bool plan(kf_exporter *e, kf_buffer *chunks, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_cursor(e->store, error,
                                                "SELECT id, (SELECT count(*) FROM attempt WHERE "
                                                "run = r.id) FROM run r WHERE (?1 = 0 OR id = "
                                                "?1) AND (?2 = 0 OR task = ?2) ORDER BY key",
                                                "ii", e->only_run, e->only_task);
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        kf_raw_chunk chunk = {.run = sqlite3_column_int64(cursor->statement, 0)};
        int64_t attempts = sqlite3_column_int64(cursor->statement, 1);
        for (chunk.from = 1; chunk.from <= attempts; chunk.from = chunk.to + 1) {
            chunk.to = chunk.from + KF_RAW_CHUNK - 1;
            kf_buffer_append(chunks, &chunk, sizeof chunk);
        }
    }
    if (chunks->failed) return kf_fail_memory(error, "an export");
    return row == 0;
}

bool kf_export_raw(kf_exporter *e, kf_error *error)
{
    int64_t verdicts = 0;
    kf_autobuffer list = {0};
    if (kf_sql_integer(e->store, &verdicts, error, "SELECT max(id) + 1 FROM verdict", "") < 0 ||
        !plan(e, &list, error))
        return false;
    /* verdicts that belong to an attempt, a bit each */
    kf_autofree unsigned char *used = calloc((size_t)verdicts / 8 + 1, 1);
    if (!used) return kf_fail_memory(error, "an export");
    size_t count = list.size / sizeof(kf_raw_chunk);
    /* malloc'd, so aligned */
    const kf_raw_chunk *chunks = (const kf_raw_chunk *)(const void *)list.data;
    /* what was seen first depends on the order */
    bool parallel = count >= KF_RAW_PARALLEL && !e->options->dedup;
    size_t done = 0;
    if (parallel && !kf_raw_parallel(e, chunks, count, &done, used, verdicts, error)) return false;
    for (; done < count; done++)
        if (!kf_raw_attempts(e, &chunks[done], used, verdicts, error)) return false;
    return e->only_run || lone_verdicts(e, used, verdicts, error);
}
