#include "runner_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"

#define MAX_BLANKS 12
#define MAX_RETIRED 8
/* Runners in a row that something outside may end while they start. */
#define MAX_KILLED 4
/* Seconds to import PyTorch on a busy machine. */
#define TORCH_SECONDS 60.0
#define MAX_KNOWN 32
/* The life of known figures. */
#define KNOWN_SECONDS 20.0
/* The part by which the seconds for timing may differ. */
#define KNOWN_BUDGET 0.2
/* Workloads that a runner of the task's own serves. The peculiarities of one process must not
 * affect every verdict. */
#define TRUSTED_LIVES 200

typedef struct trusted_runner {
    kf_runner *runner;
    /* The same runner. It stays set while the runner is taken. */
    const kf_runner *last;
    char *binary;
    bool strict;
    int used;
} trusted_runner;

struct kf_runner_pool {
    kf_device *device;
    kf_runner *blanks[MAX_BLANKS], *retired[MAX_RETIRED];
    size_t blank_count, retired_count;
    /* Of the blanks. */
    bool strict;
    trusted_runner trusted[2];
    /* Of the baseline's runner, with the oldest first. */
    kf_known known[MAX_KNOWN];
    size_t known_count;
    size_t started[KF_RUNNER_KINDS];
};

static trusted_runner *trusted_of(kf_runner_pool *pool, kf_role role)
{
    return &pool->trusted[role == KF_ROLE_ORACLE];
}

kf_runner_pool *kf_runner_pool_new(kf_device *device)
{
    kf_runner_pool *pool = calloc(1, sizeof *pool);
    if (pool) pool->device = device;
    return pool;
}

void kf_runner_pool_free(kf_runner_pool *pool)
{
    if (!pool) return;
    kf_runner_pool_drop_trusted(pool);
    for (size_t i = 0; i < pool->blank_count; i++) kf_runner_begin_kill(pool->blanks[i]);
    for (size_t i = 0; i < pool->blank_count; i++) kf_runner_free(pool->blanks[i]);
    for (size_t i = 0; i < pool->retired_count; i++) kf_runner_free(pool->retired[i]);
    free(pool);
}

static kf_runner *spawn(kf_runner_pool *pool, kf_runner_kind kind, bool strict, kf_error *error)
{
    kf_runner_place place;
    if (!pool->device->operations->place(pool->device, kind, &place, error)) return NULL;
    pool->started[kind]++;
    return kf_runner_spawn(
        &(kf_runner_spec){.kind = kind,
                          .program = place.program,
                          .arguments = place.arguments,
                          .directory = place.directory,
                          .paths = place.paths,
                          .path_count = place.path_count,
                          .environment = place.environment,
                          .limits = place.limits,
                          .at_launcher = place.at_launcher,
                          .sealed = place.sealed,
                          .idle_guard = place.idle_guard,
                          .launcher = place.launcher,
                          .same_addresses = place.same_addresses,
                          .start_seconds = kf_runner_is_python(kind) ? TORCH_SECONDS : 0,
                          .strict = strict},
        error);
}

static void drop_blanks(kf_runner_pool *pool)
{
    while (pool->blank_count) kf_runner_pool_retire(pool, pool->blanks[--pool->blank_count], false);
}

static bool is_slow(const kf_runner_pool *pool, kf_runner_kind kind)
{
    return kf_runner_is_python(kind) ||
           (pool->device->slow_start && (kind == KF_RUNNER_PLAIN || kind == KF_RUNNER_COUNT));
}

/* Returns the index of the oldest blank of a kind; blank_count without one. */
static size_t find_blank(const kf_runner_pool *pool, kf_runner_kind kind)
{
    size_t i = 0;
    while (i < pool->blank_count && kf_runner_kind_of(pool->blanks[i]) != kind) i++;
    return i;
}

size_t kf_runner_pool_started(const kf_runner_pool *pool, kf_runner_kind kind)
{
    return pool->started[kind];
}

void kf_runner_pool_expect(kf_runner_pool *pool, kf_runner_kind kind, bool strict, size_t count)
{
    if (!is_slow(pool, kind)) return;
    if (strict != pool->strict) drop_blanks(pool);
    pool->strict = strict;
    size_t there = 0;
    for (size_t i = 0; i < pool->blank_count; i++)
        there += kf_runner_kind_of(pool->blanks[i]) == kind;
    for (; there < count && pool->blank_count < MAX_BLANKS; there++) {
        kf_error ignored;
        kf_runner *runner = spawn(pool, kind, strict, &ignored);
        if (!runner) return;
        pool->blanks[pool->blank_count++] = runner;
    }
}

void kf_runner_pool_forget(kf_runner_pool *pool, kf_runner_kind kind)
{
    for (size_t at; (at = find_blank(pool, kind)) < pool->blank_count;) {
        kf_runner *runner = pool->blanks[at];
        memmove(pool->blanks + at, pool->blanks + at + 1,
                (--pool->blank_count - at) * sizeof *pool->blanks);
        kf_runner_pool_retire(pool, runner, false);
    }
}

kf_runner *kf_runner_pool_take(kf_runner_pool *pool, kf_runner_kind kind, bool strict,
                               const volatile int *stop, kf_error *error)
{
    if (strict != pool->strict) drop_blanks(pool);
    pool->strict = strict;
    for (size_t at; (at = find_blank(pool, kind)) < pool->blank_count;) {
        kf_runner *runner = pool->blanks[at];
        memmove(pool->blanks + at, pool->blanks + at + 1,
                (--pool->blank_count - at) * sizeof *pool->blanks);
        kf_runner_set_interrupt(runner, stop);
        kf_error why = {0};
        if (kf_runner_greet(runner, &why)) return runner;
        kf_runner_free(runner);
        /* It may have died while it waited. The next runner reports a fault of the machine. */
        if (why.code != KF_ERROR_BUSY) continue;
        kf_fail_copy(error, &why);
        return NULL;
    }
    for (int started = 1;; started++) {
        kf_auto(kf_runner) runner = spawn(pool, kind, strict, error);
        if (!runner) return NULL;
        kf_runner_set_interrupt(runner, stop);
        if (kf_runner_greet(runner, error)) return kf_steal(&runner);
        /* No foreign code runs in it yet. */
        if (!kf_runner_ended_outside(runner) || started == MAX_KILLED) return NULL;
    }
}

void kf_runner_pool_retire(kf_runner_pool *pool, kf_runner *runner, bool unclean)
{
    if (!runner) return;
    if (unclean || !pool->device->slow_start) {
        kf_runner_free(runner);
        return;
    }
    if (pool->retired_count == MAX_RETIRED) kf_runner_free(pool->retired[--pool->retired_count]);
    kf_runner_begin_kill(runner);
    pool->retired[pool->retired_count++] = runner;
}

void kf_runner_pool_pause(kf_runner_pool *pool)
{
    for (size_t i = 0; i < pool->blank_count; i++) kf_runner_pause(pool->blanks[i]);
}

void kf_runner_pool_resume(kf_runner_pool *pool)
{
    for (size_t i = 0; i < pool->blank_count; i++) kf_runner_resume(pool->blanks[i]);
}

bool kf_runner_pool_settle(kf_runner_pool *pool, bool all, kf_error *error)
{
    for (size_t i = 0; i < pool->blank_count && all; i++) {
        kf_error why = {0};
        if (kf_runner_greet(pool->blanks[i], &why)) continue;
        if (why.code == KF_ERROR_BUSY) return kf_fail_copy(error, &why);
        kf_runner_free(pool->blanks[i]);
        pool->blanks[i--] = pool->blanks[--pool->blank_count];
    }
    while (pool->retired_count) kf_runner_free(pool->retired[--pool->retired_count]);
    return true;
}

/* ---- the task's own -------------------------------------------------------------------------- */

static bool lives_on(const trusted_runner *t, bool strict)
{
    return t->runner && t->used < TRUSTED_LIVES && t->strict == strict;
}

bool kf_runner_pool_has_trusted(const kf_runner_pool *pool, kf_role role, const char *binary,
                                bool strict)
{
    const trusted_runner *t = &pool->trusted[role == KF_ROLE_ORACLE];
    return lives_on(t, strict) && strcmp(t->binary, binary) == 0;
}

bool kf_runner_pool_can_serve(const kf_runner_pool *pool, kf_role role, const char *binary,
                              bool strict, const kf_problem *problem)
{
    const trusted_runner *t = &pool->trusted[role == KF_ROLE_ORACLE];
    const kf_device *device = pool->device;
    if (kf_runner_pool_has_trusted(pool, role, binary, strict)) return true;
    return lives_on(t, strict) && kf_runner_kind_of(t->runner) == KF_RUNNER_TORCH &&
           strncmp(binary, KF_TORCH_KEY, sizeof KF_TORCH_KEY - 1) == 0 &&
           (!problem || !device->operations->python.suits ||
            device->operations->python.suits(device, t->runner, role, problem));
}

static void drop(kf_runner_pool *pool, trusted_runner *t)
{
    kf_runner_pool_retire(pool, t->runner, false);
    free(t->binary);
    *t = (trusted_runner){0};
    if (t == &pool->trusted[0]) pool->known_count = 0;
}

void kf_runner_pool_make_room(kf_runner_pool *pool, const char *baseline, bool strict,
                              const kf_problem *problem)
{
    trusted_runner *t = trusted_of(pool, KF_ROLE_BASELINE);
    if (t->runner && kf_runner_attachment(t->runner) &&
        !kf_runner_pool_can_serve(pool, KF_ROLE_BASELINE, baseline, strict, problem))
        drop(pool, t);
    for (size_t i = 0; i < pool->retired_count;) {
        if (!kf_runner_attachment(pool->retired[i])) {
            i++;
            continue;
        }
        kf_runner_free(pool->retired[i]);
        pool->retired[i] = pool->retired[--pool->retired_count];
    }
}

static bool is_of(const kf_known *known, const char *task, int workload)
{
    return known->workload == workload && strcmp(known->task, task) == 0;
}

void kf_runner_pool_unlearn(kf_runner_pool *pool, const char *task, int workload)
{
    for (size_t i = 0; i < pool->known_count; i++)
        if (is_of(&pool->known[i], task, workload)) {
            pool->known_count--;
            memmove(pool->known + i, pool->known + i + 1,
                    (pool->known_count - i) * sizeof *pool->known);
            return;
        }
}

void kf_runner_pool_learn(kf_runner_pool *pool, const kf_known *known)
{
    kf_runner_pool_unlearn(pool, known->task, known->workload);
    if (pool->known_count == MAX_KNOWN)
        memmove(pool->known, pool->known + 1, --pool->known_count * sizeof *pool->known);
    pool->known[pool->known_count++] = *known;
}

const kf_known *kf_runner_pool_recall(const kf_runner_pool *pool, const char *task, int workload,
                                      double seconds)
{
    for (size_t i = 0; i < pool->known_count; i++) {
        const kf_known *known = &pool->known[i];
        if (!is_of(known, task, workload)) continue;
        return kf_now() - known->at < KNOWN_SECONDS &&
                       fabs(seconds - known->seconds) <= KNOWN_BUDGET * known->seconds
                   ? known
                   : NULL;
    }
    return NULL;
}

kf_runner *kf_runner_pool_take_trusted(kf_runner_pool *pool, kf_role role, const char *binary,
                                       bool strict, const kf_problem *problem,
                                       const volatile int *stop, bool *from_another)
{
    trusted_runner *t = trusted_of(pool, role);
    *from_another = false;
    if (!kf_runner_pool_can_serve(pool, role, binary, strict, problem)) {
        drop(pool, t);
        return NULL;
    }
    *from_another = strcmp(t->binary, binary) != 0;
    kf_runner *runner = t->runner;
    /* Its binary and its count of workloads stay until it comes back. */
    t->runner = NULL;
    kf_runner_set_interrupt(runner, stop);
    return runner;
}

void kf_runner_pool_keep_trusted(kf_runner_pool *pool, kf_role role, const char *binary,
                                 bool strict, kf_runner *runner)
{
    trusted_runner *t = trusted_of(pool, role);
    if (!runner) return;
    kf_runner_set_interrupt(runner, NULL);
    bool same = t->binary && strcmp(t->binary, binary) == 0;
    int used = t->last == runner ? t->used + 1 : 1;
    if (!same && role == KF_ROLE_BASELINE) pool->known_count = 0;
    kf_runner_pool_retire(pool, t->runner, false);
    free(t->binary);
    *t = (trusted_runner){
        .runner = runner, .last = runner, .binary = strdup(binary), .strict = strict, .used = used};
    if (!t->binary) drop(pool, t);
}

void kf_runner_pool_drop_trusted(kf_runner_pool *pool)
{
    for (int i = 0; i < 2; i++) drop(pool, &pool->trusted[i]);
}
