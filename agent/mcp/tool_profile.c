/* kforge_profile: what limits a candidate. Hardware counters come from the store, else from a run
 * on the GPU. Without counters the answer has what the verdict knows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_work.h"
#include "extract.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "mcp_tools.h"
#include "workers.h"

#define KERNELS_SHOWN 2
#define LINES_SHOWN 3
/* characters of a line's text */
#define LINE_TEXT 80
#define FLAGS_SHOWN 5
#define LOOK_SECONDS 0.1

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---- what the verdict knows ------------------------------------------------------------------ */

/* Adds the share of the least possible time for each workload that may be seen: 1 is the floor. */
static bool add_floors(cJSON *answer, const kf_verdict *verdict, const kf_task *task,
                       const char *wanted, kf_error *error)
{
    cJSON *shares = cJSON_AddObjectToObject(answer, "floor_share");
    bool seen = false;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (kf_task_hides(task, w->workload)) continue;
        if (wanted && strcmp(wanted, w->workload) != 0) continue;
        seen = true;
        if (!(w->floor_seconds > 0) || !(w->candidate_seconds > 0)) continue;
        double share = w->floor_seconds / w->candidate_seconds;
        cJSON_AddNumberToObject(shares, w->workload, round(share * 1e3) / 1e3);
    }
    return seen || !wanted ||
           kf_fail(error, KF_ERROR_INPUT,
                   "%.64s: the verdict has no such workload; kforge_task "
                   "lists them",
                   wanted);
}

static void copy_figures(cJSON *answer, const cJSON *from, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cJSON_IsNumber(get(from, keys[i])) || cJSON_IsString(get(from, keys[i])))
            cJSON_AddItemToObject(answer, keys[i], cJSON_Duplicate(get(from, keys[i]), true));
}

static void add_build(cJSON *answer, const cJSON *build)
{
    static const char *const keys[] = {"registers", "spill_bytes", "shared_bytes", "occupancy",
                                       "occupancy_limit"};
    copy_figures(answer, build, keys, sizeof keys / sizeof *keys);
}

/* ---- hardware counters ----------------------------------------------------------------------- */

static void add_kernel(cJSON *rows, const cJSON *kernel)
{
    static const char *const keys[] = {"name",        "part",      "registers",
                                       "local_bytes", "occupancy", "occupancy_limit"};
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(rows, row);
    copy_figures(row, kernel, keys, sizeof keys / sizeof *keys);
    const cJSON *roofline = get(kernel, "roofline");
    static const char *const limits[] = {"bound", "percent"};
    copy_figures(row, roofline, limits, sizeof limits / sizeof *limits);
    if (get(roofline, "stalls"))
        cJSON_AddItemToObject(row, "stalls", cJSON_Duplicate(get(roofline, "stalls"), true));
}

static void add_counters(cJSON *answer, const cJSON *counters)
{
    const cJSON *note = get(counters, "note"), *kernel;
    kf_autobuffer work = {0};
    kf_work_words(counters, &work);
    if (work.size) {
        work.data[strcspn(work.data, "\n")] = '\0';
        cJSON_AddStringToObject(answer, "work", work.data);
    }
    if (cJSON_IsString(note)) {
        cJSON_AddStringToObject(answer, "counters", note->valuestring);
        return;
    }
    cJSON *rows = cJSON_AddArrayToObject(answer, "kernels");
    int count = 0;
    cJSON_ArrayForEach(kernel, get(counters, "kernels"))
    {
        if (count++ < KERNELS_SHOWN) add_kernel(rows, kernel);
    }
}

/* Copies the text of a line of the source, without white space around it. False if it has no such
 * line. */
static bool text_of_line(const char *source, int number, char text[LINE_TEXT + 1])
{
    const char *at = source;
    for (int line = 1; at && line < number; line++)
        if ((at = strchr(at, '\n'))) at++;
    if (!at || number < 1) return false;
    at += strspn(at, " \t");
    snprintf(text, LINE_TEXT + 1, "%.*s", (int)strcspn(at, "\r\n"), at);
    return *text;
}

/* Adds the source lines with the most samples, and what warps wait for there. */
static void add_lines(cJSON *answer, const cJSON *counters, const char *source)
{
    static const char *const keys[] = {"line", "part", "file"};
    const cJSON *note = get(counters, "lines_note"), *line;
    int count = 0;
    if (cJSON_IsString(note)) cJSON_AddStringToObject(answer, "lines", note->valuestring);
    if (!cJSON_GetArraySize(get(counters, "lines"))) return;
    cJSON *rows = cJSON_AddArrayToObject(answer, "lines");
    cJSON_ArrayForEach(line, get(counters, "lines"))
    {
        char text[LINE_TEXT + 1];
        const char *file = cJSON_GetStringValue(get(line, "file"));
        double number = kf_json_get_number(line, "line", 0);
        if (count++ == LINES_SHOWN) return;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(rows, row);
        bool own = file && strncmp(file, "candidate.", 10) == 0;
        copy_figures(row, line, keys, own ? 2 : 3);
        if (own && source && number < 1e6 && text_of_line(source, (int)number, text))
            cJSON_AddStringToObject(row, "text", text);
        const cJSON *stall = cJSON_GetArrayItem(get(line, "stalls"), 0);
        static const char *const stall_keys[] = {"name", "percent"};
        if (stall) copy_figures(cJSON_AddObjectToObject(row, "stall"), stall, stall_keys, 2);
    }
}

static kf_job *make_job(kf_store *store, const kf_store_candidate *candidate, kf_error *error)
{
    size_t size;
    kf_autofree char *source = kf_store_source(store, candidate->id, &size, error);
    kf_task *task = source ? kf_mcp_stored_task(store, candidate->task, error) : NULL;
    if (!task) return NULL;
    bool torch = kf_task_is_solution(task, source);
    const char *flags[KF_JOB_FLAGS];
    size_t count = 0;
    kf_auto(cJSON) list = cJSON_Parse(candidate->flags);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, list)
    {
        if (cJSON_IsString(flag) && count < KF_JOB_FLAGS) flags[count++] = flag->valuestring;
    }
    /* Line tables change no machine code. */
    if (!torch && count < KF_JOB_FLAGS) flags[count++] = "-lineinfo";
    kf_auto(kf_job) job = kf_job_new("profile", task, source, size, flags, count, error);
    if (!job) return NULL;
    job->options.torch = torch;
    job->options.kernelbench = false;
    job->options.counters = strdup("all");
    if (!job->options.counters) {
        kf_fail_memory(error, "a job");
        return NULL;
    }
    return kf_steal(&job);
}

/* Counts in a worker of its own. Returns the counters; the caller frees. */
static cJSON *count(kf_mcp_call *call, kf_store *store, const kf_store_candidate *candidate,
                    const char *device, kf_error *error)
{
    kf_auto(kf_job) job = make_job(store, candidate, error);
    kf_auto(kf_workers) workers =
        job ? kf_workers_open(NULL, 0, &(kf_workers_options){.device = device}, error) : NULL;
    if (!workers || !kf_workers_submit(workers, job, 1, error)) return NULL;
    __attribute__((cleanup(kf_workers_result_free))) kf_workers_result result = {0};
    double begin = kf_now();
    int got = 0;
    while (!got) {
        double passed = kf_now() - begin;
        if (kf_mcp_is_cancelled(call) || passed > KF_MCP_WAIT) {
            kf_fail(error, KF_ERROR_LIMIT,
                    "counting took longer than %.0f s; try again when the "
                    "GPU is free",
                    KF_MCP_WAIT);
            return NULL;
        }
        kf_mcp_progress(call, passed, KF_MCP_WAIT, "counting");
        got = kf_workers_wait(workers, LOOK_SECONDS, &result, error);
    }
    if (got < 0) return NULL;
    if (result.outcome == KF_WORKERS_JUDGED && result.verdict->counters)
        return cJSON_Duplicate(result.verdict->counters, true);
    kf_fail(error, KF_ERROR_MACHINE, "%s",
            result.outcome == KF_WORKERS_JUDGED ? result.verdict->message : result.error.text);
    return NULL;
}

/* True if another run would show no more. Those of a search have no source lines. */
static bool is_complete(const cJSON *counters)
{
    return get(counters, "note") || get(counters, "lines") || get(counters, "lines_note");
}

/* Returns what is worth storing of old and new counters (either may be NULL), and takes both. A run
 * that ended in a note must not hide older figures: then the note is about the missing lines. */
static cJSON *join_counters(cJSON *stored, cJSON *counted)
{
    const char *note = cJSON_GetStringValue(get(counted, "note"));
    if (stored && note && !get(stored, "note")) {
        if (!get(stored, "lines_note")) cJSON_AddStringToObject(stored, "lines_note", note);
        cJSON_Delete(counted);
        return stored;
    }
    cJSON_Delete(stored);
    return counted;
}

/* Returns the counters of the store, or counts and stores them. A note is stored as well, so that
 * the next call does not count in vain. `again`: counts even if the store has counters. NULL with
 * the reason in *error. */
static cJSON *find_counters(kf_mcp_call *call, kf_store *store, const kf_store_candidate *candidate,
                            const char *device, bool again, kf_error *error)
{
    bool found = false;
    kf_autofree char *text = NULL;
    bool on_gpu = strncmp(device, "cuda", 4) == 0;
    kf_auto(cJSON) stored = NULL;
    if (kf_store_get_counters(store, candidate->id, candidate->device, &text, &found, error) &&
        found) {
        stored = kf_json_parse(text, strlen(text), 0, "counters", error);
        if (!on_gpu || !stored || (is_complete(stored) && !again)) return kf_steal(&stored);
    }
    if (!on_gpu) {
        kf_fail(error, KF_ERROR_MACHINE,
                "none: the CPU device has no hardware counters; profile on a GPU for stalls");
        return NULL;
    }
    kf_auto(cJSON) counters = count(call, store, candidate, device, error);
    if (!counters) return kf_steal(&stored);
    kf_auto(cJSON) joined = join_counters(kf_steal(&stored), kf_steal(&counters));
    kf_autofree char *packed = cJSON_PrintUnformatted(joined);
    kf_auto(kf_store) writable = packed ? kf_mcp_store(call->server, KF_STORE_WRITE, NULL) : NULL;
    if (writable) kf_store_put_counters(writable, candidate->id, candidate->device, packed, NULL);
    return kf_steal(&joined);
}

/* ---- kforge_profile -------------------------------------------------------------------------- */

static void add_scan(cJSON *answer, kf_store *store, const kf_store_candidate *candidate)
{
    size_t size;
    kf_autofree char *source = kf_store_source(store, candidate->id, &size, NULL);
    if (source)
        kf_mcp_scan(cJSON_AddArrayToObject(answer, "scan"), FLAGS_SHOWN, source, size,
                    kf_judged_as_python(candidate->device, source, size));
}

cJSON *kf_tool_profile(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    kf_auto(kf_store) store = kf_mcp_store(call->server, KF_STORE_READ, error);
    if (!store ||
        !kf_mcp_candidate(store, kf_json_get_text(arguments, "candidate", ""), &candidate, error))
        return NULL;
    kf_auto(kf_verdict) verdict = kf_mcp_verdict(store, &candidate, error);
    kf_auto(kf_task) task = verdict ? kf_mcp_stored_task(store, candidate.task, error) : NULL;
    if (!task) return NULL;
    if (candidate.status != KF_CORRECT) {
        kf_fail(error, KF_ERROR_INPUT, "c%lld is not correct (%s); repair it before you profile",
                (long long)candidate.id, kf_status_name(candidate.status));
        return NULL;
    }
    kf_auto(cJSON) answer = cJSON_CreateObject();
    kf_mcp_add_candidate(answer, "candidate", candidate.id);
    kf_mcp_add_speedup(answer, "speedup", candidate.speedup);
    if (!add_floors(answer, verdict, task, kf_json_get_text(arguments, "workload", NULL), error))
        return NULL;
    add_build(answer, verdict->build);
    kf_error reason = {0};
    kf_auto(cJSON) counters = find_counters(call, store, &candidate, verdict->device,
                                            cJSON_IsTrue(get(arguments, "again")), &reason);
    size_t size;
    kf_autofree char *source = kf_store_source(store, candidate.id, &size, NULL);
    if (counters) {
        add_counters(answer, counters);
        add_lines(answer, counters, source);
    } else
        cJSON_AddStringToObject(answer, "counters", reason.text);
    add_scan(answer, store, &candidate);
    return kf_steal(&answer);
}
