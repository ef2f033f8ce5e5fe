/* The judge on whole candidates: those of tests/hostile and tests/honest, and what a verdict holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kforge/census.h"
#include "kforge/file.h"
#include "kforge/judge.h"
#include "kforge/selftest.h"

#include "judge_internal.h"

static kf_judge *judge;
static kf_census *before;
static char *folder; /* $TMPDIR */

static kf_job *job_of(const char *task_path, const char *source_path)
{
    kf_error error = {0};
    size_t size;
    kf_task *task = kf_task_load(task_path, &error);
    if (!task) fail_msg("%s", error.text);
    char *source = source_path ? kf_file_read(source_path, KF_SOURCE_BYTES, &size, &error) : NULL;
    if (source_path && !source) fail_msg("%s", error.text);
    const char *text = source ? source : kf_task_baseline(task)->text;
    kf_job *job = kf_job_new("test", task, text, strlen(text), NULL, 0, &error);
    if (!job) fail_msg("%s", error.text);
    free(source);
    return job;
}

static kf_verdict *judged(kf_job *job)
{
    kf_error error = {0};
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    if (!verdict) fail_msg("%s", error.text);
    return verdict;
}

/* For what is about times: on a busy machine they may be disturbed, or the fixed cost may hide so short a batch. */
static kf_verdict *judged_in_peace(kf_job *job)
{
    kf_verdict *verdict = judged(job);
    for (int turn = 0; turn < 4 && (verdict->status == KF_INTERFERENCE || isnan(verdict->speedup.low)); turn++) {
        kf_verdict_free(verdict);
        verdict = judged(job);
    }
    return verdict;
}

static const kf_finding *first_finding(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return &verdict->workloads[i].findings[0];
    return verdict->finding_count ? &verdict->findings[0] : NULL;
}

static char missed[4][300]; /* cases, as filters */
static int missed_count;

static void tell_case(void *context, const kf_selftest_case *row)
{
    (void)context;
    if (!row->passed && missed_count < 4)
        snprintf(missed[missed_count++], sizeof missed[0], "/%s/%s/%s", row->hostile ? "hostile" : "honest", row->task, row->name);
    if (!row->passed)
        print_error("%s/%s/%s: expected %s, got %s %s: %s\n", row->hostile ? "hostile" : "honest", row->task, row->name,
                    row->expected, row->status, row->finding, row->verdict->message);
}

/* The sanitized build looks at the judge's own memory, for which the cases of one task do; the release build judges all. */
#ifdef __SANITIZE_ADDRESS__
static const char *const which = "/scale/";
enum { LEAST_HOSTILE = 30, LEAST_HONEST = 7 };
#else
static const char *const which = NULL;
enum { LEAST_HOSTILE = 150, LEAST_HONEST = 50 };
#endif

static void the_selftest_passes(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_selftest_summary sum;
    if (!kf_selftest_run(judge, KFORGE_SOURCE_DIR "/tests", which, tell_case, NULL, NULL, &sum, &error)) fail_msg("%s", error.text);
    assert_true(sum.hostile >= LEAST_HOSTILE && sum.honest >= LEAST_HONEST);
    assert_int_equal(sum.accepted, sum.honest);
    assert_int_equal(sum.late, 0);
    /* `kforge selftest` forgives nothing. Here one case may be judged again: whoever else is on the machine that tests must not stop a change. */
    assert_true(sum.hostile - sum.caught <= 1);
    for (int i = 0, count = missed_count; i < count; i++) {
        kf_selftest_summary again;
        if (!kf_selftest_run(judge, KFORGE_SOURCE_DIR "/tests", missed[i], tell_case, NULL, NULL, &again, &error))
            fail_msg("%s", error.text);
        assert_true(again.hostile == 1 && again.caught == 1);
    }
}

static void a_timed_verdict_is_complete(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", KFORGE_SOURCE_DIR "/tests/honest/scale/three_times_slower.cu");
    job->options.seconds = 0.3;
    kf_verdict *verdict = judged_in_peace(job);
    for (int turn = 0; turn < 6 && !(verdict->speedup.value < 0.7); turn++) { /* so it is where the machine lets it */
        kf_verdict_free(verdict);
        verdict = judged_in_peace(job);
    }
    assert_string_equal(kf_status_name(verdict->status), "correct");
    assert_true(verdict->speedup.value < 0.7);
    assert_true(verdict->speedup.low <= verdict->speedup.value && verdict->speedup.value <= verdict->speedup.high);
    assert_int_equal(verdict->workload_count, 2);
    const kf_workload_verdict *timed = &verdict->workloads[1]; /* what is not timed comes first */
    assert_string_equal(timed->workload, "main");
    assert_true(timed->timed && timed->pairs >= 8 && timed->sets >= 3);
    assert_true(timed->baseline_seconds > 0 && timed->candidate_seconds > timed->baseline_seconds);
    assert_true(timed->batch_cost_seconds > 0 && timed->floor_seconds > 0);
    int sides[256] = {0};
    for (size_t i = 0; i < timed->sample_count; i++) sides[(unsigned char)timed->samples[i].side]++;
    assert_true(sides['b'] > timed->pairs && sides['c'] == sides['b'] && sides['n'] >= 8 && sides['a'] >= 7);
    assert_int_equal(timed->output_count, 1);
    assert_true(timed->outputs[0].figures.compared >= 2 * 2 * 60000);
    assert_int_equal(timed->outputs[0].figures.mismatched, 0);
    assert_int_equal(strlen(verdict->source_hash), 64);
    assert_int_equal(strlen(verdict->code_hash), 64);
    assert_non_null(cJSON_GetObjectItem(verdict->provenance, "keys"));
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(verdict->provenance, "sandbox")) >= 3);
    cJSON *json = kf_verdict_to_json(verdict);
    kf_error error;
    kf_verdict *read = kf_verdict_from_json(json, &error);
    if (!read) fail_msg("%s", error.text);
    kf_verdict_free(read);
    cJSON_Delete(json);
    kf_verdict_free(verdict);
    kf_job_free(job);
}

static void verifying_measures_twice(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", KFORGE_SOURCE_DIR "/tests/honest/scale/three_times_slower.cu");
    job->options.seconds = 0.3;
    job->options.verify = true;
    kf_verdict *verdict = judged_in_peace(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    /* On a noisy machine the two may disagree, and then a flag says so. */
    assert_true(verdict->reverified || verdict->flag_count > 0);
    kf_verdict_free(verdict);
    kf_job_free(job);
}

static void what_is_disturbed_is_measured_again(void **state)
{
    (void)state;
    for (int status = 0; status < KF_STATUS_COUNT; status++)
        assert_int_equal(kf_judge_tries_again((kf_status)status, 1, 1, 60), status == KF_INTERFERENCE);
    assert_true(kf_judge_tries_again(KF_INTERFERENCE, KF_DISTURBED_ROUNDS - 1, 2, 60));
    assert_false(kf_judge_tries_again(KF_INTERFERENCE, KF_DISTURBED_ROUNDS, 2, 60));
    assert_true(kf_judge_tries_again(KF_INTERFERENCE, 1, 29, 60)); /* a second round ends in time */
    assert_false(kf_judge_tries_again(KF_INTERFERENCE, 1, 31, 60));
    assert_false(kf_judge_tries_again(KF_INTERFERENCE, 2, 41, 60));
}

static const kf_sample *sample_of(const kf_workload_verdict *w, char side, int pair)
{
    for (size_t i = 0; i < w->sample_count; i++)
        if (w->samples[i].side == side && w->samples[i].pair == pair) return &w->samples[i];
    return NULL;
}

/* Of a candidate that was slow in its warm-up the batches are short ones; no longer once they take less than half of the baseline's. */
static void slow_at_first_is_not_judged_on_few_calls(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", KFORGE_SOURCE_DIR "/tests/hostile/scale/slow_at_first.cu");
    job->options.seconds = 0.3;
    kf_verdict *verdict = judged_in_peace(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    int pairs = 0;
    for (size_t i = 0; i < verdict->workload_count; i++)
        for (int pair = 0; pair < verdict->workloads[i].pairs; pair++) {
            const kf_sample *b = sample_of(&verdict->workloads[i], 'b', pair), *c = sample_of(&verdict->workloads[i], 'c', pair);
            assert_true(b && c);
            if (c->calls < b->calls) assert_true(c->seconds >= b->seconds / 2);
            pairs++;
        }
    assert_true(pairs >= 8);
    kf_verdict_free(verdict);
    kf_job_free(job);
}

/* Which function of a library a call reaches is told by the file's relocations, not by its code. */
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
                 "extern \"C\" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)\n"
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

/* A comment does not change the machine code. */
/* As a GPU whose memory holds the truth of one set only: each is computed right before its set is compared. */
static struct {
    const kf_device_operations *real;
    uint32_t set; /* whose truth is there */
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
    return one_truth.real->prepare_truth(sets, list, count, error);
}

static const void *look_at_one_truth(kf_sets *sets, uint32_t set, int argument, kf_error *error)
{
    assert_int_equal(set, one_truth.set);
    one_truth.looked_at++;
    return one_truth.real->truth(sets, set, argument, error);
}

static void one_truth_at_a_time(void **state)
{
    (void)state;
    one_truth.real = judge->device->operations;
    kf_device_operations operations = *one_truth.real;
    operations.truth_room = room_for_one;
    operations.prepare_truth = prepare_one_truth;
    operations.truth = look_at_one_truth;
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
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", KFORGE_SOURCE_DIR "/tests/hostile/scale/guard_behind.cu");
    job->options.asan = true;
    kf_verdict *verdict = judged(job);
    const kf_finding *finding = first_finding(verdict);
    assert_string_equal(kf_status_name(verdict->status), "contract_violation");
    assert_string_equal(finding->rule, "asan.report");
    assert_non_null(strstr(finding->text, "candidate.cu:15"));
    assert_non_null(strstr(finding->text, "WRITE of size 4"));
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
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", KFORGE_SOURCE_DIR "/tests/hostile/scale/infinite_loop.cu");
    assert_null(kf_judge_run(judge, job, &stop, &error));
    assert_int_equal(error.code, KF_ERROR_BUSY);
    kf_job_free(job);
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
    assert_true(cJSON_GetObjectItem(described, "read_bytes_per_second")->valuedouble > 1e8);
    cJSON_Delete(described);
}

typedef struct reports {
    int count;
    char rules[512];
} reports;

static void take_report(void *context, const kf_lint_finding *finding)
{
    reports *all = context;
    all->count++;
    snprintf(all->rules + strlen(all->rules), sizeof all->rules - strlen(all->rules), "%s ", finding->rule);
}

/* The task as it is, and with an oracle that ignores its input. */
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
                           "extern \"C\" void scale_oracle(const float *x, double *y, float a, int64_t n, cudaStream_t s)\n"
                           "{ for (int64_t i = 0; i < n; i++) y[i] = 0; }\n"));
    kf_task *degenerate = kf_task_from_bundle(bundle, &error);
    if (!degenerate) fail_msg("%s", error.text);
    errors = kf_judge_lint(judge, degenerate, take_report, &all, NULL, &error);
    if (errors < 1) fail_msg("%d errors: %s", errors, error.text);
    assert_non_null(strstr(all.rules, "output.zeros"));
    cJSON_Delete(bundle);
    kf_task_free(degenerate);
    kf_task_free(task);
}

/* ---- less exact than the baseline, and many times faster -------------------------------------------------------------------------------- */

static void write_text(const char *directory, const char *name, const char *text)
{
    kf_error error = {0};
    char *path = kf_path_join(directory, name);
    if (!path || !kf_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
    free(path);
}

/* In one batch of the candidate are then more ways to vary an input than the baseline was seen on, all of them doubtful. */
static void every_doubtful_set_is_heard(void **state)
{
    (void)state;
    static const char task[] =
        "{\"schema\": \"kforge-task/1\", \"name\": \"fused\", \"description\": \"y = a b + c\", \"params\": {\"n\": 2048},"
        " \"arguments\": [{\"name\": \"a\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"], \"distribution\": "
        "{\"kind\": \"normal\"}},"
        "  {\"name\": \"b\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"], \"distribution\": {\"kind\": "
        "\"normal\"}},"
        "  {\"name\": \"c\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"], \"distribution\": {\"kind\": "
        "\"normal\"}},"
        "  {\"name\": \"y\", \"kind\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"]},"
        "  {\"name\": \"n\", \"kind\": \"scalar\", \"dtype\": \"i64\", \"value\": \"n\"}],"
        " \"oracle\": {\"file\": \"oracle.cu\"}, \"baseline\": {\"file\": \"baseline.cu\"}, \"tolerance\": {\"error_ratio\": 8},"
        " \"workloads\": [{\"name\": \"main\"}]}";
    static const char oracle[] =
        "#include <cuda_runtime.h>\n#include <stdint.h>\n"
        "__global__ void all(const float *a, const float *b, const float *c, double *y, int64_t n)\n"
        "{ int64_t i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = (double)a[i] * b[i] + c[i]; }\n"
        "extern \"C\" void fused_oracle(const float *a, const float *b, const float *c, double *y, int64_t n, cudaStream_t s)\n"
        "{ all<<<(unsigned)((n + 255) / 256), 256, 0, s>>>(a, b, c, y, n); }\n";
    static const char kernel[] =
        "#include <cuda_runtime.h>\n#include <stdint.h>\n"
        "__global__ void all(const float *a, const float *b, const float *c, float *y, int64_t n)\n"
        "{ int64_t i = blockIdx.x * 256 + threadIdx.x; if (i >= n) return; float r = a[i] * b[i] + c[i];\n"
        "%s"
        "  y[i] = r; }\n"
        "extern \"C\" void fused(const float *a, const float *b, const float *c, float *y, int64_t n, cudaStream_t s)\n"
        "{ all<<<(unsigned)((n + 255) / 256), 256, 0, s>>>(a, b, c, y, n); }\n";
    /* 60 units of rounding, where the baseline has 10: over the 32 that anything may have, under 32 and eight times the baseline's */
    static const char *const bodies[] = {
        "  for (float k = 0; k < 3000; k++) r = k < 0 ? k : -(-r + 0.0f * k);\n  r *= 1.0000006f;\n", "  r *= 1.0000036f;\n"};
    char baseline[2048], candidate[2048];
    snprintf(baseline, sizeof baseline, kernel, bodies[0]);
    snprintf(candidate, sizeof candidate, kernel, bodies[1]);
    kf_error error = {0};
    char *directory = kf_path_join(folder, "fused");
    if (!directory || !kf_directory_make(directory, &error)) fail_msg("%s", error.text);
    write_text(directory, "task.json", task);
    write_text(directory, "oracle.cu", oracle);
    write_text(directory, "baseline.cu", baseline);
    write_text(directory, "candidate.cu", candidate);
    char *source = kf_path_join(directory, "candidate.cu");
    kf_job *job = job_of(directory, source);
    job->options.seconds = 0.1;
    for (int turn = 0, fast = 0; fast < 3; turn++) {
        kf_verdict *verdict = judged_in_peace(job);
        if (verdict->status != KF_CORRECT) fail_msg("%s: %s", kf_status_name(verdict->status), verdict->message);
        const kf_error_figures *f = &verdict->workloads[0].outputs[0].figures;
        assert_true(f->rms > 0 && f->baseline_rms > 0);
        fast += verdict->speedup.value > 4; /* that far ahead of its baseline, but where others use the machine, too */
        assert_true(turn < 12);
        kf_verdict_free(verdict);
    }
    kf_job_free(job);
    free(source);
    kf_directory_remove(directory, NULL);
    free(directory);
}

static int open_judge(void **state)
{
    (void)state;
    kf_error error = {0};
    /* The cache of trusted builds stays; all else that a judge writes is to be gone in the end. */
    folder = kf_directory_temporary("judge", &error);
    if (!folder || setenv("TMPDIR", folder, 1) != 0) fail_msg("%s", error.text);
    before = kf_census_take(folder, &error);
    if (!before) fail_msg("%s", error.text);
    judge = kf_judge_new(&(kf_judge_settings){.device = "cpu"}, &error);
    if (!judge) fail_msg("%s", error.text);
    return 0;
}

static int close_judge(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_buffer left = {0};
    kf_judge_free(judge);
    /* Hundreds of candidates were judged, most of them hostile: no process, descriptor or file of theirs is there, nor anything else that is new. */
    kf_census *after = kf_census_take(folder, &error);
    if (!after) fail_msg("%s", error.text);
    kf_census_news news = kf_census_compare(before, after, &left);
    if (news.own) print_error("left behind:\n%s", left.data);
    kf_buffer_free(&left);
    kf_census_free(before);
    kf_census_free(after);
    kf_directory_remove(folder, NULL);
    free(folder);
    return news.own ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_names),
        cmocka_unit_test(a_timed_verdict_is_complete),
        cmocka_unit_test(verifying_measures_twice),
        cmocka_unit_test(what_is_disturbed_is_measured_again),
        cmocka_unit_test(a_replay_key_repeats_the_inputs),
        cmocka_unit_test(slow_at_first_is_not_judged_on_few_calls),
        cmocka_unit_test(another_function_is_other_code),
        cmocka_unit_test(one_truth_at_a_time),
        cmocka_unit_test(every_doubtful_set_is_heard),
        cmocka_unit_test(known_code_is_not_measured),
        cmocka_unit_test(sanitised_builds_name_the_line),
        cmocka_unit_test(stopping_gives_no_verdict),
        cmocka_unit_test(lint_runs_the_oracle),
        cmocka_unit_test(the_selftest_passes),
    };
    return cmocka_run_group_tests(tests, open_judge, close_judge);
}
