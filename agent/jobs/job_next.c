#include "job_next.h"

#include "verdict_brief.h"

char *kf_next_summary(const kf_verdict *verdict)
{
    return kf_verdict_summary(verdict);
}

char *kf_next_step(const kf_verdict *verdict)
{
    return kf_verdict_next(verdict);
}
