/* Measurements against extra baselines of the tasks (`--against NAME`). Candidate and baseline are
 * timed in pairs, so another baseline needs another measurement. Only the best candidate of each
 * problem gets one, after the bench. The verdict is stored outside the bench's runs, under an
 * environment id of its own (kf_search_environment_id), as `kforge eval --baseline` stores it.
 * bench_result.c finds it there. So a resumed bench does not measure it again.
 *
 * A baseline may be impossible to run, for example torch.compile with PyTorch 1. After HOPELESS
 * failures in a row no further task tries it, and the report gives the reason. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_extra_baselines.h"
#include "bench_result.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "tuner.h"
#include "output.h"
#include "table.h"

#define WAIT_SECONDS 0.2
#define RETRIES 1
/* failures in a row after which a baseline is given up */
#define HOPELESS 3

typedef struct measurement {
    size_t row, extra;
    kf_task *task;
    char *source;
    size_t size;
    const char *flags[KF_MAX_TUNE_FLAGS];
    size_t flag_count;
    cJSON *flag_list; /* `flags` points into it */
    bool python;
    int tries;
} measurement;

typedef struct measuring {
    const kf_bench_plan *plan;
    const kf_bench_how *how;
    kf_bench_result *result;
    kf_store *store;
    kf_workers *workers;
    measurement *items;
    size_t count, next;
    int failures[KF_BENCH_EXTRA_BASELINES];
    double started;
} measuring;

static bool fill_flags(measurement *item, const char *json, kf_error *error)
{
    const cJSON *flag;
    item->flag_list = kf_json_parse(json, strlen(json), 0, "flags", error);
    if (!item->flag_list) return false;
    cJSON_ArrayForEach(flag, item->flag_list)
    {
        if (cJSON_IsString(flag) && item->flag_count < KF_MAX_TUNE_FLAGS)
            item->flags[item->flag_count++] = flag->valuestring;
    }
    return true;
}

/* Lists the best candidate of each problem with each extra baseline of its task that has no figure
 * yet. */
static bool list_measurements(measuring *m, kf_error *error)
{
    kf_bench_result *result = m->result;
    m->items = calloc(result->count * result->extra_baseline_count + 1, sizeof *m->items);
    if (!m->items) return kf_fail_memory(error, "the extra baselines");
    for (size_t k = 0; k < result->extra_baseline_count; k++)
        for (size_t i = 0; i < result->count; i++) {
            const kf_bench_row *row = &result->rows[i];
            if (!row->best.candidate || row->versus[k].speedup.value > 0) continue;
            kf_auto(kf_task) task = kf_stored_task(m->store, row->hash, error);
            if (!task) return false;
            if (!kf_task_baseline_named(task, result->extra_baselines[k].name)) continue;
            kf_autoresult kf_store_candidate c = {0};
            measurement *item = &m->items[m->count++];
            *item = (measurement){
                .row = i, .extra = k, .task = kf_steal(&task), .python = row->best.python};
            item->source = kf_store_source(m->store, row->best.candidate, &item->size, error);
            if (!item->source ||
                !kf_store_get_candidate(m->store, row->best.candidate, row->run, &c, error) ||
                !fill_flags(item, c.flags, error))
                return false;
        }
    return true;
}

static bool submit(measuring *m, size_t index, kf_error *error)
{
    measurement *item = &m->items[index];
    const kf_search_settings *settings = &m->plan->search;
    char id[64];
    kf_auto(cJSON) bundle = kf_task_bundle(item->task);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    if (!task) return bundle ? false : kf_fail_memory(error, "the extra baselines");
    snprintf(id, sizeof id, "%s-against-%zu-%d", m->plan->id, index, item->tries);
    kf_auto(kf_job) job =
        kf_job_new(id, task, item->source, item->size, item->flags, item->flag_count, error);
    if (!job) return false;
    job->options.seconds = settings->timing_seconds;
    job->options.timeout_seconds = settings->timeout_seconds;
    job->options.half_width = settings->half_width > 0 ? settings->half_width : 0.01;
    job->options.strict_sandbox = settings->strict_sandbox;
    job->options.torch = item->python;
    job->options.verify = !m->plan->once;
    job->options.unseen = false;
    /* KernelBench's protocol does not depend on the baseline */
    job->options.kernelbench = false;
    job->options.baseline = strdup(m->result->extra_baselines[item->extra].name);
    if (!job->options.baseline) return kf_fail_memory(error, "the extra baselines");
    return kf_workers_submit(m->workers, job, (int64_t)index, error);
}

static bool keep(measuring *m, const measurement *item, const kf_workers_result *result,
                 kf_error *error)
{
    const char *name = m->result->extra_baselines[item->extra].name;
    kf_autofree char *environment_id =
        kf_search_environment_id(kf_workers_environment_id(m->workers), name);
    if (!environment_id) return kf_fail_memory(error, "the extra baselines");
    return kf_store_record(m->store,
                           &(kf_store_attempt_new){.task = kf_task_hash(item->task),
                                                   .outcome = KF_ATTEMPT_JUDGED,
                                                   .proposer = "bench",
                                                   .step = "eval",
                                                   .content.source = item->source,
                                                   .content.source_size = item->size,
                                                   .content.flags = item->flags,
                                                   .content.flag_count = item->flag_count,
                                                   .verdict = result->verdict,
                                                   .verdict_json = result->json,
                                                   .verdict_size = result->json_size,
                                                   .device = environment_id},
                           NULL, error);
}

static void tell(measuring *m, const measurement *item, const kf_verdict *verdict, const char *text)
{
    char time[KF_FIGURE];
    fprintf(m->how->log, "%8s  %s against %s: ", kf_figure_seconds(kf_now() - m->started, time),
            m->result->rows[item->row].task, m->result->extra_baselines[item->extra].name);
    if (verdict && verdict->status == KF_CORRECT)
        fprintf(m->how->log, "%s\n", kf_figure_speedup(verdict->speedup, time));
    else
        fprintf(m->how->log, "%s%s%s\n", verdict ? kf_status_name(verdict->status) : "",
                verdict ? ": " : "", text);
    fflush(m->how->log);
}

/* *again is set if the machine failed, so that a second try may succeed. */
static bool take(measuring *m, const kf_workers_result *result, bool *again, kf_error *error)
{
    measurement *item = &m->items[result->ticket];
    const kf_verdict *v = result->verdict;
    *again = false;
    if (result->outcome != KF_WORKERS_JUDGED) {
        tell(m, item, NULL, result->error.text);
        return true;
    }
    if (!keep(m, item, result, error)) return false;
    tell(m, item, v, v->message ? v->message : "");
    if (v->status == KF_CORRECT)
        m->failures[item->extra] = 0;
    else if (v->status == KF_JUDGE_ERROR)
        m->failures[item->extra]++;
    *again = v->status != KF_CORRECT && v->status != KF_JUDGE_ERROR &&
             v->blame != KF_BLAME_CANDIDATE && item->tries++ < RETRIES;
    return true;
}

/* Finds the next measurement of a baseline that is not given up. False if there is no other. */
static bool next_one(measuring *m, size_t *index)
{
    while (m->next < m->count) {
        *index = m->next++;
        if (m->failures[m->items[*index].extra] < HOPELESS) return true;
    }
    return false;
}

static bool measure_all(measuring *m, kf_error *error)
{
    size_t index;
    m->started = kf_now();
    for (;;) {
        bool stop = *m->how->interrupts;
        if (stop) {
            int64_t tickets[KF_WORKERS_MAX];
            while (kf_workers_withdraw(m->workers, tickets, KF_WORKERS_MAX) > 0) continue;
        }
        while (!stop && kf_workers_room(m->workers) > 0 && next_one(m, &index))
            if (!submit(m, index, error)) return false;
        if (!kf_workers_in_flight(m->workers) && (stop || m->next >= m->count)) return true;
        if (*m->how->interrupts >= 2) return true;
        kf_workers_result result;
        int got = kf_workers_wait(m->workers, WAIT_SECONDS, &result, error);
        const char *news = kf_workers_news(m->workers);
        if (news) fprintf(m->how->log, "          %s\n", news);
        if (got < 0) return kf_fail_prefix(error, "no worker is left");
        if (got == 0) continue;
        bool again, taken = take(m, &result, &again, error);
        index = (size_t)result.ticket;
        kf_workers_result_free(&result);
        if (!taken || (again && !submit(m, index, error))) return false;
    }
}

static bool measure(measuring *m, kf_error *error)
{
    const char *device = m->result->setup.device, *more = strstr(device, ", against baseline ");
    kf_autofree char *hardware = more ? strndup(device, (size_t)(more - device)) : strdup(device);
    kf_workers_options options = {
        .device = m->how->device, .devices = m->how->devices, .device_count = m->how->device_count};
    if (!hardware) return kf_fail_memory(error, "the extra baselines");
    kf_auto(kf_workers) workers =
        kf_workers_open(m->how->workers, m->how->worker_count, &options, error);
    if (!workers || !kf_workers_expect(workers, hardware))
        return workers ? kf_fail_memory(error, "the extra baselines") : false;
    m->workers = workers;
    fprintf(m->how->log, "measuring the best of each problem against extra baselines: %zu\n",
            m->count);
    return measure_all(m, error);
}

bool kf_bench_extra_baselines(const kf_bench_plan *plan, const kf_bench_how *how, kf_error *error)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(plan->description, "against");
    if (!cJSON_GetArraySize(names) || *how->interrupts) return true;
    kf_auto(kf_store) store = kf_store_open(how->store, KF_STORE_CREATE, error);
    kf_autobenchresult result = {0};
    const kf_option_list usual = {0};
    measuring m = {.plan = plan, .how = how, .result = &result, .store = store};
    if (!store || !kf_bench_thresholds(&usual, &result, error) ||
        !kf_bench_load(store, plan->id, &result, error))
        return false;
    bool measured = list_measurements(&m, error) && (!m.count || measure(&m, error));
    for (size_t i = 0; i < m.count; i++) {
        kf_task_free(m.items[i].task);
        cJSON_Delete(m.items[i].flag_list);
        free(m.items[i].source);
    }
    free(m.items);
    return measured;
}
