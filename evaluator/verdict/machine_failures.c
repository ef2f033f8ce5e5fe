#include "machine_failures.h"
#include "kforge/json.h"

#include <string.h>

/* Returns the rule of the first finding of the verdict or of its workloads. */
static const char *first_rule(const kf_verdict *verdict)
{
    if (verdict->finding_count) return verdict->findings[0].rule;
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return verdict->workloads[i].findings[0].rule;
    return "";
}

bool kf_verdict_is_fault(const kf_verdict *verdict)
{
    const char *rule = first_rule(verdict);
    bool healthy = strcmp(rule, "code.known") == 0 || strcmp(rule, "time.budget") == 0;
    return verdict->status == KF_JUDGE_ERROR && verdict->blame == KF_BLAME_MACHINE && !healthy;
}

/* ---- events from outside --------------------------------------------------------------------- */

/* A row of the table below: a rule, and a part of its finding's text. */
typedef struct pattern {
    /* KF_STATUS_COUNT: any. */
    kf_status status;
    const char *rule;
    /* NULL: any text. */
    const char *part;
} pattern;

/* Verdicts of older judges. sandbox/supervise.c words signals ("signal 9 (Killed)"). */
static const pattern patterns[] = {
    {KF_CHEATING, "runner.woken", NULL},
    {KF_CRASH, "runner.crashed", "signal 9 ("},
    {KF_CRASH, "runner.crashed", "signal 15 ("},
    {KF_CRASH, "runner.crashed", "signal 1 ("},
    {KF_CRASH, "runner.crashed", "signal 2 ("},
    {KF_JUDGE_ERROR, "baseline.failed", "signal 9 ("},
    {KF_JUDGE_ERROR, "baseline.failed", "signal 15 ("},
    {KF_JUDGE_ERROR, "baseline.failed", "made to run while"},
    {KF_JUDGE_ERROR, "oracle.failed", "signal 9 ("},
    {KF_JUDGE_ERROR, "oracle.failed", "signal 15 ("},
    {KF_JUDGE_ERROR, "oracle.failed", "made to run while"},
};

/* Words of gcc's driver, of collect2, of nvcc and of the judge about a program that was killed. */
static const char *const kill_words[] = {
    "went over a limit: signal 9 (",
    "went over a limit: signal 15 (",
    "Killed signal terminated program",
    "Terminated signal terminated program",
    "Hangup signal terminated program",
    "Interrupt signal terminated program",
    "terminated with signal 9",
    "terminated with signal 15",
    "died due to signal 9",
    "died due to signal 15",
};

static const char *const shortage_words[] = {
    "PCH allocation failure",       "out of memory allocating",         "memory exhausted",
    "annot allocate memory",        "Resource temporarily unavailable", "No space left on device",
    "instance of 'std::bad_alloc'",
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool has_any(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; text && i < count; i++)
        if (strstr(text, words[i])) return true;
    return false;
}

bool kf_words_of_a_kill(const char *text)
{
    return has_any(text, kill_words, COUNT(kill_words));
}

bool kf_words_of_a_shortage(const char *text)
{
    return has_any(text, shortage_words, COUNT(shortage_words));
}

static bool is_of_build(const char *text)
{
    return kf_words_of_a_kill(text) || kf_words_of_a_shortage(text);
}

bool kf_finding_may_be_outside(kf_status status, const char *rule, const char *text,
                               const char *log)
{
    bool build = (strcmp(rule, "build.failed") == 0 && status == KF_COMPILE_ERROR) ||
                 strcmp(rule, "task.build") == 0;
    if (build) return is_of_build(text) || is_of_build(log);
    for (size_t i = 0; i < COUNT(patterns); i++)
        if (patterns[i].status == status && strcmp(patterns[i].rule, rule) == 0 &&
            (!patterns[i].part || strstr(text, patterns[i].part)))
            return true;
    return false;
}

static bool any_outside(const kf_finding *findings, size_t count, const kf_verdict *verdict,
                        const char *log)
{
    for (size_t i = 0; i < count; i++)
        if (findings[i].status == verdict->status &&
            kf_finding_may_be_outside(findings[i].status, findings[i].rule, findings[i].text, log))
            return true;
    return false;
}

bool kf_verdict_is_doubtful_old(const kf_verdict *verdict)
{
    if (verdict->status == KF_CORRECT || verdict->blame == KF_BLAME_MACHINE) return false;
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (strncmp(verdict->flags[i], KF_FLAG_MACHINE_CLEARED ":",
                    sizeof KF_FLAG_MACHINE_CLEARED) == 0)
            return false;
    const char *log = kf_json_get_text(verdict->build, "log", NULL);
    if (any_outside(verdict->findings, verdict->finding_count, verdict, log)) return true;
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (any_outside(verdict->workloads[i].findings, verdict->workloads[i].finding_count,
                        verdict, log))
            return true;
    return false;
}

/* ---- failures in a row ----------------------------------------------------------------------- */

static bool is_flagged(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (strcmp(verdict->flags[i], KF_MACHINE_HEALTH_CHECK) == 0) return true;
    return false;
}

bool kf_machine_failures_count(int *row, int most, const kf_verdict *verdict, kf_error *error)
{
    *row = kf_verdict_is_fault(verdict) && !is_flagged(verdict) ? *row + 1 : 0;
    return *row < most ||
           kf_fail(error, KF_ERROR_MACHINE, "%s: the machine failed %d jobs in a row; the last: %s",
                   verdict->device, *row, verdict->message);
}
