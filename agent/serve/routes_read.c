/* Tasks, candidates, health and metrics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge_request.h"
#include "kforge/buffer.h"
#include "kforge/json.h"
#include "serve.h"
#include "task_card.h"

static void list_tasks(kf_exchange *exchange)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *tasks = kf_service_tasks(kf_exchange_context(exchange), NULL);
    bool made = tasks && cJSON_AddItemToObject(json, "tasks", tasks);
    kf_exchange_json(exchange, 200, made ? kf_steal(&json) : NULL);
}

static void fail_missing(kf_exchange *exchange, const kf_error *why, const char *todo)
{
    kf_serve_error failure;
    kf_serve_error_set(&failure, why->code == KF_ERROR_INPUT ? 404 : 503, why, todo);
    kf_serve_fail(exchange, &failure);
}

static void show_task(kf_exchange *exchange)
{
    kf_error why = {0};
    kf_service_figures figures;
    kf_auto(kf_task) task =
        kf_service_task(kf_exchange_context(exchange), kf_exchange_part(exchange, 0), &why);
    if (!task) return fail_missing(exchange, &why, "GET /v1/tasks lists the tasks.");
    kf_service_read_figures(kf_exchange_context(exchange), &figures);
    kf_exchange_json(exchange, 200, kf_task_card(task, *figures.device ? figures.device : "cpu"));
}

static void show_candidate(kf_exchange *exchange)
{
    kf_error why = {0};
    cJSON *json =
        kf_service_candidate(kf_exchange_context(exchange), kf_exchange_part(exchange, 0), &why);
    if (!json)
        return fail_missing(exchange, &why,
                            "Use the hash in \"candidate\" of an answer, with 8 digits or more.");
    kf_exchange_json(exchange, 200, json);
}

static void health(kf_exchange *exchange)
{
    kf_service_figures f;
    kf_service_read_figures(kf_exchange_context(exchange), &f);
    const char *status = f.ready ? "healthy" : *f.trouble ? "unhealthy" : "starting";
    kf_auto(cJSON) json = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(json, "status", status) &&
                cJSON_AddStringToObject(json, "device", f.device) &&
                cJSON_AddNumberToObject(json, "queue_size", (double)f.queued) &&
                cJSON_AddNumberToObject(json, "running", (double)f.running) &&
                (f.ready || cJSON_AddStringToObject(json, "trouble", f.trouble));
    cJSON *workers = made ? cJSON_AddArrayToObject(json, "workers") : NULL;
    made = workers != NULL;
    for (size_t i = 0; made && i < f.devices; i++) {
        cJSON *row = cJSON_CreateObject();
        made = cJSON_AddItemToArray(workers, row) &&
               cJSON_AddStringToObject(row, "device", f.device) &&
               cJSON_AddBoolToObject(row, "healthy", f.ready);
    }
    kf_exchange_json(exchange, f.ready ? 200 : 503, made ? kf_steal(&json) : NULL);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void metric(kf_buffer *out, const char *name, const char *type, const char *help)
{
    kf_buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_counts(kf_buffer *out, const kf_service_figures *f)
{
    metric(out, "kforge_verdicts_total", "counter", "Judgements by status.");
    for (int i = 0; i < KF_STATUS_COUNT; i++)
        kf_buffer_format(out, "kforge_verdicts_total{status=\"%s\"} %llu\n",
                         kf_status_name((kf_status)i), (unsigned long long)f->verdicts[i]);
    kf_buffer_format(out, "kforge_verdicts_total{status=\"no_source\"} %llu\n",
                     (unsigned long long)f->no_source);
    metric(out, "kforge_judge_seconds", "summary", "Seconds of judging, builds included.");
    kf_buffer_format(out, "kforge_judge_seconds_sum %.6f\nkforge_judge_seconds_count %llu\n",
                     f->judge_seconds, (unsigned long long)f->judged);
    metric(out, "kforge_build_seconds", "summary", "Seconds of building candidates.");
    kf_buffer_format(out, "kforge_build_seconds_sum %.6f\nkforge_build_seconds_count %llu\n",
                     f->build_seconds, (unsigned long long)f->judged);
    metric(out, "kforge_queue_depth", "gauge", "Jobs that wait for a worker.");
    kf_buffer_format(out, "kforge_queue_depth %zu\n", f->queued);
    metric(out, "kforge_running", "gauge", "Jobs that workers have.");
    kf_buffer_format(out, "kforge_running %zu\n", f->running);
    const struct {
        const char *name, *help;
        uint64_t value;
    } counters[] = {{"kforge_cached_total", "Answers without judging.", f->cached},
                    {"kforge_refused_total", "Requests while the queue was full.", f->refused},
                    {"kforge_retries_total", "Jobs judged again after a fault.", f->retries},
                    {"kforge_expired_total", "Requests past their deadline.", f->expired},
                    {"kforge_cancelled_total", "Requests cancelled.", f->cancelled}};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        metric(out, counters[i].name, "counter", counters[i].help);
        kf_buffer_format(out, "%s %llu\n", counters[i].name, (unsigned long long)counters[i].value);
    }
}

/* Names of tasks need no escapes beyond these (exposition format of Prometheus, version 0.0.4). */
static void add_label(kf_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"') kf_buffer_append(out, "\\", 1);
        kf_buffer_append(out, *text == '\n' ? " " : text, 1);
    }
}

static void add_best(kf_buffer *out, kf_service *service)
{
    kf_auto(cJSON) bests = kf_service_best(service);
    const cJSON *best;
    metric(out, "kforge_best_speedup", "gauge", "Best speedup of a task in the store.");
    cJSON_ArrayForEach(best, bests)
    {
        kf_buffer_string(out, "kforge_best_speedup{task=\"");
        add_label(out, best->string);
        kf_buffer_format(out, "\"} %.9g\n", best->valuedouble);
    }
}

static void metrics(kf_exchange *exchange)
{
    kf_service *service = kf_exchange_context(exchange);
    kf_service_figures figures;
    kf_autobuffer out = {0};
    double cost = kf_service_cost(service);
    kf_service_read_figures(service, &figures);
    add_counts(&out, &figures);
    add_best(&out, service);
    metric(&out, "kforge_cost_usd_total", "counter", "Cost of the model calls in the store.");
    kf_buffer_format(&out, "kforge_cost_usd_total %.6f\n", cost);
    kf_autofree char *text = kf_buffer_take(&out);
    if (text)
        kf_exchange_text(exchange, 200, "text/plain; version=0.0.4", text);
    else
        kf_exchange_json(exchange, 500, NULL);
}

const kf_route kf_serve_read_routes[] = {
    {"GET", "/v1/tasks", 0, list_tasks},
    {"GET", "/v1/tasks/*", 0, show_task},
    {"GET", "/v1/candidates/*", 0, show_candidate},
    {"GET", "/health", 0, health},
    {"GET", "/metrics", 0, metrics},
    {0},
};
