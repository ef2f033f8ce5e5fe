/* The words that stand for enums in the database. They are part of the file format: they stay when
 * an enum is reordered. */
#include "internal.h"

#include <string.h>

static const char *const statuses[KF_STATUS_COUNT] = {
    [KF_JUDGE_ERROR] = "judge_error",
    [KF_COMPILE_ERROR] = "compile_error",
    [KF_UNSUPPORTED_DEVICE] = "unsupported_device",
    [KF_OUT_OF_MEMORY] = "out_of_memory",
    [KF_CRASH] = "crash",
    [KF_TIMEOUT] = "timeout",
    [KF_LAUNCH_FAILURE] = "launch_failure",
    [KF_CONTRACT_VIOLATION] = "contract_violation",
    [KF_WRONG_RESULT] = "wrong_result",
    [KF_CHEATING] = "cheating",
    [KF_INTERFERENCE] = "interference",
    [KF_IMPOSSIBLE] = "impossible",
    [KF_CORRECT] = "correct",
};

static const char *const blames[] = {
    [KF_BLAME_NOBODY] = "nobody",   [KF_BLAME_CANDIDATE] = "candidate", [KF_BLAME_TASK] = "task",
    [KF_BLAME_MACHINE] = "machine", [KF_BLAME_JUDGE] = "judge",
};

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

static const char *word_of(const char *const *table, size_t count, size_t index)
{
    return index < count ? table[index] : "unknown";
}

static size_t index_of(const char *const *table, size_t count, const unsigned char *word,
                       size_t fallback)
{
    for (size_t i = 0; word && i < count; i++)
        if (!strcmp(table[i], (const char *)word)) return i;
    return fallback;
}

const char *kf_word_status(kf_status status)
{
    return word_of(statuses, COUNT(statuses), status);
}
const char *kf_word_blame(kf_blame blame)
{
    return word_of(blames, COUNT(blames), blame);
}
const char *kf_run_status_name(kf_run_status status)
{
    return word_of(run_statuses, COUNT(run_statuses), status);
}
const char *kf_attempt_outcome_name(kf_attempt_outcome outcome)
{
    return word_of(outcomes, COUNT(outcomes), outcome);
}

kf_status kf_word_to_status(const unsigned char *word)
{
    return index_of(statuses, COUNT(statuses), word, KF_JUDGE_ERROR);
}
kf_blame kf_word_to_blame(const unsigned char *word)
{
    return index_of(blames, COUNT(blames), word, KF_BLAME_JUDGE);
}
kf_run_status kf_word_to_run_status(const unsigned char *word)
{
    return index_of(run_statuses, COUNT(run_statuses), word, KF_RUN_FAILED);
}
kf_attempt_outcome kf_word_to_outcome(const unsigned char *word)
{
    return index_of(outcomes, COUNT(outcomes), word, KF_ATTEMPT_LOST);
}
