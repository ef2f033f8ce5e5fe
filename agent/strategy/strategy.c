/* The table of strategies, and the table of their levers. */
#include "strategy.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "nearest.h"

#define FILE_BYTES (1u << 20)

/* ---- the strategies -------------------------------------------------------------------------- */

/* Sources:
 *   sample    KernelBench's repeated sampling
 *   evolve    OpenEvolve (islands, MAP-Elites, ring migration), with ShinkaEvolve's power-law
 *             parents and its shares of whole, edited and crossed candidates
 *   contrast  CUDA-L1 (two exemplars of distinct buckets)
 *   critic    CudaForge (one chain; a judge's JSON before each optimisation and each repair)
 *   fsr       CUDA-LLM (rounds of N; the fastest seeds the next)
 *   tune      the tuner alone; the strategies above have no tuner
 *   auto      the settings that measured best in bench_search */

/* Values that all named strategies share. */
#define PROPOSE .gain = 1.02, .round = 1, .drafts = 1
#define CONTEXT .tau = 0.5, .width = 0.1, .tokens = 24000
#define SURVIVORS .exponent = 1, .tournament = 3
// clang-format off
#define ONE_ISLAND {SURVIVORS, .islands = 1}
// clang-format on

static const struct row {
    kf_strategy strategy;
    const char *summary;
} rows[] = {
    // clang-format off
    {{.name = "auto", .edits = KF_EDIT_LARGE,
      .propose = {PROPOSE, .improve = 0.3, .contrast = 0.2, .crossover = 0.2, .rethink = 0.3,
                  .adapt = true, .repairs = 2, .tune = 2, .tune_above = 0.97, .plateau = 3},
      .context = {CONTEXT, .exemplars = 2, .negatives = 1, .notes = 8, .summary = 24, .best = true,
                  .figures = true},
      .survivors = {SURVIVORS, .parents = KF_PARENTS_RANK, .beam = 3, .islands = 1, .prune = 4},
      .stop = {.floor = 0.95, .gain = 0.002}},
     "improvement, contrast, crossover and other algorithms by their success; notes, repairs, the "
     "tuner for the fastest sources"},
    {{.name = "sample", .edits = KF_EDIT_LARGE,
      .propose = {PROPOSE, .draft = 1},
      .context = {CONTEXT},
      .survivors = ONE_ISLAND},
     "independent drafts of the task alone"},
    {{.name = "evolve", .edits = KF_EDIT_LARGE,
      .propose = {PROPOSE, .draft = 0.1, .improve = 0.8, .crossover = 0.1, .repairs = 1},
      .context = {CONTEXT, .exemplars = 2, .best = true, .figures = true},
      .survivors = {SURVIVORS, .parents = KF_PARENTS_POWER, .islands = 3, .migrate = 12,
                    .grid = 0.3}},
     "islands with migration, a grid of elites, power-law parents, crossover (OpenEvolve, "
     "ShinkaEvolve)"},
    {{.name = "contrast", .edits = KF_EDIT_LARGE,
      .propose = {PROPOSE, .contrast = 1, .repairs = 1},
      .context = {CONTEXT, .exemplars = 2, .figures = true},
      .survivors = ONE_ISLAND},
     "two exemplars of different speed, drawn by buckets (CUDA-L1)"},
    {{.name = "critic", .edits = KF_EDIT_LARGE,
      .propose = {PROPOSE, .critic = 1, .critic_repairs = true, .repairs = 8},
      .context = {CONTEXT, .figures = true},
      .survivors = {SURVIVORS, .parents = KF_PARENTS_LATEST, .islands = 1}},
     "one chain; a critic's diagnosis before every optimisation and repair (CudaForge)"},
    {{.name = "fsr", .edits = KF_EDIT_LARGE,
      .propose = {.gain = 1.02, .drafts = 1, .improve = 1, .repairs = 2, .repair_rounds = true,
                  .round = 4},
      .context = {CONTEXT, .figures = true},
      .survivors = {SURVIVORS, .beam = 1, .islands = 1}},
     "rounds of four; the fastest seeds the next, repairs when a whole round failed (CUDA-LLM)"},
    {{.name = "agent", .edits = KF_EDIT_LARGE,
      .propose = {PROPOSE, .improve = 0.5, .crossover = 0.2, .rethink = 0.3, .adapt = true,
                  .repairs = 2, .tune = 2, .tune_above = 0.97},
      .context = {CONTEXT, .exemplars = 2, .best = true, .figures = true},
      .survivors = {SURVIVORS, .parents = KF_PARENTS_RANK, .beam = 3, .islands = 1, .prune = 4}},
     "episodes of agents from the fastest sources; the tuner and other models work meanwhile"},
    {{.name = "tune", .edits = KF_EDIT_LARGE,
      .propose = {PROPOSE, .tune = 1},
      .context = {CONTEXT},
      .survivors = ONE_ISLAND},
     "no model: the tuner on the baseline and the seeds"},
    // clang-format on
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- the levers ------------------------------------------------------------------------------ */

typedef enum lever_type { NUMBER, INTEGER, BOOLEAN, WORD } lever_type;

typedef struct lever {
    const char *group, *name;
    lever_type type;
    size_t offset;
    double low, high;
    const char *const *words;
    const char *help;
} lever;

static const char *const parents_words[] = {"rank",   "power",   "tournament", "grid",
                                            "latest", "uniform", NULL};
static const char *const edits_words[] = {"never", "large", "always", NULL};

#define AT(FIELD) offsetof(kf_strategy, FIELD)
static const lever levers[] = {
    {"proposers", "draft", NUMBER, AT(propose.draft), 0, 1e6, NULL,
     "weight of a first draft, from the task alone"},
    {"proposers", "improve", NUMBER, AT(propose.improve), 0, 1e6, NULL,
     "weight of improving a parent"},
    {"proposers", "contrast", NUMBER, AT(propose.contrast), 0, 1e6, NULL,
     "weight of writing a candidate after comparing exemplars of different speed"},
    {"proposers", "crossover", NUMBER, AT(propose.crossover), 0, 1e6, NULL,
     "weight of combining two parents"},
    {"proposers", "rethink", NUMBER, AT(propose.rethink), 0, 1e6, NULL,
     "weight of requesting another algorithm"},
    {"proposers", "critic", NUMBER, AT(propose.critic), 0, 1e6, NULL,
     "weight of an improvement after a critic's diagnosis (two calls)"},
    {"proposers", "drafts", INTEGER, AT(propose.drafts), 1, 1000, NULL,
     "first drafts before any other request"},
    {"proposers", "adapt", BOOLEAN, AT(propose.adapt), 0, 0, NULL,
     "multiply each weight by the share of its candidates that beat their parent"},
    {"proposers", "repairs", INTEGER, AT(propose.repairs), 0, 16, NULL,
     "most repairs in a row of a failing candidate"},
    {"proposers", "repair_rounds", BOOLEAN, AT(propose.repair_rounds), 0, 0, NULL,
     "repair only if a whole round failed"},
    {"proposers", "critic_repairs", BOOLEAN, AT(propose.critic_repairs), 0, 0, NULL,
     "a critic diagnoses the failure before each repair"},
    {"proposers", "tune", INTEGER, AT(propose.tune), 0, 1000, NULL,
     "points of the tuner between two candidates of models"},
    {"proposers", "tune_above", NUMBER, AT(propose.tune_above), 0, 1, NULL,
     "least share of the best that a source must reach to be tuned"},
    {"proposers", "round", INTEGER, AT(propose.round), 1, 64, NULL,
     "requests from the same parent"},
    {"proposers", "plateau", INTEGER, AT(propose.plateau), 0, 1000000, NULL,
     "candidates of models without a gain before another algorithm is requested; 0: never"},
    {"proposers", "gain", NUMBER, AT(propose.gain), 1, 10, NULL,
     "least ratio of a new best to the old that counts as a gain"},
    {"context", "exemplars", INTEGER, AT(context.exemplars), 0, KF_EXEMPLARS, NULL,
     "earlier candidates in a prompt, with their speedups"},
    {"context", "tau", NUMBER, AT(context.tau), 1e-6, 1e6, NULL,
     "temperature of the choice of exemplars, in octaves of speedup"},
    {"context", "width", NUMBER, AT(context.width), 1e-3, 16, NULL,
     "width of a bucket of speedups, in octaves"},
    {"context", "negatives", INTEGER, AT(context.negatives), 0, KF_EXEMPLARS, NULL,
     "candidates in a prompt that were slower than their parent"},
    {"context", "notes", INTEGER, AT(context.notes), 0, 64, NULL,
     "notes in a prompt about changes that helped or failed"},
    {"context", "summary", INTEGER, AT(context.summary), 0, 1000000, NULL,
     "candidates of models between two summaries of the notes by a model; 0: never"},
    {"context", "best", BOOLEAN, AT(context.best), 0, 0, NULL,
     "show the best candidate if it is not the parent"},
    {"context", "figures", BOOLEAN, AT(context.figures), 0, 0, NULL,
     "show the measurements of the parent"},
    {"context", "tokens", INTEGER, AT(context.tokens), 100, 10000000, NULL,
     "most tokens of a prompt; blocks are left out to keep it"},
    {"edits", "edits", WORD, AT(edits), 0, 0, edits_words,
     "search/replace edits: never, for large parents, always"},
    {"survivors", "parents", WORD, AT(survivors.parents), 0, 0, parents_words,
     "how a parent is drawn"},
    {"survivors", "exponent", NUMBER, AT(survivors.exponent), 0, 16, NULL,
     "for power: P(rank k) is proportional to k^-exponent"},
    {"survivors", "tournament", INTEGER, AT(survivors.tournament), 1, 64, NULL,
     "size of a tournament"},
    {"survivors", "beam", INTEGER, AT(survivors.beam), 0, 1000000, NULL,
     "number of best candidates to draw parents from; 0: all"},
    {"survivors", "islands", INTEGER, AT(survivors.islands), 1, 64, NULL,
     "number of separate populations"},
    {"survivors", "migrate", INTEGER, AT(survivors.migrate), 0, 1000000, NULL,
     "candidates of models between two migrations; 0: never"},
    {"survivors", "grid", NUMBER, AT(survivors.grid), 0, 1, NULL,
     "share of parents drawn from the elites of the feature grid"},
    {"survivors", "prune", INTEGER, AT(survivors.prune), 0, 1000, NULL,
     "failing children in a row that exclude a parent; 0: never"},
    {"stop", "stop_floor", NUMBER, AT(stop.floor), 0, 1, NULL,
     "stop if the best reaches this share of the physical limit; 0: never"},
    {"stop", "stop_after", INTEGER, AT(stop.after), 0, 1000000, NULL,
     "stop after this many candidates of models without a gain; 0: never"},
    {"stop", "stop_gain", NUMBER, AT(stop.gain), 0, 1, NULL,
     "stop if the next candidate is expected to improve the best by less than this share; 0: "
     "never"},
};
enum { LEVERS = sizeof levers / sizeof *levers };

static const struct row *row_named(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].strategy.name, name) == 0) return &rows[i];
    return NULL;
}

const kf_strategy *kf_strategy_named(const char *name)
{
    const struct row *row = row_named(name);
    return row ? &row->strategy : NULL;
}

bool kf_strategy_is_independent(const kf_strategy *strategy)
{
    const kf_proposer_levers *p = &strategy->propose;
    double others = p->improve + p->contrast + p->crossover + p->rethink + p->critic;
    return p->draft > 0 && !(others > 0) && p->tune == 0 && p->repairs == 0 && p->plateau == 0;
}

bool kf_strategy_calls_models(const kf_strategy *strategy)
{
    const kf_proposer_levers *p = &strategy->propose;
    return p->draft + p->improve + p->contrast + p->crossover + p->rethink + p->critic > 0;
}

const char *kf_strategy_summary(const char *name)
{
    const struct row *row = row_named(name);
    return row ? row->summary : "";
}

const char *const *kf_strategy_names(void)
{
    static const char *names[ROWS + 1];
    for (size_t i = 0; i < ROWS; i++) names[i] = rows[i].strategy.name;
    return names;
}

bool kf_strategy_lever(size_t index, kf_lever *lever_out)
{
    static const char *const kinds[] = {"number", "integer", "true, false", ""};
    if (index >= LEVERS) return false;
    const lever *l = &levers[index];
    const char *values = l->words == parents_words
                             ? "rank, power, tournament, grid, latest, uniform"
                         : l->words == edits_words ? "never, large, always"
                                                   : kinds[l->type];
    *lever_out = (kf_lever){l->group, l->name, values, l->help};
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void *field(const kf_strategy *strategy, const lever *l)
{
    return (char *)(uintptr_t)strategy + l->offset;
}

static int number_of_words(const lever *l)
{
    int count = 0;
    while (l->words[count]) count++;
    return count;
}

static bool read_word(kf_json_reader *reader, const lever *l, int *value)
{
    const char *word = kf_json_string_or(reader, l->name, NULL);
    if (!word) return !reader->failed;
    for (int i = 0; l->words[i]; i++)
        if (strcmp(l->words[i], word) == 0) {
            *value = i;
            return true;
        }
    kf_lever described = {0};
    kf_strategy_lever((size_t)(l - levers), &described);
    const char *near = kf_nearest(word, l->words, (size_t)number_of_words(l));
    return kf_json_complain(reader, l->name, "\"%.40s\" is not one of %s%s%s", word,
                            described.values, near ? "; did you mean " : "", near ? near : "");
}

static void read_lever(kf_json_reader *reader, const lever *l, kf_strategy *strategy)
{
    void *at = field(strategy, l);
    switch (l->type) {
    case NUMBER:
        *(double *)at = kf_json_number_or(reader, l->name, l->low, l->high, *(double *)at);
        break;
    case INTEGER:
        *(int *)at =
            (int)kf_json_integer_or(reader, l->name, (int64_t)l->low, (int64_t)l->high, *(int *)at);
        break;
    case BOOLEAN: *(bool *)at = kf_json_boolean_or(reader, l->name, *(bool *)at); break;
    case WORD: {
        /* Enums are ints here, as the assertion below checks. */
        int value = *(const int *)at;
        if (read_word(reader, l, &value)) *(int *)at = value;
        break;
    }
    }
}
_Static_assert(sizeof(kf_parents) == sizeof(int) && sizeof(kf_edit_policy) == sizeof(int),
               "words are read and written as int");

bool kf_strategy_read(const cJSON *json, const char *where, kf_strategy *strategy, kf_error *error)
{
    kf_json_reader reader = kf_json_object(json, where, "", error);
    const char *like = kf_json_string_or(&reader, "like", NULL);
    const kf_strategy *base = kf_strategy_named(like ? like : "sample");
    if (!base) {
        const char *const *names = kf_strategy_names();
        const char *near = kf_nearest(like, names, ROWS);
        return kf_json_complain(&reader, "like", "no strategy \"%.40s\"%s%s", like,
                                near ? "; did you mean " : "", near ? near : "");
    }
    *strategy = *base;
    /* A missing weight means no such requests. */
    if (!like) strategy->propose.draft = 0;
    const char *name = kf_json_string_or(&reader, "name", "");
    snprintf(strategy->name, sizeof strategy->name, "%s", *name ? name : "own");
    for (size_t i = 0; i < LEVERS; i++) read_lever(&reader, &levers[i], strategy);
    if (!kf_json_finish(&reader)) return false;
    return kf_strategy_calls_models(strategy) || strategy->propose.tune > 0 ||
           kf_json_complain(&reader, NULL,
                            "the strategy proposes nothing: set one of draft, improve, contrast, "
                            "crossover, rethink, critic, tune");
}

static bool is_path(const char *text)
{
    size_t size = strlen(text);
    return strchr(text, '/') || (size > 5 && strcmp(text + size - 5, ".json") == 0);
}

bool kf_strategy_load(const char *text, kf_strategy *strategy, kf_error *error)
{
    const kf_strategy *named = kf_strategy_named(text);
    if (named) {
        *strategy = *named;
        return true;
    }
    if (!is_path(text)) {
        const char *near = kf_nearest(text, kf_strategy_names(), ROWS);
        return kf_fail(error, KF_ERROR_INPUT,
                       "no strategy \"%.60s\"%s%s; strategies are auto, sample, evolve, contrast, "
                       "critic, fsr, agent, tune, or FILE.json",
                       text, near ? "; did you mean " : "", near ? near : "");
    }
    size_t size;
    kf_autofree char *json_text = kf_file_read(text, FILE_BYTES, &size, error);
    kf_auto(cJSON) json = json_text ? kf_json_parse(json_text, size, 0, text, error) : NULL;
    return json && kf_strategy_read(json, text, strategy, error);
}

cJSON *kf_strategy_json(const kf_strategy *strategy)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    bool complete = cJSON_AddStringToObject(json, "name", strategy->name);
    for (size_t i = 0; i < LEVERS && complete; i++) {
        const lever *l = &levers[i];
        const void *at = field(strategy, l);
        switch (l->type) {
        case NUMBER: complete = cJSON_AddNumberToObject(json, l->name, *(const double *)at); break;
        case INTEGER: complete = cJSON_AddNumberToObject(json, l->name, *(const int *)at); break;
        case BOOLEAN: complete = cJSON_AddBoolToObject(json, l->name, *(const bool *)at); break;
        case WORD:
            complete = cJSON_AddStringToObject(json, l->name, l->words[*(const int *)at]);
            break;
        }
    }
    return complete ? kf_steal(&json) : NULL;
}
