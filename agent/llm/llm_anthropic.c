/* Anthropic's messages. Source: https://docs.anthropic.com/en/api/messages, /messages-streaming,
 * /build-with-claude/prompt-caching and /extended-thinking. */
#include <string.h>

#include "llm_dialect.h"

static void path_of(const kf_call_settings *settings, kf_buffer *path)
{
    (void)settings;
    kf_buffer_string(path, "/messages");
}

/* Returns the tokens for reasoning: at least 1024 and below max_tokens. 0: no reasoning. */
static int64_t thinking_of(const kf_call_settings *s)
{
    static const int64_t by_effort[] = {[KF_EFFORT_MINIMAL] = 1024,
                                        [KF_EFFORT_LOW] = 2048,
                                        [KF_EFFORT_MEDIUM] = 8192,
                                        [KF_EFFORT_HIGH] = 24576,
                                        [KF_EFFORT_XHIGH] = 49152};
    int64_t budget = s->thinking > 0                                    ? s->thinking
                     : s->effort < sizeof by_effort / sizeof *by_effort ? by_effort[s->effort]
                                                                        : 0;
    if (s->without & KF_WITHOUT_EFFORT) return 0;
    if (budget >= s->max_tokens) budget = s->max_tokens / 2;
    return budget >= 1024 ? budget : 0;
}

static bool body_of(const kf_call_settings *s, const kf_dialect_request *request, cJSON *json)
{
    bool good = true;
    good &= cJSON_AddStringToObject(json, "model", s->model) != NULL;
    good &= cJSON_AddNumberToObject(json, "max_tokens", (double)s->max_tokens) != NULL;
    good &= cJSON_AddTrueToObject(json, "stream") != NULL;
    if (request->system && *request->system) {
        /* Equal in all requests of a run, so the server caches it. */
        cJSON *block = cJSON_CreateObject(), *system = cJSON_AddArrayToObject(json, "system");
        good &= cJSON_AddStringToObject(block, "type", "text") != NULL;
        good &= cJSON_AddStringToObject(block, "text", request->system) != NULL;
        good &= cJSON_AddStringToObject(cJSON_AddObjectToObject(block, "cache_control"), "type",
                                        "ephemeral") != NULL;
        if (!cJSON_AddItemToArray(system, block)) {
            cJSON_Delete(block);
            return false;
        }
    }
    cJSON *messages = cJSON_AddArrayToObject(json, "messages");
    if (!messages || !kf_messages(messages, request)) return false;
    int64_t thinking = thinking_of(s);
    if (thinking) {
        cJSON *object = cJSON_AddObjectToObject(json, "thinking");
        good &= cJSON_AddStringToObject(object, "type", "enabled") != NULL;
        good &= cJSON_AddNumberToObject(object, "budget_tokens", (double)thinking) != NULL;
    } else if (s->temperature >= 0 && !(s->without & KF_WITHOUT_TEMPERATURE)) {
        good &= cJSON_AddNumberToObject(json, "temperature",
                                        s->temperature > 1 ? 1 : s->temperature) != NULL;
    }
    return good;
}

static void usage(kf_answer *a, const cJSON *json)
{
    int64_t input = kf_dialect_member_count(json, "input_tokens"),
            output = kf_dialect_member_count(json, "output_tokens");
    int64_t read = kf_dialect_member_count(json, "cache_read_input_tokens"),
            written = kf_dialect_member_count(json, "cache_creation_input_tokens");
    if (read >= 0) a->cached_tokens = read;
    if (written >= 0) a->cache_write_tokens = written;
    /* input_tokens does not include the two kinds of cached tokens. */
    if (input >= 0)
        a->prompt_tokens = input + (a->cached_tokens > 0 ? a->cached_tokens : 0) +
                           (a->cache_write_tokens > 0 ? a->cache_write_tokens : 0);
    if (output >= 0) a->completion_tokens = output;
}

static void take_stop(kf_answer *a, const char *word)
{
    static const struct {
        const char *word;
        kf_stop stop;
    } rows[] = {{"end_turn", KF_STOP_END},
                {"stop_sequence", KF_STOP_END},
                {"max_tokens", KF_STOP_LENGTH},
                {"refusal", KF_STOP_REFUSED},
                {"model_context_window_exceeded", KF_STOP_LENGTH},
                {"tool_use", KF_STOP_TOOL}};
    if (!word) return;
    kf_stop stop = KF_STOP_OTHER;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, word) == 0) stop = rows[i].stop;
    kf_answer_stop(a, stop, word);
}

static void event_of(kf_answer *a, const char *name, const cJSON *json)
{
    const char *type = kf_dialect_member_text(json, "type");
    const cJSON *block;
    if (!type) type = name;
    if (strcmp(type, "message_start") == 0) {
        kf_answer_model(a, kf_dialect_member_text(json, "message.model"));
        usage(a, kf_dialect_member(json, "message.usage"));
    } else if (strcmp(type, "content_block_start") == 0) {
        kf_answer_text(a, kf_dialect_member_text(json, "content_block.text"));
    } else if (strcmp(type, "content_block_delta") == 0) {
        kf_answer_text(a, kf_dialect_member_text(json, "delta.text"));
        kf_answer_hidden(a, kf_dialect_member_text(json, "delta.thinking"));
        kf_answer_hidden(a, kf_dialect_member_text(json, "delta.partial_json"));
    } else if (strcmp(type, "message_delta") == 0) {
        take_stop(a, kf_dialect_member_text(json, "delta.stop_reason"));
        usage(a, kf_dialect_member(json, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        a->ended = true;
        /* Not streamed. */
    } else if (strcmp(type, "message") == 0) {
        cJSON_ArrayForEach(block, kf_dialect_member(json, "content"))
            kf_answer_text(a, kf_dialect_member_text(block, "text"));
        kf_answer_model(a, kf_dialect_member_text(json, "model"));
        take_stop(a, kf_dialect_member_text(json, "stop_reason"));
        usage(a, kf_dialect_member(json, "usage"));
        a->ended = true;
    }
}

static const char *const headers[] = {"anthropic-version: 2023-06-01", NULL};

const kf_dialect kf_dialect_anthropic = {
    .name = "messages",
    .key_header = "x-api-key: %s",
    .headers = headers,
    .path = path_of,
    .body = body_of,
    .event = event_of,
};
