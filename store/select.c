/* Selecting the best candidates, and the children of one. The partial indices member_best and
 * verdict_best are ordered by speedup within (run, island, reverified) and (task, device,
 * reverified). Queries take the first `limit` of every such group, then the first `limit` of these.
 */
#include "internal.h"

#define BEST_LIMIT 100000

#define MEMBER_TABLES                                                                            \
    " JOIN candidate c ON c.id = m.candidate JOIN task t ON t.id = c.task JOIN run r ON r.id = " \
    "m.run JOIN verdict v ON v.id = "                                                            \
    "m.verdict"                                                                                  \
    " JOIN device d ON d.id = v.device "
#define ON_DEVICE                                                                                  \
    " (?3 IS NULL OR EXISTS (SELECT 1 FROM verdict y JOIN device z ON z.id = y.device WHERE y.id " \
    "= x.verdict AND z.name = ?3)) "

/* ?1 run, ?2 limit, ?3 device, ?4 re-verified only, ?5 island */
static const char best_of_run[] =
    "WITH top AS MATERIALIZED (SELECT m.candidate, m.score"
    " FROM (SELECT DISTINCT island FROM tally WHERE run = ?1 AND (?5 < 0 OR island = ?5)) i"
    " CROSS JOIN (SELECT 0 AS flag WHERE ?4 = 0 UNION ALL SELECT 1) f"
    " CROSS JOIN member m ON m.run = ?1 AND m.candidate IN (SELECT x.candidate FROM member x WHERE "
    "x.run = ?1 AND x.island = "
    "i.island"
    " AND x.reverified = f.flag AND x.score IS NOT NULL AND" ON_DEVICE
    "ORDER BY x.score DESC, x.candidate LIMIT ?2)"
    " ORDER BY m.score DESC, m.candidate LIMIT ?2)"
    " SELECT " KF_MEMBER_COLUMNS
    " FROM top CROSS JOIN member m ON m.run = ?1 AND m.candidate = top.candidate" MEMBER_TABLES
    " ORDER BY top.score DESC, top.candidate";

/* The same, ?6 cell */
static const char best_of_cell[] =
    "WITH top AS MATERIALIZED (SELECT x.candidate, x.score FROM member x WHERE x.run = ?1 AND "
    "x.cell = ?6 AND x.score IS NOT NULL"
    " AND (?4 = 0 OR x.reverified = 1) AND (?5 < 0 OR x.island = ?5) AND" ON_DEVICE
    "ORDER BY x.score DESC, x.candidate LIMIT ?2)"
    " SELECT " KF_MEMBER_COLUMNS
    " FROM top CROSS JOIN member m ON m.run = ?1 AND m.candidate = top.candidate" MEMBER_TABLES
    " ORDER BY top.score DESC, top.candidate";

/* ?1 task or NULL, ?2 limit, ?3 device, ?4 re-verified only. A candidate may have a standing
 * verdict on several devices. max() keeps the best, and SQLite takes the other columns from the
 * same row. */
static const char best_of_tasks[] =
    "WITH top AS MATERIALIZED (SELECT x.candidate, max(x.speedup) AS speedup, x.id AS verdict"
    " FROM (SELECT id FROM task WHERE ?1 IS NULL OR hash = ?1) k CROSS JOIN (SELECT id FROM device "
    "WHERE ?3 IS NULL OR name = ?3) e"
    " CROSS JOIN (SELECT 0 AS flag WHERE ?4 = 0 UNION ALL SELECT 1) f"
    " CROSS JOIN verdict x ON x.id IN (SELECT id FROM verdict WHERE task = k.id AND device = e.id "
    "AND reverified = f.flag AND "
    "standing = 1"
    " AND speedup IS NOT NULL ORDER BY speedup DESC, candidate LIMIT ?2)"
    " GROUP BY x.candidate ORDER BY 2 DESC, 1 LIMIT ?2)"
    " SELECT " KF_LONE_COLUMNS
    " FROM top CROSS JOIN candidate c ON c.id = top.candidate JOIN task t ON t.id = c.task"
    " JOIN verdict v ON v.id = top.verdict JOIN device d ON d.id = v.device ORDER BY top.speedup "
    "DESC, top.candidate";

kf_store_cursor *kf_store_best(kf_store *store, const kf_store_scope *scope, size_t limit,
                               kf_error *error)
{
    int64_t most = limit > BEST_LIMIT ? BEST_LIMIT : (int64_t)limit;
    int64_t reverified = scope->reverified, island = scope->island;
    if (!scope->run)
        return kf_cursor(store, error, best_of_tasks, "titi", scope->task, most, scope->device,
                         reverified);
    int64_t run = kf_run_row(store, scope->run, error);
    if (!run) return NULL;
    if (scope->cell)
        return kf_cursor(store, error, best_of_cell, "iitiit", run, most, scope->device, reverified,
                         island, scope->cell);
    return kf_cursor(store, error, best_of_run, "iitii", run, most, scope->device, reverified,
                     island);
}

kf_store_cursor *kf_store_children(kf_store *store, int64_t parent, const char *run,
                                   kf_error *error)
{
    if (!run)
        return kf_cursor(store, error,
                         "SELECT " KF_LONE_COLUMNS
                         " FROM (SELECT child, min(run) AS run, min(attempt) AS attempt FROM "
                         "lineage WHERE parent = ?1"
                         " GROUP BY child) l JOIN candidate c ON c.id = l.child JOIN task t ON "
                         "t.id = c.task LEFT JOIN verdict v ON v.id ="
                         " (SELECT max(id) FROM verdict WHERE candidate = c.id AND standing = 1) "
                         "LEFT JOIN device d ON d.id = v.device"
                         " ORDER BY l.run, l.attempt, c.id",
                         "i", parent);
    int64_t row = kf_run_row(store, run, error);
    if (!row) return NULL;
    return kf_cursor(
        store, error,
        "SELECT " KF_MEMBER_COLUMNS
        " FROM (SELECT child, min(attempt) AS attempt FROM lineage INDEXED BY lineage_parent"
        " WHERE parent = ?1 AND run = ?2 GROUP BY child) l JOIN candidate c ON c.id = l.child JOIN "
        "task t ON t.id = c.task"
        " LEFT JOIN member m ON m.run = ?2 AND m.candidate = c.id LEFT JOIN run r ON r.id = m.run"
        " LEFT JOIN verdict v ON v.id = m.verdict LEFT JOIN device d ON d.id = v.device ORDER BY "
        "l.attempt, c.id",
        "ii", parent, row);
}

kf_store_cursor *kf_store_latest(kf_store *store, const char *task, size_t limit, kf_error *error)
{
    int64_t most = limit > BEST_LIMIT ? BEST_LIMIT : (int64_t)limit;
    return kf_cursor(store, error,
                     "SELECT " KF_LONE_COLUMNS " FROM (SELECT max(x.id) AS verdict FROM candidate k"
                     " JOIN verdict x ON x.candidate = k.id AND x.standing = 1"
                     " WHERE k.task = (SELECT id FROM task WHERE hash = ?1)"
                     " GROUP BY x.candidate ORDER BY 1 DESC LIMIT ?2) l"
                     " JOIN verdict v ON v.id = l.verdict JOIN candidate c ON c.id = v.candidate"
                     " JOIN task t ON t.id = c.task JOIN device d ON d.id = v.device"
                     " ORDER BY v.id DESC",
                     "ti", task, most);
}

int kf_store_next_candidate(kf_store_cursor *cursor, kf_store_candidate *candidate, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    return row == 1 && !kf_candidate_fill(cursor->store, cursor->statement, candidate, error) ? -1
                                                                                              : row;
}
