/* The paired comparison of two results: changes on common problems, with their intervals. */
#ifndef KFORGE_AGENT_BENCH_COMPARE_H
#define KFORGE_AGENT_BENCH_COMPARE_H

#include "bench_result.h"

typedef struct kf_bench_pair {
    /* borrowed */
    const kf_bench_row *before, *after;
    /* best speedup after / before; NaN unless both solved the problem */
    double ratio;
    /* True if the intervals do not overlap, so that the change is more than noise */
    bool apart;
    /* True if paired by name, because the contents differ or one is unknown */
    bool by_name;
} kf_bench_pair;

typedef struct kf_bench_comparison {
    /* borrowed */
    const kf_bench_result *before, *after;
    /* in the order of `before` */
    kf_bench_pair *pairs;
    /* problems of both, and of one of them */
    size_t count, only_before, only_after;
    /* pairs by name */
    size_t by_name;
    /* problems with the same name and different content: not compared, and not in only_… */
    size_t other;
    /* the first of them */
    const char *other_name;
    /* problems solved by both, only after, only before */
    size_t both, gained, lost;
    /* of `both`, pairs that are apart */
    size_t faster, slower;
    /* geometric mean over problems that both solved */
    kf_interval ratio;
    /* change of the share of solved problems, and of the mean share of correct samples */
    kf_interval solved, correct;
    /* change of fast_p at the thresholds before->fast */
    kf_interval fast[KF_BENCH_FAST];
} kf_bench_comparison;

/* Pairs problems by the hash of their tasks' content, or by name if one has no hash (refused
 * problems, older reports). With `by_name`, problems of the same name with different content are
 * pairs, too. KF_ERROR_INPUT if the results have no problem in common. */
bool kf_bench_compare(const kf_bench_result *before, const kf_bench_result *after, bool by_name,
                      kf_bench_comparison *comparison, kf_error *error);
bool kf_bench_comparison_write(const kf_bench_comparison *comparison,
                               const kf_invocation *invocation, bool json, kf_error *error);
void kf_bench_comparison_clear(kf_bench_comparison *comparison);

#endif
