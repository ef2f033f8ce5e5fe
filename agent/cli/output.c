#include "output.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api_key.h"
#include "shell_command.h"
#include "kforge/json.h"
#include "trusted_commands.h"

const char *kf_run_state(const kf_store_run *run)
{
    return run->status == KF_RUN_RUNNING && !run->alive ? "died" : kf_run_status_name(run->status);
}

const char *kf_outcome_words(kf_attempt_outcome outcome)
{
    return outcome == KF_ATTEMPT_KNOWN        ? "judged before"
           : outcome == KF_ATTEMPT_SAME_CODE  ? "same machine code"
           : outcome == KF_ATTEMPT_REVERIFIED ? "measured again"
                                              : kf_attempt_outcome_name(outcome);
}

const char *kf_proposer_words(const char *proposer, const char *step)
{
    return strcmp(step, "baseline") == 0    ? "baseline"
           : strcmp(proposer, "judge") == 0 ? "measured again"
                                            : proposer;
}

void kf_heading(const kf_view *view, const char *text)
{
    fprintf(view->out, view->color ? "\n" KF_STYLE_BOLD "%s" KF_STYLE_PLAIN "\n" : "\n%s\n", text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

cJSON *kf_json_document(const char *schema)
{
    cJSON *json = cJSON_CreateObject();
    if (json && cJSON_AddStringToObject(json, "schema", schema)) return json;
    cJSON_Delete(json);
    return NULL;
}

/* Turns the tabs of cJSON_Print into blanks. Tabs within strings are escaped there. */
static bool indent(const char *text, kf_buffer *printed)
{
    for (const char *at = text; *at;) {
        size_t plain = strcspn(at, "\t"), tabs = strspn(at + plain, "\t");
        bool line_start = plain ? at[plain - 1] == '\n' : at == text;
        kf_buffer_append(printed, at, plain);
        for (size_t i = 0; i < (line_start ? 2 * tabs : tabs); i++)
            kf_buffer_append(printed, " ", 1);
        at += plain + tabs;
    }
    kf_buffer_append(printed, "\n", 1);
    return !printed->failed;
}

bool kf_print_json(FILE *out, cJSON *json, kf_error *error)
{
    kf_auto(cJSON) owned __attribute__((unused)) = json;
    const cJSON *schema = json ? cJSON_GetObjectItemCaseSensitive(json, "schema") : NULL;
    if (json && !cJSON_IsString(schema))
        return kf_fail(error, KF_ERROR_INTERNAL, "a JSON document without a schema");
    kf_autobuffer printed = {0};
    char *text = json ? cJSON_Print(json) : NULL;
    bool made = text && indent(text, &printed);
    cJSON_free(text);
    if (!made) return kf_fail_memory(error, "the output");
    /* A failed write shows at the end (main.c). */
    kf_print_exact(out, printed.data, printed.size);
    return true;
}

/* Returns the length of the "WHERE" parts at the start: each ends with ": " and has no blank, as in
 * "task.json: arguments[0].dtype: ". 0: no place is named. */
static size_t place_size(const char *text)
{
    size_t size = 0;
    for (;;) {
        size_t word = strcspn(text + size, " \"");
        if (!word || text[size + word - 1] != ':' || text[size + word] != ' ') return size;
        size += word + 1;
    }
}

bool kf_print_json_error(FILE *out, const kf_error *failure, int status, kf_error *error)
{
    const char *text = failure->text, *what = text + place_size(text);
    const char *semicolon = strstr(what, "; ");
    kf_auto(cJSON) json = kf_json_document("kforge-error/1");
    kf_autofree char *fault = semicolon ? strndup(what, (size_t)(semicolon - what)) : strdup(what);
    kf_autofree char *where = what > text ? strndup(text, (size_t)(what - text) - 2) : NULL;
    if (!json || !fault || (what > text && !where)) return kf_fail_memory(error, "the output");
    cJSON_AddStringToObject(json, "what", fault);
    cJSON_AddItemToObject(json, "where", where ? cJSON_CreateString(where) : cJSON_CreateNull());
    cJSON_AddItemToObject(json, "hint",
                          semicolon ? cJSON_CreateString(semicolon + 2) : cJSON_CreateNull());
    cJSON_AddNumberToObject(json, "exit_status", status);
    return kf_print_json(out, kf_steal(&json), error);
}

void kf_add_figure(cJSON *object, const char *key, double value)
{
    if (!isfinite(value))
        cJSON_AddNullToObject(object, key);
    else
        kf_json_add_number(object, key, value);
}

void kf_add_interval(cJSON *object, const char *key, kf_interval interval)
{
    if (isnan(interval.value)) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    cJSON *inner = cJSON_AddObjectToObject(object, key);
    kf_add_figure(inner, "value", interval.value);
    kf_add_figure(inner, "low", interval.low);
    kf_add_figure(inner, "high", interval.high);
}

void kf_add_candidate(cJSON *object, const char *key, int64_t candidate)
{
    char id[KF_CANDIDATE_ID];
    if (candidate)
        cJSON_AddStringToObject(object, key, kf_candidate_id(candidate, id));
    else
        cJSON_AddNullToObject(object, key);
}

const char *kf_candidate_id(int64_t candidate, char id[KF_CANDIDATE_ID])
{
    snprintf(id, KF_CANDIDATE_ID, "c%lld", (long long)candidate);
    return id;
}

bool kf_candidate_parse(const char *word, int64_t *number)
{
    char *end;
    if (word[0] != 'c' || !isdigit((unsigned char)word[1]) || strlen(word) > 18) return false;
    *number = strtoll(word + 1, &end, 10);
    return *end == '\0';
}

void kf_add_time(cJSON *object, const char *key, double seconds)
{
    struct tm parts;
    char date[40], text[48];
    time_t whole = isfinite(seconds) ? (time_t)floor(seconds) : 0;
    int thousandths = isfinite(seconds) ? (int)(1000 * (seconds - floor(seconds))) : 0;
    if (!isfinite(seconds) || !gmtime_r(&whole, &parts) ||
        !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts)) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    snprintf(text, sizeof text, "%s.%03dZ", date, thousandths);
    cJSON_AddStringToObject(object, key, text);
}

double kf_time_of(const cJSON *value)
{
    struct tm parts = {0};
    const char *text = cJSON_GetStringValue(value);
    if (cJSON_IsNumber(value)) return value->valuedouble;
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (!rest) return NAN;
    double fraction = *rest == '.' ? strtod(rest, NULL) : 0;
    return (double)timegm(&parts) + fraction;
}

/* Writes '_' for '-' in all keys, as in "device-seconds" of a stored run. */
static void rename_keys(cJSON *value, int depth)
{
    for (cJSON *child = value->child; child && depth < KF_JSON_DEPTH; child = child->next) {
        for (char *c = child->string; c && *c; c++)
            if (*c == '-') *c = '_';
        rename_keys(child, depth + 1);
    }
}

void kf_add_embedded(cJSON *object, const char *key, const char *json)
{
    cJSON *value = json && *json ? cJSON_Parse(json) : NULL;
    cJSON_AddItemToObject(object, key, value ? value : cJSON_CreateNull());
}

void kf_flags_text(const char *json, kf_buffer *text)
{
    kf_auto(cJSON) flags = cJSON_Parse(json);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, flags) kf_buffer_format(
        text, "%s%s", text->size ? " " : "", cJSON_IsString(flag) ? flag->valuestring : "?");
}

void kf_add_run(cJSON *json, const kf_store_run *run)
{
    cJSON_AddStringToObject(json, "id", run->id);
    cJSON_AddStringToObject(json, "task", run->task_name);
    cJSON_AddStringToObject(json, "task_hash", run->task);
    cJSON_AddStringToObject(json, "device", run->device);
    cJSON_AddStringToObject(json, "host", run->host);
    cJSON_AddStringToObject(json, "status", kf_run_state(run));
    kf_add_time(json, "started", run->started);
    kf_add_time(json, "updated", run->updated);
    kf_add_time(json, "ended", run->ended);
    kf_add_figure(json, "attempts", (double)run->attempts);
    kf_add_figure(json, "judged", (double)run->judged);
    kf_add_figure(json, "correct", (double)run->correct);
    kf_add_candidate(json, "best", run->best);
    kf_add_interval(json, "best_speedup", run->best_speedup);
    cJSON_AddBoolToObject(json, "best_reverified", run->best_reverified);
    char seed[24];
    /* Beyond 2^53 a JSON number is not exact. */
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->seed);
    cJSON_AddStringToObject(json, "seed", seed);
    kf_autofree char *options = kf_api_keys_without(run->options, NULL);
    kf_add_embedded(json, "options", options);
    cJSON *added = cJSON_GetObjectItemCaseSensitive(json, "options");
    if (added) rename_keys(added, 0);
}

bool kf_check_commands(const char *store, const char *const *models, size_t count, kf_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (kf_trust_is_command("model", models[i]) &&
            !kf_trust_has((const char *const *)environ, store, models[i])) {
            kf_autofree char *shown = kf_api_keys_without(models[i], NULL);
            kf_autobuffer word = {0};
            kf_command_append_word(&word, store);
            return kf_fail(error, KF_ERROR_INPUT,
                           "the run's model %s would run a command that the store names; if you "
                           "trust it: kforge trust %s",
                           shown ? shown : "", word.data ? word.data : store);
        }
    return true;
}

void kf_allow_commands(const char *store, const char *const *models, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kf_trust_is_command("model", models[i]))
            kf_trust_add((const char *const *)environ, store, models[i], NULL);
}

bool kf_open_to_read(const char *path, kf_store **store, kf_error *error)
{
    *store = NULL;
    if (!path) {
        kf_autofree char *usual = kf_store_default_path(error);
        if (!usual) return false;
        if (access(usual, F_OK) != 0 && errno == ENOENT) return true;
    }
    *store = kf_store_open(path, KF_STORE_READ, error);
    return *store != NULL;
}

kf_task *kf_stored_task(kf_store *store, const char *hash, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_store_task_bundle(store, hash, &size, error);
    if (!text) return NULL;
    kf_auto(cJSON) bundle =
        kf_json_parse(text, size, KF_STORE_BLOB_BYTES, "task in the store", error);
    return bundle ? kf_task_from_bundle(bundle, error) : NULL;
}
