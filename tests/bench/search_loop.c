/* bench_search --loop: measures the search loop's cost of a proposal in a run with many candidates.
 * The run is written to the store without a judge and then resumed. Replies are recorded, and the
 * worker answers at once. So the time is the loop's: selection, prompts, store transactions, the
 * pipe. The store is in $TMPDIR. On a disk, each transaction also takes an fsync, whatever the size
 * of the run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/store.h"
#include "search.h"
#include "search_table.h"

#define REPLIES 200
#define GROUP 1000

typedef struct meter {
    double first, last;         /* wall */
    double first_cpu, last_cpu; /* of this process: what a busy machine leaves as it is */
    int64_t attempts;
} meter;

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void notify(void *context, kf_search_event event, const kf_search_progress *progress,
                   const char *text)
{
    meter *c = context;
    (void)progress;
    if (event != KF_SEARCH_ATTEMPT || strncmp(text, "verify", 6) == 0) return;
    c->last = kf_now();
    c->last_cpu = cpu_seconds();
    if (!c->attempts++) c->first = c->last, c->first_cpu = c->last_cpu;
}

static bool write_cassette(const char *path, kf_error *error)
{
    kf_autobuffer text = {0};
    kf_buffer_string(&text, "{\"schema\":\"kforge-cassette/1\",\"source\":\"made by bench_search "
                            "--loop\",\"model\":\"none\"}\n");
    for (int i = 0; i < REPLIES; i++)
        kf_buffer_format(
            &text,
            "{\"reply\":\"Move: number %d\\n```cuda\\nvoid axpy() { float reply = %d; }\\n```\"}\n",
            i, i);
    return kf_file_write(path, text.data, text.size, error);
}

static bool session(kf_store *store, const kf_task *task, const char *run, const char *self,
                    const char *cassette, int64_t candidates, meter *c, char id[KF_RUN_ID],
                    kf_error *error)
{
    char worker[4096 + 64], model[4096 + 64];
    snprintf(worker, sizeof worker, "exec %s --instant", self);
    snprintf(model, sizeof model, "replay:%s", cassette);
    kf_auto(kf_workers) workers = kf_workers_open((const char *const[]){worker}, 1,
                                                  &(kf_workers_options){.device = NULL}, error);
    kf_search_settings settings = {.declared_flags = true,
                                   .seed = 1,
                                   .models = (const char *const[]){model},
                                   .model_count = 1,
                                   .calls = 1,
                                   .budget = {.candidates = candidates}};
    /* islands, grid and crossover: the dearest to choose for */
    settings.strategy = *kf_strategy_named("evolve");
    kf_search_result result;
    bool done = workers && kf_search_run(store, task, run, &settings, workers, NULL,
                                         &(kf_search_observer){.notify = notify, .context = c},
                                         &result, error);
    if (done) snprintf(id, KF_RUN_ID, "%s", result.progress.run);
    return done;
}

static bool add_candidate(kf_store *store, const char *run, int64_t number, kf_draws *draws,
                          kf_error *error)
{
    char source[64], cell[KF_CELL_TEXT];
    snprintf(source, sizeof source, "void axpy() { int candidate = %lld; }", (long long)number);
    snprintf(cell, sizeof cell, "b%d r0 s0 t0 h%d", (int)(number % 5), (int)(number % 7));
    kf_auto(kf_verdict) verdict = kf_verdict_new("made", "axpy", "cpu:0");
    kf_workload_verdict *workload = verdict ? kf_verdict_add_workload(verdict, "main", true) : NULL;
    if (!workload) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    double speedup = exp(2 * kf_draw_fraction(draws) - 1);
    workload->status = KF_CORRECT;
    workload->speedup = (kf_interval){speedup, 0.99 * speedup, 1.01 * speedup};
    workload->baseline_seconds = 1e-3;
    workload->candidate_seconds = 1e-3 / speedup;
    kf_verdict_conclude(verdict);
    kf_auto(cJSON) json = kf_verdict_to_json(verdict);
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    return text && kf_store_record(store,
                                   &(kf_store_attempt_new){.run = run,
                                                           .outcome = KF_ATTEMPT_JUDGED,
                                                           .proposer = "made",
                                                           .strategy = "evolve",
                                                           .step = "improve",
                                                           .content.source = source,
                                                           .content.source_size = strlen(source),
                                                           .island = (int)(number % 3),
                                                           .cell = cell,
                                                           .verdict = verdict,
                                                           .verdict_json = text,
                                                           .verdict_size = strlen(text)},
                                   NULL, error);
}

static bool measure(const char *self, int64_t candidates, kf_error *error)
{
    kf_auto(kf_task) task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", error);
    kf_autofree char *folder = task ? kf_directory_temporary("kforge-bench-loop", error) : NULL;
    if (!folder) return false;
    kf_autofree char *path = kf_path_join(folder, "store.db"),
                     *cassette = kf_path_join(folder, "replies.jsonl");
    char id[KF_RUN_ID] = "";
    meter none = {0}, c = {0};
    kf_auto(kf_store) store =
        write_cassette(cassette, error) ? kf_store_open(path, KF_STORE_CREATE, error) : NULL;
    bool done = store && session(store, task, NULL, self, cassette, 3, &none, id, error);
    kf_draws draws = {.state = 1};
    for (int64_t i = 0; done && i < candidates; i += GROUP) {
        done = kf_store_begin(store, error);
        for (int64_t k = i; done && k < i + GROUP && k < candidates; k++)
            done = add_candidate(store, id, k, &draws, error);
        done = done && kf_store_commit(store, error);
    }
    double begin = kf_now();
    done =
        done && session(store, task, id, self, cassette, candidates + REPLIES + 100, &c, id, error);
    kf_store_close(kf_steal(&store));
    if (done)
        printf("loop: %.2f ms of CPU, %.2f ms in all a proposal with %lld candidates in the run "
               "(%lld proposals); %.1f s to go on "
               "with it\n",
               1e3 * (c.last_cpu - c.first_cpu) / (double)(c.attempts - 1),
               1e3 * (c.last - c.first) / (double)(c.attempts - 1), (long long)candidates,
               (long long)c.attempts, c.first - begin);
    return kf_directory_remove(folder, done ? error : NULL) && done;
}

int measure_loop(const char *self, int64_t candidates)
{
    kf_error error = {0};
    if (!measure(self, 1000, &error) || !measure(self, candidates, &error))
        return fprintf(stderr, "bench_search: %s\n", error.text), 3;
    return 0;
}
