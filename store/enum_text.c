/* The texts that stand for enums in the database. They are part of the file format: a text stays
 * when an enum is reordered. Statuses and blames have the names of verdicts
 * (common/verdict_types.c). */
#include "internal.h"

#include <string.h>

static const char *const run_statuses[] = {
    [KF_RUN_RUNNING] = "running",
    [KF_RUN_FINISHED] = "finished",
    [KF_RUN_INTERRUPTED] = "interrupted",
    [KF_RUN_FAILED] = "failed",
};

static const char *const outcomes[KF_ATTEMPT_OUTCOME_COUNT] = {
    [KF_ATTEMPT_JUDGED] = "judged",
    [KF_ATTEMPT_KNOWN] = "known",
    [KF_ATTEMPT_SAME_CODE] = "same_code",
    [KF_ATTEMPT_REVERIFIED] = "reverified",
    [KF_ATTEMPT_MODEL_FAILED] = "model_failed",
    [KF_ATTEMPT_NO_SOURCE] = "no_source",
    [KF_ATTEMPT_BAD_EDIT] = "bad_edit",
    [KF_ATTEMPT_REJECTED] = "rejected",
    [KF_ATTEMPT_LOST] = "lost",
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

const char *kf_run_status_name(kf_run_status status)
{
    return (size_t)status < COUNT(run_statuses) ? run_statuses[status] : "unknown";
}
const char *kf_attempt_outcome_name(kf_attempt_outcome outcome)
{
    return (size_t)outcome < COUNT(outcomes) ? outcomes[outcome] : "unknown";
}

/* Returns the index in `table` of the text of a column, or `otherwise`. */
static size_t index_of(const char *const *table, size_t count, sqlite3_stmt *statement, int column,
                       size_t otherwise)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    for (size_t i = 0; text && i < count; i++)
        if (!strcmp(table[i], text)) return i;
    return otherwise;
}

kf_status kf_sql_status(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    kf_status status = KF_JUDGE_ERROR;
    if (text) kf_status_parse(text, &status);
    return status;
}

kf_blame kf_sql_blame(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    kf_blame blame = KF_BLAME_JUDGE;
    if (text) kf_blame_parse(text, &blame);
    return blame;
}

kf_run_status kf_sql_run_status(sqlite3_stmt *statement, int column)
{
    return index_of(run_statuses, COUNT(run_statuses), statement, column, KF_RUN_FAILED);
}

kf_attempt_outcome kf_sql_outcome(sqlite3_stmt *statement, int column)
{
    return index_of(outcomes, COUNT(outcomes), statement, column, KF_ATTEMPT_LOST);
}
