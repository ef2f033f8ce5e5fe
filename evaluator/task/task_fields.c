/* Reads fields of task.json that several parts of it share: child objects, arrays, words out of a
 * list, names. */
#include <string.h>

#include "task_internal.h"
#include "nearest.h"

kf_json_reader kf_task_child(const kf_json_reader *parent, const cJSON *object, const char *key,
                             int index)
{
    char path[sizeof parent->path + KF_NAME_BYTES + 16];
    const char *dot = parent->path[0] ? "." : "";
    if (index >= 0)
        snprintf(path, sizeof path, "%s%s%.63s[%d]", parent->path, dot, key, index);
    else
        snprintf(path, sizeof path, "%s%s%.63s", parent->path, dot, key);
    return kf_json_object(object, parent->where, path, parent->error);
}

int kf_task_choose(kf_json_reader *reader, const char *key, const char *word,
                   const char *const *words, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0) return (int)i;
    const char *near = kf_nearest(word, words, count);
    if (near) {
        kf_json_complain(reader, key, "there is no %s \"%s\"; did you mean \"%s\"?", what, word,
                         near);
        return -1;
    }
    char list[256] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof list - 1; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
    kf_json_complain(reader, key, "there is no %s \"%s\"; expected one of %s", what, word, list);
    return -1;
}

bool kf_task_dtype(kf_json_reader *reader, const char *key, const char *name, kf_dtype *dtype)
{
    const char *names[KF_DTYPE_COUNT];
    for (int i = 0; i < KF_DTYPE_COUNT; i++) names[i] = kf_dtype_name((kf_dtype)i);
    int which = kf_task_choose(reader, key, name, names, KF_DTYPE_COUNT, "dtype");
    if (which >= 0) *dtype = (kf_dtype)which;
    return which >= 0;
}

const char *kf_task_name_field(kf_json_reader *reader, const char *key, const char *fallback,
                               const char *(*fault)(const char *))
{
    const char *name =
        fallback ? kf_json_string_or(reader, key, fallback) : kf_json_string(reader, key);
    if (reader->failed) return NULL;
    const char *what = fault(name);
    if (!what) return name;
    kf_json_complain(reader, key, "\"%s\" %s", name, what);
    return NULL;
}

const cJSON *kf_task_array(kf_json_reader *reader, const char *key, int most, int *count)
{
    const cJSON *array = kf_json_array_or_null(reader, key);
    *count = array ? cJSON_GetArraySize(array) : 0;
    if (*count > most) {
        kf_json_complain(reader, key, "%d elements; expected at most %d", *count, most);
        return NULL;
    }
    return array;
}
