/* `kforge eval`: judges one candidate with the same worker and protocol as a search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "devices.h"
#include "kforge/counters.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"
#include "kforge/signature.h"
#include "named_task.h"
#include "search.h"
#include "show.h"
#include "table.h"
#include "workers.h"

typedef struct settings {
    const char *store, *device, *baseline, *sandbox, *counters, *replay, *sign;
    double seconds, timeout;
    bool check_only, asan, sanitize, verify, kernelbench, keep, json;
    kf_option_list flags, workers;
} settings;

/* ---- repeating a verdict --------------------------------------------------------------------- */

static kf_verdict *read_verdict(const char *path, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_file_read(path, KF_JOB_BYTES, &size, error);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, KF_JOB_BYTES, path, error) : NULL;
    kf_verdict *verdict = json ? kf_verdict_from_json(json, error) : NULL;
    if (json && !verdict) kf_fail_prefix(error, "%s", path);
    return verdict;
}

/* Sets up the job so that it repeats the verdict: same keys, flags and options. Refuses another
 * task or source. */
static bool repeat(kf_job **job, const kf_verdict *verdict, const char *path, kf_error *error)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes((*job)->source, (*job)->source_size);
    kf_hash_hex(&hash, hex);
    const cJSON *keys = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "keys");
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "options"), *entry;
    const char *key = cJSON_GetStringValue(cJSON_GetArrayItem(keys, 0));
    const char *baseline =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(options, "baseline"));
    if (strcmp(verdict->task_hash, kf_task_hash((*job)->task)) != 0)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "%s: the verdict is about another task, or another version of it (%.12s, not %.12s)",
            path, verdict->task_hash, kf_task_hash((*job)->task));
    if (strcmp(verdict->source_hash, hex) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: the verdict is about another source (%.12s, not %.12s)", path,
                       verdict->source_hash, hex);
    if (!key || !options)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: the verdict lacks the key or the options that --replay needs", path);

    const char *flags[KF_JOB_FLAGS];
    size_t flag_count = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(verdict->build, "flags"))
    {
        if (cJSON_IsString(entry) && flag_count < KF_JOB_FLAGS)
            flags[flag_count++] = entry->valuestring;
    }
    kf_auto(cJSON) bundle = kf_task_bundle((*job)->task);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    kf_auto(kf_job) again = task ? kf_job_new((*job)->id, task, (*job)->source, (*job)->source_size,
                                              flags, flag_count, error)
                                 : NULL;
    if (!again) return false;
    again->options = (*job)->options;
    (*job)->options.baseline = (*job)->options.replay_key = (*job)->options.counters = NULL;
    char *device = again->device;
    again->device = (*job)->device;
    (*job)->device = device;
    kf_job_options *o = &again->options;
    o->seconds = kf_json_get_number(options, "seconds", 0);
    o->half_width = kf_json_get_number(options, "half_width", o->half_width);
    o->check_only = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "check_only"));
    o->asan = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "asan"));
    o->verify = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "verify"));
    free(o->baseline);
    o->baseline = baseline ? strdup(baseline) : NULL;
    o->replay_key = strdup(key);
    if (!o->replay_key || (baseline && !o->baseline))
        return kf_fail_memory(error, "the candidates");
    if (baseline && !kf_task_baseline_named(again->task, baseline))
        return kf_fail(error, KF_ERROR_INPUT, "%s: the task has no baseline named \"%s\"", path,
                       baseline);
    kf_job_free(*job);
    *job = kf_steal(&again);
    return true;
}

static const char *rule_of(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return verdict->workloads[i].findings[0].rule;
    return verdict->finding_count ? verdict->findings[0].rule : "";
}

/* Prints the comparison with the repeated verdict in one line. */
static void tell_replay(FILE *log, const kf_verdict *before, const kf_verdict *now)
{
    bool same = before->status == now->status && strcmp(rule_of(before), rule_of(now)) == 0;
    fprintf(log, "replay: %s: %s%s%s then, %s%s%s now", same ? "the same" : "DIFFERENT",
            kf_status_name(before->status), rule_of(before)[0] ? " " : "", rule_of(before),
            kf_status_name(now->status), rule_of(now)[0] ? " " : "", rule_of(now));
    if (strcmp(before->binary_hash, now->binary_hash) != 0) fputs("; the binary is another", log);
    if (strcmp(before->device, now->device) != 0)
        fprintf(log, "; on %s, not %s", now->device, before->device);
    fputc('\n', log);
}

/* ---- judging --------------------------------------------------------------------------------- */

static kf_job *make_job(const settings *wanted, const char *task_path, const char *source_path,
                        kf_error *error)
{
    kf_task *task = kf_named_task_load(task_path, error);
    if (!task) return NULL;
    size_t size;
    kf_autofree char *source = kf_file_read(source_path, KF_SOURCE_BYTES, &size, error);
    if (!source || !kf_source_check(source, size, source_path, error)) {
        kf_task_free(task);
        return NULL;
    }
    uint64_t chance = 0;
    char id[32];
    kf_random(&chance, sizeof chance);
    snprintf(id, sizeof id, "eval-%016llx", (unsigned long long)chance);
    kf_auto(kf_job) job =
        kf_job_new(id, task, source, size, wanted->flags.items, wanted->flags.count, error);
    if (!job) return NULL;
    kf_job_options *o = &job->options;
    if (wanted->device && *wanted->device) {
        free(job->device);
        job->device = strdup(wanted->device);
        if (!job->device) {
            kf_fail_memory(error, "the candidates");
            return NULL;
        }
    }
    o->seconds = wanted->seconds;
    o->timeout_seconds = wanted->timeout;
    o->check_only = wanted->check_only;
    o->asan = wanted->asan;
    o->sanitize = wanted->sanitize;
    o->verify = wanted->verify;
    o->kernelbench = wanted->kernelbench;
    if (strcmp(wanted->counters, "none") != 0 && !(o->counters = strdup(wanted->counters))) {
        kf_fail_memory(error, "the candidates");
        return NULL;
    }
    size_t length = strlen(source_path);
    o->torch = length > 3 && strcmp(source_path + length - 3, ".py") == 0;
    o->strict_sandbox = strcmp(wanted->sandbox, "strict") == 0;
    if (!wanted->baseline) return kf_steal(&job);
    if (!kf_task_baseline_named(job->task, wanted->baseline)) {
        kf_fail(error, KF_ERROR_INPUT, "%s: no baseline named \"%s\"", task_path, wanted->baseline);
        return NULL;
    }
    o->baseline = strdup(wanted->baseline);
    if (!o->baseline) kf_fail_memory(error, "the candidates");
    return o->baseline ? kf_steal(&job) : NULL;
}

/* Gets the verdict. False on an error or an interrupt. */
static bool judge(const kf_invocation *invocation, kf_workers *workers, const kf_job *job,
                  kf_workers_result *result, kf_error *error)
{
    if (!kf_workers_submit(workers, job, 1, error)) return false;
    int got;
    while ((got = kf_workers_wait(workers, 1, result, error)) == 0)
        if (*invocation->interrupts) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    if (got < 0) return false;
    if (result->outcome == KF_WORKERS_JUDGED) return true;
    bool refused = result->outcome == KF_WORKERS_REFUSED;
    return kf_fail(error, refused ? KF_ERROR_INPUT : KF_ERROR_MACHINE, "%s", result->error.text);
}

/* Signs the text that is printed and stored. */
static bool sign(kf_workers_result *result, const char *key, kf_error *error)
{
    kf_auto(cJSON) json =
        kf_json_parse(result->json, result->json_size, KF_JOB_BYTES, "verdict", error);
    char *text = json ? kf_json_signed(json, key, error) : NULL;
    if (!text) return false;
    free(result->json);
    result->json = text;
    result->json_size = strlen(text);
    return true;
}

static bool keep(kf_store *store, const settings *wanted, const kf_job *job,
                 const kf_workers *workers, const kf_workers_result *result,
                 kf_store_recorded *recorded, kf_error *error)
{
    kf_auto(cJSON) bundle = kf_task_bundle(job->task);
    kf_autofree char *text = bundle ? cJSON_PrintUnformatted(bundle) : NULL;
    kf_autofree char *device =
        kf_search_environment_id(kf_workers_environment_id(workers), wanted->baseline);
    kf_autofree char *counters =
        result->verdict->counters ? cJSON_PrintUnformatted(result->verdict->counters) : NULL;
    if (!text || !device || (result->verdict->counters && !counters))
        return kf_fail_memory(error, "the candidates");
    const char *hash = kf_task_hash(job->task);
    return kf_store_put_task(store, hash, kf_task_name(job->task), text, strlen(text), error) &&
           kf_store_record(store,
                           &(kf_store_attempt_new){.task = hash,
                                                   .outcome = KF_ATTEMPT_JUDGED,
                                                   .proposer = "person",
                                                   .step = "eval",
                                                   .content.source = job->source,
                                                   .content.source_size = job->source_size,
                                                   .content.flags = (const char *const *)job->flags,
                                                   .content.flag_count = job->flag_count,
                                                   .verdict = result->verdict,
                                                   .verdict_json = result->json,
                                                   .verdict_size = result->json_size,
                                                   .counters = counters,
                                                   .device = device},
                           recorded, error);
}

/* True if the timed pairs gave no figure. */
static bool is_lost_in_noise(const kf_verdict *verdict)
{
    int pairs = 0;
    for (size_t i = 0; i < verdict->workload_count; i++) pairs += verdict->workloads[i].pairs;
    return verdict->status == KF_CORRECT && isnan(verdict->speedup.value) && pairs > 0;
}

static void print(const kf_view *view, const kf_verdict *verdict, const char *file)
{
    char speedup[KF_FIGURE], interval[KF_FIGURE];
    fprintf(view->out, "%s: %s", file, kf_status_name(verdict->status));
    if (is_lost_in_noise(verdict))
        fputs(", speed not measured: its calls are shorter than this machine's timing noise; retry "
              "with a larger --seconds",
              view->out);
    else if (verdict->status == KF_CORRECT && !isnan(verdict->speedup.value))
        fprintf(view->out, ", speedup %s %s%s", kf_figure_speedup(verdict->speedup, speedup),
                kf_figure_interval(verdict->speedup, interval),
                verdict->reverified ? ", measured twice" : "");
    fputc('\n', view->out);
    if (verdict->message && verdict->message[0] && verdict->status != KF_CORRECT)
        fprintf(view->out, "%s\n", verdict->message);
    if (verdict->blame != KF_BLAME_NOBODY && verdict->blame != KF_BLAME_CANDIDATE)
        fprintf(view->out, "the fault is the %s's, not the candidate's\n",
                kf_blame_name(verdict->blame));
    kf_show_verdict(view, verdict);
}

static int status_of(const kf_verdict *verdict)
{
    if (verdict->status == KF_CORRECT) return KF_EXIT_DONE;
    bool machine = verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE;
    return machine                           ? KF_EXIT_MACHINE
           : verdict->blame == KF_BLAME_TASK ? KF_EXIT_INPUT
                                             : KF_EXIT_NOTHING;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    if (wanted->verify && (wanted->check_only || wanted->asan))
        return kf_fail(error, KF_ERROR_INPUT,
                       "--verify times the candidate, but %s does not; give one of them",
                       wanted->asan ? "--asan" : "--check-only") -
               1;
    if (!kf_counters_check(wanted->counters, error)) return kf_fail_prefix(error, "--counters") - 1;
    kf_auto(kf_job) job =
        make_job(wanted, invocation->arguments[0], invocation->arguments[1], error);
    kf_auto(kf_verdict) before = job && wanted->replay ? read_verdict(wanted->replay, error) : NULL;
    if (!job || (wanted->replay && (!before || !repeat(&job, before, wanted->replay, error))))
        return -1;
    /* A check without timing or a sanitised build is not stored, because its verdict must not
     * replace a measurement. The store is opened before the judging to find errors early. */
    bool kept = wanted->keep && !job->options.check_only && !job->options.asan && !before;
    kf_auto(kf_store) store = kept ? kf_store_open(wanted->store, KF_STORE_CREATE, error) : NULL;
    if (kept && !store) return -1;
    kf_auto(kf_workers) workers =
        kf_workers_open(wanted->workers.items, wanted->workers.count,
                        &(kf_workers_options){.device = wanted->device}, error);
    if (!workers) return -1;
    __attribute__((cleanup(kf_workers_result_free))) kf_workers_result result = {0};
    if (!judge(invocation, workers, job, &result, error)) return -1;
    if (!wanted->device && !wanted->workers.count)
        kf_devices_explain_cpu(invocation->log, kf_workers_hardware(workers), kf_judge_gpu_trouble);
    if (wanted->sign && !sign(&result, wanted->sign, error)) return -1;
    if (before) tell_replay(invocation->log, before, result.verdict);
    kf_view view = kf_view_of(invocation, wanted->json);
    if (wanted->json)
        fprintf(view.out, "%s\n", result.json);
    else
        print(&view, result.verdict, invocation->arguments[1]);
    fflush(view.out);
    /* On the CPU device a sanitised candidate is another program without timing. */
    if (wanted->sanitize && strncmp(result.verdict->device, "cpu", 3) == 0) kept = false;
    if (!kept) return status_of(result.verdict);
    kf_store_recorded recorded;
    if (!keep(store, wanted, job, workers, &result, &recorded, error)) return -1;
    kf_autobuffer rest = {0};
    if (wanted->store) kf_command_append_option(&rest, "store", wanted->store);
    if (!wanted->json)
        fprintf(view.out, "\nstored as c%lld: kforge show c%lld%s\n", (long long)recorded.candidate,
                (long long)recorded.candidate, rest.data ? rest.data : "");
    return status_of(result.verdict);
}

static const kf_option options[] = {
    KF_ROW_DEVICE(settings),
    {.name = "seconds",
     .type = KF_OPTION_DURATION,
     .argument = "SECONDS",
     .offset = offsetof(settings, seconds),
     .low = 0.01,
     .high = 86400,
     .help = "Time limit for timing all workloads (CPU 0.9, GPU 3). Timing ends early at an "
             "interval within 1 %."},
    {.name = "timeout",
     .type = KF_OPTION_DURATION,
     .argument = "SECONDS",
     .offset = offsetof(settings, timeout),
     .fallback = "120",
     .low = 0.1,
     .high = 86400,
     .help = "Time limit for the candidate, from loading to the last result."},
    {.name = "check-only",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, check_only),
     .help = "Check the results without timing."},
    {.name = "asan",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, asan),
     .help = "CPU device: build with AddressSanitizer, without timing."},
    {.name = "sanitize",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, sanitize),
     .help = "GPU: run memcheck, racecheck and initcheck of compute-sanitizer on a correct "
             "candidate. CPU device: as --asan."},
    {.name = "verify",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, verify),
     .help = "Measure twice, in fresh processes; on a GPU also as --sanitize."},
    {.name = "kernelbench",
     .type = KF_OPTION_FLAG,
     .fallback = "true",
     .offset = offsetof(settings, kernelbench),
     .help = "Solution in Python: add the result of KernelBench's own protocol (default; "
             "--no-kernelbench omits it)."},
    {.name = "counters",
     .type = KF_OPTION_TEXT,
     .argument = "WHICH",
     .fallback = "none",
     .offset = offsetof(settings, counters),
     .help = "Hardware counters of a correct candidate's kernels, from a separate run: all, none, "
             "or names of CUPTI, separated by commas."},
    {.name = "flag",
     .letter = 'f',
     .type = KF_OPTION_LIST,
     .argument = "FLAG",
     .offset = offsetof(settings, flags),
     .help = "A compiler flag for the candidate, as in --flag=-DBLOCK=256."},
    KF_ROW_BASELINE(settings),
    KF_ROW_SANDBOX(settings),
    {.name = "replay",
     .type = KF_OPTION_PATH,
     .argument = "VERDICT",
     .offset = offsetof(settings, replay),
     .help = "Repeat a verdict of --json: same inputs, orders, choices, flags and options. The "
             "result is not stored."},
    {.name = "sign",
     .type = KF_OPTION_PATH,
     .argument = "KEYFILE",
     .offset = offsetof(settings, sign),
     .config = true,
     .help = "Sign the verdict with this key (`kforge verdict keygen`)."},
    KF_ROW_WORKERS(settings),
    {.name = "keep",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, keep),
     .fallback = "true",
     .help = "Keep candidate and verdict in the store (default; --no-keep does not)."},
    KF_ROW_STORE(settings),
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_eval = {
    .name = "eval",
    .synopsis = "TASK FILE.cu",
    .summary = "Judge one candidate: check it and measure its speed",
    .description = "Compiles the candidate, runs it on fresh inputs in a sandbox, compares it with "
                   "the oracle, and times it against the baseline. TASK is a task.json, its "
                   "folder, or the name of a task in tasks/ or of one that comes with kforge "
                   "(`kforge list --tasks`).\n\nExit status: 0 correct, 1 not correct, 2 bad input "
                   "or a broken task, 3 the machine or the judge failed.",
    .examples =
        "kforge eval tasks/axpy mine.cu\tchecks and times mine.cu\n"
        "kforge eval tasks/axpy mine.cu --sanitize\tfinds accesses out of bounds and races, with "
        "source lines\n"
        "kforge eval tasks/axpy mine.cu --counters all\tshows the limits and stalls of its "
        "kernels\n"
        "kforge eval tasks/axpy mine.cu --json --sign key > verdict.json\twrites a signed verdict\n"
        "kforge eval tasks/axpy mine.cu --replay verdict.json\trepeats it with the same inputs\n",
    .least_arguments = 2,
    .most_arguments = 2,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
