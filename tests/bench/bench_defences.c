/* Measures the cost of the defences for honest candidates: compares the speedup of a verdict with a
 * plain measurement of the same two binaries.
 *
 *     bench_defences [SECONDS [TASK…]]     (1.5 s a measurement; the seeds of ten tasks)
 *
 * The plain measurement runs two processes of this program. Each has one binary, its own memory,
 * inputs filled once, and its own clock around the calls of a batch. It empties the caches before a
 * batch. It has no sandbox, no stopping and waking, no poison, guards, digests, left-out sets or
 * comparison. It uses as many sets and calls as the judge, and batches in ABBA order. The judge and
 * the plain measurement take turns, three times each. The medians of the three are compared. */
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_flush.h"
#include "device.h"
#include "paths.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "kforge/inputs.h"
#include "kforge/judge.h"
#include "kforge/stats.h"

#define TURNS 3
#define MAX_PAIRS 400
#define MAX_FIGURES 64

static void check(bool ok, const kf_error *error)
{
    if (ok) return;
    fprintf(stderr, "bench_defences: %s\n", error->text);
    exit(3);
}

/* ---- a plain side ---------------------------------------------------------------------------- */

typedef void (*entry_function)(void *const *buffers, const uint64_t *scalars, void *stream);

typedef struct order {
    uint32_t sets[8192], count;
} order;

typedef struct side {
    pid_t process;
    int to, from;
} side;

static void *sets[8192][KF_MAX_ARGUMENTS];

static void make_sets(const kf_problem *problem, int count)
{
    for (int set = 0; set < count; set++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind == KF_SCALAR) continue;
            /* the same kind of memory as the judge's */
            int fd = memfd_create("plain", MFD_CLOEXEC);
            if (fd < 0 || ftruncate(fd, (off_t)argument->bytes) != 0) exit(3);
            void *data = mmap(NULL, argument->bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_POPULATE, fd, 0);
            if (data == MAP_FAILED) exit(3);
            close(fd);
            kf_key key = {.secret = 1, .set = (uint32_t)set, .argument = (uint32_t)i};
            if (argument->kind != KF_OUTPUT)
                kf_input_fill(argument, key, KF_VARY_NONE, data, 0, argument->elements);
            sets[set][i] = data;
        }
}

static void serve(const char *binary, const kf_problem *problem, int count, int in, int out)
{
    static order batch;
    uint64_t scalars[KF_MAX_ARGUMENTS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *runtime = kf_path_join(kf_root(), "lib/kforge/libkfcpu.so");
    void *device = dlopen(runtime, RTLD_NOW | RTLD_GLOBAL),
         *library = device ? dlopen(binary, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "bench_defences: %s\n", dlerror());
        exit(3);
    }
    void (*start)(void);
    int (*make_stream)(void **, unsigned), (*wait)(void);
    entry_function entry;
    void *stream;
    *(void **)&start = dlsym(device, "kfcpu_start");
    *(void **)&make_stream = dlsym(device, "cudaStreamCreateWithFlags");
    *(void **)&wait = dlsym(device, "cudaDeviceSynchronize");
    *(void **)&entry = dlsym(library, "kforge_entry");
    start();
    if (make_stream(&stream, 1) != 0) exit(3);
    kf_problem_scalars(problem, scalars);
    make_sets(problem, count);
    while (kf_read_all(in, &batch, sizeof batch)) {
        for (int set = 0; set < count; set++)
            for (int i = 0; i < problem->argument_count; i++)
                if (sets[set][i]) kf_cache_flush(sets[set][i], problem->arguments[i].bytes);
        double started = kf_now();
        for (uint32_t i = 0; i < batch.count; i++) entry(sets[batch.sets[i]], scalars, stream);
        if (wait() != 0) exit(3);
        double seconds = (kf_now() - started) / batch.count;
        if (!kf_write_all(out, &seconds, sizeof seconds)) break;
    }
    exit(0);
}

static side start(const char *binary, const kf_problem *problem, int count)
{
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) exit(3);
    side made = {.process = fork(), .to = to[1], .from = from[0]};
    if (made.process < 0) exit(3);
    if (made.process == 0) {
        close(to[1]);
        close(from[0]);
        serve(binary, problem, count, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    return made;
}

static void end(side *s)
{
    close(s->to);
    close(s->from);
    kill(s->process, SIGKILL); /* the other side may have inherited its pipe */
    waitpid(s->process, NULL, 0);
}

/* Seconds a call. */
static double batch_of(side *s, order *batch, uint32_t calls, int count)
{
    for (uint32_t i = 0; i < (uint32_t)count; i++) batch->sets[i] = i;
    for (uint32_t i = (uint32_t)count - 1; i > 0; i--) {
        uint32_t other = (uint32_t)random() % (i + 1), kept = batch->sets[i];
        batch->sets[i] = batch->sets[other];
        batch->sets[other] = kept;
    }
    batch->count = calls;
    double seconds = NAN;
    kf_error error = {0};
    kf_fail(&error, KF_ERROR_MACHINE, "a plain process ended");
    check(kf_write_all(s->to, batch, sizeof *batch) &&
              kf_read_all(s->from, &seconds, sizeof seconds),
          &error);
    return seconds;
}

static double measure_plainly(const char *const binaries[2], const kf_problem *problem, int count,
                              const uint32_t calls[2], double budget)
{
    static order batch;
    static double seconds[2][MAX_PAIRS];
    side sides[2] = {start(binaries[0], problem, count), start(binaries[1], problem, count)};
    for (int i = 0; i < 4; i++) batch_of(&sides[i % 2], &batch, calls[i % 2], count);
    double started = kf_now();
    size_t pairs = 0;
    for (; pairs < MAX_PAIRS && (pairs < 8 || kf_now() - started < budget); pairs++)
        for (int turn = 0; turn < 2; turn++) {
            int which = (turn == 1) != (pairs % 2 == 1);
            seconds[which][pairs] = batch_of(&sides[which], &batch, calls[which], count);
        }
    end(&sides[0]);
    end(&sides[1]);
    return kf_speedup(seconds[0], seconds[1], pairs, 0.95).value;
}

/* ---- both ------------------------------------------------------------------------------------ */

typedef struct figures {
    double ratios[MAX_FIGURES];
    int count;
} figures;

static char *build(const kf_task *task, const kf_task_file *file, const char *folder,
                   const char *name)
{
    kf_error error = {0};
    kf_build result = {0};
    char *directory = kf_path_join(folder, name);
    check(kf_directory_make(directory, &error), &error);
    kf_build_request request = {.task = task,
                                .source = file->text,
                                .size = file->size,
                                .name = "candidate.cu",
                                .seconds = 60,
                                .directory = directory};
    check(kf_build_cpu(&request, &result, &error), &error);
    char *binary = result.ok ? strdup(result.binary) : NULL;
    if (!result.ok) fprintf(stderr, "bench_defences: %s: %s\n", file->name, result.reason);
    kf_build_free(&result);
    free(directory);
    return binary;
}

/* Workload by workload, as the judge went. */
static void compare(kf_judge *judge, kf_task *task, const kf_task_file *seed, double budget,
                    const char *folder, figures *all)
{
    kf_error error = {0};
    kf_problem problem;
    bool applies;
    double judged[16][TURNS], plain[16][TURNS];
    int workloads = 0, number[16];
    char *binaries[2] = {build(task, kf_task_baseline(task), folder, "baseline"),
                         build(task, seed, folder, "candidate")};
    cJSON *bundle = kf_task_bundle(task);
    kf_job *job = kf_job_new("defences", kf_task_from_bundle(bundle, &error), seed->text,
                             seed->size, NULL, 0, &error);
    cJSON_Delete(bundle);
    check(job != NULL && binaries[0] && binaries[1], &error);
    job->options.seconds = budget;
    for (int turn = 0; turn < TURNS; turn++) {
        kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
        check(verdict != NULL, &error);
        workloads = 0;
        for (size_t w = 0; w < verdict->workload_count && verdict->status == KF_CORRECT; w++) {
            const kf_workload_verdict *result = &verdict->workloads[w];
            if (!result->timed || workloads == 16) continue;
            uint32_t calls[2] = {0, 0};
            for (size_t i = 0; i < result->sample_count; i++)
                if (result->samples[i].side == 'b' || result->samples[i].side == 'c')
                    calls[result->samples[i].side == 'c'] = (uint32_t)result->samples[i].calls;
            for (int k = 0; k < kf_task_workload_count(task); k++)
                if (strcmp(kf_task_workload_name(task, k), result->workload) == 0)
                    number[workloads] = k;
            check(kf_task_resolve(task, number[workloads], "cpu", &problem, &applies, &error),
                  &error);
            judged[workloads][turn] = result->speedup.value;
            plain[workloads][turn] = measure_plainly((const char *const *)binaries, &problem,
                                                     result->sets, calls, budget);
            workloads++;
        }
        kf_verdict_free(verdict);
    }
    for (int w = 0; w < workloads && all->count < MAX_FIGURES; w++) {
        double with = kf_median(judged[w], TURNS), without = kf_median(plain[w], TURNS);
        printf("%-13s %-24s %-10s judged %7.3f  plain %7.3f  ratio %.4f\n", kf_task_name(task),
               seed->name, kf_task_workload_name(task, number[w]), with, without, with / without);
        fflush(stdout);
        all->ratios[all->count++] = with / without;
    }
    kf_job_free(job);
    for (int i = 0; i < 2; i++) free(binaries[i]);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {
        "tasks/axpy", "tasks/row_softmax", "tasks/transpose", "tasks/gemv",      "tasks/histogram",
        "tasks/gemm", "tasks/layernorm",   "tasks/reduction", "tasks/bias_gelu", "tasks/jacobi"};
    double budget = argc > 1 ? atof(argv[1]) : 1.5;
    int tasks = argc > 2 ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    kf_error error = {0};
    figures all = {0};
    kf_judge *judge = kf_judge_new(&(kf_judge_settings){.device = "cpu"}, &error);
    check(judge != NULL, &error);
    for (int t = 0; t < tasks; t++) {
        kf_task *task = kf_task_load(argc > 2 ? argv[2 + t] : usual[t], &error);
        check(task != NULL, &error);
        for (int s = 0; s < kf_task_seed_count(task) && s < 2; s++) {
            char *folder = kf_directory_temporary("defences", &error);
            check(folder != NULL, &error);
            compare(judge, task, kf_task_seed(task, s), budget, folder, &all);
            kf_directory_remove(folder, NULL);
            free(folder);
        }
        kf_task_free(task);
    }
    double far[MAX_FIGURES];
    int within = 0;
    for (int i = 0; i < all.count; i++) {
        far[i] = fabs(all.ratios[i] - 1);
        within += far[i] <= 0.01;
    }
    qsort(far, (size_t)all.count, sizeof *far, by_value);
    printf("defences on %s: judged over plain speedup, median %.4f; off by %.2f %% in the median, "
           "%.2f %% at most, %d of %d within "
           "1 %%\n",
           kf_judge_hardware(judge), kf_median(all.ratios, (size_t)all.count),
           100 * kf_median(far, (size_t)all.count), all.count ? 100 * far[all.count - 1] : NAN,
           within, all.count);
    kf_judge_free(judge);
    return all.count == 0;
}
