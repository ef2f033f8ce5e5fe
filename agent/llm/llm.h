/* Models: a provider answers a prompt. Providers are rows of one table (agent/llm/llm.c).
 *
 * A spec is PROVIDER[,OPTION=VALUE…]:ARGUMENT (docs/reference/settings.md has all options).
 *   openai:MODEL, anthropic:MODEL, gemini:MODEL, openrouter:MODEL, azure:DEPLOYMENT
 *                                            over the network; MODEL@http://HOST… asks that server
 * instead of the provider's own MODEL@http://HOST:PORT/v1                any server that is
 * compatible with OpenAI's chat completions; with options: compatible,…:MODEL@… fallback:SPEC then
 * SPEC…                 the first that answers none                                     no model
 *   replay[,skip=N][,strict=1]:FILE          recorded replies (docs/reference/replay-format.md);
 * skip: calls already made before a resume; strict: only replies whose "match" is the prompt's hash
 *   replay:RUN, replay:STORE#RUN[#NAME]      what the models of a stored run answered, or the one
 * of that name; RUN alone: in the default store exec[,timeout=S][,parallel=N]:COMMAND    /bin/sh -c
 * COMMAND, system text and prompt on its stdin, reply on its stdout: plain, or one JSON object
 * {"text", "model", "usage": {"prompt_tokens", "completion_tokens"}, "cost_usd", "outcome"}. It
 * runs with the user's environment and rights. Default timeout: $KFORGE_EXEC_TIMEOUT or 600 s
 *
 * Options of any of them, for a caller that has several: weight=W, role=proposer|critic|both,
 * temperature_from=A,temperature_to=B over temperature_calls=N (kf_llm_traits).
 *
 * Asynchronous by construction: submit many, poll for finished ones; nothing blocks longer than
 * asked, so one slow reply never holds up others. An object belongs to one thread.
 */
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
    const char *system; /* may be NULL */
    const char *prompt;
    double temperature; /* negative: the provider's default */
    int64_t max_tokens; /* 0: the provider's default */
    int64_t tag;        /* the caller's, comes back with the reply */
} kf_llm_request;

typedef enum kf_llm_outcome {
    KF_LLM_OK,
    KF_LLM_TRUNCATED, /* token limit: text is what came */
    KF_LLM_REFUSED,   /* the model declined or a filter did */
    KF_LLM_EMPTY,
    KF_LLM_FAILED, /* transport, timeout, bad reply: `error` says which */
    /* replay: no recorded reply is left for this prompt; a budget has no room for the request, and
       nothing was sent */
    KF_LLM_EXHAUSTED,
} kf_llm_outcome;

/* "ok", "truncated", … as in cassettes and the store. */
const char *kf_llm_outcome_name(kf_llm_outcome outcome);
bool kf_llm_outcome_parse(const char *name, kf_llm_outcome *outcome);

typedef struct kf_llm_reply {
    int64_t tag;
    kf_llm_outcome outcome;
    char *text; /* owned by the reply; NUL-terminated */
    size_t size;
    char *model; /* what answered, as the provider names it */
    /* what the request asked of the model, as sent: a JSON object; NULL not known */
    char *settings;
    int64_t prompt_tokens, completion_tokens; /* -1 unknown; all attempts that were charged */
    /* NaN unknown; estimated from the bytes where a price is known and tokens are not */
    double cost_usd;
    /* sent for it, retries included; 1 where a provider does not count */
    int64_t requests;
    double seconds;
    kf_error error;
} kf_llm_reply;

/* Opens a provider spec. KF_ERROR_INPUT names the known forms when the spec has none. "none" opens
 * too: it refuses every request. */
kf_llm *kf_llm_open(const char *spec, kf_error *error);
void kf_llm_close(kf_llm *llm); /* aborts what is in flight, leaves no child behind */
KF_DEFINE_AUTO(kf_llm, kf_llm_close)
bool kf_llm_is_none(const kf_llm *llm);
/* What a spec says of the model's part among several. The caller acts on it; to the provider it
 * means nothing. */
typedef enum kf_llm_role { KF_LLM_PROPOSER = 1, KF_LLM_CRITIC = 2, KF_LLM_BOTH = 3 } kf_llm_role;
typedef struct kf_llm_traits {
    double weight; /* 1 */
    kf_llm_role role;
    double temperature_from, temperature_to; /* NaN: none */
    /* from the one to the other, linearly; then it stays */
    int64_t temperature_calls;
} kf_llm_traits;
const kf_llm_traits *kf_llm_traits_of(const kf_llm *llm); /* borrowed */
/* Of the call after `calls` others; -1, the provider's own, where there is no schedule. */
double kf_llm_temperature(const kf_llm_traits *traits, int64_t calls);
/* Copies the request. KF_ERROR_BUSY: as many are in flight as the provider takes; poll first. */
bool kf_llm_submit(kf_llm *llm, const kf_llm_request *request, kf_error *error);
int kf_llm_in_flight(const kf_llm *llm);
/* Waits up to `seconds` for one finished reply: 1 and *reply filled, 0 nothing yet, in flight or
 * not. Free with kf_llm_reply_free. */
int kf_llm_poll(kf_llm *llm, double seconds, kf_llm_reply *reply);
void kf_llm_reply_free(kf_llm_reply *reply);
/* For callers that wait for other things, too: descriptors (at most `most`; how many are returned)
 * that tell that kf_llm_poll is due, and *wake, lowered to when it is due in any case (kf_now). */
size_t kf_llm_watch(const kf_llm *llm, struct pollfd *fds, size_t most, double *wake);
/* How far the caller's work is, in any unit that grows: recorded replies that came at some point of
 * it come there again, so that what was done while a model was thinking is done again before its
 * reply is there. Never told: they come at once. INT64_MAX: nothing else is left to do. */
void kf_llm_progress(kf_llm *llm, int64_t done);
/* Does it hand recorded replies out, each once? */
bool kf_llm_is_recorded(const kf_llm *llm);
/* A recorded model was asked this in an earlier session, when the work was as far as it was told
 * last: that reply is not handed out again. */
void kf_llm_pass(kf_llm *llm, const char *prompt);
/* Was it asked when the work was as far as it is? A live model has no opinion. USED_UP: it was not
 * asked again before its run ended. */
typedef enum kf_llm_readiness {
    KF_LLM_LIVE,
    KF_LLM_READY,
    KF_LLM_NOT_YET,
    KF_LLM_USED_UP
} kf_llm_readiness;
kf_llm_readiness kf_llm_ready(const kf_llm *llm);
/* Of a recorded model that is READY: which of its run's models were left alone then, a bit each;
 * false when that is not known. */
bool kf_llm_resting(const kf_llm *llm, uint64_t *models);
/* Ends all that is in flight: each request becomes a reply, KF_LLM_FAILED with what it has cost,
 * that kf_llm_poll hands out without waiting. */
void kf_llm_cancel(kf_llm *llm);

/* Reserves each request in `budget` before it leaves and settles it after (agent/llm/budget.h);
 * borrowed, may be shared by several objects of one thread. NULL: none. */
typedef struct kf_budget kf_budget;
void kf_llm_set_budget(kf_llm *llm, kf_budget *budget);
/* Can this budget be kept? KF_ERROR_INPUT when it limits money and the model's price is not known:
 * how to give it. */
bool kf_llm_check_budget(const kf_llm *llm, const kf_budget *budget, kf_error *error);
/* The spec with the prices in it that it would be charged by now; malloc'd. So a run keeps the
 * prices that it began with. */
char *kf_llm_freeze(const char *spec, kf_error *error);

/* The run that a spec "replay:RUN" names, when there is no file of that name; malloc'd, NULL for
 * every other spec. */
char *kf_llm_replayed_run(const char *spec);

#endif
