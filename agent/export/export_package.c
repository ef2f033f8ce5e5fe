/* The package: a folder that CMake builds into libraries, one for each kernel and one that chooses
 * between them.
 *
 * - include/kforge_kernels.h: the entries of the tasks
 * - src/TASK.cu: chooses by the scalars of a call; the default is the winner over all workloads
 * - src/TASK_HASH.cu: a winner's source, without secrets and paths
 * - src/TASK_HASH.h: its prototype, included before its first line
 * - test/TASK.cu, test/fill.h: calls entry and baseline on the smallest workload and compares
 * - test/TASK_baseline.cu: the task's baseline
 * - CMakeLists.txt, provenance.json, README.md
 *
 * Candidates may name their kernels freely. So each becomes a shared object with hidden symbols,
 * and a macro renames its entry (ENTRY -> ENTRY_HASH). The source stays unchanged.
 *
 * A winner was measured again in fresh processes and has its whole interval above 1. Another
 * candidate gets a workload if its interval there lies above the default's. All kernels of a task
 * come from one device, a GPU if possible. */
#include "export_package.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "kforge/json.h"
#include "package_internal.h"
#include "output.h"

/* ---- choosing -------------------------------------------------------------------------------- */

static void read_architecture(kf_package_kernel *kernel, const cJSON *provenance)
{
    const cJSON *device = cJSON_GetObjectItemCaseSensitive(provenance, "device");
    const char *capability = kf_json_get_text(device, "compute_capability", NULL);
    int major, minor;
    /* As the judge compiles: from Hopper on with features of exactly that architecture. */
    if (capability && sscanf(capability, "%d.%d", &major, &minor) == 2 && major > 0 &&
        major < 1000 && minor >= 0 && minor < 10)
        snprintf(kernel->architecture, sizeof kernel->architecture, "%d%d%s", major, minor,
                 major >= 9 ? "a" : "");
}

static bool read_verdict(kf_store *store, kf_package_kernel *kernel, const kf_task *task,
                         kf_error *error)
{
    size_t size;
    for (int w = 0; w < KF_MAX_WORKLOADS; w++) kernel->speedups[w] = (kf_interval){NAN, NAN, NAN};
    kf_autofree char *text = kf_store_verdict_json(store, kernel->winner.verdict, &size, error);
    if (!text) return false;
    kf_auto(cJSON) json = cJSON_ParseWithLength(text, size);
    const cJSON *workload;
    cJSON_ArrayForEach(workload, cJSON_GetObjectItemCaseSensitive(json, "workloads"))
    {
        const char *name = kf_json_get_text(workload, "workload", NULL);
        const cJSON *speedup = cJSON_GetObjectItemCaseSensitive(workload, "speedup");
        for (int w = 0; name && w < kf_task_workload_count(task); w++)
            if (strcmp(kf_task_workload_name(task, w), name) == 0)
                kernel->speedups[w] = (kf_interval){kf_json_get_number(speedup, "value", NAN),
                                                    kf_json_get_number(speedup, "low", NAN),
                                                    kf_json_get_number(speedup, "high", NAN)};
    }
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(json, "provenance");
    const cJSON *sanitizer = cJSON_GetObjectItemCaseSensitive(origin, "sanitizer");
    if (sanitizer) kernel->sanitizer = cJSON_Duplicate(sanitizer, true);
    read_architecture(kernel, origin);
    return true;
}

static void drop(kf_package_kernel *kernel)
{
    kf_winner_free(&kernel->winner);
    cJSON_Delete(kernel->sanitizer);
    *kernel = (kf_package_kernel){0};
}

void kf_winners_free(kf_winners *winners)
{
    for (size_t i = 0; i < winners->count; i++) drop(&winners->kernels[i]);
    kf_task_free(winners->task);
    *winners = (kf_winners){0};
}

/* Returns the best kernel for a workload: the default, unless the interval of another is above its
 * own. */
static size_t best_for(const kf_winners *w, int workload)
{
    size_t best = 0;
    for (size_t i = 1; i < w->count; i++)
        if (w->kernels[i].speedups[workload].low > w->kernels[best].speedups[workload].high)
            best = i;
    return best;
}

/* Chooses each workload's kernel. If the scalars of a call do not determine the workload, it gets
 * the default. */
static void assign(kf_winners *w)
{
    int count = kf_task_workload_count(w->task);
    for (int k = 0; k < count; k++) w->choice[k] = best_for(w, k);
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < count; k++)
            if (w->choice[k] && !kf_package_can_choose(w, k)) {
                w->choice[k] = 0;
                changed = true;
            }
    }
}

/* Chooses the kernels of a task, the default first. Drops those that win no workload. */
static bool choose(kf_store *store, const kf_selected_tasks *tasks, const char *hash,
                   const kf_winner_files *files, kf_winners *w, kf_error *error)
{
    kf_winner found[KF_PACKAGE_KERNELS] = {0};
    size_t count = 0;
    const kf_winner_query query = {.selection = files->selection,
                                   .tasks = tasks,
                                   .task = hash,
                                   .reverified = true,
                                   .faster = true,
                                   .cuda_only = true,
                                   .most = KF_PACKAGE_KERNELS};
    bool good = kf_winners_choose(store, &query, files->scrubber, found, &count, error);
    for (size_t i = 0; i < count; i++) w->kernels[w->count++].winner = found[i];
    for (size_t i = 0; good && i < w->count; i++)
        good = read_verdict(store, &w->kernels[i], w->task, error);
    if (!good || !w->count) return good;
    w->on_cpu = w->kernels[0].winner.on_cpu;
    assign(w);
    size_t kept_index[KF_PACKAGE_KERNELS] = {0}, kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        bool wins = i == 0;
        for (int k = 0; k < kf_task_workload_count(w->task); k++) wins |= w->choice[k] == i;
        if (wins) {
            kept_index[i] = kept;
            w->kernels[kept++] = w->kernels[i];
        } else
            drop(&w->kernels[i]);
    }
    for (size_t i = kept; i < w->count; i++) w->kernels[i] = (kf_package_kernel){0}; /* moved */
    w->count = kept;
    for (int k = 0; k < kf_task_workload_count(w->task); k++)
        w->choice[k] = kept_index[w->choice[k]];
    return true;
}

/* ---- provenance ------------------------------------------------------------------------------ */

static cJSON *provenance_of_kernel(const kf_winners *w, size_t i)
{
    const kf_package_kernel *k = &w->kernels[i];
    cJSON *kernel = cJSON_CreateObject();
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(k->winner.source, k->winner.size);
    kf_hash_hex(&hash, hex);
    cJSON_AddStringToObject(kernel, "candidate", k->winner.hash);
    kf_add_embedded(kernel, "flags", k->winner.flags);
    cJSON_AddStringToObject(kernel, "source_sha256", hex);
    cJSON_AddBoolToObject(kernel, "as_judged", k->winner.as_judged);
    if (!k->winner.as_judged)
        cJSON_AddStringToObject(
            kernel, "note",
            "secrets, paths or bytes that are not UTF-8 were replaced: \"candidate\" names the "
            "judged text, \"source_sha256\" the text in this folder");
    if (*k->architecture) cJSON_AddStringToObject(kernel, "architecture", k->architecture);
    kf_add_interval(kernel, "speedup", k->winner.speedup);
    cJSON *each = cJSON_AddObjectToObject(kernel, "speedups"), *workloads;
    for (int n = 0; n < kf_task_workload_count(w->task); n++)
        if (!isnan(k->speedups[n].value))
            kf_add_interval(each, kf_task_workload_name(w->task, n), k->speedups[n]);
    if (k->sanitizer)
        cJSON_AddItemToObject(kernel, "sanitizer", cJSON_Duplicate(k->sanitizer, true));
    else if (!w->on_cpu)
        cJSON_AddStringToObject(kernel, "sanitizer", "not asked");
    workloads = cJSON_AddArrayToObject(kernel, "chosen_for");
    for (int n = 0; n < kf_task_workload_count(w->task); n++)
        if (w->choice[n] == i)
            cJSON_AddItemToArray(workloads, cJSON_CreateString(kf_task_workload_name(w->task, n)));
    return kernel;
}

static cJSON *provenance(const kf_winners *w)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "task", kf_task_name(w->task));
    cJSON_AddStringToObject(json, "task_hash", kf_task_hash(w->task));
    cJSON_AddStringToObject(json, "entry", kf_task_entry(w->task));
    const char *license = kf_json_get_text(kf_task_json(w->task), "license", NULL);
    cJSON_AddStringToObject(json, "task_license", license ? license : "unknown");
    cJSON_AddStringToObject(json, "measured_on", w->kernels[0].winner.device);
    cJSON *kernels = cJSON_AddArrayToObject(json, "kernels");
    for (size_t i = 0; i < w->count; i++) cJSON_AddItemToArray(kernels, provenance_of_kernel(w, i));
    return json;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Two tasks must not share a name, which names their files, or an entry, which names a symbol. */
static bool check_names(const cJSON *tasks, const kf_task *task, kf_error *error)
{
    const cJSON *other;
    cJSON_ArrayForEach(other, tasks)
    {
        const char *name = kf_json_get_text(other, "task", NULL);
        const char *entry = kf_json_get_text(other, "entry", NULL);
        const char *hash = kf_json_get_text(other, "task_hash", NULL);
        if (strcmp(name, kf_task_name(task)) == 0)
            return kf_fail(error, KF_ERROR_INPUT,
                           "several tasks with the name %s have winners; choose one with --task "
                           "%.12s or %.12s",
                           name, hash, kf_task_hash(task));
        if (strcmp(entry, kf_task_entry(task)) == 0)
            return kf_fail(error, KF_ERROR_INPUT,
                           "tasks %s and %s both define %s(): leave one out with --held-out", name,
                           kf_task_name(task), entry);
    }
    return true;
}

static bool add_task(kf_package *p, kf_store *store, const kf_selected_tasks *tasks,
                     const char *hash, cJSON *tasks_json, kf_package_report *report,
                     kf_error *error)
{
    kf_winners w = {.task = kf_stored_task(store, hash, error)};
    bool ok = w.task && choose(store, tasks, hash, &p->files, &w, error);
    if (ok && w.count) {
        ok = check_names(tasks_json, w.task, error) && kf_package_write_task(p, &w, error);
        cJSON_AddItemToArray(tasks_json, provenance(&w));
        report->tasks++;
        report->on_cpu += w.on_cpu;
        report->kernels += (int64_t)w.count;
        for (size_t i = 0; i < w.count; i++) report->changed += !w.kernels[i].winner.as_judged;
    } else if (ok)
        report->skipped++;
    kf_winners_free(&w);
    return ok;
}

static bool put(kf_package *p, const char *name, const kf_buffer *text, kf_error *error)
{
    if (text->failed) return kf_fail_memory(error, "the package");
    return kf_winner_put(&p->files, name, text->data ? text->data : "", text->size, error);
}

static bool finish(kf_package *p, const cJSON *json, const kf_package_options *options,
                   const kf_package_report *report, kf_error *error)
{
    kf_autofree char *text = cJSON_Print(json);
    if (!text) return kf_fail_memory(error, "the package");
    kf_package_end(p);
    if (report->changed)
        kf_buffer_format(
            &p->readme,
            "\nSecrets or paths were removed from %lld of the kernels, so they differ from the "
            "judged texts:\n`provenance.json` has `\"as_judged\": false` for them.\n",
            (long long)report->changed);
    if (report->on_cpu)
        kf_buffer_format(&p->readme,
                         "\nThe figures of %lld of the entries come from kforge's CPU device, a "
                         "processor that runs CUDA C. They say nothing about a GPU.\n",
                         (long long)report->on_cpu);
    kf_buffer_format(&p->readme, "\nLicence: %s. Code of models is under their providers' terms.\n",
                     options->license);
    return kf_winner_put(&p->files, "provenance.json", text, strlen(text), error) &&
           put(p, "CMakeLists.txt", &p->cmake, error) &&
           put(p, "include/kforge_kernels.h", &p->header, error) &&
           put(p, "README.md", &p->readme, error) && kf_package_write_fill(p, error);
}

static bool build_package(kf_package *p, kf_store *store, const kf_selected_tasks *tasks,
                          const kf_package_options *options, kf_package_report *report,
                          kf_error *error)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "schema", "kforge-package/1");
    cJSON_AddStringToObject(json, "kforge", KFORGE_VERSION);
    cJSON_AddStringToObject(json, "license", options->license);
    cJSON *tasks_json = cJSON_AddArrayToObject(json, "tasks");
    if (!tasks_json) return kf_fail_memory(error, "the package");
    kf_package_begin(p);
    for (size_t i = 0; i < tasks->count; i++)
        if (!add_task(p, store, tasks, tasks->hashes[i], tasks_json, report, error)) return false;
    if (!report->tasks)
        return kf_fail(error, KF_ERROR_INPUT,
                       "nothing to package%s: no candidate that was measured twice is faster than "
                       "its baseline; search with \"kforge optimize\"",
                       tasks->held_out ? " but held-out tasks" : "");
    return finish(p, json, options, report, error);
}

bool kf_export_package(kf_store *store, const kf_package_options *options,
                       kf_package_report *report, kf_error *error)
{
    kf_autoselected tasks = {0};
    if (!kf_select_tasks(store, &options->selection, &tasks, error)) return false;
    report->held_out = (int64_t)tasks.held_out;
    kf_auto(kf_scrubber) scrubber =
        kf_scrubber_new(options->selection.secrets, options->selection.secret_count, error);
    kf_auto(kf_atomic_output) output =
        scrubber ? kf_atomic_output_open(options->output, true, options->force, error) : NULL;
    kf_package p = {
        .files = {.selection = &options->selection, .output = output, .scrubber = scrubber}};
    bool ok = output && build_package(&p, store, &tasks, options, report, error) &&
              kf_atomic_output_commit(output, error);
    report->scrubbed = p.files.scrubbed;
    kf_buffer_free(&p.header);
    kf_buffer_free(&p.cmake);
    kf_buffer_free(&p.readme);
    return ok;
}
