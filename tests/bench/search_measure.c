/* bench_search --measure: judges every variant once, for real, and appends what came of it to the
 * table. Variants that are in the table are not measured again, so it can be interrupted. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "search_table.h"
#include "workers.h"

#define TIMING_SECONDS 0.25
#define TRIES 3 /* of a verdict that the machine spoilt */

typedef struct session {
    kf_workers *workers;
    kf_task *task;
    space space;
    table table;
    int64_t next;
} session;

static bool judge_once(session *s, const char *source, size_t size, measured *row, kf_error *error)
{
    char id[64];
    snprintf(id, sizeof id, "m%lld", (long long)s->next);
    kf_auto(cJSON) bundle = kf_task_bundle(s->task);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    kf_auto(kf_job) job = task ? kf_job_new(id, task, source, size, NULL, 0, error) : NULL;
    if (!job) return false;
    job->options.seconds = TIMING_SECONDS;
    job->options.half_width = 0.03;
    job->options.timeout_seconds = 20;
    if (!kf_workers_submit(s->workers, job, s->next++, error)) return false;
    kf_workers_result result;
    int got;
    while ((got = kf_workers_wait(s->workers, 0.5, &result, error)) == 0) continue;
    if (got < 0) return false;
    row->status = KF_JUDGE_ERROR;
    row->blame = KF_BLAME_MACHINE;
    if (result.outcome == KF_WORKERS_JUDGED) {
        const kf_verdict *v = result.verdict;
        row->status = v->status;
        row->blame = v->blame;
        row->speedup = v->speedup;
        snprintf(row->code, sizeof row->code, "%s", v->code_hash);
        snprintf(row->message, sizeof row->message, "%s", v->message ? v->message : "");
        for (size_t i = 0; i < v->workload_count; i++) {
            const kf_workload_verdict *w = &v->workloads[i];
            if (!w->timed) continue;
            row->baseline_seconds += w->baseline_seconds;
            row->candidate_seconds += w->candidate_seconds;
            row->floor_seconds += w->floor_seconds;
        }
    } else {
        snprintf(row->message, sizeof row->message, "%.390s", result.error.text);
    }
    kf_workers_result_free(&result);
    return true;
}

static bool measure(session *s, const char *key, const char *source, size_t size, kf_error *error)
{
    if (table_find(&s->table, key)) return true;
    measured row = {0};
    for (int i = 0; i < TRIES; i++) {
        row = (measured){.speedup = {NAN, NAN, NAN}};
        snprintf(row.key, sizeof row.key, "%s", key);
        if (!judge_once(s, source, size, &row, error)) return false;
        if (row.blame != KF_BLAME_MACHINE && row.blame != KF_BLAME_JUDGE) break;
    }
    printf("%s %s: %s %.3f %s\n", s->table.task, key, kf_status_name(row.status), row.speedup.value,
           row.message);
    fflush(stdout);
    return table_append(s->table.task, &row, error);
}

static bool measure_variant(session *s, const variant *v, kf_error *error)
{
    char key[256];
    kf_autobuffer source = {0};
    space_key(&s->space, v, key, sizeof key);
    space_emit(&s->space, v, true, &source);
    return !source.failed && measure(s, key, source.data, source.size, error);
}

static bool measure_task(kf_workers *workers, const char *name, kf_error *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tasks/%s", KFORGE_SOURCE_DIR, name);
    session s = {.workers = workers, .task = kf_task_load(path, error), .next = 1};
    bool done = s.task && space_read(&s.space, name, error) && table_read(&s.table, name, error);
    if (done) {
        const kf_task_file *baseline = kf_task_baseline(s.task);
        done = measure(&s, "baseline", baseline->text, baseline->size, error);
        variant v = space_naive(&s.space);
        for (v.bug = BUG_COMPILE; done && v.bug < BUG_COUNT; v.bug++)
            done = measure_variant(&s, &v, error);
        v = (variant){0};
        do done = done && measure_variant(&s, &v, error);
        while (done && space_next(&s.space, &v));
    }
    space_free(&s.space);
    table_free(&s.table);
    kf_task_free(s.task);
    return done;
}

int measure_all(const char *program, const char *const *tasks, size_t count)
{
    kf_error error = {0};
    for (size_t i = 0; i < count; i++) {
        /* One worker a task: a job's id is new in the object that it is given to. */
        kf_auto(kf_workers) workers =
            kf_workers_open((const char *const[]){"local"}, 1,
                            &(kf_workers_options){.device = "cpu", .program = program}, &error);
        if (!workers || !measure_task(workers, tasks[i], &error)) {
            fprintf(stderr, "bench_search: %s\n", error.text);
            return 3;
        }
    }
    return 0;
}
