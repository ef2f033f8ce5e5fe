/* How judged attempts affect later requests: the population, the success of each kind of request,
 * and the time since the last gain. It takes every attempt when it is stored, and after a resume
 * every stored attempt in order. Both lead to the same state.
 *
 * The grid of elites has a cell for each combination of
 *   b  share of the physical limit reached: b0 unknown, b1 under 25 %, b2 50 %, b3 75 %, b4 more
 *   r  registers of a thread, from ptxas: r0 unknown, r1 up to 32, r2 64, r3 128, r4 more
 *   s  shared memory: s0 no, s1 up to 16 KiB, s2 more
 *   t  tensor cores: t0 no, t1 the source names their instructions
 *   h  structure, h0 to h7: the last 3 bits of the smallest hash of the source's 4-token shingles
 *      (MinHash: Broder 1997). Sources that share most shingles mostly share it.
 *
 * When to stop. The next candidate of a model is expected to improve the best by
 *
 *     P(it gains) · E[log of the gain]  =  1 / (n + 2) · m
 *
 * n: candidates of models since the last gain (a new best of at least `gain` times the old one).
 *    After n failures without a success, Laplace's rule of succession puts the chance of the next
 *    one at 1/(n + 2). For independent draws from one distribution, the chance that draw n+1 is a
 *    record is 1/(n + 1) (Rényi 1962), the same except for the prior. Unlike a fit to the whole
 *    history, it also holds for a search that learns or that runs out of ideas.
 * m: exponentially weighted mean of log(new best / old best) over the gains; the latest counts
 *    half. Before the first gain it is log(1.25), which gives a new run time: with the default
 *    threshold of 0.002 it stops after 110 candidates without a gain. After gains of 5 % each it
 *    stops sooner, after a doubling later. For small values the log is the relative gain. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

/* log(1.25): the assumed gain before the first one */
#define GAIN_BEFORE 0.223
/* weight of the latest gain in the mean */
#define GAIN_WEIGHT 0.5
#define SHINGLE 4
/* share of the parent's speedup below which a candidate is a negative example */
#define SLOWER 0.97

/* ---- features -------------------------------------------------------------------------------- */

/* Returns the size of the next token at *at: a word, a number or one other character. Skips
 * comments and white space. 0 at the end. */
static size_t next_token(const char **at)
{
    for (;;) {
        *at += strspn(*at, " \t\r\n");
        if ((*at)[0] == '/' && (*at)[1] == '/')
            *at += strcspn(*at, "\n");
        else if ((*at)[0] == '/' && (*at)[1] == '*')
            *at = strstr(*at + 2, "*/") ? strstr(*at + 2, "*/") + 2 : *at + strlen(*at);
        else
            break;
    }
    if (!**at) return 0;
    size_t size = 0;
    while (isalnum((unsigned char)(*at)[size]) || (*at)[size] == '_') size++;
    return size ? size : 1;
}

static uint64_t hash_token(const char *text, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static unsigned structure_of(const char *source)
{
    uint64_t window[SHINGLE] = {0}, least = UINT64_MAX;
    size_t count = 0, size;
    for (const char *at = source; (size = next_token(&at)); at += size) {
        window[count++ % SHINGLE] = hash_token(at, size);
        if (count < SHINGLE) continue;
        uint64_t hash = 0;
        for (size_t k = 0; k < SHINGLE; k++)
            hash = (hash ^ window[(count + k) % SHINGLE]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 31;
        if (hash < least) least = hash;
    }
    return (unsigned)(least & 7);
}

static double floor_share_of(const kf_verdict *verdict)
{
    double sum = 0;
    int count = 0;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (!w->timed || !(w->floor_seconds > 0) || !(w->candidate_seconds > 0)) continue;
        sum += log(w->floor_seconds / w->candidate_seconds);
        count++;
    }
    return count ? exp(sum / count) : 0;
}

static double built(const kf_verdict *verdict, const char *key)
{
    const cJSON *item =
        verdict->build ? cJSON_GetObjectItemCaseSensitive(verdict->build, key) : NULL;
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

char *kf_features(const kf_verdict *verdict, const char *source, size_t size,
                  char cell[KF_CELL_TEXT], double *floor_share)
{
    (void)size;
    double share = floor_share_of(verdict), registers = built(verdict, "registers"),
           shared = built(verdict, "shared_bytes");
    int b = !(share > 0) ? 0 : share < 0.25 ? 1 : share < 0.5 ? 2 : share < 0.75 ? 3 : 4;
    int r = !(registers > 0)   ? 0
            : registers <= 32  ? 1
            : registers <= 64  ? 2
            : registers <= 128 ? 3
                               : 4;
    bool names_shared = strstr(source, "__shared__");
    int m = !(shared > 0) ? (names_shared ? 1 : 0) : shared <= 16384 ? 1 : 2;
    bool tensor = strstr(source, "wmma") || strstr(source, "mma.sync") || strstr(source, "wgmma") ||
                  strstr(source, "tcgen05");
    snprintf(cell, KF_CELL_TEXT, "b%d r%d s%d t%d h%u", b, r, m, tensor, structure_of(source));
    *floor_share = share;
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "floor_share", share);
    cJSON_AddNumberToObject(json, "registers", registers);
    cJSON_AddNumberToObject(json, "shared_bytes", shared);
    return cJSON_AddStringToObject(json, "cell", cell) ? cJSON_PrintUnformatted(json) : NULL;
}

double kf_features_floor(const char *text)
{
    kf_auto(cJSON) json = *text ? cJSON_Parse(text) : NULL;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "floor_share");
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* ---- taking an attempt ----------------------------------------------------------------------- */

/* most that the measured ceilings of a machine are off */
#define CEILING_ERROR 0.05

void kf_selection_floor(kf_selection_state *selection, double share)
{
    selection->floor_share = share;
    selection->at_floor[0] = selection->above_floor[0] = '\0';
    double off = 100 * fabs(1 - share);
    if (share > 1 + CEILING_ERROR)
        snprintf(
            selection->above_floor, sizeof selection->above_floor,
            "the best is %.2f times as fast as the roofline allows: check the task's bytes and "
            "flops (\"work\" in its task.json)",
            share);
    else if (share > 0)
        snprintf(selection->at_floor, sizeof selection->at_floor,
                 "within %.0f %% of the roofline: stopped", fmax(1, ceil(off - 1e-6)));
}

static bool take_verification(kf_search *s, const kf_outcome *o)
{
    if (o->status == KF_CORRECT && o->speedup > 0) {
        kf_population_update(s->selection.population, o->candidate, o->speedup);
        const kf_member *best = kf_population_best(s->selection.population, -1);
        if (best && best->candidate == o->candidate)
            kf_selection_floor(&s->selection, o->floor_share);
    }
    if (o->status != KF_CORRECT && o->blame == KF_BLAME_CANDIDATE)
        kf_population_update(s->selection.population, o->candidate, NAN);
    return true;
}

/* Returns the speedup to compare a candidate with: its parent's, or the best one's. */
static double reference_of(const kf_search *s, const kf_outcome *o)
{
    const kf_member *parent =
        o->parent ? kf_population_find(s->selection.population, o->parent) : NULL;
    const kf_member *best = kf_population_best(s->selection.population, -1);
    return parent ? parent->speedup : best ? best->speedup : 1;
}

static void take_move(kf_search *s, const kf_outcome *o, bool correct)
{
    double reference = reference_of(s, o);
    s->selection.moves[o->step].uses++;
    s->selection.moves[o->step].paid += correct && o->speedup > reference;
    if (correct) s->selection.round.correct++;
    if (o->parent)
        kf_population_child(s->selection.population, o->parent, correct,
                            s->strategy.survivors.prune);
    if (correct && o->parent && o->speedup < SLOWER * reference)
        s->selection.negatives[s->selection.negative_count++ % KF_NEGATIVES] = o->candidate;
}

static void migrate(kf_search *s)
{
    const kf_strategy *t = &s->strategy;
    if (t->survivors.islands > 1 && t->survivors.migrate > 0 &&
        s->selection.model_candidates % t->survivors.migrate == 0)
        kf_population_migrate(s->selection.population, t->survivors.islands);
}

/* Counts a gain. The first speedup of a run is no gain. */
static void take_gain(kf_search *s, double speedup)
{
    double before = s->selection.gain_mean > 0 ? s->selection.gain_mean : GAIN_BEFORE;
    if (s->selection.gain_best > 0)
        s->selection.gain_mean =
            before + GAIN_WEIGHT * (log(speedup / s->selection.gain_best) - before);
    s->selection.gain_best = speedup;
}

double kf_selection_expected(const kf_selection_state *selection)
{
    return (selection->gain_mean > 0 ? selection->gain_mean : GAIN_BEFORE) /
           (double)(selection->since_gain + 2);
}

bool kf_selection_take(kf_search *s, const kf_outcome *o, kf_error *error)
{
    if (o->step == KF_STEP_VERIFY) return take_verification(s, o);
    bool correct = o->status == KF_CORRECT && o->speedup > 0;
    /* It says nothing about the candidate. */
    if (!correct && o->blame != KF_BLAME_CANDIDATE) return true;
    if (o->of_model) take_move(s, o, correct);
    if (correct) {
        kf_member member = {.candidate = o->candidate,
                            .speedup = o->speedup,
                            .island = o->of_model ? o->island : -1};
        /* It stays on the island of its source. */
        if (o->step == KF_STEP_TUNE || o->step == KF_STEP_TRY) {
            const kf_member *parent = kf_population_find(s->selection.population, o->parent);
            if (parent) member.island = parent->island;
        }
        snprintf(member.cell, sizeof member.cell, "%s", o->cell);
        if (!kf_population_add(s->selection.population, &member))
            return kf_fail_memory(error, "the population");
    }
    bool gained = correct && o->speedup > s->selection.gain_best * s->strategy.propose.gain;
    if (gained) take_gain(s, o->speedup);
    s->selection.since_gain = gained ? 0 : s->selection.since_gain + o->of_model;
    if (correct && o->speedup >= s->selection.gain_best) kf_selection_floor(&s->selection, 0);
    s->selection.model_candidates += o->of_model;
    if (o->of_model) migrate(s);
    return true;
}

const char *kf_selection_stop(const kf_search *s)
{
    const kf_strategy *t = &s->strategy;
    if (!s->models.count) return NULL;
    /* A share above 1 is a question about the task, and ends nothing. */
    if (t->stop.floor > 0 && s->selection.floor_share >= t->stop.floor && s->calls.answered > 0 &&
        *s->selection.at_floor)
        return s->selection.at_floor;
    if (t->stop.gain > 0 && s->selection.model_candidates > 0 &&
        kf_selection_expected(&s->selection) < t->stop.gain)
        return "the next candidate is expected to improve the best by less than stop_gain";
    if (t->stop.after > 0 && s->selection.since_gain >= t->stop.after)
        return "no gain for the number of candidates that stop_after sets";
    return NULL;
}
