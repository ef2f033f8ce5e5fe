/* Measures the store's speed: verdicts recorded per second, and queries on a large population.
 *
 *     bench_store [CANDIDATES [FOLDER]]     (1,000,000; a temporary folder)
 *     bench_store CANDIDATES STORE RUN      queries only, on an existing store
 *
 * The first 50,000 attempts have verdicts like the judge's: some 3 KB of JSON with three workloads
 * and their samples, a source each, two parents, 200 bytes of search state. They are committed in
 * groups of 1,000. Smaller attempts fill the rest of the population. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/store.h"

#define TASK "00000000000000000000000000000000000000000000000000000000000000aa"
#define GROUP 1000
#define REALISTIC 50000

static uint64_t random_state = 1;

static uint64_t random_bits(void) /* splitmix64 (Steele, Lea, Flood 2014) */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static double random_unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

static void check(bool ok, const kf_error *error)
{
    if (ok) return;
    fprintf(stderr, "bench_store: %s\n", error->text);
    exit(1);
}

/* Writes a kernel that differs in a few places, as tuned and evolved kernels do. */
static void make_source(kf_buffer *source, int64_t number)
{
    kf_buffer_clear(source);
    kf_buffer_format(source,
                     "// variant %" PRId64 "\n#include <cuda_runtime.h>\n#define BLOCK %d\n",
                     number, 32 << (random_bits() % 6));
    kf_buffer_string(source, "__global__ void kernel(const float *__restrict__ x, float "
                             "*__restrict__ y, int64_t rows, int64_t cols)\n{\n");
    for (int i = 0; i < 12; i++)
        kf_buffer_format(
            source,
            "    float value%d = x[blockIdx.x * cols + threadIdx.x + %d * BLOCK] * %.6ff;\n", i, i,
            random_unit());
    for (int i = 0; i < 12; i++)
        kf_buffer_format(source, "    y[blockIdx.x * cols + threadIdx.x + %d * BLOCK] = value%d;\n",
                         i, i);
    kf_buffer_string(source, "}\n");
}

/* One attempt ready to be recorded: texts are made before the clock starts. */
typedef struct prepared {
    char id[32], code_hash[17], state[200];
    kf_buffer source, json;
    kf_sample samples[3][12];
    kf_workload_verdict workloads[3];
    kf_verdict verdict;
    kf_store_parent parents[2];
    kf_store_attempt_new attempt;
} prepared;

static prepared group[GROUP];

static void make_samples(prepared *p, int workload)
{
    static const char *const names[] = {"main", "wide", "ragged"};
    p->workloads[workload] = (kf_workload_verdict){.workload = (char *)names[workload],
                                                   .timed = true,
                                                   .status = KF_CORRECT,
                                                   .samples = p->samples[workload],
                                                   .sample_count = 12};
    kf_buffer_format(&p->json,
                     "%s{\"workload\":\"%s\",\"timed\":true,\"status\":\"correct\",\"findings\":[],"
                     "\"samples\":[",
                     workload ? "," : "", names[workload]);
    for (int i = 0; i < 12; i++) {
        kf_sample *sample = &p->samples[workload][i];
        *sample = (kf_sample){i % 2 ? 'c' : 'b',
                              i / 2,
                              100,
                              0.02 + 1e-4 * random_unit(),
                              0.0199 + 1e-4 * random_unit(),
                              1980,
                              0};
        kf_buffer_format(&p->json, "%s[\"%c\",%d,%d,%.17g,%.17g,%g,0]", i ? "," : "", sample->side,
                         sample->pair, sample->calls, sample->seconds, sample->claimed,
                         sample->clock_mhz);
    }
    kf_buffer_format(
        &p->json,
        "],\"speedup\":[%.17g,%.17g,%.17g],\"floor_seconds\":%.17g,\"sets\":4,\"pairs\":6}",
        random_unit(), random_unit(), random_unit(), random_unit());
}

static void make_json(prepared *p, double speedup)
{
    kf_buffer_format(
        &p->json,
        "{\"schema\":\"kforge-verdict/1\",\"id\":\"%s\",\"task\":\"axpy\",\"task_hash\":\"" TASK
        "\",\"status\":\"correct\","
        "\"speedup\":[%.17g,%.17g,%.17g],\"workloads\":[",
        p->id, speedup, speedup * 0.99, speedup * 1.01);
    for (int i = 0; i < 3; i++) make_samples(p, i);
    kf_buffer_string(&p->json,
                     "],\"build\":{\"seconds\":0.9,\"log\":\"\",\"registers\":40,\"spill_bytes\":0,"
                     "\"shared_bytes\":16384},\"provenance\":"
                     "{\"kforge\":\"0.1.0\",\"toolchain\":\"nvcc "
                     "13.0.48\",\"driver\":\"580.159\",\"device\":\"NVIDIA H200\",\"sandbox\":"
                     "[\"user\",\"pid\",\"net\",\"ipc\",\"mount\",\"uts\",\"landlock\",\"seccomp\","
                     "\"rlimits\"]}}");
    p->verdict.workloads = p->workloads;
    p->verdict.workload_count = 3;
}

/* `known` candidates are stored already: two of them become parents. */
static void prepare(prepared *p, const char *run, int64_t number, bool realistic, int64_t known)
{
    snprintf(p->id, sizeof p->id, "job-%" PRId64, number);
    snprintf(p->code_hash, sizeof p->code_hash, "%016" PRIx64, random_bits());
    double speedup = exp2(2 * (random_unit() + random_unit() + random_unit() - 1.5));
    bool correct = random_bits() % 10 < 7;
    p->verdict = (kf_verdict){
        .id = p->id, .device = (char *)"cuda:0", .code_hash = p->code_hash, .message = (char *)""};
    p->verdict.status = correct ? KF_CORRECT : (kf_status)(random_bits() % KF_CORRECT);
    p->verdict.blame = correct ? KF_BLAME_NOBODY : KF_BLAME_CANDIDATE;
    p->verdict.speedup = (kf_interval){speedup, speedup * 0.99, speedup * 1.01};
    p->attempt = (kf_store_attempt_new){.run = run,
                                        .proposer = "tuner",
                                        .strategy = "evolve",
                                        .step = "improve",
                                        .island = (int)(number % 5)};
    if (known) {
        p->parents[0] = (kf_store_parent){1 + (int64_t)(random_bits() % (uint64_t)known), "base"};
        p->parents[1] = (kf_store_parent){known, "exemplar"};
        p->attempt.parents = p->parents;
        p->attempt.parent_count = 2;
    }
    kf_buffer_clear(&p->json);
    if (realistic) {
        make_source(&p->source, number);
        make_json(p, speedup);
        memset(p->state, (int)(number % 251), sizeof p->state);
        p->attempt.state = p->state;
        p->attempt.state_size = sizeof p->state;
    } else {
        kf_buffer_clear(&p->source);
        kf_buffer_format(&p->source, "variant %" PRId64, number);
        kf_buffer_string(&p->json, "{}");
    }
    p->attempt.content.source = p->source.data;
    p->attempt.content.source_size = p->source.size;
    p->attempt.verdict = &p->verdict;
    p->attempt.verdict_json = p->json.data;
    p->attempt.verdict_size = p->json.size;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Records attempts `from` … `to` - 1 in groups. Returns the seconds spent in the store, and this
 * process's CPU seconds. The two differ by waits for the disk and, on a busy machine, for a
 * core. */
static double fill(kf_store *store, const char *run, int64_t from, int64_t to, bool realistic,
                   size_t *json_bytes, double *cpu)
{
    kf_error error;
    double seconds = 0;
    *cpu = 0;
    *json_bytes = 0;
    for (int64_t first = from; first < to; first += GROUP) {
        int count = to - first < GROUP ? (int)(to - first) : GROUP;
        for (int i = 0; i < count; i++) {
            prepare(&group[i], run, first + i, realistic, first);
            *json_bytes += group[i].json.size;
        }
        double start = kf_now(), cpu_start = cpu_seconds();
        check(kf_store_begin(store, &error), &error);
        for (int i = 0; i < count; i++)
            check(kf_store_record(store, &group[i].attempt, NULL, &error), &error);
        check(kf_store_commit(store, &error), &error);
        seconds += kf_now() - start;
        *cpu += cpu_seconds() - cpu_start;
    }
    return seconds;
}

/* ---- queries --------------------------------------------------------------------------------- */

static int drain(kf_store_cursor *cursor)
{
    kf_error error = {.text = "no cursor"};
    kf_autoresult kf_store_candidate candidate = {0};
    check(cursor, &error);
    int row, rows = 0;
    while ((row = kf_store_next_candidate(cursor, &candidate, &error)) == 1) rows++;
    check(row == 0, &error);
    kf_store_cursor_free(cursor);
    return rows;
}

static void query_correct(kf_store *store, const char *run, int64_t count)
{
    (void)count;
    kf_error error;
    bool found;
    kf_autoresult kf_store_candidate candidate = {0};
    check(kf_store_pick_correct(store, run, -1, random_bits(), &candidate, &found, &error), &error);
}

static void query_bucket(kf_store *store, const char *run, int64_t count)
{
    (void)count;
    kf_error error;
    bool found;
    size_t buckets;
    static kf_store_bucket histogram[KF_MAX_BUCKETS];
    kf_autoresult kf_store_candidate candidate = {0};
    check(kf_store_histogram(store, run, -1, histogram, &buckets, &error), &error);
    const kf_store_bucket *bucket = &histogram[random_bits() % buckets];
    check(kf_store_pick(store, run, -1, bucket->bucket, bucket->bucket,
                        random_bits() % (uint64_t)bucket->count, &candidate, &found, &error) &&
              found,
          &error);
}

static void query_top(kf_store *store, const char *run, int64_t count)
{
    (void)count;
    drain(kf_store_best(store, &(kf_store_scope){.run = run, .island = -1}, 10, NULL));
}

static void query_island(kf_store *store, const char *run, int64_t count)
{
    (void)count;
    drain(kf_store_best(store, &(kf_store_scope){.run = run, .island = 3}, 10, NULL));
}

static void query_task(kf_store *store, const char *run, int64_t count)
{
    (void)run, (void)count;
    drain(kf_store_best(store, &(kf_store_scope){.task = TASK, .island = -1}, 10, NULL));
}

static void query_all(kf_store *store, const char *run, int64_t count)
{
    (void)run, (void)count;
    drain(kf_store_best(store, &(kf_store_scope){.island = -1}, 10, NULL));
}

static void query_children(kf_store *store, const char *run, int64_t count)
{
    drain(kf_store_children(store, 1 + (int64_t)(random_bits() % (uint64_t)count), run, NULL));
}

static void query_run(kf_store *store, const char *run, int64_t count)
{
    (void)count;
    kf_error error;
    kf_autoresult kf_store_run summary = {0};
    check(kf_store_find_run(store, run, &summary, &error), &error);
}

static void query_find_task(kf_store *store, const char *run, int64_t count)
{
    (void)run, (void)count;
    kf_error error;
    kf_autoresult kf_store_task task = {0};
    check(kf_store_find_task(store, "axpy", &task, &error), &error);
}

static void query_known(kf_store *store, const char *run, int64_t count)
{
    (void)run;
    kf_error error;
    bool found;
    char text[64], hash[KF_HASH_HEX];
    int size =
        snprintf(text, sizeof text, "variant %" PRId64, (int64_t)(random_bits() % (uint64_t)count));
    kf_autoresult kf_store_candidate candidate = {0};
    kf_store_candidate_hash(text, (size_t)size, NULL, 0, hash);
    check(kf_store_find_candidate(store, TASK, hash, "NVIDIA H200", &candidate, &found, &error),
          &error);
}

/* The first 200 edges up the family, what a report shows. */
static void query_ancestors(kf_store *store, const char *run, int64_t count)
{
    kf_error error;
    kf_autoresult kf_store_edge edge = {0};
    kf_auto(kf_store_cursor) cursor =
        kf_store_ancestors(store, 1 + (int64_t)(random_bits() % (uint64_t)count), run, &error);
    check(cursor, &error);
    for (int i = 0; i < 200 && kf_store_next_edge(cursor, &edge, &error) == 1; i++) continue;
}

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void time_query(kf_store *store, const char *run, int64_t count, const char *name,
                       void (*query)(kf_store *, const char *, int64_t))
{
    enum { TIMES = 200 };
    double seconds[TIMES];
    for (int i = 0; i < TIMES; i++) {
        double start = kf_now();
        query(store, run, count);
        seconds[i] = kf_now() - start;
    }
    qsort(seconds, TIMES, sizeof *seconds, by_value);
    printf("store: %s of %" PRId64 " candidates: median %.3f ms, 99 %% %.3f ms\n", name, count,
           1e3 * seconds[TIMES / 2], 1e3 * seconds[TIMES * 99 / 100]);
}

static void time_queries(kf_store *store, const char *run, int64_t count)
{
    time_query(store, run, count, "random correct parent", query_correct);
    time_query(store, run, count, "parent from a random score bucket", query_bucket);
    time_query(store, run, count, "10 best of a run", query_top);
    time_query(store, run, count, "10 best of an island", query_island);
    time_query(store, run, count, "10 best of a task", query_task);
    time_query(store, run, count, "10 best of everything", query_all);
    time_query(store, run, count, "children of a candidate", query_children);
    time_query(store, run, count, "200 edges of a lineage", query_ancestors);
    time_query(store, run, count, "summary of a run", query_run);
    time_query(store, run, count, "summary of a task", query_find_task);
    time_query(store, run, count, "was this source judged before", query_known);
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        printf("store: at most %ld MiB resident\n", usage.ru_maxrss >> 10);
}

static void run_benchmark(const char *folder, int64_t count)
{
    kf_error error;
    char path[4096], run[KF_RUN_ID];
    snprintf(path, sizeof path, "%s/kforge.db", folder);
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_CREATE, &error);
    check(store, &error);
    check(kf_store_put_task(store, TASK, "axpy", "{}", 2, &error), &error);
    check(kf_store_begin_run(store, &(kf_store_run_new){.task = TASK, .device = "NVIDIA H200"}, run,
                             &error),
          &error);
    int64_t realistic = count < REALISTIC ? count : REALISTIC;
    size_t json_bytes;
    double cpu, seconds = fill(store, run, 0, realistic, true, &json_bytes, &cpu);
    printf("store: %.0f verdicts/s, %.0f a CPU second (%" PRId64
           " of %zu bytes with samples, sources and lineage, in groups of %d)\n",
           (double)realistic / seconds, (double)realistic / cpu, realistic,
           json_bytes / (size_t)realistic, GROUP);
    if (count > realistic) {
        seconds = fill(store, run, realistic, count, false, &json_bytes, &cpu);
        printf("store: %.0f small verdicts/s up to %" PRId64 "\n",
               (double)(count - realistic) / seconds, count);
        seconds = fill(store, run, count, count + 10000, true, &json_bytes, &cpu);
        printf("store: %.0f verdicts/s, %.0f a CPU second, beyond %" PRId64 "\n", 10000 / seconds,
               10000 / cpu, count);
        count += 10000;
    }
    time_queries(store, run, count);
}

int main(int argc, char **argv)
{
    kf_error error;
    int64_t count = argc > 1 ? atoll(argv[1]) : 1000000;
    if (argc > 3) {
        kf_auto(kf_store) store = kf_store_open(argv[2], KF_STORE_READ, &error);
        check(store, &error);
        time_queries(store, argv[3], count);
        return 0;
    }
    char *folder =
        argc > 2 ? strdup(argv[2]) : kf_directory_temporary("kforge-bench-store", &error);
    check(folder && count > 0, &error);
    run_benchmark(folder, count);
    if (argc <= 2) kf_directory_remove(folder, NULL);
    for (int i = 0; i < GROUP; i++) {
        kf_buffer_free(&group[i].source);
        kf_buffer_free(&group[i].json);
    }
    free(folder);
    return 0;
}
