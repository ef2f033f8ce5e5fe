/* Checks a new task before it gets its folder: `task lint`, then the module itself as a candidate.
 * Both see only workloads that are small enough for the device. A limit of the machine is no fault
 * of a problem: the task is made then, with a note. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/judge.h"
#include "kforge/json.h"
#include "kforge/lint.h"
#include "kforge/task.h"

/* Of one call on the CPU device. A check makes about thirty calls of the module, and as many in
 * float64. */
#define CPU_FLOPS 2e9
#define CHECK_SECONDS 120
/* The import itself says which sizes a task has. */
static const char *const said_elsewhere[] = {"workload.", "work.absent", "size.large"};

/* Errors with which a candidate that does nothing, or has a table, is correct, and those of the
 * task itself. Other errors are printed: a weak problem of a suite stays comparable. */
static const char *const refusing[] = {
    "inputs.",     "output.copy", "output.untouched", "output.zeros", "output.same_for_all_inputs",
    "output.mean", "baseline.",   "tolerance.",       "workload."};

struct kf_import_checker {
    kf_judge *judge;
    bool strict;
};

kf_import_checker *kf_import_checker_new(const char *device, bool strict, kf_error *error)
{
    kf_autofree kf_import_checker *checker = calloc(1, sizeof *checker);
    if (!checker) {
        kf_fail_memory(error, "the checks of an import");
        return NULL;
    }
    checker->strict = strict;
    checker->judge = kf_judge_new(&(kf_judge_settings){.device = device}, error);
    return checker->judge ? kf_steal(&checker) : NULL;
}

void kf_import_checker_free(kf_import_checker *checker)
{
    if (checker) kf_judge_free(checker->judge);
    free(checker);
}

/* ---- the task with the workloads that fit ---------------------------------------------------- */

static kf_task *load(const cJSON *json, const cJSON *others, const char *text, kf_error *error)
{
    kf_auto(cJSON) bundle = cJSON_CreateObject();
    cJSON *copy = bundle ? cJSON_Duplicate(json, true) : NULL, *files = NULL;
    const cJSON *other;
    if (!copy || !cJSON_AddStringToObject(bundle, "schema", "kforge-bundle/1") ||
        !cJSON_AddItemToObject(bundle, "json", copy) ||
        !(files = cJSON_AddObjectToObject(bundle, "files")) ||
        (text && !cJSON_AddStringToObject(files, KF_IMPORT_FILE, text))) {
        kf_fail_memory(error, "the checks of an import");
        return NULL;
    }
    cJSON_ArrayForEach(other, others)
    {
        kf_autofree char *content = kf_import_file_text(json, other);
        if (content && cJSON_AddStringToObject(files, other->string, content)) continue;
        kf_fail_memory(error, "the checks of an import");
        return NULL;
    }
    kf_error reason = {0};
    kf_task *task = kf_task_from_bundle(bundle, &reason);
    if (!task) kf_fail(error, reason.code, "it cannot become a task: %s", reason.text);
    return task;
}

static bool is_on_cpu(const kf_import_checker *checker)
{
    return strcmp(kf_judge_device(checker->judge), "cpu") == 0;
}

/* Returns the bytes of two sets and the oracle's outputs. */
static double bytes_of(const kf_problem *problem)
{
    double bytes = 2.0 * (double)problem->total_bytes;
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind == KF_OUTPUT || problem->arguments[i].kind == KF_INOUT)
            bytes += 8.0 * (double)problem->arguments[i].elements;
    return bytes;
}

static void add_note(kf_import_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_note(kf_import_result *result, const char *format, ...)
{
    kf_autobuffer text = {0};
    char one[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one, sizeof one, format, arguments);
    va_end(arguments);
    if (result->notes && result->notes[0]) kf_buffer_format(&text, "%s; ", result->notes);
    kf_buffer_string(&text, one);
    char *taken = kf_buffer_take(&text);
    if (!taken) return; /* the old notes stay */
    free(result->notes);
    result->notes = taken;
}

/* Gives the arguments of a copied task.json the shapes of an unseen workload, which becomes a given
 * one. */
static bool take_shapes(cJSON *json, cJSON *workload)
{
    kf_auto(cJSON) shapes = cJSON_DetachItemFromObjectCaseSensitive(workload, "shapes");
    cJSON *argument;
    cJSON_ArrayForEach(argument, cJSON_GetObjectItemCaseSensitive(json, "arguments"))
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(argument, "name");
        cJSON *shape = cJSON_DetachItemFromObjectCaseSensitive(
            shapes, cJSON_IsString(name) ? name->valuestring : "");
        if (shape && !cJSON_ReplaceItemInObjectCaseSensitive(argument, "shape", shape)) {
            cJSON_Delete(shape);
            return false;
        }
    }
    cJSON_DeleteItemFromObjectCaseSensitive(workload, "unseen");
    cJSON_DeleteItemFromObjectCaseSensitive(json, "work");
    return true;
}

/* Deletes the workloads of a copied task.json that are too large for the device. If no given one is
 * left, an unseen one takes its place, and *stands_in becomes true. Returns how many are left, -1
 * with the error set. */
static int keep_small(const kf_import_checker *checker, const kf_task *task, cJSON *json,
                      double flops, bool *stands_in, kf_import_result *result, kf_error *error)
{
    const char *device = is_on_cpu(checker) ? "cpu" : "cuda";
    double limit = is_on_cpu(checker) ? (double)KF_LINT_CPU_BYTES : (double)KF_LINT_CUDA_BYTES;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem) return kf_fail_memory(error, "the checks of an import"), -1;
    cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "workloads"), *row;
    int left = 0, given = 0;
    for (int w = 0, at = 0; w < kf_task_workload_count(task); w++) {
        bool applies;
        if (!kf_task_resolve(task, w, device, problem, &applies, error)) return -1;
        double bytes = bytes_of(problem), operations = problem->own_shapes ? 0 : flops;
        bool fits = bytes <= limit && (!is_on_cpu(checker) || operations <= CPU_FLOPS);
        if (!fits && !problem->unseen && bytes > limit)
            add_note(result,
                     "workload %s is not judged by this import: it takes %.0f MiB, the limit for "
                     "%s is %.0f MiB",
                     problem->workload, bytes / 0x1p20, device, limit / 0x1p20);
        else if (!fits && !problem->unseen)
            add_note(result,
                     "workload %s is not judged by this import: %.2g operations a call are too "
                     "slow on the CPU device",
                     problem->workload, operations);
        left += fits;
        given += fits && !problem->unseen;
        if (fits)
            at++;
        else if (list)
            cJSON_DeleteItemFromArray(list, at);
    }
    cJSON_ArrayForEach(row, list)
    {
        if (given) break;
        if (!cJSON_GetObjectItemCaseSensitive(row, "shapes")) continue;
        if (!take_shapes(json, row)) return kf_fail_memory(error, "the checks of an import"), -1;
        given++;
        *stands_in = true;
    }
    return given ? left : 0;
}

/* ---- lint ------------------------------------------------------------------------------------ */

typedef struct found {
    kf_import_result *result;
    int errors;
} found;

static bool begins_with_one(const char *rule, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(rule, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

static void take_finding(void *context, const kf_lint_finding *finding)
{
    found *f = context;
    kf_import_result *result = f->result;
    bool has_path = finding->path && finding->path[0], error = finding->severity == KF_LINT_ERROR;
    if (!error && begins_with_one(finding->rule, said_elsewhere,
                                  sizeof said_elsewhere / sizeof *said_elsewhere))
        return;
    if (!result->findings) result->findings = cJSON_CreateArray();
    cJSON *row = cJSON_CreateObject();
    if (!row || !cJSON_AddItemToArray(result->findings, row)) {
        cJSON_Delete(row);
    } else {
        cJSON_AddStringToObject(row, "severity", error ? "error" : "warning");
        cJSON_AddStringToObject(row, "rule", finding->rule);
        cJSON_AddStringToObject(row, "path", has_path ? finding->path : "");
        cJSON_AddStringToObject(row, "text", finding->text);
    }
    if (!error || !begins_with_one(finding->rule, refusing, sizeof refusing / sizeof *refusing) ||
        f->errors++)
        return;
    result->status = KF_IMPORT_UNFIT;
    snprintf(result->rule, sizeof result->rule, "%s", finding->rule);
    snprintf(result->reason, sizeof result->reason, "lint: %s%s%s", has_path ? finding->path : "",
             has_path ? ": " : "", finding->text);
}

/* True if an error is about this problem only. */
static bool is_own(const kf_error *error)
{
    return error->code == KF_ERROR_INPUT || error->code == KF_ERROR_LIMIT;
}

/* ---- the module as a candidate --------------------------------------------------------------- */

static const char *why(const kf_verdict *verdict, const char *rule)
{
    if (strcmp(rule, "forward.raised") == 0 || strcmp(rule, "baseline.failed") == 0 ||
        strcmp(rule, "oracle.failed") == 0)
        return "forward fails on inputs that are drawn as the task says";
    if (strstr(verdict->message, " varied"))
        return "on varied inputs its own precision exceeds the tolerance";
    if (strcmp(rule, "baseline.wrong") == 0 || verdict->status == KF_WRONG_RESULT)
        return "the tolerance is too tight for its own precision, or its result depends on earlier "
               "calls or on chance";
    return "a solution like it cannot be judged";
}

/* Deletes the unseen workloads of a task.json that its own module does not pass. */
static void drop_failed(const kf_verdict *verdict, cJSON *json, kf_import_result *result)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "workloads");
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (!w->unseen || w->status == KF_CORRECT) continue;
        for (int k = cJSON_GetArraySize(list) - 1; k >= 0; k--) {
            const cJSON *name =
                cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, k), "name");
            if (!cJSON_IsString(name) || strcmp(name->valuestring, w->workload) != 0) continue;
            cJSON_DeleteItemFromArray(list, k);
            add_note(result, "unseen %s left out, the module itself fails there: %.200s",
                     w->workload, w->finding_count ? w->findings[0].text : "not judged");
        }
    }
}

static bool judge_module(kf_import_checker *checker, const kf_task *task, cJSON *json,
                         kf_import_result *result, const volatile int *stop, kf_error *error)
{
    kf_auto(kf_job) job = kf_job_of_baseline("import", task, NULL, error);
    if (!job) return false;
    char key[17];
    snprintf(key, sizeof key, "%.16s", kf_task_hash(task)); /* a second import repeats the first */
    job->options.check_only = true;
    job->options.strict_sandbox = checker->strict;
    job->options.timeout_seconds = CHECK_SECONDS;
    job->options.replay_key = strdup(key);
    if (!job->options.replay_key) return kf_fail_memory(error, "the checks of an import");
    kf_auto(kf_verdict) verdict = kf_judge_run(checker->judge, job, stop, error);
    if (!verdict) return false;
    if (verdict->status == KF_CORRECT) return drop_failed(verdict, json, result), true;
    const char *rule = kf_verdict_first_rule(verdict);
    bool machine = verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE ||
                   verdict->status == KF_TIMEOUT || strcmp(rule, "time.budget") == 0;
    if (machine) {
        add_note(result, "its module is not judged by this import: %.300s", verdict->message);
        return true;
    }
    result->status = KF_IMPORT_UNFIT;
    snprintf(result->rule, sizeof result->rule, "reference");
    snprintf(result->reason, sizeof result->reason,
             "judged as a solution, its module fails: %.700s; %s", verdict->message,
             why(verdict, rule));
    return true;
}

/* Checks what needs a run, on the small workloads. */
static bool check_small(kf_import_checker *checker, const kf_task *task, cJSON *json,
                        kf_import_result *result, const volatile int *stop, kf_error *error)
{
    found f = {.result = result};
    kf_error reason = {0};
    if (kf_judge_lint(checker->judge, task, take_finding, &f, stop, &reason) < 0) {
        if (!is_own(&reason)) return kf_fail_copy(error, &reason);
        if (reason.code == KF_ERROR_LIMIT) {
            add_note(result, "not checked on this machine: %.300s", reason.text);
            return true;
        }
        result->status = KF_IMPORT_UNFIT;
        snprintf(result->rule, sizeof result->rule, "lint");
        snprintf(result->reason, sizeof result->reason, "lint: %.900s", reason.text);
        return true;
    }
    return f.errors || judge_module(checker, task, json, result, stop, error);
}

bool kf_import_check(kf_import_checker *checker, cJSON *json, const cJSON *files, const char *text,
                     double flops, kf_import_result *result, const volatile int *stop,
                     kf_error *error)
{
    kf_auto(kf_task) task = load(json, files, text, error);
    kf_auto(cJSON) copy = task ? cJSON_Duplicate(json, true) : NULL;
    if (!task) return false;
    if (!copy) return kf_fail_memory(error, "the checks of an import");
    found f = {.result = result};
    kf_task_lint_static(task, NULL, take_finding, &f);
    if (f.errors) return true;
    bool stands_in = false;
    kf_import_status before = result->status;
    int left = keep_small(checker, task, copy, flops, &stands_in, result, error);
    if (left <= 0) return left == 0;
    double started = kf_now();
    kf_auto(kf_task) small = load(copy, files, text, error);
    bool good = small && check_small(checker, small, json, result, stop, error);
    result->check_seconds = kf_now() - started;
    if (good && stands_in && result->status == KF_IMPORT_UNFIT) {
        /* The problem itself has no such size. */
        result->status = before;
        add_note(result, "not checked: at a smaller size than its own it fails: %.300s",
                 result->reason);
        result->rule[0] = result->reason[0] = '\0';
    }
    return good;
}
