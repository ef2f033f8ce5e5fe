/* Rewards for training, computed from the figures of verdicts. */
#include "kforge/reward.h"

#include <math.h>
#include <string.h>

/* Rounds to two decimals towards 1, so that no rounding makes a kernel look better than it was
 * measured. A speedup within a hundredth of 1 becomes 1. */
static double rounded_towards_one(double speedup)
{
    double hundredths = speedup * 100;
    return (speedup > 1 ? floor(hundredths + 1e-9) : ceil(hundredths - 1e-9)) / 100;
}

static double milestone(const kf_interval *speedup)
{
    /* A low end of NaN gives 1. */
    return speedup->low > KF_REWARD_STRONG ? 3 : speedup->low > KF_REWARD_STEP ? 2 : 1;
}

static double reward_speedup(const kf_interval *speedup)
{
    return speedup->value;
}
static double reward_cuda_l1(const kf_interval *speedup)
{
    return rounded_towards_one(speedup->value);
}
static double reward_kevin(const kf_interval *speedup)
{
    return KF_REWARD_CORRECT + (isnan(speedup->value) ? 0 : speedup->value);
}
static double reward_log(const kf_interval *speedup)
{
    double s = speedup->value;
    return isnan(s) ? s : log(s > KF_REWARD_SLOWEST ? s : KF_REWARD_SLOWEST);
}

static const struct {
    const char *name, *formula;
    double failed;
    double (*correct)(const kf_interval *speedup);
} rows[KF_REWARD_COUNT] = {
    [KF_REWARD_SPEEDUP] = {"speedup", "speedup; 0 when failed", 0, reward_speedup},
    [KF_REWARD_CUDA_L1] =
        {"cuda_l1",
         "speedup rounded to two decimals towards 1; 0 when failed (CUDA-L1, arXiv:2507.14111)", 0,
         reward_cuda_l1},
    [KF_REWARD_KEVIN] = {"kevin", "0.3 + speedup; 0 when failed (Kevin-32B, arXiv:2507.11948)", 0,
                         reward_kevin},
    [KF_REWARD_MILESTONES] =
        {"milestones",
         "3: interval above 2, 2: above 1.05, 1: correct, -1: failed (after CUDA Agent)", -1,
         milestone},
    [KF_REWARD_LOG] = {"log", "ln(speedup), at least ln(0.1), which failed ones get",
                       -2.3025850929940455, reward_log},
};

const char *kf_reward_name(kf_reward reward)
{
    return (size_t)reward < KF_REWARD_COUNT ? rows[reward].name : "unknown";
}

const char *kf_reward_formula(kf_reward reward)
{
    return (size_t)reward < KF_REWARD_COUNT ? rows[reward].formula : "";
}

bool kf_reward_parse(const char *name, kf_reward *reward)
{
    for (size_t i = 0; i < KF_REWARD_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0) return *reward = (kf_reward)i, true;
    return false;
}

double kf_reward_of(kf_reward reward, const kf_reward_input *input)
{
    if ((size_t)reward >= KF_REWARD_COUNT) return NAN;
    if (input->status != KF_CORRECT)
        return input->blame == KF_BLAME_CANDIDATE ? rows[reward].failed : NAN;
    kf_interval speedup = input->speedup;
    bool differs = speedup.low > 1 || speedup.high < 1;
    if (input->significant && !differs && !isnan(speedup.value)) speedup = (kf_interval){1, 1, 1};
    return rows[reward].correct(&speedup);
}

static void normalise(const double *rewards, size_t count, double clip, double *results)
{
    double sum = 0, squares = 0, known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(rewards[i])) sum += rewards[i], known++;
    double mean = sum / known;
    for (size_t i = 0; i < count; i++)
        if (!isnan(rewards[i])) squares += (rewards[i] - mean) * (rewards[i] - mean);
    double deviation = sqrt(squares / known);
    /* Rewards that are equal up to rounding count as equal. Dividing by the rounding error would
     * enlarge it to full size. */
    bool equal = !(deviation > 1e-12 * fabs(mean));
    for (size_t i = 0; i < count; i++) {
        if (isnan(rewards[i])) {
            results[i] = NAN;
            continue;
        }
        double score = equal ? 0 : (rewards[i] - mean) / deviation;
        results[i] = score > clip ? clip : score < -clip ? -clip : score;
    }
}

void kf_reward_advantages(const double *rewards, size_t count, double *advantages)
{
    normalise(rewards, count, INFINITY, advantages);
}

void kf_reward_smooth(const double *rewards, size_t count, double clip, double *smoothed)
{
    normalise(rewards, count, clip, smoothed);
}

void kf_reward_returns(const double *rewards, size_t count, double discount, double *returns)
{
    double later = 0;
    for (size_t i = count; i-- > 0;) {
        later = (isnan(rewards[i]) ? 0 : rewards[i]) + discount * later;
        returns[i] = later;
    }
}
