/* The correct candidates of a run in memory, and how parents and exemplars are drawn from them.
 *
 * Pure: draws depend on the added members, their order, and the given random numbers. So a run that
 * is rebuilt from its stored attempts draws the same. Members are sorted by speedup, the fastest
 * first. Among equals the older one comes first. Adding moves O(n) times 4 bytes. Drawing looks at
 * the best KF_POPULATION_VIEW members only, so its cost does not grow with the run.
 *
 * A draw chooses from a *view*: one island or all, without pruned members, at most the best `beam`,
 * and at most the best KF_POPULATION_VIEW.
 *
 *   rank        member k of the view with probability 2^-(k+1), the rest to the last
 *   power       P(k) = (k+1)^-exponent / sum (ShinkaEvolve's power law)
 *   tournament  the best of `size` uniform draws with replacement:
 *               P(k) = ((n-k)/n)^size - ((n-k-1)/n)^size
 *   grid        a uniform choice of an occupied cell, then the best of its members
 *               (MAP-Elites: Mouret, Clune 2015)
 *   latest      the member that was added last
 *   uniform     P(k) = 1/n
 *
 * Contrast (CUDA-L1) cuts scores into buckets of `width`. It draws `count` distinct buckets, bucket
 * i with P ∝ exp((mean_i - mu)/tau), and a uniform member of each. mean_i is the mean score of the
 * bucket's members, and mu the mean of these over the buckets. A score is the log2 of a speedup. On
 * speedups themselves one tau would be greedy where they reach 20 and blind where they reach 1.2.
 */
#ifndef KFORGE_AGENT_POPULATION_H
#define KFORGE_AGENT_POPULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"

#define KF_CELL_TEXT 48
#define KF_POPULATION_VIEW 2048

/* Random numbers: SplitMix64 (Steele, Lea, Flood 2014). */
typedef struct kf_draws {
    uint64_t state;
} kf_draws;
uint64_t kf_draw_bits(kf_draws *draws);
double kf_draw_fraction(kf_draws *draws); /* in [0, 1) */

typedef struct kf_member {
    int64_t candidate;
    double speedup;
    /* -1: on all islands */
    int island;
    /* 1 + a second island; 0: it has one island */
    int also;
    /* "": it has no cell */
    char cell[KF_CELL_TEXT];
    /* failed children in a row */
    int failures;
    bool pruned;
} kf_member;

typedef struct kf_population kf_population;

/* NULL only without memory */
kf_population *kf_population_new(void);
void kf_population_free(kf_population *population);
KF_DEFINE_AUTO(kf_population, kf_population_free)

/* Adds a member, unless the candidate is one already. False without memory. */
bool kf_population_add(kf_population *population, const kf_member *member);
/* Sets the speedup of a candidate that was measured again. NaN or less than 0 removes it. */
void kf_population_update(kf_population *population, int64_t candidate, double speedup);
/* Counts a judged child of `parent`. `most` failures in a row prune the parent (0: never). The
 * best member is never pruned. */
void kf_population_child(kf_population *population, int64_t parent, bool correct, int most);
/* Copies the best of each island to the next one (a ring, as in OpenEvolve). */
void kf_population_migrate(kf_population *population, int islands);
const kf_member *kf_population_find(const kf_population *population, int64_t candidate);
size_t kf_population_size(const kf_population *population);
/* Returns the fastest of an island (-1: of all), or NULL. */
const kf_member *kf_population_best(const kf_population *population, int island);

typedef enum kf_parents {
    KF_PARENTS_RANK,
    KF_PARENTS_POWER,
    KF_PARENTS_TOURNAMENT,
    KF_PARENTS_GRID,
    KF_PARENTS_LATEST,
    KF_PARENTS_UNIFORM,
    KF_PARENTS_COUNT
} kf_parents;

typedef struct kf_choice {
    kf_parents parents;
    /* -1: all */
    int island;
    /* 0: all */
    size_t beam;
    /* for KF_PARENTS_POWER */
    double exponent;
    /* for KF_PARENTS_TOURNAMENT */
    int size;
    /* a candidate that must not be drawn (the other parent of a crossover); 0: all may be drawn */
    int64_t not ;
} kf_choice;

/* Draws a parent; 0 if the view is empty. */
int64_t kf_population_draw(const kf_population *population, const kf_choice *choice,
                           kf_draws *draws);

typedef struct kf_contrast {
    double tau, width;
    int count;
} kf_contrast;

/* Draws exemplars, the slowest first, and returns their number. */
int kf_population_contrast(const kf_population *population, const kf_contrast *contrast,
                           kf_draws *draws, int64_t *candidates);

#endif
