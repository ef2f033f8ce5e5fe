/* The judge on whole candidates that are checked and not timed, and what a verdict holds. Those of
 * tests/hostile and tests/honest are tests of their own (tests/corpus.cmake). */
#include "test_judge_common.h"
#include "test_main.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "judge_internal.h"
#include "selftest.h"
#include "machine_failures.h"
#include "health_check.h"

static const kf_finding *first_finding(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return &verdict->workloads[i].findings[0];
    return verdict->finding_count ? &verdict->findings[0] : NULL;
}

/* Simulates rounds with these statuses: "i" interference, "n" correct without a speedup, "m"
 * impossible, "c" correct, "w" wrong, "g" cheating of another kind. Returns the number of rounds if
 * each takes `seconds` of 60 s. */
static int rounds_made(const char *statuses, double seconds)
{
    kf_rounds rounds = {0};
    for (;;) {
        kf_auto(kf_verdict) v = kf_verdict_new("id", "scale", "cuda");
        kf_workload_verdict *w = v ? kf_verdict_add_workload(v, "main", true) : NULL;
        assert_non_null(w);
        char what = statuses[rounds.made];
        if (what == 'm')
            kf_verdict_add_finding(v, w, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE, "floor.undercut", 1, 0,
                                   "fast");
        if (what == 'b')
            kf_verdict_add_finding(v, w, KF_CHEATING, KF_BLAME_CANDIDATE, "device.busy", 1, 0,
                                   "busy");
        if (what == 'g')
            kf_verdict_add_finding(v, w, KF_CHEATING, KF_BLAME_CANDIDATE, "protocol.forged", 1, 0,
                                   "forged");
        if (what == 'w')
            kf_verdict_add_finding(v, w, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.mismatch", 1,
                                   0, "wrong");
        if (what == 'i')
            kf_verdict_add_finding(v, w, KF_INTERFERENCE, KF_BLAME_MACHINE, "baseline.disturbed", 1,
                                   0, "disturbed");
        w->status = what == 'c' || what == 'n' ? KF_CORRECT : w->status;
        w->pairs = 3;
        if (what != 'n') w->speedup = (kf_interval){1, 1, 1};
        kf_verdict_conclude(v);
        if (!kf_judge_tries_again(&rounds, v, (rounds.made + 1) * seconds, 60)) return rounds.made;
        assert_true(statuses[rounds.made] != '\0');
    }
}

static void what_is_disturbed_is_measured_again(void **state)
{
    (void)state;
    assert_int_equal(rounds_made("c", 1), 1);
    assert_int_equal(rounds_made("w", 1), 1);
    assert_int_equal(rounds_made("g", 1), 1);
    assert_int_equal(rounds_made("ic", 1), 2);
    assert_int_equal(rounds_made("iii", 1), KF_DISTURBED_ROUNDS);
    assert_int_equal(rounds_made("nc", 1), 2);
    assert_int_equal(rounds_made("nin", 1), KF_DISTURBED_ROUNDS);
    assert_int_equal(rounds_made("ic", 29), 2); /* a second round ends in time */
    assert_int_equal(rounds_made("i", 31), 1);
    assert_int_equal(rounds_made("ii", 20.5), 2);
}

/* A finding from the clock alone has to repeat three times, and so has its opposite. A finding
 * about the candidate's acts counts at once. */
static void the_clock_alone_convicts_nobody_at_once(void **state)
{
    (void)state;
    assert_int_equal(rounds_made("mmm", 1), 3);
    assert_int_equal(rounds_made("mccc", 1), 4);
    assert_int_equal(rounds_made("mcmcm", 1), 5);
    assert_int_equal(rounds_made("mcmcc", 1), 5);
    assert_int_equal(rounds_made("mw", 1), 2);
    assert_int_equal(rounds_made("mg", 1), 2);
    assert_int_equal(rounds_made("mimm", 1), 4);
    assert_int_equal(rounds_made("m", 31), 1); /* no time for more: it stands */
}

/* The relocations of a file, not its code bytes, show which library function a call reaches. */
static void another_function_is_other_code(void **state)
{
    (void)state;
    static const char *const functions[] = {"sqrtf", "cbrtf", "cbrtf"};
    char hashes[3][65];
    for (int i = 0; i < 3; i++) {
        char source[1024];
        snprintf(source, sizeof source,
                 "#include <cuda_runtime.h>\n#include <math.h>\n#include <stdint.h>\n"
                 "static float (*volatile f)(float) = %s;\n"
                 "extern \"C\" void scale(const float *x, float *y, float a, int64_t n, "
                 "cudaStream_t stream)\n"
                 "{\n    for (int64_t i = 0; i < n; i++) y[i] = f(a * x[i]);\n}\n",
                 functions[i]);
        kf_error error = {0};
        kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
        assert_non_null(task);
        kf_job *job = kf_job_new("function", task, source, strlen(source), NULL, 0, &error);
        assert_non_null(job);
        job->options.check_only = true;
        kf_verdict *verdict = judged(job);
        assert_string_equal(kf_status_name(verdict->status), "wrong_result");
        snprintf(hashes[i], sizeof hashes[i], "%s", verdict->code_hash);
        kf_verdict_free(verdict);
        kf_job_free(job);
    }
    assert_string_not_equal(hashes[0], hashes[1]);
    assert_string_equal(hashes[1], hashes[2]);
}

/* Simulates a GPU with memory for the truth of one set only: each truth is computed right before
 * its set is compared. */
static struct {
    const kf_device_operations *real;
    uint32_t set; /* the set of the truth in memory */
    int prepared, looked_at;
} one_truth;

static uint32_t room_for_one(const kf_sets *sets)
{
    (void)sets;
    return 1;
}

static bool prepare_one_truth(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error)
{
    assert_int_equal(count, 1);
    one_truth.set = list[0];
    one_truth.prepared++;
    return one_truth.real->buffers.prepare_truth(sets, list, count, error);
}

static const void *look_at_one_truth(kf_sets *sets, uint32_t set, int argument, kf_error *error)
{
    assert_int_equal(set, one_truth.set);
    one_truth.looked_at++;
    return one_truth.real->buffers.truth(sets, set, argument, error);
}

static void one_truth_at_a_time(void **state)
{
    (void)state;
    one_truth.real = judge->device->operations;
    kf_device_operations operations = *one_truth.real;
    operations.buffers.truth_room = room_for_one;
    operations.buffers.prepare_truth = prepare_one_truth;
    operations.buffers.truth = look_at_one_truth;
    judge->device->operations = &operations;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", NULL);
    job->options.check_only = true;
    kf_verdict *right = judged(job);
    char *product = strstr(job->source, "a * x");
    assert_non_null(product);
    product[2] = '+';
    kf_verdict *wrong = judged(job);
    judge->device->operations = one_truth.real;
    assert_string_equal(kf_status_name(right->status), "correct");
    assert_string_equal(kf_status_name(wrong->status), "wrong_result");
    assert_true(one_truth.prepared > 4 && one_truth.looked_at >= one_truth.prepared);
    kf_verdict_free(right);
    kf_verdict_free(wrong);
    kf_job_free(job);
}

/* Simulates other processes that time on the device. */
static struct {
    double waited;
    int cases;
    double seconds; /* of the last case */
} others;

static bool wait_for_others(kf_device *device, bool take, const volatile int *stop, kf_error *error)
{
    (void)device, (void)stop, (void)error;
    double asked = kf_now();
    if (take) usleep(200000);
    others.waited += kf_now() - asked;
    return true;
}

static void note_case(void *context, const kf_selftest_case *row)
{
    (void)context;
    others.cases++;
    others.seconds = row->seconds;
}

static void a_case_is_not_late_because_others_time(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_selftest_summary summary;
    const kf_device_operations *real = judge->device->operations;
    kf_device_operations operations = *real;
    operations.time_alone = wait_for_others;
    judge->device->operations = &operations;
    double started = kf_now();
    bool done = kf_selftest_run(judge, KFORGE_SOURCE_DIR "/tests", KF_SELFTEST_ALL,
                                "/honest/vecadd/fewer_threads_when_idle", note_case, NULL, NULL,
                                &summary, &error);
    double took = kf_now() - started;
    judge->device->operations = real;
    if (!done) fail_msg("%s", error.text);
    assert_int_equal(others.cases, 1);
    assert_true(others.waited >= 0.2 && others.seconds > 0);
    if (others.seconds > took - others.waited)
        fail_msg("%g of %g s, %g s of them waited", others.seconds, took, others.waited);
}

/* A status alone would match no verdict, so a file that expects one cannot be read. */
static void a_case_names_the_rules_that_it_expects(void **state)
{
    (void)state;
    static const struct {
        const char *expected;
        bool readable;
    } rows[] = {{"correct", true},
                {"wrong_result output.mismatch | correct", true},
                {"wrong_result", false},
                {"wrong_result | contract_violation stream.left", false},
                {"contract_violation stream.left | wrong_result", false},
                {"correct\n// expect-cuda: crash", false},
                {"correct\n// needs: landlock | namespaces", true},
                {"correct\n// needs: seccomps", false}};
    char root[] = "/tmp/kforge-selftest-XXXXXX", path[128], command[64];
    assert_non_null(mkdtemp(root));
    const char *const parts[] = {"honest", "hostile", "hostile/scale"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, parts[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof path, "%s/hostile/scale/case.cu", root);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_selftest_summary summary;
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        /* No device has this name, so no case is judged. */
        fprintf(file, "// Gives zeros.\n// rule: C1\n// devices: another\n// expect: %s\n",
                rows[i].expected);
        fclose(file);
        bool done =
            kf_selftest_run(judge, root, KF_SELFTEST_ALL, NULL, NULL, NULL, NULL, &summary, &error);
        if (done != rows[i].readable) fail_msg("%s: %s", rows[i].expected, error.text);
        if (!done) assert_non_null(strstr(error.text, "case.cu: \""));
    }
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void note_finding(void *context, const kf_selftest_case *row)
{
    bool inexact = strcmp(row->finding, "output.inaccurate") == 0;
    *(bool *)context = inexact;
    if (row->passed == inexact) fail_msg("%s: %d", row->finding, row->passed);
}

/* A judge that calls wrong results inexact fails its self-test. */
static void an_inexact_result_is_no_mismatch(void **state)
{
    (void)state;
    char root[] = "/tmp/kforge-selftest-XXXXXX", command[2000];
    assert_non_null(mkdtemp(root));
    snprintf(command, sizeof command,
             "mkdir -p %s/honest %s/hostile/scale && ln -s %s/selftest %s/selftest && "
             "sed 's/output.inaccurate . wrong_result //' "
             "%s/hostile/scale/half_precision.cu >%s/hostile/scale/half_precision.cu",
             root, root, KFORGE_SOURCE_DIR "/tests", root, KFORGE_SOURCE_DIR "/tests", root);
    assert_int_equal(system(command), 0);
    bool inexact = false;
    /* Varied inputs may hide that it is just inexact. */
    for (int turn = 0; turn < 30 && !inexact; turn++) {
        kf_error error = {0};
        kf_selftest_summary summary;
        if (!kf_selftest_run(judge, root, KF_SELFTEST_ALL, NULL, note_finding, &inexact, NULL,
                             &summary, &error))
            fail_msg("%s", error.text);
        assert_int_equal(summary.hostile, 1);
    }
    assert_true(inexact);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* A comment does not change the machine code. */
static void known_code_is_not_measured(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", NULL);
    job->options.check_only = true;
    kf_verdict *verdict = judged(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
    char source[4096];
    snprintf(source, sizeof source, "%s// the same\n", job->source);
    kf_job *again = kf_job_new("again", task, source, strlen(source), NULL, 0, &error);
    assert_non_null(again);
    again->options.check_only = true;
    assert_true(kf_job_add_known(again, verdict->code_hash));
    kf_verdict *skipped = judged(again);
    assert_string_equal(skipped->code_hash, verdict->code_hash);
    assert_string_equal(first_finding(skipped)->rule, "code.known");
    assert_int_equal(skipped->workload_count, 0);
    kf_verdict_free(verdict);
    kf_verdict_free(skipped);
    kf_job_free(job);
    kf_job_free(again);
}

/* A process that knows a hidden shape has no successor that could show it. */
static void hidden_workloads_come_last(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/rowsum", NULL);
    job->options.check_only = true;
    kf_verdict *verdict = judged(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    assert_int_equal(verdict->workload_count, 3);
    assert_string_equal(verdict->workloads[0].workload, "ragged");
    assert_string_equal(verdict->workloads[2].workload, "unseen");
    kf_verdict_free(verdict);
    kf_job_free(job);
}

static void a_replay_key_repeats_the_inputs(void **state)
{
    (void)state;
    double errors[2];
    for (int turn = 0; turn < 2; turn++) {
        kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", NULL);
        job->options.check_only = true;
        job->options.replay_key = strdup("c0ffee");
        kf_verdict *verdict = judged(job);
        assert_string_equal(kf_status_name(verdict->status), "correct");
        errors[turn] = verdict->workloads[0].outputs[0].figures.rms;
        kf_verdict_free(verdict);
        kf_job_free(job);
    }
    assert_true(errors[0] == errors[1] && errors[0] > 0);
}

static void sanitised_builds_name_the_line(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale",
                         KFORGE_SOURCE_DIR "/tests/hostile/scale/guard_behind.cu");
    job->options.asan = true;
    kf_verdict *verdict = judged(job);
    const kf_finding *finding = first_finding(verdict);
    assert_string_equal(kf_status_name(verdict->status), "contract_violation");
    assert_string_equal(finding->rule, "asan.report");
    assert_non_null(strstr(finding->text, "candidate.cu:15"));
    assert_non_null(strstr(finding->text, "write of 4 bytes"));
    kf_verdict_free(verdict);
    kf_job_free(job);
    job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", NULL);
    job->options.asan = true;
    verdict = judged(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    assert_true(isnan(verdict->speedup.value));
    kf_verdict_free(verdict);
    kf_job_free(job);
}

static void stopping_gives_no_verdict(void **state)
{
    (void)state;
    volatile int stop = 1;
    kf_error error = {0};
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale",
                         KFORGE_SOURCE_DIR "/tests/hostile/scale/infinite_loop.cu");
    assert_null(kf_judge_run(judge, job, &stop, &error));
    assert_int_equal(error.code, KF_ERROR_BUSY);
    kf_job_free(job);
}

/* Bytes a second of the C library's loop over memory that is in no cache: the slowest of some,
 * since other programs slow the judge, too. */
static double rate_of_one_thread(void)
{
    const size_t size = 256u << 20;
    char *memory = malloc(size);
    double rate = INFINITY;
    assert_non_null(memory);
    for (int turn = 0; turn < 3; turn++) {
        memset(memory, 1, size);
        double started = kf_now();
        assert_null(memchr(memory, 2, size / 2)); /* the other half was written behind it */
        rate = fmin(rate, (double)(size / 2) / (kf_now() - started));
    }
    free(memory);
    return rate;
}

static void devices_have_names(void **state)
{
    (void)state;
    kf_error error = {0};
    assert_null(kf_judge_new(&(kf_judge_settings){.device = "tpu"}, &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    assert_string_equal(kf_judge_device(judge), "cpu");
    assert_true(strncmp(kf_judge_hardware(judge), "cpu ", 4) == 0);
    cJSON *described = kf_judge_describe(judge);
    double claimed = cJSON_GetObjectItem(described, "read_bytes_per_second")->valuedouble;
    cJSON_Delete(described);
    /* A judge that was built with a sanitizer, or without optimisation, must not take the memory
     * for slower than it is. Other programs may have slowed its look at the memory. */
    double rate = rate_of_one_thread();
    for (int turn = 0; turn < 10 && claimed <= 0.25 * rate; turn++) {
        assert_true(judge->device->operations->measure_ceilings(judge->device, &error));
        described = kf_judge_describe(judge);
        claimed = cJSON_GetObjectItem(described, "read_bytes_per_second")->valuedouble;
        cJSON_Delete(described);
    }
    assert_true(claimed > 0.25 * rate);
}

typedef struct reports {
    int count;
    char rules[512];
} reports;

static void take_report(void *context, const kf_lint_finding *finding)
{
    reports *all = context;
    all->count++;
    snprintf(all->rules + strlen(all->rules), sizeof all->rules - strlen(all->rules), "%s ",
             finding->rule);
}

/* The task as it is, and with an oracle and a baseline that ignore their input. */
static void lint_runs_the_oracle(void **state)
{
    (void)state;
    kf_error error = {0};
    reports all = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
    assert_non_null(task);
    int errors = kf_judge_lint(judge, task, take_report, &all, NULL, &error);
    if (errors != 0) fail_msg("%d errors: %s%s", errors, all.rules, errors < 0 ? error.text : "");
    volatile int stop = 1;
    assert_int_equal(kf_judge_lint(judge, task, take_report, &all, &stop, &error), -1);
    assert_int_equal(error.code, KF_ERROR_BUSY);
    cJSON *bundle = kf_task_bundle(task);
    cJSON *files = cJSON_GetObjectItem(bundle, "files");
    cJSON_ReplaceItemInObject(
        files, "oracle.cu",
        cJSON_CreateString("#include <stdint.h>\n#include <cuda_runtime.h>\n"
                           "extern \"C\" void scale_oracle(const float *x, double *y, float a, "
                           "int64_t n, cudaStream_t s)\n"
                           "{ for (int64_t i = 0; i < n; i++) y[i] = 0; }\n"));
    cJSON_ReplaceItemInObject(
        files, "baseline.cu",
        cJSON_CreateString("#include <stdint.h>\n#include <cuda_runtime.h>\n"
                           "extern \"C\" void scale(const float *x, float *y, float a, int64_t n, "
                           "cudaStream_t s)\n"
                           "{ cudaMemsetAsync(y, 0, n * sizeof *y, s); }\n"));
    kf_task *degenerate = kf_task_from_bundle(bundle, &error);
    if (!degenerate) fail_msg("%s", error.text);
    errors = kf_judge_lint(judge, degenerate, take_report, &all, NULL, &error);
    if (errors < 1) fail_msg("%d errors: %s", errors, error.text);
    assert_non_null(strstr(all.rules, "output.zeros"));
    cJSON_Delete(bundle);
    kf_task_free(degenerate);
    kf_task_free(task);
}

/* scale, with sources of the host that take so many seconds for a call. They sleep, so that the
 * machine stays free for other tests. */
static kf_verdict *judged_slowly(const char *oracle_seconds, const char *candidate_seconds,
                                 double timeout)
{
    static const char pattern[] =
        "#include <stdint.h>\n#include <time.h>\n#include <cuda_runtime.h>\n"
        "extern \"C\" void scale%s(const float *x, %s *y, float a, int64_t n, cudaStream_t s)\n"
        "{ struct timespec pause; pause.tv_sec = (time_t)%s;\n"
        "  pause.tv_nsec = (long)((%s - pause.tv_sec) * 1e9);\n"
        "  for (int64_t i = 0; i < n; i++) y[i] = (%s)a * x[i];\n"
        "  nanosleep(&pause, 0); }\n";
    kf_error error = {0};
    char oracle[1024], baseline[1024], candidate[1024];
    snprintf(oracle, sizeof oracle, pattern, "_oracle", "double", oracle_seconds, oracle_seconds,
             "double");
    snprintf(baseline, sizeof baseline, pattern, "", "float", "0.2", "0.2", "float");
    snprintf(candidate, sizeof candidate, pattern, "", "float", candidate_seconds,
             candidate_seconds, "float");
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
    assert_non_null(task);
    cJSON *bundle = kf_task_bundle(task), *files = cJSON_GetObjectItem(bundle, "files");
    cJSON_ReplaceItemInObject(files, "oracle.cu", cJSON_CreateString(oracle));
    cJSON_ReplaceItemInObject(files, "baseline.cu", cJSON_CreateString(baseline));
    kf_task *slow = kf_task_from_bundle(bundle, &error);
    if (!slow) fail_msg("%s", error.text);
    kf_auto(kf_job) job = kf_job_new("slow", slow, candidate, strlen(candidate), NULL, 0, &error);
    if (!job) fail_msg("%s", error.text);
    cJSON_Delete(bundle);
    kf_task_free(task);
    job->options.timeout_seconds = timeout;
    return judged(job);
}

/* The time left in a job may be shorter than any call. Then the running process is not to blame for
 * the time that was used before. */
static void what_is_left_of_the_time_is_no_limit(void **state)
{
    (void)state;
    kf_auto(kf_verdict) late = judged_slowly("1", "0.2", 2);
    assert_string_equal(kf_status_name(late->status), "judge_error");
    assert_string_equal(first_finding(late)->rule, "time.budget");
    assert_false(kf_verdict_is_fault(late));
    kf_auto(kf_verdict) endless = judged_slowly(
        "0", "1000", 16); /* the baseline takes some 3 s of it, on a busy machine twice that */
    assert_string_equal(kf_status_name(endless->status), "timeout");
    assert_non_null(strstr(first_finding(endless)->text, "--timeout"));
}

/* A call that takes longer than a call of the baseline does by far is slow, not endless, while the
 * job has time. */
static void a_slow_call_is_no_timeout_while_the_job_has_time(void **state)
{
    (void)state;
    static const char source[] =
        "#include <stdint.h>\n#include <unistd.h>\n#include <cuda_runtime.h>\n"
        "extern \"C\" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t s)\n"
        "{ static int calls; if (!calls++) usleep(SLEEP);\n"
        "  for (int64_t i = 0; i < n; i++) y[i] = a * x[i]; }\n";
    kf_error error = {0};
    for (int endless = 0; endless < 2; endless++) {
        kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
        const char *const flag[] = {endless ? "-DSLEEP=100000000" : "-DSLEEP=2600000"};
        kf_auto(kf_job) job =
            task ? kf_job_new("slow", task, source, strlen(source), flag, 1, &error) : NULL;
        if (!job) fail_msg("%s", error.text);
        job->options.check_only = true;
        job->options.timeout_seconds = endless ? 24 : 120;
        kf_auto(kf_verdict) verdict = judged(job);
        assert_string_equal(kf_status_name(verdict->status), endless ? "timeout" : "correct");
        if (!endless) continue;
        const kf_finding *finding = first_finding(verdict);
        assert_string_equal(finding->rule, "time.limit");
        if (!strstr(finding->text, "1 s for each call (1/24 of --timeout, 24 s)"))
            fail_msg("%s", finding->text);
    }
}

/* A candidate is slow in one workload and hangs in the next, so that the job's time runs out. By
 * then the candidate had used hardly any of that workload's time. */
static void the_time_of_earlier_workloads_counts(void **state)
{
    (void)state;
    static const char source[] =
        "#include <stdint.h>\n#include <time.h>\n#include <cuda_runtime.h>\n"
        "extern \"C\" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t s)\n"
        "{ struct timespec pause; pause.tv_sec = n < 2000 ? 0 : 1000, pause.tv_nsec = 900000000;\n"
        "  for (int64_t i = 0; i < n; i++) y[i] = a * x[i];\n"
        "  nanosleep(&pause, 0); }\n";
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
    kf_auto(kf_job) job =
        task ? kf_job_new("later", task, source, strlen(source), NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    /* The first workload takes 5.4 s. The rest may take as long on a busy machine. */
    job->options.timeout_seconds = 6.4;
    kf_auto(kf_verdict) verdict = judged(job);
    if (verdict->status != KF_TIMEOUT) fail_msg("%s", verdict->message);
    assert_int_equal(verdict->blame, KF_BLAME_CANDIDATE);
}

/* Counts builds. */
static struct {
    const kf_device_operations *real;
    int count;
} builds;

static bool count_build(kf_device *device, const kf_build_request *request, kf_build *build,
                        kf_error *error)
{
    __atomic_add_fetch(&builds.count, 1, __ATOMIC_RELAXED);
    return builds.real->build(device, request, build, error);
}

/* What a task forbids is found before anything is built. Its baseline may have it. */
static void forbidden_text_is_not_built(void **state)
{
    (void)state;
    builds.real = judge->device->operations;
    kf_device_operations operations = *builds.real;
    operations.build = count_build;
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
    assert_non_null(task);
    cJSON *bundle = kf_task_bundle(task);
    cJSON_AddItemToObject(cJSON_GetObjectItem(bundle, "json"), "forbidden",
                          cJSON_Parse("[\"scale_kernel\"]"));
    for (int of_baseline = 0; of_baseline < 2; of_baseline++) {
        kf_task *strict = kf_task_from_bundle(bundle, &error);
        if (!strict) fail_msg("%s", error.text);
        const char *source = kf_task_baseline(strict)->text;
        kf_auto(kf_job) job =
            kf_job_new("forbidden", strict, source, strlen(source), NULL, 0, &error);
        if (!job) fail_msg("%s", error.text);
        job->options.check_only = true;
        job->of_baseline = of_baseline;
        builds.count = 0;
        judge->device->operations = &operations;
        kf_auto(kf_verdict) verdict = judged(job);
        judge->device->operations = builds.real;
        assert_string_equal(kf_status_name(verdict->status),
                            of_baseline ? "correct" : "contract_violation");
        assert_int_equal(builds.count > 0, of_baseline);
        if (of_baseline) continue;
        assert_string_equal(first_finding(verdict)->rule, "source.forbidden");
        assert_true(first_finding(verdict)->measured == 4);
        assert_non_null(verdict->provenance);
    }
    cJSON_Delete(bundle);
    kf_task_free(task);
}

/* ---- f64 inputs ------------------------------------------------------------------------------ */

/* Judges a candidate for outputs y[i] in f32, each of `row` inputs x in f64. The texts compute the
 * output y[i] from `x`, its inputs, as the statements of a function. */
static kf_verdict *judged_on_f64(int64_t row, double mean, const char *oracle, const char *baseline,
                                 const char *candidate)
{
    static const char pattern[] =
        "#include <stdint.h>\n#include <cuda_runtime.h>\n"
        "static %s one(const double *x, int64_t row) { %s }\n"
        "extern \"C\" void rows%s(const double *x, %s *y, int64_t row, int64_t n, cudaStream_t s)\n"
        "{ for (int64_t i = 0; i < n; i++) y[i] = one(x + i * row, row); }\n";
    static const char task_pattern[] =
        "{\"schema\": \"kforge-task/1\", \"name\": \"rows\", \"params\": {\"row\": %d},"
        " \"arguments\": ["
        "{\"name\": \"x\", \"kind\": \"input\", \"dtype\": \"f64\", \"shape\": [256, \"row\"],"
        " \"distribution\": {\"kind\": \"normal\", \"mean\": %g}},"
        "{\"name\": \"y\", \"kind\": \"output\", \"dtype\": \"f32\", \"shape\": [256]},"
        "{\"name\": \"row\", \"kind\": \"scalar\", \"dtype\": \"i64\", \"value\": \"row\"},"
        "{\"name\": \"n\", \"kind\": \"scalar\", \"dtype\": \"i64\", \"value\": 256}],"
        " \"oracle\": {\"file\": \"oracle.cu\"}, \"baseline\": {\"file\": \"baseline.cu\"}}";
    char json[2048], files[3][2048];
    const char *const texts[] = {oracle, baseline, candidate};
    snprintf(json, sizeof json, task_pattern, (int)row, mean);
    for (int i = 0; i < 3; i++)
        snprintf(files[i], sizeof files[i], pattern, i ? "float" : "double", texts[i],
                 i ? "" : "_oracle", i ? "float" : "double");
    kf_error error = {0};
    cJSON *bundle = cJSON_CreateObject(), *named = cJSON_CreateObject();
    cJSON_AddStringToObject(bundle, "schema", "kforge-bundle/1");
    cJSON_AddItemToObject(bundle, "json", cJSON_Parse(json));
    cJSON_AddStringToObject(named, "oracle.cu", files[0]);
    cJSON_AddStringToObject(named, "baseline.cu", files[1]);
    cJSON_AddItemToObject(bundle, "files", named);
    kf_task *task = kf_task_from_bundle(bundle, &error);
    if (!task) fail_msg("%s", error.text);
    kf_auto(kf_job) job = kf_job_new("f64", task, files[2], strlen(files[2]), NULL, 0, &error);
    if (!job) fail_msg("%s", error.text);
    cJSON_Delete(bundle);
    job->options.check_only = true;
    return judged(job);
}

/* Inputs in f64 may have bits that f32 lacks. Where the output depends on them, a candidate that
 * rounds its inputs to f32 first is wrong. Sums in f32 may be in any order nevertheless. */
static void f64_inputs_keep_their_bits(void **state)
{
    (void)state;
    static const char difference[] = "(void)row; return x[1] - x[0];",
                      rounded[] = "(void)row; return (float)x[1] - (float)x[0];",
                      offsets[] = "double s = 0; for (int64_t k = 0; k < row; k++)"
                                  " s += x[k] - 1e6; return s;",
                      rounded_offsets[] = "double s = 0; for (int64_t k = 0; k < row; k++)"
                                          " s += (float)x[k] - 1e6; return s;",
                      sum[] = "double s = 0; for (int64_t k = 0; k < row; k++) s += x[k];"
                              " return s;",
                      in_sequence[] = "float s = 0; for (int64_t k = 0; k < row; k++)"
                                      " s += (float)x[k]; return s;",
                      in_lanes[] = "float s[256] = {0}; for (int64_t k = 0; k < row; k++)"
                                   " s[k % 256] += (float)x[k];"
                                   " for (int h = 128; h; h /= 2) for (int k = 0; k < h; k++)"
                                   " s[k] += s[k + h]; return s[0];";
    const struct {
        int64_t row;
        double mean;
        const char *oracle, *baseline, *candidate, *status;
    } rows[] = {
        {2, 1e6, difference, difference, difference, "correct"},
        {2, 1e6, difference, difference, rounded, "wrong_result"},
        {1000, 1e6, offsets, offsets, offsets, "correct"},
        {1000, 1e6, offsets, offsets, rounded_offsets, "wrong_result"},
        {4099, 0, sum, in_lanes, in_sequence, "correct"},
        {64, 0, sum, in_lanes, in_sequence, "correct"},
        {1000, 0, sum, sum, in_sequence, "correct"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) verdict = judged_on_f64(rows[i].row, rows[i].mean, rows[i].oracle,
                                                    rows[i].baseline, rows[i].candidate);
        if (strcmp(kf_status_name(verdict->status), rows[i].status) != 0)
            fail_msg("%zu: %s: %s", i, kf_status_name(verdict->status), verdict->message);
    }
}

/* Judges the health check, the job that a worker runs if its machine seems to fail
 * (health_check.h). */
static void the_judge_works(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
    kf_auto(kf_job) job = task ? kf_job_new("hostile", task, "nothing", 7, NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    assert_true(kf_judge_health_check(judge, job, NULL));
    int stop = 1;
    assert_false(kf_judge_health_check(judge, job, &stop));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_of_earlier_workloads_counts),
        cmocka_unit_test(the_judge_works),
        cmocka_unit_test(f64_inputs_keep_their_bits),
        cmocka_unit_test(forbidden_text_is_not_built),
        cmocka_unit_test(what_is_left_of_the_time_is_no_limit),
        cmocka_unit_test(a_slow_call_is_no_timeout_while_the_job_has_time),
        cmocka_unit_test(devices_have_names),
        cmocka_unit_test(what_is_disturbed_is_measured_again),
        cmocka_unit_test(the_clock_alone_convicts_nobody_at_once),
        cmocka_unit_test(hidden_workloads_come_last),
        cmocka_unit_test(a_replay_key_repeats_the_inputs),
        cmocka_unit_test(another_function_is_other_code),
        cmocka_unit_test(one_truth_at_a_time),
        cmocka_unit_test(a_case_is_not_late_because_others_time),
        cmocka_unit_test(a_case_names_the_rules_that_it_expects),
        cmocka_unit_test(an_inexact_result_is_no_mismatch),
        cmocka_unit_test(known_code_is_not_measured),
        cmocka_unit_test(sanitised_builds_name_the_line),
        cmocka_unit_test(stopping_gives_no_verdict),
        cmocka_unit_test(lint_runs_the_oracle),
    };
    return TEST_GROUP(tests, open_judge, close_judge);
}
