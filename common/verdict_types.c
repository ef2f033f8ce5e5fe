/* The names of statuses and blames, as verdicts, stores and exports spell them. They are part of
 * these file formats: a name stays when an enum is reordered. */
#include "kforge/verdict_types.h"

#include <string.h>

static const char *const status_names[KF_STATUS_COUNT] = {
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

static const char *const blame_names[] = {
    [KF_BLAME_NOBODY] = "nobody",   [KF_BLAME_CANDIDATE] = "candidate", [KF_BLAME_TASK] = "task",
    [KF_BLAME_MACHINE] = "machine", [KF_BLAME_JUDGE] = "judge",
};

#define COUNT(names) (sizeof(names) / sizeof *(names))

static int name_index(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return (int)i;
    return -1;
}

const char *kf_status_name(kf_status status)
{
    return (size_t)status < COUNT(status_names) ? status_names[status] : "unknown";
}
const char *kf_blame_name(kf_blame blame)
{
    return (size_t)blame < COUNT(blame_names) ? blame_names[blame] : "unknown";
}

bool kf_status_parse(const char *name, kf_status *status)
{
    int index = name_index(name, status_names, COUNT(status_names));
    if (index >= 0) *status = (kf_status)index;
    return index >= 0;
}

bool kf_blame_parse(const char *name, kf_blame *blame)
{
    int index = name_index(name, blame_names, COUNT(blame_names));
    if (index >= 0) *blame = (kf_blame)index;
    return index >= 0;
}
