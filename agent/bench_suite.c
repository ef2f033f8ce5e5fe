/* Finding the tasks of a suite. One that can't be loaded costs nobody else anything: it is listed with its fault, and counts as unsolved. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "kforge/file.h"
#include "kforge/json.h"

static bool out_of_memory(kf_error *error)
{
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory for the suite");
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool exists(const char *folder, const char *name)
{
    kf_autofree char *path = kf_path_join(folder, name);
    return path && access(path, F_OK) == 0;
}

void kf_bench_origin(const cJSON *task, int64_t *level, int64_t *problem)
{
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(task, "origin");
    const cJSON *l = cJSON_GetObjectItemCaseSensitive(origin, "level"), *p = cJSON_GetObjectItemCaseSensitive(origin, "problem");
    *level = cJSON_IsNumber(l) && l->valuedouble >= 0 && l->valuedouble < 1e9 ? (int64_t)l->valuedouble : -1;
    *problem = cJSON_IsNumber(p) && p->valuedouble >= 0 && p->valuedouble < 1e9 ? (int64_t)p->valuedouble : -1;
}

typedef struct loader {
    kf_bench_suite *suite;
    const char *const *only;
    size_t only_count;
    kf_error *error;
} loader;

static bool is_wanted(const loader *l, const char *name, const char *folder)
{
    for (size_t i = 0; i < l->only_count; i++)
        if (fnmatch(l->only[i], name, 0) == 0 || fnmatch(l->only[i], last_part(folder), 0) == 0) return true;
    return l->only_count == 0;
}

static bool is_taken(const kf_bench_suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->count; i++)
        if (!suite->tasks[i].fault && strcmp(suite->tasks[i].name, name) == 0) return true;
    return false;
}

static bool add_task(loader *l, const char *folder)
{
    kf_bench_suite *suite = l->suite;
    kf_error why = {0};
    kf_auto(kf_task) task = kf_task_load(folder, &why);
    const char *name = task ? kf_task_name(task) : last_part(folder);
    if (!is_wanted(l, name, folder)) return true;
    if (suite->count == KF_BENCH_TASKS)
        return kf_fail(l->error, KF_ERROR_LIMIT, "%s: more than %d tasks", suite->path, KF_BENCH_TASKS);
    if (task && is_taken(suite, name)) kf_fail(&why, KF_ERROR_INPUT, "another task of the suite has this name");
    kf_bench_task *grown = realloc(suite->tasks, (suite->count + 1) * sizeof *grown);
    if (!grown) return out_of_memory(l->error);
    suite->tasks = grown;
    kf_bench_task *t = &suite->tasks[suite->count++];
    *t = (kf_bench_task){.level = -1, .problem = -1};
    t->name = kf_text_clean(name, strlen(name), true);
    t->folder = strdup(folder);
    if (why.text[0]) t->fault = kf_text_clean(why.text, strlen(why.text), true);
    if (!t->name || !t->folder || (why.text[0] && !t->fault)) return out_of_memory(l->error);
    if (!task) return true;
    snprintf(t->hash, sizeof t->hash, "%s", kf_task_hash(task));
    kf_bench_origin(kf_task_json(task), &t->level, &t->problem);
    t->torch = kf_task_is_torch(task);
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name); /* 2_… before 10_… */
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool add_folder(loader *l, const char *folder, int depth)
{
    struct dirent **entries;
    if (exists(folder, "task.json")) return add_task(l, folder);
    if (depth == 0) return true;
    int count = scandir(folder, &entries, is_visible, by_name);
    if (count < 0) return kf_fail(l->error, KF_ERROR_INPUT, "%s: can't be read", folder);
    bool added = true;
    for (int i = 0; i < count; i++) {
        kf_autofree char *path = added ? kf_path_join(folder, entries[i]->d_name) : NULL;
        free(entries[i]);
        if (added && !path) added = out_of_memory(l->error);
        if (added && is_folder(path)) added = add_folder(l, path, depth - 1);
    }
    free(entries);
    return added;
}

/* ---- suite.json ------------------------------------------------------------------------------------------------------------------------------ */

static bool add_listed(loader *l, const char *file)
{
    size_t size;
    kf_autofree char *text = kf_file_read(file, KF_JSON_TASK_BYTES, &size, l->error), *folder = strdup(file);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, KF_JSON_TASK_BYTES, file, l->error) : NULL;
    if (!json || !folder) return json ? out_of_memory(l->error) : false;
    char *slash = strrchr(folder, '/');
    *(slash ? slash : folder) = '\0';
    kf_json_reader reader = kf_json_object(json, file, "", l->error);
    const char *schema = kf_json_string(&reader, "schema"), *name = kf_json_string_or(&reader, "name", NULL);
    kf_json_string_or(&reader, "description", NULL);
    const cJSON *entry, *tasks = kf_json_array_or_null(&reader, "tasks");
    kf_json_any(&reader, "left_out"); /* what an import had to leave out, for readers */
    if (!kf_json_finish(&reader)) return false;
    if (strcmp(schema, KF_SUITE_SCHEMA) != 0) return kf_json_complain(&reader, "schema", "expected \"%s\"", KF_SUITE_SCHEMA);
    if (!tasks) return kf_json_complain(&reader, "tasks", "missing; expected folders of tasks");
    free(l->suite->name);
    l->suite->name = name ? kf_text_clean(name, strlen(name), true) : strdup(last_part(*folder ? folder : file));
    if (!l->suite->name) return out_of_memory(l->error);
    cJSON_ArrayForEach(entry, tasks)
    {
        if (!cJSON_IsString(entry)) return kf_json_complain(&reader, "tasks", "expected texts: folders relative to the file");
        kf_autofree char *path = kf_path_join(*folder ? folder : ".", entry->valuestring);
        if (!path) return out_of_memory(l->error);
        if (!add_task(l, path)) return false;
    }
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------------------------------------------------------- */

bool kf_bench_suite_load(const char *path, const char *const *only, size_t only_count, kf_bench_suite *suite, kf_error *error)
{
    loader l = {.suite = suite, .only = only, .only_count = only_count, .error = error};
    suite->path = realpath(path, NULL);
    if (!suite->path)
        return kf_fail(error, KF_ERROR_INPUT, "%s: there is no such suite; expected a folder of tasks or a suite.json", path);
    suite->name = strdup(last_part(suite->path));
    if (!suite->name) return out_of_memory(error);
    bool folder = is_folder(suite->path), listed = folder && exists(suite->path, "suite.json");
    kf_autofree char *file = listed ? kf_path_join(suite->path, "suite.json") : strdup(suite->path);
    if (!file) return out_of_memory(error);
    bool found = folder && !listed                                  ? add_folder(&l, suite->path, KF_BENCH_DEPTH)
                 : strcmp(last_part(suite->path), "task.json") == 0 ? add_task(&l, suite->path)
                                                                    : add_listed(&l, file);
    if (!found) return false;
    size_t fit = 0;
    for (size_t i = 0; i < suite->count; i++) fit += !suite->tasks[i].fault;
    if (fit) return true;
    if (suite->count)
        return kf_fail(error, KF_ERROR_INPUT, "%s: none of its %zu tasks can be judged; the first: %s", path, suite->count,
                       suite->tasks[0].fault);
    return kf_fail(error, KF_ERROR_INPUT, only_count ? "%s: no task has a name that fits --only" : "%s: it holds no task", path);
}

void kf_bench_suite_clear(kf_bench_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++) {
        free(suite->tasks[i].name);
        free(suite->tasks[i].folder);
        free(suite->tasks[i].fault);
    }
    free(suite->tasks);
    free(suite->name);
    free(suite->path);
    *suite = (kf_bench_suite){0};
}
