/* What an attempt or a model's call is for. */
#ifndef KFORGE_SEARCH_STEP_H
#define KFORGE_SEARCH_STEP_H

#include <stdbool.h>

typedef enum kf_step {
    KF_STEP_BASELINE,
    KF_STEP_SEED,
    KF_STEP_TUNE,
    KF_STEP_DRAFT,
    KF_STEP_IMPROVE,
    KF_STEP_REPAIR_BUILD,
    KF_STEP_REPAIR_WRONG,
    KF_STEP_CONTRAST,
    KF_STEP_CROSSOVER,
    /* another algorithm */
    KF_STEP_RETHINK,
    /* a diagnosis, no candidate */
    KF_STEP_CRITIC_OPTIMISE,
    KF_STEP_CRITIC_REPAIR,
    /* a summary of the notes, no candidate */
    KF_STEP_SUMMARY,
    /* a candidate is measured again */
    KF_STEP_VERIFY,
    /* an agent works on a candidate; also the candidate that it leaves */
    KF_STEP_EPISODE,
    /* a candidate that an agent has judged in an episode */
    KF_STEP_TRY,
    KF_STEP_COUNT
} kf_step;

const char *kf_step_name(kf_step step);
bool kf_step_parse(const char *name, kf_step *step);
/* True if the reply is JSON instead of a candidate. */
bool kf_step_is_critic(kf_step step);

#endif
