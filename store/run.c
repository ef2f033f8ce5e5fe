/* Runs: their ids, owners, status and search state. */
#include "internal.h"

#include <math.h>
#include <string.h>

#include "kforge/file.h"
#include "owner.h"

/* Crockford's base32, without i, l, o and u, which are easily misread. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
/* 2025-01-01. The 30 bits of seconds overflow in 2059; ids would no longer sort by time then. */
#define ID_EPOCH 1735689600.0

static bool make_id(double now, char id[KF_RUN_ID], kf_error *error)
{
    uint32_t chance;
    if (!kf_random(&chance, sizeof chance))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel gives no random numbers");
    uint64_t bits =
        ((uint64_t)(now < ID_EPOCH ? 0 : now - ID_EPOCH) & 0x3fffffff) << 20 | (chance & 0xfffff);
    for (int i = KF_RUN_ID - 2; i >= 0; i--, bits >>= 5) id[i] = digits[bits & 31];
    id[KF_RUN_ID - 1] = '\0';
    return true;
}

bool kf_state_put(kf_store *store, int64_t run, const kf_packed *state, kf_error *error)
{
    return kf_sql_do(
        store, error,
        "INSERT OR REPLACE INTO run_state (run, size, codec, data) VALUES (?, ?, ?, ?)", "iinb",
        run, state->size, state->codec, state->data, state->data_size);
}

static bool insert_run(kf_store *store, const kf_store_run_new *run, const kf_packed *state,
                       char id[KF_RUN_ID], kf_error *error)
{
    double now = kf_store_time();
    int64_t task = kf_task_row(store, run->task, error);
    int64_t device = task ? kf_device_row(store, run->device, error) : 0;
    if (!task || !device) return false;
    int64_t taken;
    int row;
    do {
        if (!make_id(now, id, error)) return false;
    } while ((row = kf_sql_integer(store, &taken, error, "SELECT id FROM run WHERE key = ?", "t",
                                   id)) == 1);
    char host[KF_OWNER], owner[KF_OWNER], seed[17];
    kf_owner_host(host);
    kf_owner_self(owner);
    snprintf(seed, sizeof seed, "%016llx", (unsigned long long)run->seed);
    return row == 0 &&
           kf_sql_do(store, error,
                     "INSERT INTO run (key, task, device, options, seed, status, host, owner, "
                     "started, updated)"
                     " VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)",
                     "tiittttdd", id, task, device, run->options ? run->options : "{}", seed, host,
                     owner, now, now) &&
           (!run->state || kf_state_put(store, sqlite3_last_insert_rowid(store->db), state, error));
}

bool kf_store_begin_run(kf_store *store, const kf_store_run_new *run, char id[KF_RUN_ID],
                        kf_error *error)
{
    if (!run->task || !run->device)
        return kf_fail(error, KF_ERROR_INTERNAL,
                       "%s: a run without task or device: this is a bug in kforge", store->path);
    kf_autopacked state = {0};
    if (!kf_pack(store, KF_PACK_FAST, run->state, run->state_size, &state, error) ||
        !kf_write_begin(store, error))
        return false;
    return kf_write_end(store, insert_run(store, run, &state, id, error), error);
}

static bool no_such_run(kf_store *store, const char *id, kf_error *error)
{
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: no run %s in this store: `kforge list` shows what it holds", store->path,
                   id);
}

int64_t kf_run_row(kf_store *store, const char *id, kf_error *error)
{
    int64_t run = 0;
    if (*id && !strcmp(store->run_key, id)) return store->run;
    if (kf_sql_integer(store, &run, error, "SELECT id FROM run WHERE key = ?", "t", id) == 0)
        no_such_run(store, id, error);
    return run;
}

bool kf_run_load(kf_store *store, const char *id, kf_error *error)
{
    if (*id && !strcmp(store->run_key, id)) return true;
    kf_autoreset *statement =
        kf_sql(store, error, "SELECT id, task, device FROM run WHERE key = ?", "t", id);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 0) no_such_run(store, id, error);
    if (row != 1) return false;
    store->run = sqlite3_column_int64(statement, 0);
    store->run_task = sqlite3_column_int64(statement, 1);
    store->run_device = sqlite3_column_int64(statement, 2);
    snprintf(store->run_key, sizeof store->run_key, "%s", id);
    store->attempts = 0;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

#define RUN_COLUMNS                                                                            \
    "r.key, t.hash, t.name, d.name, r.host, r.options, r.seed, r.status, r.owner, r.started, " \
    "r.updated, r.ended, r.attempts, "                                                         \
    "r.judged,"                                                                                \
    " r.correct"
#define RUN_TABLES " FROM run r JOIN task t ON t.id = r.task JOIN device d ON d.id = r.device "

/* Fills in the best candidate of the run. */
static bool fill_best(kf_store *store, kf_store_run *run, kf_error *error)
{
    kf_store_scope scope = {.run = run->id, .island = -1, .without_baseline = true};
    kf_auto(kf_store_cursor) cursor = kf_store_best(store, &scope, 1, error);
    kf_autoresult kf_store_candidate best = {.speedup = {NAN, NAN, NAN}};
    int row = cursor ? kf_store_next_candidate(cursor, &best, error) : -1;
    run->best = best.id;
    run->best_speedup = best.speedup;
    run->best_reverified = best.reverified;
    return row >= 0;
}

static bool fill(kf_store *store, sqlite3_stmt *statement, kf_store_run *run, kf_error *error)
{
    const char *owner;
    kf_text_column texts[] = {
        {2, &run->task_name}, {3, &run->device}, {4, &run->host}, {5, &run->options}, {8, &owner}};
    if (!kf_sql_texts(store, statement, &run->memory, texts, sizeof texts / sizeof *texts, error))
        return false;
    kf_sql_copy(statement, 0, run->id, sizeof run->id);
    kf_sql_copy(statement, 1, run->task, sizeof run->task);
    char seed[17];
    kf_sql_copy(statement, 6, seed, sizeof seed);
    run->seed = strtoull(seed, NULL, 16);
    run->status = kf_sql_run_status(statement, 7);
    run->started = kf_sql_double(statement, 9);
    run->updated = kf_sql_double(statement, 10);
    run->ended = kf_sql_double(statement, 11);
    run->attempts = sqlite3_column_int64(statement, 12);
    run->judged = sqlite3_column_int64(statement, 13);
    run->correct = sqlite3_column_int64(statement, 14);
    run->alive = run->status == KF_RUN_RUNNING &&
                 kf_owner_alive(run->host, owner, run->updated, kf_store_time());
    return fill_best(store, run, error);
}

bool kf_store_means_latest(const char *word)
{
    return strcmp(word, "last") == 0 || strcmp(word, "latest") == 0;
}

static bool find_latest(kf_store *store, kf_store_run *run, kf_error *error)
{
    bool found;
    if (!kf_store_latest_run(store, NULL, false, run, &found, error)) return false;
    return found || kf_fail(error, KF_ERROR_INPUT, "%s: no runs in this store yet", store->path);
}

bool kf_store_find_run(kf_store *store, const char *id_or_prefix, kf_store_run *run,
                       kf_error *error)
{
    if (kf_store_means_latest(id_or_prefix)) return find_latest(store, run, error);
    kf_autofree char *prefix = strdup(id_or_prefix);
    if (!prefix) return kf_fail_memory(error, "a run id");
    for (char *c = prefix; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    if (!*prefix || strspn(prefix, digits) != strlen(prefix) || strlen(prefix) >= KF_RUN_ID)
        return no_such_run(store, id_or_prefix, error);
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT " RUN_COLUMNS RUN_TABLES "WHERE r.key >= ?1 AND r.key < ?1 || '{' LIMIT 2",
               "t", prefix);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 0) no_such_run(store, id_or_prefix, error);
    if (row != 1 || !fill(store, statement, run, error)) return false;
    row = kf_sql_step(store, statement, error);
    return row == 1 ? kf_fail(error, KF_ERROR_INPUT,
                              "%s: several runs begin with %s: give more of the id", store->path,
                              id_or_prefix)
                    : row == 0;
}

bool kf_store_latest_run(kf_store *store, const char *task, bool unfinished, kf_store_run *run,
                         bool *found, kf_error *error)
{
    kf_autoreset *statement =
        kf_sql(store, error,
               "SELECT " RUN_COLUMNS RUN_TABLES
               "WHERE r.id = (SELECT id FROM run WHERE (?1 IS NULL OR task ="
               " (SELECT id FROM task WHERE hash = ?1)) AND (?2 = 0 OR status <> 'finished')"
               " ORDER BY started DESC, id DESC LIMIT 1)",
               "tn", task, (int)unfinished);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    *found = row == 1;
    return row == 0 || (row == 1 && fill(store, statement, run, error));
}

kf_store_cursor *kf_store_runs(kf_store *store, const char *task, kf_error *error)
{
    return kf_cursor(store, error,
                     "SELECT " RUN_COLUMNS RUN_TABLES
                     "WHERE ?1 IS NULL OR r.task = (SELECT id FROM task WHERE hash = ?1)"
                     " ORDER BY r.started DESC, r.id DESC",
                     "t", task);
}

int kf_store_next_run(kf_store_cursor *cursor, kf_store_run *run, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    return row == 1 && !fill(cursor->store, cursor->statement, run, error) ? -1 : row;
}

bool kf_store_run_state(kf_store *store, const char *id, char **state, size_t *size,
                        kf_error *error)
{
    *state = NULL;
    *size = 0;
    int64_t run = kf_run_row(store, id, error);
    if (!run) return false;
    kf_autoreset *statement =
        kf_sql(store, error, "SELECT size, codec, data FROM run_state WHERE run = ?", "i", run);
    int row = statement ? kf_sql_step(store, statement, error) : -1;
    if (row == 1) *state = kf_unpack(store, statement, 0, size, error);
    return row == 0 || *state;
}

/* ---- changing -------------------------------------------------------------------------------- */

bool kf_store_save_state(kf_store *store, const char *id, const void *state, size_t size,
                         kf_error *error)
{
    kf_autopacked packed = {0};
    if (!kf_pack(store, KF_PACK_FAST, state, size, &packed, error) || !kf_write_begin(store, error))
        return false;
    bool ok = kf_run_load(store, id, error) && kf_state_put(store, store->run, &packed, error) &&
              kf_sql_do(store, error, "UPDATE run SET updated = ? WHERE id = ?", "di",
                        kf_store_time(), store->run);
    return kf_write_end(store, ok, error);
}

static bool take_over(kf_store *store, const char *id, kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    char host[KF_OWNER], owner[KF_OWNER];
    kf_owner_host(host);
    kf_owner_self(owner);
    if (!kf_store_find_run(store, id, &run, error)) return false;
    int64_t own;
    int row = kf_sql_integer(store, &own, error,
                             "SELECT 1 FROM run WHERE key = ? AND host = ? AND owner = ?", "ttt",
                             run.id, host, owner);
    if (row < 0) return false;
    if (run.alive && row == 0)
        return kf_fail(error, KF_ERROR_BUSY,
                       "%s: run %s belongs to another process on %s: wait for it or stop it",
                       store->path, run.id, run.host);
    return kf_sql_do(store, error,
                     "UPDATE run SET status = 'running', ended = NULL, host = ?, owner = ?, "
                     "updated = ? WHERE key = ?",
                     "ttdt", host, owner, kf_store_time(), run.id);
}

bool kf_store_resume_run(kf_store *store, const char *id, kf_error *error)
{
    return kf_write_begin(store, error) && kf_write_end(store, take_over(store, id, error), error);
}

bool kf_store_end_run(kf_store *store, const char *id, kf_run_status status, kf_error *error)
{
    if (!kf_write_begin(store, error)) return false;
    double now = kf_store_time();
    bool ok =
        kf_run_load(store, id, error) &&
        kf_sql_do(store, error, "UPDATE run SET status = ?, ended = ?, updated = ? WHERE id = ?",
                  "tddi", kf_run_status_name(status), status == KF_RUN_RUNNING ? NAN : now, now,
                  store->run);
    return kf_write_end(store, ok, error);
}
