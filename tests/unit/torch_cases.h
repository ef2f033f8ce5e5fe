/* Judges Python solutions. The first line of each file states the expected outcome:
 *
 *   # task: relu; kforge: wrong_result output.mismatch; kernelbench: correct; slower: yes;
 *   build: SECONDS; flag: state.frozen; says: WORDS; dry_run: WORDS; torch: 2.0
 *
 * "torch" is the oldest PyTorch that the file supports. The tests that include this header define
 * `judge`. */
#ifndef KFORGE_TESTS_TORCH_CASES_H
#define KFORGE_TESTS_TORCH_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include <dirent.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"

#define DATA KFORGE_SOURCE_DIR "/tests/torch/"

static kf_judge *judge;
static bool results_unread; /* the judge may not read its runners' memory here */

/* Copies the value after "KEY: " in the first line, up to ';', to `value`, or "" without it. */
static void field(const char *source, const char *key, char *value, size_t size)
{
    char line[512], wanted[64];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(source, "\n"), source);
    snprintf(wanted, sizeof wanted, "%s: ", key);
    const char *at = strstr(line, wanted);
    snprintf(value, size, "%.*s", at ? (int)strcspn(at + strlen(wanted), ";") : 0,
             at ? at + strlen(wanted) : "");
}

static const kf_finding *first_finding(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return verdict->workloads[i].findings;
    return verdict->finding_count ? verdict->findings : NULL;
}

static kf_verdict *judge_source(const char *task_name, const char *source, bool timed,
                                bool kernelbench)
{
    kf_error error = {0};
    char path[512];
    snprintf(path, sizeof path, DATA "tasks/%s", task_name);
    kf_task *task = kf_task_load(path, &error);
    kf_auto(kf_job) job =
        task ? kf_job_new("torch", task, source, strlen(source), NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    job->options.torch = true;
    job->options.check_only = !timed;
    job->options.kernelbench = kernelbench;
    job->options.timeout_seconds = strstr(source, "while True") ? 6 : 60;
    char build[16];
    field(source, "build", build, sizeof build);
    if (build[0]) job->options.build_seconds = atof(build);
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    if (!verdict) fail_msg("%s", error.text);
    return verdict;
}

static bool starts_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* True if the command line of a running process holds `words`. */
__attribute__((unused)) static bool is_running(const char *words)
{
    DIR *processes = opendir("/proc");
    bool found = false;
    for (struct dirent *entry; processes && !found && (entry = readdir(processes));) {
        char path[300], line[4096];
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        size_t size = file ? fread(line, 1, sizeof line - 1, file) : 0;
        if (file) fclose(file);
        for (size_t i = 0; i < size; i++)
            if (!line[i]) line[i] = ' ';
        line[size] = '\0';
        found = strstr(line, words) != NULL;
    }
    if (processes) closedir(processes);
    return found;
}

/* True if the solution is timed. test_torch_timed.c judges these while no other test runs. */
static bool is_timed(const char *source)
{
    char slower[16];
    field(source, "slower", slower, sizeof slower);
    return slower[0];
}

/* False if a timed solution is correct and hardly slower than the baseline: each does more work. */
static bool is_slow_enough(const kf_verdict *verdict, bool timed)
{
    return !timed || verdict->status != KF_CORRECT || verdict->speedup.value < 0.7;
}

/* True if the solution needs a newer PyTorch than the installed one. */
static bool is_too_new(const char *source)
{
    char least[16];
    kf_auto(cJSON) torch = kf_judge_torch(NULL);
    field(source, "torch", least, sizeof least);
    return least[0] &&
           atof(cJSON_GetStringValue(cJSON_GetObjectItem(torch, "torch"))) < atof(least);
}

/* True if the dry run's note holds the expected words, or if the file names no words. A busy
 * machine notices a limit later than it was. */
static bool ran_dry(const char *source, const kf_verdict *verdict)
{
    char words[128];
    field(source, "dry_run", words, sizeof words);
    const cJSON *run = cJSON_GetObjectItem(verdict->build, "dry_run");
    const char *note = cJSON_GetStringValue(cJSON_GetObjectItem(run, "note"));
    static const char killed[] = "killed after ";
    if (note && starts_with(words, killed) && starts_with(note, killed))
        return atof(note + strlen(killed)) >= atof(words + strlen(killed));
    return !words[0] || (note && strstr(note, words));
}

/* 1: it came out otherwise. *judged counts it unless its turn is in the other test. */
static int judge_file(const char *folder, const char *name, bool timed, int *judged)
{
    char path[512], task[64], expected[128], claim[64], words[256], flag[64], got[128];
    snprintf(path, sizeof path, DATA "%s/%s", folder, name);
    size_t size;
    kf_autofree char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, NULL);
    assert_non_null(source);
    if (is_timed(source) != timed) return 0;
    ++*judged;
    if (is_too_new(source)) return 0;
    field(source, "task", task, sizeof task);
    field(source, "kforge", expected, sizeof expected);
    field(source, "kernelbench", claim, sizeof claim);
    field(source, "says", words, sizeof words);
    field(source, "flag", flag, sizeof flag);
    kf_auto(kf_verdict) verdict = judge_source(task, source, timed, claim[0]);
    for (int again = 0; again < 6; again++) { /* others use the machine, too */
        bool disturbed = verdict->blame == KF_BLAME_MACHINE &&
                         !starts_with(expected, kf_status_name(verdict->status));
        if (!disturbed && (again >= 2 || is_slow_enough(verdict, timed))) break;
        kf_verdict_free(verdict);
        verdict = judge_source(task, source, timed, claim[0]);
    }
    if (verdict->blame == KF_BLAME_MACHINE && strstr(verdict->message, "process_vm_readv")) {
        printf("skipped: %s\n", verdict->message);
        results_unread = true;
        return 0;
    }
    const kf_finding *finding = first_finding(verdict);
    snprintf(got, sizeof got, "%s%s%s", kf_status_name(verdict->status), finding ? " " : "",
             finding ? finding->rule : "");
    bool said =
        !words[0] || strstr(verdict->message, words) || (finding && strstr(finding->text, words));
    bool correct = cJSON_IsTrue(cJSON_GetObjectItem(verdict->kernelbench, "correctness"));
    bool flagged = !flag[0] || kf_verdict_has_flag(verdict, flag);
    if (strcmp(flag, KF_FLAG_FROZEN) != 0)
        flagged = flagged && !kf_verdict_has_flag(verdict, KF_FLAG_FROZEN);
    bool claimed = !claim[0] || correct == (strcmp(claim, "correct") == 0);
    bool dry = ran_dry(source, verdict);
    /* "one|another" */
    const char *found = strstr(expected, got);
    bool right = found && (found == expected || found[-1] == '|') &&
                 (!found[strlen(got)] || found[strlen(got)] == '|');
    if (right && said && claimed && flagged && dry && is_slow_enough(verdict, timed)) return 0;
    kf_autofree char *text = cJSON_PrintUnformatted(verdict->kernelbench);
    kf_autofree char *build_text =
        cJSON_PrintUnformatted(cJSON_GetObjectItem(verdict->build, "dry_run"));
    print_error(
        "%s/%s: %s, expected %s: %s; KernelBench: %s, expected %s; speedup %g; dry run: %s\n",
        folder, name, got, expected, finding ? finding->text : "", text ? text : "-", claim,
        verdict->speedup.value, build_text ? build_text : "-");
    return 1;
}

__attribute__((unused)) static void every_file_of(const char *folder, bool timed, int least)
{
    char path[256];
    snprintf(path, sizeof path, DATA "%s", folder);
    DIR *files = opendir(path);
    assert_non_null(files);
    int judged = 0, failures = 0;
    for (struct dirent *file; (file = readdir(files));) {
        const char *end = strrchr(file->d_name, '.');
        if (!end || strcmp(end, ".py") != 0) continue;
        failures += judge_file(folder, file->d_name, timed, &judged);
    }
    closedir(files);
    assert_int_equal(failures, 0);
    assert_true(judged >= least);
}

/* Without user namespaces and CAP_SYS_PTRACE, a container gets a verdict that says so. Nothing else
 * can be tested there. */
__attribute__((unused)) static bool results_can_be_read(void)
{
    size_t size;
    kf_autofree char *source =
        kf_file_read(DATA "honest/not_contiguous.py", KF_SOURCE_BYTES, &size, NULL);
    kf_auto(kf_verdict) verdict = source ? judge_source("relu", source, false, false) : NULL;
    return verdict && !strstr(verdict->message, "process_vm_readv");
}

/* Opens `judge`. Returns 0, or the exit status if that fails (77 without PyTorch). */
static int open_torch_judge(const char *cache)
{
    kf_error error = {0};
    kf_auto(cJSON) torch = kf_judge_torch(&error);
    if (!torch) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    judge = kf_judge_new(&(kf_judge_settings){.device = "cpu", .cache = cache}, &error);
    if (!judge) print_error("%s\n", error.text);
    return judge ? 0 : 1;
}

/* Runs a test program with these files and returns its exit status. */
__attribute__((unused)) static int judge_tests(const char *name, const struct CMUnitTest *tests,
                                               size_t count, const char *cache)
{
    int failed = test_lists_only() ? 0 : open_torch_judge(cache);
    if (failed) return failed;
    if (test_lists_only() || results_can_be_read())
        failed = test_group(name, tests, count, NULL, NULL);
    else
        printf("skipped: the judge may not read its runners' memory here\n"), failed = 77;
    kf_judge_free(judge);
    return failed;
}

#endif
