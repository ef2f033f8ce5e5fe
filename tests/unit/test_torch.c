/* Solutions in Python, each a file under tests/torch/{hostile,bad,honest} whose first line says what has to come of it:
 *   # task: relu; kforge: wrong_result output.mismatch; kernelbench: correct; says: WORDS
 * Every one goes through the ordinary judge, on the CPU device. Skipped, saying so, where there is no PyTorch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"

#define DATA KFORGE_SOURCE_DIR "/tests/torch/"

static kf_judge *judge;

/* The value behind "KEY: " in the first line, up to ';'; "" when it is not there. */
static void field(const char *source, const char *key, char *value, size_t size)
{
    char line[512], wanted[64];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(source, "\n"), source);
    snprintf(wanted, sizeof wanted, "%s: ", key);
    const char *at = strstr(line, wanted);
    snprintf(value, size, "%.*s", at ? (int)strcspn(at + strlen(wanted), ";") : 0, at ? at + strlen(wanted) : "");
}

static const kf_finding *first_finding(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return verdict->workloads[i].findings;
    return verdict->finding_count ? verdict->findings : NULL;
}

static kf_verdict *judge_source(const char *task_name, const char *source, bool timed, bool kernelbench)
{
    kf_error error = {0};
    char path[512];
    snprintf(path, sizeof path, DATA "tasks/%s", task_name);
    kf_task *task = kf_task_load(path, &error);
    kf_auto(kf_job) job = task ? kf_job_new("torch", task, source, strlen(source), NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    job->options.torch = true;
    job->options.check_only = !timed;
    job->options.kernelbench = kernelbench;
    job->options.timeout_seconds = strstr(source, "while True") ? 6 : 60;
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    if (!verdict) fail_msg("%s", error.text);
    return verdict;
}

/* 1: it came out otherwise. */
static int judge_file(const char *folder, const char *name)
{
    char path[512], task[64], expected[128], claim[64], words[256], slower[16], got[128];
    snprintf(path, sizeof path, DATA "%s/%s", folder, name);
    size_t size;
    kf_autofree char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, NULL);
    assert_non_null(source);
    field(source, "task", task, sizeof task);
    field(source, "kforge", expected, sizeof expected);
    field(source, "kernelbench", claim, sizeof claim);
    field(source, "says", words, sizeof words);
    field(source, "slower", slower, sizeof slower);
    kf_auto(kf_verdict) verdict = judge_source(task, source, slower[0], claim[0]);
    for (int again = 0; again < 2 && verdict->blame == KF_BLAME_MACHINE; again++) { /* others use it, too */
        kf_verdict_free(verdict);
        verdict = judge_source(task, source, slower[0], claim[0]);
    }
    const kf_finding *finding = first_finding(verdict);
    snprintf(got, sizeof got, "%s%s%s", kf_status_name(verdict->status), finding ? " " : "", finding ? finding->rule : "");
    bool said = !words[0] || strstr(verdict->message, words) || (finding && strstr(finding->text, words));
    bool correct = cJSON_IsTrue(cJSON_GetObjectItem(verdict->kernelbench, "correctness"));
    bool claimed = !claim[0] || correct == (strcmp(claim, "correct") == 0);
    bool slow = !slower[0] || verdict->speedup.value < 0.7;
    if (strcmp(got, expected) == 0 && said && claimed && slow) return 0;
    kf_autofree char *text = cJSON_PrintUnformatted(verdict->kernelbench);
    print_error("%s/%s: %s, expected %s: %s; KernelBench: %s, expected %s; speedup %g\n", folder, name, got, expected,
                finding ? finding->text : "", text ? text : "-", claim, verdict->speedup.value);
    return 1;
}

static void every_file_of(const char *folder, int least)
{
    char path[256];
    snprintf(path, sizeof path, DATA "%s", folder);
    DIR *files = opendir(path);
    assert_non_null(files);
    int judged = 0, failures = 0;
    for (struct dirent *file; (file = readdir(files));) {
        const char *end = strrchr(file->d_name, '.');
        if (!end || strcmp(end, ".py") != 0) continue;
        failures += judge_file(folder, file->d_name);
        judged++;
    }
    closedir(files);
    assert_int_equal(failures, 0);
    assert_true(judged >= least);
}

static void cheats_are_caught_or_harmless(void **state)
{
    (void)state;
    every_file_of("hostile", 12);
}

static void bad_files_get_a_named_status(void **state)
{
    (void)state;
    every_file_of("bad", 14);
}

static void odd_but_honest_solutions_are_correct(void **state)
{
    (void)state;
    every_file_of("honest", 6);
}

/* The reference as a solution, timed: right, and not far from its own time. */
static void the_reference_is_correct(void **state)
{
    (void)state;
    size_t size;
    kf_autofree char *text = kf_file_read(KFORGE_SOURCE_DIR "/tests/kernelbench/level1/2_ReLU.py", KF_SOURCE_BYTES, &size, NULL);
    kf_autofree char *source = NULL;
    assert_true(asprintf(&source, "%s\n\nModelNew = Model\n", text) > 0);
    kf_auto(kf_verdict) verdict = judge_source("relu", source, true, true);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    assert_true(verdict->speedup.low < 1.3 && verdict->speedup.high > 0.7);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(verdict->kernelbench, "correctness")));
    assert_true(kf_json_get_number(verdict->kernelbench, "runtime", 0) > 0);
    kf_auto(cJSON) json = kf_verdict_to_json(verdict);
    assert_non_null(cJSON_GetObjectItem(json, "kernelbench"));
}

/* A candidate in CUDA C against the eager baseline. */
static void cuda_against_eager(void **state)
{
    (void)state;
    static const char source[] =
        "__global__ void relu(const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = fmaxf(x[i], 0); }\n"
        "extern \"C\" void relu_entry(const float *x, float *out, cudaStream_t stream) { relu<<<1024, 256, 0, stream>>>(x, out); "
        "}\n";
    kf_error error = {0};
    kf_task *task = kf_task_load(DATA "tasks/relu", &error);
    kf_auto(kf_job) job = task ? kf_job_new("cuda", task, source, strlen(source), NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, NULL, &error);
    for (int again = 0; again < 2 && verdict && verdict->blame == KF_BLAME_MACHINE; again++) {
        kf_verdict_free(verdict);
        verdict = kf_judge_run(judge, job, NULL, &error);
    }
    if (!verdict) fail_msg("%s", error.text);
    if (verdict->status != KF_CORRECT) fail_msg("%s", verdict->message);
    assert_true(verdict->speedup.value > 0);
    assert_null(verdict->kernelbench);
}

/* Python for a task in CUDA C, and flags for Python, are refused by name. */
static void what_does_not_go_together(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    kf_auto(kf_job) job = task ? kf_job_new("mixed", task, "class ModelNew: pass\n", 21, NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    job->options.torch = true;
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, NULL, &error);
    assert_non_null(verdict);
    assert_string_equal(kf_status_name(verdict->status), "judge_error");
    assert_non_null(strstr(verdict->message, "needs a task whose oracle or baseline is a problem file for PyTorch"));
}

/* In a container with neither user namespaces nor CAP_SYS_PTRACE there is a verdict that says so, and nothing else to test. */
static bool results_can_be_read(void)
{
    size_t size;
    kf_autofree char *source = kf_file_read(DATA "honest/not_contiguous.py", KF_SOURCE_BYTES, &size, NULL);
    kf_auto(kf_verdict) verdict = source ? judge_source("relu", source, false, false) : NULL;
    return verdict && !strstr(verdict->message, "process_vm_readv");
}

int main(void)
{
    kf_error error = {0};
    kf_auto(cJSON) torch = kf_judge_torch(&error);
    if (!torch) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    judge = kf_judge_new(&(kf_judge_settings){.device = "cpu", .cache = ""}, &error);
    if (!judge) {
        print_error("%s\n", error.text);
        return 1;
    }
    if (!results_can_be_read()) {
        printf("skipped: the judge may not read its runners' memory here\n");
        kf_judge_free(judge);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_correct),
        cmocka_unit_test(cuda_against_eager),
        cmocka_unit_test(odd_but_honest_solutions_are_correct),
        cmocka_unit_test(bad_files_get_a_named_status),
        cmocka_unit_test(cheats_are_caught_or_harmless),
        cmocka_unit_test(what_does_not_go_together),
    };
    int failed = cmocka_run_group_tests_name("torch", tests, NULL, NULL);
    kf_judge_free(judge);
    return failed;
}
