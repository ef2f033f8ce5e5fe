/* Prints how the time of many jobs is spent. The jobs run in a row, built ahead as a worker does.
 * It shows the phases of measuring, and in each the functions called. The linker's --wrap puts a
 * clock around calls from one file into another. The judge itself has no clock for that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge_count.h"
#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/stats.h"
#include "libraries.h"
#include "measure_internal.h"

typedef enum phase {
    BETWEEN,   /* two workloads or jobs */
    SETS,      /* runners of the task's own, buffers */
    SETTLING,  /* what dies is waited for */
    SIZING,    /* how many calls make a batch */
    WARMING_B, /* the baseline */
    ALONE,
    LOADING,   /* the candidate */
    WARMING_C, /* the candidate */
    PAIR_0,
    PAIR_1,
    PAIRS,
    EMPTY,
    ENDING,
    PHASES
} phase;
static const char *const phase_names[PHASES] = {"between",
                                                "runners, sets",
                                                "settling",
                                                "sizing",
                                                "warming baseline",
                                                "alone",
                                                "loading candidate",
                                                "warming candidate",
                                                "warm-up pair",
                                                "compared pair",
                                                "pairs",
                                                "empty batches",
                                                "ending"};

typedef enum work {
    BATCH, /* around a batch's clock: waking, stopping, looking at outputs */
    CALLS, /* on the clock */
    LOAD,
    MAP,
    UNMAP,
    GIVE,
    SCALARS,
    CENSUS,
    TAKE,
    PAUSE,
    RETIRE,
    FREEZE,
    NEW_SETS,
    FREE_SETS,
    FILL,
    POISON,
    COOL,
    INSPECT,
    GLANCE,
    SETTLED,
    SURVEY,
    TRUTH,
    COPY_INPUT,
    SAMPLE,
    HAND,
    PLACE,
    RESERVE,
    GREET,
    REAP,
    WORKS
} work;
static const char *const work_names[WORKS] = {
    "batch",     "calls",   "load",    "map",     "unmap",    "give",      "scalars",    "census",
    "take",      "pause",   "retire",  "freeze",  "sets_new", "sets_free", "fill",       "poison",
    "cool",      "inspect", "glance",  "settled", "survey",   "truth",     "copy_input", "sample",
    "hand_over", "place",   "reserve", "greet",   "reap"};

static struct {
    phase now;
    double since, phases[PHASES], works[PHASES][WORKS];
    int counts[PHASES][WORKS];
    int depth;          /* in a function that is clocked already */
    double snapshotted; /* in the batch that is under way */
    const kf_device_operations *real;
} clocks;

static void enter(phase next)
{
    double t = kf_now();
    clocks.phases[clocks.now] += t - clocks.since;
    clocks.since = t;
    clocks.now = next;
}

static void book(work what, double seconds)
{
    clocks.works[clocks.now][what] += seconds;
    clocks.counts[clocks.now][what]++;
}

#define CLOCKED(what, type, call)                          \
    double began = kf_now();                               \
    clocks.depth++;                                        \
    type result = call;                                    \
    if (--clocks.depth == 0) book(what, kf_now() - began); \
    return result
#define CLOCKED_VOID(what, call) \
    double began = kf_now();     \
    clocks.depth++;              \
    call;                        \
    if (--clocks.depth == 0) book(what, kf_now() - began)

void (*gpu_at_end)(struct kf_measurement *r);
void (*gpu_behind_pair)(struct kf_measurement *r);
void (*gpu_before)(kf_workbench *bench);

/* The linker resolves NAME elsewhere to __wrap_NAME here, and __real_NAME to the function itself.
 */
#define WRAP(type, name, arguments)                                                           \
    type __real_##name arguments;                                                             \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), __typeof__(__real_##name)), \
                   #name " has other arguments now");                                         \
    type __wrap_##name arguments;                                                             \
    type __wrap_##name arguments

WRAP(bool, kf_measure_workload, (kf_workbench * bench, kf_error *error))
{
    enter(SETS);
    if (gpu_before) gpu_before(bench);
    bool done = __real_kf_measure_workload(bench, error);
    enter(BETWEEN);
    return done;
}

WRAP(uint64_t, kf_measurement_draw, (const kf_measurement *r, const char *purpose, int number))
{
    if (strcmp(purpose, "probe") == 0) enter(SIZING);
    if (strcmp(purpose, "warm") == 0) enter(number == CANDIDATE ? WARMING_C : WARMING_B);
    if (strcmp(purpose, "alone") == 0) enter(ALONE);
    return __real_kf_measurement_draw(r, purpose, number);
}

WRAP(bool, kf_measurement_start_runner,
     (kf_measurement * r, kf_role role, kf_runner **runner, kf_error *error))
{
    if (role == KF_ROLE_CANDIDATE) enter(LOADING);
    return __real_kf_measurement_start_runner(r, role, runner, error);
}

WRAP(bool, kf_measurement_empty_batch,
     (kf_measurement * r, kf_side side, uint32_t count, kf_error *error))
{
    phase within = clocks.now;
    enter(EMPTY);
    bool done = __real_kf_measurement_empty_batch(r, side, count, error);
    enter(within);
    return done;
}

WRAP(bool, kf_measurement_pair,
     (kf_measurement * r, const kf_pair_plan *plan, kf_pair_times times[2], kf_error *error))
{
    enter(plan->number == 0 ? PAIR_0 : plan->number == 1 ? PAIR_1 : PAIRS);
    bool done = __real_kf_measurement_pair(r, plan, times, error);
    if (done && gpu_behind_pair && plan->timed && !r->over) gpu_behind_pair(r);
    return done;
}

WRAP(bool, kf_measurement_audit, (kf_measurement * r, kf_runner *candidate, kf_error *error))
{
    enter(ENDING);
    if (gpu_at_end && r->schedule.timed && !r->over) gpu_at_end(r);
    return __real_kf_measurement_audit(r, candidate, error);
}

WRAP(bool, kf_runner_pool_settle, (kf_runner_pool * pool, bool all, kf_error *error))
{
    enter(SETTLING);
    return __real_kf_runner_pool_settle(pool, all, error);
}

WRAP(kf_runner_event, kf_runner_batch, (kf_runner * runner, kf_batch *batch))
{
    double began = kf_now();
    clocks.snapshotted = 0;
    kf_runner_event event = __real_kf_runner_batch(runner, batch);
    book(BATCH, kf_now() - began - batch->seconds - clocks.snapshotted);
    book(CALLS, batch->seconds);
    return event;
}

WRAP(kf_runner_event, kf_runner_load, (kf_runner * runner, double seconds))
{
    CLOCKED(LOAD, kf_runner_event, __real_kf_runner_load(runner, seconds));
}
WRAP(kf_runner_event, kf_runner_map,
     (kf_runner * runner, const kf_runner_buffer *buffers, size_t count))
{
    CLOCKED(MAP, kf_runner_event, __real_kf_runner_map(runner, buffers, count));
}
WRAP(kf_runner_event, kf_runner_unmap, (kf_runner * runner))
{
    CLOCKED(UNMAP, kf_runner_event, __real_kf_runner_unmap(runner));
}
WRAP(bool, kf_runner_give, (kf_runner * runner, const char *binary, kf_error *error))
{
    CLOCKED(GIVE, bool, __real_kf_runner_give(runner, binary, error));
}
WRAP(kf_runner_event, kf_runner_scalars,
     (kf_runner * runner, const uint64_t *values, uint32_t count))
{
    CLOCKED(SCALARS, kf_runner_event, __real_kf_runner_scalars(runner, values, count));
}
WRAP(int, kf_runner_extra_threads, (kf_runner * runner))
{
    CLOCKED(CENSUS, int, __real_kf_runner_extra_threads(runner));
}
WRAP(kf_runner *, kf_runner_pool_take,
     (kf_runner_pool * pool, kf_runner_kind kind, bool strict, const volatile int *stop,
      kf_error *error))
{
    CLOCKED(TAKE, kf_runner *, __real_kf_runner_pool_take(pool, kind, strict, stop, error));
}
WRAP(bool, kf_runner_greet, (kf_runner * runner, kf_error *error))
{
    CLOCKED(GREET, bool, __real_kf_runner_greet(runner, error));
}
WRAP(void, kf_runner_free, (kf_runner * runner))
{
    CLOCKED_VOID(REAP, __real_kf_runner_free(runner));
}
WRAP(void, kf_runner_pool_pause, (kf_runner_pool * pool))
{
    CLOCKED_VOID(PAUSE, __real_kf_runner_pool_pause(pool));
}
WRAP(void, kf_runner_pool_resume, (kf_runner_pool * pool))
{
    CLOCKED_VOID(PAUSE, __real_kf_runner_pool_resume(pool));
}
WRAP(void, kf_runner_pool_retire, (kf_runner_pool * pool, kf_runner *runner, bool unclean))
{
    CLOCKED_VOID(RETIRE, __real_kf_runner_pool_retire(pool, runner, unclean));
}

double gpu_counting_seconds;

WRAP(bool, kf_judge_count,
     (kf_judge * judge, const kf_job *job, const char *binary, kf_verdict *verdict,
      const volatile int *stop, kf_error *error))
{
    double began = kf_now();
    bool done = __real_kf_judge_count(judge, job, binary, verdict, stop, error);
    gpu_counting_seconds = kf_now() - began;
    return done;
}

/* ---- the device's own ------------------------------------------------------------------------ */

static kf_sets *sets_new(kf_device *d, const kf_problem *p, uint32_t n, bool t, kf_error *e)
{
    CLOCKED(NEW_SETS, kf_sets *, clocks.real->buffers.sets_new(d, p, n, t, e));
}
static void sets_free(kf_sets *s)
{
    CLOCKED_VOID(FREE_SETS, clocks.real->buffers.sets_free(s));
}
/* Times the handover, apart from the runner's mapping. */
static kf_runner_event hand_over(kf_sets *s, kf_runner *p, kf_role r)
{
    double began = kf_now(), mapped = clocks.works[clocks.now][MAP];
    kf_runner_event event = clocks.real->buffers.hand_over(s, p, r);
    book(HAND, kf_now() - began - (clocks.works[clocks.now][MAP] - mapped));
    return event;
}
static bool place(kf_device *d, kf_runner_kind a, kf_runner_place *p, kf_error *e)
{
    CLOCKED(PLACE, bool, clocks.real->place(d, a, p, e));
}
static bool reserve(kf_device *d, bool on, const volatile int *stop, kf_error *e)
{
    CLOCKED(RESERVE, bool, clocks.real->reserve(d, on, stop, e));
}
static bool fill(kf_sets *s, uint64_t k, const kf_set_variation *v, kf_error *e)
{
    CLOCKED(FILL, bool, clocks.real->buffers.fill(s, k, v, e));
}
static bool poison(kf_sets *s, kf_role r, uint64_t k, kf_error *e)
{
    CLOCKED(POISON, bool, clocks.real->buffers.poison(s, r, k, e));
}
static void cache_flush(kf_sets *s, const uint32_t *l, uint32_t n)
{
    CLOCKED_VOID(COOL, clocks.real->buffers.cache_flush(s, l, n));
}
static bool inspect(kf_sets *s, const bool *c, kf_damage *d, kf_error *e)
{
    CLOCKED(INSPECT, bool, clocks.real->buffers.inspect(s, c, d, e));
}
static bool snapshot(kf_sets *s, const uint32_t *l, uint32_t n, kf_error *e)
{
    double began = kf_now();
    bool done = clocks.real->buffers.snapshot(s, l, n, e);
    clocks.snapshotted = kf_now() - began;
    book(GLANCE, clocks.snapshotted);
    return done;
}
static bool settled(kf_sets *s, kf_damage *d, kf_error *e)
{
    CLOCKED(SETTLED, bool, clocks.real->buffers.settled(s, d, e));
}
static bool device_compare(kf_sets *s, const uint32_t *l, uint32_t n, kf_device_compare *v,
                           kf_error *e)
{
    CLOCKED(SURVEY, bool, clocks.real->buffers.device_compare(s, l, n, v, e));
}
static bool prepare(kf_sets *s, const uint32_t *l, uint32_t n, kf_error *e)
{
    CLOCKED(TRUTH, bool, clocks.real->buffers.prepare_truth(s, l, n, e));
}
static bool copy_input(kf_sets *s, uint32_t from, uint32_t to, int a, kf_error *e)
{
    CLOCKED(COPY_INPUT, bool, clocks.real->buffers.copy_input(s, from, to, a, e));
}
static void sample(kf_device *d, kf_sample *s)
{
    CLOCKED_VOID(SAMPLE, clocks.real->sample(d, s));
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void say(int jobs, double wall)
{
    printf("   %-18s %7.1f ms a job\n", "all", 1e3 * wall / jobs);
    for (int p = 0; p < PHASES; p++) {
        if (clocks.phases[p] < 1e-6) continue;
        double rest = clocks.phases[p];
        printf("   %-18s %7.1f  ", phase_names[p], 1e3 * clocks.phases[p] / jobs);
        for (int w = 0; w < WORKS; w++) {
            rest -= clocks.works[p][w];
            if (clocks.works[p][w] / jobs < 2e-4) continue;
            printf(" %s %.1f/%.4g", work_names[w], 1e3 * clocks.works[p][w] / jobs,
                   (double)clocks.counts[p][w] / jobs);
        }
        printf("  rest %.1f\n", 1e3 * rest / jobs);
    }
}

static void begin(void *context)
{
    (void)context;
    memset(clocks.phases, 0, sizeof clocks.phases);
    memset(clocks.works, 0, sizeof clocks.works);
    memset(clocks.counts, 0, sizeof clocks.counts);
    clocks.since = kf_now();
}

int check_phases(kf_judge *judge, const char *task_path, int count, double seconds)
{
    kf_device_operations wrapped = *judge->device->operations;
    clocks.real = judge->device->operations;
    wrapped.buffers.sets_new = sets_new, wrapped.buffers.sets_free = sets_free,
    wrapped.buffers.fill = fill, wrapped.buffers.poison = poison,
    wrapped.buffers.cache_flush = cache_flush;
    wrapped.buffers.inspect = inspect, wrapped.buffers.snapshot = snapshot,
    wrapped.buffers.settled = settled, wrapped.buffers.device_compare = device_compare;
    wrapped.buffers.hand_over = hand_over, wrapped.place = place;
    if (wrapped.reserve) wrapped.reserve = reserve;
    wrapped.buffers.prepare_truth = prepare, wrapped.buffers.copy_input = copy_input,
    wrapped.sample = sample;
    judge->device->operations = &wrapped;
    kf_autofree gpu_pipeline *line = calloc(1, sizeof *line);
    if (!line) return 1;
    *line = (gpu_pipeline){
        .judge = judge, .task = task_path, .count = count, .seconds = seconds, .begin = begin};
    int bad = check_same_in(line);
    enter(BETWEEN);
    judge->device->operations = clocks.real;
    if (line->judged) say(line->judged, line->wall);
    return bad;
}
