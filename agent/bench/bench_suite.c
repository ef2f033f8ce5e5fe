/* Finds the tasks of a suite. A task that can't be loaded is listed with its fault and counts as
 * unsolved. The others are not affected. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"

/* maximum of a suite.json, for an import of thousands of problems with reasons */
#define SUITE_BYTES ((size_t)64 << 20)

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
    const cJSON *l = cJSON_GetObjectItemCaseSensitive(origin, "level"),
                *p = cJSON_GetObjectItemCaseSensitive(origin, "problem");
    *level = cJSON_IsNumber(l) && l->valuedouble >= 0 && l->valuedouble < 1e9
                 ? (int64_t)l->valuedouble
                 : -1;
    *problem = cJSON_IsNumber(p) && p->valuedouble >= 0 && p->valuedouble < 1e9
                   ? (int64_t)p->valuedouble
                   : -1;
}

typedef struct loader {
    kf_bench_suite *suite;
    const char *const *only;
    size_t only_count;
    /* True once suite.json was read, while its folder is searched */
    bool listed;
    kf_error *error;
} loader;

static bool is_wanted(const loader *l, const char *name, const char *folder)
{
    for (size_t i = 0; i < l->only_count; i++)
        if (fnmatch(l->only[i], name, 0) == 0 || fnmatch(l->only[i], last_part(folder), 0) == 0)
            return true;
    return l->only_count == 0;
}

static bool is_taken(const kf_bench_suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->count; i++)
        if (!suite->tasks[i].fault && strcmp(suite->tasks[i].name, name) == 0) return true;
    return false;
}

/* Adds a task, with a fault unless `fault` is "". */
static kf_bench_task *new_entry(loader *l, const char *name, const char *folder, const char *fault)
{
    kf_bench_suite *suite = l->suite;
    if (suite->count == KF_BENCH_TASKS) {
        kf_fail(l->error, KF_ERROR_LIMIT, "%s: more than %d tasks", suite->path, KF_BENCH_TASKS);
        return NULL;
    }
    bool grown = kf_list_grow(&suite->tasks, suite->count);
    kf_bench_task *t = grown ? &suite->tasks[suite->count++] : NULL;
    if (t) {
        *t = (kf_bench_task){.level = -1, .problem = -1};
        t->name = kf_text_clean(name, strlen(name), true);
        t->folder = strdup(folder);
        if (*fault) t->fault = kf_text_clean(fault, strlen(fault), true);
    }
    if (t && t->name && t->folder && (!*fault || t->fault)) return t;
    kf_fail_memory(l->error, "the suite");
    return NULL;
}

static bool add_task(loader *l, const char *folder)
{
    kf_error why = {0};
    for (size_t i = 0; l->listed && i < l->suite->count; i++)
        if (strcmp(l->suite->tasks[i].folder, folder) == 0) return true; /* already in suite.json */
    kf_auto(kf_task) task = kf_task_load(folder, &why);
    const char *name = task ? kf_task_name(task) : last_part(folder);
    if (!is_wanted(l, name, folder)) return true;
    if (task && is_taken(l->suite, name))
        kf_fail(&why, KF_ERROR_INPUT, "another task of the suite has this name");
    kf_bench_task *t = new_entry(l, name, folder, why.text);
    if (!t || !task) return t != NULL;
    snprintf(t->hash, sizeof t->hash, "%s", kf_task_hash(task));
    kf_bench_origin(kf_task_json(task), &t->level, &t->problem);
    t->torch = kf_task_is_torch(task);
    snprintf(t->text_hash, sizeof t->text_hash, "%.64s",
             kf_json_get_text(cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "origin"),
                              "sha256", ""));
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
    if (count < 0) return kf_fail(l->error, KF_ERROR_INPUT, "%s: cannot read it", folder);
    bool added = true;
    for (int i = 0; i < count; i++) {
        kf_autofree char *path = added ? kf_path_join(folder, entries[i]->d_name) : NULL;
        free(entries[i]);
        if (added && !path) added = kf_fail_memory(l->error, "the suite");
        if (added && is_folder(path)) added = add_folder(l, path, depth - 1);
    }
    free(entries);
    return added;
}

/* ---- suite.json ------------------------------------------------------------------------------ */

/* Adds the problems of an import: {"task", "folder"} for imported ones, {"task", "rule", "reason",
 * "level", "problem"} for refused ones. A refused problem that got a folder later is a task. */
static bool add_problem(loader *l, kf_json_reader *reader, const char *folder, const cJSON *entry)
{
    const char *name = kf_json_get_text(entry, "task", ""),
               *rule = kf_json_get_text(entry, "rule", ""),
               *reason = kf_json_get_text(entry, "reason", "");
    if (!*name || strchr(name, '/') || *name == '.')
        return kf_json_complain(
            reader, "problems",
            "expected objects with \"task\", the name of a folder next to the file");
    kf_autofree char *path = kf_path_join(folder, name);
    if (!path) return kf_fail_memory(l->error, "the suite");
    if (!*rule || exists(path, "task.json")) return add_task(l, path);
    if (!is_wanted(l, name, name)) return true;
    kf_bench_task *t = new_entry(l, name, path, *reason ? reason : "without a reason");
    if (!t) return false;
    t->rule = kf_text_clean(rule, strlen(rule), true);
    double level = kf_json_get_number(entry, "level", -1),
           problem = kf_json_get_number(entry, "problem", -1);
    t->level = level >= 0 && level < 1e9 ? (int64_t)level : -1;
    t->problem = problem >= 0 && problem < 1e9 ? (int64_t)problem : -1;
    return t->rule || kf_fail_memory(l->error, "the suite");
}

static bool add_problems(loader *l, kf_json_reader *reader, const char *folder,
                         const cJSON *problems)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, problems)
    {
        if (!add_problem(l, reader, folder, entry)) return false;
    }
    l->listed = true;
    return add_folder(l, folder, KF_BENCH_DEPTH);
}

/* True if the import wrote the name of its suite, and not a person the name of this one. */
static bool is_of_import(const char *name, const cJSON *imports)
{
    const cJSON *import;
    cJSON_ArrayForEach(import, imports)
    {
        if (strcmp(kf_json_get_text(import, "suite", ""), name) == 0) return true;
    }
    return false;
}

static bool add_listed(loader *l, const char *file)
{
    size_t size;
    kf_autofree char *text = kf_file_read(file, SUITE_BYTES, &size, l->error),
                     *folder = strdup(file);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, SUITE_BYTES, file, l->error) : NULL;
    if (!json || !folder) return json ? kf_fail_memory(l->error, "the suite") : false;
    char *slash = strrchr(folder, '/');
    *(slash ? slash : folder) = '\0';
    kf_json_reader reader = kf_json_object(json, file, "", l->error);
    const char *schema = kf_json_string(&reader, "schema"),
               *name = kf_json_string_or(&reader, "name", NULL);
    kf_json_string_or(&reader, "description", NULL);
    const cJSON *entry, *tasks = kf_json_array_or_null(&reader, "tasks"),
                        *problems = kf_json_array_or_null(&reader, "problems");
    const cJSON *imports = kf_json_array_or_null(&reader, "imports");
    if (!kf_json_finish(&reader)) return false;
    if (strcmp(schema, KF_SUITE_SCHEMA) != 0)
        return kf_json_complain(&reader, "schema", "expected \"%s\"", KF_SUITE_SCHEMA);
    if (!tasks && !problems)
        return kf_json_complain(&reader, "tasks", "missing; expected folders of tasks");
    if (imports && !(l->suite->imports = cJSON_Duplicate(imports, true)))
        return kf_fail_memory(l->error, "the suite");
    free(l->suite->name);
    l->suite->name = name && !is_of_import(name, imports)
                         ? kf_text_clean(name, strlen(name), true)
                         : strdup(last_part(*folder ? folder : file));
    if (!l->suite->name) return kf_fail_memory(l->error, "the suite");
    cJSON_ArrayForEach(entry, tasks)
    {
        if (!cJSON_IsString(entry))
            return kf_json_complain(&reader, "tasks",
                                    "expected texts: folders relative to the file");
        kf_autofree char *path = kf_path_join(*folder ? folder : ".", entry->valuestring);
        if (!path) return kf_fail_memory(l->error, "the suite");
        if (!add_task(l, path)) return false;
    }
    return !problems || add_problems(l, &reader, *folder ? folder : ".", problems);
}

/* ---- all of it ------------------------------------------------------------------------------- */

bool kf_bench_suite_load(const char *path, const char *const *only, size_t only_count,
                         kf_bench_suite *suite, kf_error *error)
{
    loader l = {.suite = suite, .only = only, .only_count = only_count, .error = error};
    suite->path = realpath(path, NULL);
    if (!suite->path)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: no such suite; expected a folder of tasks or a suite.json", path);
    suite->name = strdup(last_part(suite->path));
    if (!suite->name) return kf_fail_memory(error, "the suite");
    bool folder = is_folder(suite->path), listed = folder && exists(suite->path, "suite.json");
    kf_autofree char *file = listed ? kf_path_join(suite->path, "suite.json") : strdup(suite->path);
    if (!file) return kf_fail_memory(error, "the suite");
    bool found = folder && !listed ? add_folder(&l, suite->path, KF_BENCH_DEPTH)
                 : strcmp(last_part(suite->path), "task.json") == 0 ? add_task(&l, suite->path)
                                                                    : add_listed(&l, file);
    if (!found) return false;
    size_t fit = 0;
    for (size_t i = 0; i < suite->count; i++) fit += !suite->tasks[i].fault;
    if (fit) return true;
    if (suite->count)
        return kf_fail(error, KF_ERROR_INPUT, "%s: all %zu tasks have faults; the first: %s", path,
                       suite->count, suite->tasks[0].fault);
    return kf_fail(error, KF_ERROR_INPUT,
                   only_count ? "%s: no task has a name that matches --only"
                              : "%s: the suite holds no task",
                   path);
}

void kf_bench_suite_clear(kf_bench_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++) {
        free(suite->tasks[i].name);
        free(suite->tasks[i].folder);
        free(suite->tasks[i].fault);
        free(suite->tasks[i].rule);
    }
    free(suite->tasks);
    cJSON_Delete(suite->imports);
    free(suite->name);
    free(suite->path);
    *suite = (kf_bench_suite){0};
}
