/* gpu_check MODE [ARGUMENT…]: what tests/gpu/run.sh runs; see there. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_check.h"
#include "kforge/file.h"
#include "kforge/stats.h"

static kf_task *load(const char *path)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(path, &error);
    if (!task) printf("  %s\n", error.text);
    return task;
}

static const kf_finding *first_finding(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return &verdict->workloads[i].findings[0];
    return verdict->finding_count ? &verdict->findings[0] : NULL;
}

/* Does "STATUS RULE | STATUS RULE" allow this? */
static bool allows(const char *expected, const char *status, const char *rule)
{
    char copy[256], *save = NULL;
    snprintf(copy, sizeof copy, "%s", expected);
    for (char *part = strtok_r(copy, "|\n", &save); part; part = strtok_r(NULL, "|\n", &save)) {
        char want_status[64] = "", want_rule[64] = "";
        if (sscanf(part, "%63s %63s", want_status, want_rule) < 1) continue;
        if (strcmp(status, want_status) == 0 && strcmp(rule, want_rule) == 0) return true;
    }
    return false;
}

int check_folder(kf_judge *judge, const char *task_path, const char *folder)
{
    kf_task *task = load(task_path);
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort), wrong = 0, seen = 0;
    for (int i = 0; i < count && task; i++) {
        const char *name = entries[i]->d_name;
        char path[4096], expected[256] = "";
        kf_error error = {0};
        size_t size, length = strlen(name);
        if (length < 4 || strcmp(name + length - 3, ".cu") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, &error);
        const char *line = source ? strstr(source, "// expect-cuda: ") : NULL;
        if (line)
            sscanf(line, "// expect-cuda: %255[^\n]", expected);
        else if (source && (line = strstr(source, "// expect: ")))
            sscanf(line, "// expect: %255[^\n]", expected);
        kf_job *job = source ? kf_job_new("gpu", task, source, size, NULL, 0, &error) : NULL;
        if (!job) {
            printf("  %s: %s\n", name, error.text);
            wrong++;
            continue;
        }
        task = load(task_path); /* the job owns its own */
        job->options.check_only = strstr(source, "// timed") == NULL;
        job->options.timeout_seconds = 20;
        double started = kf_now();
        kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
        const kf_finding *finding = verdict ? first_finding(verdict) : NULL;
        const char *rule = finding ? finding->rule : "", *status = verdict ? kf_status_name(verdict->status) : "none";
        seen++;
        bool right = verdict && allows(expected, status, rule);
        if (!right) wrong++;
        printf("  %-4s %-28s %5.2f s  %s %s%s%s: %.300s\n", right ? "ok" : "BAD", name, kf_now() - started, status, rule,
               right ? "" : ", expected ", right ? "" : expected,
               right     ? ""
               : verdict ? verdict->message
                         : error.text);
        kf_verdict_free(verdict);
        kf_job_free(job);
        free(source);
    }
    printf("  %d of %d as expected\n", seen - wrong, seen);
    return wrong + (seen == 0);
}

static kf_verdict *evaluate(kf_judge *judge, const char *task_path, const kf_task_file *file, double seconds, double *wall)
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

static const kf_workload_verdict *main_workload(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].timed) return &verdict->workloads[i];
    return NULL;
}

int check_same(kf_judge *judge, const char *task_path, int times, double seconds)
{
    kf_task *task = load(task_path);
    if (!task) return 1;
    int covered = 0, seen = 0, bad = 0;
    double deviations[256], call = NAN, widths[256], walls[256];
    for (int i = 0; i < times && i < 256; i++) {
        kf_verdict *verdict = evaluate(judge, task_path, kf_task_baseline(task), seconds, &walls[i]);
        const kf_workload_verdict *w = verdict && verdict->status == KF_CORRECT ? main_workload(verdict) : NULL;
        if (!w) {
            printf("  %s: %s\n", kf_task_name(task), verdict ? verdict->message : "no verdict");
            bad++;
        } else {
            covered += w->speedup.low <= 1 && w->speedup.high >= 1;
            widths[seen] = w->speedup.high - w->speedup.low;
            deviations[seen++] = fabs(w->speedup.value - 1);
            call = w->baseline_seconds;
            if (i == 0)
                printf("  %-12s %s: sets %d pairs %d cost %.3f ms floor %.1f us latency %.1f us alone..\n", kf_task_name(task),
                       w->workload, w->sets, w->pairs, w->batch_cost_seconds * 1e3, w->floor_seconds * 1e6,
                       w->latency_baseline_seconds * 1e6);
        }
        kf_verdict_free(verdict);
    }
    printf(
        "  %-12s %9.2f us a call: 1 inside %d of %d, deviation median %.2f %%, interval width median %.2f %%, wall median %.2f s\n",
        kf_task_name(task), call * 1e6, covered, seen, 100 * kf_median(deviations, (size_t)seen),
        100 * kf_median(widths, (size_t)seen), kf_median(walls, (size_t)(times < 256 ? times : 256)));
    kf_task_free(task);
    return bad;
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
               verdict ? kf_status_name(verdict->status) : "none", wall, verdict ? verdict->build_seconds : NAN);
        if (verdict && verdict->status != KF_CORRECT) printf(" %.400s", verdict->message);
        for (size_t i = 0; verdict && i < verdict->workload_count; i++) {
            const kf_workload_verdict *w = &verdict->workloads[i];
            if (w->timed && verdict->status == KF_CORRECT)
                printf("  %s %.1f/%.1f us x%.3f [%.3f %.3f] %ds %dp floor %.1f", w->workload, w->baseline_seconds * 1e6,
                       w->candidate_seconds * 1e6, w->speedup.value, w->speedup.low, w->speedup.high, w->sets, w->pairs,
                       w->floor_seconds * 1e6);
        }
        printf("\n");
        kf_verdict_free(verdict);
    }
    kf_task_free(task);
    return bad;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *mode = argc > 1 ? argv[1] : "";
    kf_error error = {0};
    if (strcmp(mode, "numbers") == 0) return check_numbers() != 0;
    double started = kf_now();
    kf_judge *judge = kf_judge_new(&(kf_judge_settings){.device = "cuda"}, &error);
    if (!judge) {
        printf("%s\n", error.text);
        return 3;
    }
    int failures = 0;
    if (strcmp(mode, "describe") == 0) {
        cJSON *object = kf_judge_describe(judge);
        char *text = cJSON_PrintUnformatted(object);
        printf("  opened in %.2f s: %s\n", kf_now() - started, text);
        free(text);
        cJSON_Delete(object);
    } else if (strcmp(mode, "folder") == 0 && argc == 4) {
        failures = check_folder(judge, argv[2], argv[3]);
    } else if (strcmp(mode, "same") == 0 && argc == 5) {
        failures = check_same(judge, argv[2], atoi(argv[3]), atof(argv[4]));
    } else if (strcmp(mode, "profile") == 0 && argc >= 4) {
        for (int i = 3; i < argc; i++) failures += profile(judge, argv[i], atof(argv[2]));
    } else if (strcmp(mode, "seeds") == 0 && argc >= 4) {
        for (int i = 3; i < argc; i++) failures += check_seeds(judge, argv[i], atof(argv[2]));
    } else {
        printf("gpu_check numbers | describe | folder TASK FOLDER | same TASK TIMES SECONDS | profile SECONDS TASK… | seeds "
               "SECONDS TASK…\n");
        failures = 2;
    }
    kf_judge_free(judge);
    return failures != 0;
}
