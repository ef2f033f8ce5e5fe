/* The tasks of an export: which split each belongs to, and the code that must not be in the rows of
 * the training split. */
#include <string.h>

#include "export_internal.h"
#include "kforge/json.h"
#include "kforge/list.h"

bool kf_export_listed(const char *const *list, size_t count, const char *name, const char *hash,
                      const char *family)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(list[i]);
        bool prefix = length >= 8 && strncmp(hash, list[i], length) == 0;
        if (prefix || strcmp(name, list[i]) == 0 || strcmp(family, list[i]) == 0) return true;
    }
    return false;
}

static kf_split split_of(const kf_export_options *options, const kf_export_task *task,
                         bool held_out)
{
    if (kf_export_listed(options->held_out, options->held_out_count, task->name, task->hash,
                         task->family))
        return KF_SPLIT_NONE;
    if (held_out) return options->keep_held_out ? KF_SPLIT_TEST : KF_SPLIT_NONE;
    for (size_t i = 0; i < options->test_family_count; i++)
        if (strcmp(options->test_families[i], task->family) == 0) return KF_SPLIT_TEST;
    /* The name alone decides, so a family keeps its split when other families are added. */
    double place = (double)(kf_hash_mix(0, task->family, strlen(task->family)) >> 11) * 0x1p-53;
    return place < options->test_share ? KF_SPLIT_TEST : KF_SPLIT_TRAIN;
}

static bool read_task(kf_exporter *e, kf_export_task *task, const char *bundle, size_t size,
                      kf_error *error)
{
    cJSON *json = cJSON_ParseWithLength(bundle, size);
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(json, "json"), *file;
    const char *family = kf_json_get_text(inner, "family", NULL);
    bool held_out = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(inner, "held_out"));
    task->family = strdup(family && *family ? family : task->name);
    if (task->family) task->split = split_of(e->options, task, held_out);
    if (task->family &&
        task->split != KF_SPLIT_TRAIN) /* This code must not be in rows of the training split. */
        cJSON_ArrayForEach(file, cJSON_GetObjectItemCaseSensitive(json, "files"))
        {
            if (cJSON_IsString(file))
                kf_leak_learn(&e->prints, file->valuestring, strlen(file->valuestring));
        }
    cJSON_Delete(json);
    return task->family || kf_fail_memory(error, "a task");
}

static bool load_tasks(kf_exporter *e, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_cursor(e->store, error, "SELECT id, hash, name, bundle FROM task ORDER BY id", "");
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
        if (!kf_list_grow(&e->tasks, e->task_count)) return kf_fail_memory(error, "tasks");
        kf_export_task *task = &e->tasks[e->task_count++];
        *task = (kf_export_task){.id = sqlite3_column_int64(cursor->statement, 0)};
        kf_sql_copy(cursor->statement, 1, task->hash, sizeof task->hash);
        const char *name = (const char *)sqlite3_column_text(cursor->statement, 2);
        task->name = strdup(name ? name : "");
        if (!task->name) return kf_fail_memory(error, "a task");
        size_t size;
        kf_autofree char *bundle =
            kf_blob_get(e->store, sqlite3_column_int64(cursor->statement, 3), &size, error);
        if (!bundle || !read_task(e, task, bundle, size, error)) return false;
    }
    return row == 0;
}

const kf_export_task *kf_export_task_of(const kf_exporter *e, int64_t id)
{
    size_t low = 0, high = e->task_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (e->tasks[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < e->task_count && e->tasks[low].id == id ? &e->tasks[low] : NULL;
}

/* Adds the fingerprints of all candidates of tasks outside the training split. */
static bool learn_candidates(kf_exporter *e, kf_error *error)
{
    for (size_t i = 0; i < e->task_count; i++) {
        if (e->tasks[i].split == KF_SPLIT_TRAIN) continue;
        kf_auto(kf_store_cursor) cursor =
            kf_cursor(e->store, error, "SELECT source FROM candidate WHERE task = ? ORDER BY id",
                      "i", e->tasks[i].id);
        int row = cursor ? 1 : -1;
        while (row == 1 && (row = kf_cursor_step(cursor, error)) == 1) {
            size_t size;
            kf_autofree char *source =
                kf_blob_get(e->store, sqlite3_column_int64(cursor->statement, 0), &size, error);
            if (!source) return false;
            kf_leak_learn(&e->prints, source, size);
        }
        if (row < 0) return false;
    }
    return !e->prints.failed || kf_fail_memory(error, "the code of test tasks");
}

bool kf_export_load_tasks(kf_exporter *e, kf_error *error)
{
    return load_tasks(e, error) && learn_candidates(e, error);
}

void kf_export_free_tasks(kf_exporter *e)
{
    for (size_t i = 0; i < e->task_count && e->tasks; i++) {
        free(e->tasks[i].name);
        free(e->tasks[i].family);
    }
    free(e->tasks);
}
