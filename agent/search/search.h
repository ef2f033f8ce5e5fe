/* The search behind `kforge optimize`: proposes candidates, has them judged, stores what came of
 * it, and decides what to try next.
 *
 * Who proposes: the task itself (its baseline and seeds, each at its defaults), the tuner (points
 * of sources with tunables), models (first drafts, repairs, improvements).
 * docs/internals/architecture.md, "Search", says in which order and why.
 *
 * Every attempt is one transaction of the store together with the state of the search, so that a
 * run goes on after kill -9 with no finished verdict lost. What is decided depends on the run's
 * seed and on the sequence of results alone: with one worker and replayed models a run that was
 * interrupted proposes what it would have proposed.
 */
#ifndef KFORGE_SEARCH_H
#define KFORGE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/job.h"
#include "kforge/store.h"
#include "kforge/task.h"
#include "strategy.h"
#include "workers.h"

#define KF_SEARCH_MODELS 16

/* Budgets are a run's, its sessions added up. 0: none. */
typedef struct kf_search_budget {
    double seconds;
    int64_t candidates; /* judged, measuring again not counted */
    double cost_usd;
    int64_t tokens;   /* prompt and reply; estimated where a provider does not say */
    int64_t requests; /* to models over the network, retries included; calls of the others */
    /* in which workers held their devices for judging, builds included, measuring again, too */
    double device_seconds;
} kf_search_budget;

typedef struct kf_search_settings {
    uint64_t seed;
    const char *const *models; /* specs of llm.h; none: the tuner alone */
    size_t model_count;
    /* calls in proportion to the models' weights; else a bandit decides (search_ensemble.c) */
    bool by_share;
    bool anew;            /* judges what other runs have judged, too: a run that is repeated */
    kf_strategy strategy; /* its name "": auto */
    const char *prompts;  /* folder of templates that replace the built-in ones, or NULL */
    int calls;            /* model calls in flight; 0: as many as workers */
    kf_search_budget budget;
    /* of one candidate's timing while searching, and when measured again; 0: 0.6 and 3 */
    double timing_seconds, verify_seconds;
    double half_width;      /* stopping rule while searching; 0: 0.03 */
    double timeout_seconds; /* of one candidate; 0: 30 */
    bool strict_sandbox;
    /* the tuner tries the compiler flags that a source declares, none of its own */
    bool declared_flags;
    const char *baseline; /* named alternative, or NULL */
    const char *counters; /* hardware counters of every correct candidate (kforge/counters.h), or
                             NULL: of the best ones, on a GPU */
    /* that workers have to have: "cpu", "cuda", "cuda:1"; NULL or "": any. No part of a run's
     * options */
    const char *device;
    /* Of a benchmark (bench.h): replies of models to draw, whatever becomes of them; 0: as many as
     * the budget allows. A strategy of independent drafts then begins with the models instead of
     * baseline and seeds. And what the run belongs to, carried along; borrowed, NULL none. */
    int64_t samples;
    const cJSON *bench;
} kf_search_settings;

typedef struct kf_search_progress {
    char run[KF_RUN_ID];
    char hardware[256]; /* "": no worker has said hello yet */
    int64_t attempts, judged, correct, calls, tokens, requests;
    size_t in_flight, calls_in_flight;
    int64_t best; /* candidate, 0 none */
    kf_interval best_speedup;
    bool best_reverified;
    double elapsed, cost_usd, device_seconds;
    kf_search_budget budget;
    bool ending; /* no new work: running verdicts are waited for, or the best is measured again */
} kf_search_progress;

typedef enum kf_search_event {
    KF_SEARCH_TICK,    /* nothing new; some ten times a second */
    KF_SEARCH_STARTED, /* the run has an id */
    KF_SEARCH_ATTEMPT, /* an attempt was stored; `text` says which and how it ended */
    KF_SEARCH_BEST,    /* a new best, not measured again yet */
    KF_SEARCH_VERIFIED,
    KF_SEARCH_NEWS, /* a worker or a model failed */
    /* something that the user had better know; of several searches with the same settings it need
       be said of one only */
    KF_SEARCH_ADVICE,
} kf_search_event;

typedef struct kf_search_observer {
    void (*notify)(void *context, kf_search_event event, const kf_search_progress *progress,
                   const char *text);
    void *context;
} kf_search_observer;

typedef enum kf_search_end {
    KF_SEARCH_CONVERGED,
    KF_SEARCH_SPENT,
    KF_SEARCH_INTERRUPTED,
    KF_SEARCH_STOPPED
} kf_search_end;

typedef struct kf_search_result {
    kf_search_end end;
    kf_error why; /* one line: what ended it */
    /* STOPPED: with samples of a bench, which are judged when it goes on */
    bool machine_failed;
    kf_search_progress progress; /* its `best` is the best candidate but for the baseline itself */
} kf_search_result;

/* Starts a run on `task`, or goes on with `run` (NULL: a new one; its seed, models and options then
 * come from `settings`, which the caller has filled from the stored options). *interrupts as in
 * kf_invocation. True when the run ended in an orderly way, which *result says; false with an error
 * when it could not start or go on (store, workers, models); what was found until then is in the
 * store and in *result. */
bool kf_search_run(kf_store *store, const kf_task *task, const char *run,
                   const kf_search_settings *settings, kf_workers *workers,
                   const volatile int *interrupts, const kf_search_observer *observer,
                   kf_search_result *result, kf_error *error);

/* What a search would send next: of `run` (NULL: of a new run on the task), judged on `hardware` in
 * words. `step` NULL: what the strategy chooses; else "draft", "contrast", … with parents from the
 * run. `store` may be NULL without a run. The caller frees the texts. */
typedef struct kf_search_preview_text {
    const char *step;
    char *system, *prompt;
} kf_search_preview_text;
bool kf_search_preview(kf_store *store, const kf_task *task, const char *run,
                       const kf_search_settings *settings, const char *hardware, const char *step,
                       kf_search_preview_text *text, kf_error *error);

/* The source of a stored candidate with the values of its tunables as its defaults, as models see
 * it and as it is handed out; malloc'd. */
char *kf_search_source(kf_store *store, const char *run, int64_t candidate, kf_error *error);
/* What a model is called in the store and in reports: its spec without frozen prices and without
 * the command of an exec; malloc'd. */
char *kf_search_model_name(const char *spec);
/* What kf_store calls the device that verdicts are compared on: what a judge says of itself
 * (kf_judge_environment_id), and which baseline when it is not the task's own; malloc'd. A verdict
 * that was made under other words does not count: its candidate is measured again, and both stay.
 */
char *kf_search_environment_id(const char *judged, const char *baseline);
/* The settings that decide what a run does, as JSON for the store, and back (texts point into
 * *memory, which the caller frees with cJSON_Delete). */
char *kf_search_options_json(const kf_search_settings *settings);
bool kf_search_options_read(const char *text, kf_search_settings *settings,
                            const char *models[KF_SEARCH_MODELS], cJSON **memory, kf_error *error);

#endif
