/* Ranking candidates, and the children of one.
 *
 * This file has the one ranking of kforge: candidates that were measured again come first, then the
 * higher lower bound of the interval counts, then the higher speedup, then the older candidate.
 *
 * The partial indices member_best and verdict_best are ordered by speedup within (run, island,
 * reverified) and (task, device, reverified). A lower bound is never above its speedup. So a query
 * takes `bound`, the lower bound of the candidate number `limit` among the fastest, and then ranks
 * all candidates with a speedup of at least `bound`: no other one can be among the first `limit`.
 * SPARE more of the fastest keep a wide interval from making `bound` useless. */
#include <math.h>

#include "internal.h"

#define BEST_LIMIT 100000
#define SPARE "32"

#define MEMBER_TABLES                                                                            \
    " JOIN candidate c ON c.id = m.candidate JOIN task t ON t.id = c.task JOIN run r ON r.id = " \
    "m.run JOIN verdict v ON v.id = "                                                            \
    "m.verdict"                                                                                  \
    " JOIN device d ON d.id = v.device "
/* ?3 device, ?6 without the baseline */
#define WANTED_MEMBER                                                                              \
    " (?3 IS NULL OR EXISTS (SELECT 1 FROM verdict y JOIN device z ON z.id = y.device WHERE y.id " \
    "= x.verdict AND z.name = ?3))"                                                                \
    " AND (?6 = 0 OR NOT EXISTS (SELECT 1 FROM attempt a WHERE a.run = x.run AND a.number = "      \
    "x.attempt AND a.step = 'baseline')) "
/* ?4: 0 all candidates, 1 those that were measured again, 2 those that were measured once */
#define FLAGS                                                                               \
    "flags AS MATERIALIZED (SELECT 0 AS flag WHERE ?4 <> 1 UNION ALL SELECT 1 WHERE ?4 <> " \
    "2)"
/* of each flag, from `near` */
#define BOUND                                                                         \
    "bound AS MATERIALIZED (SELECT f.flag, coalesce((SELECT n.low FROM near n WHERE " \
    "n.flag = f.flag ORDER BY n.low DESC LIMIT 1 OFFSET max(?2 - 1, 0)), -1) AS low FROM flags f)"
#define RANK " ORDER BY x.reverified DESC, low DESC, score DESC, x.candidate "

/* ?1 run, ?2 limit, ?5 island */
static const char best_of_run[] =
    "WITH " FLAGS ","
    " islands AS MATERIALIZED (SELECT DISTINCT island FROM tally WHERE run = ?1 AND (?5 < 0 OR "
    "island = ?5)),"
    " near AS MATERIALIZED (SELECT f.flag, coalesce(v.low, 0) AS low FROM islands i CROSS JOIN "
    "flags f CROSS JOIN member m"
    " ON m.run = ?1 AND m.candidate IN (SELECT x.candidate FROM member x WHERE x.run = ?1 AND "
    "x.island = i.island"
    " AND x.reverified = f.flag AND x.score IS NOT NULL AND" WANTED_MEMBER
    "ORDER BY x.score DESC, x.candidate LIMIT ?2 + " SPARE ") JOIN verdict v ON v.id = m.verdict)"
    ", " BOUND ","
    " top AS MATERIALIZED (SELECT x.candidate, x.reverified, x.score, coalesce(v.low, 0) AS low"
    " FROM islands i CROSS JOIN bound b CROSS JOIN member x ON x.run = ?1 AND x.island = i.island"
    " AND x.reverified = b.flag AND x.score IS NOT NULL AND x.score >= b.low AND" WANTED_MEMBER
    "JOIN verdict v ON v.id = x.verdict" RANK "LIMIT ?2)"
    " SELECT " KF_MEMBER_COLUMNS " FROM top CROSS JOIN member m ON m.run = ?1 AND "
    "m.candidate = top.candidate" MEMBER_TABLES
    " ORDER BY top.reverified DESC, top.low DESC, top.score DESC, top.candidate";

/* The same, ?7 cell. A cell is small: all of it is ranked. */
static const char best_of_cell[] =
    "WITH top AS MATERIALIZED (SELECT x.candidate, x.reverified, x.score, coalesce(v.low, 0) AS "
    "low FROM member x JOIN verdict v ON v.id = x.verdict WHERE x.run = ?1 AND "
    "x.cell = ?7 AND x.score IS NOT NULL"
    " AND (?4 = 0 OR x.reverified = (?4 = 1)) AND (?5 < 0 OR x.island = ?5) AND" WANTED_MEMBER RANK
    "LIMIT ?2)"
    " SELECT " KF_MEMBER_COLUMNS " FROM top CROSS JOIN member m ON m.run = ?1 AND "
    "m.candidate = top.candidate" MEMBER_TABLES
    " ORDER BY top.reverified DESC, top.low DESC, top.score DESC, top.candidate";

/* ?1 task or NULL, ?2 limit, ?3 device. A candidate may have a standing verdict on several devices.
 * The best of them counts. */
static const char best_of_tasks[] =
    "WITH " FLAGS ","
    " places AS MATERIALIZED (SELECT k.id AS task, e.id AS device FROM (SELECT id FROM task WHERE "
    "?1 IS NULL OR hash = ?1) k CROSS JOIN (SELECT id FROM device WHERE ?3 IS NULL OR name = ?3) "
    "e),"
    " near AS MATERIALIZED (SELECT f.flag, max(coalesce(x.low, 0)) AS low FROM places p CROSS JOIN "
    "flags f"
    " CROSS JOIN verdict x ON x.id IN (SELECT id FROM verdict WHERE task = p.task AND device = "
    "p.device AND reverified = f.flag"
    " AND standing = 1 AND speedup IS NOT NULL ORDER BY speedup DESC, candidate LIMIT ?2 + " SPARE
    ") GROUP BY f.flag, x.candidate),"
    " " BOUND ","
    " ranked AS MATERIALIZED (SELECT x.candidate, x.id AS verdict, x.reverified, x.speedup AS "
    "score, coalesce(x.low, 0) AS low,"
    " row_number() OVER (PARTITION BY x.candidate ORDER BY x.reverified DESC, coalesce(x.low, 0) "
    "DESC, x.speedup DESC, x.id) AS place"
    " FROM places p CROSS JOIN bound b CROSS JOIN verdict x ON x.task = p.task AND x.device = "
    "p.device AND x.reverified = b.flag"
    " AND x.standing = 1 AND x.speedup IS NOT NULL AND x.speedup >= b.low),"
    " top AS MATERIALIZED (SELECT x.* FROM ranked x WHERE place = 1" RANK "LIMIT ?2)"
    " SELECT " KF_LONE_COLUMNS
    " FROM top CROSS JOIN candidate c ON c.id = top.candidate JOIN task t ON t.id = c.task"
    " JOIN verdict v ON v.id = top.verdict JOIN device d ON d.id = v.device"
    " ORDER BY top.reverified DESC, top.low DESC, top.score DESC, top.candidate";

/* The columns of RANK. */
void kf_store_rank(kf_interval speedup, bool reverified, double keys[KF_RANK_KEYS])
{
    keys[0] = reverified;
    keys[1] = isnan(speedup.low) ? 0 : speedup.low;
    keys[2] = speedup.value;
}

bool kf_store_ranks_above(const double a[KF_RANK_KEYS], const double b[KF_RANK_KEYS])
{
    for (int i = 0; i < KF_RANK_KEYS; i++)
        if (a[i] != b[i]) return a[i] > b[i];
    return false;
}

kf_store_cursor *kf_store_best(kf_store *store, const kf_store_scope *scope, size_t limit,
                               kf_error *error)
{
    int64_t most = limit > BEST_LIMIT ? BEST_LIMIT : (int64_t)limit;
    int64_t which = scope->reverified ? 1 : scope->once ? 2 : 0, island = scope->island;
    int64_t without_baseline = scope->without_baseline;
    if (!scope->run)
        return kf_cursor(store, error, best_of_tasks, "titi", scope->task, most, scope->device,
                         which);
    int64_t run = kf_run_row(store, scope->run, error);
    if (!run) return NULL;
    if (scope->cell)
        return kf_cursor(store, error, best_of_cell, "iitiiit", run, most, scope->device, which,
                         island, without_baseline, scope->cell);
    return kf_cursor(store, error, best_of_run, "iitiii", run, most, scope->device, which, island,
                     without_baseline);
}

kf_store_cursor *kf_store_children(kf_store *store, int64_t parent, const char *run,
                                   kf_error *error)
{
    if (!run)
        return kf_cursor(
            store, error,
            "SELECT " KF_LONE_COLUMNS
            " FROM (SELECT DISTINCT l.child, l.run, l.attempt FROM lineage l WHERE "
            "l.parent = ?1 AND " KF_FIRST_EDGE(
                "0") ") l JOIN candidate c ON c.id = l.child JOIN task t ON "
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
        " FROM (SELECT DISTINCT l.child, l.attempt FROM lineage l INDEXED BY lineage_parent"
        " WHERE l.parent = ?1 AND l.run = ?2 AND " KF_FIRST_EDGE(
            "?2") ") l JOIN candidate c ON c.id = l.child JOIN "
                  "task t ON t.id = c.task"
                  " LEFT JOIN member m ON m.run = ?2 AND m.candidate = c.id LEFT JOIN run r ON "
                  "r.id = m.run"
                  " LEFT JOIN verdict v ON v.id = m.verdict LEFT JOIN device d ON d.id = v.device "
                  "ORDER BY "
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
