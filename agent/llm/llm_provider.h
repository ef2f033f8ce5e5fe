/* What a provider is: a row in the table of agent/llm/llm.c. Internal to agent/.
 *
 * A provider never waits outside `poll`, and there no longer than asked. Everything about one
 * request that goes wrong after `submit` comes back as a reply with an error, so that a caller has
 * one place to look.
 */
#ifndef KFORGE_AGENT_LLM_PROVIDER_H
#define KFORGE_AGENT_LLM_PROVIDER_H

#include <poll.h>

#include "budget.h"
#include "kforge/buffer.h"
#include "llm.h"

#define KF_LLM_OPTIONS 20

/* A number in the spec before the colon: `exec,timeout=30:COMMAND`; or one of some words, whose
 * value is its index. */
typedef struct kf_llm_option {
    const char *name;
    double initial, low, high;
    const char *const *words; /* ends with NULL; NULL: a number */
} kf_llm_option;

typedef struct kf_llm_provider {
    const char *name;                      /* before the first ',' or ':' of a spec */
    const char *form;                      /* for messages: "exec:COMMAND" */
    bool takes_argument;                   /* something must follow the colon */
    kf_llm_option options[KF_LLM_OPTIONS]; /* ends at a NULL name */
    /* `options` has a value for each row of the table above. */
    void *(*open)(const char *argument, const double *options, kf_error *error);
    bool (*submit)(void *state, const kf_llm_request *request, kf_error *error);
    int (*in_flight)(const void *state);
    int (*poll)(void *state, double seconds, kf_llm_reply *reply);
    void (*close)(void *state);
    /* From here on NULL where a provider has no use for it. */
    /* as kf_llm_watch */
    size_t (*watch)(const void *state, struct pollfd *fds, size_t most, double *wake);
    /* as kf_llm_cancel */
    void (*cancel)(void *state);
    /* The provider reserves and settles each request itself; else one request is counted for each
     * call, and what its reply says. */
    void (*set_budget)(void *state, kf_budget *budget);
    /* as kf_llm_check_budget */
    bool (*check_budget)(const void *state, const kf_budget *budget, kf_error *error);
    /* as kf_llm_progress */
    void (*progress)(void *state, int64_t done);
    /* as kf_llm_pass; those that have recordings */
    void (*pass)(void *state, const char *prompt);
    kf_llm_readiness (*ready)(const void *state);         /* as kf_llm_ready */
    bool (*resting)(const void *state, uint64_t *models); /* as kf_llm_resting */
    /* ",price_in=1.25…" that the spec does not say */
    bool (*freeze)(const void *state, kf_buffer *options);
} kf_llm_provider;

extern const kf_llm_provider kf_llm_exec, kf_llm_replay, kf_llm_fallback;
extern const kf_llm_provider kf_llm_openai, kf_llm_anthropic, kf_llm_gemini, kf_llm_openrouter,
    kf_llm_azure, kf_llm_compatible;

/* A reply of which nothing is known yet. */
kf_llm_reply kf_llm_reply_empty(int64_t tag);
/* Hands text over to the reply: KF_LLM_OK, or KF_LLM_EMPTY when there is nothing but white space.
 */
void kf_llm_reply_set_text(kf_llm_reply *reply, char *text, size_t size);

#endif
