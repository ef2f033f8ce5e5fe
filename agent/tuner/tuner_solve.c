/* Walks a tune space under its constraints.
 *
 * Tunables that share no constraint, directly or through others, form independent groups: their
 * counts multiply, and their solutions combine. Within a group the walk assigns one tunable
 * after the other, in an order that completes constraints early. It tests a constraint as soon
 * as its last tunable is bound, and skips everything below a failure. The size of a larger
 * space is estimated by random descents (Knuth: "Estimating the efficiency of backtrack
 * programs", Mathematics of Computation 29, 1975). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tuner_internal.h"

/* most points of a group to count one by one */
#define COUNT_LIMIT 1000000
/* most steps to count a space before the rest is estimated */
#define COUNT_BUDGET 4000000
/* most steps to find one random point */
#define RANDOM_BUDGET 100000
/* random descents for an estimate */
#define DESCENTS 4000

uint64_t kf_tune_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t kf_tune_below(uint64_t *state, uint32_t bound)
{
    /* Multiply-shift; the bias is below 2^-26 for the bounds used here. */
    return (uint32_t)(((kf_tune_random(state) >> 32) * bound) >> 32);
}

int kf_tune_axis_size(const kf_tune_space *space, int axis)
{
    return axis < space->tunable_count ? space->tunables[axis].count
                                       : space->flags[axis - space->tunable_count].count;
}

int kf_tune_axis_initial(const kf_tune_space *space, int axis)
{
    return axis < space->tunable_count ? space->tunables[axis].initial
                                       : space->flags[axis - space->tunable_count].initial;
}

int kf_tune_first_late(const kf_tune_space *space)
{
    return kf_tune_space_axes(space) - space->late_count;
}

bool kf_constraint_holds(const kf_tune_space *space, const kf_constraint *constraint,
                         const kf_tune_point *point)
{
    kf_binding bindings[KF_MAX_TUNABLES];
    size_t count = 0;
    for (int i = 0; i < space->tunable_count; i++)
        if (constraint->axes >> i & 1)
            bindings[count++] =
                (kf_binding){space->tunables[i].name, space->tunables[i].values[point->index[i]]};
    kf_value value;
    return kf_expression_evaluate(constraint->expression, bindings, count, &value, NULL) &&
           value.number != 0;
}

bool kf_tune_point_valid(const kf_tune_space *space, const kf_tune_point *point)
{
    int axes = kf_tune_space_axes(space);
    for (int i = 0; i < KF_MAX_TUNE_AXES; i++)
        if (i < axes ? point->index[i] >= kf_tune_axis_size(space, i) : point->index[i] != 0)
            return false;
    for (int i = 0; i < space->constraint_count; i++)
        if (!kf_constraint_holds(space, &space->constraints[i], point)) return false;
    return true;
}

int kf_tune_groups(const kf_tune_space *space, uint32_t groups[KF_MAX_TUNABLES])
{
    int count = 0;
    uint32_t done = 0;
    for (int i = 0; i < space->tunable_count; i++) {
        if (done >> i & 1) continue;
        uint32_t group = 1u << i;
        for (bool grown = true; grown;) {
            grown = false;
            for (int k = 0; k < space->constraint_count; k++) {
                uint32_t axes = space->constraints[k].axes;
                if (!(axes & group) || !(axes & ~group)) continue;
                group |= axes;
                grown = true;
            }
        }
        groups[count++] = group;
        done |= group;
    }
    return count;
}

static int bits(uint32_t set)
{
    return __builtin_popcount(set);
}

/* ---- one walk -------------------------------------------------------------------------------- */

typedef struct walk {
    const kf_tune_space *space;
    int order[KF_MAX_TUNABLES]; /* axes in the order of assignment */
    int depth_count;
    /* bits of the constraints that are complete at each depth */
    uint32_t checks[KF_MAX_TUNABLES];
    kf_tune_point point;
    /* steps left: values tried and constraints evaluated */
    long *budget;
    /* NULL: values from the point's own outwards */
    uint64_t *random;
    /* False stops the walk. */
    bool (*found)(struct walk *walk);
    /* for `found` */
    double count;
    kf_tune_point *points;
    size_t limit;
} walk;

/* Orders the axes so that the constraint with the fewest unbound tunables is completed next. */
static void walk_plan(walk *w, uint32_t axes, int constraints)
{
    uint32_t bound = 0, pending = 0;
    for (int k = 0; k < constraints; k++)
        if (!(w->space->constraints[k].axes & ~axes)) pending |= 1u << k;
    w->depth_count = 0;
    memset(w->checks, 0, sizeof w->checks);
    while (bound != axes) {
        uint32_t next = 0;
        for (int k = 0; k < constraints; k++) {
            uint32_t open = w->space->constraints[k].axes & ~bound;
            if ((pending >> k & 1) && open && (!next || bits(open) < bits(next))) next = open;
        }
        if (!next) next = axes & ~bound;
        int axis = __builtin_ctz(next);
        bound |= 1u << axis;
        w->order[w->depth_count] = axis;
        for (int k = 0; k < constraints; k++) {
            if (!(pending >> k & 1) || (w->space->constraints[k].axes & ~bound)) continue;
            w->checks[w->depth_count] |= 1u << k;
            pending &= ~(1u << k);
        }
        w->depth_count++;
    }
}

static bool checks_hold(const walk *w, int depth)
{
    *w->budget -= 1 + bits(w->checks[depth]);
    for (uint32_t left = w->checks[depth]; left; left &= left - 1)
        if (!kf_constraint_holds(w->space, &w->space->constraints[__builtin_ctz(left)], &w->point))
            return false;
    return true;
}

/* Fills in the order in which an axis tries its values. */
static void value_order(walk *w, int size, int start, uint8_t *order)
{
    int count = 0;
    for (int distance = 0; count < size; distance++) {
        if (start + distance < size) order[count++] = (uint8_t)(start + distance);
        if (distance && start - distance >= 0) order[count++] = (uint8_t)(start - distance);
    }
    for (int i = size - 1; w->random && i > 0; i--) {
        int j = (int)kf_tune_below(w->random, (uint32_t)i + 1);
        uint8_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* Walks from this depth on. False: `found` or the limit stopped it. */
static bool walk_from(walk *w, int depth)
{
    if (depth == w->depth_count) return w->found(w);
    int axis = w->order[depth], start = w->point.index[axis];
    int size = w->space->tunables[axis].count;
    uint8_t order[KF_MAX_TUNABLE_VALUES + 1];
    value_order(w, size, start < size ? start : 0, order);
    for (int i = 0; i < size; i++) {
        if (*w->budget <= 0) return false;
        w->point.index[axis] = order[i];
        if (checks_hold(w, depth) && !walk_from(w, depth + 1)) return false;
    }
    w->point.index[axis] = (uint8_t)start;
    return true;
}

static bool stop_at_first(walk *w)
{
    w->count = 1;
    return false;
}

kf_solve_result kf_tune_solve(const kf_tune_space *space, uint32_t axes, int constraints,
                              uint64_t *random, kf_tune_point *point, long *budget)
{
    walk w = {.space = space,
              .point = *point,
              .random = random,
              .found = stop_at_first,
              .budget = budget};
    walk_plan(&w, axes, constraints);
    if (walk_from(&w, 0)) return KF_SOLVE_NONE;
    if (!w.count) return KF_SOLVE_GAVE_UP;
    *point = w.point;
    return KF_SOLVE_FOUND;
}

void kf_tune_point_default(const kf_tune_space *space, kf_tune_point *point)
{
    *point = space->first;
    for (int i = space->tunable_count; i < kf_tune_space_axes(space); i++)
        point->index[i] = (uint8_t)kf_tune_axis_initial(space, i);
}

/* ---- counting -------------------------------------------------------------------------------- */

static bool count_one(walk *w)
{
    return ++w->count < COUNT_LIMIT;
}

/* Returns Knuth's estimate from one random descent: the product of the numbers of possible
 * values on its way. */
static double descend(walk *w)
{
    double weight = 1;
    for (int depth = 0; depth < w->depth_count; depth++) {
        int axis = w->order[depth], admissible = 0;
        uint8_t values[KF_MAX_TUNABLE_VALUES];
        for (int i = 0; i < w->space->tunables[axis].count; i++) {
            w->point.index[axis] = (uint8_t)i;
            if (checks_hold(w, depth)) values[admissible++] = (uint8_t)i;
        }
        if (!admissible) return 0;
        weight *= admissible;
        w->point.index[axis] = values[kf_tune_below(w->random, (uint32_t)admissible)];
    }
    return weight;
}

static double count_group(const kf_tune_space *space, uint32_t group, long *budget, bool *exact)
{
    /* A tunable without constraints needs no walk. */
    if (bits(group) == 1) {
        bool constrained = false;
        for (int k = 0; k < space->constraint_count; k++)
            constrained |= (space->constraints[k].axes & group) != 0;
        if (!constrained) return space->tunables[__builtin_ctz(group)].count;
    }
    walk w = {.space = space, .found = count_one, .budget = budget};
    walk_plan(&w, group, space->constraint_count);
    if (walk_from(&w, 0)) return w.count;
    *exact = false;
    uint64_t random = 1;
    /* The number of descents bounds the steps. */
    long unbounded = LONG_MAX;
    w.random = &random;
    w.budget = &unbounded;
    double sum = 0;
    for (int i = 0; i < DESCENTS; i++) sum += descend(&w);
    double estimate = sum / DESCENTS;
    return estimate > w.count ? estimate : w.count;
}

/* Returns the size without the late axes. */
static double early_size(const kf_tune_space *space, bool *exact)
{
    uint32_t groups[KF_MAX_TUNABLES];
    int count = kf_tune_groups(space, groups);
    double size = 1;
    bool known = true;
    long budget = COUNT_BUDGET;
    for (int i = 0; i < count; i++) size *= count_group(space, groups[i], &budget, &known);
    for (int i = 0; i < space->flag_count - space->late_count; i++) size *= space->flags[i].count;
    *exact = known;
    return size;
}

double kf_tune_space_size(const kf_tune_space *space, bool *exact)
{
    bool known;
    double size = early_size(space, &known);
    for (int i = space->flag_count - space->late_count; i < space->flag_count; i++)
        size *= space->flags[i].count;
    if (exact) *exact = known;
    return size;
}

/* ---- random points and all points ------------------------------------------------------------ */

static bool group_holds(const kf_tune_space *space, uint32_t group, const kf_tune_point *point)
{
    for (int k = 0; k < space->constraint_count; k++)
        if ((space->constraints[k].axes & group) &&
            !kf_constraint_holds(space, &space->constraints[k], point))
            return false;
    return true;
}

bool kf_tune_random_point(const kf_tune_space *space, uint64_t *random, kf_tune_point *point)
{
    uint32_t groups[KF_MAX_TUNABLES];
    int count = kf_tune_groups(space, groups);
    long budget = RANDOM_BUDGET;
    for (int i = 0; i < kf_tune_first_late(space); i++)
        point->index[i] = (uint8_t)kf_tune_below(random, (uint32_t)kf_tune_axis_size(space, i));
    for (int i = 0; i < count; i++) {
        bool holds = group_holds(space, groups[i], point);
        for (int trial = 0; !holds && trial < 200; trial++) {
            for (uint32_t left = groups[i]; left; left &= left - 1) {
                int axis = __builtin_ctz(left);
                point->index[axis] =
                    (uint8_t)kf_tune_below(random, (uint32_t)space->tunables[axis].count);
            }
            holds = group_holds(space, groups[i], point);
        }
        if (!holds && kf_tune_solve(space, groups[i], space->constraint_count, random, point,
                                    &budget) != KF_SOLVE_FOUND)
            return false;
    }
    return true;
}

static bool keep_one(walk *w)
{
    if (w->count >= (double)w->limit) return false;
    w->points[(size_t)w->count++] = w->point;
    return true;
}

kf_tune_point *kf_tune_enumerate(const kf_tune_space *space, size_t limit, size_t *count)
{
    bool exact;
    double size = early_size(space, &exact);
    if (!exact || size > (double)limit || size > COUNT_LIMIT) return NULL;
    kf_tune_point *points = malloc(((size_t)size + 1) * sizeof *points);
    if (!points) return NULL;
    long budget = COUNT_BUDGET;
    walk w = {.space = space,
              .budget = &budget,
              .found = keep_one,
              .points = points,
              .limit = (size_t)size};
    /* It sets the late axes. */
    kf_tune_point_default(space, &w.point);
    walk_plan(&w, (uint32_t)((1ull << space->tunable_count) - 1), space->constraint_count);
    /* Groups that are small alone can be slow to walk together. */
    if (!walk_from(&w, 0)) {
        free(points);
        return NULL;
    }
    size_t total = (size_t)w.count;
    /* Multiply by the alternatives of each flag axis, in place from the end. */
    for (int axis = 0; axis < space->flag_count - space->late_count; axis++) {
        int alternatives = space->flags[axis].count;
        for (size_t i = total; i-- > 0;)
            for (int a = 0; a < alternatives; a++) {
                kf_tune_point point = points[i];
                point.index[space->tunable_count + axis] = (uint8_t)a;
                points[i * (size_t)alternatives + (size_t)a] = point;
            }
        total *= (size_t)alternatives;
    }
    *count = total;
    return points;
}
