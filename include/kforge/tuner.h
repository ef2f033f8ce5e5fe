/* The tuner: reads tunables out of a source and searches them. Pure but for the time budget; seeded, resumable.
 *
 *   // kforge: tune BLOCK_SIZE 64 128 256 512
 *   // kforge: require BLOCK_X * BLOCK_Y <= 1024
 *   // kforge: flags -maxrregcount=64 | --use_fast_math | (empty alternative: none)
 *   #ifndef BLOCK_SIZE
 *   #define BLOCK_SIZE 256
 *   #endif
 *
 * A space of at most `exhaustive` points is enumerated (the source's defaults first, then in a seeded random order); a larger one is searched
 * by iterated local search (Lourenço, Martin, Stützle 2003) with random restarts: the next point depends only on the seed and on the
 * (point, score) history that the caller feeds back, so replaying the history resumes the search exactly.
 */
#ifndef KFORGE_TUNER_H
#define KFORGE_TUNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/expression.h"

#define KF_MAX_TUNABLES 16
#define KF_MAX_TUNABLE_VALUES 32
#define KF_MAX_CONSTRAINTS 32

typedef struct kf_tunable {
    char name[64];
    int64_t values[KF_MAX_TUNABLE_VALUES];
    int count;
    int initial; /* index of the #define's default, 0 when it is not among the values */
} kf_tunable;

typedef struct kf_tune_space kf_tune_space;
typedef struct kf_tuner kf_tuner;

/* Reads the declarations. A source without any gives a space of one point. Errors name the line. */
kf_tune_space *kf_tune_space_read(const char *source, kf_error *error);
void kf_tune_space_free(kf_tune_space *space);
KF_DEFINE_AUTO(kf_tune_space, kf_tune_space_free)
int kf_tune_space_axes(const kf_tune_space *space);
/* Points that satisfy the constraints; counted up to 1,000,000, then an estimate by sampling (*exact = false). */
double kf_tune_space_size(const kf_tune_space *space, bool *exact);

/* A point is one index per axis; axes beyond the tunables are flag alternatives. */
typedef struct kf_tune_point {
    uint8_t index[KF_MAX_TUNABLES + 1];
} kf_tune_point;

/* Compiler flags of a point ("-DBLOCK_SIZE=128", …): count, each malloc'd into flags[]; at most KF_MAX_TUNABLES + 8. */
int kf_tune_point_flags(const kf_tune_space *space, const kf_tune_point *point, char **flags, kf_error *error);
/* "BLOCK_SIZE=128 UNROLL=4" for people. */
void kf_tune_point_describe(const kf_tune_space *space, const kf_tune_point *point, char *text, size_t size);

kf_tuner *kf_tuner_new(const kf_tune_space *space, uint64_t seed, size_t exhaustive);
void kf_tuner_free(kf_tuner *tuner);
KF_DEFINE_AUTO(kf_tuner, kf_tuner_free)
/* The next point worth measuring; false when the space is exhausted or the search has converged. Never the same point twice. */
bool kf_tuner_next(kf_tuner *tuner, kf_tune_point *point);
/* Reports a score (higher is better; NaN: failed to build or wrong). Points may be reported in any order. */
void kf_tuner_report(kf_tuner *tuner, const kf_tune_point *point, double score);

#endif
