/* OpenAI's two formats. Compatible servers use the first. Sources:
 * https://platform.openai.com/docs/api-reference/chat (chat completions, streaming) and /responses,
 * /responses-streaming. */
#include <math.h>
#include <string.h>

#include "llm_dialect.h"

static kf_stop stop_of(const char *word)
{
    if (strcmp(word, "stop") == 0 || strcmp(word, "end_turn") == 0 || strcmp(word, "eos") == 0)
        return KF_STOP_END;
    if (strcmp(word, "length") == 0 || strcmp(word, "max_tokens") == 0 ||
        strcmp(word, "max_output_tokens") == 0)
        return KF_STOP_LENGTH;
    if (strcmp(word, "content_filter") == 0) return KF_STOP_REFUSED;
    if (strcmp(word, "tool_calls") == 0 || strcmp(word, "function_call") == 0) return KF_STOP_TOOL;
    return KF_STOP_OTHER;
}

/* ---- chat completions ------------------------------------------------------------------------ */

static void chat_path(const kf_call_settings *settings, kf_buffer *path)
{
    (void)settings;
    kf_buffer_string(path, "/chat/completions");
}

static bool chat_body(const kf_call_settings *s, const kf_dialect_request *request, cJSON *json)
{
    bool good = true;
    good &= cJSON_AddStringToObject(json, "model", s->model) != NULL;
    cJSON *messages = cJSON_AddArrayToObject(json, "messages");
    if (request->system && *request->system)
        good &= kf_message(messages, "system", request->system) != NULL;
    if (!messages || !kf_messages(messages, request)) return false;
    good &= cJSON_AddTrueToObject(json, "stream") != NULL;
    if (!(s->without & KF_WITHOUT_STREAM_OPTIONS))
        good &= cJSON_AddTrueToObject(cJSON_AddObjectToObject(json, "stream_options"),
                                      "include_usage") != NULL;
    /* Compatible servers know the old name. OpenAI's reasoning models want the new one. */
    bool old_name = s->official == !!(s->without & KF_OTHER_TOKEN_LIMIT);
    good &= cJSON_AddNumberToObject(json, old_name ? "max_tokens" : "max_completion_tokens",
                                    (double)s->max_tokens) != NULL;
    if (s->temperature >= 0 && !(s->without & KF_WITHOUT_TEMPERATURE))
        good &= cJSON_AddNumberToObject(json, "temperature", s->temperature) != NULL;
    if (s->effort && !(s->without & KF_WITHOUT_EFFORT))
        good &=
            cJSON_AddStringToObject(json, "reasoning_effort", kf_effort_names[s->effort]) != NULL;
    return good;
}

static void chat_usage(kf_answer *a, const cJSON *usage)
{
    if (!cJSON_IsObject(usage)) return;
    int64_t prompt = kf_dialect_member_count(usage, "prompt_tokens"),
            completion = kf_dialect_member_count(usage, "completion_tokens");
    int64_t cached = kf_dialect_member_count(usage, "prompt_tokens_details.cached_tokens");
    /* DeepSeek. */
    if (cached < 0) cached = kf_dialect_member_count(usage, "prompt_cache_hit_tokens");
    if (prompt >= 0) a->prompt_tokens = prompt;
    if (completion >= 0) a->completion_tokens = completion;
    if (cached >= 0) a->cached_tokens = cached;
    const cJSON *cost = kf_dialect_member(usage, "cost"); /* OpenRouter, in USD. */
    if (cJSON_IsNumber(cost) && cost->valuedouble >= 0 && cost->valuedouble < 1e6)
        a->cost_usd = cost->valuedouble;
}

static void chat_event(kf_answer *a, const char *name, const cJSON *json)
{
    (void)name;
    kf_answer_model(a, kf_dialect_member_text(json, "model"));
    const cJSON *choice = kf_dialect_member(json, "choices.0"),
                *part = kf_dialect_member(choice, "delta");
    /* A reply that was not streamed. */
    if (!cJSON_IsObject(part)) part = kf_dialect_member(choice, "message");
    kf_answer_text(a, kf_dialect_member_text(part, "content"));
    const char *refusal = kf_dialect_member_text(part, "refusal");
    if (refusal && *refusal) {
        kf_answer_text(a, refusal);
        a->has_refusal = true;
    }
    /* DeepSeek, vLLM and llama.cpp. OpenRouter writes "reasoning". */
    const char *reasoning = kf_dialect_member_text(part, "reasoning_content");
    kf_answer_hidden(a, reasoning ? reasoning : kf_dialect_member_text(part, "reasoning"));
    const cJSON *call;
    cJSON_ArrayForEach(call, kf_dialect_member(part, "tool_calls"))
        kf_answer_hidden(a, kf_dialect_member_text(call, "function.arguments"));
    const char *reason = kf_dialect_member_text(choice, "finish_reason");
    if (reason && *reason) kf_answer_stop(a, stop_of(reason), reason);
    if (kf_dialect_member(choice, "message")) a->ended = true;
    chat_usage(a, kf_dialect_member(json, "usage"));
    chat_usage(a, kf_dialect_member(json, "x_groq.usage"));
}

const kf_dialect kf_dialect_chat = {
    .name = "chat",
    .key_header = "Authorization: Bearer %s",
    .path = chat_path,
    .body = chat_body,
    .event = chat_event,
};

/* ---- responses ------------------------------------------------------------------------------- */

static void responses_path(const kf_call_settings *settings, kf_buffer *path)
{
    (void)settings;
    kf_buffer_string(path, "/responses");
}

static bool responses_body(const kf_call_settings *s, const kf_dialect_request *request,
                           cJSON *json)
{
    bool good = true;
    good &= cJSON_AddStringToObject(json, "model", s->model) != NULL;
    if (request->system && *request->system)
        good &= cJSON_AddStringToObject(json, "instructions", request->system) != NULL;
    if (request->begun)
        good &= kf_messages(cJSON_AddArrayToObject(json, "input"), request);
    else
        good &= cJSON_AddStringToObject(json, "input", request->prompt) != NULL;
    good &= cJSON_AddTrueToObject(json, "stream") != NULL;
    good &= cJSON_AddFalseToObject(json, "store") != NULL;
    good &= cJSON_AddNumberToObject(json, "max_output_tokens", (double)s->max_tokens) != NULL;
    if (s->temperature >= 0 && !(s->without & KF_WITHOUT_TEMPERATURE))
        good &= cJSON_AddNumberToObject(json, "temperature", s->temperature) != NULL;
    if (s->effort && !(s->without & KF_WITHOUT_EFFORT))
        good &= cJSON_AddStringToObject(cJSON_AddObjectToObject(json, "reasoning"), "effort",
                                        kf_effort_names[s->effort]) != NULL;
    return good;
}

/* Reads the "response" object of an event, or the whole reply. */
static void responses_state(kf_answer *a, const cJSON *response, bool take_text)
{
    kf_answer_model(a, kf_dialect_member_text(response, "model"));
    int64_t prompt = kf_dialect_member_count(response, "usage.input_tokens"),
            completion = kf_dialect_member_count(response, "usage.output_tokens");
    int64_t cached = kf_dialect_member_count(response, "usage.input_tokens_details.cached_tokens");
    if (prompt >= 0) a->prompt_tokens = prompt;
    if (completion >= 0) a->completion_tokens = completion;
    if (cached >= 0) a->cached_tokens = cached;
    const cJSON *item, *part, *output = kf_dialect_member(response, take_text ? "output" : "no");
    cJSON_ArrayForEach(item, output)
    {
        const char *type = kf_dialect_member_text(item, "type");
        if (type && strcmp(type, "function_call") == 0) kf_answer_stop(a, KF_STOP_TOOL, type);
        cJSON_ArrayForEach(part, kf_dialect_member(item, "content"))
            kf_answer_text(a, kf_dialect_member_text(part, "text"));
    }
    const char *status = kf_dialect_member_text(response, "status"),
               *reason = kf_dialect_member_text(response, "incomplete_details.reason");
    if (status && strcmp(status, "completed") == 0 && a->stop == KF_STOP_NONE)
        kf_answer_stop(a, KF_STOP_END, status);
    if (status && strcmp(status, "incomplete") == 0)
        kf_answer_stop(a, reason ? stop_of(reason) : KF_STOP_OTHER, reason ? reason : status);
    const cJSON *error = kf_dialect_member(response, "error");
    if (cJSON_IsObject(error)) kf_answer_error(a, error);
    if (status && strcmp(status, "in_progress") != 0 && strcmp(status, "queued") != 0)
        a->ended = true;
}

static void responses_event(kf_answer *a, const char *name, const cJSON *json)
{
    const char *type = kf_dialect_member_text(json, "type");
    if (!type) type = name;
    if (strcmp(type, "response.output_text.delta") == 0) {
        kf_answer_text(a, kf_dialect_member_text(json, "delta"));
    } else if (strcmp(type, "response.refusal.delta") == 0) {
        kf_answer_text(a, kf_dialect_member_text(json, "delta"));
        a->has_refusal = true;
    } else if (strcmp(type, "response.function_call_arguments.delta") == 0) {
        kf_answer_hidden(a, kf_dialect_member_text(json, "delta"));
        kf_answer_stop(a, KF_STOP_TOOL, "function_call");
    } else if (strncmp(type, "response.reasoning", 18) == 0) {
        kf_answer_hidden(a, kf_dialect_member_text(json, "delta"));
    } else if (strcmp(type, "error") == 0) {
        kf_answer_error(a, json);
    } else if (kf_dialect_member(json, "response")) {
        responses_state(a, kf_dialect_member(json, "response"), false);
    } else if (kf_dialect_member(json, "output")) {
        responses_state(a, json, true);
    }
}

const kf_dialect kf_dialect_responses = {
    .name = "responses",
    .key_header = "Authorization: Bearer %s",
    .path = responses_path,
    .body = responses_body,
    .event = responses_event,
};
