/* Compares the judge's clock with the GPU's. Two other figures serve for that. The first is the sum
 * of gpu__time_duration, as ncu shows it, over the kernels of one call with an empty L2. The second
 * is the time of the same binary on as many sets in this process, from CUDA events around a long
 * batch. The two differ by some per cent. The first runs each kernel alone and includes its start
 * and end. The second finds address translations and caches of the calls before. The judge may be
 * 3 % above the higher and 1 % below the lower of the two. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_work.h"
#include "judge_count.h"
#include "device_cuda.h"
#include "gpu_check.h"
#include "gpu_plain.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/roofline.h"
#include "kforge/stats.h"

#define COUNTED 3
#define SHORTEST 50e-6 /* from here on they have to agree */
#define ABOVE 0.03
#define BELOW 0.01
#define COUNTERS_SECONDS 1.0 /* that counters may add to a job */
#define MAX_COUNTED 512

/* Returns the seconds of a call as ncu shows them: the sum of gpu__time_duration over all kernels,
 * the median of three calls. Returns NaN if counters are not available. */
static double by_counters(kf_judge *judge, const kf_problem *problem, const char *binary)
{
    double rounds[COUNTED];
    kf_error error = {0};
    for (int i = 0; i < COUNTED; i++) {
        kf_counting counting = {.problem = problem,
                                .binary = binary,
                                .wanted = "gpu__time_duration.sum",
                                .origin = {.candidate = "", .code = "", .workload = ""},
                                .seconds = 20};
        cJSON *taken = judge->device->operations->count(judge->device, &counting, &error), *kernel;
        double sum = 0;
        cJSON_ArrayForEach(kernel, cJSON_GetObjectItem(taken, "kernels")) sum += kf_json_get_number(
            cJSON_GetObjectItem(kernel, "metrics"), "gpu__time_duration.sum", NAN);
        cJSON_Delete(taken);
        rounds[i] = sum > 0 ? sum * 1e-9 : NAN;
        if (isnan(rounds[i])) return NAN;
    }
    return kf_median(rounds, COUNTED);
}

/* Returns the fixed cost of a batch in seconds: the intercept of a line through the medians of a
 * side's batches and single calls. */
static double intercept(const kf_workload_verdict *w, char batch, char single)
{
    double batches[512], singles[512];
    size_t used = 0, one = 0;
    int calls = 0;
    for (size_t i = 0; i < w->sample_count; i++) {
        if (w->samples[i].side == batch && w->samples[i].pair >= 0 && used < 512)
            batches[used++] = w->samples[i].seconds, calls = w->samples[i].calls;
        if (w->samples[i].side == single && one < 512) singles[one++] = w->samples[i].seconds;
    }
    return calls > 1 ? (calls * kf_median(singles, one) - kf_median(batches, used)) / (calls - 1)
                     : NAN;
}

/* Covers all workloads from SHORTEST up: their number, and how far the worst is outside of the
 * range of both clocks. */
static struct {
    int count;
    double above, below;
} held_to;

static int agree(kf_judge *judge, const char *task_path, double seconds)
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
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    kf_build_request request = {.task = task,
                                .source = file->text,
                                .size = file->size,
                                .name = file->name,
                                .seconds = 60,
                                .directory = directory};
    kf_build build = {0};
    int bad = 0;
    if (!verdict || verdict->status != KF_CORRECT ||
        !judge->device->operations->build(judge->device, &request, &build, &error) || !build.ok) {
        printf("  %s: %s\n", task_path, verdict ? verdict->message : error.text);
        bad = 1;
    }
    plain_entry entry = bad ? NULL : plain_load(build.binary);
    kf_problem *problem = calloc(1, sizeof *problem);
    for (int w = 0; entry && w < kf_task_workload_count(task); w++) {
        bool applies;
        if (!kf_task_resolve(task, w, "cuda", problem, &applies, NULL) || !applies ||
            !problem->timed)
            continue;
        const kf_workload_verdict *found = NULL;
        for (size_t i = 0; i < verdict->workload_count; i++)
            if (strcmp(verdict->workloads[i].workload, problem->workload) == 0)
                found = &verdict->workloads[i];
        if (!found) continue;
        double judged = found->candidate_seconds,
               events = plain_seconds(judge, entry, problem, judged);
        double counted = by_counters(judge, problem, build.binary);
        double low = isnan(counted) ? events : fmin(counted, events),
               high = isnan(counted) ? events : fmax(counted, events);
        bool held = judged >= SHORTEST,
             wrong = !(judged >= low * (1 - BELOW)) || !(judged <= high * (1 + ABOVE));
        int calls = 0;
        for (size_t i = 0; i < found->sample_count; i++)
            if (found->samples[i].side == 'c') calls = found->samples[i].calls;
        bad += wrong && held;
        if (held) {
            held_to.count++;
            held_to.above = fmax(held_to.above, judged / high - 1);
            held_to.below = fmax(held_to.below, 1 - judged / low);
        }
        printf("    empty %.0f us, by the line of baseline %.0f, of candidate %.0f; %d pairs\n",
               found->batch_cost_seconds * 1e6, 1e6 * intercept(found, 'b', 'B'),
               1e6 * intercept(found, 'c', 'C'), found->pairs);
        printf("  %-12s %-12s %5d calls a batch, judge %9.2f us  gpu__time_duration %9.2f us "
               "%+6.2f %%  events %9.2f us %+6.2f %%  "
               "%s\n",
               kf_task_name(task), problem->workload, calls, judged * 1e6, counted * 1e6,
               100 * (judged / counted - 1), events * 1e6, 100 * (judged / events - 1),
               !wrong ? "ok"
               : held ? "BAD"
                      : "short: not held to it");
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

int check_agree(kf_judge *judge, int count, char *const *tasks, double seconds)
{
    int bad = 0;
    for (int i = 0; i < count; i++) bad += agree(judge, tasks[i], seconds);
    printf("  %d workloads from %.0f us up\n", held_to.count, SHORTEST * 1e6);
    gpu_figure("the judge's times above both clocks, at worst",
               held_to.count ? 100 * held_to.above : NAN, "%", GPU_AT_MOST, 100 * ABOVE);
    gpu_figure("below both, at worst", held_to.count ? 100 * held_to.below : NAN, "%", GPU_AT_MOST,
               100 * BELOW);
    return bad;
}

static struct {
    size_t count;
    double seconds[MAX_COUNTED];
} counting_took;

/* Prints how the `whole` seconds of counting were spent: the judge's steps, CUPTI's work around the
 * calls, each pass, and the rest. */
static void print_times(const cJSON *counters, double whole)
{
    static const char *const steps[] = {"lock",      "buffers", "runner", "load",
                                        "hand_over", "warm_up", "count"},
                             *const parts[] = {"enable", "start", "stop", "read"};
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(counters, "seconds"),
                *passes = cJSON_GetObjectItemCaseSensitive(seconds, "passes"), *pass;
    double known = 0, inside = 0;
    printf("     ms:");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double took = kf_json_get_number(seconds, steps[i], NAN);
        printf(" %s %.1f,", steps[i], took * 1e3);
        known += isnan(took) ? 0 : took;
    }
    printf(" behind that %.1f; set up ahead %.1f\n     of count:", (whole - known) * 1e3,
           kf_json_get_number(counters, "setup_seconds", NAN) * 1e3);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        printf(" %s %.1f,", parts[i], kf_json_get_number(seconds, parts[i], NAN) * 1e3);
    printf(" %.0f of %.0f passes, room for %.0f launches; each:",
           kf_json_get_number(counters, "passes", 0), kf_json_get_number(counters, "all_passes", 0),
           kf_json_get_number(counters, "ranges", 0));
    cJSON_ArrayForEach(pass, passes)
    {
        printf(" %.1f", pass->valuedouble * 1e3);
        inside += pass->valuedouble;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i += 3)
        inside += kf_json_get_number(seconds, parts[i], 0);
    printf("; the rest of it %.1f\n", (kf_json_get_number(seconds, "count", NAN) - inside) * 1e3);
}

/* Returns the seconds of the first timed workload. Workloads that are only checked come before
 * it. */
static double seconds_of_a_call(const kf_verdict *verdict)
{
    for (size_t i = 0; verdict && i < verdict->workload_count; i++)
        if (verdict->workloads[i].timed) return verdict->workloads[i].candidate_seconds;
    return NAN;
}

/* Every seed with counters: what they say, and what they cost. */
static int count_seeds(kf_judge *judge, const char *task_path, double seconds)
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
        bool taken =
            verdict && cJSON_GetArraySize(cJSON_GetObjectItem(verdict->counters, "kernels")) > 0;
        if (!taken && verdict && verdict->status == KF_CORRECT) bad++;
        double own = taken ? kf_work_part(verdict->counters, KF_WORK_OWN) +
                                 kf_work_part(verdict->counters, KF_WORK_COPIES)
                           : NAN;
        if (taken && !(own > 0.99)) {
            printf("  only %.3f of the device time is in kernels of the source\n", own);
            bad++;
        }
        if (taken && counting_took.count < MAX_COUNTED)
            counting_took.seconds[counting_took.count++] = gpu_counting_seconds;
        kf_autobuffer words = {0};
        if (verdict) kf_counters_words(verdict->counters, &words);
        cJSON *missing = verdict ? cJSON_GetObjectItem(verdict->counters, "missing") : NULL;
        printf("  == %s %s: %s, %.2f s without, %.2f s with counters, of which %.2f s; a call %.3f "
               "ms, %d missing\n",
               kf_task_name(task), file->name,
               verdict ? kf_status_name(verdict->status) : error.text, without, with,
               gpu_counting_seconds, 1e3 * seconds_of_a_call(verdict), cJSON_GetArraySize(missing));
        if (taken) print_times(verdict->counters, gpu_counting_seconds);
        printf("%s", words.data ? words.data : "");
        kf_verdict_free(plain);
        kf_verdict_free(verdict);
        kf_job_free(job);
    }
    return bad;
}

int check_counters(kf_judge *judge, int count, char *const *tasks, double seconds)
{
    int bad = 0;
    for (int i = 0; i < count; i++) bad += count_seeds(judge, tasks[i], seconds);
    const double *took = counting_took.seconds;
    gpu_figure("counters add to a job, median", kf_median(took, counting_took.count), "s",
               GPU_AT_MOST, COUNTERS_SECONDS);
    gpu_figure("at most", counting_took.count ? kf_quantile(took, counting_took.count, 1) : NAN,
               "s", GPU_AT_MOST, COUNTERS_SECONDS);
    return bad;
}
