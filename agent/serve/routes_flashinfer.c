/* The routes of FlashInfer-Bench's server (flashinfer_bench/serve/app.py), as far as kforge's tasks
 * can express them. A definition is a task, and a workload's uuid is its name. A solution is one
 * source with the task's C prototype, or class ModelNew. The oracle never leaves, so a definition
 * has no "reference". */
#include "routes_flashinfer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flashinfer_trace.h"
#include "judge_request.h"
#include "kforge/json.h"
#include "polling.h"
#include "serve.h"
#include "task_card.h"

#define BATCH_TASKS 256

static void fail(kf_exchange *exchange, unsigned status, const char *what, const char *where)
{
    kf_exchange_error(exchange, status, what, where,
                      "POST /v1/judge takes each candidate that kforge can judge; "
                      "docs/guide/serve.md has its fields.");
}

/* ---- solutions ------------------------------------------------------------------------------- */

/* Names of a solution, which its task gives back. */
typedef struct names {
    char *definition, *solution;
} names;

static void names_free(void *data)
{
    names *n = data;
    if (!n) return;
    free(n->definition);
    free(n->solution);
    free(n);
}

/* Checks the parts of a solution that kforge can't express. False: the exchange is answered. */
static bool check_spec(kf_exchange *exchange, const cJSON *solution, const kf_task *task,
                       bool *python)
{
    const cJSON *spec = cJSON_GetObjectItemCaseSensitive(solution, "spec"),
                *sources = cJSON_GetObjectItemCaseSensitive(solution, "sources");
    const char *language = kf_json_get_text(spec, "language", NULL),
               *binding = kf_json_get_text(spec, "binding", NULL),
               *entry = kf_json_get_text(spec, "entry_point", NULL);
    if (!language || !entry)
        return fail(exchange, 400, "expected texts language and entry_point", "solution.spec"),
               false;
    *python = strcmp(language, "python") == 0 || strcmp(language, "triton") == 0;
    if (!*python && strcmp(language, "cuda") != 0 && strcmp(language, "cpp") != 0)
        return fail(exchange, 501, "kforge judges CUDA C and, for tasks of PyTorch, Python",
                    "solution.spec.language"),
               false;
    if (cJSON_GetArraySize(sources) != 1 ||
        !kf_json_get_text(cJSON_GetArrayItem(sources, 0), "content", NULL))
        return fail(exchange, 501, "a candidate of kforge is exactly one source file",
                    "solution.sources"),
               false;
    if (binding)
        return fail(exchange, 501,
                    "kforge calls the task's C prototype, not a binding of tvm-ffi or torch",
                    "solution.spec.binding"),
               false;
    const char *function = strstr(entry, "::");
    const char *wanted = *python ? "ModelNew" : kf_task_entry(task);
    if (function && strcmp(function + 2, wanted) == 0) return true;
    fail(exchange, 501, "the entry point has to be the task's, or class ModelNew in Python",
         "solution.spec.entry_point");
    return false;
}

/* True if clients see the workload. */
static bool is_listed(const kf_task *task, int index)
{
    bool applies;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (kf_task_is_unseen(task, index)) return false;
    return !problem || !kf_task_resolve(task, index, "cpu", problem, &applies, NULL) ||
           !problem->hidden;
}

/* True if all listed workloads are asked for. kforge judges a task as a whole. */
static bool wants_all(const cJSON *uuids, const kf_task *task)
{
    if (!uuids || cJSON_IsNull(uuids)) return true;
    for (int i = 0; i < kf_task_workload_count(task); i++) {
        const cJSON *uuid = NULL;
        bool found = !is_listed(task, i);
        cJSON_ArrayForEach(uuid, uuids) found =
            found || (cJSON_IsString(uuid) &&
                      strcmp(uuid->valuestring, kf_task_workload_name(task, i)) == 0);
        if (!found) return false;
    }
    return true;
}

static names *names_of(const cJSON *solution)
{
    names *n = calloc(1, sizeof *n);
    if (!n) return NULL;
    n->definition = strdup(kf_json_get_text(solution, "definition", NULL));
    n->solution = strdup(kf_json_get_text(solution, "name", NULL));
    if (n->definition && n->solution) return n;
    names_free(n);
    return NULL;
}

void kf_flashinfer_evaluate(kf_exchange *exchange, const cJSON *request)
{
    kf_service *service = kf_exchange_context(exchange);
    const cJSON *solution = cJSON_GetObjectItemCaseSensitive(request, "solution");
    const char *definition = kf_json_get_text(solution, "definition", NULL),
               *name = kf_json_get_text(solution, "name", NULL);
    kf_error why = {0};
    kf_refusal refusal;
    bool python;
    if (!definition || !name)
        return fail(exchange, 400, "expected texts name and definition", "solution");
    kf_auto(kf_task) task = kf_service_task(service, definition, &why);
    if (!task) return fail(exchange, 400, why.text, "solution.definition");
    if (!check_spec(exchange, solution, task, &python)) return;
    if (!wants_all(cJSON_GetObjectItemCaseSensitive(request, "workload_uuids"), task))
        return fail(exchange, 501, "kforge judges all workloads of a task together",
                    "workload_uuids");
    const char *source = kf_json_get_text(
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(solution, "sources"), 0), "content",
        NULL);
    names *data = names_of(solution);
    kf_auto(kf_ticket) ticket =
        data ? kf_service_submit(service,
                                 &(kf_submission){.loaded = task,
                                                  .source = source,
                                                  .source_size = strlen(source),
                                                  .mode = KF_MODE_TIME,
                                                  .python = python,
                                                  .deadline_seconds = KF_SERVE_JOB_DEADLINE,
                                                  .kept = true,
                                                  .proposer = "flashinfer",
                                                  .data = data,
                                                  .free_data = names_free},
                                 &refusal, &why)
             : NULL;
    if (!ticket) {
        bool full = data && refusal == KF_REFUSED_FULL, bad = data && refusal == KF_REFUSED_INPUT;
        names_free(data);
        if (full) kf_exchange_add_header(exchange, "Retry-After", "1");
        return fail(exchange, full ? 429 : bad ? 400 : 503, why.text, "solution");
    }
    kf_auto(cJSON) json = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(json, "task_id", kf_ticket_id(ticket)) &&
                cJSON_AddStringToObject(json, "normalized_solution_name", name);
    kf_exchange_json(exchange, 200, made ? kf_steal(&json) : NULL);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static bool add_trace(cJSON *traces, const names *n, const kf_judgement *j,
                      const kf_workload_verdict *w, const char *hardware)
{
    const kf_flashinfer_trace given = {.definition = n->definition,
                                       .solution = n->solution,
                                       .status = j->status,
                                       .summary = j->summary,
                                       .workload = w,
                                       .hardware = hardware,
                                       .when = time(NULL)};
    cJSON *trace = kf_flashinfer_trace_json(&given);
    if (trace && cJSON_AddItemToArray(traces, trace)) return true;
    cJSON_Delete(trace);
    return false;
}

/* Adds one trace for each timed or failed workload, or one for a build that failed. */
static bool add_traces(cJSON *row, const names *n, const kf_judgement *j, const char *hardware)
{
    cJSON *traces = cJSON_AddArrayToObject(row, "traces");
    const kf_verdict *verdict = j->verdict;
    if (!traces) return false;
    size_t added = 0;
    for (size_t i = 0; verdict && i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (!kf_flashinfer_has_trace(w)) continue;
        if (!add_trace(traces, n, j, w, hardware)) return false;
        added++;
    }
    return added || j->status == KF_CORRECT || add_trace(traces, n, j, NULL, hardware);
}

static cJSON *task_row(kf_service *service, kf_ticket *ticket)
{
    const names *n = kf_ticket_data(ticket, names_free);
    const kf_judgement *j = kf_ticket_judgement(ticket);
    kf_ticket_state state = kf_ticket_state_now(ticket);
    kf_service_figures figures;
    kf_service_read_figures(service, &figures);
    bool counts = j && kf_judgement_counts(j);
    bool timed = counts && (j->status != KF_CORRECT || j->speedup.value > 0);
    const char *status = state == KF_TICKET_QUEUED    ? "pending"
                         : state == KF_TICKET_RUNNING ? "running"
                         : timed                      ? "completed"
                                                      : "failed";
    const char *error = state < KF_TICKET_DONE || timed ? NULL
                        : counts                        ? "correct, but no time could be measured"
                        : j                             ? j->summary
                                                        : kf_ticket_state_name(state);
    kf_auto(cJSON) row = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(row, "task_id", kf_ticket_id(ticket)) &&
                cJSON_AddStringToObject(row, "status", status) &&
                cJSON_AddStringToObject(row, "definition", n->definition) &&
                cJSON_AddStringToObject(row, "solution", n->solution) &&
                (timed ? add_traces(row, n, j, figures.environment_id)
                       : cJSON_AddNullToObject(row, "traces") != NULL) &&
                (error ? cJSON_AddStringToObject(row, "error", error)
                       : cJSON_AddNullToObject(row, "error"));
    return made ? kf_steal(&row) : NULL;
}

/* Finds a task of these routes. NULL: the exchange is answered. */
static kf_ticket *find_task(kf_exchange *exchange, const char *id)
{
    kf_ticket *ticket = kf_service_find(kf_exchange_context(exchange), id);
    if (ticket && kf_ticket_data(ticket, names_free)) return ticket;
    kf_ticket_release(ticket);
    fail(exchange, 404, "there is no such task", id);
    return NULL;
}

static void get_task(kf_exchange *exchange)
{
    kf_ticket *ticket = kf_polled_ticket(exchange);
    if (!ticket) {
        double seconds;
        if (!kf_poll_seconds(exchange, "timeout", &seconds)) return;
        if (!(ticket = find_task(exchange, kf_exchange_part(exchange, 0)))) return;
        if (!kf_poll(exchange, &ticket, 1, seconds)) return kf_exchange_json(exchange, 500, NULL);
    }
    if (kf_poll_again(exchange))
        kf_exchange_json(exchange, 200, task_row(kf_exchange_context(exchange), ticket));
}

/* Begins to wait for the tasks of a batch. False: the exchange is answered. */
static bool begin_batch(kf_exchange *exchange)
{
    kf_auto(cJSON) request = kf_serve_body(exchange);
    if (!request) return false;
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(request, "task_ids"),
                *timeout = cJSON_GetObjectItemCaseSensitive(request, "timeout"), *id;
    double seconds = cJSON_IsNumber(timeout) ? timeout->valuedouble : 0;
    kf_ticket *tickets[BATCH_TASKS];
    size_t count = 0;
    int size = cJSON_GetArraySize(ids);
    if (size < 1 || size > BATCH_TASKS || !(seconds >= 0 && seconds <= KF_SERVE_MOST_WAIT))
        return fail(exchange, 400, "expected 1 to 256 task_ids and a timeout of at most 600",
                    "task_ids"),
               false;
    cJSON_ArrayForEach(id, ids)
    {
        kf_ticket *ticket = find_task(exchange, cJSON_IsString(id) ? id->valuestring : "");
        if (ticket) {
            tickets[count++] = ticket;
            continue;
        }
        while (count) kf_ticket_release(tickets[--count]);
        return false;
    }
    if (kf_poll(exchange, tickets, count, seconds)) return true;
    kf_exchange_json(exchange, 500, NULL);
    return false;
}

static void get_batch(kf_exchange *exchange)
{
    if (!kf_polled_ticket(exchange) && !begin_batch(exchange)) return;
    if (!kf_poll_again(exchange)) return;
    kf_auto(cJSON) list = cJSON_CreateArray();
    kf_ticket *ticket;
    bool made = list != NULL;
    for (size_t i = 0; made && (ticket = kf_polled(exchange, i)); i++)
        made = cJSON_AddItemToArray(list, task_row(kf_exchange_context(exchange), ticket));
    kf_exchange_json(exchange, 200, made ? kf_steal(&list) : NULL);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void list_definitions(kf_exchange *exchange)
{
    kf_service *service = kf_exchange_context(exchange);
    kf_auto(cJSON) tasks = kf_service_tasks(service, NULL), *list = cJSON_CreateArray();
    const cJSON *task;
    bool made = tasks && list;
    cJSON_ArrayForEach(task, tasks)
    {
        const char *name = kf_json_get_text(task, "name", NULL);
        kf_auto(kf_task) loaded = kf_service_task(service, name, NULL);
        cJSON *row = cJSON_CreateObject();
        made =
            made && cJSON_AddItemToArray(list, row) && cJSON_AddStringToObject(row, "name", name) &&
            cJSON_AddStringToObject(row, "description", loaded ? kf_task_description(loaded) : "");
    }
    kf_exchange_json(exchange, 200, made ? kf_steal(&list) : NULL);
}

/* Returns the card of the definition in the path. NULL: the exchange is answered. */
static cJSON *card_of(kf_exchange *exchange)
{
    kf_service *service = kf_exchange_context(exchange);
    kf_error why = {0};
    kf_service_figures figures;
    kf_auto(kf_task) task = kf_service_task(service, kf_exchange_part(exchange, 0), &why);
    if (!task) return fail(exchange, 404, why.text, "definition"), NULL;
    kf_service_read_figures(service, &figures);
    cJSON *card = kf_task_card(task, *figures.device ? figures.device : "cpu");
    if (!card) kf_exchange_json(exchange, 500, NULL);
    return card;
}

static void show_definition(kf_exchange *exchange)
{
    cJSON *card = card_of(exchange);
    if (!card) return;
    cJSON_AddStringToObject(
        card, "op_type",
        kf_json_get_text(card, "family", NULL) ? kf_json_get_text(card, "family", NULL) : "");
    cJSON_AddNullToObject(card, "reference");
    kf_exchange_json(exchange, 200, card);
}

static void list_workloads(kf_exchange *exchange)
{
    kf_auto(cJSON) card = card_of(exchange), *list = cJSON_CreateArray();
    if (!card) return;
    const cJSON *workload;
    bool made = list != NULL;
    cJSON_ArrayForEach(workload, cJSON_GetObjectItem(card, "workloads"))
    {
        const cJSON *params = cJSON_GetObjectItem(workload, "params");
        if (!params) continue;
        cJSON *row = cJSON_CreateObject();
        made = made && cJSON_AddItemToArray(list, row) &&
               cJSON_AddStringToObject(row, "uuid", kf_json_get_text(workload, "name", NULL)) &&
               cJSON_AddItemToObject(row, "axes", cJSON_Duplicate(params, true)) &&
               cJSON_AddObjectToObject(row, "inputs");
    }
    kf_exchange_json(exchange, 200, made ? kf_steal(&list) : NULL);
}

const kf_route kf_serve_flashinfer_routes[] = {
    {"GET", "/definitions", 0, list_definitions},
    {"GET", "/definitions/*", 0, show_definition},
    {"GET", "/definitions/*/workloads", 0, list_workloads},
    {"POST", "/tasks/batch", KF_SERVE_BODY_BYTES, get_batch},
    {"GET", "/tasks/*", 0, get_task},
    {0},
};
