/* Reports of the search: to its observer, and as events for trackers. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kforge/file.h"
#include "search_internal.h"
#include "table.h"

/* least time between two reports of the budget while the run goes on */
#define BUDGET_SECONDS 5

void kf_search_note_hardware(kf_search *s)
{
    const char *hardware = kf_workers_hardware(s->workers);
    snprintf(s->progress.hardware, sizeof s->progress.hardware, "%s", hardware ? hardware : "");
}

/* Returns how long the oldest job has been in flight; 0 without one. */
static double judging(const kf_search *s)
{
    double first = INFINITY;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        if (p->started > 0) first = fmin(first, p->started);
    return isfinite(first) ? kf_now() - first : 0;
}

void kf_search_notify(kf_search *s, kf_search_event event, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    /* A preview has no observer. */
    if (!s->workers) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    s->progress.elapsed = kf_search_elapsed(s);
    s->progress.judging = judging(s);
    kf_search_note_hardware(s);
    s->progress.in_flight = kf_workers_in_flight(s->workers);
    s->progress.calls_in_flight = (size_t)kf_calls_count(&s->calls, -1);
    if (!s->observer) return;
    kf_event_stream_flush(s->observer->events);
    if (s->observer->notify) s->observer->notify(s->observer->context, event, &s->progress, text);
}

void kf_search_notify_known(kf_search *s)
{
    const kf_search_progress *p = &s->progress;
    char best[128] = "", figure[KF_FIGURE];
    if (!p->known || s->clock.known_reported) return;
    s->clock.known_reported = true;
    if (p->best)
        snprintf(best, sizeof best, ", the best of them c%lld with %s", (long long)p->best,
                 kf_figure_speedup(p->best_speedup, figure));
    kf_search_notify(s, KF_SEARCH_NEWS, "%lld known from earlier runs%s (--anew measures again)",
                     (long long)p->known, best);
    kf_search_event_best(s);
}

/* ---- events ---------------------------------------------------------------------------------- */

static kf_event_stream *stream_of(const kf_search *s)
{
    return s->observer ? s->observer->events : NULL;
}

static void write_event(const kf_search *s, kf_event_kind kind, cJSON *fields)
{
    kf_event_write(stream_of(s), kind, s->progress.run, fields);
}

/* Returns an event's fields with the number of candidates judged so far. */
static cJSON *fields_of(const kf_search *s)
{
    cJSON *fields = cJSON_CreateObject();
    kf_event_number(fields, "step", (double)s->progress.judged);
    return fields;
}

/* Adds a candidate as `kforge show` takes it: "c38"; "" for no candidate. */
static void add_candidate(cJSON *fields, int64_t candidate)
{
    char text[32] = "";
    if (candidate) snprintf(text, sizeof text, "c%lld", (long long)candidate);
    kf_event_text(fields, "candidate", text);
}

/* Adds figures under the names of the budgets. 0 becomes null if `limits`. */
static void add_amounts(cJSON *fields, const char *name, const kf_search_budget *amounts,
                        bool limits)
{
    cJSON *object = cJSON_AddObjectToObject(fields, name);
    const struct {
        const char *name;
        double value;
    } rows[] = {{"seconds", amounts->seconds},
                {"candidates", (double)amounts->candidates},
                {"replies", (double)amounts->replies},
                {"cost_usd", amounts->cost_usd},
                {"tokens", (double)amounts->tokens},
                {"requests", (double)amounts->requests},
                {"device_seconds", amounts->device_seconds}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        kf_event_number(object, rows[i].name, limits && !(rows[i].value > 0) ? NAN : rows[i].value);
}

static kf_search_budget spent_of(const kf_search *s)
{
    const kf_search_progress *p = &s->progress;
    return (kf_search_budget){.seconds = kf_search_elapsed(s),
                              .candidates = p->judged,
                              .replies = p->replies,
                              .cost_usd = p->cost_usd,
                              .tokens = p->tokens,
                              .requests = p->requests,
                              .device_seconds = p->device_seconds};
}

static void write_budget(kf_search *s)
{
    cJSON *fields = fields_of(s);
    kf_search_budget spent = spent_of(s);
    s->budget_reported = kf_now();
    add_amounts(fields, "spent", &spent, false);
    add_amounts(fields, "limit", &s->settings->budget, true);
    write_event(s, KF_EVENT_BUDGET, fields);
}

/* Reports the budget if the last report is old. */
static void write_budget_sometimes(kf_search *s)
{
    if (kf_now() - s->budget_reported >= BUDGET_SECONDS) write_budget(s);
}

static void add_best(const kf_search *s, cJSON *fields)
{
    const kf_search_progress *p = &s->progress;
    add_candidate(fields, p->best);
    kf_event_interval(fields, "speedup", p->best ? p->best_speedup.value : NAN, p->best_speedup.low,
                      p->best_speedup.high);
    kf_event_boolean(fields, "reverified", p->best && p->best_reverified);
}

void kf_search_event_best(const kf_search *s)
{
    /* A resumed run finds its best before it starts. */
    if (!stream_of(s) || !s->clock.started || !s->progress.best) return;
    cJSON *fields = fields_of(s);
    add_best(s, fields);
    write_event(s, KF_EVENT_BEST, fields);
}

void kf_search_event_start(kf_search *s, bool resumed)
{
    if (!stream_of(s)) return;
    const kf_search_settings *settings = s->settings;
    cJSON *fields = kf_event_start_fields("search");
    kf_event_text(fields, "task", kf_task_name(s->task));
    kf_event_text(fields, "task_hash", kf_task_hash(s->task));
    kf_event_text(fields, "device", s->progress.hardware);
    kf_event_text(fields, "bench",
                  cJSON_GetStringValue(cJSON_GetObjectItem(settings->bench, "id")));
    kf_event_text(fields, "strategy", s->strategy.name);
    kf_event_number(fields, "seed", (double)settings->seed);
    kf_event_boolean(fields, "resumed", resumed);
    cJSON *models = cJSON_AddArrayToObject(fields, "models");
    for (size_t i = 0; i < settings->model_count; i++) {
        kf_autofree char *name = kf_search_model_name(settings->models, i);
        cJSON *item = name ? cJSON_CreateString(name) : NULL;
        if (item && !cJSON_AddItemToArray(models, item)) cJSON_Delete(item);
    }
    add_amounts(fields, "limit", &settings->budget, true);
    write_event(s, KF_EVENT_RUN_START, fields);
    s->budget_reported = kf_now();
    if (s->progress.best) kf_search_event_best(s);
}

void kf_search_event_worker(const kf_search *s, const char *message)
{
    if (!stream_of(s)) return;
    cJSON *fields = fields_of(s);
    const char *hardware = kf_workers_hardware(s->workers);
    kf_event_number(fields, "workers", (double)kf_workers_devices(s->workers));
    kf_event_text(fields, "device", hardware);
    kf_event_text(fields, "message", message);
    write_event(s, KF_EVENT_WORKER, fields);
}

void kf_search_event_call(kf_search *s, const kf_call *call, const kf_llm_reply *reply)
{
    if (!stream_of(s)) return;
    const kf_model *model = &s->models.items[call->origin.model];
    cJSON *fields = fields_of(s);
    kf_event_number(fields, "call", (double)call->origin.number);
    kf_event_text(fields, "proposer", model->name);
    kf_event_text(fields, "model", reply->model);
    kf_event_text(fields, "request", kf_step_name(call->origin.step));
    kf_event_text(fields, "outcome", kf_llm_outcome_name(reply->outcome));
    kf_event_number(fields, "prompt_tokens",
                    reply->prompt_tokens >= 0 ? (double)reply->prompt_tokens : NAN);
    kf_event_number(fields, "completion_tokens",
                    reply->completion_tokens >= 0 ? (double)reply->completion_tokens : NAN);
    kf_event_number(fields, "cost_usd", reply->cost_usd);
    kf_event_number(fields, "seconds", reply->seconds);
    kf_event_number(fields, "waited_seconds", reply->waited_seconds);
    kf_event_text(fields, "message", reply->error.text);
    write_event(s, KF_EVENT_CALL, fields);
    write_budget_sometimes(s);
}

void kf_search_event_refused(const kf_search *s, const char *model, const char *why)
{
    if (!stream_of(s)) return;
    cJSON *fields = fields_of(s);
    kf_event_number(fields, "call", 0);
    kf_event_text(fields, "proposer", model);
    kf_event_text(fields, "model", "");
    kf_event_text(fields, "request", "");
    kf_event_text(fields, "outcome", kf_llm_outcome_name(KF_LLM_FAILED));
    kf_event_number(fields, "prompt_tokens", NAN);
    kf_event_number(fields, "completion_tokens", NAN);
    kf_event_number(fields, "cost_usd", NAN);
    kf_event_number(fields, "seconds", NAN);
    kf_event_text(fields, "message", why);
    write_event(s, KF_EVENT_CALL, fields);
}

void kf_search_event_attempt(kf_search *s, const char *proposer, const kf_origin *origin,
                             kf_attempt_outcome outcome, int64_t candidate,
                             const kf_attempt_result *result)
{
    if (!stream_of(s)) return;
    cJSON *fields = fields_of(s);
    kf_event_number(fields, "attempt", (double)s->progress.attempts);
    add_candidate(fields, candidate);
    kf_event_text(fields, "proposer", proposer);
    kf_event_text(fields, "model", origin->model >= 0 ? s->models.items[origin->model].name : "");
    kf_event_text(fields, "request", kf_step_name(origin->step));
    kf_event_text(fields, "outcome", kf_attempt_outcome_name(outcome));
    kf_event_result(fields, result);
    write_event(s, origin->step == KF_STEP_VERIFY ? KF_EVENT_VERIFY : KF_EVENT_ATTEMPT, fields);
    write_budget_sometimes(s);
}

void kf_search_event_end(kf_search *s, const char *end, const char *reason)
{
    if (!stream_of(s)) return;
    write_budget(s);
    cJSON *fields = fields_of(s);
    const kf_search_progress *p = &s->progress;
    kf_event_text(fields, "end", end);
    kf_event_text(fields, "reason", reason);
    kf_event_number(fields, "attempts", (double)p->attempts);
    kf_event_number(fields, "correct", (double)p->correct);
    kf_event_number(fields, "calls", (double)p->calls);
    kf_search_budget spent = spent_of(s);
    add_amounts(fields, "spent", &spent, false);
    cJSON *best = cJSON_AddObjectToObject(fields, "best");
    add_best(s, best);
    write_event(s, KF_EVENT_RUN_END, fields);
}
