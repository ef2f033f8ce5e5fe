/* kforge_tasks, kforge_task and kforge_note: what a kernel must compute, and lessons about it. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "mcp_tools.h"

#define TASKS_SHOWN 60
#define NOTES_SHOWN 5
#define NOTE_BYTES 600
/* of a baseline in a full answer: about 700 tokens */
#define BASELINE_BYTES 2600

static const char *const rules[] = {
    "Compute the outputs from this call's inputs in every call; keep nothing between calls.",
    "Handle every size that the arguments allow, also sizes that are not listed.",
    "Leave inputs unchanged and write only the outputs.",
    "Launch all work into the given stream, and keep the precision of the task.",
};

/* ---- kforge_tasks ---------------------------------------------------------------------------- */

static bool holds(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static cJSON *find_row(const cJSON *rows, const char *name)
{
    cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        if (strcmp(kf_json_get_text(row, "name", ""), name) == 0) return row;
    }
    return NULL;
}

static void add_row(cJSON *rows, const char *name, const char *family, cJSON *best)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(rows, row);
    cJSON_AddStringToObject(row, "name", name);
    cJSON_AddStringToObject(row, "family", family ? family : "");
    cJSON_AddItemToObject(row, "best", best ? best : cJSON_CreateNull());
}

static const char *family_of(const kf_task *task)
{
    return kf_json_get_text(kf_task_json(task), "family", "");
}

/* Adds a task below the served folder. Its name is the path that kforge_task takes. */
static void add_served(const kf_mcp *server, kf_store *store, const char *path, cJSON *rows)
{
    bool found, known;
    kf_auto(kf_task) task = kf_served_task(&server->served, path, &found, NULL);
    if (!task || find_row(rows, kf_task_name(task))) return;
    kf_autoresult kf_store_candidate best = {0};
    bool read = store && kf_mcp_best(server, store, kf_task_hash(task), &best, &known, NULL);
    cJSON *value = read && known ? cJSON_CreateNumber(round(best.speedup.value * 1e3) / 1e3) : NULL;
    add_row(rows, strcmp(path, ".") == 0 ? path : kf_task_name(task), family_of(task), value);
}

/* Adds the tasks in the folders of a folder below the served one. */
static void add_folder(const kf_mcp *server, kf_store *store, const char *folder, cJSON *rows)
{
    int fd = openat(server->served.folder, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (!entries && fd >= 0) close(fd);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || entry->d_type == DT_REG) continue;
        kf_autofree char *path =
            strcmp(folder, ".") == 0 ? strdup(entry->d_name) : kf_path_join(folder, entry->d_name);
        if (path) add_served(server, store, path, rows);
    }
    if (entries) closedir(entries);
}

static int by_name(const void *left, const void *right)
{
    const cJSON *const *a = left, *const *b = right;
    return strcmp(kf_json_get_text(*a, "name", ""), kf_json_get_text(*b, "name", ""));
}

/* Moves the first rows by name that fit the filter. Returns how many are left out. */
static int choose_rows(cJSON *rows, const char *filter, cJSON *shown)
{
    int count = cJSON_GetArraySize(rows), fit = 0;
    kf_autofree cJSON **list = malloc(((size_t)count + 1) * sizeof *list);
    for (int i = 0; list && i < count; i++) {
        cJSON *row = cJSON_DetachItemFromArray(rows, 0);
        if (holds(kf_json_get_text(row, "name", ""), filter) ||
            holds(kf_json_get_text(row, "family", ""), filter))
            list[fit++] = row;
        else
            cJSON_Delete(row);
    }
    if (list) qsort(list, (size_t)fit, sizeof *list, by_name);
    for (int i = 0; i < fit; i++) {
        if (i < TASKS_SHOWN)
            cJSON_AddItemToArray(shown, list[i]);
        else
            cJSON_Delete(list[i]);
    }
    return fit > TASKS_SHOWN ? fit - TASKS_SHOWN : 0;
}

cJSON *kf_tool_tasks(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    const kf_mcp *server = call->server;
    kf_auto(cJSON) rows = cJSON_CreateArray();
    kf_auto(kf_store) store = kf_mcp_store(server, KF_STORE_READ, NULL);
    kf_auto(cJSON) offered = kf_service_tasks(server->jobs, error);
    if (!offered) return NULL;
    add_served(server, store, ".", rows);
    add_folder(server, store, ".", rows);
    add_folder(server, store, "tasks", rows);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, offered)
    {
        const char *name = kf_json_get_text(entry, "name", "");
        const cJSON *best = cJSON_GetObjectItemCaseSensitive(entry, "best");
        if (find_row(rows, name)) continue;
        cJSON *value =
            cJSON_IsNumber(best) ? cJSON_CreateNumber(round(best->valuedouble * 1e3) / 1e3) : NULL;
        add_row(rows, name, kf_json_get_text(entry, "family", ""), value);
    }
    cJSON *answer = cJSON_CreateObject(), *shown = cJSON_AddArrayToObject(answer, "tasks");
    int more = choose_rows(rows, kf_json_get_text(arguments, "filter", ""), shown);
    if (more) cJSON_AddNumberToObject(answer, "more", more);
    return answer;
}

/* ---- kforge_task ----------------------------------------------------------------------------- */

static void tolerance_text(const kf_tolerance *t, char text[128])
{
    switch (t->kind) {
    case KF_ERROR_RATIO:
        snprintf(text, 128, "error against float64 at most %g times the baseline's", t->ratio);
        break;
    case KF_ALLCLOSE:
        snprintf(text, 128, "|got - expected| <= %g + %g |expected|", t->atol, t->rtol);
        break;
    case KF_EXACT: snprintf(text, 128, "exactly equal"); break;
    case KF_ANY_ORDER: snprintf(text, 128, "the same values in any order"); break;
    }
}

static void add_tolerances(cJSON *answer, const kf_problem *problem)
{
    cJSON *object = cJSON_AddObjectToObject(answer, "tolerance");
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        char text[128];
        if (argument->kind != KF_OUTPUT && argument->kind != KF_INOUT) continue;
        tolerance_text(&argument->tolerance, text);
        cJSON_AddStringToObject(object, argument->name, text);
    }
}

/* Adds the workloads that models may see, and the number of the others. */
static bool add_workloads(cJSON *answer, const kf_task *task, const char *family, kf_error *error)
{
    cJSON *rows = cJSON_AddArrayToObject(answer, "workloads");
    int hidden = 0;
    kf_autofree kf_problem *problem = malloc(sizeof *problem);
    if (!problem) return kf_fail_memory(error, "a workload");
    for (int i = 0; i < kf_task_workload_count(task); i++) {
        kf_binding bindings[KF_MAX_PARAMS];
        bool applies;
        if (!kf_task_resolve(task, i, family, problem, &applies, error)) return false;
        if (!applies) continue;
        if (!cJSON_HasObjectItem(answer, "tolerance")) add_tolerances(answer, problem);
        hidden += problem->hidden;
        if (problem->hidden) continue;
        int count = kf_task_params(task, i, family, bindings, error);
        if (count < 0) return false;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(rows, row);
        cJSON_AddStringToObject(row, "name", problem->workload);
        for (int k = 0; k < count; k++)
            cJSON_AddNumberToObject(row, bindings[k].name, (double)bindings[k].value);
        cJSON_AddBoolToObject(row, "timed", problem->timed);
    }
    if (hidden) cJSON_AddNumberToObject(answer, "hidden_workloads", hidden);
    return true;
}

static void add_rules(cJSON *answer, const kf_task *task)
{
    cJSON *list = cJSON_AddArrayToObject(answer, "rules");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(rules[i]));
    if (kf_task_is_torch(task))
        cJSON_AddItemToArray(
            list, cJSON_CreateString("A Python file (.py) with class ModelNew is allowed, too."));
    const char *const *libraries = kf_task_libraries(task);
    if (!libraries || !libraries[0]) return;
    cJSON *names = cJSON_AddArrayToObject(answer, "libraries");
    for (int i = 0; libraries[i]; i++)
        cJSON_AddItemToArray(names, cJSON_CreateString(libraries[i]));
}

static bool add_notes(cJSON *answer, kf_store *store, const kf_task *task, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_notes(store, kf_task_hash(task), error);
    kf_autoresult kf_store_note note = {0};
    cJSON *list = NULL;
    int row = cursor ? 1 : -1, shown = 0;
    while (row == 1 && shown < NOTES_SHOWN && (row = kf_store_next_note(cursor, &note, error)) == 1)
        if (strcmp(note.kind, "agent") == 0) {
            if (!list) list = cJSON_AddArrayToObject(answer, "notes");
            cJSON_AddItemToArray(list, cJSON_CreateString(note.text));
            shown++;
        }
    return row >= 0;
}

static bool add_best(kf_mcp_call *call, cJSON *answer, kf_store *store, const kf_task *task,
                     kf_error *error)
{
    kf_autoresult kf_store_candidate best = {0};
    bool found;
    if (!kf_mcp_best(call->server, store, kf_task_hash(task), &best, &found, error)) return false;
    if (!found) return true;
    kf_mcp_add_candidate(answer, "best", best.id);
    kf_mcp_add_speedup(answer, "best_speedup", best.speedup);
    return true;
}

/* Adds the baseline's name, with `full` its source. */
static void add_baseline(cJSON *answer, const kf_task *task, bool full)
{
    const kf_task_file *file = kf_task_baseline(task);
    cJSON_AddStringToObject(answer, "baseline", file->name);
    if (!full) return;
    kf_autofree char *text = strndup(file->text, BASELINE_BYTES);
    char *end = text && file->size > BASELINE_BYTES ? strrchr(text, '\n') : NULL;
    if (end) *end = '\0';
    cJSON_AddStringToObject(answer, "baseline_source", text ? text : "");
    if (end) cJSON_AddBoolToObject(answer, "baseline_cut", true);
}

cJSON *kf_tool_task(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    char family[16];
    kf_auto(kf_task) task =
        kf_mcp_task(call->server, kf_json_get_text(arguments, "task", ""), error);
    kf_autofree char *prototype = task ? kf_task_prototype(task, false) : NULL;
    if (!task) return NULL;
    kf_mcp_family(call->server, family);
    kf_auto(cJSON) answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "name", kf_task_name(task));
    cJSON_AddStringToObject(answer, "description", kf_task_description(task));
    cJSON_AddStringToObject(answer, "prototype", prototype ? prototype : "");
    cJSON_AddStringToObject(answer, "precision", kf_task_precision(task));
    cJSON_AddStringToObject(answer, "device", family);
    add_rules(answer, task);
    if (!add_workloads(answer, task, family, error)) return NULL;
    add_baseline(answer, task, strcmp(kf_json_get_text(arguments, "detail", "brief"), "full") == 0);
    kf_auto(kf_store) store = kf_mcp_store(call->server, KF_STORE_READ, NULL);
    if (store &&
        (!add_best(call, answer, store, task, error) || !add_notes(answer, store, task, error)))
        return NULL;
    return kf_steal(&answer);
}

/* ---- kforge_note ----------------------------------------------------------------------------- */

cJSON *kf_tool_note(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    const char *text = kf_json_get_text(arguments, "text", "");
    kf_auto(kf_task) task =
        kf_mcp_task(call->server, kf_json_get_text(arguments, "task", ""), error);
    if (!task) return NULL;
    if (!text[strspn(text, " \t\r\n")] || strlen(text) > NOTE_BYTES) {
        kf_fail(error, KF_ERROR_INPUT, "text: a note has 1 to %d bytes", NOTE_BYTES);
        return NULL;
    }
    kf_auto(kf_store) store = kf_mcp_store(call->server, KF_STORE_CREATE, error);
    kf_auto(cJSON) bundle = store ? kf_task_bundle(task) : NULL;
    kf_autofree char *packed = bundle ? cJSON_PrintUnformatted(bundle) : NULL;
    if (store && !packed) kf_fail_memory(error, "a task");
    if (!packed ||
        !kf_store_put_task(store, kf_task_hash(task), kf_task_name(task), packed, strlen(packed),
                           error) ||
        !kf_store_put_note(
            store,
            &(kf_store_note_new){
                .task = kf_task_hash(task), .kind = "agent", .text = text, .effect = NAN},
            error))
        return NULL;
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "task", kf_task_name(task));
    cJSON_AddBoolToObject(answer, "stored", true);
    return answer;
}
