/* The search inside agent/search: its state, and the functions of its files. README.md says which
 * file decides what. search_parts.h has the parts of the state. */
#ifndef KFORGE_SEARCH_INTERNAL_H
#define KFORGE_SEARCH_INTERNAL_H

#include "kforge/buffer.h"
#include "prompt.h"
#include "search.h"
#include "search_parts.h"
#include "search_step.h"
#include "verdict_event.h"

typedef struct kf_search {
    kf_store *store;
    const kf_task *task;
    const kf_search_settings *settings;
    kf_strategy strategy;
    /* NULL in a preview */
    kf_workers *workers;
    const volatile int *interrupts;
    const kf_search_observer *observer;
    kf_search_progress progress;
    /* the store's device; NULL until a worker is connected */
    char *environment_id;
    kf_run_clock clock;
    kf_search_jobs jobs;
    kf_tunable_sources sources;
    kf_models models;
    kf_calls calls;
    kf_selection_state selection;
    kf_verification verification;
    kf_notes notes;
    kf_replay replay;
    /* kf_now of the last event of the budget */
    double budget_reported;
    /* The run ended in order, not by a crash. */
    bool ended;
} kf_search;

/* ---- search.c -------------------------------------------------------------------------------- */

/* Releases everything that the search owns, except for the struct itself. */
void kf_search_release(kf_search *s);

/* ---- search_events.c ------------------------------------------------------------------------- */

/* Reports an event with the current progress to the observer. */
void kf_search_notify(kf_search *s, kf_search_event event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports once how many candidates an earlier run judged. */
void kf_search_notify_known(kf_search *s);
/* Copies the workers' hardware to the progress. */
void kf_search_note_hardware(kf_search *s);
/* Write events (event_stream.h), if the observer takes them. */
void kf_search_event_start(kf_search *s, bool resumed);
void kf_search_event_worker(const kf_search *s, const char *message);
void kf_search_event_call(kf_search *s, const kf_call *call, const kf_llm_reply *reply);
/* Writes that the model refused its first small question. */
void kf_search_event_refused(const kf_search *s, const char *model, const char *why);
void kf_search_event_attempt(kf_search *s, const char *proposer, const kf_origin *origin,
                             kf_attempt_outcome outcome, int64_t candidate,
                             const kf_attempt_result *result);
void kf_search_event_best(const kf_search *s);
/* `end`: how the run ended, as in `kforge optimize --json`, or "failed". */
void kf_search_event_end(kf_search *s, const char *end, const char *reason);

/* ---- search_budget.c ------------------------------------------------------------------------- */

/* Returns the seconds that all sessions of the run took. */
double kf_search_elapsed(const kf_search *s);
/* Returns the seconds since 1970. */
double kf_search_moment(void);
/* Adds a start at clock.elapsed_before to those of the run. */
bool kf_search_add_start(kf_search *s, kf_error *error);
/* Starts the clock of the last start. */
void kf_search_start_clock(kf_search *s);
/* Returns how far the run is: the number of starts and ends of attempts and calls. Each of them has
 * its own number. Recorded replies are timed by it. */
int64_t kf_search_position(const kf_search *s);
/* Returns the part of the time that is kept for measuring the best again. */
double kf_search_reserve(const kf_search *s);
/* Returns the seconds until the time is used up; INFINITY without a limit. */
double kf_search_time_left(const kf_search *s);
/* Returns in words which budget for models is spent, or NULL. */
const char *kf_search_models_spent(const kf_search *s);
/* Returns in words which budget is spent or why the strategy stops, or NULL. With `ahead`, jobs in
 * flight count as judged. */
const char *kf_search_spent(const kf_search *s, bool ahead);

/* ---- search_tunable_sources.c ---------------------------------------------------------------- */

/* With `strict`, faulty declarations of tunables are an error; else the source counts as one
 * without tunables. */
kf_tunable_source *kf_tunable_source_add(kf_search *s, const char *name, const char *source,
                                         size_t size, bool strict, kf_error *error);
void kf_tunable_source_free(kf_tunable_source *tunable);
kf_tunable_source *kf_tunable_source_find(const kf_tunable_sources *sources, const char *source,
                                          size_t size);
/* Computes `form` at first use. */
bool kf_tunable_source_form(kf_tunable_source *tunable, kf_error *error);
/* Gives the result of a measured point to the tuner; NaN: the candidate failed. */
void kf_tunable_source_report(kf_tunable_source *tunable, const kf_tune_point *point,
                              double speedup);
/* Adds the baseline and the seeds. */
bool kf_tunable_sources_defaults(kf_search *s, kf_error *error);
/* Makes the tuners once the device is known (s->environment_id), with its compiler flags as further
 * axes. Later sources get theirs at once. */
bool kf_tunable_sources_start(kf_search *s, kf_error *error);
/* Proposes the next point; *proposal NULL: no source has one now. */
bool kf_tunable_sources_propose(kf_search *s, kf_proposal **proposal, kf_error *error);
/* True if a source may have points left. */
bool kf_tunable_sources_more(const kf_tunable_sources *sources);

/* ---- search_tune_points.c -------------------------------------------------------------------- */

/* Returns the point's values and flags as JSON, malloc'd; NULL if it has no axes. */
char *kf_point_json(const kf_tunable_source *tunable, const kf_tune_point *point);
bool kf_point_read(const kf_tunable_source *tunable, const char *json, kf_tune_point *point);

/* ---- search_proposals.c ---------------------------------------------------------------------- */

kf_proposal *kf_proposal_new(kf_step step, kf_tunable_source *tunable, const kf_tune_point *point,
                             kf_error *error);
void kf_proposal_free(kf_proposal *proposal);

/* ---- search_jobs.c --------------------------------------------------------------------------- */

/* Makes what all jobs of the run have in common. */
bool kf_jobs_prepare(kf_search *s, kf_error *error);
/* Takes over the proposal: submits it, or records it at once if it is known or rejected. */
bool kf_jobs_dispatch(kf_search *s, kf_proposal *proposal, kf_error *error);
/* After a resume: submits the jobs that were in flight once more, in the same order. */
bool kf_jobs_submit_again(kf_search *s, kf_error *error);
/* Records a worker's answer and releases it. */
bool kf_jobs_handle(kf_search *s, kf_workers_result *result, kf_error *error);
/* Takes back jobs that no worker has started. */
void kf_jobs_withdraw(kf_search *s);
/* Stops the jobs in flight. Their candidates stay open, and a resumed run judges them. With
 * `verifying`, also those that are measured again. */
void kf_jobs_stop(kf_search *s, bool verifying);
/* Stops the judging of what agents asked for. */
void kf_jobs_cancel_questions(kf_search *s);
/* Cancels all jobs in flight, for a run that ends at once. */
void kf_jobs_cancel(kf_search *s);
void kf_jobs_clear(kf_search_jobs *jobs);

/* ---- search_choose_candidate.c --------------------------------------------------------------- */

/* True if baseline and seeds have their verdicts. */
bool kf_defaults_settled(const kf_tunable_sources *sources);
/* Returns how many more jobs may be submitted. */
size_t kf_free_capacity(const kf_search *s);
/* Chooses the next candidate; *proposal NULL: there is no candidate now. */
bool kf_propose(kf_search *s, kf_proposal **proposal, kf_error *error);

/* ---- search_record.c ------------------------------------------------------------------------- */

/* Records the proposal by a stored verdict on the same candidate, and sets *known to whether there
 * is one. */
bool kf_record_known(kf_search *s, kf_proposal *proposal, bool *known, kf_error *error);
/* Records a worker's answer. *kept: the proposal waits to be judged once more, and the caller must
 * not free it. */
bool kf_record_result(kf_search *s, kf_proposal *proposal, const kf_workers_result *result,
                      bool *kept, kf_error *error);
/* Records a candidate that no worker will judge. */
bool kf_record_rejected(kf_search *s, kf_proposal *proposal, const char *message, kf_error *error);
/* Records a reply without a candidate. */
bool kf_record_failure(kf_search *s, const kf_call *call, kf_attempt_outcome outcome,
                       const char *message, kf_error *error);

/* ---- search_known.c -------------------------------------------------------------------------- */

/* Finds a stored verdict on the proposal's candidate that counts in this run. */
bool kf_known_candidate(kf_search *s, const kf_proposal *proposal, kf_store_candidate *known,
                        bool *found, kf_error *error);
/* Finds one on another candidate with the same binary. */
bool kf_known_code(kf_search *s, const kf_proposal *proposal, const kf_verdict *verdict,
                   kf_store_candidate *known, bool *found, kf_error *error);
/* Gives the judge the binary of a candidate with the same canonical source. The proposal is built,
 * and not measured if its binary is equal. */
bool kf_known_form(kf_search *s, const kf_proposal *proposal, kf_error *error);

/* ---- search_replay.c ------------------------------------------------------------------------- */

/* Reads what the stored run found, if the models replay one. */
bool kf_replay_read(kf_search *s, kf_error *error);
void kf_replay_clear(kf_replay *replay);
/* Sets *known to the verdict of another run by which the replayed run counted this proposal as
 * `outcome`, and *found to whether there is one. */
bool kf_replay_verdict(kf_search *s, const kf_proposal *proposal, kf_attempt_outcome outcome,
                       kf_store_candidate *known, bool *found, kf_error *error);

/* ---- search_verify.c ------------------------------------------------------------------------- */

/* Reads the best and related figures from the store. Reports a new best, unless `quiet`. */
bool kf_best_refresh(kf_search *s, bool quiet, kf_error *error);
/* Calls kf_best_refresh if an attempt may have changed the best. `verified`: the candidate was
 * measured again. `quiet`: its verdict is of an earlier run. */
bool kf_best_note(kf_search *s, int64_t candidate, bool verified, bool quiet, kf_status status,
                  kf_interval speedup, kf_error *error);
/* True if the interval leaves open whether a correct candidate is far slower or far faster, or
 * if it is missing. */
bool kf_says_nothing(kf_interval speedup);
/* Notes that a correct candidate was measured for the first time, and whether its interval says
 * anything.
 */
void kf_verify_first(kf_verification *verification, int64_t candidate, kf_interval speedup);
/* As kf_best_note after a second measurement. Reports also whether it confirms the first one. */
bool kf_verify_note(kf_search *s, const kf_proposal *proposal, const kf_verdict *verdict,
                    kf_error *error);
/* True if the rest of the time does not suffice to measure a candidate again. */
bool kf_verify_lacks_time(const kf_search *s);
/* Fills in which candidate should be measured again and was not, if there is one. */
bool kf_verify_left_out(kf_search *s, kf_search_result *result, kf_error *error);
/* Proposes to measure a candidate again before it is called best; *proposal NULL: no candidate
 * needs it. `final`: the search is over. */
bool kf_verify_propose(kf_search *s, bool final, kf_proposal **proposal, kf_error *error);
/* Counts a second measurement; `speedup` with NaN: it gave no figure. */
void kf_verify_tried(kf_verification *verification, int64_t candidate, kf_interval speedup);
int kf_verify_tries(const kf_verification *verification, int64_t candidate);
/* After a resume: proposes again to measure this candidate. */
bool kf_verify_again(kf_search *s, int64_t candidate, kf_proposal **proposal, kf_error *error);

/* ---- search_models.c ------------------------------------------------------------------------- */

/* Checks before a run starts that the models can be opened. */
bool kf_models_check(const kf_search *s, kf_error *error);
bool kf_models_open(kf_search *s, kf_error *error);
/* Returns the budget of the models, minus what earlier sessions spent. */
kf_budget kf_models_budget(const kf_search *s);
/* Gives the model no more calls, and says why. `quiet`: the user knows it. */
void kf_models_give_up(kf_search *s, int index, bool quiet, const char *why);
void kf_models_close(kf_models *models);
/* Notes that the budget has no room for another request to this model. */
void kf_models_budget_spent(kf_models *models, int index, const kf_error *why);
/* Counts a reply without a candidate, or a failed call. After too many the model gets no more
 * calls. */
void kf_models_count_useless(kf_search *s, int index, const char *why);
/* Returns the model's name as a user writes it: without "compatible:". */
const char *kf_models_shown(const char *name);
/* Returns why the last call or request of a model failed; "" if none did. */
const char *kf_models_cause(const kf_models *models);
void kf_models_count_failure(kf_search *s, int index, const kf_error *error, const char *why);
/* Reports once why a model that has not answered yet keeps the search waiting. */
void kf_models_note_trouble(kf_search *s, int index);
/* Notes what a judged candidate means for its model: a hint for the next prompt, a repair, or a
 * summary. `candidate` is its id in the store. */
bool kf_models_judged(kf_search *s, const kf_proposal *proposal, bool known, kf_status status,
                      kf_blame blame, double speedup, int64_t candidate, kf_error *error);

/* ---- search_probes.c ------------------------------------------------------------------------- */

/* Asks each model over the network a small question. */
bool kf_probes_start(kf_search *s, kf_error *error);
/* Takes the replies that have come. A model that refuses its question gets no calls. Never waits.
 */
void kf_probes_step(kf_search *s);
/* Gives up the models that refused before the models were open. */
void kf_probes_apply(kf_search *s);
/* True if each model has refused; *why: the last reason. */
bool kf_probes_refused(const kf_search *s, kf_error *why);
/* As kf_calls_watch. */
size_t kf_probes_watch(const kf_search *s, struct pollfd *fds, size_t most, double *wake);
/* Ends the question to a model; -1: to all. */
void kf_probes_end(kf_search *s, int model);

/* ---- search_calls.c -------------------------------------------------------------------------- */

/* Takes one reply that has come. Without one and with `start`, calls a model if a call is due.
 * *moved: one of both happened. Never waits. */
bool kf_calls_step(kf_search *s, bool start, bool *moved, kf_error *error);
/* Fills in when to call kf_calls_step again, as kf_llm_watch. */
size_t kf_calls_watch(const kf_search *s, struct pollfd *fds, size_t most, double *wake);
/* Cancels the calls in flight at the end of the search and counts their cost. */
bool kf_calls_stop(kf_search *s, kf_error *error);

/* ---- search_pending_calls.c ------------------------------------------------------------------ */

void kf_call_free(kf_call *call);
/* Returns the call in flight with this tag, taken from the list, or NULL. */
kf_call *kf_call_unlink(kf_calls *calls, int64_t tag);
/* Returns the number of calls in flight to the model; -1: to all. */
int64_t kf_calls_count(const kf_calls *calls, int model);
void kf_calls_clear(kf_calls *calls);
/* Undoes a call that the model takes not now (BUSY) or never (LIMIT), as `why` says. A due request
 * stays due. */
bool kf_call_take_back(kf_search *s, kf_call *call, const kf_error *why, kf_error *error);
/* Stores a call with its prompt and the run's state before it is sent. */
bool kf_pending_call_store(kf_search *s, const kf_call *call, kf_error *error);
/* After a resume, once the models are open: gives recorded models the earlier requests, and sends
 * the calls in flight again. */
bool kf_pending_call_again(kf_search *s, kf_error *error);
/* Sends the calls that their models did not take yet. */
bool kf_pending_call_send(kf_search *s, kf_error *error);

/* ---- search_replies.c ------------------------------------------------------------------------ */

/* Returns how many replies that wait for a worker hold no usable source. */
int64_t kf_replies_waiting_useless(kf_search *s);
/* Proposes the candidate of the first waiting reply; *proposal NULL: it was useless, or a
 * diagnosis, or no reply waits. */
bool kf_replies_propose(kf_search *s, kf_proposal **proposal, kf_error *error);
/* After a resume: proposes the candidate of a reply again. Its source has a hash that starts with
 * `hash` and is `tunable`, if that is known. *proposal NULL: the source is lost. */
bool kf_replies_propose_again(kf_search *s, const kf_call *call, const char *hash,
                              kf_tunable_source *tunable, kf_proposal **proposal, kf_error *error);

/* ---- search_episodes.c ----------------------------------------------------------------------- */

/* True if the model is an agent: its calls are episodes. */
bool kf_is_agent(const kf_search *s, int model);
/* Returns how many of an agent's episodes have no result yet. */
int kf_episodes_open(const kf_search *s, int model);
/* Sends the call to its model. False with *why, as kf_llm_submit. */
bool kf_call_submit(kf_search *s, const kf_call *call, kf_error *why);
/* Takes the questions that agents have asked. */
bool kf_episodes_collect(kf_search *s, kf_error *error);
/* Proposes the candidate of the first question; *proposal NULL: no question waits. */
bool kf_episodes_propose(kf_search *s, kf_proposal **proposal, kf_error *error);
/* True if the answer is only for the agent, and no attempt. */
bool kf_episodes_only_checks(const kf_proposal *proposal);
/* Answers the agent of a proposal with a verdict, or without one with the reason. `candidate` is
 * its id in the store; 0: it was not stored. Does nothing for other proposals. */
void kf_episodes_answer(kf_search *s, const kf_proposal *proposal, const kf_verdict *verdict,
                        const char *reason, int64_t candidate);
/* As kf_episodes_answer, with a stored verdict. */
void kf_episodes_answer_known(kf_search *s, const kf_proposal *proposal, int64_t verdict,
                              int64_t candidate);
void kf_episodes_clear(kf_calls *calls);

/* ---- search_answers.c ------------------------------------------------------------------------ */

/* Returns what an agent learns of a verdict, as JSON (agent/episode/README.md), malloc'd; NULL
 * without memory. `hash`: of the candidate. */
char *kf_answer_json(const kf_search *s, kf_llm_wish wish, const kf_verdict *verdict,
                     const char *hash);

/* ---- search_choose_model.c ------------------------------------------------------------------- */

/* True if a model may still get calls. */
bool kf_ensemble_alive(const kf_models *models);
/* Returns the model for the next call in this role, or -1. */
int kf_ensemble_next(const kf_search *s, kf_llm_role role);
/* True if the model is neither exhausted nor paused. */
bool kf_ensemble_can_call(const kf_models *models, size_t model);
/* Sets which models are paused, before a call is made. */
void kf_ensemble_look(kf_search *s);
/* Returns the temperature of the next call; -1: the model's own. */
double kf_ensemble_temperature(const kf_search *s, int model);
/* Counts a call without a candidate, or the verdict on a candidate; `known`: it was judged before.
 */
void kf_ensemble_useless(kf_models *models, int model, double cost_usd);
void kf_ensemble_judged(kf_search *s, const kf_proposal *proposal, bool known, kf_status status,
                        kf_blame blame, double speedup);

/* ---- search_choose_request.c ----------------------------------------------------------------- */

/* Fills in what the call asks for: step, parent, exemplars, island. */
void kf_choose(kf_search *s, kf_call *call);
/* Makes the call's due request due again, if it had one, since the call did not happen. */
bool kf_choose_again(kf_search *s, const kf_call *call, kf_error *error);
/* Makes the repair of a failing candidate due, if the strategy wants one. */
bool kf_choose_repair(kf_search *s, const kf_proposal *proposal, kf_status status,
                      int64_t candidate, kf_error *error);
/* Makes the candidate that follows a critic's reply due. False with *why if the reply is no
 * diagnosis. */
bool kf_choose_diagnosis(kf_search *s, const kf_call *call, kf_error *why, kf_error *error);
/* Makes a summary due, if it is time for one. */
bool kf_choose_summary(kf_search *s, kf_error *error);

/* ---- search_convergence.c -------------------------------------------------------------------- */

bool kf_selection_take(kf_search *s, const kf_outcome *outcome, kf_error *error);
/* Notes the share of the physical limit that the best reached when it was measured again. */
void kf_selection_floor(kf_selection_state *selection, double share);
/* Returns in words why the strategy ends the search, or NULL. */
const char *kf_selection_stop(const kf_search *s);
/* Returns how much the next candidate of a model is expected to improve the best, as a share of it.
 */
double kf_selection_expected(const kf_selection_state *selection);
/* Returns the cell of the grid of elites and the features behind it as JSON, malloc'd; NULL without
 * memory. */
char *kf_features(const kf_verdict *verdict, const char *source, size_t size,
                  char cell[KF_CELL_TEXT], double *floor_share);
/* Returns the share of the physical limit from stored features; 0: unknown. */
double kf_features_floor(const char *json);

/* ---- search_notes.c -------------------------------------------------------------------------- */

/* Copies the line of a reply that describes the change. */
void kf_notes_move(const char *reply, size_t size, char move[KF_MOVE_BYTES]);
/* Stores the effect of a model's change, in the open transaction. */
bool kf_notes_write(kf_search *s, const kf_proposal *proposal, kf_status status, double speedup,
                    int64_t candidate, kf_error *error);
/* Stores a reply to KF_STEP_SUMMARY as a note. False with *why if it is no summary. */
bool kf_notes_summarise(kf_search *s, const kf_call *call, kf_error *why, kf_error *error);
/* Appends at most `count` notes for a prompt, one a line: the latest summary, and later notes. */
bool kf_notes_read(kf_search *s, int count, kf_buffer *out, kf_error *error);

/* ---- search_prompt.c ------------------------------------------------------------------------- */

/* Returns the prompt of a call, malloc'd. `note`: what was wrong with the last reply, or NULL. */
char *kf_search_prompt(kf_search *s, const kf_call *call, const char *note, kf_error *error);
char *kf_search_system(kf_search *s, kf_error *error);
/* Returns a word for the prompts of other calls. A hidden workload may have caused the status, so
 * only those of builds have their names. */
const char *kf_search_failure_word(kf_status status);
/* Appends the measurements and the failure of a verdict, as models may see them. */
void kf_search_words(const kf_search *s, const kf_verdict *verdict, kf_buffer *figures,
                     kf_buffer *failure);
/* Returns the baseline of the run. */
const kf_task_file *kf_search_baseline(const kf_search *s);

/* ---- search_state.c, search_restore.c -------------------------------------------------------- */

/* "schema" of the state */
#define KF_STATE_SCHEMA "kforge-search/3"
/* Returns the state as JSON, malloc'd; NULL without memory. */
char *kf_state_json(const kf_search *s);
/* Stores the state and commits the open transaction. */
bool kf_state_commit(kf_search *s, kf_error *error);
/* Adds the starts of the run to its state. */
void kf_search_starts_json(const kf_search *s, cJSON *json);
/* Rebuilds the search of a resumed run from its attempts and its stored state. */
bool kf_state_restore(kf_search *s, kf_error *error);
/* Adds this start of a resumed run to its stored state. A reader then does not count the pause. */
bool kf_state_add_start(kf_search *s, kf_error *error);

/* ---- search_rebuild.c ------------------------------------------------------------------------ */

/* Something that was in flight, or waited, when the run was left. */
typedef struct kf_under_way {
    kf_step step;
    int64_t began, ticket, candidate, parent;
    /* the first digits of its source's hash */
    char digits[17];
    /* of the tuner, as JSON */
    char *point;
    /* the reply that it was made of; NULL: it was not made of a reply */
    kf_call *reply;
    int retries;
    /* It was not submitted yet. */
    bool waits;
    /* the result; NULL: it can't be made again */
    kf_proposal *proposal;
} kf_under_way;

/* Rebuilds sources, tuners, population and counters from the stored attempts, and makes proposals
 * of the work that was under way. */
bool kf_rebuild(kf_search *s, kf_under_way *work, size_t work_count, kf_error *error);

#endif
