/* Loads tasks from a folder or a bundle, frees them, and answers questions about them.
 *
 * Both sources take the same steps: parse task.json, get the text of each file that it names, check
 * the texts, compute the content address. A file is read through its real path, which must be below
 * the real path of the folder. So a symbolic link cannot bring another file of the machine into a
 * bundle. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/file.h"
#include "task_internal.h"
#include "utf8.h"

#define KF_BUNDLE_SCHEMA "kforge-bundle/1"

/* ---- release --------------------------------------------------------------------------------- */

static void free_formulas(kf_formula *formulas, int count)
{
    for (int i = 0; formulas && i < count; i++) kf_formula_free(&formulas[i]);
}

static void free_overrides(kf_formula **overrides, int count)
{
    free_formulas(*overrides, count);
    free(*overrides);
}

static void free_workload(kf_task *task, kf_task_workload *workload)
{
    free_overrides(&workload->params, task->params.count);
    for (int i = 0; i < KF_TASK_DEVICES; i++)
        free_overrides(&workload->device_params[i], task->params.count);
    for (int i = 0; workload->distributions && i < task->argument_count; i++)
        kf_distribution_free(&workload->distributions[i]);
    free(workload->distributions);
    free(workload->shapes);
}

void kf_task_free(kf_task *task)
{
    if (!task) return;
    for (int i = 0; i < task->workload_count; i++) free_workload(task, &task->workloads[i]);
    for (int i = 0; i < task->argument_count; i++) {
        free_formulas(task->arguments[i].shape, KF_MAX_DIMS);
        kf_formula_free(&task->arguments[i].value);
        kf_distribution_free(&task->arguments[i].distribution);
    }
    free_formulas(task->params.formulas, task->params.count);
    for (int i = 0; i < KF_TASK_DEVICES; i++)
        free_overrides(&task->params.device[i], task->params.count);
    free_formulas(task->torch.patches, task->torch.patch_count);
    kf_formula_free(&task->work_bytes);
    kf_formula_free(&task->work_flops);
    for (int i = 0; i < task->sources.file_count; i++) {
        free(task->sources.files[i].name);
        free(task->sources.files[i].text);
    }
    free(task->canonical);
    free(task->folder);
    free(task->where);
    cJSON_Delete(task->json);
    free(task);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* True for text that a bundle, which is JSON, can hold: valid UTF-8 without NUL. */
static bool is_text(const char *text, size_t size)
{
    for (size_t i = 0, length; i < size; i += length) {
        length = kf_utf8_length((const unsigned char *)text + i, size - i);
        if (!length) return false;
    }
    return true;
}

static bool check_text(const char *where, const kf_task_file *file, kf_error *error)
{
    if (!file->size)
        return kf_fail(error, KF_ERROR_INPUT, "%s: the file \"%s\" is empty", where, file->name);
    if (file->size > KF_SOURCE_BYTES)
        return kf_fail(error, KF_ERROR_LIMIT, "%s: the file \"%s\" has %zu bytes; the limit is %u",
                       where, file->name, file->size, KF_SOURCE_BYTES);
    if (!is_text(file->text, file->size))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: the file \"%s\" is not text (a NUL byte or invalid UTF-8)", where,
                       file->name);
    return true;
}

static bool check_hash(const char *where, const kf_task_file *file, kf_error *error)
{
    char hex[KF_HASH_HEX];
    if (!file->sha256) return true;
    kf_hash hash = kf_hash_bytes(file->text, file->size);
    kf_hash_hex(&hash, hex);
    if (strcmp(hex, file->sha256) == 0) return true;
    return kf_fail(
        error, KF_ERROR_INPUT,
        "%s: the file \"%s\" has changed since the task was made: its SHA-256 is %.12s…, "
        "not %.12s…; make the task again",
        where, file->source ? file->source : file->name, hex, file->sha256);
}

/* Reads a problem file outside the folder. Its hash must match, so a task cannot bring another file
 * of the machine with it. */
static bool read_external(const kf_task *task, kf_task_file *file, kf_error *error)
{
    kf_autofree char *path =
        file->source[0] == '/' ? strdup(file->source) : kf_path_join(task->folder, file->source);
    if (!path) return kf_fail_memory(error, "the path of a file");
    file->text = kf_file_read(path, KF_SOURCE_BYTES, &file->size, error);
    return file->text ? check_hash(task->where, file, error) && check_text(task->where, file, error)
                      : kf_fail_prefix(error, "%s: the problem file", task->where);
}

static bool read_file(const kf_task *task, const char *root, kf_task_file *file, kf_error *error)
{
    if (file->source) return read_external(task, file, error);
    kf_autofree char *path = kf_path_join(task->folder, file->name);
    if (!path) return kf_fail_memory(error, "the path of a file");
    kf_autofree char *real = realpath(path, NULL);
    if (!real)
        return kf_fail(error, errno == ENOMEM ? KF_ERROR_MEMORY : KF_ERROR_INPUT,
                       "%s: cannot read the file \"%s\": %s; write it, or take its name out",
                       task->where, file->name, strerror(errno));
    size_t length = strlen(root);
    if (strncmp(real, root, length) != 0 || (real[length] != '/' && length > 1))
        return kf_fail(
            error, KF_ERROR_INPUT,
            "%s: the file \"%s\" is a link out of the task's folder; copy the file into the folder",
            task->where, file->name);
    file->text = kf_file_read(real, KF_SOURCE_BYTES, &file->size, error);
    return file->text ? check_text(task->where, file, error) && check_hash(task->where, file, error)
                      : kf_fail_prefix(error, "%s", task->where);
}

static bool read_files(kf_task *task, kf_error *error)
{
    kf_autofree char *root = realpath(task->folder, NULL);
    if (!root)
        return kf_fail(error, errno == ENOMEM ? KF_ERROR_MEMORY : KF_ERROR_IO, "%s: %s",
                       task->folder, strerror(errno));
    for (int i = 0; i < task->sources.file_count; i++)
        if (!read_file(task, root, &task->sources.files[i], error)) return false;
    return true;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Finds the folder and the task.json of `path`, which is a folder or a file. */
static bool find_json(const char *path, kf_task *task, kf_error *error)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return kf_fail(error, errno == ENOENT || errno == ENOTDIR ? KF_ERROR_INPUT : KF_ERROR_IO,
                       "%s: %s; expected a task.json or the folder of one", path, strerror(errno));
    const char *end = strrchr(path, '.');
    if (end && S_ISREG(status.st_mode) && (strcmp(end, ".cu") == 0 || strcmp(end, ".py") == 0))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: a source is no task; expected a task.json or the folder of one", path);
    if (S_ISDIR(status.st_mode)) {
        task->folder = strdup(path);
        task->where = kf_path_join(path, "task.json");
        if (task->where && access(task->where, F_OK) != 0 && errno == ENOENT)
            return kf_fail(error, KF_ERROR_INPUT,
                           "%s: there is no task.json in this folder; expected a task.json or the "
                           "folder of one",
                           path);
    } else {
        const char *slash = strrchr(path, '/');
        task->folder = !slash          ? strdup(".")
                       : slash == path ? strdup("/")
                                       : strndup(path, (size_t)(slash - path));
        task->where = strdup(path);
    }
    return (task->folder && task->where) || kf_fail_memory(error, "the path of a task");
}

kf_task *kf_task_load(const char *path, kf_error *error)
{
    kf_auto(kf_task) task = calloc(1, sizeof *task);
    if (!task) {
        kf_fail_memory(error, "a task");
        return NULL;
    }
    if (!find_json(path, task, error)) return NULL;
    size_t size;
    kf_autofree char *text = kf_file_read(task->where, KF_JSON_TASK_BYTES, &size, error);
    if (!text) return NULL;
    task->json = kf_json_parse(text, size, KF_JSON_TASK_BYTES, task->where, error);
    if (!task->json || !kf_task_parse(task, error) || !read_files(task, error) ||
        !kf_task_address(task, error))
        return NULL;
    return kf_steal(&task);
}

static bool take_files(kf_task *task, kf_json_reader *reader, kf_error *error)
{
    for (int i = 0; i < task->sources.file_count; i++) {
        kf_task_file *file = &task->sources.files[i];
        const char *text = kf_json_string(reader, file->name);
        if (reader->failed) return false;
        file->size = strlen(text);
        file->text = strdup(text);
        if (!file->text) return kf_fail_memory(error, "a file of a task");
        if (!check_text(task->where, file, error) || !check_hash(task->where, file, error))
            return false;
    }
    return kf_json_finish(reader);
}

kf_task *kf_task_from_bundle(const cJSON *bundle, kf_error *error)
{
    kf_json_reader reader = kf_json_object(bundle, "bundle", "", error);
    const char *schema = kf_json_string(&reader, "schema");
    if (!reader.failed && strcmp(schema, KF_BUNDLE_SCHEMA) != 0)
        kf_json_complain(&reader, "schema", "\"%s\"; expected \"%s\"", schema, KF_BUNDLE_SCHEMA);
    const cJSON *json = kf_json_any(&reader, "json"), *files = kf_json_any(&reader, "files");
    if (!kf_json_finish(&reader)) return NULL;

    kf_auto(kf_task) task = calloc(1, sizeof *task);
    if (task) task->where = strdup("bundle");
    if (task && json) task->json = cJSON_Duplicate(json, true);
    if (!task || !task->where || (json && !task->json)) {
        kf_fail_memory(error, "a task");
        return NULL;
    }
    kf_json_reader texts = kf_json_object(files, task->where, "files", error);
    if (texts.failed || !kf_task_parse(task, error) || !take_files(task, &texts, error) ||
        !kf_task_address(task, error))
        return NULL;
    return kf_steal(&task);
}

cJSON *kf_task_bundle(const kf_task *task)
{
    kf_auto(cJSON) bundle = cJSON_CreateObject();
    kf_auto(cJSON) json = cJSON_Duplicate(task->json, true);
    if (!bundle || !json || !cJSON_AddStringToObject(bundle, "schema", KF_BUNDLE_SCHEMA))
        return NULL;
    if (!cJSON_AddItemToObject(bundle, "json", json)) return NULL;
    kf_steal(&json);
    cJSON *files = cJSON_AddObjectToObject(bundle, "files");
    for (int i = 0; files && i < task->sources.file_count; i++)
        if (!cJSON_AddStringToObject(files, task->sources.files[i].name,
                                     task->sources.files[i].text))
            return NULL;
    return files ? kf_steal(&bundle) : NULL;
}

/* ---- accessors ------------------------------------------------------------------------------- */

const char *kf_task_name(const kf_task *task)
{
    return task->name;
}

const char *kf_task_description(const kf_task *task)
{
    return task->description;
}

const char *kf_task_entry(const kf_task *task)
{
    return task->entry;
}

const char *kf_task_precision(const kf_task *task)
{
    return task->precision;
}

const char *kf_task_hash(const kf_task *task)
{
    return task->hash;
}

const char *kf_task_folder(const kf_task *task)
{
    return task->folder;
}

int kf_task_workload_count(const kf_task *task)
{
    return task->workload_count;
}

const char *kf_task_workload_name(const kf_task *task, int workload)
{
    return workload >= 0 && workload < task->workload_count ? task->workloads[workload].name : NULL;
}

bool kf_task_allows_aliasing(const kf_task *task)
{
    return task->aliasing;
}

const char *kf_task_forbidden(const kf_task *task, const char *source, int *line)
{
    const cJSON *text;
    cJSON_ArrayForEach(text, task->forbidden)
    {
        const char *found = strstr(source, text->valuestring);
        if (!found) continue;
        *line = 1;
        for (const char *at = source; at < found; at++) *line += *at == '\n';
        return text->valuestring;
    }
    return NULL;
}

bool kf_task_is_unseen(const kf_task *task, int workload)
{
    return workload >= 0 && workload < task->workload_count &&
           task->workloads[workload].unseen != KF_GIVEN;
}

bool kf_task_hides(const kf_task *task, const char *workload)
{
    for (int i = 0; task && i < task->workload_count; i++)
        if (strcmp(task->workloads[i].name, workload) == 0) return task->workloads[i].hidden;
    return true;
}

bool kf_task_names_hidden(const kf_task *task, const char *text)
{
    static const char before[] = "workload ";
    for (const char *at = text; task && (at = strstr(at, before));) {
        at += sizeof before - 1;
        at += *at == '"';
        for (int i = 0; i < task->workload_count; i++) {
            const kf_task_workload *w = &task->workloads[i];
            size_t size = strlen(w->name);
            if (w->hidden && strncmp(at, w->name, size) == 0 && at[size] != '_' &&
                !isalnum((unsigned char)at[size]))
                return true;
        }
    }
    return false;
}

const kf_task_file *kf_task_oracle(const kf_task *task)
{
    return &task->sources.files[task->sources.oracle];
}

const kf_task_file *kf_task_baseline(const kf_task *task)
{
    return &task->sources.files[task->sources.baseline];
}

const kf_task_file *kf_task_baseline_named(const kf_task *task, const char *name)
{
    for (int i = 0; i < task->sources.baseline_count; i++)
        if (strcmp(task->sources.baselines[i].name, name) == 0)
            return &task->sources.files[task->sources.baselines[i].file];
    return NULL;
}

int kf_task_seed_count(const kf_task *task)
{
    return task->sources.seed_count;
}

const kf_task_file *kf_task_seed(const kf_task *task, int seed)
{
    return seed >= 0 && seed < task->sources.seed_count
               ? &task->sources.files[task->sources.seeds[seed]]
               : NULL;
}

const char *const *kf_task_file_libraries(const kf_task *task, const kf_task_file *file)
{
    for (int i = 0; i < task->sources.baseline_count; i++)
        if (&task->sources.files[task->sources.baselines[i].file] == file &&
            task->sources.baselines[i].libraries[0])
            return task->sources.baselines[i].libraries;
    return task->libraries;
}

const char *const *kf_task_libraries(const kf_task *task)
{
    return task->libraries;
}

bool kf_task_held_out(const kf_task *task)
{
    return task->held_out;
}

const cJSON *kf_task_json(const kf_task *task)
{
    return task->json;
}
