/* Language models: a provider answers a prompt. llm.c has the table of providers.
 *
 * A spec is PROVIDER[,OPTION=VALUE…]:ARGUMENT. docs/reference/settings.md lists all options.
 *   openai:MODEL, anthropic:MODEL, gemini:MODEL, openrouter:MODEL, azure:DEPLOYMENT
 *       A service. MODEL@https://HOST… sends the requests to that server instead.
 *   MODEL@http://HOST:PORT/v1
 *       A server that is compatible with OpenAI's chat completions. With options:
 *       compatible,…:MODEL@…
 *   fallback:SPEC then SPEC…
 *       The first model that answers.
 *   none
 *       No model. Every request is refused.
 *   replay[,skip=N][,strict=1]:FILE
 *       Recorded replies (docs/reference/replay-format.md). skip: the calls made before a resume.
 *       strict: only replies recorded for the same prompt.
 *   replay:RUN, replay:STORE#RUN[#NAME]
 *       The replies of a stored run, of all its models or of the model NAME.
 *   exec[,timeout=S][,parallel=N]:COMMAND
 *       /bin/sh -c COMMAND, with the system text and the prompt on stdin. Its stdout is the reply:
 *       plain text, or one JSON object {"text", "model", "usage": {"prompt_tokens",
 *       "completion_tokens"}, "cost_usd", "outcome"}. The command runs with the user's environment
 *       and rights. The default timeout is $KFORGE_EXEC_TIMEOUT or 600 s.
 *   agent[,timeout=S][,evals=N][,device=S][,usd=U][,env=NAME+NAME][,home=DIR][,read=DIR+DIR]
 *        [,name=NAME][,parallel=N]:COMMAND
 *       A coding agent. /bin/sh -c COMMAND works in a jail (episode.h), with the system text and
 *       the prompt on stdin. While it works it has candidates judged (kf_llm_next_question). Its
 *       reply is its stdout, and a last line of kforge's own with its candidate.
 * Every provider takes weight=W, role=proposer|critic|both, temperature_from=A, temperature_to=B
 * and temperature_calls=N, for a caller that has several models (kf_llm_traits).
 *
 * The calls are asynchronous: submit many requests, poll for finished ones. No call waits longer
 * than its limit, so one slow reply does not delay the others. An object belongs to one thread. */
#ifndef KFORGE_LLM_H
#define KFORGE_LLM_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

typedef struct kf_llm kf_llm;

typedef struct kf_llm_request {
    /* May be NULL. */
    const char *system;
    const char *prompt;
    /* Negative: the provider's default. */
    double temperature;
    /* 0: the provider's default. */
    int64_t max_tokens;
    /* Belongs to the caller. The reply repeats it. */
    int64_t tag;
    /* For an agent: the content of candidate.cu and of baseline.cu. */
    const char *candidate, *baseline;
    /* The baseline is a PyTorch module. */
    bool baseline_module;
    /* Asks only if requests to a server succeed: without reasoning, and not again after a failure,
     * except once for an address that does not answer. */
    bool trial;
    /* Asks a server only for its list of models, which costs nothing and counts for no budget. The
     * reply has no text. A server without a list fails with KF_ERROR_IO. */
    bool listing;
} kf_llm_request;

typedef enum kf_llm_outcome {
    KF_LLM_OK,
    /* The reply reached the token limit. `text` is the part until there. */
    KF_LLM_TRUNCATED,
    /* The model or a filter refused. */
    KF_LLM_REFUSED,
    KF_LLM_EMPTY,
    /* Transport, timeout or a broken reply. `error` describes it. */
    KF_LLM_FAILED,
    /* Replay: no recorded reply is left for this prompt. Budget: the request does not fit, and
     * kforge sent nothing. */
    KF_LLM_EXHAUSTED,
} kf_llm_outcome;

/* Returns "ok", "truncated", … as cassettes and the store spell it. */
const char *kf_llm_outcome_name(kf_llm_outcome outcome);
bool kf_llm_outcome_parse(const char *name, kf_llm_outcome *outcome);

typedef struct kf_llm_reply {
    int64_t tag;
    kf_llm_outcome outcome;
    /* Owned by the reply, NUL-terminated. */
    char *text;
    size_t size;
    /* The name of the model that answered, as the provider gives it. */
    char *model;
    /* The sampling settings of the request as sent, a JSON object. NULL: unknown. */
    char *settings;
    /* -1: unknown. The sum over all attempts that were charged. */
    int64_t prompt_tokens, completion_tokens;
    /* NaN: unknown. An estimate from the sizes if the price is known and the token counts are not.
     */
    double cost_usd;
    /* Requests sent for this reply, retries included. 1 if the provider does not count. */
    int64_t requests;
    double seconds;
    /* Of `seconds`: an agent's questions waited for a worker. NaN: no agent. */
    double waited_seconds;
    kf_error error;
} kf_llm_reply;

/* Opens a provider spec. KF_ERROR_INPUT lists the known forms if the spec has no known form. "none"
 * opens, too: it refuses every request. */
kf_llm *kf_llm_open(const char *spec, kf_error *error);
/* Ends all requests and child processes. */
void kf_llm_close(kf_llm *llm);
KF_DEFINE_AUTO(kf_llm, kf_llm_close)
bool kf_llm_is_none(const kf_llm *llm);
/* True if each request goes to a server, which may refuse the key or the name of the model. */
bool kf_llm_is_remote(const kf_llm *llm);
/* The part of a model among several. Only the caller uses it. */
typedef enum kf_llm_role { KF_LLM_PROPOSER = 1, KF_LLM_CRITIC = 2, KF_LLM_BOTH = 3 } kf_llm_role;
typedef struct kf_llm_traits {
    /* Default 1. */
    double weight;
    kf_llm_role role;
    /* NaN: no schedule. */
    double temperature_from, temperature_to;
    /* The temperature changes linearly over so many calls, then stays. */
    int64_t temperature_calls;
} kf_llm_traits;
/* Borrowed from `llm`. */
const kf_llm_traits *kf_llm_traits_of(const kf_llm *llm);
/* Returns the temperature after `calls` earlier calls. -1 means the provider's default: there is no
 * schedule. */
double kf_llm_temperature(const kf_llm_traits *traits, int64_t calls);
/* Copies and sends the request. KF_ERROR_BUSY: the provider takes no more at a time. Poll first. */
bool kf_llm_submit(kf_llm *llm, const kf_llm_request *request, kf_error *error);
int kf_llm_in_flight(const kf_llm *llm);
/* Waits up to `seconds` for one finished reply. Returns 1 and fills *reply, or returns 0 if no
 * reply came. Release the reply with kf_llm_reply_free. */
int kf_llm_poll(kf_llm *llm, double seconds, kf_llm_reply *reply);
void kf_llm_reply_free(kf_llm_reply *reply);
/* For callers with an event loop. Fills `fds` with up to `most` descriptors and returns their
 * number. kf_llm_poll is due as soon as one is ready. Lowers *wake (kf_now) to the time when it is
 * due in any case. */
size_t kf_llm_watch(const kf_llm *llm, struct pollfd *fds, size_t most, double *wake);
/* Returns why calls in flight have no reply so far: an attempt failed and is repeated, or a server
 * that never answered is silent for a minute. NULL without such a reason. Valid until the next
 * kf_llm_poll. */
const char *kf_llm_trouble(kf_llm *llm);
/* Sets the caller's progress, in any unit that grows. A recorded reply that came at some progress
 * comes at the same progress again. So a replayed run repeats the work it did while a model was
 * answering. Without a call, recorded replies come at once. INT64_MAX: no other work is left. */
void kf_llm_progress(kf_llm *llm, int64_t done);
/* True if the model hands out recorded replies, each once. */
bool kf_llm_is_recorded(const kf_llm *llm);
/* Skips the recorded reply to `prompt`: an earlier session received it at the present progress. */
void kf_llm_pass(kf_llm *llm, const char *prompt);
/* Whether the recorded run sent a request at the present progress. A live model is always
 * KF_LLM_LIVE. USED_UP: the recorded run sent no further request. */
typedef enum kf_llm_readiness {
    KF_LLM_LIVE,
    KF_LLM_READY,
    KF_LLM_NOT_YET,
    KF_LLM_USED_UP
} kf_llm_readiness;
kf_llm_readiness kf_llm_ready(const kf_llm *llm);
/* Reads which models the recorded run left unused at this request, one bit each. Only for a
 * recorded model that is READY. False if the recording does not say so. */
bool kf_llm_resting(const kf_llm *llm, uint64_t *models);
/* Returns how many episodes the model holds at a time. 0: it is no agent. */
int kf_llm_episodes(const kf_llm *llm);
/* Keeps the file or folder out of an agent's jail. */
bool kf_llm_hide(kf_llm *llm, const char *path, kf_error *error);
/* A candidate that an agent wants judged while its request is in flight. */
typedef enum kf_llm_wish {
    /* judge with times */
    KF_LLM_WISH_EVAL,
    /* correctness only */
    KF_LLM_WISH_CHECK,
    /* judge with times and hardware counters */
    KF_LLM_WISH_PROFILE,
    /* judge with times, for longer */
    KF_LLM_WISH_SUBMIT
} kf_llm_wish;
typedef struct kf_llm_question {
    /* of the request */
    int64_t tag;
    /* among the questions of the request, from 1 */
    int64_t id;
    kf_llm_wish wish;
    /* owned by the receiver. NULL: no answer to question `id` is needed any more */
    char *source;
    size_t size;
} kf_llm_question;
/* Takes the next question of any request, or the end of an earlier one. False without one. Never
 * waits. */
bool kf_llm_next_question(kf_llm *llm, kf_llm_question *question);
/* Answers with a JSON object (agent/episode/README.md), or with NULL and the reason. Of the time
 * since the question, judging_seconds count for the agent: building and judging. */
void kf_llm_answer(kf_llm *llm, int64_t tag, int64_t id, const char *json, double device_seconds,
                   double judging_seconds, const char *reason);
/* Returns "agent:NAME" for the spec of an agent, malloc'd; NULL for another spec. */
char *kf_llm_agent_name(const char *spec);
/* Ends all requests in flight. Each becomes a reply KF_LLM_FAILED with its cost. kf_llm_poll then
 * returns them without waiting. */
void kf_llm_cancel(kf_llm *llm);

/* Sets the budget, in which every request is reserved before it is sent and settled after it
 * (budget.h). Borrowed. Several objects of one thread may share it. NULL: no budget. */
typedef struct kf_budget kf_budget;
void kf_llm_set_budget(kf_llm *llm, kf_budget *budget);
/* True if the budget can be enforced. KF_ERROR_INPUT if it limits money and the price of the model
 * is unknown. The error says how to give the price. */
bool kf_llm_check_budget(const kf_llm *llm, const kf_budget *budget, kf_error *error);
/* Returns the spec with its present prices in it, malloc'd. So a resumed run keeps the prices of
 * its start. */
char *kf_llm_freeze(const char *spec, kf_error *error);

/* True if the word looks like a spec: a provider and a colon or comma, or MODEL@http://… */
bool kf_llm_is_spec(const char *word);
/* Returns the run that "replay:RUN" names, malloc'd. NULL for any other spec, and if a file has
 * that name. */
char *kf_llm_replayed_run(const char *spec);

#endif
