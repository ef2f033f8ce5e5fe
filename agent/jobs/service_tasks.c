/* The tasks of a service: loaded ones that jobs share, names, and the list for clients. */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs_internal.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "named_task.h"

/* Seconds for which a name means the task that was loaded. Later its files are read again. */
#define NAME_SECONDS 2.0
#define TASK_NAME_BYTES 200
#define LEAST_HASH_DIGITS 8

void kf_shared_task_release(kf_shared_task *task)
{
    if (!task || __atomic_sub_fetch(&task->references, 1, __ATOMIC_ACQ_REL)) return;
    kf_task_free(task->task);
    free(task);
}

static kf_shared_task *hold(kf_shared_task *task)
{
    __atomic_add_fetch(&task->references, 1, __ATOMIC_ACQ_REL);
    return task;
}

/* ---- opening --------------------------------------------------------------------------------- */

bool kf_service_tasks_open(kf_service *service, const kf_service_options *options, kf_error *error)
{
    kf_service_tasks_table *table = &service->tasks;
    table->allow_paths = options->task_paths;
    table->further = calloc(options->task_count + 1, sizeof *table->further);
    if (!table->further) return kf_fail_memory(error, "tasks");
    for (size_t i = 0; i < options->task_count; i++) {
        kf_auto(kf_task) task = kf_named_task_load(options->tasks[i], error);
        if (!task) return false;
        table->further_count++;
        table->further[i].path = strdup(options->tasks[i]);
        table->further[i].name = strdup(kf_task_name(task));
        if (!table->further[i].path || !table->further[i].name)
            return kf_fail_memory(error, "tasks");
    }
    return true;
}

void kf_service_tasks_close(kf_service *service)
{
    kf_service_tasks_table *table = &service->tasks;
    for (size_t i = 0; i < table->name_count; i++) {
        kf_shared_task_release(table->names[i].task);
        free(table->names[i].word);
    }
    for (size_t i = 0; i < table->loaded_count; i++) kf_shared_task_release(table->loaded[i]);
    for (size_t i = 0; i < table->further_count; i++) {
        free(table->further[i].path);
        free(table->further[i].name);
    }
    free(table->further);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Returns a reference to the loaded task with the hash of `task`, which it takes over. */
static kf_shared_task *share(kf_service_tasks_table *table, kf_task *task, kf_error *error)
{
    for (size_t i = 0; i < table->loaded_count; i++) {
        if (strcmp(kf_task_hash(table->loaded[i]->task), kf_task_hash(task)) != 0) continue;
        kf_task_free(task);
        return hold(table->loaded[i]);
    }
    kf_shared_task *shared = calloc(1, sizeof *shared);
    if (!shared) {
        kf_task_free(task);
        kf_fail_memory(error, "a task");
        return NULL;
    }
    *shared = (kf_shared_task){.references = 2, .task = task};
    if (table->loaded_count == KF_SHARED_TASKS)
        kf_shared_task_release(table->loaded[--table->loaded_count]);
    memmove(table->loaded + 1, table->loaded, table->loaded_count * sizeof *table->loaded);
    table->loaded[0] = shared;
    table->loaded_count++;
    return shared;
}

static bool is_hash(const char *word)
{
    size_t length = strlen(word);
    return length >= LEAST_HASH_DIGITS && length < KF_HASH_HEX &&
           strspn(word, "0123456789abcdef") == length;
}

static bool is_name(const char *word)
{
    size_t length = strlen(word);
    if (!length || length > TASK_NAME_BYTES || word[0] == '.') return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("_.-", word[i])) return false;
    return true;
}

static const char *further_path(const kf_service_tasks_table *table, const char *word)
{
    for (size_t i = 0; i < table->further_count; i++)
        if (strcmp(table->further[i].name, word) == 0) return table->further[i].path;
    return NULL;
}

static kf_task *load_stored(kf_service *service, const char *hash, kf_error *error)
{
    kf_autoresult kf_store_task found = {0};
    kf_store *store = kf_service_reading(service, error);
    if (!store) return NULL;
    size_t size = 0;
    kf_autofree char *text = kf_store_find_task(store, hash, &found, error)
                                 ? kf_store_task_bundle(store, found.hash, &size, error)
                                 : NULL;
    kf_service_reading_done(service);
    kf_auto(cJSON) bundle = text ? kf_json_parse(text, size, 0, "stored task", error) : NULL;
    return bundle ? kf_task_from_bundle(bundle, error) : NULL;
}

/* Returns the offered task with this prefix of its hash. */
static kf_task *load_offered(kf_service *service, const char *hash)
{
    kf_auto(cJSON) list = kf_service_tasks(service, NULL);
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, list)
    {
        const char *have = cJSON_GetObjectItem(row, "hash")->valuestring;
        const char *name = cJSON_GetObjectItem(row, "name")->valuestring;
        if (strncmp(have, hash, strlen(hash)) == 0) return kf_service_task(service, name, NULL);
    }
    return NULL;
}

kf_task *kf_service_task(kf_service *service, const char *word, kf_error *error)
{
    const char *path = further_path(&service->tasks, word);
    if (path) return kf_named_task_load(path, error);
    if (is_hash(word)) {
        kf_error ignored;
        kf_task *task = load_stored(service, word, &ignored);
        if (!task) task = load_offered(service, word);
        if (!task)
            kf_fail(error, KF_ERROR_INPUT,
                    "task: no task has the hash %.64s; send its bundle (\"kforge task bundle\")",
                    word);
        return task;
    }
    if (service->tasks.allow_paths) return kf_named_task_load(word, error);
    kf_error why = {0};
    kf_task *task = is_name(word) ? kf_named_task_load(word, &why) : NULL;
    /* The reason may name folders of this machine, which is no business of a client. */
    if (!task)
        kf_fail(error, KF_ERROR_INPUT,
                "task: there is no task \"%.100s\"; send a bundle for a task of your own (\"kforge "
                "task bundle\")",
                word);
    return task;
}

/* Returns a reference to the task of this name, loaded anew if the last look is too old. */
static kf_shared_task *resolve_word(kf_service *service, const char *word, kf_error *error)
{
    kf_service_tasks_table *table = &service->tasks;
    double now = kf_now();
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->name_count; i++) {
        bool fresh = now - table->names[i].looked < NAME_SECONDS || is_hash(word);
        if (strcmp(table->names[i].word, word) != 0 || !fresh) continue;
        kf_shared_task *known = hold(table->names[i].task);
        pthread_mutex_unlock(&table->lock);
        return known;
    }
    pthread_mutex_unlock(&table->lock);
    kf_task *task = kf_service_task(service, word, error);
    if (!task) return NULL;
    pthread_mutex_lock(&table->lock);
    kf_shared_task *shared = share(table, task, error);
    size_t at = 0;
    while (at < table->name_count && strcmp(table->names[at].word, word) != 0) at++;
    if (at == KF_SHARED_TASKS) at = 0;
    char *copy = shared ? strdup(word) : NULL;
    if (copy) {
        if (at == table->name_count) {
            table->name_count++;
        } else {
            free(table->names[at].word);
            kf_shared_task_release(table->names[at].task);
        }
        table->names[at].word = copy;
        table->names[at].task = hold(shared);
        table->names[at].looked = now;
    }
    pthread_mutex_unlock(&table->lock);
    return shared;
}

/* Returns a copy of a task, through its bundle. */
static kf_task *copy_task(const kf_task *task, kf_error *error)
{
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    if (!bundle) kf_fail_memory(error, "a task");
    return bundle ? kf_task_from_bundle(bundle, error) : NULL;
}

static kf_shared_task *find_loaded(kf_service_tasks_table *table, const char *hash)
{
    kf_shared_task *found = NULL;
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->loaded_count && !found; i++)
        if (strcmp(kf_task_hash(table->loaded[i]->task), hash) == 0) found = hold(table->loaded[i]);
    pthread_mutex_unlock(&table->lock);
    return found;
}

kf_shared_task *kf_service_resolve(kf_service *service, const kf_submission *submission,
                                   kf_refusal *refusal, kf_error *error)
{
    *refusal = KF_REFUSED_TASK;
    if (!submission->loaded && !submission->bundle)
        return submission->task ? resolve_word(service, submission->task, error) : NULL;
    *refusal = KF_REFUSED_INPUT;
    if (submission->loaded) {
        kf_shared_task *known = find_loaded(&service->tasks, kf_task_hash(submission->loaded));
        if (known) return known;
    }
    kf_task *task = submission->loaded ? copy_task(submission->loaded, error)
                                       : kf_task_from_bundle(submission->bundle, error);
    if (!task) return NULL;
    pthread_mutex_lock(&service->tasks.lock);
    kf_shared_task *shared = share(&service->tasks, task, error);
    pthread_mutex_unlock(&service->tasks.lock);
    return shared;
}

/* ---- the list -------------------------------------------------------------------------------- */

typedef struct word_list {
    char **items;
    size_t count;
} word_list;

static void word_list_free(word_list *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->items[i]);
    free(list->items);
}

static void add_word(word_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], word) == 0) return;
    char *copy = strdup(word);
    if (!copy || !kf_list_grow(&list->items, list->count))
        free(copy);
    else
        list->items[list->count++] = copy;
}

static void add_folder(word_list *list, const char *folder)
{
    DIR *entries = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (is_name(entry->d_name) && !is_hash(entry->d_name)) add_word(list, entry->d_name);
    if (entries) closedir(entries);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the best speedup of a task in the workers' environment. NaN: not known. */
static double best_of(kf_store *store, const char *hash, const char *environment_id)
{
    kf_store_scope scope = {
        .task = hash, .device = *environment_id ? environment_id : NULL, .island = -1};
    kf_autoresult kf_store_candidate best = {0};
    kf_auto(kf_store_cursor) cursor = kf_store_best(store, &scope, 1, NULL);
    return cursor && kf_store_next_candidate(cursor, &best, NULL) == 1 ? best.speedup.value : NAN;
}

static cJSON *task_row(const kf_task *task, double best)
{
    const cJSON *family = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "family");
    kf_auto(cJSON) row = cJSON_CreateObject();
    bool made =
        row && cJSON_AddStringToObject(row, "name", kf_task_name(task)) &&
        cJSON_AddStringToObject(row, "hash", kf_task_hash(task)) &&
        (cJSON_IsString(family) ? cJSON_AddStringToObject(row, "family", family->valuestring)
                                : cJSON_AddNullToObject(row, "family")) &&
        (isfinite(best) ? cJSON_AddNumberToObject(row, "best", best)
                        : cJSON_AddNullToObject(row, "best"));
    return made ? kf_steal(&row) : NULL;
}

cJSON *kf_service_tasks(kf_service *service, kf_error *error)
{
    __attribute__((cleanup(word_list_free))) word_list names = {0};
    kf_autofree char *installed = kf_installed_tasks(error);
    for (size_t i = 0; i < service->tasks.further_count; i++)
        add_word(&names, service->tasks.further[i].name);
    add_folder(&names, "tasks");
    add_folder(&names, installed);
    if (names.count) qsort(names.items, names.count, sizeof *names.items, by_name);
    kf_service_figures figures;
    kf_service_read_figures(service, &figures);
    kf_auto(cJSON) list = cJSON_CreateArray();
    for (size_t i = 0; list && i < names.count; i++) {
        /* A folder that is no task is left out. */
        kf_auto(kf_task) task = kf_service_task(service, names.items[i], NULL);
        if (!task) continue;
        kf_store *store = kf_service_reading(service, NULL);
        double best = store ? best_of(store, kf_task_hash(task), figures.environment_id) : NAN;
        if (store) kf_service_reading_done(service);
        cJSON *row = task_row(task, best);
        if (!row || !cJSON_AddItemToArray(list, row)) {
            cJSON_Delete(row);
            kf_fail_memory(error, "the list of tasks");
            return NULL;
        }
    }
    if (!list) kf_fail_memory(error, "the list of tasks");
    return kf_steal(&list);
}

cJSON *kf_service_best(kf_service *service)
{
    /* A client's bundle may have the name of another task, so the store's names say nothing. */
    kf_auto(cJSON) list = kf_service_tasks(service, NULL);
    cJSON *object = list ? cJSON_CreateObject() : NULL;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, list)
    {
        const cJSON *best = cJSON_GetObjectItem(row, "best");
        if (object && cJSON_IsNumber(best))
            cJSON_AddNumberToObject(object, cJSON_GetObjectItem(row, "name")->valuestring,
                                    best->valuedouble);
    }
    return object;
}
