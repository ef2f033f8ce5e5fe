/* Describes problems, several at a time, then checks and writes them. Each thread takes the next
 * problem, starts its sandbox and waits for it. The thread that starts a sandbox has to outlive it.
 * The caller's thread checks and writes. An error that affects every problem ends all threads after
 * their current problem. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "kforge/buffer.h"
#include "describe.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/task.h"
#include "torch_tool.h"

/* longest reason of a refusal */
#define REASON_LETTERS 1000

const char *kf_import_status_name(kf_import_status status)
{
    static const char *const names[] = {[KF_IMPORT_NOT_TRIED] = "not_tried",
                                        [KF_IMPORT_MADE] = "made",
                                        [KF_IMPORT_UNCHANGED] = "unchanged",
                                        [KF_IMPORT_UNFIT] = "unfit",
                                        [KF_IMPORT_FAILED] = "failed"};
    return names[status];
}

void kf_import_results_clear(kf_import_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(results[i].notes);
        free(results[i].patches);
        cJSON_Delete(results[i].findings);
        results[i] = (kf_import_result){0};
    }
}

/* ---- one problem ----------------------------------------------------------------------------- */

static char *whole_text(const kf_import_problem *problem, size_t *size, kf_error *error)
{
    if (problem->text && (*size = strlen(problem->text)) > KF_SOURCE_BYTES) {
        kf_fail(error, KF_ERROR_LIMIT, "its text is larger than %d bytes", (int)KF_SOURCE_BYTES);
        return NULL;
    }
    kf_autofree char *own = problem->text
                                ? strdup(problem->text)
                                : kf_file_read(problem->path, KF_SOURCE_BYTES, size, error);
    if (!own || !problem->append) return kf_steal(&own);
    kf_autobuffer text = {0};
    kf_buffer_append(&text, own, *size);
    kf_buffer_string(&text, problem->append);
    *size = text.size;
    char *both = kf_buffer_take(&text);
    if (!both) kf_fail_memory(error, "the output of the import");
    return both;
}

static void refuse(kf_import_result *result, kf_import_status status, const char *rule,
                   const char *reason)
{
    result->status = status;
    snprintf(result->rule, sizeof result->rule, "%.60s", rule);
    snprintf(result->reason, sizeof result->reason, "%.*s", REASON_LETTERS, reason);
}

/* Cuts off what only the description reads. The task has it in its own words. */
static size_t cut_declaration(char *text)
{
    static const char mark[] = "\n\nKFORGE = ";
    char *last = NULL;
    for (char *at = text; (at = strstr(at, mark)); at++) last = at;
    if (last) last[1] = '\0';
    return strlen(text);
}

static int64_t count_elements(const cJSON *list)
{
    const cJSON *row, *extent;
    double sum = 0;
    cJSON_ArrayForEach(row, list)
    {
        double product = 1;
        cJSON_ArrayForEach(extent, cJSON_GetObjectItemCaseSensitive(row, "shape")) product *=
            extent->valuedouble;
        sum += product;
    }
    return sum < 9e15 ? (int64_t)sum : INT64_MAX;
}

static void summarise(kf_import_result *result, const cJSON *description)
{
    static const char *const lists[] = {"inputs", "state", "outputs"};
    int *const counts[] = {&result->inputs, &result->state, &result->outputs};
    for (int i = 0; i < 3; i++) {
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(description, lists[i]);
        *counts[i] = cJSON_GetArraySize(list);
        result->elements += count_elements(list);
    }
    const cJSON *flops = cJSON_GetObjectItemCaseSensitive(description, "flops"), *element;
    if (cJSON_IsNumber(flops)) result->flops = flops->valuedouble;
    kf_autobuffer notes = {0}, patches = {0};
    cJSON_ArrayForEach(element, cJSON_GetObjectItemCaseSensitive(
                                    description, "notes")) if (cJSON_IsString(element))
        kf_buffer_format(&notes, "%s%s", notes.size ? "; " : "", element->valuestring);
    cJSON_ArrayForEach(element, cJSON_GetObjectItemCaseSensitive(
                                    description, "patches")) if (cJSON_IsNumber(element))
        kf_buffer_format(&patches, "%s%s=%.0f", patches.size ? " " : "", element->string,
                         element->valuedouble);
    result->notes = kf_buffer_take(&notes);
    result->patches = kf_buffer_take(&patches);
}

/* True for errors that the next problem would have, too. */
static bool is_everybodys(kf_error_code code)
{
    return code == KF_ERROR_MACHINE || code == KF_ERROR_IO || code == KF_ERROR_MEMORY ||
           code == KF_ERROR_INTERNAL || code == KF_ERROR_BUSY;
}

/* A problem between its description and its folder. */
typedef struct described {
    /* of the problem file; NULL for a task without one */
    char *text;
    size_t size;
    /* `files`: further files of the folder, or NULL */
    cJSON *task, *files;
    /* its result, or its error that affects all problems, is there */
    bool done;
} described;

/* Takes the error of one problem. False if it affects all problems. */
static bool take_error(kf_import_result *result, const kf_error *reason, const char *rule,
                       kf_error *error)
{
    if (is_everybodys(reason->code)) return kf_fail_copy(error, reason);
    refuse(result, KF_IMPORT_FAILED, reason->code == KF_ERROR_LIMIT ? "limit" : rule, reason->text);
    return true;
}

/* Takes a task that a translator wrote whole. Returns false on an error that affects all problems.
 */
static bool take_ready(const kf_import_suite *suite, const kf_import_problem *problem,
                       cJSON *translated, kf_import_result *result, described *out, kf_error *error)
{
    kf_error reason = {0};
    const cJSON *ready = cJSON_GetObjectItemCaseSensitive(translated, "task"), *argument;
    cJSON_ArrayForEach(argument, cJSON_GetObjectItemCaseSensitive(ready, "arguments"))
    {
        bool output = strcmp(kf_json_get_text(argument, "kind", ""), "output") == 0;
        if (cJSON_HasObjectItem(argument, "shape"))
            *(output ? &result->outputs : &result->inputs) += 1;
    }
    out->task = kf_import_ready_task(suite, problem, ready, &reason);
    if (!out->task) return take_error(result, &reason, "task", error);
    out->files = cJSON_DetachItemFromObjectCaseSensitive(translated, "files");
    return true;
}

/* Adds to a refusal for a missing class the lines that the offered class still needs from the file
 * (evaluator/torch/load.py words both). So one call says all. */
static void offer_class(const char *text, const kf_describe_request *asked, const kf_error *reason,
                        kf_import_result *result, const volatile int *stop)
{
    static const char choice[] = "; choose one: --class ", lines[] = "append it: ";
    const char *class_name = strstr(reason->text, choice);
    if (!class_name) return;
    class_name += strlen(choice);
    if (strlen(class_name) >= sizeof result->offered) return;
    snprintf(result->offered, sizeof result->offered, "%s", class_name);
    /* With inputs the module would be measured, which takes long and is not wanted yet. */
    if (strstr(text, "def get_inputs(")) return;
    kf_describe_request request = *asked;
    kf_error more = {0};
    request.class_name = result->offered;
    kf_auto(cJSON) description = kf_describe(&request, stop, &more);
    const char *code = description ? NULL : strstr(more.text, lines);
    if (!code) return;
    kf_autobuffer both = {0};
    kf_buffer_format(&both, "%s; it does not define get_inputs(); for %s %s", reason->text,
                     class_name, code);
    /* Lines that are cut off are no use. */
    if (both.data && both.size <= REASON_LETTERS)
        refuse(result, KF_IMPORT_FAILED, "file", both.data);
}

/* Describes a problem. Fills `out` if it can become a task. Returns false on an error that affects
 * all problems. */
static bool describe_one(const kf_import_suite *suite, const kf_import_problem *problem,
                         const kf_import_options *options, kf_import_result *result, described *out,
                         const volatile int *stop, kf_error *error)
{
    kf_error reason = {0};
    if (problem->fault) return refuse(result, KF_IMPORT_UNFIT, problem->rule, problem->fault), true;
    kf_autofree char *text = whole_text(problem, &out->size, &reason);
    if (!text) return refuse(result, KF_IMPORT_FAILED, "file", reason.text), true;
    const kf_describe_request request = {.text = text,
                                         .size = out->size,
                                         .name = strrchr(problem->path, '/') + 1,
                                         .bundle = problem->bundle,
                                         .class_name = problem->class_name ? problem->class_name
                                                                           : options->class_name,
                                         .mode = options->mode,
                                         .patches = options->patches,
                                         .max_elements = options->max_elements,
                                         .threads = 1,
                                         .seconds = options->seconds,
                                         .memory_bytes = options->memory_bytes,
                                         .strict = options->strict};
    kf_auto(cJSON) description = kf_describe(&request, stop, &reason);
    if (!description) {
        if (!take_error(result, &reason, "file", error)) return false;
        offer_class(text, &request, &reason, result, stop);
        return true;
    }
    const cJSON *unfit = cJSON_GetObjectItemCaseSensitive(description, "unfit");
    if (cJSON_IsObject(unfit)) {
        kf_autobuffer why = {0};
        kf_buffer_string(&why, kf_json_get_text(unfit, "reason", ""));
        kf_torch_tool_name_python(kf_json_get_text(unfit, "reason", ""), &why);
        refuse(result, KF_IMPORT_UNFIT, kf_json_get_text(unfit, "rule", ""),
               why.data ? why.data : "");
        return true;
    }
    if (cJSON_HasObjectItem(description, "task"))
        return take_ready(suite, problem, description, result, out, error);
    summarise(result, description);
    if (problem->declared) out->size = cut_declaration(text);
    if (problem->bundle) {
        free(text);
        text = strdup(kf_json_get_text(description, "problem", ""));
        if (!text) return kf_fail_memory(error, "an imported problem");
        out->size = strlen(text);
    }
    out->task = kf_import_task(suite, problem, options, description, text, out->size, &reason);
    if (!out->task) return take_error(result, &reason, "task", error);
    out->text = kf_steal(&text);
    out->files = cJSON_DetachItemFromObjectCaseSensitive(description, "files");
    return true;
}

/* Checks a described problem and writes its folder. `checker` NULL: without checks. Returns false
 * on an error that affects all problems. */
static bool finish_one(const kf_import_problem *problem, const kf_import_options *options,
                       const described *made, kf_import_checker *checker, kf_import_result *result,
                       const volatile int *stop, kf_error *error)
{
    kf_error reason = {0};
    bool unchanged = false;
    /* The checks may leave out workloads, so that a folder is the same only after them. */
    if (!kf_import_look(problem, options, made->task, made->files, made->text, made->size,
                        &unchanged, &reason) &&
        (reason.code != KF_ERROR_INPUT || !checker))
        return take_error(result, &reason, "task", error);
    if ((!unchanged || options->force) && checker &&
        !kf_import_check(checker, made->task, made->files, made->text, result->flops, result, stop,
                         &reason))
        return take_error(result, &reason, "task", error);
    if (result->status == KF_IMPORT_UNFIT) return true;
    if (!kf_import_write(problem, options, made->task, made->files, made->text, made->size,
                         &unchanged, &reason))
        return take_error(result, &reason, "task", error);
    result->status = unchanged ? KF_IMPORT_UNCHANGED : KF_IMPORT_MADE;
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct work {
    const kf_import_suite *suite;
    const kf_import_options *options;
    kf_import_result *results;
    described *described;
    kf_import_progress *progress;
    void *context;
    const volatile int *stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next;
    int threads;
    bool failed;
    /* the first error that affects all */
    kf_error error;
} work;

/* The caller holds the lock. */
static void fail_all(work *w, const kf_error *error)
{
    if (!w->failed) w->error = *error;
    w->failed = true;
}

/* Describes problems until there are no more. */
static void *describe_all(void *argument)
{
    work *w = argument;
    pthread_mutex_lock(&w->lock);
    while (w->next < w->suite->count && !w->failed && !(w->stop && *w->stop)) {
        size_t i = w->next++;
        kf_import_result result = {0};
        described made = {0};
        kf_error error = {0};
        pthread_mutex_unlock(&w->lock);
        double started = kf_now();
        bool good = describe_one(w->suite, &w->suite->problems[i], w->options, &result, &made,
                                 w->stop, &error);
        result.seconds = kf_now() - started;
        made.done = true;
        pthread_mutex_lock(&w->lock);
        w->results[i] = result;
        w->described[i] = made;
        if (!good) fail_all(w, &error);
        pthread_cond_broadcast(&w->changed);
    }
    w->threads--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Waits for a problem that is described. Returns its number, or the number of problems if no more
 * will come. The caller holds the lock. */
static size_t await_described(work *w)
{
    for (;;) {
        for (size_t i = 0; i < w->suite->count && !w->failed; i++)
            if (w->described[i].done) return i;
        if (w->failed || !w->threads) return w->suite->count;
        pthread_cond_wait(&w->changed, &w->lock);
    }
}

/* Checks and writes problems in the order in which they are described. One thread does it, because
 * a judge belongs to its thread, and a device judges one module at a time. */
static void finish_all(work *w)
{
    kf_import_checker *checker = NULL;
    pthread_mutex_lock(&w->lock);
    for (size_t i; (i = await_described(w)) < w->suite->count;) {
        kf_import_result *result = &w->results[i];
        described made = w->described[i];
        w->described[i] = (described){0};
        kf_error error = {0};
        pthread_mutex_unlock(&w->lock);
        double started = kf_now();
        bool good = true;
        if (made.task && !w->options->unchecked && !checker)
            good = (checker = kf_import_checker_new(w->options->device, w->options->strict,
                                                    &error)) != NULL;
        if (good && made.task)
            good = finish_one(&w->suite->problems[i], w->options, &made, checker, result, w->stop,
                              &error);
        result->seconds += kf_now() - started;
        cJSON_Delete(made.task);
        cJSON_Delete(made.files);
        free(made.text);
        if (good && w->progress) w->progress(w->context, &w->suite->problems[i], result);
        pthread_mutex_lock(&w->lock);
        if (!good) fail_all(w, &error);
    }
    pthread_mutex_unlock(&w->lock);
    kf_import_checker_free(checker);
}

bool kf_import_run(const kf_import_suite *suite, const kf_import_options *options,
                   kf_import_result *results, kf_import_progress *progress, void *context,
                   const volatile int *stop, kf_error *error)
{
    work w = {.suite = suite,
              .options = options,
              .results = results,
              .described = calloc(suite->count + 1, sizeof *w.described),
              .progress = progress,
              .context = context,
              .stop = stop,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .changed = PTHREAD_COND_INITIALIZER};
    if (!w.described) return kf_fail_memory(error, "the import");
    pthread_t threads[64];
    int count = 0, wanted = options->jobs < 1 ? 1 : options->jobs > 64 ? 64 : options->jobs;
    pthread_mutex_lock(&w.lock);
    while (count < wanted && (size_t)count < suite->count &&
           pthread_create(&threads[count], NULL, describe_all, &w) == 0)
        count++;
    w.threads = count;
    pthread_mutex_unlock(&w.lock);
    if (!count)
        fail_all(&w, &(kf_error){.code = KF_ERROR_MACHINE, .text = "cannot start a thread"});
    finish_all(&w);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < suite->count; i++) {
        cJSON_Delete(w.described[i].task);
        cJSON_Delete(w.described[i].files);
        free(w.described[i].text);
    }
    free(w.described);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    return w.failed ? kf_fail_copy(error, &w.error) : true;
}
