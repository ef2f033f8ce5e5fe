/* Claims of the authors of existing solutions, compared with the judge's figures: for each
 * solution, and as means over all. */
#include <math.h>
#include <string.h>

#include "bench_result.h"

bool kf_bench_is_cheat(const kf_bench_sample *sample)
{
    return sample->score.cheating || strcmp(sample->status, kf_status_name(KF_IMPOSSIBLE)) == 0;
}

double kf_bench_claim_ratio(const kf_bench_sample *sample)
{
    return sample->score.correct && sample->claimed > 0 && sample->speedup.value > 0
               ? sample->speedup.value / sample->claimed
               : NAN;
}

kf_bench_claims kf_bench_claims_of(const kf_bench_result *result)
{
    kf_bench_claims claims = {.claimed = NAN, .verified = NAN, .ratio = NAN, .all = NAN};
    double claimed = 0, verified = 0, all = 0;
    size_t timed = 0, positive = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].count; k++) {
            const kf_bench_sample *sample = &result->rows[i].samples[k];
            if (isnan(sample->claimed)) continue;
            claims.count++;
            claims.judged += sample->verdict;
            claims.correct += sample->score.correct;
            claims.cheating += kf_bench_is_cheat(sample);
            claims.other_text += sample->other_text;
            if (sample->claimed > 0) all += log(sample->claimed), positive++;
            if (isnan(kf_bench_claim_ratio(sample))) continue;
            claimed += log(sample->claimed);
            verified += log(sample->speedup.value);
            timed++;
        }
    if (positive) claims.all = exp(all / (double)positive);
    if (!timed) return claims;
    claims.claimed = exp(claimed / (double)timed);
    claims.verified = exp(verified / (double)timed);
    claims.ratio = claims.verified / claims.claimed;
    return claims;
}

static bool breaks_a_rule(const kf_bench_sample *sample)
{
    return sample->verdict && sample->score.counts && !sample->score.correct && *sample->rule;
}

/* Returns how many samples from (row, index) on broke the rule. 0 if an earlier sample broke it,
 * too, because then it was already counted. */
static size_t count_rule(const kf_bench_result *result, size_t row, size_t index)
{
    const char *rule = result->rows[row].samples[index].rule;
    size_t count = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].count; k++) {
            const kf_bench_sample *sample = &result->rows[i].samples[k];
            if (!breaks_a_rule(sample) || strcmp(sample->rule, rule) != 0) continue;
            if (i < row || (i == row && k < index)) return 0;
            count++;
        }
    return count;
}

void kf_bench_broken_rules(const kf_bench_result *result, kf_buffer *out)
{
    size_t listed = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].count; k++) {
            const kf_bench_sample *sample = &result->rows[i].samples[k];
            size_t count = breaks_a_rule(sample) ? count_rule(result, i, k) : 0;
            if (count)
                kf_buffer_format(out, "%s%s (%zu)", listed++ ? ", " : "", sample->rule, count);
        }
}
