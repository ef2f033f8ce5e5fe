/* Searches the tasks of a suite, several at a time.
 *
 * A shard is a process with one worker. So each device works on a task of its own, and a crash in
 * one search does not end the others. The parent forks a shard before it opens anything that must
 * not be shared: each shard opens the store and its models. The parent sends tasks one by one
 * through a pipe (an order) and reads the results from another (reports of one size). A shard
 * without work gets the next task. If a shard dies, its attempts are in the store, and a resumed
 * bench continues its run.
 *
 * If the machine fails with a task, another shard gets the task. A shard is left out after
 * KF_MACHINE_FAILURES failed jobs in a row (machine_failures.h), or after it has lost its workers
 * twice. Without any shard the bench ends early.
 *
 * Shards are process groups: Ctrl-C reaches the parent, which passes each one on. A shard and its
 * worker die with the parent.
 *
 * Money is divided: a task gets an equal share of the rest for all remaining tasks, and returns
 * what it did not spend. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_key.h"
#include "bench.h"
#include "bench_result.h"
#include "kforge/file.h"
#include "output.h"
#include "table.h"
#include "terminal.h"

#define POLL_MILLISECONDS 100
#define REPORT_SECONDS 0.25
/* tasks in a row that fail by the machine, after which the bench ends */
#define FAILURES 3
/* times that a shard may lose all workers in a row, if there are other shards */
#define LOSSES 2

typedef struct shard_order {
    int32_t task;
    /* run to resume; "" for a new one */
    char run[KF_RUN_ID];
    double cost_usd; /* of the run; 0 for no limit */
} shard_order;

typedef enum report_kind {
    REPORT_HELLO,
    REPORT_PROGRESS,
    REPORT_NEWS,
    REPORT_ADVICE,
    REPORT_DONE,
    REPORT_FAILED
} report_kind;

typedef struct report {
    report_kind kind;
    int32_t task;
    char run[KF_RUN_ID];
    /* short_of_samples: a budget ended the run before all samples were judged */
    bool interrupted, stopped, short_of_samples;
    /* True if the machine failed, so that another one may succeed */
    bool machine;
    /* True if no worker is left, because its machine failed too often */
    bool lost, worn;
    /* True if the worker judges under other conditions than the bench */
    bool foreign;
    /* Replies that have come, and of a bench without models the candidates that were judged.
     * `correct`: in the population. */
    int64_t samples, judged, known, correct;
    double spent_usd;
    /* best and samples in the words of the report */
    char words[320];
    /* news, the reason of a failure or end, or for a hello the worker's hardware */
    kf_error text;
} report;

/* Answer to a hello: the hardware of the bench, cut as in the hello. */
typedef struct shard_answer {
    char environment_id[sizeof((kf_error *)0)->text];
} shard_answer;

typedef struct one_shard {
    pid_t pid; /* 0: unset */
    /* orders: -1 if it gets no more */
    int orders, reports;
    int32_t task; /* index of the task, or -1 */
    double share; /* share of the money */
    report last;
    char *worker; /* owned */
    const char *device;
    int deaths, losses;
    /* True if it is left out for good */
    bool worn;
} one_shard;

typedef struct shards {
    kf_bench_plan *plan;
    const kf_bench_how *how;
    kf_bench_outcome *outcome;
    one_shard shards[KF_BENCH_SHARDS];
    size_t count, done, planned;
    double left_usd, started, drawn;
    /* for each task the shard that failed with it, or NULL */
    const one_shard **not_for;
    int failures, passed; /* interrupts passed on */
    int width;
    /* True if no worker judges under the conditions of the bench, before any result of this session
     */
    bool foreign;
    /* a message that was printed once is not repeated */
    bool advised;
    kf_buffer news;
    /* hardware of the bench; "" until the first worker's hello */
    shard_answer environment_id;
} shards;

/* ---- in a shard ------------------------------------------------------------------------------ */

typedef struct work {
    const kf_bench_plan *plan;
    const kf_bench_how *how;
    const one_shard *shard;
    int orders, output;
    bool agreed;
    kf_store *store;
    kf_workers *workers;
    report report;
    double reported;
} work;

static bool send_report(work *w, report_kind kind)
{
    w->report.kind = kind;
    return kf_write_all(w->output, &w->report, sizeof w->report);
}

static void observe(void *context, kf_search_event event, const kf_search_progress *progress,
                    const char *text)
{
    work *w = context;
    report *r = &w->report;
    snprintf(r->run, sizeof r->run, "%s", progress->run);
    r->samples = progress->calls;
    r->judged = progress->judged;
    r->known = progress->known;
    r->correct = progress->correct;
    kf_error why;
    if (kf_event_stream_trouble(w->how->events, &why)) {
        r->text = why;
        send_report(w, REPORT_NEWS);
    }
    if (event == KF_SEARCH_NEWS || event == KF_SEARCH_ADVICE) {
        kf_fail(&r->text, KF_ERROR_NONE, "%s", text);
        send_report(w, event == KF_SEARCH_NEWS ? REPORT_NEWS : REPORT_ADVICE);
    }
    if (kf_now() - w->reported < REPORT_SECONDS) return;
    w->reported = kf_now();
    send_report(w, REPORT_PROGRESS);
}

/* Fixes the hardware of the bench by the first worker's hello, unless the bench is resumed. Times
 * of different machines must not share a table. */
static bool agree(work *w, kf_error *error)
{
    kf_workers_result none;
    shard_answer answer;
    while (!kf_workers_environment_id(w->workers)) {
        if (*w->how->interrupts)
            return kf_fail(error, KF_ERROR_BUSY, "interrupted before a worker was ready");
        if (kf_workers_wait(w->workers, REPORT_SECONDS, &none, error) >= 0) continue;
        w->report.foreign = kf_workers_rejected(w->workers) > 0;
        return w->report.foreign ? false : kf_fail_prefix(error, "no worker is left");
    }
    if (w->agreed) return true;
    kf_fail(&w->report.text, KF_ERROR_NONE, "%s", kf_workers_environment_id(w->workers));
    if (!send_report(w, REPORT_HELLO) || !kf_read_all(w->orders, &answer, sizeof answer))
        return kf_fail(error, KF_ERROR_MACHINE, "the bench of this shard has ended");
    w->agreed = strcmp(answer.environment_id, w->report.text.text) == 0;
    w->report.foreign = !w->agreed;
    return w->agreed || kf_fail(error, KF_ERROR_MACHINE,
                                "worker %.200s: it judges on %.300s, but this bench on %.300s: "
                                "their times can't be compared",
                                w->shard->worker, w->report.text.text, answer.environment_id);
}

/* A run that another shard began continues only under the same conditions. */
static bool expect_environment_id(work *w, const char *run, kf_error *error)
{
    kf_autoresult kf_store_run found = {0};
    if (!kf_store_find_run(w->store, run, &found, error)) return false;
    const char *more = strstr(found.device, ", against baseline "),
               *here = kf_workers_environment_id(w->workers);
    kf_autofree char *environment_id =
        more ? strndup(found.device, (size_t)(more - found.device)) : strdup(found.device);
    if (!environment_id) return kf_fail_memory(error, "the shards of a bench");
    if (here && strcmp(here, environment_id) != 0)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "the run was started on %s, but this worker judges on %s", environment_id,
                       here);
    return here || kf_workers_expect(w->workers, environment_id) ||
           kf_fail_memory(error, "the shards of a bench");
}

static bool open_workers(work *w, kf_error *error)
{
    const char *device = w->shard->device;
    kf_workers_options options = {
        .device = w->how->device, .devices = &device, .device_count = device ? 1 : 0};
    const char *spec = w->shard->worker;
    if (!w->workers) w->workers = kf_workers_open(&spec, 1, &options, error);
    return w->workers && (!w->plan->hardware || kf_workers_expect(w->workers, w->plan->hardware) ||
                          kf_fail_memory(error, "the shards of a bench"));
}

static bool search_task(work *w, const shard_order *order, kf_search_result *result,
                        kf_error *error)
{
    const kf_bench_task *task = &w->plan->suite.tasks[order->task];
    kf_search_settings settings = w->plan->search;
    const char *models[KF_SEARCH_MODELS];
    char *owned[KF_SEARCH_MODELS] = {NULL};
    kf_auto(kf_task) loaded = task->run[0] ? kf_stored_task(w->store, task->hash, error)
                                           : kf_task_load(task->folder, error);
    bool ready = loaded && open_workers(w, error) && agree(w, error) &&
                 (!order->run[0] || expect_environment_id(w, order->run, error));
    for (size_t i = 0; ready && i < settings.model_count; i++) {
        models[i] = owned[i] = kf_bench_model_for(settings.models[i], task->name);
        if (!owned[i]) ready = kf_fail_memory(error, "the shards of a bench");
    }
    settings.models = models;
    settings.device = w->shard->device ? w->shard->device : w->how->device;
    if (order->cost_usd > 0) settings.budget.cost_usd = order->cost_usd;
    kf_search_observer observer = {.notify = observe, .context = w, .events = w->how->events};
    bool ran =
        ready && kf_search_run(w->store, loaded, order->run[0] ? order->run : NULL, &settings,
                               w->workers, w->how->interrupts, &observer, result, error);
    for (size_t i = 0; i < settings.model_count; i++) free(owned[i]);
    return ran;
}

static bool carry_out(work *w, const shard_order *order)
{
    kf_search_result result = {0};
    kf_error error = {0};
    w->report = (report){.task = order->task};
    /* True also if the run can't continue */
    memcpy(w->report.run, order->run, sizeof order->run);
    bool ran = search_task(w, order, &result, &error);
    w->report.judged = result.progress.judged;
    w->report.known = result.progress.known;
    w->report.correct = result.progress.correct;
    w->report.spent_usd = result.progress.cost_usd;
    w->report.interrupted = *w->how->interrupts || (ran && result.end == KF_SEARCH_INTERRUPTED);
    w->report.stopped = ran && result.end == KF_SEARCH_STOPPED;
    w->report.short_of_samples = ran && result.end == KF_SEARCH_SPENT && w->plan->search.samples &&
                                 (result.open || result.progress.calls < w->plan->search.samples);
    w->report.text = ran ? result.why : error;
    kf_autobuffer words = {0};
    if (*result.progress.run && kf_bench_run_words(w->store, result.progress.run, &words, NULL) &&
        words.data)
        snprintf(w->report.words, sizeof w->report.words, "%s", words.data);
    w->report.lost = w->workers && !kf_workers_devices(w->workers);
    w->report.worn = w->report.lost && kf_workers_retired(w->workers);
    w->report.machine = w->report.lost || (w->report.stopped && result.machine_failed);
    kf_workers_result none;
    if (w->report.lost && !w->report.foreign &&
        kf_workers_wait(w->workers, 0, &none, &error) <
            /* gives the reason also for a run that ended before its first request */
            0) {
        kf_fail_prefix(&error, "no worker is left");
        w->report.text = error;
    }
    /* discard its rest, so that it can't answer jobs of the next task */
    if (!ran || w->report.lost) {
        kf_workers_close(w->workers);
        w->workers = NULL;
    }
    return send_report(w, ran ? REPORT_DONE : REPORT_FAILED);
}

/* Runs a shard until it ends. Returns its exit status. */
static int serve(work *w, int orders)
{
    shard_order order;
    kf_error error = {0};
    w->orders = orders;
    w->store = kf_store_open(w->how->store, KF_STORE_CREATE, &error);
    while (kf_read_all(orders, &order, sizeof order)) {
        if (!w->store) {
            w->report = (report){.task = order.task, .text = error};
            if (!send_report(w, REPORT_FAILED)) break;
        } else if (!carry_out(w, &order)) {
            break;
        }
    }
    kf_workers_close(w->workers);
    kf_store_close(w->store);
    /* Writes what waits. */
    kf_event_stream_close(w->how->events);
    return 0;
}

/* ---- starting shards ------------------------------------------------------------------------- */

static void become_shard(shards *l, one_shard *self, int orders, int reports, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    kf_api_keys_inherit(false);
    /* the parent died before this took effect */
    if (getppid() != parent) _exit(1);
    setpgid(0, 0);
    /* otherwise the other shards would never see the end of their orders */
    for (size_t i = 0; i < l->count; i++) {
        if (l->shards[i].pid <= 0) continue;
        /* The number of a closed descriptor may belong to this shard's pipes by now. */
        if (l->shards[i].orders >= 0) close(l->shards[i].orders);
        close(l->shards[i].reports);
    }
    work w = {.plan = l->plan, .how = l->how, .shard = self, .output = reports};
    /* The shard has only the memory of main's program. It must not flush or run anything of it. */
    _exit(serve(&w, orders));
}

static bool start_shard(shards *l, one_shard *self, kf_error *error)
{
    int orders[2], reports[2];
    if (pipe2(orders, O_CLOEXEC))
        return kf_fail(error, KF_ERROR_MACHINE, "cannot make a pipe for a worker: %s",
                       strerror(errno));
    if (pipe2(reports, O_CLOEXEC)) {
        close(orders[0]), close(orders[1]);
        return kf_fail(error, KF_ERROR_MACHINE, "cannot make a pipe for a worker: %s",
                       strerror(errno));
    }
    fflush(NULL);
    /* A shard asks the models itself. */
    kf_api_keys_inherit(true);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(orders[1]), close(reports[0]);
        become_shard(l, self, orders[0], reports[1], parent);
    }
    kf_api_keys_inherit(false);
    close(orders[0]), close(reports[1]);
    if (pid < 0) {
        close(orders[1]), close(reports[0]);
        return kf_fail(error, KF_ERROR_MACHINE, "cannot start a process for a worker: %s",
                       strerror(errno));
    }
    setpgid(pid, pid);
    self->pid = pid;
    self->orders = orders[1];
    self->reports = reports[0];
    self->task = -1;
    return true;
}

/* Expands "COMMAND*4" to four shards of COMMAND, and `local` to one shard for each named device. */
static bool add_shards(shards *l, const char *spec, kf_error *error)
{
    size_t times;
    kf_autofree char *one = strdup(spec);
    if (!one) return kf_fail_memory(error, "the shards of a bench");
    if (!kf_workers_times(one, &times, error)) return false;
    bool local = strcmp(one, "local") == 0;
    if (local && l->how->device_count) times = l->how->device_count;
    for (size_t i = 0; i < times; i++) {
        if (l->count == KF_BENCH_SHARDS)
            return kf_fail(error, KF_ERROR_INPUT, "--workers: more than %d workers",
                           KF_BENCH_SHARDS);
        one_shard *next = &l->shards[l->count++];
        next->worker = strdup(one);
        if (!next->worker) return kf_fail_memory(error, "the shards of a bench");
        next->device = local && l->how->device_count ? l->how->devices[i] : NULL;
        next->task = -1;
    }
    return true;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void clear_line(shards *l)
{
    if (l->how->terminal && l->width) fputs(KF_STYLE_CLEAR, l->how->log);
    l->width = 0;
}

static void draw_line(shards *l)
{
    if (!l->how->terminal || kf_now() - l->drawn < REPORT_SECONDS) return;
    kf_autobuffer text = {0};
    l->drawn = kf_now();
    kf_buffer_format(&text, "%zu of %zu tasks", l->done, l->planned);
    for (size_t i = 0; i < l->count; i++)
        if (l->shards[i].task >= 0)
            kf_buffer_format(&text, "; %s: %lld %s", l->plan->suite.tasks[l->shards[i].task].name,
                             (long long)(l->plan->search.model_count ? l->shards[i].last.samples
                                                                     : l->shards[i].last.judged),
                             l->plan->search.model_count ? "replies" : "candidates");
    if (!text.data) return;
    kf_terminal_redraw(l->how->log, "%s", text.data);
    l->width = 1;
}

static bool is_other(const one_shard *shard, const one_shard *other)
{
    return other != shard && other->worker && !other->worn;
}

static bool has_other(const shards *l, const one_shard *shard)
{
    bool any = false;
    for (size_t i = 0; i < l->count; i++) any |= is_other(shard, &l->shards[i]);
    return any;
}

/* Returns the next task for the shard, or -1. */
static int32_t next_task(const shards *l, const one_shard *shard)
{
    for (size_t i = 0; i < l->plan->suite.count; i++) {
        const kf_bench_task *task = &l->plan->suite.tasks[i];
        bool busy =
            task->fault || task->finished || (l->not_for[i] == shard && has_other(l, shard));
        for (size_t k = 0; k < l->count; k++) busy |= l->shards[k].task == (int32_t)i;
        if (!busy) return (int32_t)i;
    }
    return -1;
}

static size_t tasks_left(const shards *l)
{
    size_t left = 0;
    for (size_t i = 0; i < l->plan->suite.count; i++)
        left += !l->plan->suite.tasks[i].fault && !l->plan->suite.tasks[i].finished;
    for (size_t k = 0; k < l->count; k++) left -= l->shards[k].task >= 0;
    return left ? left : 1;
}

static void end_orders(one_shard *shard)
{
    if (shard->orders >= 0) close(shard->orders);
    shard->orders = -1;
}

static bool is_over(const shards *l)
{
    return *l->how->interrupts || l->failures >= FAILURES;
}

/* Sends the shard a task, or lets it end. */
static void give_order(shards *l, one_shard *shard)
{
    int32_t task = is_over(l) || shard->worn ? -1 : next_task(l, shard);
    if (task >= 0 && l->plan->cost_usd > 0 && l->left_usd <= 0) {
        l->outcome->spent = true;
        task = -1;
    }
    shard_order order = {.task = task};
    if (task >= 0) memcpy(order.run, l->plan->suite.tasks[task].run, sizeof order.run);
    if (task >= 0 && l->plan->cost_usd > 0) {
        shard->share = l->left_usd / (double)tasks_left(l);
        l->left_usd -= shard->share;
        order.cost_usd = l->plan->suite.tasks[task].spent_usd + shard->share;
    }
    shard->last = (report){0};
    shard->task = task;
    if (task < 0 || !kf_write_all(shard->orders, &order, sizeof order)) end_orders(shard);
}

/* True if a line of news has shown the text: of this task, or of another one. */
static bool is_known_news(const shards *l, const char *text)
{
    return *text && l->news.data && strstr(l->news.data, text);
}

/* Prints a line of news. All tasks have the same models, so the same refusal of a model is printed
 * once. Each loss of a worker is printed, because it is another event. */
static void tell_news(shards *l, const report *r)
{
    bool of_model = strncmp(r->text.text, "model ", 6) == 0;
    if (of_model && is_known_news(l, r->text.text)) return;
    clear_line(l);
    fprintf(l->how->log, "          %s: %s\n", l->plan->suite.tasks[r->task].name, r->text.text);
    /* If it does not fit, a later line of the same text is printed. */
    kf_buffer_format(&l->news, "%s\n", r->text.text);
}

static void tell_done(shards *l, const report *r, const kf_bench_task *task, bool moved)
{
    char time[KF_FIGURE];
    clear_line(l);
    fprintf(l->how->log, "%8s  %-24s ", kf_figure_seconds(kf_now() - l->started, time), task->name);
    bool reason_was_shown = is_known_news(l, r->text.text);
    size_t words = strlen(r->words), none = strlen("samples: none");
    if (r->kind == REPORT_FAILED || r->stopped)
        fprintf(l->how->log, "failed: %s%s",
                reason_was_shown ? "see the reason above" : r->text.text,
                moved ? "; another worker gets it" : "");
    else if (words >= none && strcmp(r->words + words - none, "samples: none") == 0)
        fprintf(l->how->log, "%s%s%s", r->words, reason_was_shown ? "; " : ", since ",
                reason_was_shown ? "see the reason above" : r->text.text);
    else
        fprintf(l->how->log, "%s", r->words);
    /* No sample of its own: "2 samples: 1 correct, 1 wrong_result; 1 verdict from earlier runs". */
    if (r->known)
        fprintf(l->how->log, "; %lld verdict%s from earlier runs", (long long)r->known,
                r->known == 1 ? "" : "s");
    fprintf(l->how->log, "  (%zu of %zu%s)\n", l->done, l->planned,
            r->interrupted ? ", interrupted" : "");
    fflush(l->how->log);
}

/* Handles a worker with other conditions than the bench. Another shard gets its task. If no shard
 * is left, this is the reason why the bench ends. */
static void leave_out(shards *l, one_shard *shard, const report *r)
{
    shard->worn = true;
    if (!has_other(l, shard)) {
        l->outcome->why = r->text;
        l->foreign = l->outcome->finished == 0;
        return;
    }
    clear_line(l);
    fprintf(l->how->log, "          %s; it is left out\n", r->text.text);
}

static void take_done(shards *l, one_shard *shard, const report *r)
{
    kf_bench_task *task = &l->plan->suite.tasks[r->task];
    bool failed = r->kind == REPORT_FAILED || r->stopped, moved = false;
    snprintf(task->run, sizeof task->run, "%s", r->run);
    shard->task = -1;
    /* The figures of a resumed run include its earlier sessions. */
    if (l->plan->cost_usd > 0)
        l->left_usd += fmax(0, shard->share - fmax(0, r->spent_usd - task->spent_usd));
    if (r->foreign && !r->interrupted) {
        leave_out(l, shard, r);
        return;
    }
    shard->losses = r->lost ? shard->losses + 1 : 0;
    shard->worn = r->worn || (shard->losses >= LOSSES && has_other(l, shard));
    if (failed) l->outcome->why = r->text;
    if (r->interrupted) {
        l->outcome->interrupted = true;
    } else if (failed && r->machine && !l->not_for[r->task] && has_other(l, shard)) {
        l->not_for[r->task] = shard;
        task->spent_usd = r->spent_usd;
        moved = true;
    } else if (failed) {
        task->finished = true; /* for this session */
        l->outcome->failed++;
        l->failures += 1;
        l->done++;
    } else {
        task->finished = true;
        l->outcome->finished++;
        l->outcome->spent |= r->short_of_samples;
        l->failures = 0;
        l->done++;
    }
    l->outcome->correct += r->correct;
    tell_done(l, r, task, moved);
}

/* Starts ended shards again if there is a task for them: one that another machine failed with, or
 * their own unfinished one. */
static void go_on(shards *l)
{
    kf_error error = {0};
    bool affordable = l->plan->cost_usd <= 0 || l->left_usd > 0;
    for (size_t i = 0; i < l->count && affordable && !is_over(l); i++) {
        one_shard *shard = &l->shards[i];
        if (shard->pid || shard->worn || shard->deaths >= FAILURES || next_task(l, shard) < 0)
            continue;
        if (!start_shard(l, shard, &error)) return;
        give_order(l, shard);
    }
}

static void take_report(shards *l, one_shard *shard)
{
    report r;
    if (!kf_read_all(shard->reports, &r, sizeof r)) { /* the shard has ended */
        int status = 0;
        end_orders(shard);
        close(shard->reports);
        waitpid(shard->pid, &status, 0);
        shard->pid = 0;
        if (shard->task < 0) {
            go_on(l);
            return;
        }
        kf_bench_task *task = &l->plan->suite.tasks[shard->task];
        report lost = {.kind = REPORT_FAILED, .task = shard->task};
        kf_fail(&lost.text, KF_ERROR_MACHINE, "its process ended (%s %d); --resume continues it",
                WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        memcpy(lost.run, task->run, sizeof lost.run);
        take_done(l, shard, &lost);
        shard->deaths++;
        go_on(l);
        return;
    }
    if (r.kind == REPORT_HELLO) {
        if (!*l->environment_id.environment_id)
            snprintf(l->environment_id.environment_id, sizeof l->environment_id.environment_id,
                     "%s", r.text.text);
        kf_write_all(shard->orders, &l->environment_id, sizeof l->environment_id);
        return;
    }
    shard->last = r;
    if (r.kind == REPORT_NEWS) tell_news(l, &r);
    if (r.kind == REPORT_ADVICE && !l->advised) {
        clear_line(l);
        fprintf(l->how->log, "          %s\n", r.text.text);
        l->advised = true;
    }
    if (r.kind != REPORT_DONE && r.kind != REPORT_FAILED) return;
    take_done(l, shard, &r);
    give_order(l, shard);
    go_on(l);
}

static void pass_interrupts(shards *l)
{
    for (; l->passed < *l->how->interrupts; l->passed++)
        for (size_t i = 0; i < l->count; i++)
            if (l->shards[i].pid > 0) kill(l->shards[i].pid, SIGINT);
}

static bool any_shard(const shards *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->shards[i].pid > 0) return true;
    return false;
}

static void watch(shards *l)
{
    while (any_shard(l)) {
        struct pollfd fds[KF_BENCH_SHARDS];
        one_shard *of[KF_BENCH_SHARDS];
        nfds_t count = 0;
        pass_interrupts(l);
        for (size_t i = 0; i < l->count; i++)
            if (l->shards[i].pid > 0)
                of[count] = &l->shards[i],
                fds[count++] = (struct pollfd){l->shards[i].reports, POLLIN, 0};
        if (poll(fds, count, POLL_MILLISECONDS) > 0)
            for (nfds_t i = 0; i < count; i++)
                if (fds[i].revents) take_report(l, of[i]);
        draw_line(l);
    }
    clear_line(l);
}

/* Adds up the cost of earlier sessions of the bench's runs. */
static bool money_spent(kf_bench_plan *plan, const kf_bench_how *how, double *spent,
                        kf_error *error)
{
    *spent = 0;
    bool any = false;
    for (size_t i = 0; i < plan->suite.count; i++) any |= plan->suite.tasks[i].run[0] != '\0';
    if (!any) return true;
    kf_auto(kf_store) store = kf_store_open(how->store, KF_STORE_READ, error);
    for (size_t i = 0; store && i < plan->suite.count; i++) {
        kf_store_spent of;
        if (!plan->suite.tasks[i].run[0]) continue;
        if (!kf_store_run_spent(store, plan->suite.tasks[i].run, &of, error)) return false;
        *spent += plan->suite.tasks[i].spent_usd = of.cost_usd;
    }
    return store;
}

bool kf_bench_search(kf_bench_plan *plan, const kf_bench_how *how, kf_bench_outcome *outcome,
                     kf_error *error)
{
    kf_autofree shards *l = calloc(1, sizeof *l);
    kf_autofree const one_shard **not_for = calloc(plan->suite.count + 1, sizeof *not_for);
    if (!l || !not_for) return kf_fail_memory(error, "the shards of a bench");
    *outcome = (kf_bench_outcome){0};
    *l = (shards){.plan = plan,
                  .how = how,
                  .outcome = outcome,
                  .not_for = not_for,
                  .started = kf_now(),
                  .news.limit = KF_NEWS_KEPT};
    if (plan->hardware)
        snprintf(l->environment_id.environment_id, sizeof l->environment_id.environment_id, "%s",
                 plan->hardware);
    double spent;
    if (!money_spent(plan, how, &spent, error)) return false;
    l->left_usd = plan->cost_usd - spent;
    for (size_t i = 0; i < plan->suite.count; i++) {
        l->planned += !plan->suite.tasks[i].fault && !plan->suite.tasks[i].finished;
        outcome->total += !plan->suite.tasks[i].fault;
    }
    outcome->settled = outcome->total - l->planned;
    bool added = true;
    for (size_t i = 0; i < how->worker_count && added; i++)
        added = add_shards(l, how->workers[i], error);
    if (!how->worker_count) added = add_shards(l, "local", error);
    size_t most = l->planned < l->count ? l->planned : l->count;
    bool started = added && most == 0;
    for (size_t i = 0; added && i < most; i++) {
        if (!start_shard(l, &l->shards[i], error)) break;
        started = true;
        give_order(l, &l->shards[i]);
    }
    watch(l);
    for (size_t i = 0; i < l->count; i++) free(l->shards[i].worker);
    kf_buffer_free(&l->news);
    if (*how->interrupts) outcome->interrupted = true;
    if (l->foreign && plan->hardware) {
        *error = outcome->why;
        return kf_bench_conditions_changed(plan, error);
    }
    outcome->settled += outcome->finished;
    /* no shard was left for the other tasks */
    outcome->gave_up = l->done < l->planned && outcome->why.code && !outcome->spent;
    return started;
}
