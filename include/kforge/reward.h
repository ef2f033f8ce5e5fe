/* Rewards for training: pure functions from what a verdict says to a number, by name. A reward is
 * never stored as the only truth; it is computed from stored verdicts, so that a data set can be
 * labelled again with another one. docs/reference/datasets.md lists them for users.
 *
 *   name         correct and timed                                   failed     source
 *   speedup      s                                                   0          -
 *   cuda_l1      s rounded to two decimals towards 1                 0          CUDA-L1 (Li et al.
 * 2025, arXiv:2507.14111), section on rewards kevin        0.3 + s 0          Kevin-32B (Baronio et
 * al. 2025, arXiv:2507.11948) milestones   1; 2: interval above 1.05; 3: interval above 2      -1
 * CUDA Agent (2026): {-1, 1, 2, 3} log          ln s, at least ln 0.1 ln 0.1     the scale on which
 * twice as fast and half as fast are opposite
 *
 * s is the speedup over the task's baseline, 1 where the 95 % interval contains 1 if `significant`
 * is asked for. `failed` is every status that is the candidate's own fault, cheating included. A
 * verdict that blames the task, the machine or the judge says nothing of the candidate, and one
 * that is correct but was not timed says nothing of its speed: NaN, except where the formula needs
 * no time (milestones: 1, kevin: 0.3). CUDA Agent's second step above the baseline is
 * torch.compile's time, which a kforge task does not have: a speedup of 2 stands for it.
 */
#ifndef KFORGE_REWARD_H
#define KFORGE_REWARD_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/verdict_types.h"

/* CUDA-L1's smoothing: at most so many standard deviations from the mean */
#define KF_REWARD_CLIP 1.5
#define KF_REWARD_DISCOUNT 0.4 /* Kevin's, a turn */
#define KF_REWARD_STEP 1.05    /* CUDA Agent: 5 % faster counts */
#define KF_REWARD_STRONG 2.0   /* in place of "also faster than torch.compile" */
#define KF_REWARD_SLOWEST 0.1  /* log: slower counts as this, and failed too */
#define KF_REWARD_CORRECT 0.3  /* Kevin: what correctness alone is worth */

typedef enum kf_reward {
    KF_REWARD_SPEEDUP,
    KF_REWARD_CUDA_L1,
    KF_REWARD_KEVIN,
    KF_REWARD_MILESTONES,
    KF_REWARD_LOG,
    KF_REWARD_COUNT
} kf_reward;

const char *kf_reward_name(kf_reward reward); /* "kevin" */
bool kf_reward_parse(const char *name, kf_reward *reward);
const char *kf_reward_formula(kf_reward reward); /* one line for data set cards */

/* What a reward is computed from. */
typedef struct kf_reward_input {
    kf_status status;
    kf_blame blame;
    kf_interval speedup; /* NaN unless correct and timed */
    /* a speedup whose interval contains 1, or that has no interval, counts as 1 */
    bool significant;
} kf_reward_input;

double kf_reward_of(kf_reward reward, const kf_reward_input *input);

/* Over a group (candidates for one prompt, or of one task). NaN elements stay NaN and count for
 * nothing; in and out may be the same array. advantages   (r - mean) / standard deviation (of the
 * population), 0 where all are equal: GRPO (Shao et al. 2024, arXiv:2402.03300) smooth       the
 * same, clipped to ±clip: CUDA-L1 does this to rewards before GRPO does the other */
void kf_reward_advantages(const double *rewards, size_t count, double *advantages);
void kf_reward_smooth(const double *rewards, size_t count, double clip, double *smoothed);
/* Returns of a conversation's turns: turn i gets the sum over j >= i of discount^(j-i) * r_j
 * (Kevin, discount 0.4). NaN counts as 0. */
void kf_reward_returns(const double *rewards, size_t count, double discount, double *returns);

#endif
