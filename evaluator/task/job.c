/* Jobs: a task, a source and the options of its judging; to and from JSON. */
#include "kforge/job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/counters.h"
#include "kforge/json.h"
#include "utf8.h"

#define WHERE "job"
/* of a replay key: 256 bits */
#define KEY_DIGITS 64
#define NAME_BYTES 128

/* ---- the options, as a table: key, place, type, range ---------------------------------------- */

typedef enum option_type {
    OPTION_NUMBER,
    OPTION_BOOLEAN,
    OPTION_NAME,
    OPTION_HEX,
    OPTION_COUNTERS
} option_type;

static const struct option_row {
    const char *key;
    size_t offset;
    option_type type;
    /* range of a number */
    double low, high;
} option_rows[] = {
    {"seconds", offsetof(kf_job_options, seconds), OPTION_NUMBER, 0, 86400},
    {"timeout_seconds", offsetof(kf_job_options, timeout_seconds), OPTION_NUMBER, 0.1, 86400},
    {"build_seconds", offsetof(kf_job_options, build_seconds), OPTION_NUMBER, 0.1, 86400},
    {"half_width", offsetof(kf_job_options, half_width), OPTION_NUMBER, 1e-4, 1},
    {"check_only", offsetof(kf_job_options, check_only), OPTION_BOOLEAN, 0, 0},
    {"strict_sandbox", offsetof(kf_job_options, strict_sandbox), OPTION_BOOLEAN, 0, 0},
    {"torch", offsetof(kf_job_options, torch), OPTION_BOOLEAN, 0, 0},
    {"kernelbench", offsetof(kf_job_options, kernelbench), OPTION_BOOLEAN, 0, 0},
    {"asan", offsetof(kf_job_options, asan), OPTION_BOOLEAN, 0, 0},
    {"counters", offsetof(kf_job_options, counters), OPTION_COUNTERS, 0, 0},
    {"sanitize", offsetof(kf_job_options, sanitize), OPTION_BOOLEAN, 0, 0},
    {"verify", offsetof(kf_job_options, verify), OPTION_BOOLEAN, 0, 0},
    {"unseen", offsetof(kf_job_options, unseen), OPTION_BOOLEAN, 0, 0},
    {"baseline", offsetof(kf_job_options, baseline), OPTION_NAME, 0, 0},
    {"replay_key", offsetof(kf_job_options, replay_key), OPTION_HEX, 0, 0},
};
#define OPTION_COUNT (sizeof option_rows / sizeof *option_rows)

kf_job_options kf_job_options_default(void)
{
    return (kf_job_options){.seconds = 0,
                            .timeout_seconds = 120,
                            .build_seconds = 60,
                            .half_width = 0.01,
                            .kernelbench = true,
                            .unseen = true};
}

static double limit_of(const cJSON *provenance, const char *key, double otherwise)
{
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(provenance, "options"),
                *item = cJSON_GetObjectItemCaseSensitive(options, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

bool kf_job_limits_hold(const kf_job_options *options, kf_status status, const cJSON *provenance)
{
    kf_job_options usual = kf_job_options_default();
    if (status == KF_TIMEOUT)
        return limit_of(provenance, "timeout_seconds", usual.timeout_seconds) >=
               options->timeout_seconds;
    if (status == KF_COMPILE_ERROR)
        return limit_of(provenance, "build_seconds", usual.build_seconds) >= options->build_seconds;
    return true;
}

/* ---- checks ---------------------------------------------------------------------------------- */

bool kf_source_check(const char *source, size_t size, const char *where, kf_error *error)
{
    if (size > KF_SOURCE_BYTES)
        return kf_fail(error, KF_ERROR_INPUT, "%s: %zu bytes; a source has at most %u", where, size,
                       KF_SOURCE_BYTES);
    bool blank = true;
    size_t line = 1;
    for (size_t i = 0, length; i < size; i += length) {
        length = kf_utf8_length((const unsigned char *)source + i, size - i);
        if (length == 0 && source[i] == '\0')
            return kf_fail(error, KF_ERROR_INPUT, "%s:%zu: a NUL byte; expected text", where, line);
        if (length == 0)
            return kf_fail(error, KF_ERROR_INPUT,
                           "%s:%zu: not UTF-8; convert it with iconv -t UTF-8", where, line);
        line += source[i] == '\n';
        blank = blank && isspace((unsigned char)source[i]);
    }
    return !blank ||
           kf_fail(error, KF_ERROR_INPUT, "%s: empty; expected the source of a candidate", where);
}

static bool id_check(const char *id, kf_error *error)
{
    size_t length = strlen(id);
    bool good = length > 0 && length <= KF_JOB_ID_BYTES && isalnum((unsigned char)id[0]);
    for (size_t i = 0; i < length && good; i++)
        good = isalnum((unsigned char)id[i]) || strchr("._:-", id[i]);
    if (good) return true;
    return kf_fail(error, KF_ERROR_INPUT,
                   WHERE
                   ": id: \"%.40s\" is not an id; expected 1 to %d letters, digits, '.', '_', "
                   "':' or '-', a letter or digit first",
                   id, KF_JOB_ID_BYTES);
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static char *copy_bytes(const char *bytes, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

void kf_job_free(kf_job *job)
{
    if (!job) return;
    free(job->id);
    kf_task_free(job->task);
    free(job->source);
    for (size_t i = 0; i < job->flag_count; i++) free(job->flags[i]);
    free(job->flags);
    for (size_t i = 0; i < job->known_count; i++) free(job->known_code[i]);
    free(job->known_code);
    free(job->device);
    free(job->options.counters);
    free(job->options.baseline);
    free(job->options.replay_key);
    free(job);
}

static bool copy_flags(kf_job *job, const char *const *flags, size_t count, kf_error *error)
{
    if (count > KF_JOB_FLAGS)
        return kf_fail(error, KF_ERROR_INPUT, WHERE ": flags: %zu flags; at most %d are allowed",
                       count, KF_JOB_FLAGS);
    job->flags = calloc(count + 1, sizeof *job->flags);
    if (!job->flags) return kf_fail_memory(error, "a job");
    for (size_t i = 0; i < count; i++) {
        if (!kf_flag_check(flags[i], error)) return kf_fail_prefix(error, WHERE ": flags[%zu]", i);
        job->flags[i] = copy_bytes(flags[i], strlen(flags[i]));
        if (!job->flags[i]) return kf_fail_memory(error, "a job");
        job->flag_count++;
    }
    return true;
}

kf_job *kf_job_new(const char *id, kf_task *task, const char *source, size_t source_size,
                   const char *const *flags, size_t flag_count, kf_error *error)
{
    kf_auto(kf_task) owned = task;
    if (!id_check(id, error)) return NULL;
    if (!kf_source_check(source, source_size, WHERE ": source", error)) return NULL;
    kf_auto(kf_job) job = calloc(1, sizeof *job);
    if (!job) {
        kf_fail_memory(error, "a job");
        return NULL;
    }
    job->task = kf_steal(&owned);
    job->options = kf_job_options_default();
    job->source_size = source_size;
    job->id = copy_bytes(id, strlen(id));
    job->source = copy_bytes(source, source_size);
    job->device = copy_bytes("", 0);
    if (!job->id || !job->source || !job->device) {
        kf_fail_memory(error, "a job");
        return NULL;
    }
    return copy_flags(job, flags, flag_count, error) ? kf_steal(&job) : NULL;
}

bool kf_job_knows(const kf_job *job, const char *code_hash)
{
    for (size_t i = 0; i < job->known_count; i++)
        if (strcmp(job->known_code[i], code_hash) == 0) return true;
    return false;
}

/* Returns the baseline's source as a candidate's: a problem file for PyTorch defines Model, and a
 * solution ModelNew. The caller frees it. */
static char *as_candidate(const kf_task *task, const kf_task_file *baseline)
{
    char *text = NULL;
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch"),
                *class = cJSON_GetObjectItemCaseSensitive(torch, "class");
    const char *name = cJSON_IsString(class) ? class->valuestring : "Model";
    int made = baseline->kind == KF_SOURCE_TORCH
                   ? asprintf(&text, "%.*s\n\nclass ModelNew(%s):\n    pass\n", (int)baseline->size,
                              baseline->text, name)
                   : asprintf(&text, "%.*s", (int)baseline->size, baseline->text);
    return made < 0 ? NULL : text;
}

kf_job *kf_job_of_baseline(const char *id, const kf_task *task, const char *name, kf_error *error)
{
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    kf_task *copy = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    if (!bundle) kf_fail_memory(error, "a job");
    if (!copy) return NULL;
    const kf_task_file *baseline =
        name ? kf_task_baseline_named(copy, name) : kf_task_baseline(copy);
    kf_autofree char *source = baseline ? as_candidate(copy, baseline) : NULL;
    if (!source) {
        if (baseline)
            kf_fail_memory(error, "a job");
        else
            kf_fail(error, KF_ERROR_INPUT, "the task has no baseline \"%s\"", name ? name : "");
        kf_task_free(copy);
        return NULL;
    }
    bool torch = baseline->kind == KF_SOURCE_TORCH;
    kf_auto(kf_job) job = kf_job_new(id, copy, source, strlen(source), NULL, 0, error);
    if (!job) return NULL;
    if (name && !(job->options.baseline = strdup(name))) {
        kf_fail_memory(error, "a job");
        return NULL;
    }
    job->options.torch = torch;
    job->options.kernelbench = false;
    job->of_baseline = true;
    return kf_steal(&job);
}

bool kf_job_add_known(kf_job *job, const char *code_hash)
{
    char *copy = copy_bytes(code_hash, strlen(code_hash));
    if (copy && !job->known_code) job->known_code = calloc(KF_JOB_KNOWN, sizeof *job->known_code);
    if (!copy || !job->known_code) {
        free(copy);
        return false;
    }
    if (job->known_count == KF_JOB_KNOWN) {
        free(job->known_code[0]);
        memmove(job->known_code, job->known_code + 1, --job->known_count * sizeof *job->known_code);
    }
    job->known_code[job->known_count++] = copy;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Puts an owned copy of `text` into *field, which was NULL. */
static void set_text(kf_json_reader *reader, char **field, const char *text)
{
    *field = copy_bytes(text, strlen(text));
    if (*field) return;
    reader->failed = true;
    kf_fail_memory(reader->error, "a job");
}

static void read_word(kf_json_reader *reader, const struct option_row *row, char **field)
{
    const char *text = kf_json_string_or(reader, row->key, NULL);
    if (!text || reader->failed) return;
    size_t length = strlen(text);
    size_t most = row->type == OPTION_HEX        ? KEY_DIGITS
                  : row->type == OPTION_COUNTERS ? KF_COUNTERS_LIST_BYTES
                                                 : NAME_BYTES;
    kf_error fault = {0};
    if (length == 0 || length > most)
        kf_json_complain(reader, row->key, "expected 1 to %zu characters, found %zu", most, length);
    else if (row->type == OPTION_HEX && strspn(text, "0123456789abcdefABCDEF") != length)
        kf_json_complain(reader, row->key, "expected hexadecimal digits");
    else if (row->type == OPTION_COUNTERS && !kf_counters_check(text, &fault))
        kf_json_complain(reader, row->key, "%s", fault.text);
    else
        set_text(reader, field, text);
}

static void read_options(const cJSON *json, kf_job_options *options, kf_json_reader *parent)
{
    kf_json_reader reader = kf_json_object(json, WHERE, "options", parent->error);
    for (size_t i = 0; i < OPTION_COUNT && !reader.failed; i++) {
        const struct option_row *row = &option_rows[i];
        void *field = (char *)options + row->offset;
        if (row->type == OPTION_NUMBER)
            *(double *)field =
                kf_json_number_or(&reader, row->key, row->low, row->high, *(double *)field);
        else if (row->type == OPTION_BOOLEAN)
            *(bool *)field = kf_json_boolean_or(&reader, row->key, *(bool *)field);
        else
            read_word(&reader, row, field);
    }
    if (!kf_json_finish(&reader)) parent->failed = true;
}

/* Borrowed strings of "flags"; at most KF_JOB_FLAGS + 1 are looked at. */
static size_t read_flags(kf_json_reader *reader, const char *flags[KF_JOB_FLAGS + 1])
{
    size_t count = 0;
    const cJSON *array = kf_json_array_or_null(reader, "flags"), *element;
    cJSON_ArrayForEach(element, array)
    {
        if (!cJSON_IsString(element)) {
            kf_json_complain(reader, "flags", "entry %zu is not a string", count);
            return 0;
        }
        flags[count++] = element->valuestring;
        if (count > KF_JOB_FLAGS) break;
    }
    return count;
}

static void read_device(kf_json_reader *reader, kf_job *job)
{
    const char *device = kf_json_string_or(reader, "device", "");
    size_t length = strlen(device);
    if (length > NAME_BYTES || strspn(device, "abcdefghijklmnopqrstuvwxyz0123456789:") != length) {
        kf_json_complain(reader, "device", "expected \"cpu\", \"cuda\" or \"cuda:NUMBER\"");
        return;
    }
    free(job->device);
    job->device = NULL;
    set_text(reader, &job->device, device);
}

static void read_known(kf_json_reader *reader, kf_job *job)
{
    const cJSON *array = kf_json_array_or_null(reader, "known_code"), *element;
    cJSON_ArrayForEach(element, array)
    {
        const char *hash = cJSON_IsString(element) ? element->valuestring : "";
        if (strlen(hash) != KF_HASH_HEX - 1 ||
            strspn(hash, "0123456789abcdef") != KF_HASH_HEX - 1) {
            kf_json_complain(reader, "known_code",
                             "entry %zu is not a SHA-256 in hexadecimal digits", job->known_count);
            return;
        }
        if (job->known_count == KF_JOB_KNOWN) {
            kf_json_complain(reader, "known_code", "more than %d entries", KF_JOB_KNOWN);
            return;
        }
        if (kf_job_add_known(job, hash)) continue;
        reader->failed = true;
        kf_fail_memory(reader->error, "a job");
        return;
    }
}

kf_job *kf_job_from_json(const cJSON *json, kf_error *error)
{
    /* readers need an error to fill */
    kf_error local = {0};
    if (!error) error = &local;
    kf_json_reader reader = kf_json_object(json, WHERE, "", error);
    const char *schema = kf_json_string(&reader, "schema");
    if (strcmp(schema, KF_JOB_SCHEMA) != 0)
        kf_json_complain(&reader, "schema",
                         "\"%s\" is not \"%s\"; was it written by another version?", schema,
                         KF_JOB_SCHEMA);
    const char *id = kf_json_string(&reader, "id"), *source = kf_json_string(&reader, "source");
    const char *flags[KF_JOB_FLAGS + 1];
    size_t flag_count = read_flags(&reader, flags);
    const cJSON *bundle = kf_json_object_or_null(&reader, "task"),
                *options = kf_json_object_or_null(&reader, "options");
    if (!bundle && !reader.failed)
        kf_json_complain(&reader, "task", "missing; expected a task bundle");
    if (reader.failed) return NULL;
    kf_task *task = kf_task_from_bundle(bundle, error);
    if (!task) {
        kf_fail_prefix(error, WHERE ": task");
        return NULL;
    }
    kf_auto(kf_job) job = kf_job_new(id, task, source, strlen(source), flags, flag_count, error);
    if (!job) return NULL;
    read_device(&reader, job);
    read_known(&reader, job);
    job->alive_seconds = kf_json_number_or(&reader, "alive", 0, 3600, 0);
    if (options) read_options(options, &job->options, &reader);
    return kf_json_finish(&reader) ? kf_steal(&job) : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool put_options(cJSON *parent, const kf_job_options *options)
{
    cJSON *object = cJSON_CreateObject();
    if (!kf_json_put(parent, "options", object)) return false;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        const void *field = (const char *)options + row->offset;
        if (row->type == OPTION_NUMBER) {
            if (!kf_json_put(object, row->key, cJSON_CreateNumber(*(const double *)field)))
                return false;
        } else if (row->type == OPTION_BOOLEAN) {
            if (!kf_json_put(object, row->key, cJSON_CreateBool(*(const bool *)field)))
                return false;
        } else {
            const char *text = *(char *const *)field;
            if (text && !kf_json_put(object, row->key, cJSON_CreateString(text))) return false;
        }
    }
    return true;
}

static cJSON *to_json(const kf_job *job, cJSON *bundle)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    if (!json) cJSON_Delete(bundle);
    if (!json || !kf_json_put(json, "task", bundle) ||
        !kf_json_put(json, "schema", cJSON_CreateString(KF_JOB_SCHEMA)) ||
        !kf_json_put(json, "id", cJSON_CreateString(job->id)) ||
        !kf_json_put(json, "source", cJSON_CreateString(job->source)))
        return NULL;
    cJSON *flags = cJSON_CreateArray();
    if (!kf_json_put(json, "flags", flags)) return NULL;
    for (size_t i = 0; i < job->flag_count; i++)
        if (!kf_json_put(flags, NULL, cJSON_CreateString(job->flags[i]))) return NULL;
    cJSON *known = job->known_count ? cJSON_CreateArray() : NULL;
    if (job->known_count && !kf_json_put(json, "known_code", known)) return NULL;
    for (size_t i = 0; i < job->known_count; i++)
        if (!kf_json_put(known, NULL, cJSON_CreateString(job->known_code[i]))) return NULL;
    if (job->alive_seconds > 0 &&
        !kf_json_put(json, "alive", cJSON_CreateNumber(job->alive_seconds)))
        return NULL;
    if (!kf_json_put(json, "device", cJSON_CreateString(job->device ? job->device : "")) ||
        !put_options(json, &job->options))
        return NULL;
    return kf_steal(&json);
}

cJSON *kf_job_to_json(const kf_job *job)
{
    return to_json(job, kf_task_bundle(job->task));
}

cJSON *kf_job_to_json_around(const kf_job *job, const char *bundle)
{
    return to_json(job, cJSON_CreateRaw(bundle));
}
