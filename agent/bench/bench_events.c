#include "bench_events.h"

void kf_bench_event_start(kf_event_stream *events, const kf_bench_plan *plan)
{
    if (!events) return;
    cJSON *fields = kf_event_start_fields("bench");
    kf_event_text(fields, "name", plan->name);
    kf_event_text(fields, "suite", plan->suite.name);
    kf_event_number(fields, "tasks", (double)plan->suite.count);
    kf_event_write(events, KF_EVENT_RUN_START, plan->id, fields);
}

void kf_bench_event_end(kf_event_stream *events, const kf_bench_plan *plan,
                        const kf_bench_outcome *outcome, const kf_error *why)
{
    if (!events) return;
    cJSON *fields = cJSON_CreateObject();
    bool failed = why || outcome->gave_up || outcome->failed;
    kf_event_text(fields, "end",
                  outcome->interrupted ? "interrupted"
                  : failed             ? "failed"
                  : outcome->spent     ? "spent"
                                       : "finished");
    kf_event_text(fields, "reason", why ? why->text : outcome->why.text);
    kf_event_number(fields, "finished", (double)outcome->finished);
    kf_event_number(fields, "failed", (double)outcome->failed);
    kf_event_number(fields, "correct", (double)outcome->correct);
    kf_event_write(events, KF_EVENT_RUN_END, plan->id, fields);
}

/* ---- a run on the solutions of one task ------------------------------------------------------ */

void kf_bench_event_run_start(kf_event_stream *events, const kf_bench_run_event *run,
                              const char *hardware, bool resumed)
{
    if (!events) return;
    cJSON *fields = kf_event_start_fields("search");
    kf_event_text(fields, "task", run->task->name);
    kf_event_text(fields, "task_hash", run->task->hash);
    kf_event_text(fields, "device", hardware);
    kf_event_text(fields, "bench", run->plan->id);
    kf_event_text(fields, "strategy", "solutions");
    kf_event_number(fields, "seed", (double)run->plan->search.seed);
    kf_event_boolean(fields, "resumed", resumed);
    cJSON_AddArrayToObject(fields, "models");
    kf_event_write(events, KF_EVENT_RUN_START, run->task->run, fields);
}

void kf_bench_event_attempt(kf_event_stream *events, const kf_bench_run_event *run,
                            const char *solution, kf_attempt_outcome outcome,
                            const kf_attempt_result *result)
{
    if (!events) return;
    cJSON *fields = cJSON_CreateObject();
    kf_event_number(fields, "step", (double)run->step);
    kf_event_text(fields, "proposer", solution);
    kf_event_text(fields, "model", "");
    kf_event_text(fields, "request", "solution");
    kf_event_text(fields, "outcome", kf_attempt_outcome_name(outcome));
    kf_event_result(fields, result);
    kf_event_write(events, KF_EVENT_ATTEMPT, run->task->run, fields);
}

void kf_bench_event_run_end(kf_event_stream *events, const kf_bench_run_event *run, const char *end)
{
    if (!events) return;
    cJSON *fields = cJSON_CreateObject();
    kf_event_number(fields, "step", (double)run->step);
    kf_event_text(fields, "end", end);
    kf_event_text(fields, "reason", "");
    kf_event_write(events, KF_EVENT_RUN_END, run->task->run, fields);
}
