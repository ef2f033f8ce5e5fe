/* `kforge list`: the runs of the store, or tasks. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kforge/file.h"
#include "named_task.h"
#include "output.h"
#include "table.h"

#define RUNS_SCHEMA "kforge-runs/1"

typedef struct settings {
    const char *store, *task;
    bool tasks, quiet, json;
    int64_t limit;
} settings;

/* ---- runs ------------------------------------------------------------------------------------ */

/* the column of the device */
#define DEVICE_COLUMN 3

static void add_run_columns(kf_table *table)
{
    kf_table_add_columns(table, "RUN", "AGE", "~TASK", "~DEVICE", "STATUS", ">CORRECT", ">BEST",
                         "95 %", NULL);
}

static void add_run(kf_table *table, const kf_store_run *run)
{
    char figure[KF_FIGURE];
    kf_figure_age(run->started, (double)time(NULL), figure);
    char *ago = strstr(figure, " ago");
    if (ago) *ago = '\0';
    kf_table_cell(table, "%s", run->id);
    kf_table_cell(table, "%s", figure);
    kf_table_cell(table, "%s", run->task_name);
    kf_table_cell(table, "%s", run->device);
    kf_table_cell(table, "%s", kf_run_state(run));
    kf_table_cell(table, "%lld of %lld", (long long)run->correct, (long long)run->judged);
    kf_table_cell(table, "%s", kf_figure_speedup(run->best_speedup, figure));
    kf_table_cell(table, "%s", kf_figure_interval(run->best_speedup, figure));
}

/* Prints the runs. A device that all have stands below the table, where it is not cut. */
static void print_runs(kf_table *table, const kf_view *view)
{
    kf_autobuffer device = {0};
    size_t columns = (size_t)table->column_count, same = 0, rows = table->cell_count / columns;
    for (size_t r = 0; r < rows; r++)
        same += strcmp(table->cells[r * columns + DEVICE_COLUMN], table->cells[DEVICE_COLUMN]) == 0;
    if (rows && same == rows) {
        kf_buffer_format(&device, "device  %s", table->cells[DEVICE_COLUMN]);
        for (size_t r = 0; r < rows; r++) table->cells[r * columns + DEVICE_COLUMN][0] = '\0';
    }
    kf_table_print(table, view->out, view->width, 0, view->color);
    if (device.data) fprintf(view->out, "%s\n", device.data);
}

static void add_run_json(cJSON *array, const kf_store_run *run)
{
    cJSON *row = cJSON_CreateObject();
    kf_add_run(row, run);
    cJSON_AddItemToArray(array, row);
}

static bool list_runs(const kf_view *view, kf_store *store, const settings *wanted, kf_error *error)
{
    kf_autoresult kf_store_task task = {0};
    if (wanted->task && !kf_store_find_task(store, wanted->task, &task, error)) return false;
    kf_auto(kf_store_cursor) cursor = kf_store_runs(store, wanted->task ? task.hash : NULL, error);
    if (!cursor) return false;
    kf_autotable table = {0};
    add_run_columns(&table);
    kf_auto(cJSON) json = kf_json_document(RUNS_SCHEMA);
    cJSON *array = cJSON_AddArrayToObject(json, "runs");
    kf_autoresult kf_store_run run = {0};
    int more = 0;
    int64_t shown = 0;
    while ((wanted->limit == 0 || shown < wanted->limit) &&
           (more = kf_store_next_run(cursor, &run, error)) > 0) {
        shown++;
        if (view->json)
            add_run_json(array, &run);
        else if (wanted->quiet)
            fprintf(view->out, "%s\n", run.id);
        else
            add_run(&table, &run);
    }
    if (more < 0) return false;
    if (view->json) return kf_print_json(view->out, kf_steal(&json), error);
    if (wanted->quiet) return true;
    print_runs(&table, view);
    if (more > 0 && kf_store_next_run(cursor, &run, NULL) > 0)
        fprintf(view->out, "… and older ones (--limit 0 lists all)\n");
    return true;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

typedef struct task_list {
    kf_table table;
    FILE *names;     /* only the names; NULL: the table or the array */
    cJSON *array;    /* NULL for text */
    kf_store *store; /* may be NULL */
    FILE *log;
} task_list;

static void add_task(task_list *list, const char *place, const kf_task *task,
                     const kf_store_task *stored)
{
    const cJSON *family =
        task ? cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "family") : NULL;
    const char *name = task ? kf_task_name(task) : stored->name,
               *hash = task ? kf_task_hash(task) : stored->hash;
    const char *family_name = cJSON_IsString(family) ? family->valuestring : "";
    int64_t runs = stored ? stored->runs : 0, candidates = stored ? stored->candidates : 0;
    if (list->array) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(list->array, row);
        cJSON_AddStringToObject(row, "name", name);
        cJSON_AddStringToObject(row, "hash", hash);
        if (place)
            cJSON_AddStringToObject(row, "folder", place);
        else
            cJSON_AddNullToObject(row, "folder");
        cJSON_AddStringToObject(row, "family", family_name);
        kf_add_figure(row, "workloads", task ? kf_task_workload_count(task) : NAN);
        kf_add_figure(row, "runs", (double)runs);
        kf_add_figure(row, "candidates", (double)candidates);
        return;
    }
    if (list->names) {
        fprintf(list->names, "%s\n", name);
        return;
    }
    kf_table_cell(&list->table, "%s", name);
    kf_table_cell(&list->table, "%.8s", hash);
    kf_table_cell(&list->table, "%s", family_name);
    kf_table_cell(&list->table, task ? "%d" : "", task ? kf_task_workload_count(task) : 0);
    kf_table_cell(&list->table, "%lld", (long long)runs);
    kf_table_cell(&list->table, "%lld", (long long)candidates);
    kf_table_cell(&list->table, "%s",
                  !place                             ? "only in the store"
                  : strncmp(place, "tasks/", 6) == 0 ? place
                                                     : "with kforge");
}

static int has_task(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

#define MAX_FOLDERS 1024

/* hashes of the tasks in the list */
typedef struct seen_tasks {
    char (*hashes)[KF_HASH_HEX];
    size_t count;
} seen_tasks;

static bool has_seen(const seen_tasks *seen, const char *hash)
{
    for (size_t i = 0; i < seen->count; i++)
        if (strcmp(seen->hashes[i], hash) == 0) return true;
    return false;
}

/* Adds every task folder in `folder`, unless the list has the task. Names folders that do not load
 * on the log. */
static bool list_folders(task_list *list, const char *folder, seen_tasks *seen, kf_error *error)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, has_task, alphasort);
    if (found < 0)
        return errno == ENOENT || errno == ENOTDIR ||
               kf_fail(error, KF_ERROR_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < found; i++) {
        kf_autofree char *place = kf_path_join(folder, entries[i]->d_name),
                         *file = place ? kf_path_join(place, "task.json") : NULL;
        free(entries[i]);
        if (!file || access(file, F_OK) != 0) continue;
        kf_error reason;
        kf_auto(kf_task) task = kf_task_load(place, &reason);
        if (!task) {
            fprintf(list->log, "kforge: left out: %s\n", reason.text);
            continue;
        }
        if (has_seen(seen, kf_task_hash(task))) continue;
        kf_autoresult kf_store_task stored = {0};
        bool known =
            list->store && kf_store_find_task(list->store, kf_task_hash(task), &stored, NULL);
        add_task(list, place, task, known ? &stored : NULL);
        if (seen->count < MAX_FOLDERS)
            memcpy(seen->hashes[seen->count++], kf_task_hash(task), KF_HASH_HEX);
    }
    free(entries);
    return true;
}

static bool list_tasks(const kf_view *view, kf_store *store, bool quiet, FILE *log, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_document("kforge-tasks/1");
    task_list list = {.store = store,
                      .names = quiet ? view->out : NULL,
                      .log = log,
                      .array = view->json ? cJSON_AddArrayToObject(json, "tasks") : NULL};
    kf_autotable table = {0};
    kf_table_add_columns(&list.table, "TASK", "HASH", "FAMILY", ">SHAPES", ">RUNS", ">TRIED",
                         "~FOLDER", NULL);
    kf_autofree char(*hashes)[KF_HASH_HEX] = malloc(MAX_FOLDERS * sizeof *hashes);
    kf_autofree char *installed = kf_installed_tasks(error);
    seen_tasks seen = {.hashes = hashes};
    bool good = hashes && installed ? list_folders(&list, "tasks", &seen, error) &&
                                          list_folders(&list, installed, &seen, error)
                                    : kf_fail_memory(error, "the list");
    kf_auto(kf_store_cursor) cursor = good && store ? kf_store_tasks(store, error) : NULL;
    if (store && !cursor) good = false;
    kf_autoresult kf_store_task stored = {0};
    int more = 0;
    while (good && cursor && (more = kf_store_next_task(cursor, &stored, error)) > 0) {
        if (!has_seen(&seen, stored.hash)) add_task(&list, NULL, NULL, &stored);
    }
    table = list.table; /* freed from here on */
    if (!good || more < 0) return false;
    if (view->json) return kf_print_json(view->out, kf_steal(&json), error);
    if (quiet) return true;
    if (!table.cell_count)
        fprintf(log, "kforge: no tasks in tasks/, in %s or in the store\n", installed);
    kf_table_print(&table, view->out, view->width, 0, view->color);
    return true;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_view view = kf_view_of(invocation, wanted->json);
    kf_auto(kf_store) store = NULL;
    if (!kf_open_to_read(wanted->store, &store, error)) return -1;
    if (wanted->tasks)
        return list_tasks(&view, store, wanted->quiet, invocation->log, error) ? KF_EXIT_DONE : -1;
    if (store) return list_runs(&view, store, wanted, error) ? KF_EXIT_DONE : -1;
    if (wanted->json) {
        kf_auto(cJSON) json = kf_json_document(RUNS_SCHEMA);
        cJSON_AddArrayToObject(json, "runs");
        return kf_print_json(invocation->output, kf_steal(&json), error) ? KF_EXIT_DONE : -1;
    }
    fputs("kforge: no runs yet\n", invocation->log);
    return KF_EXIT_DONE;
}

static const kf_option options[] = {
    KF_ROW_STORE(settings),
    {KF_OPTION(TEXT, "task", "TASK", settings, task), .letter = 't',
     .help = "Only runs of this task: its name, its hash, or the beginning of the hash."},
    {KF_OPTION(FLAG, "tasks", NULL, settings, tasks),
     .help = "List the tasks in tasks/, of kforge, and of the store."},
    {KF_OPTION(INTEGER, "limit", "N", settings, limit), .letter = 'n', .fallback = "20", .low = 0,
     .high = 1e9, .help = "Number of runs to list, the latest first; 0: all."},
    {KF_OPTION(FLAG, "quiet", NULL, settings, quiet), .letter = 'q',
     .help = "Print only the ids of the runs, or the names of the tasks."},
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_list = {
    .name = "list",
    .synopsis = "",
    .summary = "List runs, or tasks",
    .description =
        "The latest run comes first, with the best candidate's speedup over the baseline and its "
        "95 % interval. A run that died ended by a crash or a signal; --resume continues it.",
    .examples = "kforge list --task row_softmax\truns of one task\n"
                "kforge list --json | jq '.runs[0].best_speedup'\tspeedup of the latest run",
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
