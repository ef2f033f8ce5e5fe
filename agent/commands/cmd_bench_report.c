/* `kforge bench report`: benches of a store, or one of them again in any form. */
#include <string.h>

#include "bench.h"
#include "bench_result.h"
#include "output.h"
#include "table.h"

typedef struct settings {
    const char *store;
    kf_bench_outputs outputs;
} settings;

static const char *text_of(const cJSON *json, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

typedef struct entry {
    char id[KF_RUN_ID], name[80];
    double started;
    int planned, runs, finished;
} entry;

#define LISTED 256

/* Benches, latest first, of the latest runs. */
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
        while (i < count && strcmp(entries[i].id, text_of(bench, "id")) != 0) i++;
        if (i == LISTED) break;
        entry *e = &entries[i];
        if (i == count) {
            count++;
            *e = (entry){.planned =
                             cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(bench, "tasks"))};
            snprintf(e->id, sizeof e->id, "%.10s", text_of(bench, "id"));
            snprintf(e->name, sizeof e->name, "%.79s", text_of(bench, "name"));
            const cJSON *started = cJSON_GetObjectItemCaseSensitive(bench, "started");
            e->started = cJSON_IsNumber(started) ? started->valuedouble : 0;
        }
        e->runs++;
        e->finished += run.status == KF_RUN_FINISHED;
    }
    if (row < 0) return false;
    kf_autotable table = {0};
    kf_auto(cJSON) array = cJSON_CreateArray();
    char when[KF_FIGURE];
    kf_table_add_column(&table, "bench", KF_LEFT, false);
    kf_table_add_column(&table, "name", KF_LEFT, true);
    kf_table_add_column(&table, "tasks", KF_RIGHT, false);
    kf_table_add_column(&table, "begun", KF_RIGHT, false);
    kf_table_add_column(&table, "finished", KF_RIGHT, false);
    kf_table_add_column(&table, "started", KF_LEFT, false);
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
        kf_add_figure(item, "started", e->started);
        cJSON_AddItemToArray(array, item);
    }
    if (json) return kf_print_json(invocation->output, kf_steal(&array), error);
    if (!count) fprintf(invocation->output, "no bench yet; \"kforge bench SUITE\" begins one\n");
    kf_table_print(&table, invocation->output, invocation->width, 0, invocation->color);
    return true;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_READ, error);
    kf_autobenchresult result = {0};
    char id[KF_RUN_ID];
    if (!store) return -1;
    if (!invocation->argument_count)
        return list(store, invocation, wanted->outputs.json, error) ? KF_EXIT_DONE : -1;
    bool loaded = kf_bench_find(store, invocation->arguments[0], id, error) &&
                  kf_bench_thresholds(&wanted->outputs.fast, &result, error) &&
                  kf_bench_load(store, id, &result, error) &&
                  kf_bench_external_timings(&wanted->outputs.times, &result, error);
    return loaded && kf_bench_write(&result, &wanted->outputs, invocation, error) ? KF_EXIT_DONE
                                                                                  : -1;
}

static const kf_option options[] = {
    KF_ROWS_BENCH_OUTPUTS(settings),
    KF_ROW_STORE(settings),
    {0},
};

const kf_command kf_command_bench_report = {
    .name = "bench report",
    .synopsis = "[BENCH]",
    .summary = "List benches, or report one of them",
    .description = "Without a BENCH it lists all. With one, by its id, the beginning of it, or "
                   "\"last\" (\"latest\"), it reports "
                   "what that has come to by "
                   "now, also while it still runs.",
    .examples = "kforge bench report\tlists all\n"
                "kforge bench report last --html report.html\twrites the latest as a page\n",
    .most_arguments = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
