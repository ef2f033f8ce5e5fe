/* The tuner: reads tunables from a source and searches their values. Pure except for the time
 * budget; seeded and resumable.
 *
 *   // kforge: tune BLOCK_SIZE 64 128 256 512
 *   // kforge: require BLOCK_X * BLOCK_Y <= 1024
 *   // kforge: flags -maxrregcount=64 | --use_fast_math | (empty alternative: no flag)
 *   #ifndef BLOCK_SIZE
 *   #define BLOCK_SIZE 256
 *   #endif
 *
 * A declaration is a line comment on a line of its own. Inside a string or a block comment it does
 * not count. #ifndef must guard a tunable's #define, so that -D takes effect. A default that is not
 * among the values becomes one of them. Constraints use the tunables' names. Without an empty
 * alternative the first one of a `flags` line is the default. The tuner checks the shape of flags.
 * The judge decides which are allowed.
 *
 * A space of at most `exhaustive` points is enumerated: the source's defaults first, then a seeded
 * random order. Then the search continues along the flags that the caller added
 * (kf_tune_space_add_flags). A larger space is searched by iterated local search (Lourenço, Martin,
 * Stützle 2003) with restarts. The state of the search depends only on the seed and on the order of
 * points handed out and reported. So a new tuner that gets a stored history (kf_tuner_handed_out,
 * kf_tuner_report) continues exactly. Many points may be outstanding. A point without a report
 * counts as failed once KF_TUNER_PATIENCE later points have been reported.
 */
#ifndef BLOCK_SIZE
*#define BLOCK_SIZE 256 * #endif **Declarations are line comments of their own; in a string or a block comment they are none. A
 * tunable's #define must be guarded by #ifndef, so that -D takes effect; a default that is not
 * among the values becomes one of them. Constraints use the tunables' names. Without an empty
 * alternative the first one of a `flags` line is the default. Flags are checked for shape here;
*which are allowed is the judge's rule. **A space of at most `exhaustive` points is
    enumerated(the source's defaults first, then in a *seeded random order) and
    then searched along the flags that the caller added *(kf_tune_space_add_flags);
a larger one is searched by iterated local search(Lourenço, Martin, *Stützle 2003) with restarts
        .The search's state depends only on the seed, and on what was handed *out and reported in
    that order : telling a new tuner a stored
                 history(kf_tuner_handed_out,
                         *kf_tuner_report) resumes the search exactly.Many may be outstanding
        .A point that is never *reported counts as failed once
                 KF_TUNER_PATIENCE others have been reported after it was handed *out.* /
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
#define KF_MAX_TUNE_AXES (KF_MAX_TUNABLES + 1)  /* tunables and `flags` lines together */
#define KF_MAX_TUNE_FLAGS (KF_MAX_TUNABLES + 8) /* compiler flags of one point */
#define KF_TUNER_PATIENCE 32

    typedef struct kf_tunable {
    char name[64];
    int64_t values[KF_MAX_TUNABLE_VALUES];
    int count;
    int initial; /* index of the #define's default; 0 when that is no integer constant expression */
} kf_tunable;

typedef struct kf_tune_space kf_tune_space;
typedef struct kf_tuner kf_tuner;

/* Reads the declarations. A source without any gives a space of one point. Errors name the line. */
kf_tune_space *kf_tune_space_read(const char *source, kf_error *error);
void kf_tune_space_free(kf_tune_space *space);
KF_DEFINE_AUTO(kf_tune_space, kf_tune_space_free)
int kf_tune_space_axes(const kf_tune_space *space);
/* Another axis of compiler flags, written as behind `flags`; for axes that the caller adds to every
 * source of a device. Such late axes come after the source's own: a small space is enumerated
 * without them, then they are varied at the best point found; in a large one they are the last
 * neighbours to be looked at, and restarts keep the best's. An axis that shares a flag's name
 * ("-maxrregcount") with what the source declares itself is left out. */
bool kf_tune_space_add_flags(kf_tune_space *space, const char *alternatives, kf_error *error);
/* Points that satisfy the constraints; counted exactly up to about 1,000,000 (independent groups of
 * tunables each, so products may be larger), then an estimate by sampling (*exact = false). */
double kf_tune_space_size(const kf_tune_space *space, bool *exact);

/* A point is one index per axis; axes beyond the tunables are flag alternatives. Unused indices are
 * 0. */
typedef struct kf_tune_point {
    uint8_t index[KF_MAX_TUNE_AXES];
} kf_tune_point;

/* The source's own defaults, or the nearest point that satisfies the constraints. */
void kf_tune_point_default(const kf_tune_space *space, kf_tune_point *point);
/* True when every index is in range and every constraint holds. */
bool kf_tune_point_valid(const kf_tune_space *space, const kf_tune_point *point);

/* Compiler flags of a point ("-DBLOCK_SIZE=128", …): count, each malloc'd into flags[]; at most
 * KF_MAX_TUNE_FLAGS. -1 on failure, and then flags[] holds nothing to free. */
int kf_tune_point_flags(const kf_tune_space *space, const kf_tune_point *point, char **flags,
                        kf_error *error);
/* "BLOCK_SIZE=128 UNROLL=4 [-maxrregcount=64]" for people and for the store; cut when `size` is too
 * small. Late axes are left out when all of them are at their defaults. */
void kf_tune_point_describe(const kf_tune_space *space, const kf_tune_point *point, char *text,
                            size_t size);
/* The reverse, for resuming from stored text: every axis exactly once, in order, but for late ones
 * that were left out; values must be among the declared. */
bool kf_tune_point_parse(const kf_tune_space *space, const char *text, kf_tune_point *point,
                         kf_error *error);
/* The source that the space was read from with the tunables' #defines set to the point's values;
 * malloc'd. Flags are not part of it. */
char *kf_tune_point_apply(const kf_tune_space *space, const kf_tune_point *point,
                          const char *source, kf_error *error);

/* Borrows the space, which must outlive the tuner. NULL only when out of memory. */
kf_tuner *kf_tuner_new(const kf_tune_space *space, uint64_t seed, size_t exhaustive);
void kf_tuner_free(kf_tuner *tuner);
KF_DEFINE_AUTO(kf_tuner, kf_tuner_free)
/* The next point worth measuring; false when the space is exhausted, the search has converged, or
 * nothing sensible is left before outstanding points are reported (a report can make it true
 * again). Never the same point twice, never one already reported. */
bool kf_tuner_next(kf_tuner *tuner, kf_tune_point *point);
/* As if kf_tuner_next had given this point now: for telling a new tuner a stored history of many at
 * a time. False: it was handed out before. */
bool kf_tuner_handed_out(kf_tuner *tuner, const kf_tune_point *point);
/* Reports a score (higher is better; NaN: failed to build or wrong). Points may be reported in any
 * order, also such as this tuner never handed out; the first report of a point counts. */
void kf_tuner_report(kf_tuner *tuner, const kf_tune_point *point, double score);

#endif
