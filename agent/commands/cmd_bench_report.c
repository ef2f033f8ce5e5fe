/* `kforge bench report` and `kforge bench compare`: both read benches that exist. */
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "bench_compare.h"
#include "bench_result.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "output.h"
#include "table.h"

/* ---- report ---------------------------------------------------------------------------------- */

typedef struct report_settings {
    const char *store;
    kf_bench_outputs outputs;
} report_settings;

typedef struct entry {
    char id[KF_RUN_ID], name[80];
    double started;
    int planned, runs, finished;
} entry;

#define LISTED 256

/* Lists the latest benches, the latest first. */
static bool list(kf_store *store, const kf_invocation *invocation, bool json, kf_error *error)
{
    static entry entries[LISTED];
    size_t count = 0;
    kf_auto(kf_store_cursor) cursor = kf_store_runs(store, NULL, error);
    kf_autoresult kf_store_run run = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_run(cursor, &run, error) : row) == 1) {
        kf_auto(cJSON) memory = NULL;
        const cJSON *bench = kf_bench_of_options(run.options, &memory);
        if (!bench) continue;
        size_t i = 0;
        while (i < count && strcmp(entries[i].id, kf_json_get_text(bench, "id", "")) != 0) i++;
        if (i == LISTED) break;
        entry *e = &entries[i];
        if (i == count) {
            count++;
            *e = (entry){.planned =
                             cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(bench, "tasks"))};
            snprintf(e->id, sizeof e->id, "%.10s", kf_json_get_text(bench, "id", ""));
            snprintf(e->name, sizeof e->name, "%.79s", kf_json_get_text(bench, "name", ""));
            const cJSON *started = cJSON_GetObjectItemCaseSensitive(bench, "started");
            e->started = cJSON_IsNumber(started) ? started->valuedouble : 0;
        }
        e->runs++;
        e->finished += run.status == KF_RUN_FINISHED;
    }
    if (row < 0) return false;
    kf_autotable table = {0};
    kf_auto(cJSON) all = kf_json_document("kforge-benches/1");
    cJSON *array = cJSON_AddArrayToObject(all, "benches");
    char when[KF_FIGURE];
    kf_table_add_columns(&table, "bench", "~name", ">tasks", ">begun", ">finished", "started",
                         NULL);
    for (size_t i = 0; i < count; i++) {
        const entry *e = &entries[i];
        kf_table_cell(&table, "%s", e->id);
        kf_table_cell(&table, "%s", e->name);
        kf_table_cell(&table, "%d", e->planned);
        kf_table_cell(&table, "%d", e->runs);
        kf_table_cell(&table, "%d", e->finished);
        kf_table_cell(&table, "%s", kf_figure_time(e->started, when));
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "id", e->id);
        cJSON_AddStringToObject(item, "name", e->name);
        cJSON_AddNumberToObject(item, "tasks", e->planned);
        cJSON_AddNumberToObject(item, "begun", e->runs);
        cJSON_AddNumberToObject(item, "finished", e->finished);
        kf_add_time(item, "started", e->started);
        cJSON_AddItemToArray(array, item);
    }
    if (json) return kf_print_json(invocation->output, kf_steal(&all), error);
    if (!count) fprintf(invocation->output, "no bench yet; \"kforge bench SUITE\" starts one\n");
    kf_table_print(&table, invocation->output, invocation->width, 0, invocation->color);
    return true;
}

static int run_report(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const report_settings *wanted = values;
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_READ, error);
    kf_autobenchresult result = {0};
    char id[KF_RUN_ID];
    if (!store) return -1;
    if (!invocation->argument_count)
        return list(store, invocation, wanted->outputs.json, error) ? KF_EXIT_DONE : -1;
    bool loaded = kf_bench_find(store, invocation->arguments[0], id, error) &&
                  kf_bench_rules(&wanted->outputs, &result, error) &&
                  kf_bench_load(store, id, &result, error) &&
                  kf_bench_external_timings(&wanted->outputs.times, &result, error);
    return loaded && kf_bench_write(&result, &wanted->outputs, invocation, error) ? KF_EXIT_DONE
                                                                                  : -1;
}

static const kf_option report_options[] = {
    KF_ROWS_BENCH_OUTPUTS(report_settings),
    KF_ROW_STORE(report_settings),
    {0},
};

const kf_command kf_command_bench_report = {
    .name = "bench report",
    .synopsis = "[BENCH]",
    .summary = "List benches, or report one of them",
    .description = "Without BENCH it lists all benches. BENCH is an id, the beginning of one, or "
                   "\"last\". It may still run.",
    .examples = "kforge bench report last --html report.html\tan HTML report of the latest\n",
    .most_arguments = 1,
    .options = report_options,
    .settings_size = sizeof(report_settings),
    .run = run_report,
};

/* ---- compare --------------------------------------------------------------------------------- */

#define REPORT_BYTES ((size_t)512 << 20)

typedef struct compare_settings {
    const char *store;
    bool json, by_name;
} compare_settings;

/* Loads a report of --json, a store (its latest bench, or FILE#ID), or a bench of the store. */
static bool load(const char *word, const compare_settings *wanted, kf_bench_result *result,
                 kf_error *error)
{
    struct stat status;
    char id[KF_RUN_ID];
    const char *mark = strrchr(word, '#');
    kf_autofree char *path = mark ? strndup(word, (size_t)(mark - word)) : strdup(word);
    if (!path) return kf_fail_memory(error, "a path");
    const kf_option_list usual = {0};
    if (!kf_bench_thresholds(&usual, result, error)) return false;
    bool file = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    size_t length = strlen(path), size;
    if (file && length > 5 && strcmp(path + length - 5, ".json") == 0) {
        kf_autofree char *text = kf_file_read(path, REPORT_BYTES, &size, error);
        kf_auto(cJSON) json = text ? kf_json_parse(text, size, REPORT_BYTES, path, error) : NULL;
        return json && kf_bench_read_json(json, path, result, error);
    }
    kf_auto(kf_store) store = kf_store_open(file ? path : wanted->store, KF_STORE_READ, error);
    return store &&
           kf_bench_find(store,
                         !file  ? word
                         : mark ? mark + 1
                                : "last",
                         id, error) &&
           kf_bench_load(store, id, result, error);
}

static int run_compare(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const compare_settings *wanted = values;
    kf_autobenchresult before = {0}, after = {0};
    __attribute__((cleanup(kf_bench_comparison_clear))) kf_bench_comparison comparison = {0};
    bool compared = load(invocation->arguments[0], wanted, &before, error) &&
                    load(invocation->arguments[1], wanted, &after, error) &&
                    kf_bench_compare(&before, &after, wanted->by_name, &comparison, error);
    if (!compared) return -1;
    return kf_bench_comparison_write(&comparison, invocation, wanted->json, error) ? KF_EXIT_DONE
                                                                                   : -1;
}

static const kf_option compare_options[] = {
    {KF_OPTION(FLAG, "by-name", NULL, compare_settings, by_name),
     .help = "Also pair problems of the same name with different content: other sizes or another "
             "oracle."},
    {KF_OPTION(FLAG, "json", NULL, compare_settings, json),
     .help = "Write one JSON value instead of text."},
    KF_ROW_STORE(compare_settings),
    {0},
};

const kf_command kf_command_bench_compare = {
    .name = "bench compare",
    .synopsis = "BENCH BENCH",
    .summary = "Compare two benches problem by problem",
    .description = "BENCH is an id, the beginning of one, \"last\", another store (its latest "
                   "bench, or FILE#ID), or a report.json of `kforge bench --json`. Problems are "
                   "paired by the content of their tasks, or by name if a content is unknown. The "
                   "ratio of speedups covers problems that both solved.",
    .examples = "kforge bench compare b7k2m last\ttwo benches of the store\n"
                "kforge bench compare old.db new.db --json\tthe latest of two stores\n",
    .least_arguments = 2,
    .most_arguments = 2,
    .options = compare_options,
    .settings_size = sizeof(compare_settings),
    .run = run_compare,
};
