/* Counters of candidates, ceilings of devices, and notes on changes that paid or failed. */
#include "internal.h"

#include <math.h>
#include <string.h>

/* ---- counters -------------------------------------------------------------------------------- */

static bool insert_counters(kf_store *store, int64_t candidate, const char *device,
                            const kf_packed *json, kf_error *error)
{
    int64_t found, row = kf_device_row(store, device, error);
    if (!row) return false;
    int exists = kf_sql_integer(store, &found, error, "SELECT id FROM candidate WHERE id = ?", "i",
                                candidate);
    if (exists == 0)
        kf_fail(error, KF_ERROR_INPUT, "%s: no candidate %lld in the store", store->path,
                (long long)candidate);
    return exists == 1 && kf_sql_do(store, error,
                                    "INSERT OR REPLACE INTO counters (candidate, device, size, "
                                    "codec, data, created) VALUES (?, ?, ?, ?, ?, ?)",
                                    "iiinbd", candidate, row, json->size, json->codec, json->data,
                                    json->data_size, kf_store_time());
}

kf_store_cursor *kf_store_devices(kf_store *store, kf_error *error)
{
    return kf_cursor(store, error, "SELECT name FROM device ORDER BY id", "");
}

int kf_store_next_device(kf_store_cursor *cursor, const char **name, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    if (row == 1) *name = (const char *)sqlite3_column_text(cursor->statement, 0);
    return row;
}

bool kf_store_put_counters(kf_store *store, int64_t candidate, const char *device, const char *json,
                           kf_error *error)
{
    kf_autopacked packed = {0};
    return kf_pack(store, KF_PACK_TEXT, json, strlen(json), &packed, error) &&
           kf_write_begin(store, error) &&
           kf_write_end(store, insert_counters(store, candidate, device, &packed, error), error);
}

bool kf_store_get_counters(kf_store *store, int64_t candidate, const char *device, char **json,
                           bool *found, kf_error *error)
{
    *json = NULL;
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT size, codec, data FROM counters WHERE candidate = ? AND device ="
               " (SELECT id FROM device WHERE name = ?)",
               "it", candidate, device);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    *found = row == 1 && (*json = kf_unpack(store, statement, 0, NULL, error));
    return row == 0 || *found;
}

/* ---- ceilings -------------------------------------------------------------------------------- */

static bool insert_ceiling(kf_store *store, const char *device, const char *name, double value,
                           kf_error *error)
{
    int64_t row = kf_device_row(store, device, error);
    return row &&
           kf_sql_do(
               store, error,
               "INSERT OR REPLACE INTO ceiling (device, name, value, measured) VALUES (?, ?, ?, ?)",
               "itdd", row, name, value, kf_store_time());
}

bool kf_store_put_ceiling(kf_store *store, const char *device, const char *name, double value,
                          kf_error *error)
{
    if (!isfinite(value))
        return kf_fail(error, KF_ERROR_INPUT, "%s: ceiling %s of %s is not a number", store->path,
                       name, device);
    return kf_write_begin(store, error) &&
           kf_write_end(store, insert_ceiling(store, device, name, value, error), error);
}

bool kf_store_get_ceiling(kf_store *store, const char *device, const char *name, double *value,
                          bool *found, kf_error *error)
{
    kf_autoreset *statement = kf_sql(store, error,
                                     "SELECT value FROM ceiling WHERE device = (SELECT id FROM "
                                     "device WHERE name = ?) AND name = ?",
                                     "tt", device, name);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    *found = row == 1;
    if (row == 1) *value = sqlite3_column_double(statement, 0);
    return row >= 0;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static bool insert_note(kf_store *store, const kf_store_note_new *note, kf_error *error)
{
    int64_t task = 0, run = 0, device = 0;
    if (note->task && !(task = kf_task_row(store, note->task, error))) return false;
    if (note->run && !(run = kf_run_row(store, note->run, error))) return false;
    if (note->device && !(device = kf_device_row(store, note->device, error))) return false;
    if (note->candidate) {
        int64_t found;
        int row = kf_sql_integer(store, &found, error, "SELECT id FROM candidate WHERE id = ?", "i",
                                 note->candidate);
        if (!kf_row_refer(store, row, error)) return false;
    }
    return kf_sql_do(store, error,
                     "INSERT INTO note (task, run, device, candidate, kind, text, effect, created)"
                     " VALUES (nullif(?, 0), nullif(?, 0), nullif(?, 0), nullif(?, 0), ?, ?, ?, ?)",
                     "iiiittdd", task, run, device, note->candidate, note->kind ? note->kind : "",
                     note->text ? note->text : "", note->effect, kf_store_time());
}

bool kf_store_put_note(kf_store *store, const kf_store_note_new *note, kf_error *error)
{
    return kf_write_begin(store, error) &&
           kf_write_end(store, insert_note(store, note, error), error);
}

kf_store_cursor *kf_store_notes(kf_store *store, const char *task, kf_error *error)
{
    return kf_cursor(store, error,
                     "SELECT n.id, n.candidate, t.hash, r.key, d.name, n.kind, n.text, n.effect, "
                     "n.created FROM note n"
                     " LEFT JOIN task t ON t.id = n.task LEFT JOIN run r ON r.id = n.run LEFT JOIN "
                     "device d ON d.id = n.device"
                     " WHERE ?1 IS NULL OR n.task IS NULL OR t.hash = ?1 ORDER BY n.id DESC",
                     "t", task);
}

int kf_store_next_note(kf_store_cursor *cursor, kf_store_note *note, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    if (row != 1) return row;
    sqlite3_stmt *statement = cursor->statement;
    kf_text_column texts[] = {{4, &note->device}, {5, &note->kind}, {6, &note->text}};
    if (!kf_sql_texts(cursor->store, statement, &note->memory, texts, sizeof texts / sizeof *texts,
                      error))
        return -1;
    note->id = sqlite3_column_int64(statement, 0);
    note->candidate = sqlite3_column_int64(statement, 1);
    kf_sql_copy(statement, 2, note->task, sizeof note->task);
    kf_sql_copy(statement, 3, note->run, sizeof note->run);
    note->effect = kf_sql_double(statement, 7);
    note->created = kf_sql_double(statement, 8);
    return 1;
}
