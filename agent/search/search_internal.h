/* The parts of the search: search.c (the loop), search_tunable_sources.c (sources and their
 * tuners), search_record.c (what goes into the store), search_verify.c (measuring the best again),
 * search_model.c (calls), search_ensemble.c (whose turn it is), search_choose.c (what a call asks
 * for), search_selection.c (what a judged candidate means for that), search_prompt.c and
 * search_context.c (what prompts say), search_notes.c (moves that paid or failed),
 * search_pending_calls.c (calls under way), search_state.c and search_rebuild.c (resuming),
 * search_replay_order.c (verdicts in the order of a run that is repeated), search_capacity.c (how
 * many workers there were in it). */
#ifndef KFORGE_SEARCH_INTERNAL_H
#define KFORGE_SEARCH_INTERNAL_H

#include "bandit.h"
#include "budget.h"
#include "kforge/buffer.h"
#include "kforge/hash.h"
#include "llm.h"
#include "prompt.h"
#include "tuner.h"
#include "population.h"
#include "search.h"
#include "strategy.h"

#define KF_TUNABLE_SOURCES 256 /* sources with tunables that are kept */
#define KF_EXHAUSTIVE 64       /* points up to which a source is tuned by trying them all */
#define KF_MODEL_FAILURES 5    /* calls in a row without a reply: the model is given up */
#define KF_MODEL_USELESS 8     /* replies in a row without a candidate: ditto */
#define KF_RETRIES 1           /* of a candidate whose verdict blames machine or judge */
#define KF_MODEL_REPEATS 40    /* candidates in a row that were judged before: ditto */
#define KF_NEGATIVES 32        /* latest candidates slower than their parent that are remembered */
#define KF_MOVE_BYTES 400      /* of what a model says it changed */
#define KF_REFUSALS 3          /* jobs in a row that workers refuse: the run ends */

typedef enum kf_step {
    KF_STEP_BASELINE,
    KF_STEP_SEED,
    KF_STEP_TUNE,
    KF_STEP_DRAFT,
    KF_STEP_IMPROVE,
    KF_STEP_REPAIR_BUILD,
    KF_STEP_REPAIR_WRONG,
    KF_STEP_CONTRAST,
    KF_STEP_CROSSOVER,
    KF_STEP_RETHINK,         /* another algorithm */
    KF_STEP_CRITIC_OPTIMISE, /* a diagnosis, no candidate */
    KF_STEP_CRITIC_REPAIR,
    KF_STEP_SUMMARY, /* what paid and what did not, no candidate */
    KF_STEP_VERIFY,
    KF_STEP_COUNT
} kf_step;
const char *kf_step_name(kf_step step);
bool kf_step_parse(const char *name, kf_step *step);

/* A source with its tunables. */
typedef struct kf_tunable_source {
    char *source, *name; /* name: "baseline", the seed's file, or the step that made it */
    size_t size;
    char hash[KF_HASH_HEX]; /* of the source */
    char form[KF_HASH_HEX]; /* of its normal form, once it was asked for; "" none */
    bool formed;
    kf_tune_space *space;
    kf_tuner *tuner; /* NULL: nothing to tune */
    kf_tune_point initial;
    int64_t base;   /* candidate at its initial point, 0 not stored yet */
    bool settled;   /* the initial point was judged, one way or the other */
    double best;    /* speedup, NaN none */
    int64_t points; /* proposed by its tuner */
    int in_flight;
    bool exhausted;
} kf_tunable_source;

/* A candidate on its way through a worker. */
typedef struct kf_proposal {
    struct kf_proposal *next;
    int64_t ticket;
    kf_step step;
    kf_tunable_source *arm; /* NULL for a model's until it is judged */
    kf_tune_point point;
    char *source;
    size_t size;
    char *flags[KF_MAX_TUNE_FLAGS];
    int flag_count;
    double started;    /* when a worker was given it */
    int64_t candidate; /* stored already: being measured again */
    int64_t parent;
    int model;            /* -1 none */
    int64_t began;        /* the number that the next attempt had when it was proposed */
    int64_t call, number; /* as in kf_call */
    double cost_usd;      /* of that call; NaN not known */
    int depth, retries;
    int island;
    int64_t others[KF_EXEMPLARS]; /* the candidates that it was shown beside the parent */
    int other_count;
    char move[KF_MOVE_BYTES]; /* what its model says it changed, "" nothing */
    char form[KF_HASH_HEX];   /* as kf_store_attempt_new.form, "" none */
    bool again;               /* it was under way when the run was left */
    /* the model wrote it in other words: a source of the same normal form stands for its reply */
    bool rewritten;
} kf_proposal;

typedef struct kf_model {
    char *spec, *name;
    kf_llm *llm;
    int64_t calls; /* stored */
    int failures, useless, repeats;
    bool exhausted;
    double not_before; /* after a failure */
    char *note;        /* why its last reply was of no use */
    kf_bandit_arm arm; /* what it has earned; weight and so on are filled in when one is chosen */
} kf_model;

/* A request to a model, or its reply that waits to be used: what it was about. */
typedef struct kf_call {
    struct kf_call *next;
    int64_t tag;
    int model;
    kf_step step;
    int64_t parent;
    int depth, island;
    /* exemplars, the slowest first; the other parent of a crossover */
    int64_t others[KF_EXEMPLARS];
    int other_count;
    int64_t critic; /* the stored call whose reply is the diagnosis to follow; 0 none */
    bool due;       /* asked for because it was due: it stays due when the call does not happen */
    char *prompt;
    int64_t call;   /* stored; 0 while in flight */
    int64_t number; /* 1, 2, … in the order in which the replies of the run came; 0 not known */
    double temperature, cost_usd;
    int64_t asked;    /* how far the run was then */
    uint64_t resting; /* a bit for each model that was left alone then */
    char *text;       /* the reply */
    size_t size;
    bool truncated; /* at the token limit */
    bool unsent;    /* of a run that goes on: its model has not been given it again */
} kf_call;

/* A proposal that was under way when the run was left, on its way back (search_state.c,
 * search_rebuild.c). */
typedef struct kf_under_way {
    kf_step step;
    int64_t began, ticket, candidate, parent;
    char arm[17];   /* the first digits of its source's hash */
    char *point;    /* of the tuner, as JSON */
    kf_call *reply; /* that it is made of; NULL: of none */
    int retries;
    bool waits;            /* for its turn, not for a worker */
    kf_proposal *proposal; /* out: NULL when it can't be made again */
} kf_under_way;

/* A request that has to be made: a repair, or a candidate that follows a diagnosis. */
typedef struct kf_due {
    struct kf_due *next;
    kf_step step;
    int64_t candidate, critic;
    /* depth of the candidate: repairs that it came through, 0 no repair */
    int model, depth, island;
} kf_due;

/* What a judged attempt means for those that follow. */
typedef struct kf_outcome {
    kf_step step;
    int64_t candidate, parent; /* 0 none */
    int island;
    bool of_model;
    kf_status status;
    kf_blame blame;
    double speedup;     /* NaN none */
    double floor_share; /* of the physical limit, 0 unknown */
    const char *cell;   /* "" none */
} kf_outcome;

/* The round of requests from one parent; part of the run's state. */
typedef struct kf_round {
    kf_step step;
    int64_t parent, failed;
    int64_t asked, correct, repairs; /* repairs: rounds of them in a row */
} kf_round;

typedef struct kf_move_count {
    int64_t uses, paid;
} kf_move_count;

/* An attempt of the replayed run that counted by a verdict of another run. */
typedef struct kf_reused_verdict {
    /* of the candidate */
    char hash[KF_HASH_HEX];
    /* of the call that the candidate came from, as kf_call.number; 0: of no call */
    int64_t number;
    kf_attempt_outcome outcome;
    int64_t verdict, candidate;
    kf_status status;
    kf_blame blame;
    kf_interval speedup;
} kf_reused_verdict;

/* What the stored run that is replayed found in its store (search_replay.c). */
typedef struct kf_replay {
    kf_reused_verdict *reused;
    size_t reused_count;
    /* by number of the call, less 1: the candidate of its reply; 0: none */
    int64_t *candidates;
    size_t candidate_count;
} kf_replay;

typedef struct kf_tries {
    int64_t candidate;
    int count;
} kf_tries;

typedef struct kf_search {
    kf_store *store;
    const kf_task *task;
    const kf_search_settings *settings;
    kf_workers *workers;
    const volatile int *interrupts;
    const kf_search_observer *observer;
    kf_search_progress progress;
    char *environment_id; /* the store's device */
    kf_job *job;          /* filled anew for each submission */
    char session[16];     /* part of job ids: an answer to an earlier session is no answer */
    int64_t next_ticket;
    double started, elapsed_before;

    kf_tunable_source *arms[KF_TUNABLE_SOURCES];
    size_t arm_count;
    /* the first `defaults` arms: baseline and seeds; how many of them were proposed */
    size_t defaults, next_default;
    kf_proposal *in_flight, *retries;
    /* samples of a bench that the machine failed with: judged when the run goes on */
    kf_proposal *aside;
    kf_error aside_why; /* the last of them */
    int64_t baseline_candidate;

    kf_model models[KF_SEARCH_MODELS];
    size_t model_count;
    uint64_t resting; /* models that are left alone for a while, a bit each: looked at once for each
                         call, since it depends on the time */
    kf_call *calls, *replies; /* in flight; waiting to be used */
    kf_due *dues;
    int quota;
    kf_strategy strategy;

    /* Of the attempts so far; rebuilt from them when a run goes on. */
    kf_population *population;
    kf_move_count moves[KF_STEP_COUNT];
    int64_t model_candidates; /* judged */
    int64_t since_gain;       /* of them since the best gained the last time */
    double gain_best, floor_share;
    double gain_mean; /* natural logarithm of a gain: mean of those so far, the later count more */
    int64_t negatives[KF_NEGATIVES];
    int64_t negative_count;

    kf_round round;
    char *system_text;

    /* where what was noted before lies, when this run repeats one; NULL: in `store` */
    kf_store *notes_store;
    double notes_until; /* seconds since 1970: what other runs have noted later does not count */

    kf_replay replay;
    kf_tries *tries; /* measured again */
    size_t tries_count;
    int64_t judged_since_verify;
    double verified_best; /* speedup, 0 none */
    int refusals;
    int64_t answered; /* replies of proposers, usable or not; what settings->samples counts */
    int64_t idle_mark;
    bool idle;        /* nothing is left to do but to wait for models */
    bool over;        /* nothing more will be judged */
    bool ended;       /* in order: going on is another matter than after a crash */
    kf_budget budget; /* of the models: what is in flight is reserved in it */
    bool budget_spent;
    bool told_costless; /* that a model does not say what it costs */
    /* of a run that goes on: the limits of money, tokens and requests under which it was spent */
    int64_t budget_known[3];
    bool models_gone;
    kf_error models_why;
} kf_search;

/* search.c */
void kf_search_tell(kf_search *s, kf_search_event event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
double kf_search_elapsed(const kf_search *s);
/* which budget for models is spent, in words; NULL: none */
const char *kf_search_paid(const kf_search *s);
void kf_search_release(kf_search *s); /* all that it owns, not itself */
void kf_proposal_free(kf_proposal *proposal);

/* search_tunable_sources.c */
/* `strict`: faulty declarations of tunables are an error; else the source counts as one without. */
kf_tunable_source *kf_tunable_source_add(kf_search *s, const char *name, const char *source,
                                         size_t size, bool strict, kf_error *error);
kf_tunable_source *kf_tunable_source_find(kf_search *s, const char *source, size_t size);
void kf_tunable_source_free(kf_tunable_source *arm);
/* The arm of the same normal form (canonical_source.h); NULL: none. */
bool kf_tunable_source_like(kf_search *s, const char *source, size_t size, kf_tunable_source **arm,
                            kf_error *error);
/* Tells the arm of a measured point; NaN: no good. */
void kf_tunable_source_report(kf_tunable_source *arm, const kf_tune_point *point, double speedup);
bool kf_tunable_sources_defaults(kf_search *s, kf_error *error); /* baseline and seeds */
/* Once the device is known (s->conditions): gives them tuners, with the device's compiler flags as
 * further axes. Later arms get theirs at once. */
bool kf_tunable_sources_start(kf_search *s, kf_error *error);
/* The next point worth measuring. *proposal NULL: there is none now. */
bool kf_tunable_sources_propose(kf_search *s, kf_proposal **proposal, kf_error *error);
bool kf_tunable_sources_more(const kf_search *s); /* some arm may have points left */
kf_proposal *kf_proposal_new(kf_step step, kf_tunable_source *arm, const kf_tune_point *point,
                             kf_error *error);
char *kf_point_json(const kf_tunable_source *arm, const kf_tune_point *point);
bool kf_point_read(const kf_tunable_source *arm, const char *json, kf_tune_point *point);

/* search_record.c */
/* A source that was judged before, in any run, and differs from this one, of call `number`, in
 * names and layout alone; malloc'd, *known NULL: there is none. */
bool kf_record_find_like(kf_search *s, int64_t number, const char *source, size_t size,
                         char **known, kf_error *error);
/* Known already? Then it is recorded here and now, and *known is true. */
bool kf_record_known(kf_search *s, kf_proposal *proposal, bool *known, kf_error *error);
/* A worker's answer. *again: the proposal is to be judged once more, and is among those that wait
 * for that. */
bool kf_record_result(kf_search *s, kf_proposal *proposal, const kf_workers_result *result,
                      bool *again, kf_error *error);
/* A candidate that no worker will see. */
bool kf_record_rejected(kf_search *s, kf_proposal *proposal, const char *message, kf_error *error);
/* A model's reply that yielded no candidate. */
bool kf_record_failure(kf_search *s, const kf_call *call, kf_attempt_outcome outcome,
                       const char *message, kf_error *error);

/* search_replay.c */
/* Reads what the stored run found, if the models replay one. */
bool kf_replay_read(kf_search *s, kf_error *error);
void kf_replay_clear(kf_replay *replay);
/* Sets *known to the verdict of another run by which the replayed run counted this proposal as
 * `outcome`, and *found to whether there is one. */
bool kf_replay_verdict(kf_search *s, const kf_proposal *proposal, kf_attempt_outcome outcome,
                       kf_store_candidate *known, bool *found, kf_error *error);
/* Sets *known to the source that the replayed run used for the reply to call `number`, if it has
 * the same canonical hash; malloc'd, else NULL. */
bool kf_replay_source(kf_search *s, int64_t number, const char *form, char **known,
                      kf_error *error);

/* search_verify.c */
/* progress.best and so on from the store; tells of a new best */
bool kf_best_refresh(kf_search *s, kf_error *error);
/* After an attempt: kf_best_refresh where it may have changed any of that. `verified`: the verdict
 * is one of measuring again. */
bool kf_best_note(kf_search *s, int64_t candidate, bool verified, kf_status status, double speedup,
                  kf_error *error);
/* A candidate that has to be measured again before it is called best; *proposal NULL: none.
 * `final`: the search is over. */
bool kf_verify_propose(kf_search *s, bool final, kf_proposal **proposal, kf_error *error);
void kf_verify_tried(kf_search *s, int64_t candidate);
int kf_verify_tries(const kf_search *s, int64_t candidate);
/* Measuring a candidate again that was under way. */
bool kf_verify_again(kf_search *s, int64_t candidate, kf_proposal **proposal, kf_error *error);

/* search_model.c */
/* Before there is a run: that the models can be opened at all. */
bool kf_models_check(const kf_search_settings *settings, kf_error *error);
bool kf_models_open(kf_search *s, kf_error *error);
void kf_models_close(kf_search *s);
bool kf_models_alive(const kf_search *s);
/* Takes one reply that has come; where there is none, and with `start`, asks one model that a call
 * is due of. *moved: either happened. Never waits. */
bool kf_models_step(kf_search *s, bool start, bool *moved, kf_error *error);
/* How far the run is: beginnings and ends of attempts and of calls, so that each of them has a
 * number of its own. What recorded replies are timed by. */
int64_t kf_search_clock(const kf_search *s);
/* What tells that kf_models_step is due; as kf_llm_watch. */
size_t kf_models_watch(const kf_search *s, struct pollfd *fds, size_t most, double *wake);
/* The search is over: what is in flight is ended, and what it has cost is booked. */
bool kf_models_stop(kf_search *s, kf_error *error);
/* A candidate out of the first reply that waits; *proposal NULL: it was of no use, or a diagnosis,
 * or there is none. */
bool kf_models_propose(kf_search *s, kf_proposal **proposal, kf_error *error);
/* What a judged candidate of a model means for its next prompt. `candidate` is its id in the store.
 */
bool kf_models_judged(kf_search *s, const kf_proposal *proposal, bool known, kf_status status,
                      kf_blame blame, double speedup, int64_t candidate, kf_error *error);
void kf_call_free(kf_call *call);
kf_call *kf_call_unlink(kf_search *s, int64_t tag); /* NULL: it is not in flight */
/* The proposal of a reply that was under way, as it was: of the source whose hash begins with
 * `hash`, `arm` where it is one of the arms. *proposal NULL: it is not to be had any more. */
bool kf_models_propose_again(kf_search *s, const kf_call *call, const char *hash,
                             kf_tunable_source *arm, kf_proposal **proposal, kf_error *error);
/* The model takes no request now (BUSY) or never again (LIMIT), as `why` says: the call did not
 * happen, what was due stays due. */
bool kf_call_take_back(kf_search *s, kf_call *call, const kf_error *why, kf_error *error);
/* Ends a transaction with what it has changed in the search. */
bool kf_state_commit(kf_search *s, kf_error *error);

/* search_pending_calls.c */
/* Before a call leaves: the run's state with it, and its prompt. */
bool kf_pending_call_store(kf_search *s, const kf_call *call, kf_error *error);
/* In a run that goes on, once its models are open: recorded models are told what they were asked,
 * and what is in flight is asked once more. */
bool kf_pending_call_again(kf_search *s, kf_error *error);
/* Those that their models did not take yet. */
bool kf_pending_call_send(kf_search *s, kf_error *error);

/* search_ensemble.c */
/* The model to be asked next in that role; -1: none now. */
int kf_ensemble_next(const kf_search *s, kf_llm_role role);
/* it is neither given up nor left alone for a while */
bool kf_ensemble_can_ask(const kf_search *s, size_t model);
/* before a call is begun: s->resting is what holds now */
void kf_ensemble_look(kf_search *s);
/* For its next call; -1: the model's own. */
double kf_ensemble_temperature(const kf_search *s, int model);
/* A call ended without a candidate, or the verdict on its candidate is there; `known`: it was
 * judged before. */
void kf_ensemble_useless(kf_search *s, int model, double cost_usd);
void kf_ensemble_judged(kf_search *s, const kf_proposal *proposal, bool known, kf_status status,
                        kf_blame blame, double speedup);

/* search_choose.c */
/* What the call asks for: step, parent, exemplars, island. */
void kf_choose(kf_search *s, kf_call *call);
/* The call did not happen: what was due stays due. */
bool kf_choose_again(kf_search *s, const kf_call *call, kf_error *error);
/* A failing candidate of a model: its repair is due, or nothing. */
bool kf_choose_repair(kf_search *s, const kf_proposal *proposal, kf_status status,
                      int64_t candidate, kf_error *error);
/* A critic's reply: what follows it is due. False with *why when the reply is none. */
bool kf_choose_diagnosis(kf_search *s, const kf_call *call, kf_error *why, kf_error *error);
/* A candidate of a model was judged: a summary may be due. */
bool kf_choose_summary(kf_search *s, kf_error *error);
bool kf_step_is_critic(kf_step step);               /* asks for JSON, not for a candidate */
bool kf_strategy_asks(const kf_strategy *strategy); /* models for anything */

/* search_selection.c */
bool kf_selection_take(kf_search *s, const kf_outcome *outcome, kf_error *error);
/* Why the search is over, by the strategy; NULL: it is not. */
const char *kf_selection_stop(const kf_search *s);
/* What the next candidate of a model is expected to add to the best, as a share of it
 * (search_selection.c says how). */
double kf_selection_expected(const kf_search *s);
/* The cell of the grid of elites and the features behind it, as JSON; malloc'd, NULL when out of
 * memory. */
char *kf_features(const kf_verdict *verdict, const char *source, size_t size,
                  char cell[KF_CELL_TEXT], double *floor_share);
double kf_features_floor(const char *json); /* of stored features; 0 unknown */

/* search_notes.c */
/* The line of a reply that says what was changed. */
void kf_notes_move(const char *reply, size_t size, char move[KF_MOVE_BYTES]);
/* What came of a model's move, within the open group. */
bool kf_notes_write(kf_search *s, const kf_proposal *proposal, kf_status status, double speedup,
                    int64_t candidate, kf_error *error);
/* A reply to KF_STEP_SUMMARY becomes a note. False with *why when it is none. */
bool kf_notes_summarise(kf_search *s, const kf_call *call, kf_error *why, kf_error *error);
/* At most `count` notes for a prompt, a line each: the latest summary, and what came after it. */
bool kf_notes_read(kf_search *s, int count, kf_buffer *out, kf_error *error);

/* search_prompt.c */
/* The prompt of a call; `note`: what was wrong with the last reply, NULL nothing. malloc'd. */
char *kf_search_prompt(kf_search *s, const kf_call *call, const char *note, kf_error *error);
char *kf_search_system(kf_search *s, kf_error *error);

/* search_state.c */
char *kf_state_json(const kf_search *s);
/* Rebuilds arms, tuners and counters from the stored attempts, and the rest from the stored state.
 */
bool kf_state_restore(kf_search *s, kf_error *error);

/* search_rebuild.c */
/* From the stored attempts, and what was under way beside them, which becomes proposals again. */
bool kf_rebuild(kf_search *s, kf_under_way *work, size_t work_count, kf_error *error);

#endif
