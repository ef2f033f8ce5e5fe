/* The functions of libkforge. */
#include "kforge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "jobs.h"
#include "judge_request.h"
#include "kforge/file.h"
#include "kforge/installation.h"
#include "kforge/json.h"
#include "library_root.h"

#define DEADLINE_SECONDS 120
/* The longest single wait. */
#define WAIT_SECONDS 3600
#define MOST_ENTRIES 64

struct kforge {
    kf_service *service;
    char *root, *program;
};

/* ---- texts ----------------------------------------------------------------------------------- */

/* Prints and releases `json`. NULL without memory. */
static char *print(cJSON *json)
{
    char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    return text;
}

static char *print_error(unsigned status, const kf_error *why, const char *todo)
{
    kf_serve_error failure;
    kf_serve_error_set(&failure, status, why, todo);
    return print(kf_serve_error_json(&failure, NULL));
}

static const char todo_request[] = "Correct the request; kforge.h lists the keys.";

/* Parses an object. NULL with *error for other text. */
static cJSON *parse(const char *text, kf_error *error)
{
    if (!text) {
        kf_fail(error, KF_ERROR_INPUT, "request: expected a JSON object, not NULL");
        return NULL;
    }
    kf_auto(cJSON) json = kf_json_parse(text, strlen(text), 0, "request", error);
    if (json && !cJSON_IsObject(json)) {
        kf_fail(error, KF_ERROR_INPUT, "request: expected a JSON object");
        return NULL;
    }
    return kf_steal(&json);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Reads a list of texts, which stay with the JSON. */
static bool read_list(kf_json_reader *reader, const char *key, const char *items[MOST_ENTRIES],
                      size_t *count)
{
    const cJSON *list = kf_json_array_or_null(reader, key), *item;
    *count = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || *count == MOST_ENTRIES)
            return kf_json_complain(reader, key, "expected at most %d texts", MOST_ENTRIES);
        items[(*count)++] = item->valuestring;
    }
    return true;
}

/* Reads "store": a path or false. */
static bool read_store(kf_json_reader *reader, const cJSON *json, kf_service_options *o)
{
    const cJSON *store = cJSON_GetObjectItemCaseSensitive(json, "store");
    if (cJSON_IsBool(store)) {
        o->no_store = !kf_json_boolean_or(reader, "store", true);
        return true;
    }
    o->store = kf_json_string_or(reader, "store", NULL);
    return true;
}

static bool open_service(kforge *handle, const cJSON *json, kf_error *error)
{
    const char *workers[MOST_ENTRIES], *tasks[MOST_ENTRIES];
    kf_service_options o = {.workers = workers, .tasks = tasks, .task_paths = true};
    kf_json_reader reader = kf_json_object(json, "request", "", error);
    const char *root = kf_json_string_or(&reader, "root", NULL);
    o.device = kf_json_string_or(&reader, "device", NULL);
    o.timeout_seconds = kf_json_number_or(&reader, "timeout_s", 0.1, 86400, 0);
    o.strict_sandbox = kf_json_boolean_or(&reader, "strict", false);
    if (!read_store(&reader, json, &o) ||
        !read_list(&reader, "workers", workers, &o.worker_count) ||
        !read_list(&reader, "tasks", tasks, &o.task_count) || !kf_json_finish(&reader))
        return false;
    handle->root = kf_library_root(root, error);
    if (!handle->root) return false;
    handle->program = kf_path_join(handle->root, "bin/kforge");
    if (!handle->program) return kf_fail_memory(error, "the library");
    kf_root_set(handle->root);
    o.program = handle->program;
    handle->service = kf_service_open(&o, error);
    return handle->service != NULL;
}

kforge *kforge_open(const char *options, char **error)
{
    kf_error why = {0};
    kf_auto(cJSON) json = parse(options ? options : "{}", &why);
    kforge *handle = json ? calloc(1, sizeof *handle) : NULL;
    if (json && !handle) kf_fail_memory(&why, "the library");
    if (error) *error = NULL;
    if (handle && open_service(handle, json, &why)) return handle;
    if (error)
        *error = print_error(why.code == KF_ERROR_INPUT ? 400 : 500, &why,
                             "Correct the options; kforge.h lists the keys.");
    kforge_close(handle);
    return NULL;
}

void kforge_close(kforge *handle)
{
    if (!handle) return;
    kf_service_close(handle->service);
    free(handle->root);
    free(handle->program);
    free(handle);
}

void kforge_free(char *text)
{
    free(text);
}

/* ---- judging --------------------------------------------------------------------------------- */

char *kforge_judge(kforge *handle, const char *request)
{
    kf_error why = {0};
    kf_auto(cJSON) json = parse(request, &why);
    if (!json) return print_error(400, &why, todo_request);
    kf_judge_wish *wish = NULL;
    kf_serve_error failure;
    kf_submission base = {.deadline_seconds = DEADLINE_SECONDS, .proposer = "library"};
    kf_auto(kf_ticket) ticket =
        kf_judge_request_submit(handle->service, json, &base, &wish, &failure);
    cJSON *answer;
    if (!ticket) {
        answer = kf_serve_error_json(&failure, wish);
    } else {
        while (kf_ticket_wait(ticket, WAIT_SECONDS) < KF_TICKET_DONE) continue;
        unsigned status;
        answer = kf_judge_request_answer(ticket, wish, &status);
    }
    kf_judge_wish_free(wish);
    return print(answer);
}

/* ---- extracting ------------------------------------------------------------------------------ */

char *kforge_extract(kforge *handle, const char *request)
{
    kf_error why = {0};
    kf_auto(cJSON) json = parse(request, &why);
    if (!json) return print_error(400, &why, todo_request);
    kf_json_reader reader = kf_json_object(json, "request", "", &why);
    const char *name = kf_json_string(&reader, "task"), *reply = kf_json_string(&reader, "reply");
    if (!kf_json_finish(&reader)) return print_error(400, &why, todo_request);
    kf_auto(kf_task) task = kf_service_task(handle->service, name, &why);
    if (!task) return print_error(404, &why, "Name a task, or the path of its folder.");
    bool python;
    kf_autofree char *source = kf_extract_candidate(reply, strlen(reply), kf_task_entry(task),
                                                    kf_task_is_torch(task), &python, &why);
    if (!source)
        return print_error(422, &why,
                           "Have the model answer with one fenced block that holds the source.");
    kf_auto(cJSON) answer = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(answer, "source", source) &&
                cJSON_AddStringToObject(answer, "language", python ? "python" : "cuda");
    return made ? print(kf_steal(&answer)) : NULL;
}

/* ---- rewards --------------------------------------------------------------------------------- */

/* Reads what a reward depends on from an answer of kforge_judge. */
static bool read_judgement(const cJSON *answer, kf_judgement *j, kf_error *error)
{
    const char *status = kf_json_get_text(answer, "status", NULL);
    const char *blame = kf_json_get_text(answer, "blame", NULL);
    const cJSON *speedup = cJSON_GetObjectItemCaseSensitive(answer, "speedup");
    j->no_source = status && strcmp(status, "no_source") == 0;
    j->blame = KF_BLAME_CANDIDATE;
    if (!status || (!j->no_source && !kf_status_parse(status, &j->status)))
        return kf_fail(error, KF_ERROR_INPUT, "request: answer.status: expected a status");
    if (!j->no_source && (!blame || !kf_blame_parse(blame, &j->blame)))
        return kf_fail(error, KF_ERROR_INPUT, "request: answer.blame: expected a blame");
    j->speedup = (kf_interval){kf_json_get_number(speedup, "value", NAN),
                               kf_json_get_number(speedup, "low", NAN),
                               kf_json_get_number(speedup, "high", NAN)};
    return true;
}

char *kforge_reward(kforge *handle, const char *request)
{
    (void)handle;
    kf_error why = {0};
    kf_auto(cJSON) json = parse(request, &why);
    if (!json) return print_error(400, &why, todo_request);
    kf_judge_wish wish = {0};
    kf_judgement judgement = {0};
    kf_json_reader reader = kf_json_object(json, "request", "", &why);
    const cJSON *answer = kf_json_object_or_null(&reader, "answer");
    if (!kf_judge_choice_read(&reader, &wish) || !kf_json_finish(&reader) ||
        !read_judgement(answer, &judgement, &why))
        return print_error(400, &why, todo_request);
    if (!wish.has_choice) {
        kf_fail(&why, KF_ERROR_INPUT, "request: reward: give a reward, a shape or both");
        return print_error(400, &why, todo_request);
    }
    double reward = kf_judgement_reward(&judgement, &wish.choice);
    cJSON *result = cJSON_CreateObject();
    bool made = cJSON_AddBoolToObject(result, "scorable", !isnan(reward)) &&
                (isnan(reward) ? cJSON_AddNullToObject(result, "reward")
                               : cJSON_AddNumberToObject(result, "reward", reward));
    if (made) return print(result);
    cJSON_Delete(result);
    return NULL;
}
