/* The history of a run: its attempts in order, family edges, and sums over them. */
#include "internal.h"

/* ---- attempts -------------------------------------------------------------------------------- */

kf_store_cursor *kf_store_attempts(kf_store *store, const char *run, int64_t from, kf_error *error)
{
    int64_t row = kf_run_row(store, run, error);
    if (!row) return NULL;
    return kf_cursor(
        store, error,
        "SELECT a.number, a.outcome, a.message, a.proposer, a.strategy, a.step, a.model_call, "
        "a.candidate, v.id, a.island,"
        " c.hash, c.flags, c.tunables, v.status, v.blame, v.speedup, v.low, v.high, a.created, "
        "a.began, a.unverified, v.reverified FROM attempt a"
        " LEFT JOIN candidate c ON c.id = a.candidate LEFT JOIN verdict v ON v.id = a.verdict"
        " AND (a.unverified = 0 OR a.outcome = 'judged')"
        " WHERE a.run = ? AND a.number >= ? ORDER BY a.number",
        "ii", row, from);
}

int kf_store_next_attempt(kf_store_cursor *cursor, kf_store_attempt *attempt, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    if (row != 1) return row;
    sqlite3_stmt *statement = cursor->statement;
    kf_text_column texts[] = {{2, &attempt->message},  {3, &attempt->proposer},
                              {4, &attempt->strategy}, {5, &attempt->step},
                              {11, &attempt->flags},   {12, &attempt->tunables}};
    if (!kf_sql_texts(cursor->store, statement, &attempt->memory, texts,
                      sizeof texts / sizeof *texts, error))
        return -1;
    attempt->number = sqlite3_column_int64(statement, 0);
    attempt->outcome = kf_sql_outcome(statement, 1);
    attempt->model_call = sqlite3_column_int64(statement, 6);
    attempt->candidate = sqlite3_column_int64(statement, 7);
    attempt->verdict = sqlite3_column_int64(statement, 8);
    attempt->island = sqlite3_column_int(statement, 9);
    kf_sql_copy(statement, 10, attempt->hash, sizeof attempt->hash);
    attempt->status = kf_sql_status(statement, 13);
    attempt->blame = kf_sql_blame(statement, 14);
    attempt->speedup.value = kf_sql_double(statement, 15);
    attempt->speedup.low = kf_sql_double(statement, 16);
    attempt->speedup.high = kf_sql_double(statement, 17);
    attempt->created = kf_sql_double(statement, 18);
    attempt->began = sqlite3_column_int64(statement, 19);
    attempt->unverified = sqlite3_column_int(statement, 20) != 0;
    attempt->reverified = sqlite3_column_int(statement, 21) != 0;
    return 1;
}

/* ---- families -------------------------------------------------------------------------------- */

kf_store_cursor *kf_store_family(kf_store *store, const char *run, kf_error *error)
{
    int64_t row = kf_run_row(store, run, error);
    if (!row) return NULL;
    return kf_cursor(store, error,
                     "SELECT l.child, l.parent, l.attempt, r.key, 0, l.role FROM lineage l JOIN "
                     "run r ON r.id = l.run WHERE l.run = ?"
                     " ORDER BY l.attempt, l.ordinal",
                     "i", row);
}

int kf_store_next_edge(kf_store_cursor *cursor, kf_store_edge *edge, kf_error *error)
{
    int row = cursor->ancestors ? kf_ancestors_step(cursor, error) : kf_cursor_step(cursor, error);
    if (row != 1) return row;
    sqlite3_stmt *statement = cursor->statement;
    edge->depth = sqlite3_column_int(statement, 4);
    if (!kf_sql_texts(cursor->store, statement, &edge->memory, (kf_text_column[]){{5, &edge->role}},
                      1, error))
        return -1;
    edge->child = sqlite3_column_int64(statement, 0);
    edge->parent = sqlite3_column_int64(statement, 1);
    edge->attempt = sqlite3_column_int64(statement, 2);
    kf_sql_copy(statement, 3, edge->run, sizeof edge->run);
    return 1;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The baseline is no seed, though both are there before the search. */
#define PROPOSER "CASE a.step WHEN 'baseline' THEN 'baseline' ELSE a.proposer END"

kf_store_cursor *kf_store_proposers(kf_store *store, const char *run, kf_error *error)
{
    int64_t row = run ? kf_run_row(store, run, error) : 0;
    if (run && !row) return NULL;
    return kf_cursor(
        store, error,
        "SELECT " PROPOSER " AS name, count(*), sum(v.id IS NOT NULL), sum(v.status = "
        "'correct'), sum(m.score IS NOT NULL AND w.low > 1),"
        " count(DISTINCT a.model_call), max(m.score), x.prompt_tokens, "
        "x.completion_tokens, x.cost_usd, x.seconds, x.unpriced, "
        /* of the row with the highest score */
        "w.low, w.high"
        " FROM attempt a LEFT JOIN verdict v ON v.id = a.verdict"
        " AND a.unverified = 0 LEFT JOIN member m ON m.run = a.run AND "
        "m.candidate = a.candidate LEFT JOIN verdict w ON w.id = m.verdict LEFT JOIN"
        " (SELECT proposer, sum(prompt_tokens) AS prompt_tokens, "
        "sum(completion_tokens) AS completion_tokens,"
        " sum(cost_usd) AS cost_usd, sum(seconds) AS seconds,"
        " sum(cost_usd IS NULL AND reply IS NOT NULL) AS unpriced FROM (SELECT DISTINCT "
        "proposer, model_call FROM attempt"
        " WHERE model_call IS NOT NULL AND (?1 = 0 OR run = ?1)) b JOIN model_call c "
        "ON c.id = b.model_call GROUP BY proposer) x"
        " ON x.proposer = a.proposer WHERE ?1 = 0 OR a.run = ?1 GROUP BY name "
        "ORDER BY count(*) DESC, name",
        "i", row);
}

int kf_store_next_proposer(kf_store_cursor *cursor, kf_store_proposer *proposer, kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    if (row != 1) return row;
    sqlite3_stmt *statement = cursor->statement;
    if (!kf_sql_texts(cursor->store, statement, &proposer->memory,
                      (kf_text_column[]){{0, &proposer->proposer}}, 1, error))
        return -1;
    proposer->attempts = sqlite3_column_int64(statement, 1);
    proposer->judged = sqlite3_column_int64(statement, 2);
    proposer->correct = sqlite3_column_int64(statement, 3);
    proposer->faster = sqlite3_column_int64(statement, 4);
    proposer->calls = sqlite3_column_int64(statement, 5);
    proposer->best_speedup = (kf_interval){
        kf_sql_double(statement, 6), kf_sql_double(statement, 12), kf_sql_double(statement, 13)};
    proposer->prompt_tokens = sqlite3_column_int64(statement, 7);
    proposer->completion_tokens = sqlite3_column_int64(statement, 8);
    proposer->cost_usd = sqlite3_column_double(statement, 9);
    proposer->seconds = sqlite3_column_double(statement, 10);
    proposer->unpriced = sqlite3_column_int64(statement, 11);
    return 1;
}

bool kf_store_run_spent(kf_store *store, const char *run, kf_store_spent *spent, kf_error *error)
{
    int64_t row = kf_run_row(store, run, error);
    if (!row) return false;
    kf_autoreset *statement = kf_sql(
        store, error,
        "SELECT count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost_usd), sum(seconds),"
        " sum(cost_usd IS NULL AND reply IS NOT NULL) FROM model_call WHERE run = ?",
        "i", row);
    if (!statement || kf_sql_step(store, statement, error) != 1) return false;
    spent->calls = sqlite3_column_int64(statement, 0);
    spent->prompt_tokens = sqlite3_column_int64(statement, 1);
    spent->completion_tokens = sqlite3_column_int64(statement, 2);
    spent->cost_usd = sqlite3_column_double(statement, 3);
    spent->seconds = sqlite3_column_double(statement, 4);
    spent->unpriced = sqlite3_column_int64(statement, 5);
    kf_autoreset *judged =
        kf_sql(store, error,
               "SELECT sum(v.judge_seconds) FROM attempt a JOIN verdict v ON v.id = a.verdict"
               " WHERE a.run = ? AND a.outcome IN ('judged', 'reverified')",
               "i", row);
    if (!judged || kf_sql_step(store, judged, error) != 1) return false;
    spent->device_seconds = sqlite3_column_double(judged, 0);
    return true;
}

kf_store_cursor *kf_store_call_outcomes(kf_store *store, const char *run, kf_error *error)
{
    int64_t row = kf_run_row(store, run, error);
    if (!row) return NULL;
    return kf_cursor(
        store, error,
        "SELECT outcome, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost_usd), "
        "sum(seconds), sum(cost_usd IS NULL AND reply IS NOT NULL)"
        " FROM model_call WHERE run = ? GROUP BY outcome ORDER BY count(*) DESC, outcome",
        "i", row);
}

int kf_store_next_call_outcome(kf_store_cursor *cursor, kf_store_call_outcome *outcome,
                               kf_error *error)
{
    int row = kf_cursor_step(cursor, error);
    if (row != 1) return row;
    sqlite3_stmt *statement = cursor->statement;
    if (!kf_sql_texts(cursor->store, statement, &outcome->memory,
                      (kf_text_column[]){{0, &outcome->outcome}}, 1, error))
        return -1;
    outcome->spent = (kf_store_spent){.calls = sqlite3_column_int64(statement, 1),
                                      .prompt_tokens = sqlite3_column_int64(statement, 2),
                                      .completion_tokens = sqlite3_column_int64(statement, 3),
                                      .cost_usd = sqlite3_column_double(statement, 4),
                                      .seconds = sqlite3_column_double(statement, 5),
                                      .unpriced = sqlite3_column_int64(statement, 6)};
    return 1;
}
