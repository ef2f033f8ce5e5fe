/* A bandit over arms whose pulls cost different amounts: chooses which of several models is called
 * next. Pure arithmetic; the caller decides what an arm stands for.
 *
 * The index of an arm is reward per cost with an optimistic reward, as in fractional KUBE
 * (Tran-Thanh, Chapman, Rogers, Jennings, "Knapsack based optimal policies for budget-limited
 * multi-armed bandits", AAAI 2012, eq. 3). That is UCB1 (Auer, Cesa-Bianchi, Fischer, "Finite-time
 * analysis of the multiarmed bandit problem", Machine Learning 47, 2002) over the cost of a pull:
 *
 *     index = weight · min(1, r + sqrt(E · ln(N) / n)) / c
 *
 * r: mean reward, in [0, 1]; c: mean cost; n: pulls of the arm; N: of all arms; E: `exploration`
 * (UCB1: 2). Costs are observed, not known beforehand. An arm without pulls comes first. Pulls in
 * flight count in n and N, so that concurrent pulls do not all go to one arm.
 *
 * Rewards become rarer during a search, since a new best does. So old results fade: each result
 * multiplies the earlier ones by `discount` (Garivier, Moulines, "On upper-confidence bound
 * policies for switching bandit problems", ALT 2011).
 *
 * An arm is plain numbers, which a run stores with its state.
 */
#ifndef KFORGE_BANDIT_H
#define KFORGE_BANDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kf_bandit_arm {
    /* the user's weight; 0 counts as 1 */
    double weight;
    /* faded sums, no whole numbers */
    double pulls, reward, cost;
    /* pulls without a result yet */
    int64_t flying;
    /* It must not be chosen now. */
    bool closed;
} kf_bandit_arm;

typedef struct kf_bandit_rule {
    double exploration; /* E; 0: KF_BANDIT_EXPLORATION */
    double discount;    /* in (0, 1]; 0: KF_BANDIT_DISCOUNT */
    /* least cost of a pull, > 0, so that a free arm is not infinitely good */
    double least_cost;
} kf_bandit_rule;

/* With rewards in [0, 1] and some hundred pulls in all, 2 would still explore at the end. */
#define KF_BANDIT_EXPLORATION 0.5
/* Half is forgotten after 34 results. */
#define KF_BANDIT_DISCOUNT 0.98

/* Returns the open arm with the highest index, or -1 if all are closed. `chance`, 64 random
 * bits, decides between equal ones. */
int kf_bandit_choose(const kf_bandit_arm *arms, size_t count, const kf_bandit_rule *rule,
                     uint64_t chance);
/* Returns the index above, for display; infinity before the first pull. */
double kf_bandit_index(const kf_bandit_arm *arms, size_t count, size_t arm,
                       const kf_bandit_rule *rule);
/* Adds the result of a pull. Rewards are limited to [0, 1]. Negative costs and NaN count as 0.
 * The caller updates `flying`. */
void kf_bandit_result(kf_bandit_arm *arms, size_t count, size_t arm, double reward, double cost,
                      const kf_bandit_rule *rule);
/* Returns the open arm with the least pulls, those in flight included, relative to its weight,
 * or -1 if all are closed. Among equal ones the first one wins. The caller counts the pulls in
 * `taken`. */
int kf_bandit_share(const kf_bandit_arm *arms, const int64_t *taken, size_t count);

#endif
