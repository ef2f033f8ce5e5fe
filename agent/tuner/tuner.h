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
 * counts as failed once KF_TUNER_PATIENCE other points have been reported since.
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
/* tunables and `flags` lines together */
#define KF_MAX_TUNE_AXES (KF_MAX_TUNABLES + 1)
/* most compiler flags of one point */
#define KF_MAX_TUNE_FLAGS (KF_MAX_TUNABLES + 8)
#define KF_TUNER_PATIENCE 32

typedef struct kf_tunable {
    char name[64];
    int64_t values[KF_MAX_TUNABLE_VALUES];
    int count;
    /* index of the #define's default; 0 if that is no integer constant expression */
    int initial;
} kf_tunable;

typedef struct kf_tune_space kf_tune_space;
typedef struct kf_tuner kf_tuner;

/* Reads the declarations of a source. Without declarations the space has one point. Errors name
 * the line. */
kf_tune_space *kf_tune_space_read(const char *source, kf_error *error);
void kf_tune_space_free(kf_tune_space *space);
KF_DEFINE_AUTO(kf_tune_space, kf_tune_space_free)
int kf_tune_space_axes(const kf_tune_space *space);
/* Adds an axis of compiler flags, written as after `flags`, for axes that the caller adds to
 * each source of a device. Late axes come after the source's own. A small space is enumerated
 * without them, and then they are varied at the best point. In a large space they are the last
 * neighbours, and restarts keep the best's. An axis that shares a flag's name ("-maxrregcount")
 * with the source's own flags is left out. */
bool kf_tune_space_add_flags(kf_tune_space *space, const char *alternatives, kf_error *error);
/* Returns the number of points that satisfy the constraints. It is exact up to about 1,000,000
 * points in each independent group of tunables, and else an estimate by sampling (*exact =
 * false). */
double kf_tune_space_size(const kf_tune_space *space, bool *exact);

/* One index for each axis. Axes after the tunables are flag alternatives. Unused indices are 0. */
typedef struct kf_tune_point {
    uint8_t index[KF_MAX_TUNE_AXES];
} kf_tune_point;

/* Fills in the source's defaults, or the nearest point that satisfies the constraints. */
void kf_tune_point_default(const kf_tune_space *space, kf_tune_point *point);
/* True if every index is in range and every constraint holds. */
bool kf_tune_point_valid(const kf_tune_space *space, const kf_tune_point *point);

/* Makes the compiler flags of a point ("-DBLOCK_SIZE=128", …), each malloc'd in flags[], and
 * returns their number, at most KF_MAX_TUNE_FLAGS. -1 on failure; then flags[] holds nothing to
 * free. */
int kf_tune_point_flags(const kf_tune_space *space, const kf_tune_point *point, char **flags,
                        kf_error *error);
/* Describes a point for people and for the store: "BLOCK_SIZE=128 UNROLL=4 [-maxrregcount=64]".
 * The text is cut if `size` is too small. Late axes are left out if all of them have their
 * defaults. */
void kf_tune_point_describe(const kf_tune_space *space, const kf_tune_point *point, char *text,
                            size_t size);
/* Reads such a text. It must have every axis exactly once and in order, except for omitted late
 * axes. Values must be declared. */
bool kf_tune_point_parse(const kf_tune_space *space, const char *text, kf_tune_point *point,
                         kf_error *error);
/* Returns the source with the tunables' #defines set to the point's values, malloc'd. It does
 * not contain the flags. `source` must be the one that the space was read from. */
char *kf_tune_point_apply(const kf_tune_space *space, const kf_tune_point *point,
                          const char *source, kf_error *error);

/* Makes a tuner. It borrows the space, which must outlive it. NULL only without memory. */
kf_tuner *kf_tuner_new(const kf_tune_space *space, uint64_t seed, size_t exhaustive);
void kf_tuner_free(kf_tuner *tuner);
KF_DEFINE_AUTO(kf_tuner, kf_tuner_free)
/* Finds the next point to measure. False if the space is exhausted, the search has converged,
 * or nothing useful is left until outstanding points are reported. A report may change that. It
 * never returns a point twice, or a reported one. */
bool kf_tuner_next(kf_tuner *tuner, kf_tune_point *point);
/* Notes a point as handed out, as kf_tuner_next does: for a stored history of concurrent
 * points. False if it was handed out before. */
bool kf_tuner_handed_out(kf_tuner *tuner, const kf_tune_point *point);
/* Reports a score (higher is better; NaN: failed to build, or wrong). Points may be reported in
 * any order, and also points that were never handed out. The first report of a point counts. */
void kf_tuner_report(kf_tuner *tuner, const kf_tune_point *point, double score);

#endif
