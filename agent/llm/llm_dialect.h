/* Wire formats of model servers: how a request is written, and how the events of a reply are read.
 * Pure. One table row for each format (llm_openai.c, llm_anthropic.c, llm_gemini.c). Internal to
 * agent/.
 *
 * The last token count of a server is valid. Counts are never added up, because servers repeat and
 * correct them during a stream. Fields of the wrong type count as absent. */
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

/* Parameters that the server does not know. Later requests leave them out. */
enum {
    KF_WITHOUT_STREAM_OPTIONS = 1,
    KF_WITHOUT_TEMPERATURE = 2,
    KF_WITHOUT_EFFORT = 4,
    KF_OTHER_TOKEN_LIMIT = 8
};

typedef struct kf_call_settings {
    const char *model;
    kf_effort effort;
    /* Tokens. 0: as the effort says. */
    int64_t thinking;
    /* Of the whole reply, reasoning included. */
    int64_t max_tokens;
    /* Negative: the server's default. */
    double temperature;
    /* The provider's own server, not a compatible one. */
    bool official;
    /* KF_WITHOUT_… */
    int without;
} kf_call_settings;

typedef enum kf_stop {
    /* The server did not say. */
    KF_STOP_NONE,
    KF_STOP_END,
    KF_STOP_LENGTH,
    /* The model refused, or a filter stopped the reply. */
    KF_STOP_REFUSED,
    KF_STOP_TOOL,
    KF_STOP_OTHER,
} kf_stop;

/* The part of a reply that has arrived. */
typedef struct kf_answer {
    kf_buffer text;
    /* Bytes of reasoning and tool calls. */
    uint64_t hidden_bytes;
    char model[128];
    kf_stop stop;
    /* The server's own word for it. */
    char stop_word[64];
    /* The server said that the reply is complete. */
    bool ended;
    /* -1: not given. prompt_tokens includes both kinds of cached tokens. */
    int64_t prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens;
    /* NaN: not given. */
    double cost_usd;
    /* The text is a refusal. */
    bool has_refusal;
    /* The stream holds an error. passing: another attempt may succeed. */
    bool failed, passing;
    kf_error error;
} kf_answer;

/* The texts of a request. `begun`: the first part of a reply that reached the token limit, to be
 * continued. NULL: nothing to continue. */
typedef struct kf_dialect_request {
    const char *system, *prompt, *begun;
} kf_dialect_request;

typedef struct kf_dialect {
    const char *name;
    const char *key_header; /* "Authorization: Bearer %s" */
    /* More headers, NULL-terminated. */
    const char *const *headers;
    /* Appends the path behind the base address: "/chat/completions". */
    void (*path)(const kf_call_settings *settings, kf_buffer *path);
    bool (*body)(const kf_call_settings *settings, const kf_dialect_request *request, cJSON *json);
    /* Reads one event, or a whole reply that was not streamed. */
    void (*event)(kf_answer *answer, const char *name, const cJSON *json);
} kf_dialect;

extern const kf_dialect kf_dialect_chat, kf_dialect_responses, kf_dialect_anthropic,
    kf_dialect_gemini;

void kf_answer_open(kf_answer *answer);
void kf_answer_close(kf_answer *answer);
/* Returns a copy of JSON text that servers write and parsers refuse: NaN and Infinity outside of
 * strings become -1, and half of a surrogate pair, an escaped NUL and a NUL byte become U+FFFD. The
 * length stays, except for NUL bytes. The caller frees; NULL without memory. */
char *kf_mend_json(const char *text, size_t size);
/* Reads the data of an event. False unless it is JSON or "[DONE]". Bare NaN and Infinity read as
 * -1. */
bool kf_answer_event(kf_answer *answer, const kf_dialect *dialect, const char *name,
                     const char *data, size_t size);
/* Reads the "error" of a body or an event, if there is one: its message, and whether another
 * attempt may succeed. */
void kf_answer_error(kf_answer *answer, const cJSON *error);

/* ---- for the dialects */
/* Returns the member at a path as "choices.0.delta". NULL if a part is missing. */
const cJSON *kf_dialect_member(const cJSON *object, const char *path);
/* NULL if it is no text. */
const char *kf_dialect_member_text(const cJSON *object, const char *path);
/* -1 if it is no count of tokens. */
int64_t kf_dialect_member_count(const cJSON *object, const char *path);
void kf_answer_text(kf_answer *answer, const char *text);
/* `text` may be NULL. */
void kf_answer_hidden(kf_answer *answer, const char *text);
/* `model` may be NULL. */
void kf_answer_model(kf_answer *answer, const char *model);
void kf_answer_stop(kf_answer *answer, kf_stop stop, const char *word);
/* Appends the turns of a request: the prompt, and for a continuation the first part of the reply
 * with the request to continue. */
bool kf_messages(cJSON *list, const kf_dialect_request *request);
cJSON *kf_message(cJSON *list, const char *role, const char *content); /* {"role", "content"} */

#endif
