/* What an agent learns of a verdict: the brief verdict, and a text with as much as a prompt says.
 * It learns nothing of hidden workloads but that one failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"
#include "verdict_brief.h"

/* most bytes of a build log */
#define LOG_BYTES 4000

/* True if a hidden workload failed, and with it the candidate. */
static bool fails_hidden(const kf_search *s, const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (w->status != KF_CORRECT && !w->unseen && kf_task_hides(s->task, w->workload))
            return true;
    }
    return false;
}

static bool replace(cJSON *json, const char *key, const char *text)
{
    return cJSON_ReplaceItemInObjectCaseSensitive(json, key, cJSON_CreateString(text));
}

/* Replaces what the brief verdict says of hidden workloads. */
static bool hide(const kf_search *s, const kf_verdict *verdict, cJSON *json)
{
    const cJSON *summary = cJSON_GetObjectItemCaseSensitive(json, "summary"),
                *next = cJSON_GetObjectItemCaseSensitive(json, "next");
    char text[128];
    bool fails = fails_hidden(s, verdict);
    bool correct = verdict->status == KF_CORRECT;
    snprintf(text, sizeof text, "%s%s", kf_status_name(verdict->status),
             correct ? "" : ": a workload with a shape that is not shown fails");
    if ((fails || kf_task_names_hidden(s->task, summary->valuestring)) &&
        !replace(json, "summary", text))
        return false;
    return !(fails || kf_task_names_hidden(s->task, next->valuestring)) ||
           replace(json, "next",
                   correct
                       ? "Profile it, and change what limits it."
                       : "Check every legal shape: small sizes, and sizes that no tile divides.");
}

/* Returns the text for people and models, malloc'd. */
static char *words_of(const kf_search *s, const kf_verdict *verdict, const cJSON *json)
{
    kf_autobuffer figures = {0}, failure = {0}, text = {0};
    bool correct = verdict->status == KF_CORRECT;
    const cJSON *log = cJSON_GetObjectItemCaseSensitive(verdict->build, "log");
    kf_search_words(s, verdict, &figures, &failure);
    kf_buffer_format(&text, "%s\n%s",
                     cJSON_GetObjectItemCaseSensitive(json, "summary")->valuestring,
                     figures.data ? figures.data : "");
    if (!correct) kf_buffer_string(&text, failure.data ? failure.data : "");
    if (!correct && cJSON_IsString(log) && *log->valuestring)
        kf_buffer_format(&text, "build log:\n%.*s\n", LOG_BYTES, log->valuestring);
    kf_buffer_format(&text, "next: %s\n",
                     cJSON_GetObjectItemCaseSensitive(json, "next")->valuestring);
    return text.failed ? NULL : kf_text_clean(text.data, text.size, false);
}

char *kf_answer_json(const kf_search *s, kf_llm_wish wish, const kf_verdict *verdict,
                     const char *hash)
{
    static const char *const names[] = {"eval", "check", "profile", "submit"};
    char digits[16];
    snprintf(digits, sizeof digits, "%.12s", hash);
    kf_auto(cJSON) json = kf_verdict_brief(verdict, digits);
    if (!json || !hide(s, verdict, json)) return NULL;
    kf_autofree char *text = words_of(s, verdict, json);
    bool complete = text && cJSON_AddStringToObject(json, "do", names[wish]) &&
                    cJSON_AddStringToObject(json, "text", text);
    return complete ? cJSON_PrintUnformatted(json) : NULL;
}
