#include "torch_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extensions.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"

#define COMPILED_KEY "compiled:"

const kf_task_file *kf_torch_file(const kf_task *task)
{
    const kf_task_file *files[] = {kf_task_oracle(task), kf_task_baseline(task)};
    for (int i = 0; i < 2; i++)
        if (files[i]->kind == KF_SOURCE_TORCH) return files[i];
    return NULL;
}

void kf_torch_key(const kf_task *task, kf_role role, const char *baseline, int workload, char *key,
                  size_t size)
{
    if (role == KF_ROLE_BASELINE && kf_task_baseline_compiled(task, baseline) &&
        !kf_task_is_unseen(task, workload))
        snprintf(key, size, COMPILED_KEY "%s:%d:%.100s", kf_task_hash(task), workload,
                 baseline ? baseline : "");
    else
        snprintf(key, size, KF_TORCH_KEY "%s:%.100s", kf_task_hash(task), baseline ? baseline : "");
}

static bool put_source(cJSON *plan, const char *key, const char *name, const char *text)
{
    cJSON *object = cJSON_CreateObject();
    return kf_json_put(plan, key, object) && cJSON_AddStringToObject(object, "name", name) &&
           cJSON_AddStringToObject(object, "text", text);
}

static bool put_arguments(cJSON *plan, const kf_problem *problem)
{
    cJSON *arguments = cJSON_CreateArray();
    if (!kf_json_put(plan, "arguments", arguments)) return false;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        cJSON *object = cJSON_CreateObject(), *shape = cJSON_CreateArray();
        if (!kf_json_put(arguments, NULL, object) || !kf_json_put(object, "shape", shape) ||
            !cJSON_AddStringToObject(object, "name", argument->name) ||
            !cJSON_AddStringToObject(object, "dtype", kf_dtype_name(argument->dtype)))
            return false;
        for (int d = 0; d < argument->dims; d++)
            if (!kf_json_put(shape, NULL, cJSON_CreateNumber((double)argument->shape[d])))
                return false;
    }
    return true;
}

static int number_of(const kf_problem *problem, const char *name)
{
    for (int i = 0; i < problem->argument_count; i++)
        if (strcmp(problem->arguments[i].name, name) == 0) return i;
    return -1;
}

/* Adds "forward" as argument numbers: the task's list, or inputs, then scalars. */
static bool put_forward(cJSON *plan, const cJSON *torch, const kf_problem *problem)
{
    static const char *const lists[] = {"inputs", "scalars"};
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(torch, "forward"), *name;
    cJSON *numbers = cJSON_CreateArray();
    if (!kf_json_put(plan, "forward", numbers)) return false;
    for (int i = 0; i < (given ? 1 : 2); i++) {
        const cJSON *list = given ? given : cJSON_GetObjectItemCaseSensitive(torch, lists[i]);
        cJSON_ArrayForEach(name, list)
        {
            if (!kf_json_put(numbers, NULL,
                             cJSON_CreateNumber(number_of(problem, name->valuestring))))
                return false;
        }
    }
    return true;
}

static bool put_state(cJSON *plan, const cJSON *torch)
{
    const cJSON *entry;
    cJSON *names = cJSON_CreateArray();
    if (!kf_json_put(plan, "state", names)) return false;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(torch, "state"))
    {
        const char *name = kf_json_get_text(entry, "name", NULL);
        if (!kf_json_put(names, NULL, cJSON_CreateString(name))) return false;
    }
    return true;
}

bool kf_torch_evaluates(const kf_task *task)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch");
    const char *mode = kf_json_get_text(torch, "mode", NULL);
    return mode && strcmp(mode, "eval") == 0;
}

static bool put_torch(cJSON *plan, const kf_torch_request *request)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(request->task), "torch");
    const char *class = kf_json_get_text(torch, "class", NULL);
    const cJSON *seed = cJSON_GetObjectItemCaseSensitive(torch, "seed");
    bool evaluates = kf_torch_evaluates(request->task) != request->other_mode;
    const cJSON *structure = cJSON_GetObjectItemCaseSensitive(torch, "structure");
    if (structure) {
        cJSON *copy = cJSON_Duplicate(structure, true);
        if (!kf_json_put(plan, "structure", copy)) return false;
    }
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(torch, "own_precision");
    const char *solution = kf_task_solution_name(request->task);
    if (solution && !cJSON_AddStringToObject(plan, "solution", solution)) return false;
    return cJSON_AddStringToObject(plan, "class", class ? class : "Model") &&
           (!cJSON_IsTrue(own) || cJSON_AddTrueToObject(plan, "own_precision")) &&
           cJSON_AddStringToObject(plan, "mode", evaluates ? "eval" : "train") &&
           cJSON_AddNumberToObject(plan, "seed",
                                   request->own_seed ? request->own_seed
                                   : seed            ? seed->valuedouble
                                                     : 42) &&
           cJSON_AddNumberToObject(
               plan, "inputs",
               cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(torch, "inputs"))) &&
           cJSON_AddNumberToObject(
               plan, "outputs",
               cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(torch, "outputs"))) &&
           put_state(plan, torch) && put_forward(plan, torch, request->problem);
}

char *kf_torch_plan(const kf_torch_request *request, kf_error *error)
{
    static const char *const roles[] = {[KF_ROLE_CANDIDATE] = "candidate",
                                        [KF_ROLE_BASELINE] = "baseline",
                                        [KF_ROLE_ORACLE] = "oracle"};
    kf_autofree char *candidate = NULL;
    size_t size;
    if (request->candidate &&
        !(candidate = kf_file_read(request->candidate, KF_SOURCE_BYTES, &size, error)))
        return NULL;
    cJSON *patches =
        kf_task_torch_patches(request->task, request->workload, request->device, error);
    if (!patches) return NULL;
    kf_auto(cJSON) plan = cJSON_CreateObject();
    bool done = kf_json_put(plan, "patches", patches) &&
                cJSON_AddStringToObject(plan, "role", roles[request->role]) &&
                cJSON_AddBoolToObject(plan, "compile", request->compiled) &&
                (!request->own_seed || cJSON_AddTrueToObject(plan, "own_state")) &&
                (!request->claim || cJSON_AddTrueToObject(plan, "claim")) &&
                (!request->copies || cJSON_AddTrueToObject(plan, "copies")) &&
                (!request->full_f32 || cJSON_AddTrueToObject(plan, "full_f32")) &&
                cJSON_AddBoolToObject(plan, "timed", !request->untimed) &&
                put_source(plan, "problem", request->file->name, request->file->text) &&
                (!candidate || put_source(plan, "candidate", "candidate.py", candidate)) &&
                put_arguments(plan, request->problem) && put_torch(plan, request);
    char *text = done ? cJSON_PrintUnformatted(plan) : NULL;
    if (!text) kf_fail_memory(error, "a plan");
    return text;
}

char *kf_torch_plans(const kf_task *task, const char *kind, const char *candidate, kf_error *error)
{
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    kf_autobuffer text = {0};
    if (!problem) return kf_fail_memory(error, "a plan"), NULL;
    kf_buffer_string(&text, "[");
    int count = 0;
    for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
        bool applies;
        if (!kf_task_resolve(task, workload, kind, problem, &applies, error)) return NULL;
        if (!applies) continue;
        const kf_torch_request plan = {.task = task,
                                       .problem = problem,
                                       .workload = workload,
                                       .device = kind,
                                       .role = KF_ROLE_CANDIDATE,
                                       .file = kf_torch_file(task),
                                       .candidate = candidate};
        kf_autofree char *one = kf_torch_plan(&plan, error);
        if (!one) return NULL;
        kf_buffer_format(&text, "%s%s", count++ ? "," : "", one);
    }
    kf_buffer_string(&text, "]");
    char *taken = kf_buffer_take(&text);
    if (!taken) kf_fail_memory(error, "a plan");
    return taken;
}

bool kf_torch_give(kf_runner *runner, const kf_torch_request *request, kf_error *error)
{
    kf_autofree char *plan = kf_torch_plan(request, error);
    return plan && kf_runner_give_text(runner, plan, strlen(plan), error) &&
           (!request->candidate ||
            kf_extensions_copy(request->candidate, kf_runner_inbox(runner), error));
}
