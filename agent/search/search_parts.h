/* The parts of a search's state (kf_search in search_internal.h), each with the file that works on
 * it. */
#ifndef KFORGE_SEARCH_PARTS_H
#define KFORGE_SEARCH_PARTS_H

#include "bandit.h"
#include "budget.h"
#include "kforge/hash.h"
#include "llm.h"
#include "population.h"
#include "search.h"
#include "search_step.h"
#include "strategy.h"
#include "tuner.h"

/* most sources with tunables that are kept */
#define KF_TUNABLE_SOURCES 256
/* of a model's description of its change */
#define KF_MOVE_BYTES 400
/* most candidates that wait to be measured again for their interval */
#define KF_VAGUE 16
/* latest candidates that were slower than their parent and are remembered */
#define KF_NEGATIVES 32

/* ---- search_tunable_sources.c ---------------------------------------------------------------- */

/* A source with its tunables. */
typedef struct kf_tunable_source {
    /* name: "baseline", the seed's file, or the step that made it */
    char *source, *name;
    size_t size;
    /* of the source */
    char hash[KF_HASH_HEX];
    /* hash of the canonical source, computed at first use; "": not known */
    char form[KF_HASH_HEX];
    bool formed;
    kf_tune_space *space;
    /* NULL: there is nothing to tune */
    kf_tuner *tuner;
    kf_tune_point initial;
    /* the candidate at the initial point; 0: not stored yet */
    int64_t base;
    /* the initial point has a verdict */
    bool settled;
    /* speedup; NaN: no correct point yet */
    double best;
    /* proposed by its tuner */
    int64_t points;
    int in_flight;
    /* the tuner has no points left */
    bool exhausted;
} kf_tunable_source;

typedef struct kf_tunable_sources {
    kf_tunable_source *items[KF_TUNABLE_SOURCES];
    size_t count;
    /* The first `defaults` items are baseline and seeds; `next_default` of them were proposed. */
    size_t defaults, next_default;
    int64_t baseline_candidate;
    /* points that the tuner may still propose before the next reply is used */
    int quota;
} kf_tunable_sources;

/* ---- search_jobs.c, search_proposals.c ------------------------------------------------------- */

/* What a model's call is about, and the candidate that its reply became. */
typedef struct kf_origin {
    kf_step step;
    /* index among the models; -1: of no model */
    int model;
    int64_t parent;
    /* repairs between the candidate and a first attempt; 0: it is no repair */
    int depth;
    int island;
    /* exemplars, the slowest first, or the other parent of a crossover */
    int64_t others[KF_EXEMPLARS];
    int other_count;
    /* the stored call; 0: no call, or still in flight */
    int64_t call;
    /* 1, 2, … in the order in which the replies of the run came; 0: not known */
    int64_t number;
    /* of the call; NaN: not known */
    double cost_usd;
} kf_origin;

/* The question of an agent to which a proposal is the answer. */
typedef struct kf_asked {
    /* kf_call.tag; 0: there was no question */
    int64_t tag;
    int64_t id;
    kf_llm_wish wish;
} kf_asked;

/* A candidate that is being judged, or waits for it. */
typedef struct kf_proposal {
    struct kf_proposal *next;
    int64_t ticket;
    kf_origin origin;
    /* NULL: to be measured again */
    kf_tunable_source *tunable;
    kf_tune_point point;
    char *source;
    size_t size;
    char *flags[KF_MAX_TUNE_FLAGS];
    int flag_count;
    /* when the job was submitted */
    double started;
    /* the stored candidate that is measured again; 0: a new one */
    int64_t candidate;
    /* the number that the next attempt had at the time of the proposal */
    int64_t began;
    /* how often it was judged without a usable verdict */
    int retries;
    /* what its model says it changed; "": nothing */
    char move[KF_MOVE_BYTES];
    /* as kf_store_attempt_new.form; "": not known */
    char form[KF_HASH_HEX];
    /* it was in flight when the run was left */
    bool again;
    /* It was built, and its binary was judged before. */
    bool same_code;
    /* of a candidate that is measured again: its earlier figure */
    kf_interval claimed;
    kf_asked asked;
} kf_proposal;

typedef struct kf_search_jobs {
    /* common to all jobs of the run */
    kf_job *template;
    /* part of job ids: separates answers to this session from answers to earlier ones */
    char session[16];
    /* the last number given to a job or a call */
    int64_t last_ticket;
    kf_proposal *in_flight;
    /* waiting to be judged once more, or to be submitted after a resume */
    kf_proposal *retries;
    /* how often a baseline or seed was withdrawn */
    int defaults_open;
    /* Samples of a benchmark with which the machine failed. They are judged when the run is
     * resumed. */
    kf_proposal *postponed;
    /* why the last of them was postponed */
    kf_error postponed_why;
    /* jobs in a row that workers refused */
    int refusals;
} kf_search_jobs;

/* ---- search_models.c, search_choose_model.c -------------------------------------------------- */

typedef struct kf_model {
    char *spec, *name;
    kf_llm *llm;
    /* its place in the settings, and in kf_models.probes */
    size_t given;
    /* stored */
    int64_t calls;
    /* in a row: failed calls, calls without a candidate, known candidates */
    int failures, useless, repeats;
    /* It has replied once. */
    bool answered;
    /* It gets no more calls. */
    bool exhausted;
    /* after a failure: no call before this time */
    double not_before;
    /* why its last reply was useless, for its next prompt */
    char *note;
    /* why its last call or request failed */
    kf_error cause;
    /* The kinds of failures that the user has seen, and of reasons to wait for a first reply. */
    char *failure, *trouble;
    /* rewards and costs so far */
    kf_bandit_arm arm;
} kf_model;

/* The small question to a model of the settings (search_probes.c). */
typedef struct kf_probe {
    /* an object of its own; NULL: no question is open */
    kf_llm *llm;
    /* the server is asked only for its list of models */
    bool listing;
    /* why the model refused it; malloc'd, or NULL */
    char *refusal;
} kf_probe;

typedef struct kf_models {
    kf_model items[KF_SEARCH_MODELS];
    size_t count;
    kf_probe probes[KF_SEARCH_MODELS];
    /* kf_now when the last model refused; 0: not all did */
    double refused_at;
    /* A bit for each model that is paused. It depends on the time, so it is set once for each
     * call. */
    uint64_t paused;
    char *system_text;
    /* of all models; reservations of calls in flight included */
    kf_budget budget;
    /* As many calls of models without episodes are in flight as may be. */
    bool full;
    /* The budget has no room for another request. */
    bool budget_spent;
    /* after a resume: the limits (money, tokens, requests) under which it was spent */
    int64_t spent_limits[3];
    /* The user knows that a model does not report its cost. */
    bool costless_reported;
    /* The last model failed too often. */
    bool gone;
    /* why no model gets calls */
    kf_error why;
} kf_models;

/* ---- search_calls.c, search_pending_calls.c, search_replies.c -------------------------------- */

/* A request to a model, or its reply that waits to be used. */
typedef struct kf_call {
    struct kf_call *next;
    int64_t tag;
    kf_origin origin;
    /* the stored call with the diagnosis to follow; 0: no diagnosis */
    int64_t critic;
    /* A due request led to it, which is due again if the call fails to start. */
    bool due;
    char *prompt;
    double temperature;
    /* kf_search_position when the request was sent */
    int64_t sent_at;
    /* kf_models.paused at that time */
    uint64_t paused;
    /* the reply */
    char *text;
    size_t size;
    /* at the token limit */
    bool truncated;
    /* after a resume: its model has not got it again yet */
    bool unsent;
    /* of an episode: the candidate that was judged last; 0: still the parent */
    int64_t last;
} kf_call;

/* A question of an agent that waits for a worker. */
typedef struct kf_agent_question {
    struct kf_agent_question *next;
    int model;
    kf_llm_question asked;
} kf_agent_question;

/* A request that has to be made: a repair, a summary, or a candidate that follows a diagnosis. */
typedef struct kf_due {
    struct kf_due *next;
    kf_step step;
    int64_t candidate, critic;
    /* -1: any model */
    int model;
    /* as in kf_origin */
    int depth, island;
} kf_due;

typedef struct kf_calls {
    kf_call *in_flight;
    /* waiting to be used, the first one first */
    kf_call *replies;
    kf_due *dues;
    /* the first one first */
    kf_agent_question *questions;
    /* replies of proposers, usable or not: what settings->samples counts */
    int64_t answered;
} kf_calls;

/* ---- search_convergence.c, search_choose_request.c ------------------------------------------- */

/* A judged attempt. */
typedef struct kf_outcome {
    kf_step step;
    /* 0: no candidate */
    int64_t candidate, parent;
    int island;
    bool of_model;
    kf_status status;
    kf_blame blame;
    /* NaN: no time */
    double speedup;
    /* of the physical limit; 0: unknown */
    double floor_share;
    /* of the grid of elites; "": no cell */
    const char *cell;
} kf_outcome;

/* The round of requests from one parent; stored in the run's state. */
typedef struct kf_round {
    kf_step step;
    int64_t parent;
    /* its last candidate that failed; 0: no failure */
    int64_t failed;
    int64_t requests, correct;
    /* rounds of repairs in a row */
    int64_t repairs;
} kf_round;

typedef struct kf_move_count {
    int64_t uses, paid;
} kf_move_count;

/* The results so far, as they matter for later requests. After a resume they are computed again
 * from the stored attempts, except for `round`. */
typedef struct kf_selection_state {
    kf_population *population;
    kf_move_count moves[KF_STEP_COUNT];
    /* judged candidates of models */
    int64_t model_candidates;
    /* those since the last gain */
    int64_t since_gain;
    /* speedup of the best; its share of the physical limit once it was measured again, else 0 */
    double gain_best, floor_share;
    /* The verified best is at the physical limit, and above it, in words; "": it is not. */
    char at_floor[96], above_floor[200];
    /* exponentially weighted mean of the natural logarithm of gains */
    double gain_mean;
    int64_t negatives[KF_NEGATIVES];
    int64_t negative_count;
    kf_round round;
} kf_selection_state;

/* ---- search_verify.c ------------------------------------------------------------------------- */

typedef struct kf_tries {
    int64_t candidate;
    int count;
} kf_tries;

typedef struct kf_verification {
    /* how often candidates were measured again */
    kf_tries *tries;
    size_t tries_count;
    int64_t judged_since;
    /* speedup of the best candidate that was measured again; 0: not yet */
    double best;
    /* candidates with an interval that says nothing, to be measured again */
    int64_t vague[KF_VAGUE];
    size_t vague_count;
    /* in a row: measured again, and the interval still says nothing */
    int vague_again;
    /* seconds that the longest of this session took */
    double longest;
} kf_verification;

/* ---- search_budget.c ------------------------------------------------------------------------- */

typedef struct kf_run_clock {
    /* kf_now at the start of this session; 0: before it */
    double started;
    /* kf_now at its end; 0: before it */
    double ended;
    /* seconds of earlier sessions */
    double elapsed_before;
    /* start of the run in seconds since 1970 */
    double began;
    /* of the whole run, this start last */
    kf_run_start *starts;
    size_t start_count;
    /* The user knows how many candidates an earlier run judged. */
    bool known_reported;
    /* Nothing is left to do except to wait for models: the position was `idle_mark` twice in a row.
     */
    bool idle;
    int64_t idle_mark;
    /* kf_now since which the time for new candidates is used up, and that of the run; 0: it is not
     */
    double search_over, run_over;
} kf_run_clock;

/* ---- search_notes.c -------------------------------------------------------------------------- */

typedef struct kf_notes {
    /* the store with the notes of earlier runs, if the run is a replay; NULL: the run's store */
    kf_store *store;
    /* seconds since 1970: later notes of other runs do not count */
    double until;
} kf_notes;

/* ---- search_replay.c ------------------------------------------------------------------------- */

/* An attempt of the replayed run that counted by a verdict of another run. */
typedef struct kf_reused_verdict {
    /* of the candidate */
    char hash[KF_HASH_HEX];
    /* as kf_origin.number */
    int64_t number;
    kf_attempt_outcome outcome;
    int64_t verdict, candidate;
    kf_status status;
    kf_blame blame;
    kf_interval speedup;
} kf_reused_verdict;

/* What the replayed run found in its store. */
typedef struct kf_replay {
    kf_reused_verdict *reused;
    size_t reused_count;
} kf_replay;

#endif
