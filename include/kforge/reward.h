/* Rewards for training: pure functions from the figures of a verdict to a number, by name. No
 * reward is stored. It is computed from stored verdicts, so a data set can be labelled again with
 * another one. docs/reference/datasets.md lists them for users.
 *
 *   name        correct and timed                     failed   source
 *   speedup     s                                     0
 *   cuda_l1     s rounded to two decimals towards 1   0        CUDA-L1 (Li et al. 2025,
 *                                                              arXiv:2507.14111)
 *   kevin       0.3 + s                               0        Kevin-32B (Baronio et al. 2025,
 *                                                              arXiv:2507.11948)
 *   milestones  1; 2: interval above 1.05;            -1       CUDA Agent (2026): {-1, 1, 2, 3}
 *               3: interval above 2
 *   log         ln s, at least ln 0.1                 ln 0.1   twice as fast and half as fast are
 *                                                              opposite numbers
 *
 * s is the speedup over the task's baseline. With `significant` it is 1 if the 95 % interval
 * contains 1. A status fails if the candidate is at fault, which includes cheating. A verdict that
 * blames the task, the machine or the judge gives NaN. So does a correct verdict without a time,
 * except where the formula needs no time (milestones: 1, kevin: 0.3). The second step of CUDA Agent
 * above the baseline is the time of torch.compile, which a kforge task does not have. A speedup of
 * 2 takes its place.
 */
#ifndef KFORGE_REWARD_H
#define KFORGE_REWARD_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/verdict_types.h"

/* CUDA-L1: smoothing clips a reward to so many standard deviations from the mean */
#define KF_REWARD_CLIP 1.5
/* Kevin: the discount of a turn */
#define KF_REWARD_DISCOUNT 0.4
/* CUDA Agent: a candidate counts as faster from 5 % on */
#define KF_REWARD_STEP 1.05
/* in place of CUDA Agent's "also faster than torch.compile" */
#define KF_REWARD_STRONG 2.0
/* log: the speedup of slower candidates and of failed ones */
#define KF_REWARD_SLOWEST 0.1
/* Kevin: the reward of correctness alone */
#define KF_REWARD_CORRECT 0.3

typedef enum kf_reward {
    KF_REWARD_SPEEDUP,
    KF_REWARD_CUDA_L1,
    KF_REWARD_KEVIN,
    KF_REWARD_MILESTONES,
    KF_REWARD_LOG,
    KF_REWARD_COUNT
} kf_reward;

/* Returns "kevin" for KF_REWARD_KEVIN, and so on. */
const char *kf_reward_name(kf_reward reward);
bool kf_reward_parse(const char *name, kf_reward *reward);
/* Returns one line for data set cards. */
const char *kf_reward_formula(kf_reward reward);

/* The figures that a reward is computed from. */
typedef struct kf_reward_input {
    kf_status status;
    kf_blame blame;
    /* NaN unless correct and timed */
    kf_interval speedup;
    /* A speedup counts as 1 if its interval contains 1, or if it has no interval. */
    bool significant;
} kf_reward_input;

double kf_reward_of(kf_reward reward, const kf_reward_input *input);

/* These two work on a group: the candidates for one prompt, or of one task. NaN elements stay NaN
 * and are left out of mean and deviation. Input and output may be the same array. */

/* Computes (r - mean) / standard deviation of the group, 0 if all are equal: GRPO (Shao et al.
 * 2024, arXiv:2402.03300). */
void kf_reward_advantages(const double *rewards, size_t count, double *advantages);
/* Computes the same, clipped to ±clip. CUDA-L1 applies it to rewards before GRPO. */
void kf_reward_smooth(const double *rewards, size_t count, double clip, double *smoothed);
/* Computes the returns of the turns of a conversation: turn i gets the sum over j >= i of
 * discount^(j-i) * r_j (Kevin, discount 0.4). NaN counts as 0. */
void kf_reward_returns(const double *rewards, size_t count, double discount, double *returns);

#endif
