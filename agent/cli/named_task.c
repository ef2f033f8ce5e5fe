#include "named_task.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/installation.h"
#include "kforge/json.h"

#define LOCAL_TASKS "tasks"
#define MAX_NAMES 4096

/* Names of tasks, for "did you mean". */
typedef struct name_list {
    char *items[MAX_NAMES];
    size_t count;
} name_list;

static void name_list_free(name_list *list)
{
    for (size_t i = 0; list && i < list->count; i++) free(list->items[i]);
    free(list);
}

KF_DEFINE_AUTO(name_list, name_list_free)

char *kf_installed_tasks(kf_error *error)
{
    char *path = kf_path_join(kf_root(), "share/kforge/tasks");
    if (!path) kf_fail_memory(error, "a path");
    return path;
}

/* True if `folder`/NAME/task.json is there. */
static bool holds_task(const char *folder, const char *name)
{
    kf_autofree char *task = kf_path_join(folder, name);
    kf_autofree char *file = task ? kf_path_join(task, "task.json") : NULL;
    return file && access(file, F_OK) == 0;
}

/* Appends the names of the tasks in `folder`, as many as fit. */
static void collect_names(const char *folder, name_list *list)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || list->count == MAX_NAMES) continue;
        if (!holds_task(folder, entry->d_name)) continue;
        char *name = strdup(entry->d_name);
        if (name) list->items[list->count++] = name;
    }
    if (entries) closedir(entries);
}

static bool fail_unknown(const char *word, const char *installed, kf_error *error)
{
    kf_auto(name_list) list = calloc(1, sizeof *list);
    if (!list) return kf_fail_memory(error, "a list of tasks");
    collect_names(LOCAL_TASKS, list);
    collect_names(installed, list);
    const char *near = kf_nearest(word, (const char *const *)list->items, list->count);
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: no such file or folder, and no task of that name in " LOCAL_TASKS
                   "/ or %s; %s%s%s\"kforge list --tasks\" shows all",
                   word, installed, near ? "did you mean " : "", near ? near : "",
                   near ? "? " : "");
}

char *kf_named_task_path(const char *word, kf_error *error)
{
    char *path;
    if (strchr(word, '/') || !word[0] || access(word, F_OK) == 0) {
        if (!(path = strdup(word))) kf_fail_memory(error, "a path");
        return path;
    }
    kf_autofree char *installed = kf_installed_tasks(error);
    if (!installed) return NULL;
    const char *const folders[] = {LOCAL_TASKS, installed};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!holds_task(folders[i], word)) continue;
        if (!(path = kf_path_join(folders[i], word))) kf_fail_memory(error, "a path");
        return path;
    }
    fail_unknown(word, installed, error);
    return NULL;
}

kf_task *kf_named_task_load(const char *word, kf_error *error)
{
    kf_autofree char *path = kf_named_task_path(word, error);
    return path ? kf_task_load(path, error) : NULL;
}

char *kf_named_suite_path(const char *word, kf_error *error)
{
    if (strcmp(word, LOCAL_TASKS) == 0 && access(word, F_OK) != 0) return kf_installed_tasks(error);
    return kf_named_task_path(word, error);
}
