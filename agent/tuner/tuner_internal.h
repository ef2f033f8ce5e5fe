/* What the tuner's files share: the space (tuner_space.c), walking it (tuner_solve.c), searching it
 * (tuner.c). Internal to agent/. */
#ifndef KFORGE_AGENT_TUNER_INTERNAL_H
#define KFORGE_AGENT_TUNER_INTERNAL_H

#include "tuner.h"

/* One compiler-flag axis: alternatives of up to 8 flags each. */
typedef struct kf_flag_axis {
    char *alternatives[KF_MAX_TUNABLE_VALUES]; /* flags separated by one space; "" none */
    int count, initial;
    int most; /* flags in the longest alternative */
} kf_flag_axis;

typedef struct kf_constraint {
    kf_expression *expression;
    int line;
    uint32_t axes; /* bits of the tunables it names */
} kf_constraint;

struct kf_tune_space {
    kf_tunable tunables[KF_MAX_TUNABLES];
    int lines[KF_MAX_TUNABLES];    /* of the declarations */
    bool defined[KF_MAX_TUNABLES]; /* a guarded #define was found */
    /* the #define's value in the source: offset, bytes */
    size_t value_at[KF_MAX_TUNABLES], value_size[KF_MAX_TUNABLES];
    int tunable_count;
    kf_flag_axis flags[KF_MAX_TUNE_AXES];
    int flag_count;
    int late_count; /* the last of them: axes that the caller added */
    kf_constraint constraints[KF_MAX_CONSTRAINTS];
    int constraint_count;
    size_t source_size;
    /* the defaults, or the nearest point that satisfies the constraints; tunables only */
    kf_tune_point first;
};

/* ---- axes, whatever their kind --------------------------------------------------------------- */
int kf_tune_axis_size(const kf_tune_space *space, int axis);
int kf_tune_axis_initial(const kf_tune_space *space, int axis);
/* the first late axis; the number of axes when there is none */
int kf_tune_first_late(const kf_tune_space *space);

/* ---- random numbers: SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", OOPSLA 2014) ---- */
uint64_t kf_tune_random(uint64_t *state);
uint32_t kf_tune_below(uint64_t *state, uint32_t bound); /* uniform in [0, bound), bound > 0 */

/* ---- walking the space ----------------------------------------------------------------------- */

/* Does the constraint hold? One that can't be evaluated there (division by zero, overflow) does
 * not. */
bool kf_constraint_holds(const kf_tune_space *space, const kf_constraint *constraint,
                         const kf_tune_point *point);

typedef enum kf_solve_result { KF_SOLVE_FOUND, KF_SOLVE_NONE, KF_SOLVE_GAVE_UP } kf_solve_result;

/* Fills the axes in `axes` (bits) of *point so that the first `constraints` constraints that lie
 * within them hold. Every axis tries its values from the one in *point outwards, or in random order
 * when `random` is not NULL. *budget bounds and counts down the constraints evaluated and values
 * tried: a source is not trusted to have constraints that are easy to satisfy. */
kf_solve_result kf_tune_solve(const kf_tune_space *space, uint32_t axes, int constraints,
                              uint64_t *random, kf_tune_point *point, long *budget);
/* Splits the tunables into groups that share no constraint; returns their number. */
int kf_tune_groups(const kf_tune_space *space, uint32_t groups[KF_MAX_TUNABLES]);
/* A random admissible point: uniform per group by rejection where that is quick, else by a
 * randomised walk. Late axes stay as they are in *point. False when none was found. */
bool kf_tune_random_point(const kf_tune_space *space, uint64_t *random, kf_tune_point *point);
/* All admissible points with late axes at their defaults, malloc'd, *count of them; NULL when there
 * are more than `limit` or memory is short. */
kf_tune_point *kf_tune_enumerate(const kf_tune_space *space, size_t limit, size_t *count);

#endif
