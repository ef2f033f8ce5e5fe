#include "output.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "api_key.h"
#include "command_line.h"
#include "kforge/json.h"
#include "trust.h"

const char *kf_run_state(const kf_store_run *run)
{
    return run->status == KF_RUN_RUNNING && !run->alive ? "died" : kf_run_status_name(run->status);
}

void kf_heading(const kf_view *view, const char *text)
{
    fprintf(view->out, view->color ? "\n" KF_STYLE_BOLD "%s" KF_STYLE_PLAIN "\n" : "\n%s\n", text);
}

bool kf_print_json(FILE *out, cJSON *json, kf_error *error)
{
    kf_auto(cJSON) owned __attribute__((unused)) = json;
    char *text = json ? cJSON_Print(json) : NULL;
    if (!text) return kf_fail_memory(error, "the output");
    /* A failed write shows at the end (main.c). */
    kf_print_exact(out, text, strlen(text));
    kf_print_exact(out, "\n", 1);
    cJSON_free(text);
    return true;
}

void kf_add_figure(cJSON *object, const char *key, double value)
{
    if (isnan(value))
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

cJSON *kf_run_json(const kf_store_run *run)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "id", run->id);
    cJSON_AddStringToObject(json, "task", run->task_name);
    cJSON_AddStringToObject(json, "task_hash", run->task);
    cJSON_AddStringToObject(json, "device", run->device);
    cJSON_AddStringToObject(json, "host", run->host);
    cJSON_AddStringToObject(json, "status", kf_run_state(run));
    kf_add_figure(json, "started", run->started);
    kf_add_figure(json, "updated", run->updated);
    kf_add_figure(json, "ended", run->ended);
    kf_add_figure(json, "attempts", (double)run->attempts);
    kf_add_figure(json, "judged", (double)run->judged);
    kf_add_figure(json, "correct", (double)run->correct);
    if (run->best)
        kf_add_figure(json, "best", (double)run->best);
    else
        cJSON_AddNullToObject(json, "best");
    kf_add_interval(json, "best_speedup", run->best_speedup);
    cJSON_AddBoolToObject(json, "best_reverified", run->best_reverified);
    char seed[24];
    /* Beyond 2^53 a JSON number is not exact. */
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->seed);
    cJSON_AddStringToObject(json, "seed", seed);
    kf_autofree char *options = kf_api_keys_without(run->options, NULL);
    kf_add_embedded(json, "options", options);
    return json;
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
