/* Wire formats of model servers: how a request is written, what each event of the reply means.
 * Pure; one table row a format (llm_openai.c, llm_anthropic.c, llm_gemini.c). Internal to agent/.
 *
 * Counts of tokens are what the server says last, never added up: servers repeat and correct them
 * while they stream. Fields of the wrong type count as absent.
 */
#ifndef KFORGE_LLM_DIALECT_H
#define KFORGE_LLM_DIALECT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/buffer.h"
#include "kforge/error.h"
#include "llm.h"

typedef enum kf_effort {
    KF_EFFORT_DEFAULT,
    KF_EFFORT_NONE,
    KF_EFFORT_MINIMAL,
    KF_EFFORT_LOW,
    KF_EFFORT_MEDIUM,
    KF_EFFORT_HIGH,
    KF_EFFORT_XHIGH
} kf_effort;
extern const char *const kf_effort_names[]; /* "default", "none", … */

/* What a server said it does not know; left out from then on. */
enum {
    KF_WITHOUT_STREAM_OPTIONS = 1,
    KF_WITHOUT_TEMPERATURE = 2,
    KF_WITHOUT_EFFORT = 4,
    KF_OTHER_TOKEN_LIMIT = 8
};

typedef struct kf_call_settings {
    const char *model;
    kf_effort effort;
    int64_t thinking;   /* tokens, 0: as the effort says */
    int64_t max_tokens; /* of the whole reply, thinking included */
    double temperature; /* negative: the server's default */
    bool official;      /* the provider's own server, not one that is compatible */
    int without;        /* KF_WITHOUT_… */
} kf_call_settings;

typedef enum kf_stop {
    KF_STOP_NONE, /* not said */
    KF_STOP_END,
    KF_STOP_LENGTH,
    KF_STOP_REFUSED, /* the model declined, or a filter stopped it */
    KF_STOP_TOOL,
    KF_STOP_OTHER,
} kf_stop;

/* What has come of a reply. */
typedef struct kf_answer {
    kf_buffer text;
    uint64_t hidden_bytes; /* of reasoning and tool calls */
    char model[128];
    kf_stop stop;
    /* the server's own */
    char stop_word[64];
    /* the server said that this was all */
    bool ended;
    /* -1 not said; the first includes both caches */
    int64_t prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens;
    /* where the server says it; NaN */
    double cost_usd;
    /* text of a refusal came: it is the text */
    bool has_refusal;
    bool failed, passing; /* the stream holds an error; asking again may help */
    kf_error error;
} kf_answer;

/* What is asked for. `begun`: the part of the reply that came before the token limit, to be
 * continued; NULL none. */
typedef struct kf_dialect_request {
    const char *system, *prompt, *begun;
} kf_dialect_request;

typedef struct kf_dialect {
    const char *name;
    const char *key_header;     /* "Authorization: Bearer %s" */
    const char *const *headers; /* further ones, NULL-terminated */
    /* Behind the base address: "/chat/completions". */
    void (*path)(const kf_call_settings *settings, kf_buffer *path);
    bool (*body)(const kf_call_settings *settings, const kf_dialect_request *request, cJSON *json);
    /* One event, or a whole reply that was not streamed. */
    void (*event)(kf_answer *answer, const char *name, const cJSON *json);
} kf_dialect;

extern const kf_dialect kf_dialect_chat, kf_dialect_responses, kf_dialect_anthropic,
    kf_dialect_gemini;

void kf_answer_open(kf_answer *answer);
void kf_answer_close(kf_answer *answer);
/* Data of an event: JSON, "[DONE]", or nothing of use (then false). Bare NaN and Infinity are read
 * as -1. */
bool kf_answer_event(kf_answer *answer, const kf_dialect *dialect, const char *name,
                     const char *data, size_t size);
/* The "error" of a body or an event, if there is one: its message, and whether `answer` failed for
 * a passing reason. */
void kf_answer_error(kf_answer *answer, const cJSON *error);

/* ---- for the dialects */
/* "choices.0.delta"; NULL when a part is missing */
const cJSON *kf_dialect_member(const cJSON *object, const char *path);
/* NULL when it is no text */
const char *kf_dialect_member_text(const cJSON *object, const char *path);
/* -1 when it is no count of tokens */
int64_t kf_dialect_member_count(const cJSON *object, const char *path);
void kf_answer_text(kf_answer *answer, const char *text);
void kf_answer_hidden(kf_answer *answer, const char *text); /* NULL is fine */
void kf_answer_model(kf_answer *answer, const char *model); /* NULL is fine */
void kf_answer_stop(kf_answer *answer, kf_stop stop, const char *word);
/* The turns of a request: the prompt, and the part to be continued with the request to go on. */
bool kf_messages(cJSON *list, const kf_dialect_request *request);
cJSON *kf_message(cJSON *list, const char *role, const char *content); /* {"role", "content"} */

#endif
