#include "bandit.h"

#include <math.h>

static double weight_of(const kf_bandit_arm *arm)
{
    return arm->weight > 0 ? arm->weight : 1;
}

double kf_bandit_index(const kf_bandit_arm *arms, size_t count, size_t arm,
                       const kf_bandit_rule *rule)
{
    const kf_bandit_arm *a = &arms[arm];
    double all = 0, mine = a->pulls + (double)a->flying;
    for (size_t i = 0; i < count; i++) all += arms[i].pulls + (double)arms[i].flying;
    if (!(mine > 0)) return INFINITY;
    double exploration = rule->exploration > 0 ? rule->exploration : KF_BANDIT_EXPLORATION;
    /* A pull in flight does not change the reward. It only reduces the uncertainty. */
    double reward = a->pulls > 0 ? a->reward / a->pulls : 0,
           cost = a->pulls > 0 ? a->cost / a->pulls : 0;
    double bound = fmin(1, reward + sqrt(exploration * log(fmax(all, 1)) / mine));
    return weight_of(a) * bound / fmax(cost, rule->least_cost);
}

int kf_bandit_choose(const kf_bandit_arm *arms, size_t count, const kf_bandit_rule *rule,
                     uint64_t chance)
{
    int chosen = -1;
    double best = -1;
    uint64_t equals = 0;
    for (size_t i = 0; i < count; i++) {
        if (arms[i].closed) continue;
        double index = kf_bandit_index(arms, count, i, rule);
        /* Among arms without pulls the one with the largest weight comes first. */
        if (isinf(index) && chosen >= 0 && isinf(best) &&
            weight_of(&arms[i]) < weight_of(&arms[chosen]))
            continue;
        bool heavier = isinf(index) && chosen >= 0 && isinf(best) &&
                       weight_of(&arms[i]) > weight_of(&arms[chosen]);
        if (chosen < 0 || heavier || index > best)
            equals = 1;
        else if (index == best)
            equals++;
        else
            continue;
        /* Each of k equal arms is chosen with probability 1/k. */
        if (equals == 1 || chance % equals == 0) chosen = (int)i;
        if (equals > 1) chance = chance / equals * UINT64_C(0x9e3779b97f4a7c15) >> 1;
        best = index;
    }
    return chosen;
}

void kf_bandit_result(kf_bandit_arm *arms, size_t count, size_t arm, double reward, double cost,
                      const kf_bandit_rule *rule)
{
    double discount =
        rule->discount > 0 && rule->discount <= 1 ? rule->discount : KF_BANDIT_DISCOUNT;
    for (size_t i = 0; i < count; i++) {
        arms[i].pulls *= discount;
        arms[i].reward *= discount;
        arms[i].cost *= discount;
    }
    arms[arm].pulls += 1;
    /* NaN counts as 0. */
    arms[arm].reward += fmin(fmax(reward, 0), 1);
    arms[arm].cost += cost > 0 && isfinite(cost) ? cost : 0;
}

int kf_bandit_share(const kf_bandit_arm *arms, const int64_t *taken, size_t count)
{
    int chosen = -1;
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double share = (double)(taken[i] + arms[i].flying) / weight_of(&arms[i]);
        if (arms[i].closed || share >= least) continue;
        chosen = (int)i;
        least = share;
    }
    return chosen;
}
