/* Files for KernelBench's evaluator: the choice of candidates, the names of files, and their
 * provenance. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/scan.h"
#include "modelnew_internal.h"
#include "output.h"

typedef struct exporting {
    kf_store *store;
    const kf_modelnew_options *options;
    kf_modelnew_report *report;
    kf_selected_tasks tasks;
    kf_winner_files files;
    /* results in the form of KernelBench's evaluator, for each level */
    cJSON *results[10];
    cJSON *files_json; /* provenance of each file */
} exporting;

static bool is_file_name(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".py") == 0;
}

/* Returns kforge's figures in the form of KernelBench's evaluator, with times in milliseconds. */
static bool note_result(exporting *e, int level, int problem, const kf_winner *winner,
                        kf_error *error)
{
    size_t size;
    char key[16];
    kf_autofree char *text = kf_store_verdict_json(e->store, winner->verdict, &size, error);
    if (!text) return false;
    kf_auto(cJSON) verdict = cJSON_ParseWithLength(text, size);
    double seconds = NAN;
    const cJSON *workload;
    cJSON_ArrayForEach(workload, cJSON_GetObjectItemCaseSensitive(verdict, "workloads"))
    {
        if (isnan(seconds)) seconds = kf_json_get_number(workload, "candidate_seconds", NAN);
    }
    if (!e->results[level] && !(e->results[level] = cJSON_CreateObject()))
        return kf_fail_memory(error, "the ModelNew files");
    snprintf(key, sizeof key, "%d", problem);
    cJSON *list = cJSON_AddArrayToObject(e->results[level], key), *row = cJSON_CreateObject();
    if (!list || !row || !cJSON_AddItemToArray(list, row))
        return kf_fail_memory(error, "the ModelNew files");
    bool correct = winner->status == KF_CORRECT;
    cJSON_AddNumberToObject(row, "sample_id", 0);
    cJSON_AddBoolToObject(row, "compiled", winner->status != KF_COMPILE_ERROR);
    cJSON_AddBoolToObject(row, "correctness", correct);
    cJSON *metadata = cJSON_AddObjectToObject(row, "metadata");
    cJSON_AddStringToObject(metadata, "hardware", winner->device);
    cJSON_AddStringToObject(metadata, "kforge_status", kf_status_name(winner->status));
    kf_json_add_number(metadata, "kforge_speedup", winner->speedup.value);
    kf_json_add_number(row, "runtime", correct && !isnan(seconds) ? 1e3 * seconds : -1.0);
    cJSON_AddObjectToObject(row, "runtime_stats");
    return true;
}

/* A source of a task: from the store (`winner`), or a file of the user. */
typedef struct item {
    const kf_task *task;
    const char *source, *const *flags;
    size_t size;
    const kf_winner *winner; /* NULL for a file */
    bool changed;            /* True if scrubbing changed it */
} item;

/* Writes the first lines of the file, which describe it without provenance.json. */
static void write_notes(const exporting *e, const item *it, kf_buffer *text)
{
    const kf_winner *w = it->winner;
    if (w && !kf_source_is_python(it->source, it->size)) {
        kf_buffer_format(text, "# Candidate %.12s: ", w->hash);
        if (isnan(w->speedup.value))
            kf_buffer_string(text, "correct, not timed,");
        else
            kf_buffer_format(text,
                             "%.3f times as fast as its baseline (95 %% interval %.3f to %.3f)",
                             w->speedup.value, w->speedup.low, w->speedup.high);
        kf_buffer_format(text, " on %s, measured %s.\n", w->device,
                         w->reverified ? "twice" : "once");
    }
    if (it->changed)
        kf_buffer_string(text, "# kforge removed secrets, paths or bytes that are not UTF-8: this "
                               "is not the judged text.\n");
    if (strcmp(e->options->license, "unknown") != 0 && !kf_source_is_python(it->source, it->size))
        kf_buffer_format(text, "# Licence: %s\n", e->options->license);
}

static bool tell(exporting *e, const char *name, const item *it, bool own_sizes, kf_error *error)
{
    cJSON *row = cJSON_CreateObject();
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(it->source, it->size);
    kf_hash_hex(&hash, hex);
    if (!row || !cJSON_AddItemToArray(e->files_json, row))
        return cJSON_Delete(row), kf_fail_memory(error, "the ModelNew files");
    cJSON_AddStringToObject(row, "file", name);
    cJSON_AddStringToObject(row, "task", kf_task_name(it->task));
    cJSON_AddStringToObject(row, "task_hash", kf_task_hash(it->task));
    cJSON_AddStringToObject(row, "source_sha256", hex);
    cJSON_AddBoolToObject(row, "sizes_of_the_problem", own_sizes);
    if (!it->winner) {
        cJSON_AddStringToObject(row, "origin", "a file, as given");
        return true;
    }
    cJSON_AddStringToObject(row, "candidate", it->winner->hash);
    kf_add_embedded(row, "flags", it->winner->flags);
    cJSON_AddBoolToObject(row, "as_judged", it->winner->as_judged);
    cJSON_AddStringToObject(row, "measured_on", it->winner->device);
    cJSON_AddBoolToObject(row, "measured_twice", it->winner->reverified);
    kf_add_interval(row, "speedup", it->winner->speedup);
    return true;
}

/* True if the exported workload has the sizes of the problem itself. forward refuses other shapes.
 */
static bool has_own_sizes(const item *it, bool *own, kf_error *error)
{
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    kf_auto(cJSON) patches = NULL;
    if (!problem) return kf_fail_memory(error, "the ModelNew files");
    if (!kf_modelnew_resolve(it->task, it->winner && it->winner->on_cpu, problem, &patches, error))
        return false;
    *own = kf_source_is_python(it->source, it->size) || cJSON_GetArraySize(patches) == 0;
    return true;
}

static bool write_one(exporting *e, const item *it, kf_error *error)
{
    const kf_modelnew_options *o = e->options;
    bool own_sizes = false;
    char name[300];
    snprintf(name, sizeof name, "%s.py", kf_task_name(it->task));
    const char *solution = kf_task_solution_name(it->task);
    if (o->submission && (!solution || strcmp(solution, "custom_kernel") != 0)) {
        if (it->winner) return true; /* not a task of GPU MODE */
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not imported with kforge import gpu-mode, so it has no submission.py",
                       kf_task_name(it->task));
    }
    if (o->kernelbench) {
        const cJSON *level =
                        cJSON_GetObjectItemCaseSensitive(kf_modelnew_origin(it->task), "level"),
                    *problem =
                        cJSON_GetObjectItemCaseSensitive(kf_modelnew_origin(it->task), "problem");
        if (!cJSON_IsNumber(level) || !cJSON_IsNumber(problem) || level->valuedouble < 0 ||
            level->valuedouble > 9)
            return true; /* not a task of KernelBench */
        snprintf(name, sizeof name, "level_%d_problem_%d_sample_0_kernel.py", level->valueint,
                 problem->valueint);
        if (it->winner && !note_result(e, level->valueint, problem->valueint, it->winner, error))
            return false;
    }
    kf_autobuffer notes = {0};
    write_notes(e, it, &notes);
    const kf_modelnew_source given = {.text = it->source,
                                      .size = it->size,
                                      .flags = it->flags,
                                      .on_cpu = it->winner && it->winner->on_cpu,
                                      .notes = notes.data};
    kf_autofree char *text = o->submission ? kf_submission_text(it->task, &given, error)
                                           : kf_modelnew_text(it->task, &given, error);
    if (!text || !has_own_sizes(it, &own_sizes, error)) return false;
    own_sizes = own_sizes || o->submission; /* it takes all sizes */
    const cJSON *other;
    cJSON_ArrayForEach(other, e->files_json)
    {
        if (strcmp(kf_json_get_text(other, "file", NULL), name) == 0)
            return kf_fail(
                error, KF_ERROR_INPUT,
                "several tasks of the store would become %s; choose one by its hash with --task",
                name);
    }
    if (is_file_name(o->output) && e->report->files)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "%s: the store has several tasks for PyTorch: name a folder, or one with --task",
            o->output);
    if (!tell(e, name, it, own_sizes, error) ||
        !kf_winner_put(&e->files, name, text, strlen(text), error))
        return false;
    e->report->files++;
    e->report->changed += it->changed;
    e->report->scaled += !own_sizes;
    return true;
}

/* "[\"-DX=1\"]" of a stored candidate. */
static bool write_winner(exporting *e, const kf_task *task, const kf_winner *winner,
                         kf_error *error)
{
    const char *flags[65] = {0};
    int count = 0;
    kf_auto(cJSON) list = cJSON_Parse(winner->flags);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, list) if (cJSON_IsString(flag) && count < 64) flags[count++] =
        flag->valuestring;
    const item it = {.task = task,
                     .source = winner->source,
                     .size = winner->size,
                     .flags = flags,
                     .winner = winner,
                     .changed = !winner->as_judged};
    return write_one(e, &it, error);
}

static bool export_task(exporting *e, const char *hash, kf_error *error)
{
    kf_auto(kf_task) task = kf_stored_task(e->store, hash, error);
    if (!task) return false;
    if (!kf_task_is_torch(task)) return true;
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

static bool export_file(exporting *e, kf_error *error)
{
    size_t size;
    const char *path = e->options->candidate;
    kf_auto(kf_task) task = kf_task_load(e->options->selection.task, error);
    kf_autofree char *source = task ? kf_file_read(path, KF_SOURCE_BYTES, &size, error) : NULL;
    if (!source) return false;
    if (memchr(source, '\0', size))
        return kf_fail(error, KF_ERROR_INPUT, "%s: has a NUL byte: not a source", path);
    kf_autofree char *clean =
        kf_scrub_text(e->files.scrubber, source, size, false, &e->files.scrubbed, error);
    if (!clean) return false;
    const item it = {.task = task,
                     .source = clean,
                     .size = strlen(clean),
                     .changed = strcmp(clean, source) != 0};
    return write_one(e, &it, error);
}

/* The name is not eval_results.json, because KernelBench's evaluator skips problems that are in
 * that file. */
static bool write_results(exporting *e, kf_error *error)
{
    for (int i = 0; i < 10; i++) {
        char name[40];
        snprintf(name, sizeof name, "kforge_results_level_%d.json", i);
        kf_autofree char *text = e->results[i] ? cJSON_Print(e->results[i]) : NULL;
        if (e->results[i] && !text) return kf_fail_memory(error, "the ModelNew files");
        if (text && !kf_winner_put(&e->files, name, text, strlen(text), error)) return false;
    }
    return true;
}

static bool write_provenance(exporting *e, kf_error *error)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "schema", "kforge-modelnew/1");
    cJSON_AddStringToObject(json, "kforge", KFORGE_VERSION);
    cJSON_AddStringToObject(json, "license", e->options->license);
    if (!cJSON_AddItemToObject(json, "files", e->files_json))
        return kf_fail_memory(error, "the ModelNew files");
    e->files_json = NULL;
    kf_autofree char *text = cJSON_Print(json);
    return text ? kf_winner_put(&e->files, "provenance.json", text, strlen(text), error)
                : kf_fail_memory(error, "the ModelNew files");
}

static bool export_all(exporting *e, kf_error *error)
{
    for (size_t i = 0; i < e->tasks.count; i++)
        if (!export_task(e, e->tasks.hashes[i], error)) return false;
    if (e->report->files) return true;
    return kf_fail(error, KF_ERROR_INPUT, "the store has no %s candidate of a task %s%s",
                   e->options->selection.faster ? "faster" : "correct",
                   e->options->kernelbench ? "of KernelBench" : "for PyTorch",
                   e->tasks.held_out ? " that is not held out" : "");
}

bool kf_export_modelnew(kf_store *store, const kf_modelnew_options *options,
                        kf_modelnew_report *report, kf_error *error)
{
    exporting e = {
        .store = store, .options = options, .report = report, .files_json = cJSON_CreateArray()};
    bool folder = options->kernelbench || !is_file_name(options->output), good = e.files_json;
    if (options->candidate && !options->selection.task)
        good = kf_fail(error, KF_ERROR_INPUT, "--candidate needs --task, the folder of its task");
    good = good &&
           (options->candidate || kf_select_tasks(store, &options->selection, &e.tasks, error));
    report->held_out = (int64_t)e.tasks.held_out;
    kf_auto(kf_scrubber) scrubber =
        good ? kf_scrubber_new(options->selection.secrets, options->selection.secret_count, error)
             : NULL;
    kf_auto(kf_atomic_output) output =
        scrubber ? kf_atomic_output_open(options->output, folder, options->force, error) : NULL;
    e.files =
        (kf_winner_files){.selection = &options->selection, .output = output, .scrubber = scrubber};
    good = output && (options->candidate ? export_file(&e, error) : export_all(&e, error));
    if (good && options->candidate && !report->files)
        good = kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a task of KernelBench; --format modelnew writes its file",
                       options->selection.task);
    good = good && (!folder || (write_results(&e, error) && write_provenance(&e, error))) &&
           kf_atomic_output_commit(output, error);
    report->scrubbed = e.files.scrubbed;
    for (int i = 0; i < 10; i++) cJSON_Delete(e.results[i]);
    cJSON_Delete(e.files_json);
    kf_selected_tasks_free(&e.tasks);
    return good;
}
