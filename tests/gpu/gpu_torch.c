/* Python solutions and problems for PyTorch on a GPU. The solutions are the files of tests/torch.
 * The first line of each states the expected outcome (tests/unit/torch_cases.h). There,
 * "cuda: STATUS RULE" is an outcome that differs from the CPU device's. The character | separates
 * several. The files of tests/torch/gpu need a GPU. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_check.h"
#include "kforge/file.h"

#define FIELD 160

static void field(const char *source, const char *key, char value[FIELD])
{
    char line[512], wanted[64];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(source, "\n"), source);
    snprintf(wanted, sizeof wanted, " %s: ", key);
    const char *at = strstr(line, wanted);
    snprintf(value, FIELD, "%.*s", at ? (int)strcspn(at + strlen(wanted), ";") : 0,
             at ? at + strlen(wanted) : "");
}

static const kf_finding *first_finding(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return verdict->workloads[i].findings;
    return verdict->finding_count ? verdict->findings : NULL;
}

static int judge_file(kf_judge *judge, const char *folder, const char *group, const char *name)
{
    char path[4600], task_name[FIELD], expected[FIELD], slower[FIELD], build[FIELD], claim[FIELD],
        flag[FIELD], got[FIELD];
    kf_error error = {0};
    size_t size;
    snprintf(path, sizeof path, "%s/torch/%s/%s", folder, group, name);
    kf_autofree char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, &error);
    if (!source) return printf("  %s\n", error.text), 1;
    field(source, "task", task_name);
    field(source, "cuda", expected);
    if (!expected[0]) field(source, "kforge", expected);
    field(source, "slower", slower);
    field(source, "build", build);
    field(source, "kernelbench", claim);
    field(source, "flag", flag);
    snprintf(path, sizeof path, "%s/torch/tasks/%s", folder, task_name);
    kf_task *task = kf_task_load(path, &error);
    kf_auto(kf_job) job = task ? kf_job_new(name, task, source, size, NULL, 0, &error) : NULL;
    if (!job) return printf("  %s/%s: %s\n", group, name, error.text), 1;
    job->options.torch = true;
    job->options.check_only = !slower[0];
    job->options.kernelbench = claim[0];
    job->options.timeout_seconds = strstr(source, "while True") ? 8 : 60;
    if (build[0]) job->options.build_seconds = atof(build);
    double started = kf_now();
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, NULL, &error);
    if (!verdict) return printf("  %s/%s: %s\n", group, name, error.text), 1;
    const kf_finding *finding = first_finding(verdict);
    snprintf(got, sizeof got, "%s%s%s", kf_status_name(verdict->status), finding ? " " : "",
             finding ? finding->rule : "");
    const char *found = strstr(expected, got); /* "this rule|or that" */
    bool good = found && (found == expected || found[-1] == '|') &&
                strchr("|", found[strlen(got)]) &&
                (!slower[0] || verdict->status != KF_CORRECT || verdict->speedup.value < 0.7);
    bool said = cJSON_IsTrue(cJSON_GetObjectItem(verdict->kernelbench, "correctness"));
    if (claim[0] && said != (strcmp(claim, "correct") == 0)) {
        printf("    KernelBench would say %scorrect; expected %s\n", said ? "" : "in", claim);
        good = false;
    }
    if (flag[0] && !kf_verdict_has_flag(verdict, flag)) {
        printf("    not flagged %s\n", flag);
        good = false;
    }
    printf("  %s %s/%s: %s, %.1f s%s%s%s\n", good ? "ok" : "WRONG", group, name, got,
           kf_now() - started, good ? "" : ", expected ", good ? "" : expected,
           slower[0] ? " (timed)" : "");
    if (!good)
        printf("    %s; speedup %g\n", finding ? finding->text : verdict->message,
               verdict->speedup.value);
    fflush(stdout);
    return !good;
}

/* One of the words of `filter`, with spaces between, in the name? Compiling extensions takes
 * minutes: "honest/ bad/ hostile/ gpu/" leaves them out. */
static bool is_wanted(const char *name, const char *filter)
{
    kf_autofree char *words = strdup(filter);
    bool any = false, found = false;
    for (char *rest = words, *word; rest && (word = strsep(&rest, " "));) {
        any = any || *word;
        found = found || (*word && strstr(name, word));
    }
    return found || !any;
}

int check_torch(kf_judge *judge, const char *folder, const char *filter)
{
    static const char *const groups[] = {"honest", "bad",     "hostile",
                                         "gpu",    "dry_run", "extensions"};
    int failures = 0, judged = 0;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        char path[4200];
        struct dirent **files = NULL;
        snprintf(path, sizeof path, "%s/torch/%s", folder, groups[i]);
        int count = scandir(path, &files, NULL, alphasort);
        for (int k = 0; k < count; k++) {
            const char *end = strrchr(files[k]->d_name, '.');
            char whole[600];
            snprintf(whole, sizeof whole, "%s/%s", groups[i], files[k]->d_name);
            if (end && strcmp(end, ".py") == 0 && (!filter || is_wanted(whole, filter))) {
                failures += judge_file(judge, folder, groups[i], files[k]->d_name);
                judged++;
            }
            free(files[k]);
        }
        free(files);
    }
    printf("  %d of %d solutions in Python came out as they have to\n", judged - failures, judged);
    gpu_figure("solutions in Python that came out as they have to",
               judged ? 100.0 * (judged - failures) / judged : NAN, "%", GPU_AT_LEAST, 100);
    return failures + !judged;
}

/* ---- problems -------------------------------------------------------------------------------- */

/* Returns the candidate in the task's folder: candidate.cu, else candidate.py, else the reference
 * itself. */
static char *candidate_of(const char *path, const kf_task *task, size_t *size, bool *python)
{
    static const char *const names[] = {"candidate.cu", "candidate.py"};
    char *text = NULL;
    for (int i = 0; i < 2; i++) {
        kf_autofree char *file = kf_path_join(path, names[i]);
        *python = i == 1;
        if (file && (text = kf_file_read(file, KF_SOURCE_BYTES, size, NULL))) return text;
    }
    int length = asprintf(&text, "%s\n\nModelNew = Model\n", kf_task_baseline(task)->text);
    *size = length < 0 ? 0 : (size_t)length;
    return length < 0 ? NULL : text;
}

static int judge_problem(kf_judge *judge, const char *path, double seconds, bool more)
{
    kf_error error = {0};
    size_t size;
    bool python;
    double started = kf_now();
    kf_task *task = kf_task_load(path, &error);
    kf_autofree char *source = task ? candidate_of(path, task, &size, &python) : NULL;
    kf_auto(kf_job) job =
        source ? kf_job_new("problem", task, source, size, NULL, 0, &error) : NULL;
    if (!job) return printf("  %s: %s\n", path, error.text), 1;
    job->options.torch = python;
    job->options.kernelbench = false;
    job->options.check_only = seconds <= 0;
    if (seconds > 0) job->options.seconds = seconds;
    kf_auto(kf_prepared) prepared = kf_judge_prepare(judge, job, -1, &error);
    kf_auto(kf_verdict) verdict =
        prepared ? kf_judge_measure(judge, prepared, more, NULL, &error) : NULL;
    if (!verdict) return printf("  %s: %s\n", path, error.text), 1;
    const kf_workload_verdict *w = verdict->workload_count ? &verdict->workloads[0] : NULL;
    const kf_finding *finding = first_finding(verdict);
    printf("  %s %s %s %s x%.4f [%.4f %.4f] baseline %.3f us candidate %.3f us sets %d pairs %d "
           "wall %.2f s %s\n",
           verdict->status == KF_CORRECT ? "ok" : "NOT", kf_task_name(task), python ? "py" : "cu",
           kf_status_name(verdict->status), verdict->speedup.value, verdict->speedup.low,
           verdict->speedup.high, w ? w->baseline_seconds * 1e6 : 0,
           w ? w->candidate_seconds * 1e6 : 0, w ? w->sets : 0, w ? w->pairs : 0,
           kf_now() - started, finding ? finding->rule : "");
    if (verdict->status != KF_CORRECT)
        printf("    %s\n", finding ? finding->text : verdict->message);
    fflush(stdout);
    return verdict->status != KF_CORRECT;
}

int check_problems(kf_judge *judge, double seconds, char *const *tasks, int count)
{
    int failures = 0;
    for (int i = 0; i < count; i++)
        failures += judge_problem(judge, tasks[i], seconds, i + 1 < count);
    printf("  %d of %d correct\n", count - failures, count);
    return failures;
}
