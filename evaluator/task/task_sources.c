/* Lists the files that task.json names (oracle, baselines, seeds), each once, with its kind, its
 * libraries and, for a problem file outside the folder, its hash. task_load.c reads the texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/hash.h"
#include "task_internal.h"

/* Adds a file to the list unless it is there. *index gets its place. */
static bool add_file(kf_task *task, kf_json_reader *reader, const char *key, const char *name,
                     int *index)
{
    const char *fault = kf_file_name_fault(name);
    if (fault) return kf_json_complain(reader, key, "\"%s\" %s", name, fault);
    for (*index = 0; *index < task->sources.file_count; (*index)++)
        if (strcmp(task->sources.files[*index].name, name) == 0) return true;
    task->sources.files[task->sources.file_count].name = strdup(name);
    if (!task->sources.files[task->sources.file_count].name)
        return kf_fail_memory(reader->error, "the name of a file");
    task->sources.file_count++;
    return true;
}

/* Reads "libraries" of the task or of a baseline; the list ends with NULL. */
static bool read_libraries(kf_json_reader *reader, const char *libraries[KF_MAX_LIBRARIES + 1])
{
    static const char *const known[KF_MAX_LIBRARIES] = {"cublas", "cublaslt", "cudnn", "cufft",
                                                        "curand", "cutlass",  "nvrtc"};
    int count, used = 0;
    const cJSON *array = kf_task_array(reader, "libraries", KF_MAX_LIBRARIES, &count), *element;
    cJSON_ArrayForEach(element, array)
    {
        if (!cJSON_IsString(element))
            return kf_json_complain(reader, "libraries", "expected strings");
        int which = kf_task_choose(reader, "libraries", element->valuestring, known,
                                   KF_MAX_LIBRARIES, "library");
        if (which < 0) return false;
        for (int i = 0; i < used; i++)
            if (libraries[i] == known[which])
                return kf_json_complain(reader, "libraries", "\"%s\" comes twice", known[which]);
        libraries[used++] = known[which];
    }
    return !reader->failed;
}

/* Reads "source" and "sha256": path and hash of a problem file outside the task's folder. */
static bool read_external(kf_json_reader *reader, kf_task_file *file)
{
    const char *source = kf_json_string_or(reader, "source", NULL),
               *sha256 = kf_json_string_or(reader, "sha256", NULL);
    if (reader->failed) return false;
    if (source && !source[0])
        return kf_json_complain(reader, "source", "is empty; expected the path of a file");
    if (source && !sha256)
        return kf_json_complain(
            reader, "sha256",
            "missing; expected the SHA-256 of the file, because it is outside the task's folder");
    if (sha256 && (strlen(sha256) != KF_HASH_HEX - 1 ||
                   strspn(sha256, "0123456789abcdef") != KF_HASH_HEX - 1))
        return kf_json_complain(reader, "sha256", "expected %d hexadecimal digits in lower case",
                                KF_HASH_HEX - 1);
    bool other = (file->source && source && strcmp(file->source, source) != 0) ||
                 (file->sha256 && sha256 && strcmp(file->sha256, sha256) != 0);
    if (other)
        return kf_json_complain(reader, "source",
                                "\"%s\" has another source or sha256 elsewhere in this task",
                                file->name);
    if (source) file->source = source;
    if (sha256) file->sha256 = sha256;
    return true;
}

/* Reads {"kind": "cuda", "file": "…"}, with "libraries" if `libraries` is given, or {"kind":
 * "torch", "file": "…"}, with "compile" if `compiled` is given. */
static bool read_source(kf_task *task, const kf_json_reader *parent, const cJSON *object,
                        const char *key, int *file, const char **libraries, bool *compiled)
{
    kf_json_reader reader = kf_task_child(parent, object, key, -1);
    static const char *const kinds[] = {[KF_SOURCE_CUDA] = "cuda", [KF_SOURCE_TORCH] = "torch"};
    int kind = reader.failed
                   ? -1
                   : kf_task_choose(&reader, "kind", kf_json_string_or(&reader, "kind", "cuda"),
                                    kinds, 2, "kind of source");
    const char *name = kf_json_string(&reader, "file");
    int known = task->sources.file_count;
    if (kind < 0 || reader.failed || !add_file(task, &reader, "file", name, file)) return false;
    kf_task_file *noted = &task->sources.files[*file];
    if (*file < known && noted->kind != (kf_source_kind)kind)
        return kf_json_complain(&reader, "kind", "\"%s\" is of kind %s elsewhere in this task",
                                name, kinds[noted->kind]);
    noted->kind = (kf_source_kind)kind;
    if (kind == KF_SOURCE_TORCH) {
        if (!read_external(&reader, noted)) return false;
        if (compiled) *compiled = kf_json_boolean_or(&reader, "compile", false);
        return kf_json_finish(&reader);
    }
    return (!libraries || read_libraries(&reader, libraries)) && kf_json_finish(&reader);
}

static bool read_baselines(kf_task *task, kf_json_reader *top)
{
    const cJSON *object = kf_json_object_or_null(top, "baselines"), *child;
    if (!object) return !top->failed;
    kf_json_reader reader = kf_task_child(top, object, "baselines", -1);
    cJSON_ArrayForEach(child, object)
    {
        const char *fault = kf_name_fault(child->string);
        if (fault) return kf_json_complain(&reader, NULL, "\"%s\" %s", child->string, fault);
        if (task->sources.baseline_count == KF_MAX_BASELINES)
            return kf_json_complain(&reader, NULL, "more than %d baselines", KF_MAX_BASELINES);
        task->sources.baselines[task->sources.baseline_count].name = child->string;
        if (!read_source(task, &reader, child, child->string,
                         &task->sources.baselines[task->sources.baseline_count].file,
                         task->sources.baselines[task->sources.baseline_count].libraries,
                         &task->sources.baselines[task->sources.baseline_count].compiled))
            return false;
        task->sources.baseline_count++;
    }
    return true;
}

bool kf_task_read_files(kf_task *task, kf_json_reader *top)
{
    static const char *const required[] = {"oracle", "baseline"};
    int *const indices[] = {&task->sources.oracle, &task->sources.baseline};
    for (int i = 0; i < 2; i++) {
        const cJSON *object = kf_json_any(top, required[i]);
        if (!object)
            return kf_json_complain(top, required[i],
                                    "missing; expected {\"kind\": \"cuda\", \"file\": \"%s.cu\"}",
                                    required[i]);
        if (!read_source(task, top, object, required[i], indices[i], NULL,
                         i ? &task->sources.compiled : NULL))
            return false;
    }
    if (!read_baselines(task, top)) return false;
    int count;
    const cJSON *seeds = kf_task_array(top, "seeds", KF_MAX_SEEDS, &count), *element;
    if (top->failed) return false;
    cJSON_ArrayForEach(element, seeds)
    {
        char key[32];
        snprintf(key, sizeof key, "seeds[%d]", task->sources.seed_count);
        if (!cJSON_IsString(element))
            return kf_json_complain(top, key, "expected the name of a file");
        if (!add_file(task, top, key, element->valuestring,
                      &task->sources.seeds[task->sources.seed_count]))
            return false;
        if (task->sources.files[task->sources.seeds[task->sources.seed_count]].kind !=
            KF_SOURCE_CUDA)
            return kf_json_complain(top, key, "\"%s\" is a problem file; expected a file of CUDA C",
                                    element->valuestring);
        task->sources.seed_count++;
    }
    return read_libraries(top, task->libraries);
}
