/* Sources with tunables, and which of them gets the next point.
 *
 * Every source is measured at its defaults first. Then each point goes to the source with the
 * highest upper confidence bound on the logarithm of its best speedup,
 *
 *     log(best_i) + C sqrt(log(1 + N) / (1 + n_i))        n_i points of source i, N of all
 *
 * This is UCB1 (Auer, Cesa-Bianchi, Fischer 2002) with the best instead of the mean, since only the
 * best point of a source will be used. A source slower than 1/HOPELESS of the best is never tuned.
 * A source with failed defaults is tuned only if all defaults failed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "canonical_source.h"
#include "kforge/json.h"
#include "search_internal.h"

/* C of the formula */
#define EXPLORATION 0.35
#define HOPELESS 8.0
/* most points of a source for which the tuner tries all of them */
#define EXHAUSTIVE 64

/* ---- sources --------------------------------------------------------------------------------- */

void kf_tunable_source_free(kf_tunable_source *tunable)
{
    if (!tunable) return;
    kf_tuner_free(tunable->tuner);
    kf_tune_space_free(tunable->space);
    free(tunable->source);
    free(tunable->name);
    free(tunable);
}

static void hash_source(const char *source, size_t size, char hex[KF_HASH_HEX])
{
    kf_hash hash = kf_hash_bytes(source, size);
    kf_hash_hex(&hash, hex);
}

kf_tunable_source *kf_tunable_source_find(const kf_tunable_sources *sources, const char *source,
                                          size_t size)
{
    char hash[KF_HASH_HEX];
    hash_source(source, size, hash);
    for (size_t i = 0; i < sources->count; i++)
        if (strcmp(sources->items[i]->hash, hash) == 0) return sources->items[i];
    return NULL;
}

bool kf_tunable_source_form(kf_tunable_source *tunable, kf_error *error)
{
    if (!tunable->formed &&
        !kf_canonical_source_hash(tunable->source, tunable->size, tunable->form, error))
        return false;
    return tunable->formed = true;
}

/* Returns the seed of a tuner. It depends on the run's seed and the source alone, not on when
 * the source came. */
static uint64_t seed_of(const kf_search *s, const kf_tunable_source *tunable)
{
    char digits[17] = "";
    memcpy(digits, tunable->hash, 16);
    return s->settings->seed ^ strtoull(digits, NULL, 16);
}

/* Removes the worst source without a job in flight. */
static bool make_room(kf_search *s)
{
    size_t worst = s->sources.count;
    for (size_t i = s->sources.defaults; i < s->sources.count; i++) {
        const kf_tunable_source *tunable = s->sources.items[i];
        if (tunable->in_flight) continue;
        double score = isnan(tunable->best) ? 0 : tunable->best;
        if (worst == s->sources.count ||
            score < (isnan(s->sources.items[worst]->best) ? 0 : s->sources.items[worst]->best))
            worst = i;
    }
    if (worst == s->sources.count) return false;
    kf_tunable_source_free(s->sources.items[worst]);
    memmove(s->sources.items + worst, s->sources.items + worst + 1,
            (--s->sources.count - worst) * sizeof *s->sources.items);
    return true;
}

/* Flags that are tried at the best point of each source. kf_tune_space_add_flags leaves out
 * those that a source sets itself. nvcc has no flag that unrolls loops. Sources declare a
 * tunable for `#pragma unroll`. */
static const char *const cuda_flags[] = {
    "| -maxrregcount=128 | -maxrregcount=64 | -maxrregcount=32", "| --use_fast_math", NULL};

static const char *const cpu_flags[] = {"| -Xcompiler=-funroll-loops", "| --use_fast_math", NULL};

static bool add_tuner(const kf_search *s, kf_tunable_source *tunable, kf_error *error)
{
    bool cpu = strncmp(kf_workers_hardware(s->workers), "cpu ", 4) == 0;
    for (const char *const *flags = cpu ? cpu_flags : cuda_flags;
         *flags && !s->settings->declared_flags; flags++) {
        /* A source with this many axes of its own needs no more. */
        kf_error full = {0};
        if (!kf_tune_space_add_flags(tunable->space, *flags, &full) && full.code != KF_ERROR_LIMIT)
            return *error = full, false;
    }
    kf_tune_point_default(tunable->space, &tunable->initial);
    bool exact;
    if (kf_tune_space_size(tunable->space, &exact) > 1) {
        tunable->tuner = kf_tuner_new(tunable->space, seed_of(s, tunable), EXHAUSTIVE);
        if (!tunable->tuner) return kf_fail_memory(error, "a tuner");
    }
    tunable->exhausted = !tunable->tuner;
    return true;
}

bool kf_tunable_sources_start(kf_search *s, kf_error *error)
{
    for (size_t i = 0; i < s->sources.count; i++)
        if (!add_tuner(s, s->sources.items[i], error)) return false;
    return true;
}

kf_tunable_source *kf_tunable_source_add(kf_search *s, const char *name, const char *source,
                                         size_t size, bool strict, kf_error *error)
{
    kf_tunable_source *tunable = calloc(1, sizeof *tunable);
    if (tunable) tunable->name = strdup(name), tunable->source = malloc(size + 1);
    if (!tunable || !tunable->name || !tunable->source) {
        kf_tunable_source_free(tunable);
        kf_fail_memory(error, "a source");
        return NULL;
    }
    memcpy(tunable->source, source, size);
    tunable->source[size] = '\0';
    tunable->size = size;
    tunable->best = NAN;
    hash_source(source, size, tunable->hash);
    tunable->space = kf_tune_space_read(tunable->source, error);
    if (!tunable->space && !strict) tunable->space = kf_tune_space_read("", error);
    if (!tunable->space) {
        kf_fail_prefix(error, "%s", name);
        kf_tunable_source_free(tunable);
        return NULL;
    }
    kf_tune_point_default(tunable->space, &tunable->initial);
    if (s->environment_id && !add_tuner(s, tunable, error)) {
        kf_tunable_source_free(tunable);
        return NULL;
    }
    if (s->sources.count == KF_TUNABLE_SOURCES && !make_room(s)) {
        kf_tunable_source_free(tunable);
        kf_fail(error, KF_ERROR_LIMIT, "more than %d sources in flight", KF_TUNABLE_SOURCES);
        return NULL;
    }
    return s->sources.items[s->sources.count++] = tunable;
}

void kf_tunable_source_report(kf_tunable_source *tunable, const kf_tune_point *point,
                              double speedup)
{
    if (tunable->tuner) kf_tuner_report(tunable->tuner, point, speedup);
    if (!isnan(speedup) && !(tunable->best >= speedup)) tunable->best = speedup;
}

bool kf_tunable_sources_defaults(kf_search *s, kf_error *error)
{
    const kf_task_file *baseline = s->settings->baseline
                                       ? kf_task_baseline_named(s->task, s->settings->baseline)
                                       : kf_task_baseline(s->task);
    if (!baseline)
        return kf_fail(error, KF_ERROR_INPUT, "%s has no baseline \"%s\"", kf_task_name(s->task),
                       s->settings->baseline);
    /* A problem file is no candidate. The search then begins with seeds and models. */
    if (baseline->kind == KF_SOURCE_CUDA &&
        !kf_tunable_source_add(s, "baseline", baseline->text, baseline->size, true, error))
        return false;
    for (int i = 0; i < kf_task_seed_count(s->task); i++) {
        const kf_task_file *seed = kf_task_seed(s->task, i);
        if (!kf_tunable_source_find(&s->sources, seed->text, seed->size) &&
            !kf_tunable_source_add(s, seed->name, seed->text, seed->size, true, error))
            return false;
    }
    s->sources.defaults = s->sources.count;
    return true;
}

/* ---- points ---------------------------------------------------------------------------------- */

bool kf_tunable_sources_more(const kf_tunable_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (!sources->items[i]->exhausted) return true;
    return false;
}

static double highest(const kf_search *s)
{
    double best = NAN;
    for (size_t i = 0; i < s->sources.count; i++)
        if (!(best >= s->sources.items[i]->best))
            best = isnan(s->sources.items[i]->best) ? best : s->sources.items[i]->best;
    return best;
}

/* Returns the source with the highest bound among those not in `passed`, or NULL. */
static kf_tunable_source *choose(kf_search *s, const bool *passed, size_t *index)
{
    double best = highest(s), highest_bound = 0;
    int64_t total = 0;
    kf_tunable_source *chosen = NULL;
    for (size_t i = 0; i < s->sources.count; i++) total += s->sources.items[i]->points;
    for (size_t i = 0; i < s->sources.count; i++) {
        kf_tunable_source *tunable = s->sources.items[i];
        if (tunable->exhausted || passed[i]) continue;
        bool any = !isnan(best);
        if (any && (isnan(tunable->best) || tunable->best * HOPELESS < best)) continue;
        /* Models use the time better. */
        if (any && s->models.count && tunable->best < s->strategy.propose.tune_above * best)
            continue;
        double bound = (any ? log(tunable->best) : 0) +
                       EXPLORATION * sqrt(log1p((double)total) / (1.0 + (double)tunable->points));
        if (chosen && bound <= highest_bound) continue;
        chosen = tunable;
        highest_bound = bound;
        *index = i;
    }
    return chosen;
}

bool kf_tunable_sources_propose(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    bool passed[KF_TUNABLE_SOURCES] = {false};
    size_t index = 0;
    *proposal = NULL;
    for (kf_tunable_source *tunable; (tunable = choose(s, passed, &index));) {
        kf_tune_point point;
        if (!kf_tuner_next(tunable->tuner, &point)) {
            passed[index] = true;
            tunable->exhausted =
                /* Reports of points in flight may bring more. */
                tunable->in_flight == 0;
            continue;
        }
        *proposal = kf_proposal_new(KF_STEP_TUNE, tunable, &point, error);
        if (!*proposal) return false;
        (*proposal)->origin.parent = tunable->base;
        tunable->points++;
        return true;
    }
    return true;
}
