/* What a provider is: a row in the table of agent/llm.c. Internal to agent/.
 *
 * A provider never waits outside `poll`, and there no longer than asked. Everything about one request that goes wrong after `submit`
 * comes back as a reply with an error, so that a caller has one place to look.
 */
#ifndef KFORGE_AGENT_LLM_PROVIDER_H
#define KFORGE_AGENT_LLM_PROVIDER_H

#include "kforge/llm.h"

#define KF_LLM_OPTIONS 4

/* A number in the spec before the colon: `exec,timeout=30:COMMAND`. */
typedef struct kf_llm_option {
    const char *name;
    double initial, low, high;
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
} kf_llm_provider;

extern const kf_llm_provider kf_llm_exec, kf_llm_replay;

/* A reply of which nothing is known yet. */
kf_llm_reply kf_llm_reply_empty(int64_t tag);
/* Hands text over to the reply: KF_LLM_OK, or KF_LLM_EMPTY when there is nothing but white space. */
void kf_llm_reply_set_text(kf_llm_reply *reply, char *text, size_t size);

#endif
