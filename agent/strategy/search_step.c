/* The steps of a search and their names in the store. */
#include "search_step.h"

#include <string.h>

static const char *const step_names[KF_STEP_COUNT] = {
    [KF_STEP_BASELINE] = "baseline",
    [KF_STEP_SEED] = "seed",
    [KF_STEP_TUNE] = "tune",
    [KF_STEP_DRAFT] = "draft",
    [KF_STEP_IMPROVE] = "improve",
    [KF_STEP_REPAIR_BUILD] = "repair_build",
    [KF_STEP_REPAIR_WRONG] = "repair_wrong",
    [KF_STEP_CONTRAST] = "contrast",
    [KF_STEP_CROSSOVER] = "crossover",
    [KF_STEP_RETHINK] = "rethink",
    [KF_STEP_CRITIC_OPTIMISE] = "critic_optimise",
    [KF_STEP_CRITIC_REPAIR] = "critic_repair",
    [KF_STEP_SUMMARY] = "summary",
    [KF_STEP_VERIFY] = "verify",
    [KF_STEP_EPISODE] = "episode",
    [KF_STEP_TRY] = "try",
};

const char *kf_step_name(kf_step step)
{
    return (unsigned)step < KF_STEP_COUNT ? step_names[step] : "unknown";
}

bool kf_step_parse(const char *name, kf_step *step)
{
    for (int i = 0; i < KF_STEP_COUNT; i++) {
        if (strcmp(step_names[i], name) != 0) continue;
        *step = (kf_step)i;
        return true;
    }
    return false;
}

bool kf_step_is_critic(kf_step step)
{
    return step == KF_STEP_CRITIC_OPTIMISE || step == KF_STEP_CRITIC_REPAIR ||
           step == KF_STEP_SUMMARY;
}
