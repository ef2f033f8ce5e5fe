/* Times of baselines from another machine, in the form of KernelBench's
 * results/timing/HARDWARE/baseline_time_torch….json:
 *
 *   {"level1": {"19_ReLU.py": {"mean": 2.85, "std": …, "hardware": "NVIDIA …"}, …}, …}
 *
 * in milliseconds. A comparison with them is not a measurement: the machine, the clock (means of
 * CUDA events on one warm input) and perhaps PyTorch differ. Reports show it under the file's name
 * and hardware, and say that it was not measured here. A task with scaled shapes is a different
 * problem and gets no figure. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_result.h"
#include "kforge/file.h"
#include "kforge/json.h"

#define FILE_BYTES ((size_t)64 << 20)

/* Returns the number at the start of a name like "19_ReLU.py", or -1. */
static int64_t number_before(const char *name)
{
    char *end;
    if (!isdigit((unsigned char)*name)) return -1;
    long long number = strtoll(name, &end, 10);
    return *end == '_' || *end == '.' ? number : -1;
}

static const cJSON *entry_for(const cJSON *json, const kf_bench_row *row)
{
    char level[32];
    const cJSON *entry;
    snprintf(level, sizeof level, "level%lld", (long long)row->level);
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, level))
    {
        if (number_before(entry->string) == row->problem) return entry;
    }
    return NULL;
}

static void compare(kf_bench_result *result, size_t extra, const cJSON *json)
{
    for (size_t i = 0; i < result->count; i++) {
        kf_bench_row *row = &result->rows[i];
        kf_bench_versus *versus = &row->versus[extra];
        const cJSON *entry = row->level >= 0 && row->problem >= 0 ? entry_for(json, row) : NULL;
        double milliseconds = kf_json_get_number(entry, "mean", NAN);
        *versus = (kf_bench_versus){{NAN, NAN, NAN}, NAN, ""};
        if (!*result->extra_baselines[extra].hardware && entry)
            result->extra_baselines[extra].hardware =
                kf_bench_text(result, kf_json_get_text(entry, "hardware", ""));
        if (row->scaled) {
            versus->why = "its shapes are scaled, so it is a different problem";
        } else if (!(milliseconds > 0)) {
            versus->why = "the file has no time for it";
        } else {
            versus->seconds = milliseconds / 1e3;
            if (row->best.candidate && row->best.times.median > 0)
                versus->speedup.value = versus->seconds / row->best.times.median;
        }
        result->extra_baselines[extra].known += versus->speedup.value > 0;
    }
}

static bool is_table(const cJSON *json)
{
    const cJSON *level = json ? json->child : NULL;
    return level && level->string && strncmp(level->string, "level", 5) == 0 &&
           cJSON_IsObject(level);
}

bool kf_bench_external_timings(const kf_option_list *files, kf_bench_result *result,
                               kf_error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        size_t size;
        const char *path = files->items[i], *slash = strrchr(path, '/');
        if (result->extra_baseline_count == KF_BENCH_EXTRA_BASELINES)
            return kf_fail(error, KF_ERROR_INPUT,
                           "--baseline-times: more than %d extra baselines; leave some out",
                           KF_BENCH_EXTRA_BASELINES);
        kf_autofree char *text = kf_file_read(path, FILE_BYTES, &size, error);
        kf_auto(cJSON) json = text ? kf_json_parse(text, size, FILE_BYTES, path, error) : NULL;
        if (!json) return kf_fail_prefix(error, "--baseline-times");
        if (!is_table(json))
            return kf_fail(error, KF_ERROR_INPUT,
                           "--baseline-times %s: expected {\"level1\": {\"19_ReLU.py\": {\"mean\": "
                           "MILLISECONDS}}}",
                           path);
        size_t extra = result->extra_baseline_count++;
        result->extra_baselines[extra] = (kf_bench_extra_baseline){
            .name = kf_bench_text(result, slash && slash[1] ? slash + 1 : path), .hardware = ""};
        compare(result, extra, json);
    }
    return !result->texts.failed || kf_fail_memory(error, "the external timings");
}
