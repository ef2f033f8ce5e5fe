/* The two files that KernelBench's own programs write into runs/RUN/. eval_results.json has a list
 * of samples for each problem, with times in milliseconds or -1. The analysis covers only sample 0.
 * Problem numbers are unique within a level only, so a suite of several levels gets one folder for
 * each level. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_result.h"
#include "kforge/file.h"
#include "kforge/json.h"

#define LEVELS 16

static cJSON *stats_json(const kf_bench_times *times, const kf_bench_result *result)
{
    cJSON *json = cJSON_CreateObject();
    if (isnan(times->median)) return json;
    kf_json_add_number(json, "mean", 1e3 * (isnan(times->mean) ? times->median : times->mean));
    kf_json_add_number(json, "std", isnan(times->deviation) ? 0 : 1e3 * times->deviation);
    kf_json_add_number(json, "min", 1e3 * (isnan(times->least) ? times->median : times->least));
    kf_json_add_number(json, "max", 1e3 * (isnan(times->most) ? times->median : times->most));
    cJSON_AddNumberToObject(json, "num_trials", (double)times->batches);
    cJSON_AddStringToObject(json, "hardware", result->setup.device);
    cJSON_AddStringToObject(json, "device", result->setup.device);
    return json;
}

static cJSON *sample_json(const kf_bench_sample *s, size_t number, const kf_bench_result *result)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddNumberToObject(json, "sample_id", (double)number);
    cJSON_AddBoolToObject(json, "compiled", s->score.compiled);
    cJSON_AddBoolToObject(json, "correctness", s->score.correct);
    cJSON *metadata = cJSON_AddObjectToObject(json, "metadata");
    cJSON_AddStringToObject(metadata, "kforge_status", s->status);
    if (*s->rule) cJSON_AddStringToObject(metadata, "kforge_rule", s->rule);
    if (*s->text) cJSON_AddStringToObject(metadata, "kforge_text", s->text);
    if (s->speedup.value > 0) kf_json_add_number(metadata, "kforge_speedup", s->speedup.value);
    kf_json_add_number(json, "runtime",
                       s->score.correct && !isnan(s->times.median) ? 1e3 * s->times.median : -1.0);
    cJSON_AddItemToObject(json, "runtime_stats", stats_json(&s->times, result));
    return json;
}

static bool write_json(const char *folder, const char *name, cJSON *json, kf_error *error)
{
    kf_autofree char *path = kf_path_join(folder, name), *text = json ? cJSON_Print(json) : NULL;
    cJSON_Delete(json);
    if (!path || !text) return kf_fail_memory(error, "the KernelBench files");
    return kf_directory_make(folder, error) && kf_file_write(path, text, strlen(text), error);
}

static cJSON *results_json(const kf_bench_result *result, int64_t level)
{
    cJSON *json = cJSON_CreateObject();
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        char key[24];
        if (row->level != level || row->problem < 0 || !row->count) continue;
        snprintf(key, sizeof key, "%lld", (long long)row->problem);
        cJSON *list = cJSON_AddArrayToObject(json, key);
        for (size_t k = 0; k < row->count; k++)
            if (strcmp(row->samples[k].status, "not_judged") != 0)
                cJSON_AddItemToArray(list, sample_json(&row->samples[k], k, result));
    }
    return json;
}

static cJSON *analysis_json(const kf_bench_result *result, int64_t level, kf_error *error)
{
    size_t count = 0, evaluated = 0;
    kf_autofree kf_score_problem *first = calloc(result->count ? result->count : 1, sizeof *first);
    if (!first) {
        kf_fail_memory(error, "the KernelBench files");
        return NULL;
    }
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        if (row->level != level || row->problem < 0) continue;
        bool judged = row->count > 0 && row->scores[0].counts;
        evaluated += judged;
        first[count++] = (kf_score_problem){row->scores, judged ? 1 : 0};
    }
    static const double thresholds[] = {0, 0.5, 0.8, 1, 1.5, 2};
    static const char *const names[] = {"0.0", "0.5", "0.8", "1.0", "1.5", "2.0"};
    const kf_score_options quick = {.resamples = 2};
    kf_score score = kf_score_suite(first, count, &quick);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "run_name", result->setup.name);
    cJSON_AddNumberToObject(json, "level", (double)level);
    cJSON_AddStringToObject(json, "hardware", result->setup.device);
    cJSON_AddNumberToObject(json, "total_count", (double)count);
    cJSON_AddNumberToObject(json, "total_eval", (double)evaluated);
    cJSON_AddNumberToObject(json, "compiled_count", (double)score.compiled);
    cJSON_AddNumberToObject(json, "correct_count", (double)score.correct);
    kf_json_add_number(json, "compilation_rate", (double)score.compiled / (double)count);
    kf_json_add_number(json, "correctness_rate", (double)score.correct / (double)count);
    kf_json_add_number(json, "geo_mean_speedup",
                       isnan(score.geometric_mean.value) ? 0 : score.geometric_mean.value);
    cJSON *fast = cJSON_AddObjectToObject(json, "fast_p");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        kf_json_add_number(fast, names[i],
                           kf_score_fast(first, count, thresholds[i], 1, &quick).value);
    return json;
}

bool kf_bench_no_origin(kf_error *error)
{
    return kf_fail(error, KF_ERROR_INPUT,
                   "--kernelbench: no problem of this bench comes from KernelBench (\"origin\" "
                   "with level and problem in its task.json)");
}

bool kf_bench_kernelbench(const kf_bench_result *result, const char *folder, kf_error *error)
{
    int64_t levels[LEVELS];
    size_t count = 0;
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        bool seen = row->level < 0 || row->problem < 0 || count == LEVELS;
        for (size_t k = 0; k < count; k++) seen |= levels[k] == row->level;
        if (!seen) levels[count++] = row->level;
    }
    if (!count) return kf_bench_no_origin(error);
    for (size_t k = 0; k < count; k++) {
        char name[32];
        snprintf(name, sizeof name, "level_%lld", (long long)levels[k]);
        kf_autofree char *path = count > 1 ? kf_path_join(folder, name) : strdup(folder);
        if (!path) return kf_fail_memory(error, "the KernelBench files");
        cJSON *analysis = analysis_json(result, levels[k], error);
        if (!analysis ||
            !write_json(path, "eval_results.json", results_json(result, levels[k]), error)) {
            cJSON_Delete(analysis);
            return false;
        }
        if (!write_json(path, "eval_results_analysis.json", analysis, error)) return false;
    }
    return true;
}
