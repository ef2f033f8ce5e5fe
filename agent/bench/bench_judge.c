/* Judges existing solutions in one process with all workers. Each task has a run, and each solution
 * an attempt. A solution with an attempt is done, so an interrupted bench continues there. If the
 * store has a verdict on the candidate for this hardware, it counts, as in a search.
 *
 * If the machine fails with a solution, the solution stays unjudged and its run open. It is tried
 * again after all others, by another worker if its worker is given up, or when the bench is
 * resumed. Without any worker the bench ends early. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_events.h"
#include "bench_solutions.h"
#include "extract.h"
#include "machine_failures.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "table.h"
#include "terminal.h"

#define WAIT_SECONDS 0.2
#define RETRIES 1

/* State of a solution. */
typedef struct state {
    /* judged, or it can't be judged */
    bool done;
    bool begun;     /* in this session */
    bool in_flight; /* sent to a worker */
    /* the machine failed with it, now or in an earlier session */
    bool unjudged;
    /* verdicts that blamed the machine */
    int tries;
} state;

typedef struct judging {
    kf_bench_plan *plan;
    const kf_bench_solutions *solutions;
    const kf_bench_how *how;
    kf_bench_outcome *outcome;
    kf_store *store;
    kf_workers *workers;
    char *environment_id;
    state *states; /* one for each solution */
    /* workers given up for failures of their machines */
    size_t worn;
    /* solutions to judge, for each task */
    size_t *left;
    kf_task **tasks; /* loaded tasks */
    int width;
    size_t judged, planned, submitted;
    double started;
    char session[16];
} judging;

/* Describes the task's solutions in the options of its run. bench_result.c reads them. */
static cJSON *describe(const judging *j, size_t task)
{
    cJSON *bench = cJSON_Duplicate(j->plan->description, true),
          *list = cJSON_AddArrayToObject(bench, "solutions");
    for (size_t i = 0; i < j->solutions->count; i++) {
        const kf_bench_solution *s = &j->solutions->items[i];
        if (s->task != task) continue;
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "file", s->file);
        cJSON_AddNumberToObject(entry, "sample", (double)s->sample);
        cJSON_AddStringToObject(entry, "language",
                                s->language == KF_LANGUAGE_PYTHON ? "python" : "cuda");
        if (!isnan(s->claimed)) kf_json_add_number(entry, "claimed", s->claimed);
        if (s->other_text) cJSON_AddTrueToObject(entry, "other_text");
        if (s->why) cJSON_AddStringToObject(entry, "why", s->why);
        cJSON_AddItemToArray(list, entry);
    }
    return list ? bench : (cJSON_Delete(bench), NULL);
}

static bool begin_run(judging *j, size_t index, kf_error *error)
{
    kf_bench_task *task = &j->plan->suite.tasks[index];
    kf_search_settings settings = j->plan->search;
    kf_auto(cJSON) bench = describe(j, index);
    settings.bench = bench;
    kf_auto(cJSON) bundle = kf_task_bundle(j->tasks[index]);
    kf_autofree char *text = bundle ? cJSON_PrintUnformatted(bundle) : NULL,
                     *options = bench ? kf_search_options_json(&settings) : NULL;
    if (!text || !options) return kf_fail_memory(error, "the judging of solutions");
    const char *hash = kf_task_hash(j->tasks[index]);
    snprintf(task->hash, sizeof task->hash, "%s", hash);
    return kf_store_put_task(j->store, hash, kf_task_name(j->tasks[index]), text, strlen(text),
                             error) &&
           kf_store_begin_run(j->store,
                              &(kf_store_run_new){.task = hash,
                                                  .device = j->environment_id,
                                                  .options = options,
                                                  .seed = settings.seed},
                              task->run, error);
}

/* Marks solutions with attempts of an earlier session as done. */
static bool read_done(judging *j, size_t index, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_store_attempts(j->store, j->plan->suite.tasks[index].run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1) {
        bool flake = attempt.outcome == KF_ATTEMPT_LOST ||
                     (attempt.verdict &&
                      (attempt.blame == KF_BLAME_MACHINE || attempt.blame == KF_BLAME_JUDGE));
        for (size_t i = 0; i < j->solutions->count; i++)
            if (j->solutions->items[i].task == index &&
                strcmp(j->solutions->items[i].file, attempt.proposer) == 0)
                *(flake ? &j->states[i].unjudged : &j->states[i].done) = true;
    }
    return row == 0;
}

/* Returns the environment id under which the store has the solution's verdict. The caller frees. */
static char *environment_of(const judging *j, const kf_bench_solution *s, kf_error *error)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s", j->environment_id,
                 kf_language_mark(s->source, s->size, s->language == KF_LANGUAGE_PYTHON)) >= 0)
        return text;
    kf_fail_memory(error, "the judging of solutions");
    return NULL;
}

static bool record(judging *j, size_t index, kf_store_attempt_new *attempt, kf_error *error)
{
    const kf_bench_solution *s = &j->solutions->items[index];
    kf_autofree char *environment_id = environment_of(j, s, error);
    if (!environment_id) return false;
    attempt->run = j->plan->suite.tasks[s->task].run;
    attempt->proposer = s->file;
    attempt->strategy = "solutions";
    attempt->step = "solution";
    attempt->device = environment_id;
    attempt->content.source = s->source;
    attempt->content.source_size = s->size;
    return kf_store_record(j->store, attempt, NULL, error);
}

static bool finish(judging *j, size_t index, bool correct, kf_error *error)
{
    size_t task = j->solutions->items[index].task;
    j->states[index].done = true;
    j->judged++;
    j->outcome->settled++;
    j->outcome->correct += correct;
    if (--j->left[task]) return true;
    j->outcome->finished++;
    return kf_store_end_run(j->store, j->plan->suite.tasks[task].run, KF_RUN_FINISHED, error);
}

static kf_bench_run_event event_of(const judging *j, size_t task)
{
    size_t done = 0;
    for (size_t i = 0; i < j->solutions->count; i++)
        done += j->solutions->items[i].task == task && j->states[i].done;
    return (kf_bench_run_event){j->plan, &j->plan->suite.tasks[task], done};
}

/* Prints a line for a solution, and writes its event. */
static void tell(judging *j, size_t index, kf_attempt_outcome outcome,
                 const kf_attempt_result *result)
{
    char time[KF_FIGURE];
    const kf_bench_solution *s = &j->solutions->items[index];
    const kf_bench_run_event event = event_of(j, s->task);
    kf_error lost;
    kf_bench_event_attempt(j->how->events, &event, s->file, outcome, result);
    if (!j->left[s->task]) kf_bench_event_run_end(j->how->events, &event, "finished");
    if (j->width) fputs(KF_STYLE_CLEAR, j->how->log);
    j->width = 0;
    fprintf(j->how->log, "%8s  %s: %s", kf_figure_seconds(kf_now() - j->started, time), s->file,
            *result->blame ? result->status : result->message);
    if (result->speedup.value > 0)
        fprintf(j->how->log, ", %s", kf_figure_speedup(result->speedup, time));
    if (!isnan(s->claimed)) fprintf(j->how->log, ", claimed %s", kf_figure_ratio(s->claimed, time));
    fprintf(j->how->log, "  (%zu of %zu)\n", j->judged, j->planned);
    if (kf_event_stream_trouble(j->how->events, &lost))
        fprintf(j->how->log, "          %s\n", lost.text);
    fflush(j->how->log);
}

/* Does so for a solution without a verdict. */
static void tell_unjudged(judging *j, size_t index, kf_attempt_outcome outcome, const char *why)
{
    tell(j, index, outcome,
         &(kf_attempt_result){.status = kf_attempt_outcome_name(outcome),
                              .blame = "",
                              .speedup = {NAN, NAN, NAN},
                              .message = why,
                              .build_seconds = NAN,
                              .judge_seconds = NAN});
}

static void put_unjudged(judging *j, size_t index, const char *why)
{
    j->states[index].unjudged = true;
    kf_fail(&j->outcome->why, KF_ERROR_MACHINE, "%s: %s", j->solutions->items[index].file, why);
}

/* True if the store has a verdict for this hardware. Then that verdict counts. */
static bool take_known(judging *j, size_t index, bool *known, kf_error *error)
{
    const kf_bench_solution *s = &j->solutions->items[index];
    kf_autoresult kf_store_candidate c = {0};
    char hash[KF_HASH_HEX];
    *known = false;
    if (j->plan->search.anew) return true;
    kf_autofree char *environment_id = environment_of(j, s, error);
    if (!environment_id) return false;
    kf_store_candidate_hash(s->source, s->size, NULL, 0, hash);
    if (!kf_store_find_candidate(j->store, kf_task_hash(j->tasks[s->task]), hash, environment_id,
                                 &c, known, error))
        return false;
    *known = *known && c.verdict &&
             (c.status == KF_CORRECT ? c.speedup.value > 0 : c.blame == KF_BLAME_CANDIDATE);
    kf_job_options limits = kf_job_options_default();
    limits.timeout_seconds = j->plan->search.timeout_seconds;
    if (*known && !kf_search_limits_hold(j->store, &c, &limits, known, error)) return false;
    if (!*known) return true;
    kf_store_attempt_new attempt = {.outcome = KF_ATTEMPT_KNOWN, .known_verdict = c.verdict};
    if (!record(j, index, &attempt, error) || !finish(j, index, c.status == KF_CORRECT, error))
        return false;
    tell(j, index, KF_ATTEMPT_KNOWN,
         &(kf_attempt_result){.status = kf_status_name(c.status),
                              .blame = kf_blame_name(c.blame),
                              .speedup = c.speedup,
                              .message = c.message,
                              .build_seconds = NAN,
                              .judge_seconds = NAN});
    return true;
}

static bool submit(judging *j, size_t index, kf_error *error)
{
    const kf_bench_solution *s = &j->solutions->items[index];
    const kf_search_settings *settings = &j->plan->search;
    char id[64];
    kf_error why = {0};
    bool known;
    if (!kf_source_check(s->source, s->size, s->file, &why)) {
        kf_store_attempt_new attempt = {.outcome = KF_ATTEMPT_REJECTED, .message = why.text};
        if (!record(j, index, &attempt, error) || !finish(j, index, false, error)) return false;
        tell_unjudged(j, index, KF_ATTEMPT_REJECTED, why.text);
        return true;
    }
    if (!take_known(j, index, &known, error)) return false;
    if (known) return true;
    kf_auto(cJSON) bundle = kf_task_bundle(j->tasks[s->task]);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    if (!task) return bundle ? false : kf_fail_memory(error, "the judging of solutions");
    snprintf(id, sizeof id, "%s-%s-%zu-%zu", j->plan->id, j->session, index, j->submitted++);
    kf_auto(kf_job) job = kf_job_new(id, task, s->source, s->size, NULL, 0, error);
    if (!job) return false;
    job->options.seconds = settings->timing_seconds;
    job->options.timeout_seconds = settings->timeout_seconds;
    job->options.half_width = settings->half_width > 0 ? settings->half_width : 0.01;
    job->options.strict_sandbox = settings->strict_sandbox;
    job->options.torch = s->language == KF_LANGUAGE_PYTHON;
    job->options.kernelbench = j->plan->protocol;
    /* Each verdict is final, because no search measures the best again. */
    job->options.verify = !j->plan->once;
    if ((settings->baseline && !(job->options.baseline = strdup(settings->baseline))) ||
        (settings->counters && !(job->options.counters = strdup(settings->counters))))
        return kf_fail_memory(error, "the judging of solutions");
    j->states[index].in_flight = true;
    return kf_workers_submit(j->workers, job, (int64_t)index, error);
}

static bool take(judging *j, const kf_workers_result *result, bool *again, kf_error *error)
{
    size_t index = (size_t)result->ticket;
    const kf_verdict *v = result->verdict;
    *again = j->states[index].in_flight = false;
    if (result->outcome != KF_WORKERS_JUDGED) {
        kf_store_attempt_new lost = {.outcome = KF_ATTEMPT_LOST, .message = result->error.text};
        if (!record(j, index, &lost, error)) return false;
        if (result->outcome == KF_WORKERS_LOST)
            put_unjudged(j, index, result->error.text);
        else if (!finish(j, index, false, error))
            return false;
        tell_unjudged(j, index, KF_ATTEMPT_LOST, result->error.text);
        return true;
    }
    bool flake = v->blame == KF_BLAME_MACHINE || v->blame == KF_BLAME_JUDGE;
    kf_autofree char *counters = v->counters ? cJSON_PrintUnformatted(v->counters) : NULL;
    kf_store_attempt_new attempt = {.outcome = KF_ATTEMPT_JUDGED,
                                    .verdict = v,
                                    .verdict_json = result->json,
                                    .verdict_size = result->json_size,
                                    .counters = counters};
    if (!record(j, index, &attempt, error)) return false;
    *again = flake && j->states[index].tries++ < RETRIES;
    if (!*again && kf_verdict_is_fault(v))
        put_unjudged(j, index, v->message);
    else if (!*again && !finish(j, index, v->status == KF_CORRECT, error))
        return false;
    const kf_attempt_result of_verdict = kf_attempt_result_of(v);
    tell(j, index, KF_ATTEMPT_JUDGED, &of_verdict);
    return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool await_hello(judging *j, kf_error *error)
{
    while (!kf_workers_hardware(j->workers)) {
        kf_workers_result result;
        if (*j->how->interrupts)
            return kf_fail(error, KF_ERROR_BUSY, "interrupted before a worker was ready");
        if (kf_workers_wait(j->workers, WAIT_SECONDS, &result, error) < 0) return false;
    }
    j->environment_id =
        kf_search_environment_id(kf_workers_environment_id(j->workers), j->plan->search.baseline);
    return j->environment_id || kf_fail_memory(error, "the judging of solutions");
}

/* Loads the tasks, begins or resumes their runs, and skips solutions that are done. */
static bool prepare(judging *j, kf_error *error)
{
    for (size_t t = 0; t < j->plan->suite.count; t++) {
        kf_bench_task *task = &j->plan->suite.tasks[t];
        bool any = false;
        for (size_t i = 0; i < j->solutions->count; i++) any |= j->solutions->items[i].task == t;
        if (task->fault || task->finished || !any) continue;
        bool resumed = task->run[0];
        kf_auto(cJSON) bundle = NULL;
        kf_autofree char *text = NULL;
        if (task->run[0]) {
            text = kf_store_task_bundle(j->store, task->hash, NULL, error);
            bundle = text ? cJSON_Parse(text) : NULL;
            if (!text) return false;
        }
        j->tasks[t] =
            bundle ? kf_task_from_bundle(bundle, error) : kf_task_load(task->folder, error);
        if (!j->tasks[t]) return false;
        if (task->run[0]
                ? !kf_store_resume_run(j->store, task->run, error) || !read_done(j, t, error)
                : !begin_run(j, t, error))
            return false;
        const kf_bench_run_event event = event_of(j, t);
        kf_bench_event_run_start(j->how->events, &event, kf_workers_hardware(j->workers), resumed);
    }
    for (size_t i = 0; i < j->solutions->count; i++) {
        const kf_bench_solution *s = &j->solutions->items[i];
        if (!j->tasks[s->task] || s->why) j->states[i].done = true;
        j->outcome->total += !s->why;
        j->outcome->settled += j->states[i].done && !s->why;
        if (j->states[i].done) continue;
        j->left[s->task]++;
        j->planned++;
    }
    /* all solutions are done, or none can be judged */
    for (size_t t = 0; t < j->plan->suite.count; t++)
        if (j->tasks[t] && !j->left[t]) {
            const kf_bench_run_event event = event_of(j, t);
            if (!kf_store_end_run(j->store, j->plan->suite.tasks[t].run, KF_RUN_FINISHED, error))
                return false;
            kf_bench_event_run_end(j->how->events, &event, "finished");
        }
    return true;
}

/* Finds the next solution. Those that a machine failed with come last, so that they do not keep it
 * from the others. */
static bool next_one(const judging *j, size_t *index)
{
    for (int unjudged = 0; unjudged < 2; unjudged++)
        for (*index = 0; *index < j->solutions->count; ++*index) {
            const state *s = &j->states[*index];
            if (!s->done && !s->begun && s->unjudged == unjudged) return true;
        }
    return false;
}

/* If a worker was given up, returns its unjudged solutions to the queue of the others. */
static void retry_unjudged(judging *j)
{
    size_t worn = kf_workers_retired(j->workers);
    if (worn == j->worn) return;
    j->worn = worn;
    for (size_t i = 0; i < j->solutions->count; i++) {
        state *s = &j->states[i];
        if (s->unjudged && !s->in_flight) s->begun = false, s->tries = 0;
    }
}

/* Ends the bench without workers and keeps all verdicts. */
static bool give_up(judging *j, const kf_error *why)
{
    j->outcome->gave_up = true;
    j->outcome->why = *why;
    return kf_fail_prefix(&j->outcome->why, "no worker is left") || true;
}

static bool judge_all(judging *j, kf_error *error)
{
    size_t index;
    j->started = kf_now();
    for (;;) {
        bool stop = *j->how->interrupts;
        if (stop) {
            int64_t tickets[KF_WORKERS_MAX];
            while (kf_workers_withdraw(j->workers, tickets, KF_WORKERS_MAX) > 0) continue;
        }
        retry_unjudged(j);
        while (!stop && kf_workers_room(j->workers) > 0 && next_one(j, &index)) {
            j->states[index].begun = true;
            if (!submit(j, index, error)) return false;
        }
        if (!kf_workers_in_flight(j->workers)) {
            if (stop || !next_one(j, &index)) break;
        }
        if (*j->how->interrupts >= 2) break;
        kf_workers_result result;
        int got = kf_workers_wait(j->workers, WAIT_SECONDS, &result, error);
        const char *news = kf_workers_news(j->workers);
        if (news) fprintf(j->how->log, "          %s\n", news);
        if (got < 0) return give_up(j, error);
        if (got == 0) continue;
        bool again, taken = take(j, &result, &again, error);
        index = (size_t)result.ticket;
        kf_workers_result_free(&result);
        if (!taken || (again && !submit(j, index, error))) return false;
    }
    if (*j->how->interrupts) j->outcome->interrupted = true;
    for (size_t t = 0; t < j->plan->suite.count && !*j->how->interrupts; t++)
        j->outcome->failed += j->left[t] > 0;
    return true;
}

static void stop_runs(judging *j)
{
    kf_run_status status =
        j->outcome->gave_up || j->outcome->failed ? KF_RUN_FAILED : KF_RUN_INTERRUPTED;
    for (size_t t = 0; t < j->plan->suite.count; t++)
        if (j->tasks[t] && j->left[t] && j->plan->suite.tasks[t].run[0]) {
            const kf_bench_run_event event = event_of(j, t);
            kf_store_end_run(j->store, j->plan->suite.tasks[t].run, status, NULL);
            kf_bench_event_run_end(j->how->events, &event,
                                   status == KF_RUN_FAILED ? "failed" : "interrupted");
        }
}

bool kf_bench_judge(kf_bench_plan *plan, const kf_bench_solutions *solutions,
                    const kf_bench_how *how, kf_bench_outcome *outcome, kf_error *error)
{
    size_t count = solutions->count, tasks = plan->suite.count;
    uint32_t chance = 0;
    bool all = true;
    *outcome = (kf_bench_outcome){0};
    for (size_t i = 0; i < count; i++) all &= plan->suite.tasks[solutions->items[i].task].finished;
    if (all) return true; /* do not wait for a worker */
    judging j = {.plan = plan, .solutions = solutions, .how = how, .outcome = outcome};
    kf_auto(kf_store) store = kf_store_open(how->store, KF_STORE_CREATE, error);
    kf_workers_options options = {
        .device = how->device, .devices = how->devices, .device_count = how->device_count};
    kf_auto(kf_workers) workers =
        store ? kf_workers_open(how->workers, how->worker_count, &options, error) : NULL;
    if (!workers || (plan->hardware && !kf_workers_expect(workers, plan->hardware))) return false;
    kf_autofree state *states = calloc(count, sizeof *states);
    kf_autofree size_t *left = calloc(tasks, sizeof *left);
    kf_autofree kf_task **loaded = calloc(tasks, sizeof *loaded);
    if (!states || !left || !loaded) return kf_fail_memory(error, "the judging of solutions");
    kf_random(&chance, sizeof chance);
    snprintf(j.session, sizeof j.session, "%08x", chance);
    j.store = store, j.workers = workers, j.states = states, j.left = left, j.tasks = loaded;
    bool there = await_hello(&j, error) || (plan->hardware && kf_workers_rejected(workers) &&
                                            kf_bench_conditions_changed(plan, error));
    bool ran = there && prepare(&j, error) && judge_all(&j, error);
    stop_runs(&j);
    for (size_t t = 0; t < tasks; t++) kf_task_free(loaded[t]);
    free(j.environment_id);
    return ran;
}
