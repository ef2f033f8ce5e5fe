/* From a job to a verdict: builds, one measurement a workload, words. What is measured how is measure.c's. */
#include "kforge/judge.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "counters.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "measure.h"
#include "sanitize.h"
#include "trusted.h"

/* ---- life -------------------------------------------------------------------------------------------------------------------------------------- */

/* "cpu", "cuda", "cuda:1"; NULL or "": the first GPU, else the CPU. */
static bool open_device(kf_judge *judge, const char *name, kf_error *error)
{
    if (!name || !name[0]) name = kf_device_cuda_count() > 0 ? "cuda" : "cpu";
    if (strcmp(name, "cpu") == 0) {
        judge->device = kf_device_cpu_open(judge->parallel, error);
        return judge->device != NULL;
    }
    int ordinal = 0, used = 0;
    bool numbered = sscanf(name, "cuda:%d%n", &ordinal, &used) == 1 && !name[used] && ordinal >= 0;
    if (strcmp(name, "cuda") != 0 && !numbered)
        return kf_fail(error, KF_ERROR_INPUT, "unknown device \"%s\": cpu, cuda or cuda:N", name);
    judge->device = kf_device_cuda_open(ordinal, judge->cache, error);
    return judge->device != NULL;
}

kf_judge *kf_judge_new(const kf_judge_settings *settings, kf_error *error)
{
    kf_auto(kf_judge) judge = calloc(1, sizeof *judge);
    if (!judge || !(judge->parallel = kf_parallel_new())) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    if (!settings || !settings->cache)
        judge->cache = kf_cache_folder();
    else if (settings->cache[0] && !(judge->cache = strdup(settings->cache))) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    if (!open_device(judge, settings ? settings->device : NULL, error)) return NULL;
    return kf_steal(&judge);
}

void kf_judge_free(kf_judge *judge)
{
    if (!judge) return;
    if (judge->device) judge->device->operations->free(judge->device);
    kf_parallel_free(judge->parallel);
    free(judge->cache);
    free(judge);
}

const char *kf_judge_device(const kf_judge *judge)
{
    return judge->device->name;
}

const char *kf_judge_hardware(const kf_judge *judge)
{
    return judge->device->hardware;
}

cJSON *kf_judge_describe(const kf_judge *judge)
{
    kf_auto(cJSON) object = cJSON_CreateObject();
    if (!object || !cJSON_AddStringToObject(object, "name", judge->device->name) ||
        !cJSON_AddStringToObject(object, "hardware", judge->device->hardware) ||
        !judge->device->operations->describe(judge->device, object))
        return NULL;
    return kf_steal(&object);
}

/* ---- builds ------------------------------------------------------------------------------------------------------------------------------------- */

typedef struct trusted_work {
    kf_judge *judge;
    const kf_job *job;
    const kf_task_file *baseline_file;
    kf_trusted baseline, oracle;
    bool done;
    kf_error error;
} trusted_work;

static void *build_trusted(void *context)
{
    trusted_work *work = context;
    const kf_task *task = work->job->task;
    double seconds = work->job->options.build_seconds;
    work->done = kf_trusted_get(work->judge->device, work->judge->cache, task, work->baseline_file, false, seconds, &work->baseline,
                                &work->error) &&
                 kf_trusted_get(work->judge->device, work->judge->cache, task, kf_task_oracle(task), true, seconds, &work->oracle,
                                &work->error);
    return NULL;
}

typedef struct builds {
    char *directory; /* of the candidate's */
    kf_build candidate;
    trusted_work trusted;
} builds;

static void builds_free(builds *b)
{
    kf_build_free(&b->candidate);
    kf_trusted_free(&b->trusted.baseline);
    kf_trusted_free(&b->trusted.oracle);
    if (b->directory) kf_directory_remove(b->directory, NULL);
    free(b->directory);
}

/* The candidate here, the task's own sources meanwhile in another thread (a jail dies with the thread that made it; these end before). */
static bool build_all(kf_judge *judge, const kf_job *job, builds *b, kf_error *error)
{
    pthread_t thread;
    b->trusted = (trusted_work){.judge = judge, .job = job, .baseline_file = kf_task_baseline(job->task)};
    if (job->options.baseline) b->trusted.baseline_file = kf_task_baseline_named(job->task, job->options.baseline);
    if (!b->trusted.baseline_file)
        return kf_fail(error, KF_ERROR_INPUT, "task %s has no baseline named \"%s\"", kf_task_name(job->task),
                       job->options.baseline);
    if (!(b->directory = kf_directory_temporary("kforge-job", error))) return false;
    bool threaded = pthread_create(&thread, NULL, build_trusted, &b->trusted) == 0;
    kf_build_request request = {.task = job->task,
                                .source = job->source,
                                .size = job->source_size,
                                .name = "candidate.cu",
                                .flags = (const char *const *)job->flags,
                                .asan = job->options.asan,
                                .seconds = job->options.build_seconds,
                                .strict_sandbox = job->options.strict_sandbox,
                                .directory = b->directory};
    bool built = judge->device->operations->build(judge->device, &request, &b->candidate, error);
    if (threaded)
        pthread_join(thread, NULL);
    else
        build_trusted(&b->trusted);
    if (!built) return false;
    return b->trusted.done || kf_fail_copy(error, &b->trusted.error);
}

/* ---- what a verdict says about its origin ---------------------------------------------------------------------------------------------------------- */

static bool describe_build(kf_verdict *verdict, const kf_job *job, const kf_build *build)
{
    kf_auto(cJSON) object = cJSON_CreateObject();
    cJSON *flags = object ? cJSON_AddArrayToObject(object, "flags") : NULL;
    if (!flags) return false;
    for (size_t i = 0; i < job->flag_count; i++) {
        cJSON *flag = cJSON_CreateString(job->flags[i]);
        if (!flag || !cJSON_AddItemToArray(flags, flag)) return false;
    }
    kf_json_add_number(object, "seconds", build->seconds);
    if (!cJSON_AddStringToObject(object, "log", build->log ? build->log : "")) return false;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, build->report)
    {
        cJSON *copy = cJSON_Duplicate(entry, true);
        if (!copy || !cJSON_AddItemToObject(object, entry->string, copy)) return false;
    }
    cJSON_Delete(verdict->build);
    verdict->build = kf_steal(&object);
    verdict->build_seconds = build->seconds;
    return kf_verdict_set_text(&verdict->binary_hash, build->binary_hash) &&
           kf_verdict_set_text(&verdict->code_hash, build->code_hash);
}

/* All that another job needs beside task, source and flags to ask for the same; `kforge eval --replay` reads it. */
static bool describe_options(cJSON *object, const kf_job_options *o)
{
    cJSON *options = cJSON_AddObjectToObject(object, "options");
    if (!options) return false;
    kf_json_add_number(options, "seconds", o->seconds);
    kf_json_add_number(options, "half_width", o->half_width);
    if (o->baseline && !cJSON_AddStringToObject(options, "baseline", o->baseline)) return false;
    return cJSON_AddBoolToObject(options, "check_only", o->check_only) && cJSON_AddBoolToObject(options, "asan", o->asan) &&
           cJSON_AddBoolToObject(options, "verify", o->verify) &&
           (!o->replay_key ||
            cJSON_AddTrueToObject(object, "replayed")); /* its inputs were known beforehand: no evidence of speed */
}

static bool describe_origin(kf_verdict *verdict, const kf_judge *judge, const kf_job *job, const kf_secret *secret, int layers)
{
    kf_auto(cJSON) object = cJSON_CreateObject();
    char hex[65];
    struct utsname host;
    kf_autofree char *toolchain = judge->device->operations->toolchain(judge->device);
    kf_secret_hex(secret, hex);
    if (!object || !toolchain || !cJSON_AddStringToObject(object, "kforge", KFORGE_VERSION) ||
        !cJSON_AddStringToObject(object, "toolchain", toolchain))
        return false;
    if (uname(&host) == 0) {
        cJSON_AddStringToObject(object, "host", host.nodename);
        cJSON_AddStringToObject(object, "kernel", host.release);
    }
    cJSON *device = kf_judge_describe(judge);
    if (!device || !cJSON_AddItemToObject(object, "device", device) || !describe_options(object, &job->options)) return false;
    cJSON *sandbox = cJSON_AddArrayToObject(object, "sandbox"), *keys = cJSON_AddArrayToObject(object, "keys");
    if (!sandbox || !keys) return false;
    for (int bit = 1; bit < KF_LAYER_ALL; bit <<= 1)
        if (layers & bit) cJSON_AddItemToArray(sandbox, cJSON_CreateString(kf_sandbox_layer_name((kf_sandbox_layer)bit)));
    cJSON_AddItemToArray(keys, cJSON_CreateString(hex)); /* it is of no use any more: the next job has another */
    cJSON_Delete(verdict->provenance);
    verdict->provenance = kf_steal(&object);
    return true;
}

/* ---- one round over all workloads --------------------------------------------------------------------------------------------------------------------- */

typedef struct judge_round {
    kf_judge *judge;
    const kf_job *job;
    const builds *builds;
    const kf_secret *secret;
    const volatile int *stop;
    kf_peer *kept[2]; /* the task's own runners */
    int attempt;
    int layers;
} judge_round;

static int count_timed(const kf_judge *judge, const kf_task *task, kf_problem *problem)
{
    int timed = 0;
    bool applies;
    for (int workload = 0; workload < kf_task_workload_count(task); workload++)
        if (kf_task_resolve(task, workload, judge->device->operations->kind, problem, &applies, NULL) && applies && problem->timed)
            timed++;
    return timed;
}

/* The correctness of what is not timed first: it is quick, and a wrong candidate needs no timing. A first failure ends the round. */
static bool measure_each(judge_round *r, kf_verdict *verdict, kf_error *error)
{
    const kf_task *task = r->job->task;
    const kf_job_options *options = &r->job->options;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    double budget = options->seconds > 0 ? options->seconds : r->judge->device->default_seconds,
           deadline = kf_now() + options->timeout_seconds;
    int timed_left = count_timed(r->judge, task, problem);
    for (int pass = 0; pass < 2; pass++)
        for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
            bool applies;
            if (!kf_task_resolve(task, workload, r->judge->device->operations->kind, problem, &applies, error)) return false;
            if (!applies || problem->timed != (pass == 1)) continue;
            kf_workload_verdict *result = kf_verdict_add_workload(verdict, problem->workload, problem->timed);
            if (!result) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
            kf_workbench bench = {.device = r->judge->device,
                                  .parallel = r->judge->parallel,
                                  .options = options,
                                  .libraries = kf_task_libraries(task),
                                  .problem = problem,
                                  .workload = workload,
                                  .attempt = r->attempt,
                                  .candidate = r->builds->candidate.binary,
                                  .baseline = r->builds->trusted.baseline.path,
                                  .oracle = r->builds->trusted.oracle.path,
                                  .kept = r->kept,
                                  .secret = r->secret,
                                  .seconds = timed_left ? budget / timed_left : budget,
                                  .deadline = deadline,
                                  .stop = r->stop,
                                  .verdict = verdict,
                                  .result = result};
            double started = kf_now();
            if (!kf_measure_workload(&bench, error)) return false;
            r->layers = bench.layers ? bench.layers : r->layers;
            if (problem->timed) {
                budget = fmax(budget - (kf_now() - started), 0.05);
                timed_left--;
            }
            if (result->finding_count) return true;
        }
    return true;
}

static bool measure_all(judge_round *r, kf_verdict *verdict, kf_error *error)
{
    bool done = measure_each(r, verdict, error);
    for (int i = 0; i < 2; i++) {
        kf_peer_free(r->kept[i]);
        r->kept[i] = NULL;
    }
    return done;
}

/* ---- a job ----------------------------------------------------------------------------------------------------------------------------------------------- */

static kf_verdict *new_verdict(const kf_judge *judge, const kf_job *job)
{
    kf_auto(kf_verdict) verdict = kf_verdict_new(job->id, kf_task_name(job->task), judge->device->name);
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(job->source, job->source_size);
    kf_hash_hex(&hash, hex);
    if (!verdict || !kf_verdict_set_text(&verdict->task_hash, kf_task_hash(job->task)) ||
        !kf_verdict_set_text(&verdict->source_hash, hex))
        return NULL;
    return kf_steal(&verdict);
}

static bool intervals_meet(const kf_interval *a, const kf_interval *b)
{
    return a->low <= b->high && b->low <= a->high;
}

static bool agree(const kf_verdict *a, const kf_verdict *b)
{
    if (a->status != KF_CORRECT || b->status != KF_CORRECT || a->workload_count != b->workload_count) return false;
    return isnan(a->speedup.value) || intervals_meet(&a->speedup, &b->speedup);
}

static bool judge_built(judge_round *r, kf_verdict *verdict, kf_error *error)
{
    bool measured = describe_build(verdict, r->job, &r->builds->candidate) && measure_all(r, verdict, error);
    if (!measured) return false;
    if (!describe_origin(verdict, r->judge, r->job, r->secret, r->layers)) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    kf_verdict_conclude(verdict);
    return true;
}

static bool is_known(const kf_job *job, const char *code_hash)
{
    for (size_t i = 0; i < job->known_count; i++)
        if (strcmp(job->known_code[i], code_hash) == 0) return true;
    return false;
}

/* Everything that can be said of a job, into *verdict; false: machine, judge or caller. */
static bool judge_job(kf_judge *judge, const kf_job *job, const volatile int *stop, builds *b, kf_verdict **verdict,
                      kf_error *error)
{
    kf_secret secret;
    if (!kf_secret_new(&secret, job->options.replay_key, error) || !build_all(judge, job, b, error)) return false;
    const char *const *libraries = kf_task_file_libraries(job->task, b->trusted.baseline_file);
    if (b->trusted.baseline.reason && libraries[0]) { /* a task's author can't know what is installed here */
        kf_verdict_add_finding(*verdict, NULL, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "baseline.library", NAN, NAN,
                               "baseline \"%s\" needs %s, which is not to be had on this device: %s",
                               job->options.baseline ? job->options.baseline : "", libraries[0], b->trusted.baseline.reason);
        kf_verdict_conclude(*verdict);
        return true;
    }
    const char *broken = b->trusted.baseline.reason ? b->trusted.baseline.reason : b->trusted.oracle.reason;
    if (broken) {
        kf_verdict_add_finding(*verdict, NULL, KF_JUDGE_ERROR, KF_BLAME_TASK, "task.build", NAN, NAN, "the task's own %s", broken);
        kf_verdict_conclude(*verdict);
        return true;
    }
    if (!b->candidate.ok) {
        kf_blame blame = b->candidate.status == KF_UNSUPPORTED_DEVICE || b->candidate.status == KF_JUDGE_ERROR ? KF_BLAME_MACHINE
                                                                                                               : KF_BLAME_CANDIDATE;
        if (!describe_build(*verdict, job, &b->candidate) || !describe_origin(*verdict, judge, job, &secret, b->candidate.layers) ||
            !kf_verdict_add_finding(*verdict, NULL, b->candidate.status, blame, "build.failed", NAN, NAN, "%s",
                                    b->candidate.reason))
            return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        kf_verdict_conclude(*verdict);
        return true;
    }
    if (is_known(job, b->candidate.code_hash)) {
        if (!describe_build(*verdict, job, &b->candidate) || !describe_origin(*verdict, judge, job, &secret, b->candidate.layers) ||
            !kf_verdict_add_finding(*verdict, NULL, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "code.known", NAN, NAN,
                                    "not measured: there is a verdict on the same machine code"))
            return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        kf_verdict_conclude(*verdict);
        return true;
    }
    judge_round first = {.judge = judge, .job = job, .builds = b, .secret = &secret, .stop = stop};
    if (!judge_built(&first, *verdict, error)) return false;
    if (!job->options.verify || (*verdict)->status != KF_CORRECT) return true;
    kf_auto(kf_verdict) again = new_verdict(judge, job);
    if (!again) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    judge_round second = first;
    second.attempt = 1;
    if (!judge_built(&second, again, error)) return false;
    again->reverified = agree(*verdict, again);
    if (!again->reverified && again->status == KF_CORRECT &&
        !kf_verdict_add_flag(again, "verify.disagrees:%.4f..%.4f", (*verdict)->speedup.low, (*verdict)->speedup.high))
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    kf_verdict_free(*verdict);
    *verdict = kf_steal(&again);
    return true;
}

kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stop, kf_error *error)
{
    double started = kf_now();
    kf_job sanitized = *job;
    if (job->options.sanitize && strcmp(judge->device->operations->kind, "cpu") == 0) { /* AddressSanitizer does the work there */
        sanitized.options.asan = true;
        job = &sanitized;
    }
    kf_auto(kf_verdict) verdict = new_verdict(judge, job);
    if (!verdict) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for a verdict");
        return NULL;
    }
    kf_error trouble = {0};
    builds b = {0};
    bool judged = judge_job(judge, job, stop, &b, &verdict, &trouble) &&
                  kf_judge_sanitize(judge, job, b.candidate.binary, verdict, stop, &trouble) &&
                  kf_judge_count(judge, job, b.candidate.binary, verdict, stop, &trouble);
    builds_free(&b);
    if (!judged) {
        if (trouble.code == KF_ERROR_BUSY) {
            kf_fail_copy(error, &trouble);
            return NULL;
        }
        kf_blame blame = trouble.code == KF_ERROR_INPUT || trouble.code == KF_ERROR_LIMIT ? KF_BLAME_TASK : KF_BLAME_MACHINE;
        kf_verdict_add_finding(verdict, NULL, KF_JUDGE_ERROR, blame, "judge.failed", NAN, NAN, "%s", trouble.text);
        kf_verdict_conclude(verdict);
    }
    verdict->judge_seconds = kf_now() - started;
    return kf_steal(&verdict);
}
