/* Two results on the same problems: what changed, by how much, and how sure that is. */
#ifndef KFORGE_AGENT_BENCH_COMPARE_H
#define KFORGE_AGENT_BENCH_COMPARE_H

#include "bench_result.h"

typedef struct kf_bench_pair {
    const kf_bench_row *before, *after; /* borrowed */
    /* of the best speedups, after / before; NaN unless both solved it */
    double ratio;
    /* their intervals do not overlap: the change is more than noise */
    bool apart;
    /* paired by name: their contents differ, or are not known of one */
    bool by_name;
} kf_bench_pair;

typedef struct kf_bench_comparison {
    const kf_bench_result *before, *after; /* borrowed */
    kf_bench_pair *pairs;                  /* in the order of `before` */
    size_t count, only_before, only_after; /* problems of both, of one */
    /* pairs by name, because the content of one is not known (or `by_name` was asked for) */
    size_t by_name;
    /* of the same name and other content: not compared; not among only_… */
    size_t other;
    const char *other_name;    /* the first of these */
    size_t both, gained, lost; /* solved by both; only after; only before */
    size_t faster, slower;     /* of both: apart, and so */
    kf_interval ratio;         /* geometric mean over those that both solved */
    /* change of the share solved, of the mean share of correct samples of a problem */
    kf_interval solved, correct;
    kf_interval fast[KF_BENCH_FAST]; /* change of fast_p at before->fast */
} kf_bench_comparison;

/* Problems are paired by the hash of their tasks' content, whatever they are called; by name where
 * one has none (refused ones, older reports). Those of the same name with other content (another
 * size, another tolerance) are no pair, unless `by_name`. KF_ERROR_INPUT: they have no problem in
 * common. */
bool kf_bench_compare(const kf_bench_result *before, const kf_bench_result *after, bool by_name,
                      kf_bench_comparison *comparison, kf_error *error);
bool kf_bench_comparison_write(const kf_bench_comparison *comparison,
                               const kf_invocation *invocation, bool json, kf_error *error);
void kf_bench_comparison_clear(kf_bench_comparison *comparison);

#endif
