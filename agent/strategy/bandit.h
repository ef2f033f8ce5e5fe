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
    double weight;              /* of the user; 0 counts as 1 */
    double pulls, reward, cost; /* sums, faded; not whole numbers */
    int64_t flying;             /* pulls whose result is not known yet */
    bool closed;                /* not to be chosen now */
} kf_bandit_arm;

typedef struct kf_bandit_rule {
    double exploration; /* E; 0: KF_BANDIT_EXPLORATION */
    double discount;    /* in (0, 1]; 0: KF_BANDIT_DISCOUNT */
    double least_cost; /* of a pull, whatever was observed: what everything around it costs, so that
                          a free arm is not infinitely good; > 0 */
} kf_bandit_rule;

/* with rewards in [0, 1] and some hundred pulls in all, 2 would still explore at the end */
#define KF_BANDIT_EXPLORATION 0.5
#define KF_BANDIT_DISCOUNT 0.98 /* half is forgotten after 34 results */

/* The open arm with the highest index; -1: all are closed. Equal ones are told apart by `chance`,
 * 64 random bits. */
int kf_bandit_choose(const kf_bandit_arm *arms, size_t count, const kf_bandit_rule *rule,
                     uint64_t chance);
/* The index above, for showing; infinity before the first pull. */
double kf_bandit_index(const kf_bandit_arm *arms, size_t count, size_t arm,
                       const kf_bandit_rule *rule);
/* A pull of `arm` ended. Rewards are cut to [0, 1]; costs that are negative or no numbers count as
 * 0. `flying` is the caller's. */
void kf_bandit_result(kf_bandit_arm *arms, size_t count, size_t arm, double reward, double cost,
                      const kf_bandit_rule *rule);
/* The open arm that has had the least of its share: pulls, flying ones included, over weight; equal
 * ones in order. -1: all are closed. Here `pulls` of an arm are what the caller counts in `taken`.
 */
int kf_bandit_share(const kf_bandit_arm *arms, const int64_t *taken, size_t count);

#endif
