/* Calls to models, with prompts and replies exactly as they were sent and received. */
#include "internal.h"

#include <math.h>
#include <string.h>

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Stores a text. *blob becomes its id, or 0 for NULL. False on error. */
static bool put_text(kf_store *store, const char *text, size_t size, int64_t *blob, kf_error *error)
{
    *blob = text ? kf_blob_put(store, text, size, error) : 0;
    return !text || *blob;
}

static int64_t insert(kf_store *store, const kf_store_model_call_new *call, kf_error *error)
{
    int64_t system, prompt, reply, run = 0;
    const char *prompt_text = or_empty(call->prompt);
    if (call->run && !(run = kf_run_row(store, call->run, error))) return 0;
    if (!put_text(store, call->system, call->system ? strlen(call->system) : 0, &system, error) ||
        !put_text(store, prompt_text, call->prompt ? call->prompt_size : 0, &prompt, error) ||
        !put_text(store, call->reply, call->reply_size, &reply, error))
        return 0;
    if (!kf_sql_do(store, error,
                   "INSERT INTO model_call (run, provider, model, purpose, settings, system, "
                   "prompt, reply, outcome, message, "
                   "prompt_tokens,"
                   " completion_tokens, cost_usd, seconds, created) VALUES (nullif(?, 0), ?, ?, ?, "
                   "?, nullif(?, 0), ?, nullif(?, 0), ?, ?,"
                   " nullif(?, -1), nullif(?, -1), ?, ?, ?)",
                   "ittttiiittiiddd", run, or_empty(call->provider), or_empty(call->model),
                   or_empty(call->purpose), call->settings, system, prompt, reply,
                   or_empty(call->outcome), or_empty(call->message), call->prompt_tokens,
                   call->completion_tokens, call->cost_usd, call->seconds, kf_store_time()))
        return 0;
    return sqlite3_last_insert_rowid(store->db);
}

int64_t kf_store_put_model_call(kf_store *store, const kf_store_model_call_new *call,
                                kf_error *error)
{
    if (!kf_write_begin(store, error)) return 0;
    int64_t id = insert(store, call, error);
    return kf_write_end(store, id != 0, error) ? id : 0;
}

/* ---- pending calls --------------------------------------------------------------------------- */

bool kf_store_put_pending_call(kf_store *store, const char *run, int64_t tag, const char *prompt,
                               size_t size, kf_error *error)
{
    kf_autopacked packed = {0};
    if (!kf_pack(store, KF_PACK_FAST, prompt, size, &packed, error) ||
        !kf_write_begin(store, error))
        return false;
    int64_t row = kf_run_row(store, run, error);
    bool ok =
        row &&
        kf_sql_do(
            store, error,
            "INSERT OR REPLACE INTO asked (run, tag, size, codec, data) VALUES (?, ?, ?, ?, ?)",
            "iiinb", row, tag, packed.size, packed.codec, packed.data, packed.data_size);
    return kf_write_end(store, ok, error);
}

bool kf_store_get_pending_call(kf_store *store, const char *run, int64_t tag, char **prompt,
                               kf_error *error)
{
    *prompt = NULL;
    int64_t row = kf_run_row(store, run, error);
    kf_autoreset *statement =
        row ? kf_sql(store, error, "SELECT size, codec, data FROM asked WHERE run = ? AND tag = ?",
                     "ii", row, tag)
            : NULL;
    int found = statement ? kf_sql_step(store, statement, error) : -1;
    size_t size;
    if (found == 1) *prompt = kf_unpack(store, statement, 0, &size, error);
    return found == 0 || *prompt;
}

bool kf_store_drop_pending_call(kf_store *store, const char *run, int64_t tag, kf_error *error)
{
    if (!kf_write_begin(store, error)) return false;
    int64_t row = kf_run_row(store, run, error);
    return kf_write_end(
        store,
        row && kf_sql_do(store, error, "DELETE FROM asked WHERE run = ?1 AND (?2 = 0 OR tag = ?2)",
                         "ii", row, tag),
        error);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool no_such_call(kf_store *store, int64_t id, kf_error *error)
{
    return kf_fail(error, KF_ERROR_INPUT, "%s: no model call %lld in the store", store->path,
                   (long long)id);
}

static int64_t integer_or_unknown(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? -1
               : sqlite3_column_int64(statement, column);
}

#define CALL_COLUMNS                                                                             \
    "r.key, m.provider, m.model, m.purpose, m.settings, m.outcome, m.message, m.prompt_tokens, " \
    "m.completion_tokens, m.cost_usd,"                                                           \
    " m.seconds, m.created, m.id FROM model_call m LEFT JOIN run r ON r.id = m.run "

static bool fill(kf_store *store, sqlite3_stmt *statement, kf_store_model_call *call,
                 kf_error *error)
{
    kf_text_column texts[] = {{1, &call->provider}, {2, &call->model},   {3, &call->purpose},
                              {4, &call->settings}, {5, &call->outcome}, {6, &call->message}};
    if (!kf_sql_texts(store, statement, &call->memory, texts, sizeof texts / sizeof *texts, error))
        return false;
    call->id = sqlite3_column_int64(statement, 12);
    kf_sql_copy(statement, 0, call->run, sizeof call->run);
    call->prompt_tokens = integer_or_unknown(statement, 7);
    call->completion_tokens = integer_or_unknown(statement, 8);
    call->cost_usd = kf_sql_double(statement, 9);
    call->seconds = kf_sql_double(statement, 10);
    call->created = kf_sql_double(statement, 11);
    return true;
}

bool kf_store_get_model_call(kf_store *store, int64_t id, kf_store_model_call *call,
                             kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(store, error, "SELECT " CALL_COLUMNS "WHERE m.id = ?", "i", id);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 0) no_such_call(store, id, error);
    return row == 1 && fill(store, statement, call, error);
}

kf_store_cursor *kf_store_model_calls(kf_store *store, const char *run, const char *provider,
                                      kf_error *error)
{
    int64_t row = kf_run_row(store, run, error);
    if (!row) return NULL;
    return kf_cursor(store, error,
                     "SELECT " CALL_COLUMNS
                     "WHERE m.run = ?1 AND (?2 = 0 OR m.provider = ?3) ORDER BY m.id",
                     "iit", row, (int64_t)(provider != NULL), or_empty(provider));
}

int kf_store_next_model_call(kf_store_cursor *cursor, kf_store_model_call *call, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    return row != 1 || fill(cursor->store, cursor->statement, call, error) ? row : -1;
}

char *kf_store_model_call_text(kf_store *store, int64_t id, kf_call_text which, size_t *size,
                               kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(store, error, "SELECT system, prompt, reply FROM model_call WHERE id = ?", "i", id);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 0) no_such_call(store, id, error);
    if (row != 1) return NULL;
    int64_t blob = sqlite3_column_int64(statement, (int)which);
    if (blob) return kf_blob_get(store, blob, size, error);
    char *nothing = calloc(1, 1);
    if (!nothing) kf_fail_memory(error, "a text");
    if (size) *size = 0;
    return nothing;
}
