/* Many jobs: how many candidates a second a worker judges, and what is left of them. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workers.h"
#include "device_cuda.h"
#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/stats.h"

#define MOST 2000
#define MAX_DEVICES 16
#define LEAK_JOBS 500

kf_job *gpu_variant(const char *task_path, int number, double seconds, kf_error *error)
{
    kf_task *task = kf_task_load(task_path, error);
    if (!task) return NULL;
    char id[32], *source = NULL;
    const kf_task_file *file = kf_task_baseline(task);
    snprintf(id, sizeof id, "load-%d", number);
    int size = asprintf(&source, "%.*s\n__global__ void variant_%d(int *p)\n{\n    *p = %d;\n}\n",
                        (int)file->size, file->text, number, number);
    kf_job *job = size < 0 ? NULL : kf_job_new(id, task, source, (size_t)size, NULL, 0, error);
    free(source);
    if (job && seconds > 0) job->options.seconds = seconds;
    if (job) job->options.check_only = seconds < 0;
    return job;
}

/* The verdicts of the workers so far. `first`: seconds until the first verdict. */
typedef struct verdicts {
    double judged[MOST], built[MOST], at[MOST], first;
    int pairs[MOST], correct, done;
} verdicts;

static bool collect(kf_workers *const *pool, int devices, int count, verdicts *v)
{
    kf_error error = {0};
    double started = kf_now();
    kf_workers_result result;
    for (int turn = 0; v->done < count; turn++) {
        int got = kf_workers_wait(pool[turn % devices], devices > 1 ? 0.002 : 1, &result, &error);
        if (got < 0) return printf("  %s\n", error.text), false;
        const char *news = kf_workers_news(pool[turn % devices]);
        if (news) printf("  %s\n", news);
        if (got != 1) continue;
        if (!v->done) v->first = kf_now() - started;
        bool correct = result.outcome == KF_WORKERS_JUDGED && result.verdict->status == KF_CORRECT;
        if (!correct && v->done - v->correct < 5)
            printf("  %s\n", result.verdict ? result.verdict->message : result.error.text);
        v->correct += correct;
        v->at[v->done] = kf_now() - started;
        v->pairs[v->done] = 0;
        for (size_t w = 0; result.verdict && w < result.verdict->workload_count; w++)
            if (result.verdict->workloads[w].timed)
                v->pairs[v->done] += result.verdict->workloads[w].pairs;
        v->judged[v->done] = result.verdict ? result.verdict->judge_seconds : NAN;
        v->built[v->done++] = result.verdict ? result.verdict->build_seconds : NAN;
        kf_workers_result_free(&result);
    }
    return true;
}

static bool submit(kf_workers *const *pool, int devices, const char *task, int first, int count,
                   double seconds)
{
    kf_error error = {0};
    for (int i = 0; i < count; i++) {
        kf_job *job = gpu_variant(task, first + i, seconds, &error);
        bool done = job && kf_workers_submit(pool[i % devices], job, i, &error);
        kf_job_free(job);
        if (!done) return printf("  %s\n", error.text), false;
    }
    return true;
}

/* A line of JSON a verdict, in the order in which they came, into the file that GPU_RAW names. */
static void write_raw(const verdicts *v)
{
    const char *path = getenv("GPU_RAW");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    for (int i = 0; i < v->done; i++)
        if (!isnan(v->judged[i]))
            fprintf(file,
                    "{\"at\": %.3f, \"measuring\": %.3f, \"building\": %.3f, \"pairs\": %d}\n",
                    v->at[i], v->judged[i], v->built[i], v->pairs[i]);
    fclose(file);
}

/* Judges through workers as a search does, with one worker for each device that has judged before.
 * `program` is kforge. *rate is in candidates a second. */
static int drive(const char *program, const char *task, int count, double seconds, int devices,
                 char *const *names, double *rate)
{
    kf_error error = {0};
    kf_workers *pool[MAX_DEVICES] = {0};
    const char *const specs[] = {"local"};
    kf_workers_result result;
    kf_autofree verdicts *v = calloc(2, sizeof *v);
    bool done = v && count <= MOST && devices <= MAX_DEVICES;
    for (int d = 0; done && d < devices; d++) {
        pool[d] = kf_workers_open(
            specs, 1, &(kf_workers_options){.program = program, .device = names[d]}, &error);
        done = pool[d] != NULL;
        while (done && !kf_workers_hardware(pool[d]))
            done = kf_workers_wait(pool[d], 1, &result, &error) >= 0;
        if (!done) printf("  %s\n", error.text);
    }
    done = done && submit(pool, devices, task, MOST, devices, seconds) &&
           collect(pool, devices, devices, &v[1]);
    double started = kf_now();
    done =
        done && submit(pool, devices, task, 0, count, seconds) && collect(pool, devices, count, v);
    double wall = kf_now() - started;
    for (int d = 0; d < devices && d < MAX_DEVICES; d++) kf_workers_close(pool[d]);
    if (!done) return 1;
    *rate = count / wall;
    write_raw(v);
    printf("  throughput %s: %d sources on %d device%s in %.1f s, %.2f a second; first verdict "
           "after %.2f s; %d correct; measuring "
           "%.3f s (median), building %.2f s\n",
           task, count, devices, devices == 1 ? "" : "s", wall, *rate, v->first, v->correct,
           kf_median(v->judged, (size_t)count), kf_median(v->built, (size_t)count));
    return count - v->correct;
}

int check_throughput(const char *program, const char *task_path, int count, double seconds,
                     int devices, char *const *names)
{
    double one = NAN, all = NAN;
    int bad = drive(program, task_path, count, seconds, 1, names, &one);
    gpu_figure("candidates a second on one GPU", one, "", GPU_AT_LEAST, 2);
    if (devices == 1) return bad;
    bad += drive(program, task_path, count, seconds, devices, names, &all);
    gpu_figure("times as many candidates on all GPUs", all / one, "", GPU_AT_LEAST, 0.95 * devices);
    return bad;
}

/* ---- what is left ---------------------------------------------------------------------------- */

typedef struct census {
    int descriptors, children, temporary;
    size_t device_free;
    long resident_pages;
} census;

static int entries(const char *path, const char *prefix)
{
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (folder) closedir(folder);
    return count;
}

static int count_children(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[300];
        long pid;
        snprintf(path, sizeof path, "/proc/self/task/%.200s/children", entry->d_name);
        FILE *file = fopen(path, "re");
        while (file && fscanf(file, "%ld", &pid) == 1) count++;
        if (file) fclose(file);
    }
    if (folder) closedir(folder);
    return count;
}

static census look(kf_judge *judge)
{
    kf_cuda_device *gpu = strcmp(judge->device->operations->kind, "cuda") == 0
                              ? (kf_cuda_device *)judge->device
                              : NULL;
    size_t total = 0;
    long pages = 0;
    kf_runner_pool_settle(judge->pool, true, NULL);
    census c = {.descriptors = entries("/proc/self/fd", ""),
                .children = count_children(),
                .temporary = entries("/tmp", "kforge-")};
    if (gpu) gpu->cuda.memory_info(&c.device_free, &total);
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    c.resident_pages = pages;
    return c;
}

static void say(const char *when, const census *c)
{
    printf("  %-10s %d descriptors, %d children, %d folders in /tmp, %.1f MiB of device memory "
           "free, %.1f MiB resident\n",
           when, c->descriptors, c->children, c->temporary, (double)c->device_free / 0x1p20,
           (double)c->resident_pages / 256);
}

/* Jobs of all kinds, builds ahead: right, wrong, crashing on the host and on the device, leaking.
 */
int check_leaks(kf_judge *judge, const char *folder, int count)
{
    static const char *const files[] = {NULL, "nan",          NULL, "illegal_address",
                                        NULL, "leaks_device", NULL, "crash",
                                        NULL, "bad_launch"};
    enum { FILES = sizeof files / sizeof *files, AHEAD = 8, SETTLED = 40 };
    kf_job *jobs[AHEAD] = {0};
    kf_prepared *prepared[AHEAD] = {0};
    kf_error error = {0};
    census before = {0}, after;
    char task[4200], path[4400];
    int judged = 0, odd = 0;
    snprintf(task, sizeof task, "%s/selftest/scale", folder);
    double started = kf_now();
    for (int i = 0; i < count + AHEAD; i++) {
        int at = i % AHEAD;
        if (prepared[at]) {
            kf_verdict *verdict = kf_judge_measure(judge, prepared[at], true, NULL, &error);
            kf_status status = verdict ? verdict->status : KF_JUDGE_ERROR;
            bool plain =
                strncmp(jobs[at]->id, "load", 4) == 0 || strcmp(jobs[at]->id, "leaks_device") == 0;
            if (status == KF_JUDGE_ERROR || plain != (status == KF_CORRECT)) {
                if (odd++ < 5)
                    printf("  %s: %s\n", jobs[at]->id, verdict ? verdict->message : error.text);
            }
            kf_verdict_free(verdict);
            kf_prepared_free(prepared[at]);
            kf_job_free(jobs[at]);
            prepared[at] = NULL;
            if (++judged == SETTLED) before = look(judge), say("after 40", &before);
        }
        if (i >= count) continue;
        const char *name = files[i % FILES];
        kf_autofree char *source = NULL;
        size_t size = 0;
        if (name) {
            snprintf(path, sizeof path, "%s/hostile/scale/%s.cu", folder, name);
            source = kf_file_read(path, KF_SOURCE_BYTES, &size, &error);
        }
        jobs[at] = name && source
                       ? kf_job_new(name, kf_task_load(task, &error), source, size, NULL, 0, &error)
                       : gpu_variant(task, i, 0, &error);
        if (!jobs[at]) return printf("  %s\n", error.text), 1;
        /* timed jobs take longer and leave no other resources */
        jobs[at]->options.check_only = i % 20 != 0;
        jobs[at]->options.seconds = 0.2;
        if (!(prepared[at] = kf_judge_prepare(judge, jobs[at], -1, &error)))
            return printf("  %s\n", error.text), 1;
    }
    after = look(judge);
    say("at the end", &after);
    int64_t lost = (int64_t)before.device_free - (int64_t)after.device_free;
    bool leaks = after.descriptors > before.descriptors || after.children > before.children ||
                 after.temporary > before.temporary || lost > 8 << 20 ||
                 after.resident_pages - before.resident_pages > 64 * 256;
    printf("  leaks: %s, %d jobs in %.1f s, %d odd verdicts\n", leaks ? "FOUND" : "none", judged,
           kf_now() - started, odd);
    gpu_figure("jobs looked at for leaks", judged, "", GPU_AT_LEAST, LEAK_JOBS);
    gpu_figure("descriptors more than after 40 jobs", after.descriptors - before.descriptors, "",
               GPU_AT_MOST, 0);
    gpu_figure("processes more", after.children - before.children, "", GPU_AT_MOST, 0);
    gpu_figure("folders in /tmp more", after.temporary - before.temporary, "", GPU_AT_MOST, 0);
    gpu_figure("device memory less", (double)lost / 0x1p20, "MiB", GPU_AT_MOST, 8);
    return leaks + odd;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static kf_verdict *judge_file(kf_judge *judge, const char *task, const char *path, double *wall,
                              kf_error *error)
{
    size_t size;
    kf_autofree char *source = path ? kf_file_read(path, KF_SOURCE_BYTES, &size, error) : NULL;
    if (path && !source) return NULL;
    kf_auto(kf_job) job =
        path ? kf_job_new("fault", kf_task_load(task, error), source, size, NULL, 0, error)
             : gpu_variant(task, 1, 0, error);
    if (!job) return NULL;
    job->options.seconds = 0.3;
    job->options.timeout_seconds = 20;
    double started = kf_now();
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, error);
    *wall = kf_now() - started;
    return verdict;
}

static double call_of(const kf_verdict *verdict)
{
    for (size_t i = 0; verdict && i < verdict->workload_count; i++)
        if (verdict->workloads[i].timed) return verdict->workloads[i].candidate_seconds;
    return NAN;
}

/* Each fault gets its verdict in time, and the next job on that GPU is what it was before. */
int check_faults(kf_judge *judge, const char *folder)
{
    static const struct {
        const char *name, *statuses;
    } rows[] = {
        {"illegal_address", "crash launch_failure"},
        {"misaligned", "crash launch_failure"},
        {"device_assert", "crash launch_failure"},
        {"trap", "crash launch_failure"},
        {"infinite_kernel", "timeout"},
        {"crash", "crash"},
        {"exits", "crash"},
        {"aborts", "crash"},
        {"too_much_shared", "launch_failure"},
        {"bad_launch", "launch_failure"},
        {"exhausts_device", "out_of_memory"},
        {"leaks_device", "correct"},
        {"spin_kernel_left", "timeout contract_violation"},
        {"fork_bomb", "correct crash contract_violation timeout"},
        {"host_memory_10g", "out_of_memory crash timeout"},
        {"resets_device", "crash launch_failure wrong_result"},
    };
    char task[4200], path[4400];
    kf_error error = {0};
    double wall = 0, slowest = 0;
    int bad = 0;
    snprintf(task, sizeof task, "%s/selftest/scale", folder);
    kf_verdict *first = judge_file(judge, task, NULL, &wall, &error);
    double normal = call_of(first);
    printf("  before: %s, %.2f us a call, %.2f s\n",
           first ? kf_status_name(first->status) : error.text, normal * 1e6, wall);
    kf_verdict_free(first);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double next_wall = 0;
        snprintf(path, sizeof path, "%s/hostile/scale/%s.cu", folder, rows[i].name);
        kf_verdict *verdict = judge_file(judge, task, path, &wall, &error);
        const char *status = verdict ? kf_status_name(verdict->status) : "none";
        char words[300];
        snprintf(words, sizeof words, "%.200s", verdict ? verdict->message : error.text);
        bool expected = strstr(rows[i].statuses, status);
        kf_verdict_free(verdict);
        kf_verdict *next = judge_file(judge, task, NULL, &next_wall, &error);
        /* Launch-bound calls differ by up to a factor of 2 between two processes on a busy machine.
         */
        bool same = next && next->status == KF_CORRECT && call_of(next) < 3 * normal;
        printf("  %-4s %-18s %-18s %5.2f s; the next: %s, %.2f us, %.2f s  %.160s\n",
               expected && same ? "ok" : "BAD", rows[i].name, status, wall,
               next ? kf_status_name(next->status) : "none", call_of(next) * 1e6, next_wall, words);
        kf_verdict_free(next);
        bad += !expected || !same;
        slowest = fmax(slowest, wall);
    }
    printf("  faults: %zu of %zu as expected, the slowest verdict after %.1f s\n",
           sizeof rows / sizeof *rows - (size_t)bad, sizeof rows / sizeof *rows, slowest);
    gpu_figure("faults with their verdict, and a normal job behind each",
               100.0 - 100.0 * bad / (double)(sizeof rows / sizeof *rows), "%", GPU_AT_LEAST, 100);
    return bad;
}
