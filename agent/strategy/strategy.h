/* Strategies. One loop serves all of them. A strategy is a struct of settings, the levers. A named
 * strategy is a row of values (strategy.c). A user's own is a JSON file with the same keys. A
 * missing key has the value of `sample`, or of the strategy that "like" names.
 * agent/search/README.md explains the levers and the sources of the named settings.
 *
 * A run stores its strategy as JSON, so a later change of the table does not affect it.
 */
#ifndef KFORGE_AGENT_STRATEGY_H
#define KFORGE_AGENT_STRATEGY_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"
#include "population.h"

#define KF_EXEMPLARS 8

typedef enum kf_edit_policy {
    KF_EDIT_NEVER,
    KF_EDIT_LARGE,
    KF_EDIT_ALWAYS,
    KF_EDIT_COUNT
} kf_edit_policy;

/* Which requests a model gets, and how often the tuner works. */
typedef struct kf_proposer_levers {
    /* Weights of the kinds of request when no request is due. */
    double draft, improve, contrast, crossover, rethink, critic;
    /* first drafts, before any other request */
    int drafts;
    /* Weights follow the success of each kind of request. */
    bool adapt;
    /* of one failing candidate, of its repair, and so on */
    int repairs;
    /* Repairs the last candidate of a round, and only if the whole round failed. */
    bool repair_rounds;
    /* A critic diagnoses the failure before the repair. */
    bool critic_repairs;
    /* points of the tuner between two candidates of models */
    int tune;
    /* least share of the best that a source must reach to be tuned */
    double tune_above;
    /* requests from the same parent */
    int round;
    /* candidates without a gain before another algorithm is requested; 0: never */
    int plateau;
    /* least ratio of a new best to the old that counts as a gain */
    double gain;
} kf_proposer_levers;

/* What a prompt shows. */
typedef struct kf_context_levers {
    /* of contrast and of improvements */
    int exemplars;
    /* temperature and width of a bucket for the choice of exemplars, in octaves of speedup */
    double tau, width;
    /* candidates that were correct and slower than their parent */
    int negatives;
    /* moves that paid or failed */
    int notes;
    /* candidates of models between two summaries of the notes; 0: never */
    int summary;
    /* the best candidate, and the measurements of the parent */
    bool best, figures;
    /* most tokens of a prompt */
    int tokens;
} kf_context_levers;

/* How parents are drawn. */
typedef struct kf_survivor_levers {
    kf_parents parents;
    /* of KF_PARENTS_POWER */
    double exponent;
    /* size of a tournament */
    int tournament;
    /* number of best candidates to draw from; 0: all */
    int beam;
    int islands;
    /* candidates of models between two migrations; 0: never */
    int migrate;
    /* share of parents that are drawn from the grid of elites instead */
    double grid;
    /* failing children in a row that exclude a parent; 0: never */
    int prune;
} kf_survivor_levers;

/* When the search stops. */
typedef struct kf_stop_levers {
    /* share of the physical limit that the best has reached; 0: never */
    double floor;
    /* candidates of models without a gain; 0: never */
    int after;
    /* expected improvement of the best by the next candidate, as a share of it; 0: never */
    double gain;
} kf_stop_levers;

typedef struct kf_strategy {
    char name[64];
    kf_proposer_levers propose;
    kf_context_levers context;
    /* search/replace edits: never, for large parents, always */
    kf_edit_policy edits;
    kf_survivor_levers survivors;
    kf_stop_levers stop;
} kf_strategy;

/* Returns the named strategy, or NULL. */
const kf_strategy *kf_strategy_named(const char *name);
/* Returns the names in order, NULL at the end. */
const char *const *kf_strategy_names(void);
/* Returns a description in one line. */
const char *kf_strategy_summary(const char *name);
/* Reads a strategy by name or from a JSON file (its path has a '/' or ends in ".json"). Errors name
 * the file and the key. */
bool kf_strategy_load(const char *name_or_file, kf_strategy *strategy, kf_error *error);
/* Reads a strategy from parsed JSON; errors call it `where`. */
bool kf_strategy_read(const cJSON *json, const char *where, kf_strategy *strategy, kf_error *error);
/* Returns all keys; NULL without memory. */
cJSON *kf_strategy_json(const kf_strategy *strategy);

/* True if all candidates are independent samples: drafts of the task alone. */
bool kf_strategy_is_independent(const kf_strategy *strategy);
/* True if the strategy calls models at all. */
bool kf_strategy_calls_models(const kf_strategy *strategy);

/* Describes one lever, for documentation; false past the end. */
typedef struct kf_lever {
    const char *group, *name, *values, *help;
} kf_lever;
bool kf_strategy_lever(size_t index, kf_lever *lever);

#endif
