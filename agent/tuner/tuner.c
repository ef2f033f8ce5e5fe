/* Searches a tune space.
 *
 * A small space is enumerated. Then the machine below starts at the best point, with neighbours
 * along the late axes only, and ends at the first local optimum. A large space is searched by
 * iterated local search (Lourenço, Martin, Stützle: "Iterated Local Search", in Handbook of
 * Metaheuristics, 2003): first-improvement descent over one-axis changes, nearest values first. At
 * a local optimum a few axes are perturbed, and the next optimum is accepted if it is better. After
 * several perturbations without success the search restarts elsewhere.
 *
 * The search is a state machine. Each report moves it on as far as possible, until it needs unknown
 * scores. kf_tuner_next hands out those points: the neighbours of the current point, in the
 * machine's order of preference. So its state is a function of the seed, the reports, and the
 * points handed out before each. A new tuner that gets a stored history passes through the same
 * states without measuring anything. A better neighbour is accepted as soon as it is reported, so
 * many may be measured at once. When all neighbours are outstanding, kf_tuner_next lets a copy of
 * the machine run on as if they had failed, and hands out the copy's points.
 */
#include "tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner_internal.h"

/* perturbations without success before a restart */
#define PERTURBATIONS 5
/* restarts without success before the search counts as converged */
#define RESTARTS 6
/* most neighbours of one point */
#define NEIGHBOURS 1024
/* most machine steps in one call, which bounds a search among known points */
#define STEP_LIMIT 100000

/* ---- the table of points --------------------------------------------------------------------- */

typedef enum entry_state { ENTRY_FREE, ENTRY_OUTSTANDING, ENTRY_REPORTED } entry_state;

typedef struct entry {
    kf_tune_point point;
    uint8_t state;
    /* number of reports when it was handed out */
    uint32_t handed_out_at;
    /* epoch of the machine at that time */
    uint32_t epoch;
    double score;
} entry;

typedef enum phase { PHASE_START, PHASE_SWEEP } phase;

struct kf_tuner {
    const kf_tune_space *space;
    entry *table; /* open addressing, power of two */
    size_t capacity, used;
    uint32_t reports;
    /* enumeration */
    kf_tune_point *points; /* NULL: local search */
    size_t count, cursor;
    bool enumerating;
    /* local search */
    uint64_t random;
    phase phase;
    /* number of starts: perturbations and restarts */
    uint32_t epoch;
    kf_tune_point current, home, best;
    double current_score, home_score, best_score;
    bool have_home;
    /* without success, in a row */
    int perturbations, restarts;
    /* of the current point, in the order of preference */
    kf_tune_point *neighbours;
    size_t neighbour_count;
    /* This is a copy that looks ahead. */
    bool speculating;
    /* The early axes were enumerated. */
    bool late_only;
};

static uint64_t hash_point(const kf_tune_point *point)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (int i = 0; i < KF_MAX_TUNE_AXES; i++) hash = (hash ^ point->index[i]) * 1099511628211u;
    return hash ^ (hash >> 29);
}

/* Returns the entry of a point, or the free slot for it. NULL while there is no table. */
static entry *find_entry(const kf_tuner *tuner, const kf_tune_point *point)
{
    if (!tuner->capacity) return NULL;
    for (size_t i = hash_point(point);; i++) {
        entry *e = &tuner->table[i & (tuner->capacity - 1)];
        if (e->state == ENTRY_FREE || memcmp(&e->point, point, sizeof *point) == 0) return e;
    }
}

static bool grow_table(kf_tuner *tuner)
{
    if (tuner->used * 3 < tuner->capacity * 2) return true;
    kf_tuner larger = *tuner;
    larger.capacity = tuner->capacity ? tuner->capacity * 2 : 64;
    larger.table = calloc(larger.capacity, sizeof *larger.table);
    if (!larger.table) return false;
    for (size_t i = 0; i < tuner->capacity; i++)
        if (tuner->table[i].state != ENTRY_FREE)
            *find_entry(&larger, &tuner->table[i].point) = tuner->table[i];
    free(tuner->table);
    tuner->table = larger.table;
    tuner->capacity = larger.capacity;
    return true;
}

static entry_state state_of(const kf_tuner *tuner, const kf_tune_point *point)
{
    const entry *e = find_entry(tuner, point);
    return e ? (entry_state)e->state : ENTRY_FREE;
}

/* Hands out a point. False if it was handed out before, or without memory. */
static bool hand_out(kf_tuner *tuner, const kf_tune_point *point, kf_tune_point *out)
{
    if (state_of(tuner, point) != ENTRY_FREE || !grow_table(tuner)) return false;
    *find_entry(tuner, point) = (entry){.point = *point,
                                        .state = ENTRY_OUTSTANDING,
                                        .handed_out_at = tuner->reports,
                                        .epoch = tuner->epoch};
    tuner->used++;
    *out = *point;
    return true;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static bool better(double a, double b)
{
    return !isnan(a) && (isnan(b) || a > b);
}

/* True with *score if the point's score is known. An old point without a report counts as
 * failed. In a copy that looks ahead every outstanding point does. */
static bool known_score(const kf_tuner *tuner, const kf_tune_point *point, double *score)
{
    entry *e = find_entry(tuner, point);
    if (!e || e->state == ENTRY_FREE) return false;
    if (e->state == ENTRY_OUTSTANDING) {
        if (!tuner->speculating && tuner->reports - e->handed_out_at < KF_TUNER_PATIENCE)
            return false;
        *score = NAN;
        return true;
    }
    *score = e->score;
    return true;
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void add_neighbour(kf_tuner *tuner, const kf_tune_point *point)
{
    if (tuner->neighbour_count == NEIGHBOURS) return;
    for (size_t i = 0; i < tuner->neighbour_count; i++)
        if (memcmp(&tuner->neighbours[i], point, sizeof *point) == 0) return;
    tuner->neighbours[tuner->neighbour_count++] = *point;
}

/* Returns the tunables that share a broken constraint with `axis`. */
static uint32_t partners(const kf_tune_space *space, int axis, const kf_tune_point *point)
{
    uint32_t axes = 0;
    for (int k = 0; k < space->constraint_count; k++)
        if (!kf_constraint_holds(space, &space->constraints[k], point))
            axes |= space->constraints[k].axes;
    return axes & ~(1u << axis);
}

/* Turns a one-axis change that breaks a constraint (BLOCK_X * BLOCK_Y == 256) into two-axis
 * changes: with each partner, the nearest value that satisfies it. */
static void add_mended(kf_tuner *tuner, int axis, const kf_tune_point *broken)
{
    const kf_tune_space *space = tuner->space;
    for (uint32_t left = partners(space, axis, broken); left; left &= left - 1) {
        int other = __builtin_ctz(left), start = broken->index[other],
            size = space->tunables[other].count;
        bool mended = false;
        for (int distance = 1; distance < size && !mended; distance++)
            for (int sign = -1; sign <= 1 && !mended; sign += 2) {
                int value = start + sign * distance;
                if (value < 0 || value >= size) continue;
                kf_tune_point point = *broken;
                point.index[other] = (uint8_t)value;
                mended = kf_tune_point_valid(space, &point);
                if (mended) add_neighbour(tuner, &point);
            }
    }
}

static void shuffle_points(kf_tune_point *points, size_t count, uint64_t *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = kf_tune_below(random, (uint32_t)i);
        kf_tune_point swap = points[i - 1];
        points[i - 1] = points[j];
        points[j] = swap;
    }
}

/* Adds changes along the axes from `first` to before `last`, in rounds by distance of the
 * value, each round in random order. */
static void list_changes(kf_tuner *tuner, int first, int last)
{
    const kf_tune_space *space = tuner->space;
    for (int distance = 1; distance < KF_MAX_TUNABLE_VALUES; distance++) {
        size_t round = tuner->neighbour_count;
        for (int axis = first; axis < last; axis++)
            for (int sign = -1; sign <= 1; sign += 2) {
                int value = tuner->current.index[axis] + sign * distance;
                if (value < 0 || value >= kf_tune_axis_size(space, axis)) continue;
                kf_tune_point point = tuner->current;
                point.index[axis] = (uint8_t)value;
                if (kf_tune_point_valid(space, &point))
                    add_neighbour(tuner, &point);
                else
                    add_mended(tuner, axis, &point);
            }
        shuffle_points(tuner->neighbours + round, tuner->neighbour_count - round, &tuner->random);
    }
}

/* Adds all one-axis changes of the current point. */
static void list_neighbours(kf_tuner *tuner)
{
    int late = kf_tune_first_late(tuner->space);
    tuner->neighbour_count = 0;
    if (!tuner->late_only) list_changes(tuner, 0, late);
    list_changes(tuner, late, kf_tune_space_axes(tuner->space));
}

/* Returns a point with `strength` random axes changed that satisfies the constraints, or else a
 * random point. */
static kf_tune_point perturb(const kf_tuner *tuner, const kf_tune_point *from, int strength,
                             uint64_t *random)
{
    const kf_tune_space *space = tuner->space;
    uint32_t axes = (uint32_t)kf_tune_space_axes(space);
    for (int trial = 0; trial < 100; trial++) {
        kf_tune_point point = *from;
        for (int i = 0; i < strength; i++) {
            int axis = (int)kf_tune_below(random, axes);
            point.index[axis] =
                (uint8_t)kf_tune_below(random, (uint32_t)kf_tune_axis_size(space, axis));
        }
        if (memcmp(&point, from, sizeof point) != 0 && kf_tune_point_valid(space, &point))
            return point;
    }
    kf_tune_point point = *from;
    kf_tune_random_point(space, random, &point);
    return point;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void start_at(kf_tuner *tuner, kf_tune_point point)
{
    tuner->current = point;
    tuner->phase = PHASE_START;
    tuner->epoch++;
    list_neighbours(tuner);
}

static void move_to(kf_tuner *tuner, kf_tune_point point, double score)
{
    tuner->current = point;
    tuner->current_score = score;
    list_neighbours(tuner);
}

/* Restarts, in turn at a random point and at a strong perturbation of the best. */
static void restart(kf_tuner *tuner)
{
    tuner->have_home = false;
    tuner->perturbations = 0;
    int axes = kf_tune_space_axes(tuner->space);
    if (tuner->restarts++ % 2 || axes < 2) {
        start_at(tuner, perturb(tuner, &tuner->best, axes > 6 ? axes / 2 : 3, &tuner->random));
    } else {
        kf_tune_point point = tuner->best;
        kf_tune_random_point(tuner->space, &tuner->random, &point);
        start_at(tuner, point);
    }
}

static void at_local_optimum(kf_tuner *tuner)
{
    if (better(tuner->current_score, tuner->best_score)) {
        tuner->best = tuner->current;
        tuner->best_score = tuner->current_score;
        tuner->restarts = 0;
    }
    if (tuner->late_only) {
        tuner->restarts = RESTARTS;
        return;
    }
    if (!tuner->have_home || better(tuner->current_score, tuner->home_score)) {
        tuner->home = tuner->current;
        tuner->home_score = tuner->current_score;
        tuner->have_home = true;
        tuner->perturbations = 0;
    } else if (++tuner->perturbations >= PERTURBATIONS) {
        restart(tuner);
        return;
    }
    start_at(tuner, perturb(tuner, &tuner->home, 2 + (int)kf_tune_below(&tuner->random, 2),
                            &tuner->random));
}

/* Moves to the first neighbour that is known to be better. False without one; *complete if all
 * are known. */
static bool improve(kf_tuner *tuner, bool *complete)
{
    *complete = true;
    for (size_t i = 0; i < tuner->neighbour_count; i++) {
        double score;
        if (!known_score(tuner, &tuner->neighbours[i], &score)) {
            *complete = false;
        } else if (better(score, tuner->current_score)) {
            move_to(tuner, tuner->neighbours[i], score);
            return true;
        }
    }
    return false;
}

/* Moves on until a score is missing. False if the search has converged, or met only known
 * points within the step limit. */
static bool settle(kf_tuner *tuner)
{
    for (int step = 0; step < STEP_LIMIT && tuner->restarts < RESTARTS; step++) {
        bool complete;
        if (tuner->phase == PHASE_START) {
            if (!known_score(tuner, &tuner->current, &tuner->current_score)) return true;
            tuner->phase = PHASE_SWEEP;
        } else if (!improve(tuner, &complete)) {
            if (!complete) return true;
            at_local_optimum(tuner);
        }
    }
    return false;
}

/* Continues along the late axes from the best, once every enumerated point is known. */
static void leave_enumeration(kf_tuner *tuner)
{
    const kf_tune_point *best = NULL;
    double best_score = NAN, score;
    for (size_t i = 0; i < tuner->count; i++) {
        if (!known_score(tuner, &tuner->points[i], &score)) return;
        if (!better(score, best_score)) continue;
        best = &tuner->points[i];
        best_score = score;
    }
    tuner->enumerating = false;
    tuner->late_only = true;
    if (best)
        start_at(tuner, *best);
    else
        /* Flags are in no constraint. */
        tuner->restarts = RESTARTS;
}

void kf_tuner_report(kf_tuner *tuner, const kf_tune_point *point, double score)
{
    /* The point belongs to another space. */
    if (!kf_tune_point_valid(tuner->space, point)) return;
    entry_state state = state_of(tuner, point);
    if (state == ENTRY_REPORTED) return;
    if (state == ENTRY_FREE) {
        if (!grow_table(tuner)) return;
        tuner->used++;
    }
    entry *e = find_entry(tuner, point);
    bool same_start = state == ENTRY_OUTSTANDING && e->epoch == tuner->epoch;
    *e = (entry){.point = *point, .state = ENTRY_REPORTED, .score = score};
    tuner->reports++;
    if (tuner->enumerating) leave_enumeration(tuner);
    if (tuner->enumerating) return;
    /* A neighbour of an earlier step of this descent counts too. */
    if (same_start && tuner->phase == PHASE_SWEEP && better(score, tuner->current_score))
        move_to(tuner, *point, score);
    settle(tuner);
}

/* Returns the first point that the machine waits for and that is not outstanding, in its order
 * of preference. */
static bool next_wanted(const kf_tuner *tuner, kf_tune_point *point)
{
    if (state_of(tuner, &tuner->current) == ENTRY_FREE) {
        *point = tuner->current;
        return true;
    }
    for (size_t i = 0; i < tuner->neighbour_count; i++) {
        if (state_of(tuner, &tuner->neighbours[i]) != ENTRY_FREE) continue;
        *point = tuner->neighbours[i];
        return true;
    }
    return false;
}

/* Lets a copy go on as if all outstanding points had failed, since most do. Used when the
 * machine waits for outstanding points only. */
static bool look_ahead(const kf_tuner *tuner, kf_tune_point *wanted)
{
    kf_autofree kf_tune_point *neighbours = malloc(NEIGHBOURS * sizeof *neighbours);
    if (!neighbours) return false;
    memcpy(neighbours, tuner->neighbours, tuner->neighbour_count * sizeof *neighbours);
    kf_tuner copy = *tuner;
    copy.neighbours = neighbours;
    copy.speculating = true;
    return settle(&copy) && next_wanted(&copy, wanted);
}

static bool next_enumerated(kf_tuner *tuner, kf_tune_point *point)
{
    while (tuner->cursor < tuner->count)
        if (hand_out(tuner, &tuner->points[tuner->cursor++], point)) return true;
    return false;
}

bool kf_tuner_next(kf_tuner *tuner, kf_tune_point *point)
{
    if (tuner->enumerating) return next_enumerated(tuner, point);
    kf_tune_point wanted;
    if (!settle(tuner)) return false;
    return (next_wanted(tuner, &wanted) || look_ahead(tuner, &wanted)) &&
           hand_out(tuner, &wanted, point);
}

bool kf_tuner_handed_out(kf_tuner *tuner, const kf_tune_point *point)
{
    kf_tune_point out;
    return kf_tune_point_valid(tuner->space, point) && hand_out(tuner, point, &out);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void order_enumeration(kf_tuner *tuner, const kf_tune_point *first)
{
    for (size_t i = 0; i < tuner->count; i++) {
        if (memcmp(&tuner->points[i], first, sizeof *first) != 0) continue;
        tuner->points[i] = tuner->points[0];
        tuner->points[0] = *first;
        break;
    }
    if (tuner->count > 1) shuffle_points(tuner->points + 1, tuner->count - 1, &tuner->random);
}

kf_tuner *kf_tuner_new(const kf_tune_space *space, uint64_t seed, size_t exhaustive)
{
    kf_tuner *tuner = calloc(1, sizeof *tuner);
    if (!tuner) return NULL;
    tuner->space = space;
    tuner->random = seed;
    kf_tune_point first;
    kf_tune_point_default(space, &first);
    tuner->points = kf_tune_enumerate(space, exhaustive, &tuner->count);
    tuner->neighbours = malloc(NEIGHBOURS * sizeof *tuner->neighbours);
    if (!tuner->neighbours) {
        kf_tuner_free(tuner);
        return NULL;
    }
    tuner->best = first;
    tuner->best_score = NAN;
    tuner->enumerating = tuner->points != NULL;
    if (tuner->enumerating) {
        order_enumeration(tuner, &first);
        return tuner;
    }
    start_at(tuner, first);
    return tuner;
}

void kf_tuner_free(kf_tuner *tuner)
{
    if (!tuner) return;
    free(tuner->points);
    free(tuner->table);
    free(tuner->neighbours);
    free(tuner);
}
