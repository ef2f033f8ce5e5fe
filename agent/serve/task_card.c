#include "task_card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search.h"

/* Returns {"name","timed","hidden","params"}; NULL without memory. A workload that models do not
 * see has no params. */
static cJSON *workload_row(const kf_task *task, int index, const kf_problem *problem,
                           const char *family)
{
    kf_binding bindings[KF_MAX_PARAMS];
    kf_auto(cJSON) row = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(row, "name", problem->workload) &&
                cJSON_AddBoolToObject(row, "timed", problem->timed) &&
                cJSON_AddBoolToObject(row, "hidden", problem->hidden);
    if (made && problem->hidden) return kf_steal(&row);
    cJSON *params = made ? cJSON_AddObjectToObject(row, "params") : NULL;
    int count = params ? kf_task_params(task, index, family, bindings, NULL) : 0;
    made = params != NULL;
    for (int k = 0; made && k < count; k++)
        made = cJSON_AddNumberToObject(params, bindings[k].name, (double)bindings[k].value);
    return made ? kf_steal(&row) : NULL;
}

static bool add_workloads(cJSON *json, const kf_task *task, const char *family)
{
    cJSON *list = cJSON_AddArrayToObject(json, "workloads");
    kf_autofree kf_problem *problem = malloc(sizeof *problem);
    if (!list || !problem) return false;
    for (int i = 0; i < kf_task_workload_count(task); i++) {
        bool applies;
        if (!kf_task_resolve(task, i, family, problem, &applies, NULL) || !applies) continue;
        if (!cJSON_AddItemToArray(list, workload_row(task, i, problem, family))) return false;
    }
    return true;
}

/* Adds the prompt of a first draft. Adds null if the prompt fails. */
static bool add_prompt(cJSON *json, const kf_task *task, const char *family)
{
    kf_search_settings settings = {.device = family};
    kf_search_preview_text text = {0};
    bool made = kf_search_preview(NULL, task, NULL, &settings, family, "draft", &text, NULL);
    kf_autofree char *system = text.system, *prompt = text.prompt;
    if (!made) return cJSON_AddNullToObject(json, "prompt");
    return cJSON_AddStringToObject(json, "system", system) &&
           cJSON_AddStringToObject(json, "prompt", prompt);
}

static bool add_texts(cJSON *json, const kf_task *task)
{
    const cJSON *family = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "family");
    kf_autofree char *prototype = kf_task_prototype(task, false);
    return prototype && cJSON_AddStringToObject(json, "name", kf_task_name(task)) &&
           cJSON_AddStringToObject(json, "hash", kf_task_hash(task)) &&
           (cJSON_IsString(family) ? cJSON_AddStringToObject(json, "family", family->valuestring)
                                   : cJSON_AddNullToObject(json, "family")) &&
           cJSON_AddStringToObject(json, "description", kf_task_description(task)) &&
           cJSON_AddStringToObject(json, "entry", kf_task_entry(task)) &&
           cJSON_AddStringToObject(json, "precision", kf_task_precision(task)) &&
           cJSON_AddStringToObject(json, "prototype", prototype) &&
           cJSON_AddBoolToObject(json, "python", kf_task_is_torch(task)) &&
           cJSON_AddBoolToObject(json, "held_out", kf_task_held_out(task));
}

static bool add_libraries(cJSON *json, const kf_task *task)
{
    cJSON *list = cJSON_AddArrayToObject(json, "libraries");
    const char *const *names = kf_task_libraries(task);
    bool made = list != NULL;
    for (int i = 0; made && names && names[i]; i++)
        made = cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
    return made;
}

cJSON *kf_task_card(const kf_task *task, const char *device)
{
    char family[16];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(device, ":"), device);
    kf_auto(cJSON) json = cJSON_CreateObject();
    bool made = json && add_texts(json, task) && add_libraries(json, task) &&
                add_workloads(json, task, family) && add_prompt(json, task, family);
    return made ? kf_steal(&json) : NULL;
}
