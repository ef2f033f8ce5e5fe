#include "machine_failures.h"

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
