/* Candidates of tests/gpu/sanitize. Each is correct but has a fault that compute-sanitizer has to
 * find at the line marked "here". The task's own baseline has no fault to find. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_check.h"
#include "kforge/file.h"
#include "kforge/json.h"

static int marked_line(const char *source)
{
    int line = 1;
    const char *mark = strstr(source, "/* here */");
    for (const char *c = source; mark && c < mark; c++) line += *c == '\n';
    return mark ? line : 0;
}

static int judge_one(kf_judge *judge, const char *task_path, const char *name, const char *source,
                     size_t size, const char *status, const char *rule)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(task_path, &error);
    kf_job *job = task ? kf_job_new("sanitize", task, source, size, NULL, 0, &error) : NULL;
    if (!job) {
        printf("  %s\n", error.text);
        return 1;
    }
    job->options.check_only = job->options.sanitize = true;
    double started = kf_now();
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    double wall = kf_now() - started;
    char place[64];
    snprintf(place, sizeof place, "candidate.cu:%d", marked_line(source));
    bool good = verdict && strcmp(kf_status_name(verdict->status), status) == 0,
         found = !*rule && verdict && verdict->finding_count == 0;
    for (size_t i = 0; verdict && i < verdict->finding_count; i++)
        found = found || (strcmp(verdict->findings[i].rule, rule) == 0 &&
                          strstr(verdict->findings[i].text, place));
    const cJSON *said = verdict ? cJSON_GetObjectItem(verdict->provenance, "sanitizer") : NULL;
    char *text = cJSON_PrintUnformatted(said);
    printf("  %-4s %-20s %s, %.2f s: %s\n", good && found ? "ok" : "BAD", name,
           verdict ? kf_status_name(verdict->status) : error.text, wall, text ? text : "");
    for (size_t i = 0; verdict && i < verdict->finding_count; i++)
        printf("       %s %s\n", verdict->findings[i].rule, verdict->findings[i].text);
    free(text);
    kf_verdict_free(verdict);
    kf_job_free(job);
    return !(good && found);
}

int check_sanitize(kf_judge *judge, const char *folder, const char *task_path)
{
    kf_error error = {0};
    int bad = 0, count = 0;
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        size_t size, length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".cu") != 0) continue;
        kf_autofree char *path = kf_path_join(folder, entry->d_name);
        kf_autofree char *source = kf_file_read(path, 1 << 20, &size, &error);
        char status[32] = "", rule[64] = "";
        if (!source || sscanf(source, "/* expect: %31s %63s", status, rule) != 2) {
            printf("  %s says not what to expect\n", path);
            bad++;
            continue;
        }
        count++;
        bad += judge_one(judge, task_path, entry->d_name, source, size, status, rule);
    }
    if (directory) closedir(directory);
    kf_task *task = kf_task_load(task_path, &error);
    if (!task || !count) return bad + 1;
    bad += judge_one(judge, task_path, "baseline.cu", kf_task_baseline(task)->text,
                     kf_task_baseline(task)->size, "correct", "");
    kf_task_free(task);
    return bad;
}
