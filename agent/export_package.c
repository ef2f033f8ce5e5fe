/* The package: a folder that CMake builds into libraries, one a kernel and one that chooses between them.
 *
 *     include/kforge_kernels.h         the entries, as the tasks declare them
 *     src/TASK.cu                      chooses by the scalars of the call; the winner over all workloads is the default
 *     src/TASK_HASH.cu                 a winner's source, untouched
 *     src/TASK_HASH.h                  its prototype, included before its first line
 *     test/TASK.cu, test/fill.h        calls entry and baseline on the task's smallest workload and compares
 *     test/TASK_baseline.cu            the task's baseline
 *     CMakeLists.txt  provenance.json  README.md
 *
 * Candidates were written to be alone in their library and name their kernels as they like. Each therefore becomes a shared object of its own with
 * hidden symbols, whose entry is renamed by a macro (ENTRY -> ENTRY_HASH); nothing in the source is touched.
 *
 * A winner was measured again in fresh processes and is faster with its whole interval. Another candidate gets a workload's scalars where its
 * interval there lies above the default's. Everything of a task comes from one kind of device.
 */
#include "export_package.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/build.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/task.h"
#include "package_internal.h"
#include "show.h"

#define CONTENDERS 16

/* ---- choosing ---- */

static bool read_speedups(kf_store *store, kf_kernel *kernel, const kf_task *task, kf_error *error)
{
    size_t size;
    for (int w = 0; w < KF_MAX_WORKLOADS; w++) kernel->speedups[w] = (kf_interval){NAN, NAN, NAN};
    kf_autofree char *text = kf_store_verdict_json(store, kernel->verdict, &size, error);
    if (!text) return false;
    cJSON *json = cJSON_ParseWithLength(text, size);
    const cJSON *workload;
    cJSON_ArrayForEach(workload, cJSON_GetObjectItemCaseSensitive(json, "workloads"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(workload, "workload"));
        const cJSON *speedup = cJSON_GetObjectItemCaseSensitive(workload, "speedup");
        for (int w = 0; name && w < kf_task_workload_count(task); w++)
            if (strcmp(kf_task_workload_name(task, w), name) == 0)
                kernel->speedups[w] =
                    (kf_interval){kf_json_get_number(speedup, "value", NAN), kf_json_get_number(speedup, "low", NAN),
                                  kf_json_get_number(speedup, "high", NAN)};
    }
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(json, "provenance");
    const cJSON *sanitizer = cJSON_GetObjectItemCaseSensitive(origin, "sanitizer");
    if (sanitizer) kernel->sanitizer = cJSON_Duplicate(sanitizer, true);
    cJSON_Delete(json);
    return true;
}

static bool take(kf_store *store, const kf_store_candidate *candidate, const kf_task *task, kf_kernel *kernel, kf_error *error)
{
    *kernel = (kf_kernel){.speedup = candidate->speedup, .verdict = candidate->verdict};
    memcpy(kernel->hash, candidate->hash, sizeof kernel->hash);
    kernel->source = kf_store_source(store, candidate->id, &kernel->size, error);
    kernel->flags = strdup(candidate->flags);
    kernel->device = strdup(candidate->device);
    if (kernel->source && (!kernel->flags || !kernel->device)) kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    return kernel->source && kernel->flags && kernel->device && read_speedups(store, kernel, task, error);
}

static void drop(kf_kernel *kernel)
{
    free(kernel->source);
    free(kernel->flags);
    free(kernel->device);
    cJSON_Delete(kernel->sanitizer);
    *kernel = (kf_kernel){0};
}

void kf_winners_free(kf_winners *winners)
{
    for (size_t i = 0; i < winners->count; i++) drop(&winners->kernels[i]);
    kf_task_free(winners->task);
    *winners = (kf_winners){0};
}

/* Which kernel is best for a workload: the default, unless another is faster there without doubt. */
static size_t best_for(const kf_winners *w, int workload)
{
    size_t best = 0;
    for (size_t i = 1; i < w->count; i++)
        if (w->kernels[i].speedups[workload].low > w->kernels[best].speedups[workload].high) best = i;
    return best;
}

/* The contenders of a task, the default first; those that win no workload are dropped. */
static bool choose(kf_store *store, const char *hash, kf_winners *w, kf_error *error)
{
    kf_store_scope scope = {.task = hash, .island = -1, .reverified = true};
    kf_auto(kf_store_cursor) cursor = kf_store_best(store, &scope, CONTENDERS, error);
    kf_autoresult kf_store_candidate candidate = {0};
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_store_next_candidate(cursor, &candidate, error)) == 1) {
        if (!(candidate.speedup.low > 1)) continue;
        if (w->count && strcmp(w->kernels[0].device, candidate.device) != 0) continue;
        if (!take(store, &candidate, w->task, &w->kernels[w->count++], error)) return false;
    }
    if (row < 0) return false;
    bool wins[CONTENDERS] = {true};
    for (int k = 0; k < kf_task_workload_count(w->task); k++) wins[best_for(w, k)] = true;
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (wins[i])
            w->kernels[kept++] = w->kernels[i];
        else
            drop(&w->kernels[i]);
    }
    w->count = kept;
    for (int k = 0; k < kf_task_workload_count(w->task); k++) w->choice[k] = w->count ? best_for(w, k) : 0;
    w->on_cpu = w->count && strncmp(w->kernels[0].device, "cpu", 3) == 0;
    return true;
}

/* ---- files ---- */

bool kf_package_put(const char *folder, const char *name, kf_buffer *text, kf_error *error)
{
    kf_autofree char *path = text->failed ? NULL : kf_path_join(folder, name);
    if (!path) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    return kf_file_write(path, text->data ? text->data : "", text->size, error);
}

static cJSON *provenance(const kf_winners *w)
{
    cJSON *json = cJSON_CreateObject(), *kernels;
    cJSON_AddStringToObject(json, "task", kf_task_name(w->task));
    cJSON_AddStringToObject(json, "task_hash", kf_task_hash(w->task));
    cJSON_AddStringToObject(json, "entry", kf_task_entry(w->task));
    const char *license = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(kf_task_json(w->task), "license"));
    cJSON_AddStringToObject(json, "task_license", license ? license : "unknown");
    cJSON_AddStringToObject(json, "measured_on", w->kernels[0].device);
    kernels = cJSON_AddArrayToObject(json, "kernels");
    for (size_t i = 0; i < w->count; i++) {
        cJSON *kernel = cJSON_CreateObject(), *workloads;
        cJSON_AddStringToObject(kernel, "candidate", w->kernels[i].hash);
        kf_add_embedded(kernel, "flags", w->kernels[i].flags);
        kf_add_interval(kernel, "speedup", w->kernels[i].speedup);
        if (w->kernels[i].sanitizer)
            cJSON_AddItemToObject(kernel, "sanitizer", cJSON_Duplicate(w->kernels[i].sanitizer, true));
        else if (!w->on_cpu)
            cJSON_AddStringToObject(kernel, "sanitizer", "not asked");
        workloads = cJSON_AddArrayToObject(kernel, "chosen_for");
        for (int k = 0; k < kf_task_workload_count(w->task); k++)
            if (w->choice[k] == i) cJSON_AddItemToArray(workloads, cJSON_CreateString(kf_task_workload_name(w->task, k)));
        cJSON_AddItemToArray(kernels, kernel);
    }
    return json;
}

typedef struct package {
    const char *folder;
    kf_buffer header, cmake, tests, readme;
    cJSON *provenance;
} package;

static bool add_task(package *p, const kf_winners *w, kf_package_report *report, kf_error *error)
{
    if (!kf_package_write_task(p->folder, w, &p->header, &p->cmake, &p->readme, error)) return false;
    cJSON_AddItemToArray(p->provenance, provenance(w));
    report->tasks++;
    report->kernels += (int64_t)w->count;
    return true;
}

static bool add_stored(package *p, kf_store *store, const char *hash, kf_package_report *report, kf_error *error)
{
    kf_winners w = {.task = kf_stored_task(store, hash, error)};
    bool ok = w.task && choose(store, hash, &w, error);
    if (ok && w.count)
        ok = add_task(p, &w, report, error);
    else if (ok)
        report->skipped++;
    kf_winners_free(&w);
    return ok;
}

static bool add_all(package *p, kf_store *store, const kf_package_options *options, kf_package_report *report, kf_error *error)
{
    kf_autoresult kf_store_task task = {0};
    if (options->task)
        return kf_store_find_task(store, options->task, &task, error) && add_stored(p, store, task.hash, report, error);
    kf_auto(kf_store_cursor) cursor = kf_store_tasks(store, error);
    int row = cursor ? 1 : -1;
    kf_autobuffer names = {0};
    while (row == 1 && (row = kf_store_next_task(cursor, &task, error)) == 1) {
        char name[300];
        snprintf(name, sizeof name, "|%s|", task.name);
        if (names.data && strstr(names.data, name))
            return kf_fail(error, KF_ERROR_INPUT, "several tasks are called %s: choose one by its hash with --task", task.name);
        kf_buffer_string(&names, name);
        if (!add_stored(p, store, task.hash, report, error)) return false;
    }
    return row == 0;
}

static bool finish(package *p, const kf_package_options *options, kf_error *error)
{
    char *text = cJSON_Print(p->provenance);
    kf_autobuffer json = {0};
    if (text) kf_buffer_string(&json, text);
    cJSON_free(text);
    kf_buffer_format(&p->readme, "\nLicence: %s. What models wrote is under their providers' terms.\n", options->license);
    kf_buffer_string(&p->header, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return kf_package_put(p->folder, "provenance.json", &json, error) &&
           kf_package_put(p->folder, "CMakeLists.txt", &p->cmake, error) &&
           kf_package_put(p->folder, "include/kforge_kernels.h", &p->header, error) &&
           kf_package_put(p->folder, "README.md", &p->readme, error) && kf_package_write_fixed(p->folder, error);
}

static bool build_package(package *p, kf_store *store, const kf_package_options *options, kf_package_report *report,
                          kf_error *error)
{
    static const char *const folders[] = {"include", "src", "test"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        kf_autofree char *path = kf_path_join(p->folder, folders[i]);
        if (!path || !kf_directory_make(path, error)) return false;
    }
    kf_package_begin(&p->header, &p->cmake, &p->readme);
    if (!add_all(p, store, options, report, error)) return false;
    if (!report->tasks)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "nothing to package: no candidate that was measured again is faster than its baseline; \"kforge optimize\" finds some");
    return finish(p, options, error);
}

bool kf_export_package(kf_store *store, const kf_package_options *options, kf_package_report *report, kf_error *error)
{
    struct stat status;
    size_t length = strlen(options->output);
    while (length > 1 && options->output[length - 1] == '/') length--;
    kf_autofree char *path = strndup(options->output, length);
    char *text = NULL;
    if (!path || asprintf(&text, "%s.part-%ld", path, (long)getpid()) < 0) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    kf_autofree char *part = text;
    bool exists = lstat(path, &status) == 0;
    if (exists && (!options->force || !S_ISDIR(status.st_mode)))
        return kf_fail(error, KF_ERROR_INPUT, "%s: exists already: name another folder%s", path,
                       S_ISDIR(status.st_mode) ? ", or give --force to replace it" : "");
    package p = {.folder = part, .provenance = cJSON_CreateArray()};
    bool ok = p.provenance && build_package(&p, store, options, report, error);
    if (ok && exists) ok = kf_directory_remove(path, error);
    if (ok && rename(part, path) != 0) ok = kf_fail(error, KF_ERROR_IO, "%s: %s", path, strerror(errno));
    if (!ok) kf_directory_remove(part, NULL);
    kf_buffer_free(&p.header);
    kf_buffer_free(&p.cmake);
    kf_buffer_free(&p.tests);
    kf_buffer_free(&p.readme);
    cJSON_Delete(p.provenance);
    return ok;
}
