/* Deleting a run, with all that only this run refers to. */
#include "internal.h"
#include "kforge/store_maintenance.h"

/* ?1 run. The candidates of the run that no other run uses: in an attempt, as a parent, in a
 * population or a note, by a verdict on them. A verdict from outside the run (`kforge eval`) keeps
 * a candidate, too. */
static const char find_doomed[] =
    "INSERT INTO temp.doomed SELECT DISTINCT a.candidate FROM attempt a WHERE a.run = ?1"
    " AND a.candidate IS NOT NULL"
    " AND a.candidate NOT IN (SELECT candidate FROM attempt WHERE run <> ?1 AND candidate IS NOT "
    "NULL)"
    " AND a.candidate NOT IN (SELECT child FROM lineage WHERE run <> ?1)"
    " AND a.candidate NOT IN (SELECT parent FROM lineage WHERE run <> ?1)"
    " AND a.candidate NOT IN (SELECT candidate FROM member WHERE run <> ?1)"
    " AND a.candidate NOT IN (SELECT candidate FROM note WHERE run IS NOT ?1 AND candidate IS NOT "
    "NULL)"
    " AND NOT EXISTS (SELECT 1 FROM verdict v WHERE v.candidate = a.candidate AND (v.id NOT IN"
    " (SELECT verdict FROM attempt WHERE run = ?1 AND verdict IS NOT NULL)"
    " OR v.id IN (SELECT verdict FROM attempt WHERE run <> ?1 AND verdict IS NOT NULL)"
    " OR v.id IN (SELECT verdict FROM member WHERE run <> ?1)))";

#define OF_DOOMED " IN (SELECT id FROM verdict WHERE candidate IN (SELECT id FROM temp.doomed))"

/* In this order. ?1 run. */
static const char *const deletions[] = {
    "DELETE FROM note WHERE run = ?1",
    "DELETE FROM lineage WHERE run = ?1",
    "DELETE FROM attempt WHERE run = ?1",
    "DELETE FROM member WHERE run = ?1",
    "DELETE FROM tally WHERE run = ?1",
    "DELETE FROM asked WHERE run = ?1",
    "DELETE FROM run_state WHERE run = ?1",
    "DELETE FROM sample WHERE ?1 AND verdict" OF_DOOMED,
    "DELETE FROM verdict_json WHERE ?1 AND verdict" OF_DOOMED,
    "DELETE FROM counters WHERE ?1 AND candidate IN (SELECT id FROM temp.doomed)",
    "DELETE FROM verdict WHERE ?1 AND candidate IN (SELECT id FROM temp.doomed)",
    "UPDATE task SET candidates = candidates - (SELECT count(*) FROM candidate c JOIN temp.doomed "
    "d "
    "ON d.id = c.id WHERE c.task = task.id) WHERE ?1 AND id = (SELECT task FROM run WHERE id = ?1)",
    "DELETE FROM candidate WHERE ?1 AND id IN (SELECT id FROM temp.doomed)",
    "DELETE FROM model_call WHERE run = ?1 AND id NOT IN (SELECT model_call FROM attempt WHERE "
    "model_call IS NOT NULL)",
    /* A call that an attempt of another run names stays, without its run. */
    "UPDATE model_call SET run = NULL WHERE run = ?1",
    "DELETE FROM run WHERE id = ?1",
};

static bool count(kf_store *store, int64_t run, kf_store_deleted *deleted, kf_error *error)
{
    return kf_sql_integer(store, &deleted->attempts, error,
                          "SELECT count(*) FROM attempt WHERE run = ?", "i", run) == 1 &&
           kf_sql_integer(store, &deleted->model_calls, error,
                          "SELECT count(*) FROM model_call WHERE run = ?", "i", run) == 1 &&
           kf_sql_integer(store, &deleted->candidates, error, "SELECT count(*) FROM temp.doomed",
                          "") == 1 &&
           kf_sql_integer(store, &deleted->verdicts, error,
                          "SELECT count(*) FROM verdict WHERE candidate IN (SELECT id FROM "
                          "temp.doomed)",
                          "") == 1;
}

static bool delete_run(kf_store *store, int64_t run, kf_store_deleted *deleted, kf_error *error)
{
    if (!kf_sql_execute(store,
                        "CREATE TEMP TABLE IF NOT EXISTS doomed (id INTEGER PRIMARY KEY);"
                        "DELETE FROM temp.doomed",
                        "deleting", error) ||
        !kf_sql_do(store, error, find_doomed, "i", run) || !count(store, run, deleted, error))
        return false;
    for (size_t i = 0; i < sizeof deletions / sizeof *deletions; i++)
        if (!kf_sql_do(store, error, deletions[i], "i", run)) return false;
    /* Its row number may be used again. */
    store->run_key[0] = '\0';
    return kf_blobs_drop_orphans(store, error);
}

bool kf_store_delete_empty_run(kf_store *store, const char *id, kf_error *error)
{
    if (!kf_write_begin(store, error)) return false;
    int64_t row = kf_run_row(store, id, error);
    bool ok = row && kf_sql_do(store, error, "DELETE FROM run_state WHERE run = ?", "i", row) &&
              kf_sql_do(store, error, "DELETE FROM run WHERE id = ?", "i", row);
    /* Its row number may be used again. */
    store->run_key[0] = '\0';
    return kf_write_end(store, ok, error);
}

bool kf_store_delete_run(kf_store *store, const char *id, kf_store_deleted *deleted,
                         kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    *deleted = (kf_store_deleted){0};
    if (!kf_write_begin(store, error)) return false;
    bool found = kf_store_find_run(store, id, &run, error);
    if (found && run.alive)
        found = kf_fail(error, KF_ERROR_BUSY,
                        "%s: run %s goes on, in a process on %s: stop it with Ctrl-C first",
                        store->path, run.id, run.host);
    int64_t row = found ? kf_run_row(store, run.id, error) : 0;
    return kf_write_end(store, row && delete_run(store, row, deleted, error), error);
}
