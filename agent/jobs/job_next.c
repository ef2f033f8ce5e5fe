#include "job_next.h"

#include <stdlib.h>
#include <string.h>

char *kf_next_summary(const kf_verdict *verdict)
{
    const char *text = verdict->message ? verdict->message : "";
    return kf_text_clean(text, strlen(text), true);
}

char *kf_next_step(const kf_verdict *verdict)
{
    if (verdict->status == KF_CORRECT) return strdup("Submit it, or change it to make it faster.");
    if (verdict->blame == KF_BLAME_CANDIDATE)
        return strdup("Correct the fault that the summary names, and judge the candidate again.");
    if (verdict->blame == KF_BLAME_TASK)
        return strdup("Correct the task: \"kforge task lint\" names its faults.");
    return strdup("The machine failed, not the candidate. Submit it again later.");
}
