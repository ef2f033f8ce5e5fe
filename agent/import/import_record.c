/* suite.json in the folder of the imported tasks: a list of all problems of the import. With it
 * `kforge bench` knows the share of the suite that its scores cover. A refused problem has no
 * folder, so without this file the scores would seem to cover the whole suite.
 *
 * Several imports may fill one folder. Each replaces the entries of its own problems and keeps the
 * others. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "import.h"
#include "kforge/file.h"
#include "kforge/json.h"

#define SUITE_FILE "suite.json"
#define SUITE_BYTES ((size_t)64 << 20)

static bool is_there(const char *output, const char *task)
{
    kf_autofree char *folder = kf_path_join(output, task),
                     *file = folder ? kf_path_join(folder, "task.json") : NULL;
    return file && access(file, F_OK) == 0;
}

/* An existing folder counts also if this import could not replace it, because a bench will judge
 * it. */
static cJSON *describe_problem(const kf_import_problem *problem, const kf_import_result *result,
                               const char *output)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "task", problem->task);
    if (problem->level >= 0) cJSON_AddNumberToObject(json, "level", (double)problem->level);
    if (problem->problem >= 0) cJSON_AddNumberToObject(json, "problem", (double)problem->problem);
    cJSON_AddStringToObject(json, "file", problem->relative);
    if (problem->variant) cJSON_AddStringToObject(json, "variant", problem->variant);
    if (is_there(output, problem->task)) {
        cJSON_AddStringToObject(json, "folder", problem->task);
        return json;
    }
    bool tried = result->status != KF_IMPORT_NOT_TRIED;
    cJSON_AddStringToObject(json, "rule",
                            !tried            ? "interrupted"
                            : result->rule[0] ? result->rule
                                              : "unknown");
    cJSON_AddStringToObject(
        json, "reason", tried ? result->reason : "the import was interrupted before this problem");
    return json;
}

static cJSON *describe_import(const kf_import_suite *suite, const kf_import_options *options)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "suite", suite->name);
    if (suite->url) cJSON_AddStringToObject(json, "url", suite->url);
    if (suite->commit) cJSON_AddStringToObject(json, "commit", suite->commit);
    cJSON_AddNumberToObject(json, "scale", (double)options->max_elements);
    cJSON_AddStringToObject(json, "mode", options->mode);
    if (options->class_name) cJSON_AddStringToObject(json, "class", options->class_name);
    cJSON *patches =
        options->patches && options->patches[0] ? cJSON_AddArrayToObject(json, "patches") : NULL;
    for (size_t i = 0; patches && options->patches[i]; i++)
        cJSON_AddItemToArray(patches, cJSON_CreateString(options->patches[i]));
    if (options->compiled) cJSON_AddTrueToObject(json, "compiled");
    return json;
}

/* Replaces the entry of the same task, or appends one. */
static void put_problem(cJSON *problems, cJSON *entry)
{
    cJSON *old;
    cJSON_ArrayForEach(old, problems)
    {
        if (strcmp(kf_json_get_text(old, "task", ""), kf_json_get_text(entry, "task", "")) != 0)
            continue;
        cJSON_ReplaceItemViaPointer(problems, old, entry);
        return;
    }
    cJSON_AddItemToArray(problems, entry);
}

static void put_import(cJSON *imports, cJSON *entry)
{
    const cJSON *old;
    cJSON_ArrayForEach(old, imports)
    {
        if (!cJSON_Compare(old, entry, true)) continue;
        cJSON_Delete(entry);
        return;
    }
    cJSON_AddItemToArray(imports, entry);
}

/* Returns the existing file's content, or a new object. NULL on an error. */
static cJSON *begin(const char *path, const kf_import_suite *suite, kf_error *error)
{
    size_t size;
    cJSON *json = NULL;
    if (access(path, F_OK) == 0) {
        kf_autofree char *text = kf_file_read(path, SUITE_BYTES, &size, error);
        json = text ? kf_json_parse(text, size, SUITE_BYTES, path, error) : NULL;
        if (json && strcmp(kf_json_get_text(json, "schema", ""), KF_SUITE_SCHEMA) == 0) return json;
        if (json)
            kf_fail(error, KF_ERROR_INPUT, "%s: not a suite: \"schema\" is not \"%s\"", path,
                    KF_SUITE_SCHEMA);
        cJSON_Delete(json);
        return NULL;
    }
    json = cJSON_CreateObject();
    if (!json || !cJSON_AddStringToObject(json, "schema", KF_SUITE_SCHEMA) ||
        !cJSON_AddStringToObject(json, "name", suite->name)) {
        cJSON_Delete(json);
        kf_fail_memory(error, "the record of the import");
        return NULL;
    }
    return json;
}

static cJSON *array_in(cJSON *json, const char *key)
{
    cJSON *array = cJSON_GetObjectItemCaseSensitive(json, key);
    if (array && !cJSON_IsArray(array))
        cJSON_DeleteItemFromObjectCaseSensitive(json, key), array = NULL;
    return array ? array : cJSON_AddArrayToObject(json, key);
}

bool kf_import_record(const kf_import_suite *suite, const kf_import_options *options,
                      const kf_import_result *results, kf_error *error)
{
    kf_autofree char *path = kf_path_join(options->output, SUITE_FILE);
    if (!path) return kf_fail_memory(error, "the record of the import");
    kf_auto(cJSON) json = begin(path, suite, error);
    if (!json) return false;
    cJSON *problems = array_in(json, "problems"), *imports = array_in(json, "imports");
    if (!problems || !imports) return kf_fail_memory(error, "the record of the import");
    put_import(imports, describe_import(suite, options));
    for (size_t i = 0; i < suite->count; i++)
        put_problem(problems, describe_problem(&suite->problems[i], &results[i], options->output));
    kf_autofree char *text = cJSON_Print(json);
    if (!text) return kf_fail_memory(error, "the record of the import");
    return kf_directory_make(options->output, error) &&
           kf_file_write(path, text, strlen(text), error);
}
