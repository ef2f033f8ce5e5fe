/* Exports and merges at scale.
 *
 *     bench_export [CANDIDATES [STORES [STORE]]]     (1,000,000, 10)
 *
 * Fills a store with attempts, each with a source of 1.2 KB, a verdict and a parent. With STORE, it
 * uses a store that bench_store left. Exports the store as raw JSON Lines into memory. Then merges
 * STORES stores of a tenth of that size into one, forwards, and compares. Prints CPU seconds of
 * this process and wall seconds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kforge/buffer.h"
#include "kforge/export.h"
#include "kforge/file.h"
#include "kforge/store_maintenance.h"

#define TASK "00000000000000000000000000000000000000000000000000000000000000aa"

static kf_error error;

static void check(bool ok)
{
    if (ok) return;
    fprintf(stderr, "bench_export: %s\n", error.text);
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fill(const char *path, int64_t count, int salt)
{
    char run[KF_RUN_ID];
    kf_autobuffer source = {0};
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_CREATE, &error);
    check(store && kf_store_put_task(store, TASK, "axpy", "{}", 2, &error));
    check(kf_store_begin_run(
        store, &(kf_store_run_new){.task = TASK, .device = "NVIDIA H200", .options = "{}"}, run,
        &error));
    kf_store_recorded recorded = {0};
    for (int64_t i = 0; i < count; i++) {
        if (i % 1000 == 0) check(kf_store_begin_quick(store, &error));
        kf_buffer_clear(&source);
        kf_buffer_format(&source, "// variant %d.%" PRId64 "\n", salt, i);
        for (int k = 0; k < 16; k++)
            kf_buffer_format(
                &source, "    y[blockIdx.x * cols + threadIdx.x + %d * BLOCK] = x[%d] * %d.5f;\n",
                k, k, (int)(i % 977));
        double speedup = 0.5 + (double)(i * 7919 % 4001) / 1000;
        kf_verdict verdict = {.status = i % 3 ? KF_CORRECT : KF_WRONG_RESULT,
                              .blame = i % 3 ? KF_BLAME_NOBODY : KF_BLAME_CANDIDATE};
        verdict.device = (char *)"cuda:0";
        verdict.message = verdict.code_hash = (char *)"";
        verdict.speedup = (kf_interval){speedup, speedup * 0.99, speedup * 1.01};
        kf_store_parent parent = {recorded.candidate, "base"};
        kf_store_attempt_new attempt = {.run = run,
                                        .proposer = "tuner",
                                        .strategy = "evolve",
                                        .step = "tune",
                                        .parents = &parent,
                                        .parent_count = recorded.candidate != 0,
                                        .content.source = source.data,
                                        .content.source_size = source.size,
                                        .verdict = &verdict,
                                        .verdict_json = "{\"schema\":\"kforge-verdict/1\"}",
                                        .verdict_size = 30};
        check(kf_store_record(store, &attempt, &recorded, &error));
        if (i % 1000 == 999 || i == count - 1) check(kf_store_commit(store, &error));
    }
}

typedef struct seen {
    int64_t rows, bytes;
    double start, first;
} seen;

static bool take(void *context, const char *split, const char *row, size_t size, kf_error *failure)
{
    seen *s = context;
    (void)split, (void)row, (void)failure;
    if (!s->rows++) s->first = kf_now() - s->start;
    s->bytes += (int64_t)size + 1;
    return true;
}

static void bench_raw(const char *path)
{
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &error);
    check(store);
    kf_export_options options = {.format = KF_EXPORT_RAW,
                                 .reward = KF_REWARD_KEVIN,
                                 .margin = 1,
                                 .least_group = 1,
                                 .most_pairs = 1};
    kf_export_report report;
    seen s = {.start = kf_now()};
    double cpu = cpu_seconds();
    check(kf_export(store, &options, take, &s, &report, &error));
    double seconds = kf_now() - s.start;
    cpu = cpu_seconds() - cpu;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("export: %" PRId64 " rows raw, %.0f rows/s, %.0f a CPU second, %.0f MB/s, first row "
           "after %.3f s, at most %ld MiB resident\n",
           s.rows, (double)s.rows / seconds, (double)s.rows / cpu, (double)s.bytes / seconds / 1e6,
           s.first, usage.ru_maxrss >> 10);
    fflush(stdout);
}

static void bench_merge(const char *folder, int stores, int64_t count)
{
    char path[4096], target[4096];
    for (int i = 0; i < stores; i++) {
        snprintf(path, sizeof path, "%s/part%d.db", folder, i);
        fill(path, count, i + 1);
    }
    snprintf(target, sizeof target, "%s/merged.db", folder);
    kf_store_merged merged = {0};
    double start = kf_now(), cpu = cpu_seconds();
    {
        kf_auto(kf_store) store = kf_store_open(target, KF_STORE_CREATE, &error);
        check(store);
        for (int i = 0; i < stores; i++) {
            snprintf(path, sizeof path, "%s/part%d.db", folder, i);
            check(kf_store_merge(store, path, &merged, &error));
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("merge: %d stores of %" PRId64 " candidates in %.1f s, %.1f CPU seconds, %" PRId64
           " candidates now, at most %ld MiB resident\n",
           stores, count, kf_now() - start, cpu_seconds() - cpu, merged.candidates,
           usage.ru_maxrss >> 10);
}

int main(int argc, char **argv)
{
    int64_t count = argc > 1 ? atoll(argv[1]) : 1000000;
    int stores = argc > 2 ? atoi(argv[2]) : 10;
    kf_autofree char *folder = kf_directory_temporary("kforge-bench-export", &error);
    check(folder && count > 0 && stores >= 0);
    kf_autofree char *path = argc > 3 ? strdup(argv[3]) : kf_path_join(folder, "kforge.db");
    if (argc <= 3) fill(path, count, 0);
    bench_raw(path);
    if (stores) bench_merge(folder, stores, count / 10 > 0 ? count / 10 : 1);
    kf_directory_remove(folder, NULL);
    return 0;
}
