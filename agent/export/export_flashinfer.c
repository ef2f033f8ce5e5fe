/* Solutions and traces: the choice of candidates and the files. */
#include "export_flashinfer.h"

#include <stdlib.h>
#include <string.h>

#include "flashinfer_trace.h"
#include "kforge/buffer.h"
#include "kforge/json.h"
#include "kforge/verdict.h"
#include "modelnew_internal.h"
#include "output.h"
#include "verdict_brief.h"

typedef struct exporting {
    kf_store *store;
    const kf_modelnew_options *options;
    kf_modelnew_report *report;
    kf_selected_tasks tasks;
    kf_winner_files files;
    cJSON *provenance; /* of each solution */
} exporting;

/* ---- traces ---------------------------------------------------------------------------------- */

static int workload_index(const kf_task *task, const char *name)
{
    for (int i = 0; i < kf_task_workload_count(task); i++)
        if (strcmp(kf_task_workload_name(task, i), name) == 0) return i;
    return -1;
}

static bool has_value(const kf_binding *bindings, int count, const char *name, double value)
{
    for (int i = 0; i < count; i++)
        if (strcmp(bindings[i].name, name) == 0) return (double)bindings[i].value == value;
    return false;
}

/* True if a workload was judged at the extents that its definition gives. */
static bool has_own_size(const kf_task *task, const char *name, const cJSON *given, bool on_cpu)
{
    kf_binding bindings[KF_MAX_PARAMS];
    const cJSON *definition = kf_flashinfer_definition(task), *axis,
                *params = cJSON_GetObjectItemCaseSensitive(definition, "params");
    int index = workload_index(task, name);
    int count =
        index < 0 ? -1 : kf_task_params(task, index, on_cpu ? "cpu" : "cuda", bindings, NULL);
    if (count < 0) return false;
    cJSON_ArrayForEach(axis, cJSON_GetObjectItemCaseSensitive(definition, "axes"))
    {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(axis, "value");
        if (!cJSON_IsNumber(value))
            value = cJSON_GetObjectItemCaseSensitive(
                cJSON_GetObjectItemCaseSensitive(given, "axes"), axis->string);
        const char *param = kf_json_get_text(params, axis->string, NULL);
        if (cJSON_IsNumber(value) && param &&
            !has_value(bindings, count, param, value->valuedouble))
            return false;
    }
    return true;
}

static bool write_trace(exporting *e, const kf_task *task, const kf_winner *winner,
                        const kf_flashinfer_trace *common, const kf_workload_verdict *w,
                        kf_buffer *lines, kf_error *error)
{
    const cJSON *all =
        cJSON_GetObjectItemCaseSensitive(kf_flashinfer_definition(task), "workloads");
    kf_flashinfer_trace trace = *common;
    trace.workload = w;
    trace.given = cJSON_GetObjectItemCaseSensitive(all, w->workload);
    if (!kf_flashinfer_has_trace(w)) return true;
    if (!trace.given || !has_own_size(task, w->workload, trace.given, winner->on_cpu)) {
        e->report->scaled++;
        return true;
    }
    kf_auto(cJSON) json = kf_flashinfer_trace_json(&trace);
    kf_autofree char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    if (!text) return kf_fail_memory(error, "the traces");
    kf_buffer_format(lines, "%s\n", text);
    return true;
}

static bool write_traces(exporting *e, const kf_task *task, const kf_winner *winner,
                         const char *name, kf_error *error)
{
    size_t size;
    char file[300];
    kf_autofree char *text = kf_store_verdict_json(e->store, winner->verdict, &size, error);
    kf_auto(cJSON) json =
        text ? kf_json_parse(text, size, KF_STORE_BLOB_BYTES, "verdict in the store", error) : NULL;
    kf_auto(kf_verdict) verdict = json ? kf_verdict_from_json(json, error) : NULL;
    kf_autofree char *summary = verdict ? kf_verdict_summary(verdict) : NULL;
    if (!verdict) return false;
    if (!summary) return kf_fail_memory(error, "the traces");
    const cJSON *definition = kf_flashinfer_definition(task);
    const kf_flashinfer_trace common = {.definition = kf_json_get_text(definition, "name", NULL),
                                        .solution = name,
                                        .status = verdict->status,
                                        .summary = summary,
                                        .hardware = winner->device,
                                        .when = time(NULL),
                                        .sol_execbench = kf_flashinfer_is_sol(task)};
    kf_autobuffer lines = {0};
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (!write_trace(e, task, winner, &common, &verdict->workloads[i], &lines, error))
            return false;
    if (!lines.size) return true;
    if (lines.failed) return kf_fail_memory(error, "the traces");
    snprintf(file, sizeof file, "traces/%s.jsonl", kf_task_name(task));
    return kf_winner_put(&e->files, file, lines.data, lines.size, error);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool tell(exporting *e, const kf_task *task, const kf_winner *winner, const char *file)
{
    cJSON *row = cJSON_CreateObject();
    const char *license = kf_json_get_text(kf_task_json(task), "license", NULL);
    return row && cJSON_AddItemToArray(e->provenance, row) &&
           cJSON_AddStringToObject(row, "file", file) &&
           cJSON_AddStringToObject(row, "task", kf_task_name(task)) &&
           cJSON_AddStringToObject(row, "task_hash", kf_task_hash(task)) &&
           cJSON_AddStringToObject(row, "task_license", license ? license : "unknown") &&
           cJSON_AddStringToObject(row, "candidate", winner->hash) &&
           cJSON_AddBoolToObject(row, "as_judged", winner->as_judged) &&
           cJSON_AddStringToObject(row, "measured_on", winner->device);
}

static bool write_winner(exporting *e, const kf_task *task, const kf_winner *winner,
                         kf_error *error)
{
    char name[128], file[160];
    snprintf(name, sizeof name, "%.80s_kforge_%.12s", kf_task_name(task), winner->hash);
    snprintf(file, sizeof file, "solutions/%s.json", name);
    kf_auto(cJSON) solution = kf_flashinfer_solution(task, winner, name, error);
    if (!solution) return false;
    kf_autofree char *text = cJSON_Print(solution);
    if (!text || !tell(e, task, winner, file)) return kf_fail_memory(error, "the solutions");
    if (!kf_winner_put(&e->files, file, text, strlen(text), error) ||
        !write_traces(e, task, winner, name, error))
        return false;
    e->report->files++;
    e->report->changed += !winner->as_judged;
    return true;
}

static bool export_task(exporting *e, const char *hash, kf_error *error)
{
    kf_auto(kf_task) task = kf_stored_task(e->store, hash, error);
    if (!task) return false;
    if (!kf_flashinfer_definition(task)) return true;
    kf_winner winner = {0};
    bool found, good = kf_winner_best(e->store, &e->options->selection, &e->tasks, hash,
                                      e->files.scrubber, &winner, &found, error);
    if (found)
        good = write_winner(e, task, &winner, error);
    else if (good)
        e->report->skipped++;
    kf_winner_free(&winner);
    return good;
}

static bool export_all(exporting *e, kf_error *error)
{
    for (size_t i = 0; i < e->tasks.count; i++)
        if (!export_task(e, e->tasks.hashes[i], error)) return false;
    if (!e->report->files)
        return kf_fail(error, KF_ERROR_INPUT,
                       "the store has no %s candidate of a task from import sol-execbench or "
                       "flashinfer-bench",
                       e->options->selection.faster ? "faster" : "correct");
    kf_auto(cJSON) json = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(json, "schema", "kforge-solutions/1") &&
                cJSON_AddStringToObject(json, "kforge", KFORGE_VERSION) &&
                cJSON_AddStringToObject(json, "license", e->options->license) &&
                cJSON_AddItemToObject(json, "files", e->provenance);
    if (made) e->provenance = NULL;
    kf_autofree char *text = made ? cJSON_Print(json) : NULL;
    return text ? kf_winner_put(&e->files, "provenance.json", text, strlen(text), error)
                : kf_fail_memory(error, "the solutions");
}

bool kf_export_flashinfer(kf_store *store, const kf_modelnew_options *options,
                          kf_modelnew_report *report, kf_error *error)
{
    exporting e = {
        .store = store, .options = options, .report = report, .provenance = cJSON_CreateArray()};
    bool good = e.provenance && kf_select_tasks(store, &options->selection, &e.tasks, error);
    report->held_out = (int64_t)e.tasks.held_out;
    kf_auto(kf_scrubber) scrubber =
        good ? kf_scrubber_new(options->selection.secrets, options->selection.secret_count, error)
             : NULL;
    kf_auto(kf_atomic_output) output =
        scrubber ? kf_atomic_output_open(options->output, true, options->force, error) : NULL;
    e.files =
        (kf_winner_files){.selection = &options->selection, .output = output, .scrubber = scrubber};
    good = output && export_all(&e, error) && kf_atomic_output_commit(output, error);
    report->scrubbed = e.files.scrubbed;
    cJSON_Delete(e.provenance);
    kf_selected_tasks_free(&e.tasks);
    return good;
}
