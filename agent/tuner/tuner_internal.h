/* What the tuner's files share: the space (tuner_space.c), walking it (tuner_solve.c),
 * searching it (tuner.c). */
#ifndef KFORGE_AGENT_TUNER_INTERNAL_H
#define KFORGE_AGENT_TUNER_INTERNAL_H

#include "tuner.h"

/* An axis of compiler flags: alternatives of up to 8 flags each. */
typedef struct kf_flag_axis {
    /* flags separated by one space; "": no flag */
    char *alternatives[KF_MAX_TUNABLE_VALUES];
    int count, initial;
    /* number of flags in the longest alternative */
    int most;
} kf_flag_axis;

typedef struct kf_constraint {
    kf_expression *expression;
    int line;
    /* bits of the tunables in it */
    uint32_t axes;
} kf_constraint;

struct kf_tune_space {
    kf_tunable tunables[KF_MAX_TUNABLES];
    int lines[KF_MAX_TUNABLES]; /* of the declarations */
    /* A guarded #define was found. */
    bool defined[KF_MAX_TUNABLES];
    /* the #define's value in the source: offset, bytes */
    size_t value_at[KF_MAX_TUNABLES], value_size[KF_MAX_TUNABLES];
    int tunable_count;
    kf_flag_axis flags[KF_MAX_TUNE_AXES];
    int flag_count;
    /* The last `late_count` of them were added by the caller. */
    int late_count;
    kf_constraint constraints[KF_MAX_CONSTRAINTS];
    int constraint_count;
    size_t source_size;
    /* the defaults, or the nearest point that satisfies the constraints; tunables only */
    kf_tune_point first;
};

/* ---- axes, whatever their kind --------------------------------------------------------------- */
int kf_tune_axis_size(const kf_tune_space *space, int axis);
int kf_tune_axis_initial(const kf_tune_space *space, int axis);
/* Returns the first late axis, or the number of axes without one. */
int kf_tune_first_late(const kf_tune_space *space);

/* ---- random numbers: SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", OOPSLA 2014) ---- */
uint64_t kf_tune_random(uint64_t *state);
uint32_t kf_tune_below(uint64_t *state, uint32_t bound); /* uniform in [0, bound), bound > 0 */

/* ---- walking the space ----------------------------------------------------------------------- */

/* True if the constraint holds. A constraint that cannot be evaluated (division by zero,
 * overflow) does not hold. */
bool kf_constraint_holds(const kf_tune_space *space, const kf_constraint *constraint,
                         const kf_tune_point *point);

typedef enum kf_solve_result { KF_SOLVE_FOUND, KF_SOLVE_NONE, KF_SOLVE_GAVE_UP } kf_solve_result;

/* Fills the axes in `axes` (bits) of *point so that those of the first `constraints`
 * constraints hold that contain no other axis. Each axis tries its values from the one in
 * *point outwards, or in random order if `random` is not NULL. *budget limits and counts down
 * the constraints evaluated and the values tried, since a source may declare constraints that
 * are hard to satisfy. */
kf_solve_result kf_tune_solve(const kf_tune_space *space, uint32_t axes, int constraints,
                              uint64_t *random, kf_tune_point *point, long *budget);
/* Splits the tunables into groups that share no constraint; returns their number. */
int kf_tune_groups(const kf_tune_space *space, uint32_t groups[KF_MAX_TUNABLES]);
/* Finds a random point that satisfies the constraints: uniform in each group by rejection if
 * that is quick, else by a randomised walk. Late axes of *point stay. False without one. */
bool kf_tune_random_point(const kf_tune_space *space, uint64_t *random, kf_tune_point *point);
/* Returns all *count points that satisfy the constraints, with late axes at their defaults,
 * malloc'd. NULL if there are more than `limit`, or without memory. */
kf_tune_point *kf_tune_enumerate(const kf_tune_space *space, size_t limit, size_t *count);

#endif
