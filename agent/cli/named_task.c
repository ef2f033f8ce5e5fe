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
#include "nearest.h"
#include "output.h"

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

/* Appends the names of the tasks in the store. */
static void collect_stored(kf_store *store, name_list *list)
{
    kf_auto(kf_store_cursor) cursor = kf_store_tasks(store, NULL);
    kf_autoresult kf_store_task task = {0};
    while (cursor && list->count < MAX_NAMES && kf_store_next_task(cursor, &task, NULL) > 0) {
        char *name = strdup(task.name);
        if (name) list->items[list->count++] = name;
    }
}

/* `store` may be NULL. */
static bool fail_unknown(const char *word, const char *installed, kf_store *store, kf_error *error)
{
    kf_auto(name_list) list = calloc(1, sizeof *list);
    if (!list) return kf_fail_memory(error, "a list of tasks");
    collect_names(".", list);
    collect_names(LOCAL_TASKS, list);
    collect_names(installed, list);
    if (store) collect_stored(store, list);
    const char *near = kf_nearest(word, (const char *const *)list->items, list->count);
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: no such file or folder, and no task of that name in " LOCAL_TASKS
                   "/%s %s%s; %s%s%s\"kforge list --tasks\" shows all",
                   word, store ? "," : " or", installed, store ? " or the store" : "",
                   near ? "did you mean " : "", near ? near : "", near ? "? " : "");
}

/* Refuses a path that is not there if kforge has a task of that name. */
static bool check_path(const char *word, const char *installed, kf_error *error)
{
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
    if (!slash || !*name || access(word, F_OK) == 0) return true;
    return !(holds_task(LOCAL_TASKS, name) || holds_task(installed, name)) ||
           kf_fail(error, KF_ERROR_INPUT, "%s: No such file or directory; did you mean %s?", word,
                   name);
}

/* Returns the path of `word` in *path, or NULL there if no folder has it. False: it is a path that
 * is not there, or out of memory. */
static bool find_path(const char *word, const char *installed, char **path, kf_error *error)
{
    const char *const folders[] = {LOCAL_TASKS, installed};
    *path = NULL;
    if (!check_path(word, installed, error)) return false;
    if (strchr(word, '/') || !word[0] || access(word, F_OK) == 0)
        return (*path = strdup(word)) || kf_fail_memory(error, "a path");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (holds_task(folders[i], word))
            return (*path = kf_path_join(folders[i], word)) || kf_fail_memory(error, "a path");
    return true;
}

char *kf_named_task_path(const char *word, kf_error *error)
{
    char *path;
    kf_autofree char *installed = kf_installed_tasks(error);
    if (!installed || !find_path(word, installed, &path, error)) return NULL;
    if (!path) fail_unknown(word, installed, NULL, error);
    return path;
}

kf_task *kf_named_task_load(const char *word, kf_error *error)
{
    kf_autofree char *path = kf_named_task_path(word, error);
    return path ? kf_task_load(path, error) : NULL;
}

kf_task *kf_named_task_find(const char *word, const char *store_path, kf_error *error)
{
    kf_autofree char *path = NULL, *installed = kf_installed_tasks(error);
    if (!installed || !find_path(word, installed, &path, error)) return NULL;
    if (path) return kf_task_load(path, error);
    kf_auto(kf_store) store = NULL;
    kf_autoresult kf_store_task stored = {0};
    kf_error why = {0};
    /* A store that cannot be read is no reason to hide the names of the folders. */
    bool opened = (!store_path || access(store_path, F_OK) == 0) &&
                  kf_open_to_read(store_path, &store, &why) && store;
    if (opened && kf_store_find_task(store, word, &stored, &why))
        return kf_stored_task(store, stored.hash, error);
    if (opened && strstr(why.text, "several"))
        kf_fail_copy(error, &why);
    else
        fail_unknown(word, installed, store, error);
    return NULL;
}

char *kf_named_suite_path(const char *word, kf_error *error)
{
    if (strcmp(word, LOCAL_TASKS) == 0 && access(word, F_OK) != 0) return kf_installed_tasks(error);
    return kf_named_task_path(word, error);
}
