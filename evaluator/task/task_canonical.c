/* The canonical text of task.json: keys sorted by byte, no white space, integers without exponent,
 * other numbers with 17 significant digits, strings with the shortest escapes. Hashes are computed
 * over it, so it must never change for the same content. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "task_internal.h"

static void write_value(kf_buffer *buffer, const cJSON *value);

static void write_string(kf_buffer *buffer, const char *text)
{
    kf_buffer_string(buffer, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            kf_buffer_format(buffer, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            kf_buffer_format(buffer, "\\u%04x", (unsigned char)*c);
        else
            kf_buffer_append(buffer, c, 1);
    }
    kf_buffer_string(buffer, "\"");
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static void write_object(kf_buffer *buffer, const cJSON *object)
{
    int count = cJSON_GetArraySize(object), filled = 0;
    kf_autofree const cJSON **children = malloc(((size_t)count + 1) * sizeof *children);
    if (!children) {
        buffer->failed = true;
        return;
    }
    for (const cJSON *child = object->child; child; child = child->next) children[filled++] = child;
    qsort(children, (size_t)filled, sizeof *children, by_key);
    kf_buffer_string(buffer, "{");
    for (int i = 0; i < filled; i++) {
        if (i) kf_buffer_string(buffer, ",");
        write_string(buffer, children[i]->string);
        kf_buffer_string(buffer, ":");
        write_value(buffer, children[i]);
    }
    kf_buffer_string(buffer, "}");
}

static void write_value(kf_buffer *buffer, const cJSON *value)
{
    if (cJSON_IsObject(value)) {
        write_object(buffer, value);
    } else if (cJSON_IsArray(value)) {
        kf_buffer_string(buffer, "[");
        for (const cJSON *child = value->child; child; child = child->next) {
            if (child != value->child) kf_buffer_string(buffer, ",");
            write_value(buffer, child);
        }
        kf_buffer_string(buffer, "]");
    } else if (cJSON_IsString(value)) {
        write_string(buffer, value->valuestring);
    } else if (cJSON_IsNumber(value)) {
        double number = value->valuedouble;
        if (fabs(number) <= (double)KF_EXACT_INTEGER && number == floor(number))
            kf_buffer_format(buffer, "%lld", (long long)number);
        else
            kf_buffer_format(buffer, "%.17g", number);
    } else {
        kf_buffer_string(buffer, cJSON_IsTrue(value)    ? "true"
                                 : cJSON_IsFalse(value) ? "false"
                                                        : "null");
    }
}

char *kf_canonical_json(const cJSON *value, kf_error *error)
{
    kf_autobuffer buffer = {0};
    write_value(&buffer, value);
    char *text = kf_buffer_take(&buffer);
    if (!text) kf_fail_memory(error, "the canonical text of a task");
    return text;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const kf_task_file *const *)a)->name, (*(const kf_task_file *const *)b)->name);
}

/* Hashes the canonical task.json, then name and text of each file, sorted by name. */
bool kf_task_address(kf_task *task, kf_error *error)
{
    free(task->canonical);
    task->canonical = kf_canonical_json(task->json, error);
    if (!task->canonical) return false;
    const kf_task_file *files[KF_MAX_TASK_FILES];
    for (int i = 0; i < task->sources.file_count; i++) files[i] = &task->sources.files[i];
    qsort(files, (size_t)task->sources.file_count, sizeof *files, by_name);
    const char *parts[1 + 2 * KF_MAX_TASK_FILES] = {task->canonical};
    size_t sizes[1 + 2 * KF_MAX_TASK_FILES] = {strlen(task->canonical)}, count = 1;
    for (int i = 0; i < task->sources.file_count; i++) {
        parts[count] = files[i]->name;
        sizes[count++] = strlen(files[i]->name);
        parts[count] = files[i]->text;
        sizes[count++] = files[i]->size;
    }
    kf_hash_parts_hex(task->hash, parts, sizes, count);
    /* all zeros mean that libcrypto had no memory */
    bool hashed = strspn(task->hash, "0") < KF_HASH_HEX - 1;
    return hashed || kf_fail_memory(error, "the hash of a task");
}

char *kf_task_canonical(const kf_task *task)
{
    return strdup(task->canonical);
}
