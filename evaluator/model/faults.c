#include "kforge/faults.h"

#include <string.h>

bool kf_verdict_is_fault(const kf_verdict *verdict)
{
    const char *rule = verdict->finding_count ? verdict->findings[0].rule : "";
    bool works = strcmp(rule, "code.known") == 0 || strcmp(rule, "time.budget") == 0;
    return verdict->status == KF_JUDGE_ERROR && verdict->blame == KF_BLAME_MACHINE && !works;
}

bool kf_faults_count(int *row, int most, const kf_verdict *verdict, kf_error *error)
{
    *row = kf_verdict_is_fault(verdict) ? *row + 1 : 0;
    return *row < most || kf_fail(error, KF_ERROR_MACHINE, "%s: the machine failed %d jobs in a row; the last: %s", verdict->device,
                                  *row, verdict->message);
}
