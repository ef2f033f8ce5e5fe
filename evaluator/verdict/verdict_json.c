/* Verdicts as JSON ("kforge-verdict/1").
 *
 * All fields are written, and all are required when read. Exceptions are "build", "counters",
 * "kernelbench" and "provenance", which are absent if NULL, and empty sample columns. Samples are
 * columns, not objects, because there may be thousands. Numbers keep every bit: doubles have as
 * many digits as they need, integers beyond a double's precision are strings of digits, NaN and
 * infinities are "nan", "inf", "-inf". The writer and the reader of each part are next to each
 * other.
 */
#include "kforge/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"

#define WHERE "verdict"
/* the largest integer up to which doubles are exact */
#define EXACT_INTEGER ((int64_t)1 << 53)

/* ---- writing: leaves ------------------------------------------------------------------------- */

static bool put_text(cJSON *parent, const char *key, const char *text)
{
    kf_autofree char *clean = kf_text_clean(text ? text : "", text ? strlen(text) : 0, false);
    return clean && kf_json_put(parent, key, cJSON_CreateString(clean));
}

static cJSON *number_item(double value)
{
    if (!isfinite(value))
        return cJSON_CreateString(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return cJSON_CreateRaw(text);
}

static cJSON *integer_item(int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return value > EXACT_INTEGER || value < -EXACT_INTEGER ? cJSON_CreateString(text)
                                                           : cJSON_CreateRaw(text);
}

static bool put_number(cJSON *parent, const char *key, double value)
{
    return kf_json_put(parent, key, number_item(value));
}
static bool put_integer(cJSON *parent, const char *key, int64_t value)
{
    return kf_json_put(parent, key, integer_item(value));
}
static bool put_boolean(cJSON *parent, const char *key, bool value)
{
    return kf_json_put(parent, key, cJSON_CreateBool(value));
}

/* Makes a container and adds it to its parent. NULL without memory. */
static cJSON *put_container(cJSON *parent, const char *key, bool is_array)
{
    cJSON *made = is_array ? cJSON_CreateArray() : cJSON_CreateObject();
    return kf_json_put(parent, key, made) ? made : NULL;
}

/* ---- reading: leaves ------------------------------------------------------------------------- */

/* Reads a number that number_item wrote, parsed or not yet printed. null (kf_verdict_publish) is
 * NaN. */
static bool number_value(const cJSON *item, double *value)
{
    if (cJSON_IsNumber(item))
        *value = item->valuedouble;
    else if (cJSON_IsNull(item))
        *value = NAN;
    else if (cJSON_IsRaw(item))
        *value = strtod(item->valuestring, NULL);
    else if (!cJSON_IsString(item))
        return false;
    else if (strcmp(item->valuestring, "nan") == 0)
        *value = NAN;
    else if (strcmp(item->valuestring, "inf") == 0)
        *value = INFINITY;
    else if (strcmp(item->valuestring, "-inf") == 0)
        *value = -INFINITY;
    else
        return false;
    return true;
}

static bool integer_value(const cJSON *item, int64_t *value)
{
    if (cJSON_IsNumber(item)) {
        if (!(fabs(item->valuedouble) <= (double)EXACT_INTEGER) ||
            item->valuedouble != floor(item->valuedouble))
            return false;
        *value = (int64_t)item->valuedouble;
        return true;
    }
    if (!cJSON_IsRaw(item) && !cJSON_IsString(item)) return false;
    const char *text = item->valuestring;
    size_t length = strlen(text), digits = strspn(text + (*text == '-'), "0123456789");
    if (digits == 0 || digits + (*text == '-') != length) return false;
    errno = 0;
    *value = strtoll(text, NULL, 10);
    return errno == 0;
}

static const cJSON *required(kf_json_reader *reader, const char *key, const char *expected)
{
    const cJSON *item = kf_json_any(reader, key);
    if (!item) kf_json_complain(reader, key, "missing; expected %s", expected);
    return item;
}

static double get_number(kf_json_reader *reader, const char *key)
{
    const cJSON *item = required(reader, key, "a number");
    double value = NAN;
    if (item && !number_value(item, &value))
        kf_json_complain(reader, key, "expected a number, \"nan\", \"inf\" or \"-inf\"");
    return value;
}

static int64_t get_integer(kf_json_reader *reader, const char *key, int64_t low, int64_t high)
{
    const cJSON *item = required(reader, key, "an integer");
    int64_t value = low;
    if (item && !integer_value(item, &value))
        kf_json_complain(reader, key, "expected an integer");
    else if (item && (value < low || value > high))
        kf_json_complain(reader, key,
                         "%" PRId64 " is out of range; expected %" PRId64 " to %" PRId64, value,
                         low, high);
    return value;
}

static bool get_boolean(kf_json_reader *reader, const char *key)
{
    required(reader, key, "true or false");
    return kf_json_boolean_or(reader, key, false);
}

/* Puts an owned copy into *field. Complains if the field is missing or not a string. */
static void get_text(kf_json_reader *reader, const char *key, char **field)
{
    const char *text = kf_json_string(reader, key);
    free(*field);
    *field = kf_text_clean(text, strlen(text), false);
    if (*field || reader->failed) return;
    reader->failed = true;
    kf_fail_memory(reader->error, "a verdict");
}

static const cJSON *get_array(kf_json_reader *reader, const char *key)
{
    required(reader, key, "an array");
    return kf_json_array_or_null(reader, key);
}

/* Returns a reader of element `index` of the array under `key`. */
static kf_json_reader element_reader(const kf_json_reader *parent, const char *key,
                                     const cJSON *element, size_t index)
{
    char path[sizeof parent->path + 64];
    snprintf(path, sizeof path, "%s%s%s[%zu]", parent->path, parent->path[0] ? "." : "", key,
             index);
    return kf_json_object(element, parent->where, path, parent->error);
}

static kf_json_reader child_reader(kf_json_reader *parent, const char *key)
{
    char path[sizeof parent->path + 64];
    const cJSON *child = required(parent, key, "an object");
    snprintf(path, sizeof path, "%s%s%s", parent->path, parent->path[0] ? "." : "", key);
    kf_json_reader reader = {.where = parent->where, .error = parent->error, .failed = true};
    return parent->failed ? reader : kf_json_object(child, parent->where, path, parent->error);
}

static void get_status(kf_json_reader *reader, kf_status *status)
{
    const char *name = kf_json_string(reader, "status");
    if (!kf_status_parse(name, status))
        kf_json_complain(reader, "status", "there is no status \"%s\"", name);
}

static void get_blame(kf_json_reader *reader, kf_blame *blame)
{
    const char *name = kf_json_string(reader, "blame");
    if (!kf_blame_parse(name, blame))
        kf_json_complain(
            reader, "blame",
            "\"%s\" cannot be blamed; expected nobody, candidate, task, machine or judge", name);
}

/* Allocates zeroed room for the elements of `array`. NULL for an empty array, and without memory,
 * which fails the reader. */
static void *room_for(kf_json_reader *reader, const cJSON *array, size_t size)
{
    int count = array ? cJSON_GetArraySize(array) : 0;
    /* appending in verdict.c grows arrays at powers of two, so their capacity must be one */
    size_t capacity = 1;
    while (capacity < (size_t)count) capacity *= 2;
    void *room = count ? calloc(capacity, size) : NULL;
    if (count && !room && !reader->failed) {
        reader->failed = true;
        kf_fail_memory(reader->error, "a verdict");
    }
    return room;
}

/* ---- intervals and findings ------------------------------------------------------------------ */

static bool put_interval(cJSON *parent, const char *key, const kf_interval *interval)
{
    cJSON *object = put_container(parent, key, false);
    return object && put_number(object, "value", interval->value) &&
           put_number(object, "low", interval->low) && put_number(object, "high", interval->high);
}

static bool get_interval(kf_json_reader *parent, const char *key, kf_interval *interval)
{
    kf_json_reader reader = child_reader(parent, key);
    interval->value = get_number(&reader, "value");
    interval->low = get_number(&reader, "low");
    interval->high = get_number(&reader, "high");
    if (!kf_json_finish(&reader)) parent->failed = true;
    return !parent->failed;
}

static bool put_findings(cJSON *parent, const kf_finding *findings, size_t count)
{
    cJSON *array = put_container(parent, "findings", true);
    if (!array) return false;
    for (size_t i = 0; i < count; i++) {
        cJSON *object = put_container(array, NULL, false);
        if (!object || !put_text(object, "status", kf_status_name(findings[i].status)) ||
            !put_text(object, "blame", kf_blame_name(findings[i].blame)) ||
            !put_text(object, "rule", findings[i].rule) ||
            !put_text(object, "text", findings[i].text) ||
            !put_number(object, "measured", findings[i].measured) ||
            !put_number(object, "limit", findings[i].limit))
            return false;
    }
    return true;
}

static void get_findings(kf_json_reader *parent, kf_finding **findings, size_t *count)
{
    const cJSON *array = get_array(parent, "findings"), *element;
    *findings = room_for(parent, array, sizeof **findings);
    cJSON_ArrayForEach(element, array)
    {
        if (parent->failed) return;
        kf_json_reader reader = element_reader(parent, "findings", element, *count);
        kf_finding *finding = &(*findings)[(*count)++];
        get_status(&reader, &finding->status);
        get_blame(&reader, &finding->blame);
        get_text(&reader, "rule", &finding->rule);
        get_text(&reader, "text", &finding->text);
        finding->measured = get_number(&reader, "measured");
        finding->limit = get_number(&reader, "limit");
        if (!kf_json_finish(&reader)) parent->failed = true;
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool put_outputs(cJSON *parent, const kf_workload_verdict *workload)
{
    cJSON *array = put_container(parent, "outputs", true);
    if (!array) return false;
    for (size_t i = 0; i < workload->output_count; i++) {
        const kf_error_figures *f = &workload->outputs[i].figures;
        cJSON *object = put_container(array, NULL, false);
        if (!object || !put_text(object, "argument", workload->outputs[i].argument) ||
            !put_number(object, "rms", f->rms) || !put_number(object, "max", f->max) ||
            !put_number(object, "baseline_rms", f->baseline_rms) ||
            !put_number(object, "baseline_max", f->baseline_max) ||
            !put_number(object, "allowed_rms", f->allowed_rms) ||
            !put_number(object, "allowed_max", f->allowed_max) ||
            !put_integer(object, "compared", f->compared) ||
            !put_integer(object, "mismatched", f->mismatched) ||
            !put_integer(object, "first_index", f->first_index) ||
            !put_number(object, "first_expected", f->first_expected) ||
            !put_number(object, "first_got", f->first_got) ||
            !put_text(object, "pattern", f->pattern))
            return false;
    }
    return true;
}

static void get_output(kf_json_reader *reader, kf_output_check *output)
{
    kf_error_figures *f = &output->figures;
    get_text(reader, "argument", &output->argument);
    f->rms = get_number(reader, "rms");
    f->max = get_number(reader, "max");
    f->baseline_rms = get_number(reader, "baseline_rms");
    f->baseline_max = get_number(reader, "baseline_max");
    f->allowed_rms = get_number(reader, "allowed_rms");
    f->allowed_max = get_number(reader, "allowed_max");
    f->compared = get_integer(reader, "compared", 0, INT64_MAX);
    f->mismatched = get_integer(reader, "mismatched", 0, INT64_MAX);
    f->first_index = get_integer(reader, "first_index", -1, INT64_MAX);
    f->first_expected = get_number(reader, "first_expected");
    f->first_got = get_number(reader, "first_got");
    const char *pattern = kf_json_string(reader, "pattern");
    if (strlen(pattern) >= sizeof f->pattern)
        kf_json_complain(reader, "pattern", "longer than %zu bytes", sizeof f->pattern - 1);
    else
        strcpy(f->pattern, pattern);
}

static void get_outputs(kf_json_reader *parent, kf_workload_verdict *workload)
{
    const cJSON *array = get_array(parent, "outputs"), *element;
    workload->outputs = room_for(parent, array, sizeof *workload->outputs);
    cJSON_ArrayForEach(element, array)
    {
        if (parent->failed) return;
        kf_json_reader reader = element_reader(parent, "outputs", element, workload->output_count);
        get_output(&reader, &workload->outputs[workload->output_count++]);
        if (!kf_json_finish(&reader)) parent->failed = true;
    }
}

/* ---- samples: one string of sides and one array a column ------------------------------------- */

static bool put_sides(cJSON *parent, const kf_sample *samples, size_t count)
{
    kf_autofree char *sides = malloc(count + 1);
    if (!sides) return false;
    for (size_t i = 0; i < count; i++) sides[i] = samples[i].side;
    sides[count] = '\0';
    return put_text(parent, "side", sides);
}

/* Columns of numbers: their place in a sample, and their type. */
typedef enum column_type { COLUMN_INT, COLUMN_DOUBLE, COLUMN_BITS } column_type;
static const struct column {
    const char *key;
    size_t offset;
    column_type type;
    /* left out if all values are NaN or 0 */
    bool optional;
} columns[] = {
    {"pair", offsetof(kf_sample, pair), COLUMN_INT, false},
    {"calls", offsetof(kf_sample, calls), COLUMN_INT, false},
    {"seconds", offsetof(kf_sample, seconds), COLUMN_DOUBLE, false},
    {"claimed", offsetof(kf_sample, claimed), COLUMN_DOUBLE, true},
    {"clock_mhz", offsetof(kf_sample, clock_mhz), COLUMN_DOUBLE, true},
    {"throttle", offsetof(kf_sample, throttle), COLUMN_BITS, true},
};
#define COLUMN_COUNT (sizeof columns / sizeof *columns)

static bool column_empty(const struct column *column, const kf_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *field = (const char *)&samples[i] + column->offset;
        if (column->type == COLUMN_BITS ? *(const uint64_t *)field != 0
                                        : !isnan(*(const double *)field))
            return false;
    }
    return true;
}

static cJSON *column_item(const struct column *column, const kf_sample *sample)
{
    const char *field = (const char *)sample + column->offset;
    if (column->type == COLUMN_INT) return integer_item(*(const int *)field);
    if (column->type == COLUMN_DOUBLE) return number_item(*(const double *)field);
    /* keeps all 64 bits */
    return integer_item((int64_t) * (const uint64_t *)field);
}

static bool put_samples(cJSON *parent, const kf_sample *samples, size_t count)
{
    cJSON *object = put_container(parent, "samples", false);
    if (!object || !put_sides(object, samples, count)) return false;
    for (size_t c = 0; c < COLUMN_COUNT; c++) {
        if (columns[c].optional && column_empty(&columns[c], samples, count)) continue;
        cJSON *array = put_container(object, columns[c].key, true);
        if (!array) return false;
        for (size_t i = 0; i < count; i++)
            if (!kf_json_put(array, NULL, column_item(&columns[c], &samples[i]))) return false;
    }
    return true;
}

static void get_column(kf_json_reader *reader, const struct column *column, kf_sample *samples,
                       size_t count)
{
    const cJSON *array = column->optional ? kf_json_array_or_null(reader, column->key)
                                          : get_array(reader, column->key),
                *element;
    if (array && (size_t)cJSON_GetArraySize(array) != count) {
        kf_json_complain(reader, column->key, "%d entries for %zu samples",
                         cJSON_GetArraySize(array), count);
        return;
    }
    for (size_t i = 0; i < count && !array && column->type == COLUMN_DOUBLE; i++)
        *(double *)((char *)&samples[i] + column->offset) = NAN;
    size_t i = 0;
    cJSON_ArrayForEach(element, array)
    {
        char *field = (char *)&samples[i++] + column->offset;
        int64_t integer = 0;
        bool good = column->type == COLUMN_DOUBLE ? number_value(element, (double *)field)
                                                  : integer_value(element, &integer);
        if (column->type == COLUMN_INT && (integer < INT32_MIN || integer > INT32_MAX))
            good = false;
        if (!good) {
            kf_json_complain(reader, column->key, "entry %zu is not %s", i - 1,
                             column->type == COLUMN_DOUBLE ? "a number" : "an integer");
            return;
        }
        if (column->type == COLUMN_INT) *(int *)field = (int)integer;
        if (column->type == COLUMN_BITS) *(uint64_t *)field = (uint64_t)integer;
    }
}

static void get_samples(kf_json_reader *parent, kf_workload_verdict *workload)
{
    kf_json_reader reader = child_reader(parent, "samples");
    const char *sides = kf_json_string(&reader, "side");
    size_t count = strlen(sides), capacity = 1;
    if (strspn(sides, "bcBCna") != count)
        kf_json_complain(&reader, "side", "expected a string of b, c, B, C, n and a");
    while (capacity < count) capacity *= 2;
    workload->samples =
        count && !reader.failed ? calloc(capacity, sizeof *workload->samples) : NULL;
    if (count && !reader.failed && !workload->samples) {
        reader.failed = true;
        kf_fail_memory(reader.error, "a verdict");
    }
    if (!reader.failed) {
        workload->sample_count = count;
        for (size_t i = 0; i < count; i++) workload->samples[i].side = sides[i];
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            get_column(&reader, &columns[c], workload->samples, count);
    }
    if (!kf_json_finish(&reader)) parent->failed = true;
}

/* ---- workloads ------------------------------------------------------------------------------- */

static bool put_workload(cJSON *array, const kf_workload_verdict *w)
{
    cJSON *object = put_container(array, NULL, false);
    return object && put_text(object, "workload", w->workload) &&
           put_boolean(object, "timed", w->timed) &&
           (!w->unseen || put_text(object, "unseen", kf_unseen_name(w->unseen))) &&
           put_text(object, "status", kf_status_name(w->status)) &&
           put_findings(object, w->findings, w->finding_count) && put_outputs(object, w) &&
           put_interval(object, "speedup", &w->speedup) &&
           put_number(object, "baseline_seconds", w->baseline_seconds) &&
           put_number(object, "candidate_seconds", w->candidate_seconds) &&
           put_interval(object, "latency_speedup", &w->latency_speedup) &&
           put_number(object, "latency_baseline_seconds", w->latency_baseline_seconds) &&
           put_number(object, "latency_candidate_seconds", w->latency_candidate_seconds) &&
           put_number(object, "batch_cost_seconds", w->batch_cost_seconds) &&
           put_number(object, "floor_seconds", w->floor_seconds) &&
           put_integer(object, "sets", w->sets) && put_integer(object, "pairs", w->pairs) &&
           put_samples(object, w->samples, w->sample_count);
}

static void get_workload(kf_json_reader *reader, kf_workload_verdict *w)
{
    get_text(reader, "workload", &w->workload);
    w->timed = get_boolean(reader, "timed");
    const char *unseen = kf_json_string_or(reader, "unseen", NULL);
    if (unseen && !kf_unseen_parse(unseen, &w->unseen))
        kf_json_complain(reader, "unseen", "expected \"sizes\" or \"data\"");
    get_status(reader, &w->status);
    get_findings(reader, &w->findings, &w->finding_count);
    get_outputs(reader, w);
    get_interval(reader, "speedup", &w->speedup);
    w->baseline_seconds = get_number(reader, "baseline_seconds");
    w->candidate_seconds = get_number(reader, "candidate_seconds");
    get_interval(reader, "latency_speedup", &w->latency_speedup);
    w->latency_baseline_seconds = get_number(reader, "latency_baseline_seconds");
    w->latency_candidate_seconds = get_number(reader, "latency_candidate_seconds");
    w->batch_cost_seconds = get_number(reader, "batch_cost_seconds");
    w->floor_seconds = get_number(reader, "floor_seconds");
    w->sets = (int)get_integer(reader, "sets", 0, INT32_MAX);
    w->pairs = (int)get_integer(reader, "pairs", 0, INT32_MAX);
    get_samples(reader, w);
}

static void get_workloads(kf_json_reader *parent, kf_verdict *verdict)
{
    const cJSON *array = get_array(parent, "workloads"), *element;
    verdict->workloads = room_for(parent, array, sizeof *verdict->workloads);
    cJSON_ArrayForEach(element, array)
    {
        if (parent->failed) return;
        kf_json_reader reader =
            element_reader(parent, "workloads", element, verdict->workload_count);
        get_workload(&reader, &verdict->workloads[verdict->workload_count++]);
        if (!kf_json_finish(&reader)) parent->failed = true;
    }
}

/* ---- parts that stay JSON -------------------------------------------------------------------- */

/* Replaces invalid bytes in all strings and keys of an owned tree. Recursive in depth only, at most
 * KF_JSON_DEPTH. */
static bool clean_tree(cJSON *value, int depth)
{
    if (depth > KF_JSON_DEPTH) return false;
    for (; value; value = value->next) {
        char **texts[] = {cJSON_IsString(value) ? &value->valuestring : NULL, &value->string};
        for (int i = 0; i < 2; i++) {
            if (!texts[i] || !*texts[i]) continue;
            kf_autofree char *clean = kf_text_clean(*texts[i], strlen(*texts[i]), false);
            if (!clean) return false;
            if (strcmp(clean, *texts[i]) == 0) continue;
            char *copy = cJSON_malloc(strlen(clean) + 1);
            if (!copy) return false;
            cJSON_free(*texts[i]);
            *texts[i] = strcpy(copy, clean);
        }
        if (value->child && !clean_tree(value->child, depth + 1)) return false;
    }
    return true;
}

static bool put_carried(cJSON *parent, const char *key, const cJSON *value)
{
    if (!value) return true;
    cJSON *copy = cJSON_Duplicate(value, true);
    if (copy && clean_tree(copy, 0)) return kf_json_put(parent, key, copy);
    cJSON_Delete(copy);
    return false;
}

static void get_carried(kf_json_reader *reader, const char *key, cJSON **field)
{
    const cJSON *value = kf_json_object_or_null(reader, key);
    if (!value || reader->failed) return;
    *field = cJSON_Duplicate(value, true);
    if (*field && clean_tree(*field, 0)) return;
    reader->failed = true;
    kf_fail_memory(reader->error, "a verdict");
}

static bool put_flags(cJSON *parent, const kf_verdict *verdict)
{
    cJSON *array = put_container(parent, "flags", true);
    if (!array) return false;
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (!put_text(array, NULL, verdict->flags[i])) return false;
    return true;
}

static void get_flags(kf_json_reader *reader, kf_verdict *verdict)
{
    const cJSON *array = get_array(reader, "flags"), *element;
    verdict->flags = room_for(reader, array, sizeof *verdict->flags);
    cJSON_ArrayForEach(element, array)
    {
        if (reader->failed) return;
        if (!cJSON_IsString(element)) {
            kf_json_complain(reader, "flags", "entry %zu is not a string", verdict->flag_count);
            return;
        }
        char *flag = kf_text_clean(element->valuestring, strlen(element->valuestring), false);
        if (!flag) {
            reader->failed = true;
            kf_fail_memory(reader->error, "a verdict");
            return;
        }
        verdict->flags[verdict->flag_count++] = flag;
    }
}

/* ---- null in place of "nan" ------------------------------------------------------------------ */

/* True if the value is a number that is not finite. Texts that a task or a candidate chose may be
 * the same word. */
static bool is_unknown_number(const cJSON *value, bool in_samples)
{
    static const char *const texts[] = {"id",     "task",     "message", "text",    "workload",
                                        "device", "argument", "pattern", "name",    "symbol",
                                        "code",   "log",      "error",   "baseline"};
    if (!cJSON_IsString(value)) return false;
    const char *word = value->valuestring;
    if (strcmp(word, "nan") != 0 && strcmp(word, "inf") != 0 && strcmp(word, "-inf") != 0)
        return false;
    if (!value->string) return in_samples;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(value->string, texts[i]) == 0) return false;
    return true;
}

static void publish(cJSON *value, bool in_samples, int depth)
{
    for (cJSON *child = value->child; child && depth < KF_JSON_DEPTH; child = child->next) {
        bool samples = in_samples || (child->string && strcmp(child->string, "samples") == 0);
        if (is_unknown_number(child, in_samples)) {
            cJSON_free(child->valuestring);
            child->valuestring = NULL;
            child->type = (child->type & ~0xff) | cJSON_NULL;
        }
        publish(child, samples, depth + 1);
    }
}

void kf_verdict_publish(cJSON *json)
{
    publish(json, false, 0);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

cJSON *kf_verdict_to_json(const kf_verdict *v)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    if (!json || !put_text(json, "schema", KF_VERDICT_SCHEMA) || !put_text(json, "id", v->id) ||
        !put_text(json, "task", v->task) || !put_text(json, "task_hash", v->task_hash) ||
        !put_text(json, "source_hash", v->source_hash) ||
        !put_text(json, "binary_hash", v->binary_hash) ||
        !put_text(json, "code_hash", v->code_hash) || !put_text(json, "device", v->device) ||
        !put_text(json, "status", kf_status_name(v->status)) ||
        !put_text(json, "blame", kf_blame_name(v->blame)) ||
        !put_text(json, "message", v->message) || !put_interval(json, "speedup", &v->speedup) ||
        !put_boolean(json, "reverified", v->reverified) ||
        !put_findings(json, v->findings, v->finding_count))
        return NULL;
    cJSON *array = put_container(json, "workloads", true);
    if (!array) return NULL;
    for (size_t i = 0; i < v->workload_count; i++)
        if (!put_workload(array, &v->workloads[i])) return NULL;
    if (!put_flags(json, v) || !put_carried(json, "build", v->build) ||
        !put_carried(json, "counters", v->counters) ||
        !put_carried(json, "kernelbench", v->kernelbench) ||
        !put_carried(json, "provenance", v->provenance) ||
        !put_number(json, "build_seconds", v->build_seconds) ||
        !put_number(json, "judge_seconds", v->judge_seconds))
        return NULL;
    return kf_steal(&json);
}

kf_verdict *kf_verdict_from_json(const cJSON *json, kf_error *error)
{
    /* readers need an error to fill */
    kf_error local = {0};
    kf_json_reader reader = kf_json_object(json, WHERE, "", error ? error : &local);
    if (reader.failed) return NULL;
    const char *schema = kf_json_string(&reader, "schema");
    if (strcmp(schema, KF_VERDICT_SCHEMA) != 0)
        kf_json_complain(&reader, "schema",
                         "\"%s\" is not \"%s\"; was it written by another version?", schema,
                         KF_VERDICT_SCHEMA);
    if (reader.failed) return NULL;
    kf_auto(kf_verdict) v = calloc(1, sizeof *v);
    if (!v) {
        kf_fail_memory(error, "a verdict");
        return NULL;
    }
    get_text(&reader, "id", &v->id);
    get_text(&reader, "task", &v->task);
    get_text(&reader, "task_hash", &v->task_hash);
    get_text(&reader, "source_hash", &v->source_hash);
    get_text(&reader, "binary_hash", &v->binary_hash);
    get_text(&reader, "code_hash", &v->code_hash);
    get_text(&reader, "device", &v->device);
    get_status(&reader, &v->status);
    get_blame(&reader, &v->blame);
    get_text(&reader, "message", &v->message);
    get_interval(&reader, "speedup", &v->speedup);
    v->reverified = get_boolean(&reader, "reverified");
    get_findings(&reader, &v->findings, &v->finding_count);
    get_workloads(&reader, v);
    get_flags(&reader, v);
    get_carried(&reader, "build", &v->build);
    get_carried(&reader, "counters", &v->counters);
    get_carried(&reader, "kernelbench", &v->kernelbench);
    get_carried(&reader, "provenance", &v->provenance);
    /* belongs to the text, not to the verdict (kforge/signature.h) */
    kf_json_object_or_null(&reader, "signature");
    v->build_seconds = get_number(&reader, "build_seconds");
    v->judge_seconds = get_number(&reader, "judge_seconds");
    return kf_json_finish(&reader) ? kf_steal(&v) : NULL;
}
