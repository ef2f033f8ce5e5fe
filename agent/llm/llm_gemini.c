/* Google Gemini. Sources: https://ai.google.dev/api/generate-content and
 * https://ai.google.dev/gemini-api/docs/thinking. Its servers cache prompts by themselves. */
#include <string.h>

#include "llm_continue.h"
#include "llm_dialect.h"

static void path_of(const kf_call_settings *s, kf_buffer *path)
{
    kf_buffer_format(path, "/models/%s:streamGenerateContent?alt=sse", s->model);
}

static bool add_parts(cJSON *object, const char *text)
{
    cJSON *part = cJSON_CreateObject(), *parts = cJSON_AddArrayToObject(object, "parts");
    bool added = cJSON_AddStringToObject(part, "text", text) && cJSON_AddItemToArray(parts, part);
    if (!added) cJSON_Delete(part);
    return added;
}

static bool add_turn(cJSON *contents, const char *role, const char *text)
{
    cJSON *content = cJSON_CreateObject();
    if (cJSON_AddItemToArray(contents, content))
        return cJSON_AddStringToObject(content, "role", role) && add_parts(content, text);
    cJSON_Delete(content);
    return false;
}

static bool body_of(const kf_call_settings *s, const kf_dialect_request *request, cJSON *json)
{
    bool good = true;
    static const int by_effort[] = {[KF_EFFORT_NONE] = 0,
                                    [KF_EFFORT_MINIMAL] = 512,
                                    [KF_EFFORT_LOW] = 2048,
                                    [KF_EFFORT_MEDIUM] = 8192,
                                    /* The most that all of its models accept. */
                                    [KF_EFFORT_HIGH] = 24576,
                                    [KF_EFFORT_XHIGH] = 24576};
    if (request->system && *request->system &&
        !add_parts(cJSON_AddObjectToObject(json, "systemInstruction"), request->system))
        return false;
    cJSON *contents = cJSON_AddArrayToObject(json, "contents");
    good &= add_turn(contents, "user", request->prompt);
    if (request->begun)
        good &= add_turn(contents, "model", request->begun) &&
                add_turn(contents, "user", KF_CONTINUE_PROMPT);
    cJSON *config = cJSON_AddObjectToObject(json, "generationConfig");
    good &= cJSON_AddNumberToObject(config, "maxOutputTokens", (double)s->max_tokens) != NULL;
    if (s->temperature >= 0 && !(s->without & KF_WITHOUT_TEMPERATURE))
        good &= cJSON_AddNumberToObject(config, "temperature", s->temperature) != NULL;
    bool thinks = (s->thinking > 0 || s->effort) && !(s->without & KF_WITHOUT_EFFORT);
    if (thinks)
        good &= cJSON_AddNumberToObject(
                    cJSON_AddObjectToObject(config, "thinkingConfig"), "thinkingBudget",
                    s->thinking > 0 ? (double)s->thinking : by_effort[s->effort]) != NULL;
    return good;
}

static void event_of(kf_answer *a, const char *name, const cJSON *json)
{
    (void)name;
    static const char *const refused[] = {
        "SAFETY", "RECITATION", "BLOCKLIST",   "PROHIBITED_CONTENT",
        "SPII",   "LANGUAGE",   "IMAGE_SAFETY"};
    const cJSON *part, *candidate = kf_dialect_member(json, "candidates.0");
    kf_answer_model(a, kf_dialect_member_text(json, "modelVersion"));
    cJSON_ArrayForEach(part, kf_dialect_member(candidate, "content.parts"))
    {
        if (cJSON_IsTrue(kf_dialect_member(part, "thought")))
            kf_answer_hidden(a, kf_dialect_member_text(part, "text"));
        else
            kf_answer_text(a, kf_dialect_member_text(part, "text"));
        if (kf_dialect_member(part, "functionCall"))
            kf_answer_stop(a, KF_STOP_TOOL, "functionCall");
    }
    const char *reason = kf_dialect_member_text(candidate, "finishReason"),
               *block = kf_dialect_member_text(json, "promptFeedback.blockReason");
    if (reason) {
        kf_stop stop = strcmp(reason, "STOP") == 0
                           ? (a->stop == KF_STOP_TOOL ? KF_STOP_TOOL : KF_STOP_END)
                       : strcmp(reason, "MAX_TOKENS") == 0 ? KF_STOP_LENGTH
                                                           : KF_STOP_OTHER;
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            if (strcmp(reason, refused[i]) == 0) stop = KF_STOP_REFUSED;
        kf_answer_stop(a, stop, reason);
        a->ended = true;
    }
    if (block) {
        kf_answer_stop(a, KF_STOP_REFUSED, block);
        a->ended = true;
    }
    const cJSON *usage = kf_dialect_member(json, "usageMetadata");
    int64_t prompt = kf_dialect_member_count(usage, "promptTokenCount"),
            cached = kf_dialect_member_count(usage, "cachedContentTokenCount");
    int64_t text = kf_dialect_member_count(usage, "candidatesTokenCount"),
            thoughts = kf_dialect_member_count(usage, "thoughtsTokenCount");
    if (prompt >= 0) a->prompt_tokens = prompt;
    if (cached >= 0) a->cached_tokens = cached;
    if (text >= 0 || thoughts >= 0)
        a->completion_tokens = (text > 0 ? text : 0) + (thoughts > 0 ? thoughts : 0);
}

const kf_dialect kf_dialect_gemini = {
    .name = "generateContent",
    .key_header = "x-goog-api-key: %s",
    .path = path_of,
    .body = body_of,
    .event = event_of,
};
