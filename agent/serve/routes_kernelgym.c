/* The routes of KernelGYM's server (kernelgym/server/api), as far as kforge's tasks can express
 * them. The reference has to be the problem file of a task that this server offers. The kernel is a
 * Python file with class ModelNew. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge_request.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "polling.h"
#include "routes_flashinfer.h"
#include "serve.h"

#define ID_BYTES 100
#define ALIAS "kernelgym:"
#define BATCH_TASKS 100
#define REMEMBERED 512

static void fail(kf_exchange *exchange, unsigned status, const char *what, const char *where)
{
    if (status == 429) kf_exchange_add_header(exchange, "Retry-After", "1");
    kf_exchange_error(exchange, status, what, where,
                      "POST /v1/judge takes each candidate that kforge can judge; "
                      "docs/guide/serve.md has its fields.");
}

/* ---- references ------------------------------------------------------------------------------ */

/* Tasks by the hash of their problem file, so that a trainer's requests need no search. */
static struct {
    pthread_mutex_t lock;
    struct {
        char reference[KF_HASH_HEX], task[KF_HASH_HEX];
    } rows[REMEMBERED];
    size_t next;
} remembered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool recall(const char *reference, char task[KF_HASH_HEX])
{
    bool found = false;
    pthread_mutex_lock(&remembered.lock);
    for (size_t i = 0; i < REMEMBERED && !found; i++) {
        found = strcmp(remembered.rows[i].reference, reference) == 0;
        if (found) memcpy(task, remembered.rows[i].task, KF_HASH_HEX);
    }
    pthread_mutex_unlock(&remembered.lock);
    return found;
}

static void remember(const char *reference, const char *task)
{
    pthread_mutex_lock(&remembered.lock);
    size_t at = remembered.next++ % REMEMBERED;
    snprintf(remembered.rows[at].reference, KF_HASH_HEX, "%s", reference);
    snprintf(remembered.rows[at].task, KF_HASH_HEX, "%s", task);
    pthread_mutex_unlock(&remembered.lock);
}

static size_t trimmed(const char *text)
{
    size_t size = strlen(text);
    while (size && strchr(" \t\r\n", text[size - 1])) size--;
    return size;
}

static bool is_problem_of(const kf_task *task, const char *reference)
{
    const kf_task_file *file = kf_task_oracle(task);
    size_t size = trimmed(reference);
    return kf_task_is_torch(task) && file->kind == KF_SOURCE_TORCH && trimmed(file->text) == size &&
           memcmp(file->text, reference, size) == 0;
}

/* Finds the offered task with this problem file. */
static bool find_reference(kf_service *service, const char *reference, char task[KF_HASH_HEX])
{
    char hash[KF_HASH_HEX];
    kf_hash bytes = kf_hash_bytes(reference, trimmed(reference));
    kf_hash_hex(&bytes, hash);
    if (recall(hash, task)) return true;
    kf_auto(cJSON) tasks = kf_service_tasks(service, NULL);
    const cJSON *row;
    cJSON_ArrayForEach(row, tasks)
    {
        kf_auto(kf_task) loaded =
            kf_service_task(service, kf_json_get_text(row, "name", NULL), NULL);
        if (!loaded || !is_problem_of(loaded, reference)) continue;
        snprintf(task, KF_HASH_HEX, "%s", kf_task_hash(loaded));
        remember(hash, task);
        return true;
    }
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void id_free(void *data)
{
    free(data);
}

/* Checks a request. False with *failure. */
static bool check(kf_service *service, const cJSON *request, char task[KF_HASH_HEX],
                  kf_serve_error *failure)
{
    const char *id = kf_json_get_text(request, "task_id", NULL),
               *reference = kf_json_get_text(request, "reference_code", NULL),
               *kernel = kf_json_get_text(request, "kernel_code", NULL),
               *entry = kf_json_get_text(request, "entry_point", NULL), *what = NULL, *where = "";
    failure->status = 400;
    failure->todo = "POST /v1/judge takes each candidate that kforge can judge; "
                    "docs/guide/serve.md has its fields.";
    if (!id || !*id || strlen(id) > ID_BYTES)
        what = "expected a text of 1 to 100 bytes", where = "task_id";
    else if (!reference || !kernel)
        what = "expected the texts reference_code and kernel_code", where = "kernel_code";
    else if (failure->status = 501, entry && strcmp(entry, "Model") != 0)
        what = "kforge judges class ModelNew against class Model", where = "entry_point";
    else if (!find_reference(service, reference, task))
        what = "the reference is the problem file of no task here; import the problems with "
               "\"kforge import\", and start the server with the tasks",
        where = "reference_code";
    if (!what) return true;
    snprintf(failure->what, sizeof failure->what, "%s", what);
    snprintf(failure->where, sizeof failure->where, "%s", where);
    return false;
}

/* Submits a request. NULL with *failure. */
static kf_ticket *submit(kf_service *service, const cJSON *request, kf_serve_error *failure)
{
    static const unsigned statuses[] = {[KF_REFUSED_INPUT] = 400,
                                        [KF_REFUSED_TASK] = 404,
                                        [KF_REFUSED_FULL] = 429,
                                        [KF_REFUSED_FAILED] = 503};
    char task[KF_HASH_HEX], alias[sizeof ALIAS + ID_BYTES];
    *failure = (kf_serve_error){0};
    if (!check(service, request, task, failure)) return NULL;
    const char *kernel = kf_json_get_text(request, "kernel_code", NULL),
               *id = kf_json_get_text(request, "task_id", NULL);
    const cJSON *timeout = cJSON_GetObjectItemCaseSensitive(request, "timeout");
    char *data = strdup(id);
    kf_refusal refusal = KF_REFUSED_FAILED;
    kf_error why = {0};
    snprintf(alias, sizeof alias, ALIAS "%s", id);
    kf_submission s = {
        .task = task,
        .source = kernel,
        .source_size = strlen(kernel),
        .mode = cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(request, "measure_performance"))
                    ? KF_MODE_CHECK
                    : KF_MODE_TIME,
        .python = true,
        .fresh = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(request, "force_refresh")),
        .deadline_seconds = cJSON_IsNumber(timeout) && timeout->valuedouble > 0 &&
                                    timeout->valuedouble <= KF_SERVE_MOST_DEADLINE
                                ? timeout->valuedouble
                                : 300,
        .kept = true,
        .alias = alias,
        .proposer = "kernelgym",
        .data = data,
        .free_data = id_free};
    kf_ticket *ticket = data ? kf_service_submit(service, &s, &refusal, &why) : NULL;
    if (ticket) return ticket;
    free(data);
    kf_serve_error_set(failure, statuses[refusal], &why, failure->todo);
    return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *state_of(kf_ticket *ticket, const kf_judgement *j)
{
    switch (kf_ticket_state_now(ticket)) {
    case KF_TICKET_QUEUED: return "pending";
    case KF_TICKET_RUNNING: return "processing";
    case KF_TICKET_EXPIRED: return "timeout";
    case KF_TICKET_CANCELLED: return "failed";
    default: return j && kf_judgement_counts(j) ? "completed" : "failed";
    }
}

static const char *error_code_of(const kf_judgement *j)
{
    if (!kf_judgement_counts(j)) return "SYSTEM_ERROR";
    switch (j->status) {
    case KF_CORRECT: return NULL;
    case KF_COMPILE_ERROR: return "COMPILATION_ERROR";
    case KF_TIMEOUT: return "TIMEOUT_ERROR";
    case KF_OUT_OF_MEMORY: return "RESOURCE_ERROR";
    case KF_WRONG_RESULT:
    case KF_CHEATING:
    case KF_IMPOSSIBLE:
    case KF_CONTRACT_VIOLATION: return "CORRECTNESS_ERROR";
    default: return "RUNTIME_ERROR";
    }
}

/* Adds a number, or null if it is not known. */
static bool add_number(cJSON *object, const char *key, double value)
{
    return isfinite(value) ? cJSON_AddNumberToObject(object, key, value) != NULL
                           : cJSON_AddNullToObject(object, key) != NULL;
}

/* Computes the sums over the timed workloads in milliseconds. NaN: not timed. */
static void runtimes(const kf_judgement *j, double *reference, double *kernel)
{
    *reference = *kernel = NAN;
    if (!j->verdict || !(j->speedup.value > 0)) return;
    *reference = *kernel = 0;
    for (size_t i = 0; i < j->verdict->workload_count; i++) {
        const kf_workload_verdict *w = &j->verdict->workloads[i];
        if (!w->timed) continue;
        *reference += w->baseline_seconds * 1e3;
        *kernel += w->candidate_seconds * 1e3;
    }
}

static bool add_result(cJSON *row, const kf_judgement *j)
{
    double reference, kernel;
    const char *code = error_code_of(j);
    runtimes(j, &reference, &kernel);
    cJSON *metadata = NULL;
    /* A cheat is what KernelGYM calls a decoy: it passes the comparison without the work. */
    return cJSON_AddBoolToObject(row, "compiled", j->status != KF_COMPILE_ERROR) &&
           cJSON_AddBoolToObject(row, "correctness", j->status == KF_CORRECT) &&
           cJSON_AddBoolToObject(row, "decoy_kernel", j->status == KF_CHEATING) &&
           add_number(row, "reference_runtime", reference) &&
           add_number(row, "kernel_runtime", kernel) &&
           add_number(row, "speedup", j->speedup.value) &&
           (code ? cJSON_AddStringToObject(row, "error_code", code)
                 : cJSON_AddNullToObject(row, "error_code")) &&
           (code ? cJSON_AddStringToObject(row, "error_message", j->summary)
                 : cJSON_AddNullToObject(row, "error_message")) &&
           (metadata = cJSON_AddObjectToObject(row, "metadata")) &&
           cJSON_AddStringToObject(metadata, "device", j->device) &&
           cJSON_AddStringToObject(metadata, "backend", "kforge") &&
           cJSON_AddStringToObject(metadata, "status", kf_judgement_status(j)) &&
           cJSON_AddStringToObject(metadata, "summary", j->summary) &&
           cJSON_AddStringToObject(metadata, "candidate", j->candidate);
}

static cJSON *result_row(kf_ticket *ticket)
{
    const kf_judgement *j = kf_ticket_judgement(ticket);
    const char *state = state_of(ticket, j);
    kf_auto(cJSON) row = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(row, "task_id", kf_ticket_data(ticket, id_free)) &&
                cJSON_AddStringToObject(row, "status", state) &&
                (!j || !kf_judgement_counts(j) || add_result(row, j));
    bool failed = strcmp(state, "failed") == 0 || strcmp(state, "timeout") == 0;
    if (made && failed)
        made = cJSON_AddStringToObject(row, "error_code",
                                       strcmp(state, "timeout") == 0 ? "TIMEOUT_ERROR"
                                                                     : "SYSTEM_ERROR") &&
               cJSON_AddStringToObject(row, "error_message",
                                       j ? j->summary : "the job had no verdict in time");
    return made ? kf_steal(&row) : NULL;
}

static cJSON *failure_row(const cJSON *request, const kf_serve_error *failure)
{
    const char *id = kf_json_get_text(request, "task_id", NULL);
    kf_auto(cJSON) row = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(row, "task_id", id ? id : "") &&
                cJSON_AddStringToObject(row, "status", "failed") &&
                cJSON_AddStringToObject(row, "error_code", "VALIDATION_ERROR") &&
                cJSON_AddStringToObject(row, "error_message", failure->what);
    return made ? kf_steal(&row) : NULL;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static void evaluate(kf_exchange *exchange)
{
    kf_ticket *ticket = kf_polled_ticket(exchange);
    if (!ticket) {
        kf_auto(cJSON) request = kf_serve_body(exchange);
        kf_serve_error failure;
        if (!request) return;
        if (cJSON_GetObjectItemCaseSensitive(request, "solution"))
            return kf_flashinfer_evaluate(exchange, request);
        if (!cJSON_GetObjectItemCaseSensitive(request, "kernel_code"))
            return fail(exchange, 400,
                        "expected \"solution\" (FlashInfer-Bench) or \"kernel_code\" (KernelGYM)",
                        "body");
        ticket = submit(kf_exchange_context(exchange), request, &failure);
        if (!ticket) return kf_serve_fail(exchange, &failure);
        if (!kf_poll(exchange, &ticket, 1, KF_SERVE_MOST_DEADLINE))
            return kf_exchange_json(exchange, 500, NULL);
    }
    if (kf_poll_again(exchange)) kf_exchange_json(exchange, 200, result_row(ticket));
}

/* The rows of a batch that were refused, for its answer. */
static bool submit_batch(kf_exchange *exchange, const cJSON *tasks, cJSON *refused)
{
    kf_ticket *tickets[BATCH_TASKS];
    size_t count = 0;
    const cJSON *request;
    cJSON_ArrayForEach(request, tasks)
    {
        kf_serve_error failure;
        kf_ticket *ticket = submit(kf_exchange_context(exchange), request, &failure);
        if (ticket)
            tickets[count++] = ticket;
        else
            cJSON_AddItemToArray(refused, failure_row(request, &failure));
    }
    if (!count) return true;
    return kf_poll(exchange, tickets, count, 0);
}

/* Answers with the state of each task now. GET /results/ID has the results. */
static void evaluate_batch(kf_exchange *exchange)
{
    kf_auto(cJSON) request = kf_serve_body(exchange), *json = cJSON_CreateObject();
    if (!request) return;
    const cJSON *tasks = cJSON_GetObjectItemCaseSensitive(request, "tasks");
    const char *batch = kf_json_get_text(request, "batch_id", NULL);
    int size = cJSON_GetArraySize(tasks);
    if (!batch || size < 1 || size > BATCH_TASKS)
        return fail(exchange, 400, "expected the text batch_id and 1 to 100 tasks", "tasks");
    cJSON *results = cJSON_AddArrayToObject(json, "results");
    if (!results || !submit_batch(exchange, tasks, results))
        return kf_exchange_json(exchange, 500, NULL);
    int failed = cJSON_GetArraySize(results), completed = 0;
    kf_ticket *ticket;
    for (size_t i = 0; (ticket = kf_polled(exchange, i)); i++) {
        completed += kf_ticket_state_now(ticket) == KF_TICKET_DONE;
        cJSON_AddItemToArray(results, result_row(ticket));
    }
    bool made = cJSON_AddStringToObject(json, "batch_id", batch) &&
                cJSON_AddNumberToObject(json, "total_tasks", size) &&
                cJSON_AddNumberToObject(json, "completed_tasks", completed) &&
                cJSON_AddNumberToObject(json, "failed_tasks", failed) &&
                cJSON_AddStringToObject(json, "batch_status",
                                        completed + failed == size ? "completed" : "processing");
    kf_exchange_json(exchange, 200, made ? kf_steal(&json) : NULL);
}

static void show_result(kf_exchange *exchange)
{
    char alias[sizeof ALIAS + ID_BYTES];
    snprintf(alias, sizeof alias, ALIAS "%s", kf_exchange_part(exchange, 0));
    kf_auto(kf_ticket) ticket = kf_service_find(kf_exchange_context(exchange), alias);
    if (!ticket || !kf_ticket_data(ticket, id_free))
        return fail(exchange, 404, "there is no such task", kf_exchange_part(exchange, 0));
    kf_exchange_json(exchange, 200, result_row(ticket));
}

const kf_route kf_serve_kernelgym_routes[] = {
    {"POST", "/evaluate", KF_SERVE_BODY_BYTES, evaluate},
    {"POST", "/evaluate/batch", KF_SERVE_BATCH_BYTES, evaluate_batch},
    {"GET", "/results/*", 0, show_result},
    {"GET", "/status/*", 0, show_result},
    {0},
};
