/* Strategies: one loop, whose levers are the fields of one struct. A named strategy is a row of
 * values (strategy.c); a user's own is a JSON file with the same keys, in which a key that is left
 * out has the value of `sample`, or of the strategy that "like" names. docs/internals/search.md
 * explains the levers and where the named settings come from.
 *
 * A run stores its strategy as JSON, so that it goes on with what it began with whatever the table
 * says by then.
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

typedef struct kf_strategy {
    char name[64];
    /* Who proposes. Weights of what a model is asked for when nothing else is due. */
    double draft, improve, contrast, crossover, rethink, critic;
    int drafts;          /* first drafts, before anything else is asked for */
    bool adapt;          /* weights follow what each kind of request has brought */
    int repairs;         /* of one failing candidate, of its repair, and so on */
    bool repair_rounds;  /* only when a whole round failed, and then its last candidate */
    bool critic_repairs; /* a critic says what is wrong before the repair is asked for */
    int tune;            /* points of the tuner between two candidates of models */
    double tune_above;   /* only sources that reach this share of the best are tuned */
    int round;           /* requests from the same parent before another one is drawn */
    /* candidates without a gain before another algorithm is asked for; 0 never */
    int plateau;
    double gain; /* what counts as a gain: new best over old */
    /* What models see. */
    int exemplars; /* of contrast, and of improvements */
    /* contrast: temperature and width of a bucket, both in octaves of speedup */
    double tau, width;
    int negatives;      /* candidates that were correct and slower than their parent */
    int notes;          /* moves that paid or failed */
    int summary;        /* candidates of models between two summaries of them; 0 never */
    bool best, figures; /* the best candidate; what was measured of the parent */
    int tokens;         /* most tokens of a prompt */
    /* How they edit. */
    kf_edit_policy edits; /* search/replace edits: never, where the parent is large, always */
    /* Who survives. */
    kf_parents parents;
    double exponent; /* of power */
    int tournament;  /* size of a tournament */
    int beam;        /* only the best so many; 0 all */
    int islands;
    int migrate; /* candidates of models between two migrations; 0 never */
    double grid; /* share of parents that are drawn from the grid of elites instead */
    int prune;   /* failing children in a row that end a parent; 0 never */
    /* When to stop. */
    double stop_floor; /* share of the physical limit that the best has reached; 0 never */
    int stop_after;    /* candidates of models without a gain; 0 never */
    /* what the next candidate is expected to add to the best, as a share of it; 0 never */
    double stop_gain;
} kf_strategy;

/* By name; NULL: there is none. */
const kf_strategy *kf_strategy_named(const char *name);
/* The names in order, NULL at the end. */
const char *const *kf_strategy_names(void);
/* What each is, one line. */
const char *kf_strategy_summary(const char *name);
/* A name, or a path to a JSON file (it has a '/' or ends in ".json"). Errors name the file and the
 * key. */
bool kf_strategy_load(const char *name_or_file, kf_strategy *strategy, kf_error *error);
/* The same from parsed JSON; `where` names it in errors. */
bool kf_strategy_read(const cJSON *json, const char *where, kf_strategy *strategy, kf_error *error);
cJSON *kf_strategy_json(const kf_strategy *strategy); /* all keys; NULL when out of memory */

/* Nothing but drafts of the task alone: its candidates are independent samples of a model. */
bool kf_strategy_is_independent(const kf_strategy *strategy);

/* One lever, for documentation. False past the end. */
typedef struct kf_lever {
    const char *group, *name, *values, *help;
} kf_lever;
bool kf_strategy_lever(size_t index, kf_lever *lever);

#endif
