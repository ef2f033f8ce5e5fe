/* Arms: sources with tunables, and which of them gets the next point.
 *
 * Every source is measured at its defaults first. After that each point goes to the arm with the
 * highest upper confidence bound on the logarithm of its best speedup,
 *
 *     log(best_i) + C sqrt(log(1 + N) / (1 + n_i))        n_i points tried of arm i, N of all
 *
 * (UCB1: Auer, Cesa-Bianchi, Fischer 2002, with the best instead of the mean, since only the best
 * point of a source will ever be used). A source that is several times slower than another would
 * need many points before its bound overtakes; one slower than 1/KF_HOPELESS of the best is never
 * tuned. A source whose defaults failed is tuned only when all did.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "canonical_source.h"
#include "kforge/json.h"
#include "search_internal.h"

#define EXPLORATION 0.35
#define HOPELESS 8.0

/* ---- arms ------------------------------------------------------------------------------------ */

void kf_tunable_source_free(kf_tunable_source *arm)
{
    if (!arm) return;
    kf_tuner_free(arm->tuner);
    kf_tune_space_free(arm->space);
    free(arm->source);
    free(arm->name);
    free(arm);
}

static void hash_source(const char *source, size_t size, char hex[KF_HASH_HEX])
{
    kf_hash hash = kf_hash_bytes(source, size);
    kf_hash_hex(&hash, hex);
}

kf_tunable_source *kf_tunable_source_find(kf_search *s, const char *source, size_t size)
{
    char hash[KF_HASH_HEX];
    hash_source(source, size, hash);
    for (size_t i = 0; i < s->arm_count; i++)
        if (strcmp(s->arms[i]->hash, hash) == 0) return s->arms[i];
    return NULL;
}

/* Found when it is first asked for: many sources are never compared. */
static bool form_of(kf_tunable_source *arm, kf_error *error)
{
    if (!arm->formed && !kf_canonical_source_hash(arm->source, arm->size, arm->form, error))
        return false;
    return arm->formed = true;
}

bool kf_tunable_source_like(kf_search *s, const char *source, size_t size, kf_tunable_source **arm,
                            kf_error *error)
{
    char form[KF_HASH_HEX];
    *arm = NULL;
    if (!kf_canonical_source_hash(source, size, form, error)) return false;
    for (size_t i = 0; i < s->arm_count && *form && !*arm; i++) {
        if (!form_of(s->arms[i], error)) return false;
        if (strcmp(s->arms[i]->form, form) == 0) *arm = s->arms[i];
    }
    return true;
}

/* A tuner's order depends on the run's seed and the source alone, whenever the source came. */
static uint64_t seed_of(const kf_search *s, const kf_tunable_source *arm)
{
    char digits[17] = "";
    memcpy(digits, arm->hash, 16);
    return s->settings->seed ^ strtoull(digits, NULL, 16);
}

/* The worst arm that nothing is running for gives way. */
static bool make_room(kf_search *s)
{
    size_t worst = s->arm_count;
    for (size_t i = s->defaults; i < s->arm_count; i++) {
        const kf_tunable_source *arm = s->arms[i];
        if (arm->in_flight) continue;
        double score = isnan(arm->best) ? 0 : arm->best;
        if (worst == s->arm_count ||
            score < (isnan(s->arms[worst]->best) ? 0 : s->arms[worst]->best))
            worst = i;
    }
    if (worst == s->arm_count) return false;
    kf_tunable_source_free(s->arms[worst]);
    memmove(s->arms + worst, s->arms + worst + 1, (--s->arm_count - worst) * sizeof *s->arms);
    return true;
}

/* Flags that every source is tried with at the best of its own points: kf_tune_space_add_flags
 * leaves out what a source sets itself. There is no flag for nvcc that unrolls loops; sources
 * declare a tunable for `#pragma unroll`. */
static const char *const cuda_flags[] = {
    "| -maxrregcount=128 | -maxrregcount=64 | -maxrregcount=32", "| --use_fast_math", NULL};
static const char *const cpu_flags[] = {"| -Xcompiler=-funroll-loops", "| --use_fast_math", NULL};

static bool add_tuner(const kf_search *s, kf_tunable_source *arm, kf_error *error)
{
    bool cpu = strncmp(kf_workers_hardware(s->workers), "cpu ", 4) == 0;
    for (const char *const *flags = cpu ? cpu_flags : cuda_flags;
         *flags && !s->settings->declared_flags; flags++) {
        kf_error full = {0}; /* a source with so many axes of its own can do without */
        if (!kf_tune_space_add_flags(arm->space, *flags, &full) && full.code != KF_ERROR_LIMIT)
            return *error = full, false;
    }
    kf_tune_point_default(arm->space, &arm->initial);
    bool exact;
    if (kf_tune_space_size(arm->space, &exact) > 1) {
        arm->tuner = kf_tuner_new(arm->space, seed_of(s, arm), KF_EXHAUSTIVE);
        if (!arm->tuner) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for a tuner");
    }
    arm->exhausted = !arm->tuner;
    return true;
}

bool kf_tunable_sources_start(kf_search *s, kf_error *error)
{
    for (size_t i = 0; i < s->arm_count; i++)
        if (!add_tuner(s, s->arms[i], error)) return false;
    return true;
}

kf_tunable_source *kf_tunable_source_add(kf_search *s, const char *name, const char *source,
                                         size_t size, bool strict, kf_error *error)
{
    kf_tunable_source *arm = calloc(1, sizeof *arm);
    if (arm) arm->name = strdup(name), arm->source = malloc(size + 1);
    if (!arm || !arm->name || !arm->source) {
        kf_tunable_source_free(arm);
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for a source");
        return NULL;
    }
    memcpy(arm->source, source, size);
    arm->source[size] = '\0';
    arm->size = size;
    arm->best = NAN;
    hash_source(source, size, arm->hash);
    arm->space = kf_tune_space_read(arm->source, error);
    if (!arm->space && !strict) arm->space = kf_tune_space_read("", error);
    if (!arm->space) {
        kf_fail_prefix(error, "%s", name);
        kf_tunable_source_free(arm);
        return NULL;
    }
    kf_tune_point_default(arm->space, &arm->initial);
    if (s->environment_id && !add_tuner(s, arm, error)) {
        kf_tunable_source_free(arm);
        return NULL;
    }
    if (s->arm_count == KF_TUNABLE_SOURCES && !make_room(s)) {
        kf_tunable_source_free(arm);
        kf_fail(error, KF_ERROR_LIMIT, "more than %d sources in flight", KF_TUNABLE_SOURCES);
        return NULL;
    }
    return s->arms[s->arm_count++] = arm;
}

void kf_tunable_source_report(kf_tunable_source *arm, const kf_tune_point *point, double speedup)
{
    if (arm->tuner) kf_tuner_report(arm->tuner, point, speedup);
    if (!isnan(speedup) && !(arm->best >= speedup)) arm->best = speedup;
}

bool kf_tunable_sources_defaults(kf_search *s, kf_error *error)
{
    const kf_task_file *baseline = s->settings->baseline
                                       ? kf_task_baseline_named(s->task, s->settings->baseline)
                                       : kf_task_baseline(s->task);
    if (!baseline)
        return kf_fail(error, KF_ERROR_INPUT, "%s has no baseline \"%s\"", kf_task_name(s->task),
                       s->settings->baseline);
    /* A problem file is no candidate; the search then begins with seeds and models. */
    if (baseline->kind == KF_SOURCE_CUDA &&
        !kf_tunable_source_add(s, "baseline", baseline->text, baseline->size, true, error))
        return false;
    for (int i = 0; i < kf_task_seed_count(s->task); i++) {
        const kf_task_file *seed = kf_task_seed(s->task, i);
        if (!kf_tunable_source_find(s, seed->text, seed->size) &&
            !kf_tunable_source_add(s, seed->name, seed->text, seed->size, true, error))
            return false;
    }
    s->defaults = s->arm_count;
    return true;
}

/* ---- points as JSON, for people, the store and resuming -------------------------------------- */

/* {"BLOCK":256,"flags":["-maxrregcount=64"]}: values in order, then one text for each line of
 * compiler flags. NULL when there is nothing. */
char *kf_point_json(const kf_tunable_source *arm, const kf_tune_point *point)
{
    char text[8192], *at = text;
    kf_tune_point_describe(arm->space, point, text, sizeof text);
    if (!*text) return NULL;
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *flags = NULL;
    while (*at) {
        at += strspn(at, " ");
        if (*at == '[') {
            char *close = strchr(at, ']');
            if (!close) break;
            *close = '\0';
            if (!flags) flags = cJSON_AddArrayToObject(json, "flags");
            cJSON_AddItemToArray(flags, cJSON_CreateString(at + 1));
            at = close + 1;
        } else {
            size_t name = strcspn(at, "=");
            if (!at[name]) break;
            at[name] = '\0';
            char *end;
            double value = strtod(at + name + 1, &end);
            cJSON_AddNumberToObject(json, at, value);
            at = end;
        }
    }
    return json ? cJSON_PrintUnformatted(json) : NULL;
}

/* A space read from the source alone lacks the axes that kf_tunable_sources_start added: their
 * flags, the last ones, are passed over. */
bool kf_point_read(const kf_tunable_source *arm, const char *text, kf_tune_point *point)
{
    kf_auto(cJSON) json = *text ? kf_json_parse(text, strlen(text), 0, "tunables", NULL) : NULL;
    kf_autobuffer words = {0};
    const cJSON *item, *flag;
    int axes = 0;
    kf_buffer_string(&words, "");
    cJSON_ArrayForEach(item, json)
    {
        if (cJSON_IsNumber(item))
            kf_buffer_format(&words, "%s%s=%.0f", axes++ ? " " : "", item->string,
                             item->valuedouble);
        const cJSON *list = cJSON_IsArray(item) ? item : NULL;
        cJSON_ArrayForEach(flag, list) if (axes < kf_tune_space_axes(arm->space)) kf_buffer_format(
            &words, "%s[%s]", axes++ ? " " : "", cJSON_IsString(flag) ? flag->valuestring : "");
    }
    return (json || !*text) && words.data && !words.failed &&
           kf_tune_point_parse(arm->space, words.data, point, NULL);
}

/* ---- proposals ------------------------------------------------------------------------------- */

void kf_proposal_free(kf_proposal *proposal)
{
    if (!proposal) return;
    for (int i = 0; i < proposal->flag_count; i++) free(proposal->flags[i]);
    free(proposal->source);
    free(proposal);
}

kf_proposal *kf_proposal_new(kf_step step, kf_tunable_source *arm, const kf_tune_point *point,
                             kf_error *error)
{
    kf_proposal *proposal = calloc(1, sizeof *proposal);
    if (proposal) proposal->source = malloc(arm->size + 1);
    if (!proposal || !proposal->source) {
        kf_proposal_free(proposal);
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for a candidate");
        return NULL;
    }
    memcpy(proposal->source, arm->source, arm->size + 1);
    proposal->size = arm->size;
    proposal->step = step;
    proposal->arm = arm;
    proposal->point = *point;
    proposal->model = -1;
    int count = kf_tune_point_flags(arm->space, point, proposal->flags, error);
    if (count < 0) {
        kf_proposal_free(proposal);
        return NULL;
    }
    proposal->flag_count = count;
    if (!form_of(arm, error)) {
        kf_proposal_free(proposal);
        return NULL;
    }
    if (*arm->form)
        kf_store_candidate_hash(arm->form, strlen(arm->form), (const char *const *)proposal->flags,
                                (size_t)count, proposal->form);
    return proposal;
}

bool kf_tunable_sources_more(const kf_search *s)
{
    for (size_t i = 0; i < s->arm_count; i++)
        if (!s->arms[i]->exhausted) return true;
    return false;
}

static double highest(const kf_search *s)
{
    double best = NAN;
    for (size_t i = 0; i < s->arm_count; i++)
        if (!(best >= s->arms[i]->best)) best = isnan(s->arms[i]->best) ? best : s->arms[i]->best;
    return best;
}

/* The arm with the highest bound among those not in `passed`; NULL when none is left. */
static kf_tunable_source *choose(kf_search *s, const bool *passed, size_t *index)
{
    double best = highest(s), highest_bound = 0;
    int64_t total = 0;
    kf_tunable_source *chosen = NULL;
    for (size_t i = 0; i < s->arm_count; i++) total += s->arms[i]->points;
    for (size_t i = 0; i < s->arm_count; i++) {
        kf_tunable_source *arm = s->arms[i];
        if (arm->exhausted || passed[i]) continue;
        bool any = !isnan(best);
        if (any && (isnan(arm->best) || arm->best * HOPELESS < best)) continue;
        /* models find better use for the time */
        if (any && s->model_count && arm->best < s->strategy.tune_above * best) continue;
        double bound = (any ? log(arm->best) : 0) +
                       EXPLORATION * sqrt(log1p((double)total) / (1.0 + (double)arm->points));
        if (chosen && bound <= highest_bound) continue;
        chosen = arm;
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
    for (kf_tunable_source *arm; (arm = choose(s, passed, &index));) {
        kf_tune_point point;
        if (!kf_tuner_next(arm->tuner, &point)) {
            passed[index] = true;
            arm->exhausted = arm->in_flight == 0; /* a report of what is in flight may bring more */
            continue;
        }
        *proposal = kf_proposal_new(KF_STEP_TUNE, arm, &point, error);
        if (!*proposal) return false;
        (*proposal)->parent = arm->base;
        arm->points++;
        return true;
    }
    return true;
}
