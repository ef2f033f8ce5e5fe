/* The search of `kforge optimize`: proposes candidates, has them judged, stores the attempts,
 * and decides what comes next.
 *
 * Candidates come from the task (its baseline and seeds, each at its defaults), from the tuner
 * (points of sources with tunables), and from models (first drafts, repairs, improvements).
 * README.md says in which order and why.
 *
 * Each attempt is one transaction of the store together with the state of the search, so a run
 * goes on after kill -9 without losing a verdict. Decisions depend on the run's seed and the
 * results alone. With one worker and replayed models, an interrupted run proposes the same
 * candidates as an uninterrupted one. */
#ifndef KFORGE_SEARCH_H
#define KFORGE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "event_stream.h"
#include "kforge/job.h"
#include "kforge/store.h"
#include "kforge/task.h"
#include "strategy.h"
#include "workers.h"

#define KF_SEARCH_MODELS 16

/* Limits of all sessions of a run together. 0: no limit. */
typedef struct kf_search_budget {
    /* of the whole run, measuring again included (search_budget.c) */
    double seconds;
    /* judged, of models, tuner and task, without measuring again */
    int64_t candidates;
    /* of models, of any use */
    int64_t replies;
    double cost_usd;
    /* of prompts and replies; estimated if a provider does not report them */
    int64_t tokens;
    /* requests over the network with retries, and calls of other models */
    int64_t requests;
    /* that workers held their devices: builds and measuring again included */
    double device_seconds;
} kf_search_budget;

typedef struct kf_search_settings {
    uint64_t seed;
    /* specs of llm.h; without any the tuner works alone */
    const char *const *models;
    size_t model_count;
    /* Calls are shared by the models' weights; else a bandit decides (search_choose_model.c). */
    bool by_share;
    /* Judges also candidates with a verdict of another run, as a replay does. */
    bool anew;
    /* with the name "": auto */
    kf_strategy strategy;
    /* folder of templates that replace the built-in ones, or NULL */
    const char *prompts;
    /* most calls in flight; 0: the number of workers */
    int calls;
    kf_search_budget budget;
    /* for timing one candidate during the search, and when it is measured again; 0: 0.6 and 3 */
    double timing_seconds, verify_seconds;
    /* half width of the interval at which timing stops during the search; 0: 0.03 */
    double half_width;
    /* for one candidate; 0: 30 */
    double timeout_seconds;
    bool strict_sandbox;
    /* The tuner tries only the compiler flags that a source declares. */
    bool declared_flags;
    /* name of another baseline of the task, or NULL */
    const char *baseline;
    /* hardware counters of every correct candidate (kforge/counters.h); NULL: of the best ones,
     * on a GPU */
    const char *counters;
    /* device that workers must have: "cpu", "cuda", "cuda:1"; NULL or "": any. Not stored with
     * the run. */
    const char *device;
    /* For a benchmark (bench.h). `samples`: replies to draw; 0: as many as the budget allows. A
     * strategy of independent drafts then skips baseline and seeds. `bench`: data that is
     * stored with the run; borrowed, or NULL. */
    int64_t samples;
    const cJSON *bench;
    /* W3C trace context that a new run is stored with; "" or NULL: no context */
    const char *traceparent;
} kf_search_settings;

typedef struct kf_search_progress {
    char run[KF_RUN_ID];
    /* "": no worker is connected yet */
    char hardware[256];
    int64_t attempts, judged, correct, calls, replies, tokens, requests;
    /* replies without a candidate, and candidates that count by a verdict of an earlier run */
    int64_t useless, known;
    size_t in_flight, calls_in_flight;
    /* candidate; 0: there is no best yet */
    int64_t best;
    kf_interval best_speedup;
    bool best_reverified;
    /* of the baseline as its own candidate; NaN: not measured yet */
    kf_interval baseline;
    double elapsed, cost_usd, device_seconds;
    /* since the start of the oldest job in flight, and the mean of jobs before; 0: not known */
    double judging, usual;
    /* A model did not report the cost of a reply. */
    bool cost_unknown;
    kf_search_budget budget;
    /* No new work starts. The search waits for verdicts, or measures the best again. */
    bool ending;
} kf_search_progress;

/* Most bytes of printed news that are kept, to print no text twice. */
#define KF_NEWS_KEPT 65536

typedef enum kf_search_event {
    /* no news, about ten times a second */
    KF_SEARCH_TICK,
    /* The run has an id. */
    KF_SEARCH_STARTED,
    /* An attempt was stored; `text` describes it. */
    KF_SEARCH_ATTEMPT,
    /* a new best, or a candidate that seems faster: not measured again yet */
    KF_SEARCH_BEST,
    /* A candidate was measured again: it is confirmed, or not. */
    KF_SEARCH_VERIFIED,
    /* A worker or a model failed. */
    KF_SEARCH_NEWS,
    /* Advice for the user. Of several searches with the same settings, one report is enough. */
    KF_SEARCH_ADVICE,
} kf_search_event;

typedef struct kf_search_observer {
    void (*notify)(void *context, kf_search_event event, const kf_search_progress *progress,
                   const char *text);
    void *context;
    /* receives the run's events; or NULL */
    kf_event_stream *events;
} kf_search_observer;

typedef enum kf_search_end {
    KF_SEARCH_CONVERGED,
    KF_SEARCH_SPENT,
    KF_SEARCH_INTERRUPTED,
    KF_SEARCH_STOPPED
} kf_search_end;
/* Returns "converged", "spent", "interrupted" or "stopped". */
const char *kf_search_end_name(kf_search_end end);

typedef struct kf_search_result {
    kf_search_end end;
    /* what ended it, in one line */
    kf_error why;
    /* STOPPED because the machine failed with samples of a benchmark, which are judged after a
     * resume */
    bool machine_failed;
    /* Models were asked, and no reply came, or none with a usable source. */
    bool models_silent;
    /* To resume the run is of no use; the time of the budget is used up, or
     * too short to measure a candidate again; a resumed run has
     * candidates or replies to judge. */
    bool settled, time_spent, open;
    /* what the end of the time left out; "": nothing. The candidate of it that was not measured
     * again; 0: none */
    kf_error left_out;
    int64_t unmeasured;
    /* model replies with a candidate that had been judged before */
    int64_t repeated;
    /* what to check in the task, since a candidate is faster than the bound allows; "": nothing */
    kf_error question;
    /* `best` is the first candidate by rank (kf_store_best) except for the baseline. */
    kf_search_progress progress;
} kf_search_result;

/* Starts a run on `task`, or resumes `run` if it is not NULL. Then the caller has filled
 * `settings` from the stored options. *interrupts is as in kf_invocation. True if the run ended
 * in order, as *result says. False with an error if it could not start or go on (store,
 * workers, models). All results until then are in the store and in *result. */
bool kf_search_run(kf_store *store, const kf_task *task, const char *run,
                   const kf_search_settings *settings, kf_workers *workers,
                   const volatile int *interrupts, const kf_search_observer *observer,
                   kf_search_result *result, kf_error *error);

/* Shows the next request of `run` (NULL: of a new run on the task), for the device `hardware`
 * in words. `step` NULL: as the strategy chooses; else "draft", "contrast", … with parents from
 * the run. `store` may be NULL without a run. The caller frees the texts. */
typedef struct kf_search_preview_text {
    const char *step;
    char *system, *prompt;
} kf_search_preview_text;
bool kf_search_preview(kf_store *store, const kf_task *task, const char *run,
                       const kf_search_settings *settings, const char *hardware, const char *step,
                       kf_search_preview_text *text, kf_error *error);

/* A start of a run: its first one, or a resume. */
typedef struct kf_run_start {
    /* seconds since the run began, pauses included */
    double after;
    /* seconds that the run took before this start */
    double elapsed;
} kf_run_start;

/* How long a run took, as --time counts it: pauses before a resume do not count. */
typedef struct kf_run_time {
    /* seconds since 1970 */
    double began;
    /* seconds of the whole run, or until the time was read if the run goes on */
    double seconds;
    /* False for a run without a search: then `seconds` reaches from its start to its end. */
    bool counted;
    /* sorted; the first has `elapsed` 0 */
    kf_run_start *starts;
    size_t start_count;
} kf_run_time;

bool kf_run_time_read(kf_store *store, const kf_store_run *run, kf_run_time *time, kf_error *error);
/* Returns how many seconds of the run had passed at a moment (seconds since 1970). */
double kf_run_time_at(const kf_run_time *time, double moment);
void kf_run_time_clear(kf_run_time *time);
#define kf_autotime __attribute__((cleanup(kf_run_time_clear)))

/* True if a second measurement does not confirm the first one of a candidate: it failed, the two
 * measurements disagree, or the second figure is clearly lower. */
bool kf_search_refutes(kf_interval first, kf_status status, bool reverified, kf_interval second);
/* Returns the source of a stored candidate with the values of its tunables as defaults, as
 * models and users see it; malloc'd. */
char *kf_search_source(kf_store *store, const char *run, int64_t candidate, kf_error *error);
/* Returns the name of models[index] for the store and for reports, malloc'd: its spec without
 * frozen prices and without the command of an exec. The second model of a name is "NAME (2)". */
char *kf_search_model_name(const char *const *models, size_t index);
/* Returns the key under which verdicts are comparable, malloc'd: the judge's environment
 * (kf_judge_environment_id), and the baseline if it is not the task's own. A candidate with a
 * verdict under another key is measured again. Both verdicts stay. */
char *kf_search_environment_id(const char *judged, const char *baseline);
/* Sets *hold to kf_job_limits_hold of a stored candidate's verdict. */
bool kf_search_limits_hold(kf_store *store, const kf_store_candidate *known,
                           const kf_job_options *options, bool *hold, kf_error *error);
/* Writes the settings that decide what a run does as JSON for the store, and reads them back.
 * Texts then point into *memory, which the caller frees with cJSON_Delete. */
char *kf_search_options_json(const kf_search_settings *settings);
bool kf_search_options_read(const char *text, kf_search_settings *settings,
                            const char *models[KF_SEARCH_MODELS], cJSON **memory, kf_error *error);

#endif
