/* gpu_check MODE [ARGUMENT…]: the checks of tests/gpu/run.sh, which documents the modes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_check.h"
#include "kforge/file.h"
#include "kforge/gpu.h"
#include "selftest.h"
#include "kforge/stats.h"

static kf_task *load(const char *path)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(path, &error);
    if (!task) printf("  %s\n", error.text);
    return task;
}

static void report(void *context, const kf_selftest_case *row)
{
    (void)context;
    printf("  %-4s %-8s %-24s %5.2f s  %s %s%s%s: %.300s\n", row->passed ? "ok" : "BAD",
           row->hostile ? "hostile" : "honest", row->name, row->seconds, row->status, row->finding,
           row->passed ? "" : ", expected ", row->passed ? "" : row->expected,
           row->passed || !row->verdict ? "" : row->verdict->message);
}

int check_corpus(kf_judge *judge, const char *folder, const char *filter)
{
    kf_selftest_summary summary = {0};
    kf_error error = {0};
    if (!kf_selftest_run(judge, folder, KF_SELFTEST_ALL, filter, report, NULL, NULL, &summary,
                         &error)) {
        printf("  %s\n", error.text);
        return 1;
    }
    printf("  hostile: %d of %d caught; honest: %d of %d accepted; %.0f s\n", summary.caught,
           summary.hostile, summary.accepted, summary.honest, summary.seconds);
    return summary.hostile - summary.caught + summary.honest - summary.accepted +
           (summary.hostile + summary.honest == 0);
}

static kf_verdict *evaluate(kf_judge *judge, const char *task_path, const kf_task_file *file,
                            double seconds, double *wall)
{
    kf_error error = {0};
    kf_task *task = load(task_path);
    if (!task) return NULL;
    kf_job *job = kf_job_new("gpu", task, file->text, file->size, NULL, 0, &error);
    if (!job) {
        printf("  %s\n", error.text);
        return NULL;
    }
    if (seconds > 0) job->options.seconds = seconds;
    double started = kf_now();
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    *wall = kf_now() - started;
    if (!verdict) printf("  %s\n", error.text);
    kf_job_free(job);
    return verdict;
}

int check_seeds(kf_judge *judge, const char *task_path, double seconds)
{
    kf_task *task = load(task_path);
    if (!task) return 1;
    int bad = 0;
    for (int seed = -1; seed < kf_task_seed_count(task); seed++) {
        const kf_task_file *file = seed < 0 ? kf_task_baseline(task) : kf_task_seed(task, seed);
        double wall;
        kf_verdict *verdict = evaluate(judge, task_path, file, seconds, &wall);
        if (!verdict || verdict->status != KF_CORRECT) bad++;
        printf("  %-14s %-22s %-8s wall %5.2f s build %4.2f s", kf_task_name(task), file->name,
               verdict ? kf_status_name(verdict->status) : "none", wall,
               verdict ? verdict->build_seconds : NAN);
        if (verdict && verdict->status != KF_CORRECT) printf(" %.400s", verdict->message);
        for (size_t i = 0; verdict && i < verdict->workload_count; i++) {
            const kf_workload_verdict *w = &verdict->workloads[i];
            if (w->timed && verdict->status == KF_CORRECT)
                printf("  %s %.1f/%.1f us x%.3f [%.3f %.3f] %ds %dp floor %.1f", w->workload,
                       w->baseline_seconds * 1e6, w->candidate_seconds * 1e6, w->speedup.value,
                       w->speedup.low, w->speedup.high, w->sets, w->pairs, w->floor_seconds * 1e6);
        }
        printf("\n");
        kf_verdict_free(verdict);
    }
    kf_task_free(task);
    return bad;
}

/* A GPU that hangs would take all the time that there is for a machine with it. */
static void end_in_silence(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
    _exit(3);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    kf_gpu_on_silence(end_in_silence);
    const char *mode = argc > 1 ? argv[1] : "";
    kf_error error = {0};
    if (strcmp(mode, "numbers") == 0) return check_numbers() != 0;
    if (strcmp(mode, "throughput") == 0 && argc >= 7)
        return check_throughput(argv[2], argv[3], atoi(argv[4]), atof(argv[5]), argc - 6,
                                argv + 6) != 0;
    if (strcmp(mode, "figure") == 0 && argc == 7) /* of a script's own */
        return !gpu_figure(argv[2], strtod(argv[3], NULL), argv[4],
                           strcmp(argv[5], "least") == 0 ? GPU_AT_LEAST : GPU_AT_MOST,
                           strtod(argv[6], NULL));
    double started = kf_now();
    /* "cpu" shows on any machine that the programs and scripts work, and nothing else */
    const char *device = getenv("GPU_DEVICE");
    kf_judge *judge =
        kf_judge_new(&(kf_judge_settings){.device = device ? device : "cuda"}, &error);
    if (!judge) {
        printf("%s\n", error.text);
        return 3;
    }
    int failures = 0;
    if (strcmp(mode, "describe") == 0) {
        cJSON *object = kf_judge_describe(judge);
        cJSON_AddStringToObject(object, "conditions", kf_judge_environment_id(judge));
        char *text = cJSON_PrintUnformatted(object);
        printf("  opened in %.2f s: %s\n", kf_now() - started, text);
        free(text);
        cJSON_Delete(object);
    } else if (strcmp(mode, "corpus") == 0 && argc >= 3) {
        failures = check_corpus(judge, argv[2], argc > 3 ? argv[3] : NULL);
    } else if (strcmp(mode, "torch") == 0 && argc >= 3) {
        failures = check_torch(judge, argv[2], argc > 3 ? argv[3] : NULL);
    } else if (strcmp(mode, "problems") == 0 && argc >= 4) {
        failures = check_problems(judge, atof(argv[2]), argv + 3, argc - 3);
    } else if (strcmp(mode, "leak") == 0 && argc == 4) {
        failures = check_leaks(judge, argv[2], atoi(argv[3]));
    } else if (strcmp(mode, "faults") == 0 && argc == 3) {
        failures = check_faults(judge, argv[2]);
    } else if (strcmp(mode, "same") == 0 && argc >= 5) {
        failures = check_same(judge, argc - 4, argv + 4, atoi(argv[2]), atof(argv[3]));
    } else if (strcmp(mode, "phases") == 0 && argc == 5) {
        failures = check_phases(judge, argv[2], atoi(argv[3]), atof(argv[4]));
    } else if (strcmp(mode, "profile") == 0 && argc >= 4) {
        for (int i = 3; i < argc; i++) failures += profile(judge, argv[i], atof(argv[2]));
    } else if (strcmp(mode, "work") == 0 && argc >= 3) {
        for (int i = 2; i < argc; i++) failures += check_work(judge, argv[i]);
    } else if (strcmp(mode, "quiet") == 0 && argc == 2 && !device) {
        failures = check_quiet(judge);
    } else if (strcmp(mode, "agree") == 0 && argc >= 4) {
        failures = check_agree(judge, argc - 3, argv + 3, atof(argv[2]));
    } else if (strcmp(mode, "undisturbed") == 0 && argc >= 4) {
        failures = check_undisturbed(judge, argc - 3, argv + 3, atof(argv[2]));
    } else if (strcmp(mode, "reached") == 0 && (argc == 4 || argc == 5)) {
        failures = check_reached(judge, argv[2], argv[3], argc == 5 ? argv[4] : NULL);
    } else if (strcmp(mode, "sanitize") == 0 && argc == 4) {
        failures = check_sanitize(judge, argv[2], argv[3]);
    } else if (strcmp(mode, "counters") == 0 && argc >= 4) {
        failures = check_counters(judge, argc - 3, argv + 3, atof(argv[2]));
    } else if (strcmp(mode, "seeds") == 0 && argc >= 4) {
        for (int i = 3; i < argc; i++) failures += check_seeds(judge, argv[i], atof(argv[2]));
    } else {
        printf("gpu_check numbers | describe | quiet | corpus FOLDER [FILTER] | torch FOLDER "
               "[FILTER] | problems SECONDS TASK… | same "
               "TIMES SECONDS TASK… | phases TASK TIMES SECONDS | work TASK… | "
               "profile SECONDS TASK… | seeds SECONDS TASK… | agree SECONDS TASK… | undisturbed "
               "SECONDS TASK… | counters SECONDS "
               "TASK… | reached TASK FILE [BASELINE] | "
               "sanitize FOLDER TASK | leak FOLDER COUNT | faults "
               "FOLDER | "
               "throughput KFORGE TASK COUNT SECONDS DEVICE… | figure NAME VALUE UNIT least|most "
               "TARGET\n");
        failures = 2;
    }
    kf_judge_free(judge);
    return failures != 0;
}
