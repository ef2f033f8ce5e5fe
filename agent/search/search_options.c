/* The settings of a run as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

#define OPTIONS_BYTES (16u << 20)

char *kf_search_options_json(const kf_search_settings *settings)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *models = cJSON_AddArrayToObject(json, "models");
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)settings->seed);
    for (size_t i = 0; i < settings->model_count; i++)
        cJSON_AddItemToArray(models, cJSON_CreateString(settings->models[i]));
    cJSON_AddBoolToObject(json, "by-share", settings->by_share);
    cJSON_AddBoolToObject(json, "anew", settings->anew);
    /* A double cannot hold all its digits. */
    cJSON_AddStringToObject(json, "seed", seed);
    if (*settings->strategy.name)
        cJSON_AddItemToObject(json, "strategy", kf_strategy_json(&settings->strategy));
    if (settings->prompts) cJSON_AddStringToObject(json, "prompts", settings->prompts);
    if (settings->baseline) cJSON_AddStringToObject(json, "baseline", settings->baseline);
    cJSON_AddNumberToObject(json, "calls", settings->calls);
    cJSON_AddNumberToObject(json, "time", settings->budget.seconds);
    cJSON_AddNumberToObject(json, "candidates", (double)settings->budget.candidates);
    cJSON_AddNumberToObject(json, "replies", (double)settings->budget.replies);
    cJSON_AddNumberToObject(json, "cost", settings->budget.cost_usd);
    cJSON_AddNumberToObject(json, "tokens", (double)settings->budget.tokens);
    cJSON_AddNumberToObject(json, "requests", (double)settings->budget.requests);
    cJSON_AddNumberToObject(json, "device-seconds", settings->budget.device_seconds);
    cJSON_AddNumberToObject(json, "seconds", settings->timing_seconds);
    cJSON_AddNumberToObject(json, "verify-seconds", settings->verify_seconds);
    cJSON_AddNumberToObject(json, "half-width", settings->half_width);
    cJSON_AddNumberToObject(json, "timeout", settings->timeout_seconds);
    cJSON_AddBoolToObject(json, "strict-sandbox", settings->strict_sandbox);
    cJSON_AddBoolToObject(json, "declared-flags", settings->declared_flags);
    if (settings->samples) cJSON_AddNumberToObject(json, "samples", (double)settings->samples);
    if (settings->traceparent && *settings->traceparent)
        cJSON_AddStringToObject(json, "traceparent", settings->traceparent);
    if (settings->bench)
        cJSON_AddItemToObject(json, "bench", cJSON_Duplicate(settings->bench, true));
    return models ? cJSON_PrintUnformatted(json) : NULL;
}

bool kf_search_options_read(const char *text, kf_search_settings *settings,
                            const char *models[KF_SEARCH_MODELS], cJSON **memory, kf_error *error)
{
    *settings = (kf_search_settings){.models = models};
    *memory = kf_json_parse(text, strlen(text), OPTIONS_BYTES, "options of the run", error);
    if (!*memory) return false;
    kf_json_reader reader = kf_json_object(*memory, "options of the run", "", error);
    const cJSON *model, *list = kf_json_array_or_null(&reader, "models");
    cJSON_ArrayForEach(model, list)
    {
        if (!cJSON_IsString(model) || settings->model_count == KF_SEARCH_MODELS)
            return kf_json_complain(&reader, "models", "expected at most %d texts",
                                    KF_SEARCH_MODELS);
        models[settings->model_count++] = model->valuestring;
    }
    settings->by_share = kf_json_boolean_or(&reader, "by-share", true);
    settings->anew = kf_json_boolean_or(&reader, "anew", false);
    settings->seed = strtoull(kf_json_string_or(&reader, "seed", "0"), NULL, 10);
    const cJSON *strategy = kf_json_object_or_null(&reader, "strategy");
    if (strategy && !kf_strategy_read(strategy, "options of the run", &settings->strategy, error))
        return false;
    settings->prompts = kf_json_string_or(&reader, "prompts", NULL);
    settings->baseline = kf_json_string_or(&reader, "baseline", NULL);
    settings->calls = (int)kf_json_integer_or(&reader, "calls", 0, 1000, 0);
    settings->budget.seconds = kf_json_number_or(&reader, "time", 0, 1e12, 0);
    settings->budget.candidates = kf_json_integer_or(&reader, "candidates", 0, INT64_C(1) << 50, 0);
    settings->budget.replies = kf_json_integer_or(&reader, "replies", 0, INT64_C(1) << 50, 0);
    settings->budget.cost_usd = kf_json_number_or(&reader, "cost", 0, 1e12, 0);
    settings->budget.tokens = kf_json_integer_or(&reader, "tokens", 0, INT64_C(1) << 50, 0);
    settings->budget.device_seconds = kf_json_number_or(&reader, "device-seconds", 0, 1e12, 0);
    settings->budget.requests = kf_json_integer_or(&reader, "requests", 0, INT64_C(1) << 50, 0);
    settings->timing_seconds = kf_json_number_or(&reader, "seconds", 0, 1e6, 0);
    settings->verify_seconds = kf_json_number_or(&reader, "verify-seconds", 0, 1e6, 0);
    settings->half_width = kf_json_number_or(&reader, "half-width", 0, 1, 0);
    settings->timeout_seconds = kf_json_number_or(&reader, "timeout", 0, 1e6, 0);
    settings->strict_sandbox = kf_json_boolean_or(&reader, "strict-sandbox", false);
    /* Older runs have only declared flags. */
    settings->declared_flags = kf_json_boolean_or(&reader, "declared-flags", true);
    settings->samples = kf_json_integer_or(&reader, "samples", 0, INT64_C(1) << 50, 0);
    settings->bench = kf_json_object_or_null(&reader, "bench");
    settings->traceparent = kf_json_string_or(&reader, "traceparent", NULL);
    return kf_json_finish(&reader);
}
