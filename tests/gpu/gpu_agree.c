/* Does the judge's clock agree with the GPU's? The same binary, called on as many sets in this process, between two CUDA events around a long batch; and
 * the sum of gpu__time_duration over its kernels, which is what ncu shows, from the counters of the verdict. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_cuda.h"
#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/roofline.h"
#include "kforge/stats.h"

#define BATCH_SECONDS 0.05
#define ROUNDS 7
#define MOST_SETS 48
#define SHORTEST 50e-6 /* from here on they have to agree */
#define ABOVE 0.03
#define BELOW 0.01

typedef void (*entry_function)(void *const *buffers, const uint64_t *scalars, cu_stream stream);

static double batch(kf_cuda_device *gpu, kf_sets *sets, entry_function entry, const uint64_t *scalars, const kf_problem *problem,
                    uint32_t calls)
{
    cu_event events[2];
    float milliseconds = 0;
    uint32_t set = 0;
    for (int i = 0; i < 2; i++) gpu->cuda.event_create(&events[i], CU_EVENT_DEFAULT);
    gpu->cuda.event_record(events[0], gpu->stream);
    for (uint32_t i = 0; i < calls; i++) {
        void *pointers[KF_MAX_ARGUMENTS] = {0};
        for (int a = 0; a < problem->argument_count; a++)
            if (problem->arguments[a].kind != KF_SCALAR)
                pointers[a] =
                    (void *)(uintptr_t)kf_cuda_address(sets, &sets->buffers[set * (uint32_t)problem->argument_count + (uint32_t)a]);
        entry(pointers, scalars, gpu->stream);
        set = (set + 1) % sets->count;
    }
    gpu->cuda.event_record(events[1], gpu->stream);
    gpu->cuda.stream_synchronize(gpu->stream);
    gpu->cuda.event_elapsed(&milliseconds, events[0], events[1]);
    for (int i = 0; i < 2; i++) gpu->cuda.event_destroy(events[i]);
    return milliseconds * 1e-3 / calls;
}

/* Seconds of a call by events; NaN, having said why. */
static double by_events(kf_judge *judge, entry_function entry, const kf_problem *problem, double call)
{
    kf_device *device = judge->device;
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    kf_error error = {0};
    uint64_t scalars[KF_MAX_ARGUMENTS];
    double rounds[ROUNDS], room = (double)device->set_bytes / (double)(problem->total_bytes + 1);
    uint32_t count =
        (uint32_t)fmax(fmin(fmin(room, MOST_SETS), fmax(3, 4.0 * (double)gpu->l2_bytes / (double)problem->total_bytes)), 3);
    kf_set_variation variations[MOST_SETS];
    for (int i = 0; i < MOST_SETS; i++) variations[i].argument = -1;
    kf_problem_scalars(problem, scalars);
    kf_sets *sets = device->operations->sets_new(device, problem, count, false, &error);
    if (!sets || !device->operations->fill(sets, 1, variations, &error) || !device->operations->poison(sets, 2, &error) ||
        !kf_cuda_wait(gpu, "filling", &error)) {
        printf("  %s\n", error.text);
        if (sets) device->operations->sets_free(sets);
        return NAN;
    }
    uint32_t calls = (uint32_t)fmax(ceil(BATCH_SECONDS / call), 2);
    batch(gpu, sets, entry, scalars, problem, calls < 4096 ? 4096 / calls * calls > 4 * calls ? 4 * calls : calls : calls);
    for (int i = 0; i < ROUNDS; i++) rounds[i] = batch(gpu, sets, entry, scalars, problem, calls);
    device->operations->sets_free(sets);
    return kf_median(rounds, ROUNDS);
}

/* The sum over all kernels of the time that the counters tell. */
static double by_counters(const kf_verdict *verdict, const char *workload)
{
    const cJSON *named = cJSON_GetObjectItem(verdict->counters, "workload"), *kernel;
    double sum = 0;
    if (!cJSON_IsString(named) || strcmp(named->valuestring, workload) != 0) return NAN;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItem(verdict->counters, "kernels")) sum +=
        kf_json_get_number(cJSON_GetObjectItem(kernel, "metrics"), "gpu__time_duration.sum", NAN);
    return sum * 1e-9;
}

int check_agree(kf_judge *judge, const char *task_path, double seconds)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(task_path, &error);
    const kf_task_file *file = task ? kf_task_baseline(task) : NULL;
    kf_job *job = task ? kf_job_new("agree", task, file->text, file->size, NULL, 0, &error) : NULL;
    char *directory = kf_directory_temporary("kforge-agree", &error);
    if (!job || !directory) {
        printf("  %s\n", error.text);
        return 1;
    }
    job->options.seconds = seconds;
    job->options.counters = strdup("gpu__time_duration.sum");
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    kf_build_request request = {
        .task = task, .source = file->text, .size = file->size, .name = file->name, .seconds = 60, .directory = directory};
    kf_build build = {0};
    int bad = 0;
    if (!verdict || verdict->status != KF_CORRECT || !judge->device->operations->build(judge->device, &request, &build, &error) ||
        !build.ok) {
        printf("  %s: %s\n", task_path, verdict ? verdict->message : error.text);
        bad = 1;
    }
    void *library = bad ? NULL : dlopen(build.binary, RTLD_NOW | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "kforge_entry") : NULL;
    entry_function entry = NULL;
    memcpy(&entry, &symbol, sizeof entry);
    kf_problem *problem = calloc(1, sizeof *problem);
    for (int w = 0; entry && w < kf_task_workload_count(task); w++) {
        bool applies;
        if (!kf_task_resolve(task, w, "cuda", problem, &applies, NULL) || !applies || !problem->timed) continue;
        const kf_workload_verdict *found = NULL;
        for (size_t i = 0; i < verdict->workload_count; i++)
            if (strcmp(verdict->workloads[i].workload, problem->workload) == 0) found = &verdict->workloads[i];
        if (!found) continue;
        double judged = found->candidate_seconds, events = by_events(judge, entry, problem, judged), off = judged / events - 1;
        bool wrong = !isfinite(off) || off < -BELOW || (judged >= SHORTEST && off > ABOVE);
        bad += wrong;
        printf("  %-12s %-14s judge %10.2f us  events %10.2f us  %+6.2f %%  kernels (gpu__time_duration) %10.2f us  %s\n",
               kf_task_name(task), problem->workload, judged * 1e6, events * 1e6, 100 * off,
               by_counters(verdict, problem->workload) * 1e6,
               wrong                                    ? "BAD"
               : judged < SHORTEST && fabs(off) > ABOVE ? "short: not held to it"
                                                        : "ok");
    }
    if (!entry) bad++;
    free(problem);
    kf_build_free(&build);
    kf_directory_remove(directory, NULL);
    free(directory);
    kf_verdict_free(verdict);
    kf_job_free(job);
    return bad;
}

/* Every seed with counters: what they say, and what they cost. */
int check_counters(kf_judge *judge, const char *task_path, double seconds)
{
    kf_error error = {0};
    kf_task *probe = kf_task_load(task_path, &error);
    if (!probe) {
        printf("  %s\n", error.text);
        return 1;
    }
    int bad = 0, seeds = kf_task_seed_count(probe);
    kf_task_free(probe);
    for (int seed = -1; seed < seeds; seed++) {
        kf_task *task = kf_task_load(task_path, &error);
        const kf_task_file *file = seed < 0 ? kf_task_baseline(task) : kf_task_seed(task, seed);
        kf_job *job = kf_job_new("counters", task, file->text, file->size, NULL, 0, &error);
        job->options.seconds = seconds;
        double started = kf_now();
        kf_verdict *plain = kf_judge_run(judge, job, NULL, &error);
        double without = kf_now() - started;
        job->options.counters = strdup("all");
        started = kf_now();
        kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
        double with = kf_now() - started;
        bool taken = verdict && cJSON_GetArraySize(cJSON_GetObjectItem(verdict->counters, "kernels")) > 0;
        if (!taken && verdict && verdict->status == KF_CORRECT) bad++;
        kf_autobuffer words = {0};
        if (verdict) kf_counters_words(verdict->counters, &words);
        cJSON *missing = verdict ? cJSON_GetObjectItem(verdict->counters, "missing") : NULL;
        printf("  == %s %s: %s, %.2f s without, %.2f s with counters (%.0f passes, set up %.2f s, counted %.2f s), %d missing\n%s",
               kf_task_name(task), file->name, verdict ? kf_status_name(verdict->status) : error.text, without, with,
               verdict ? kf_json_get_number(verdict->counters, "passes", 0) : 0,
               verdict ? kf_json_get_number(verdict->counters, "setup_seconds", NAN) : NAN,
               verdict ? kf_json_get_number(verdict->counters, "count_seconds", NAN) : NAN, cJSON_GetArraySize(missing),
               words.data ? words.data : "");
        kf_verdict_free(plain);
        kf_verdict_free(verdict);
        kf_job_free(job);
    }
    return bad;
}
