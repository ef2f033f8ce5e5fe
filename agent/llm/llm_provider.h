/* A provider: a row in the table of llm.c. Internal to agent/.
 *
 * A provider waits in `poll` only, and there no longer than its limit. Every failure after `submit`
 * comes back as a reply with an error. */
#ifndef KFORGE_AGENT_LLM_PROVIDER_H
#define KFORGE_AGENT_LLM_PROVIDER_H

#include <poll.h>

#include "budget.h"
#include "kforge/buffer.h"
#include "llm.h"

#define KF_LLM_OPTIONS 20

/* Take the place of words. A duration is a number of seconds, or has s, m or h behind it. A text
 * goes to set_text, and has no ',' and no ':'. */
extern const char *const kf_llm_duration[], *const kf_llm_text[];

/* An option in the spec before the colon: a number (`exec,timeout=30:COMMAND`), or one of some
 * words. The value of a word is its index. */
typedef struct kf_llm_option {
    const char *name;
    double initial, low, high;
    /* Ends with NULL. NULL: the option is a number. */
    const char *const *words;
} kf_llm_option;

/* Divides MODEL@ADDRESS. Returns the address, NULL without one; *model: the length of MODEL. */
const char *kf_llm_address(const char *argument, size_t *model);

typedef struct kf_llm_provider {
    /* The part of a spec before the first ',' or ':'. */
    const char *name;
    /* For messages: "exec:COMMAND". */
    const char *form;
    /* A text must follow the colon. */
    bool takes_argument;
    /* Ends at a NULL name. */
    kf_llm_option options[KF_LLM_OPTIONS];
    /* `options` holds one value for each row of the table above. */
    void *(*open)(const char *argument, const double *options, kf_error *error);
    bool (*submit)(void *state, const kf_llm_request *request, kf_error *error);
    int (*in_flight)(const void *state);
    int (*poll)(void *state, double seconds, kf_llm_reply *reply);
    void (*close)(void *state);
    /* The functions below may be NULL. */
    /* Sets a KF_LLM_TEXT option, after `open`. `option` is its row. */
    bool (*set_text)(void *state, int option, const char *text, kf_error *error);
    /* As kf_llm_episodes, kf_llm_hide, kf_llm_next_question and kf_llm_answer. */
    int (*episodes)(const void *state);
    bool (*hide)(void *state, const char *path, kf_error *error);
    bool (*next_question)(void *state, kf_llm_question *question);
    void (*answer)(void *state, int64_t tag, int64_t id, const char *json, double device_seconds,
                   double judging_seconds, const char *reason);
    /* As kf_llm_is_remote. NULL: false. */
    bool (*is_remote)(const void *state);
    /* As kf_llm_watch. */
    size_t (*watch)(const void *state, struct pollfd *fds, size_t most, double *wake);
    /* As kf_llm_trouble. */
    const char *(*trouble)(void *state);
    /* As kf_llm_cancel. */
    void (*cancel)(void *state);
    /* For providers that reserve and settle each request themselves. For the others, llm.c reserves
     * one request for each call and settles what the reply says. */
    void (*set_budget)(void *state, kf_budget *budget);
    /* As kf_llm_check_budget. */
    bool (*check_budget)(const void *state, const kf_budget *budget, kf_error *error);
    /* As kf_llm_progress. */
    void (*progress)(void *state, int64_t done);
    /* As kf_llm_pass. Only for recordings. */
    void (*pass)(void *state, const char *prompt);
    /* As kf_llm_ready. */
    kf_llm_readiness (*ready)(const void *state);
    /* As kf_llm_resting. */
    bool (*resting)(const void *state, uint64_t *models);
    /* Appends the options that the spec does not give, as in ",price_in=1.25". */
    bool (*freeze)(const void *state, kf_buffer *options);
} kf_llm_provider;

extern const kf_llm_provider kf_llm_exec, kf_llm_agent, kf_llm_replay, kf_llm_fallback;
extern const kf_llm_provider kf_llm_openai, kf_llm_anthropic, kf_llm_gemini, kf_llm_openrouter,
    kf_llm_azure, kf_llm_compatible;

/* Returns a reply with all fields unknown. */
kf_llm_reply kf_llm_reply_empty(int64_t tag);
/* Gives `text` to the reply. Its outcome becomes KF_LLM_OK, or KF_LLM_EMPTY for white space alone.
 */
void kf_llm_reply_set_text(kf_llm_reply *reply, char *text, size_t size);

#endif
