/* The judge on timed candidates, so that no other test may run meanwhile. test_judge.c has the
 * other candidates. */
#include "test_judge_common.h"
#include "test_main.h"

/* For what is about times: on a busy machine they may be disturbed, or the fixed cost may hide so
 * short a batch. */
static kf_verdict *judged_in_peace(kf_job *job)
{
    kf_verdict *verdict = judged(job);
    for (int turn = 0;
         turn < 4 && (verdict->status == KF_INTERFERENCE || isnan(verdict->speedup.low)); turn++) {
        kf_verdict_free(verdict);
        verdict = judged(job);
    }
    return verdict;
}

static void a_timed_verdict_is_complete(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale",
                         KFORGE_SOURCE_DIR "/tests/honest/scale/three_times_slower.cu");
    job->options.seconds = 0.3;
    kf_verdict *verdict = judged_in_peace(job);
    /* so it is where the machine lets it */
    for (int turn = 0; turn < 6 && !(verdict->speedup.value < 0.7); turn++) {
        kf_verdict_free(verdict);
        verdict = judged_in_peace(job);
    }
    assert_string_equal(kf_status_name(verdict->status), "correct");
    assert_true(verdict->speedup.value < 0.7);
    assert_true(verdict->speedup.low <= verdict->speedup.value &&
                verdict->speedup.value <= verdict->speedup.high);
    assert_int_equal(verdict->workload_count, 2);
    const kf_workload_verdict *timed = &verdict->workloads[1]; /* what is not timed comes first */
    assert_string_equal(timed->workload, "main");
    assert_true(timed->timed && timed->pairs >= 8 && timed->sets >= 3);
    assert_true(timed->baseline_seconds > 0 && timed->candidate_seconds > timed->baseline_seconds);
    assert_true(timed->batch_cost_seconds > 0 && timed->floor_seconds > 0);
    int sides[256] = {0};
    for (size_t i = 0; i < timed->sample_count; i++) sides[(unsigned char)timed->samples[i].side]++;
    assert_true(sides['b'] > timed->pairs && sides['c'] == sides['b'] && sides['n'] >= 8 &&
                sides['a'] >= 7);
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
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale",
                         KFORGE_SOURCE_DIR "/tests/honest/scale/three_times_slower.cu");
    job->options.seconds = 0.3;
    job->options.verify = true;
    kf_verdict *verdict = judged_in_peace(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    /* On a noisy machine the two may disagree, and then a flag says so. */
    assert_true(verdict->reverified || verdict->flag_count > 0);
    kf_verdict_free(verdict);
    kf_job_free(job);
}

static const kf_sample *sample_of(const kf_workload_verdict *w, char side, int pair)
{
    for (size_t i = 0; i < w->sample_count; i++)
        if (w->samples[i].side == side && w->samples[i].pair == pair) return &w->samples[i];
    return NULL;
}

/* A candidate that leaves out a call now and then must not go by chance: the outputs of every call
 * that has a time are compared, in batches and alone. So are those of watched batches, which are no
 * samples. */
static void every_call_is_compared(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", NULL);
    job->options.seconds = 0.3;
    kf_verdict *verdict = judged_in_peace(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    const kf_workload_verdict *timed = &verdict->workloads[1];
    int64_t calls = 0, alone = 0;
    for (size_t i = 0; i < timed->sample_count; i++) {
        calls += timed->samples[i].side == 'c' ? timed->samples[i].calls : 0;
        alone += timed->samples[i].side == 'C' ? timed->samples[i].calls : 0;
    }
    assert_true(calls > 8);
    assert_true(timed->outputs[0].figures.compared >= (calls + alone) * 60000);
    kf_verdict_free(verdict);
    kf_job_free(job);
}

/* A candidate that was slow in its warm-up gets short batches, until they take less than half of
 * the baseline's time. */
static void slow_at_first_is_not_judged_on_few_calls(void **state)
{
    (void)state;
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale",
                         KFORGE_SOURCE_DIR "/tests/hostile/scale/slow_at_first.cu");
    job->options.seconds = 0.3;
    kf_verdict *verdict = judged_in_peace(job);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    int pairs = 0;
    for (size_t i = 0; i < verdict->workload_count; i++)
        for (int pair = 0; pair < verdict->workloads[i].pairs; pair++) {
            const kf_sample *b = sample_of(&verdict->workloads[i], 'b', pair),
                            *c = sample_of(&verdict->workloads[i], 'c', pair);
            assert_true(b && c);
            if (c->calls < b->calls) assert_true(c->seconds >= b->seconds / 2);
            pairs++;
        }
    assert_true(pairs >= 8);
    kf_verdict_free(verdict);
    kf_job_free(job);
}

/* ---- less exact than the baseline, and many times faster ------------------------------------- */

static void write_text(const char *directory, const char *name, const char *text)
{
    kf_error error = {0};
    char *path = kf_path_join(directory, name);
    if (!path || !kf_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
    free(path);
}

/* In one batch of the candidate are then more ways to vary an input than the baseline was seen on,
 * all of them doubtful. */
static void every_doubtful_set_is_heard(void **state)
{
    (void)state;
    static const char task[] =
        "{\"schema\": \"kforge-task/1\", \"name\": \"fused\", \"description\": \"y = a b + c\", "
        "\"params\": {\"n\": 2048},"
        " \"arguments\": [{\"name\": \"a\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": "
        "[\"n\"], \"distribution\": "
        "{\"kind\": \"normal\"}},"
        "  {\"name\": \"b\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"], "
        "\"distribution\": {\"kind\": "
        "\"normal\"}},"
        "  {\"name\": \"c\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"], "
        "\"distribution\": {\"kind\": "
        "\"normal\"}},"
        "  {\"name\": \"y\", \"kind\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"]},"
        "  {\"name\": \"n\", \"kind\": \"scalar\", \"dtype\": \"i64\", \"value\": \"n\"}],"
        " \"oracle\": {\"file\": \"oracle.cu\"}, \"baseline\": {\"file\": \"baseline.cu\"}, "
        "\"tolerance\": {\"error_ratio\": 8},"
        " \"workloads\": [{\"name\": \"main\"}]}";
    static const char oracle[] =
        "#include <cuda_runtime.h>\n#include <stdint.h>\n"
        "__global__ void all(const float *a, const float *b, const float *c, double *y, int64_t "
        "n)\n"
        "{ int64_t i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = (double)a[i] * b[i] + "
        "c[i]; }\n"
        "extern \"C\" void fused_oracle(const float *a, const float *b, const float *c, double *y, "
        "int64_t n, cudaStream_t s)\n"
        "{ all<<<(unsigned)((n + 255) / 256), 256, 0, s>>>(a, b, c, y, n); }\n";
    static const char kernel[] =
        "#include <cuda_runtime.h>\n#include <stdint.h>\n"
        "__global__ void all(const float *a, const float *b, const float *c, float *y, int64_t n)\n"
        "{ int64_t i = blockIdx.x * 256 + threadIdx.x; if (i >= n) return; float r = a[i] * b[i] + "
        "c[i];\n"
        "%s"
        "  y[i] = r; }\n"
        "extern \"C\" void fused(const float *a, const float *b, const float *c, float *y, int64_t "
        "n, cudaStream_t s)\n"
        "{ all<<<(unsigned)((n + 255) / 256), 256, 0, s>>>(a, b, c, y, n); }\n";
    /* 60 units of rounding, where the baseline has 10: over the 32 that anything may have, under 32
     * and eight times the baseline's */
    static const char *const bodies[] = {"  for (float k = 0; k < 3000; k++) r = k < 0 ? k : -(-r "
                                         "+ 0.0f * k);\n  r *= 1.0000006f;\n",
                                         "  r *= 1.0000036f;\n"};
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
        if (verdict->status != KF_CORRECT)
            fail_msg("%s: %s", kf_status_name(verdict->status), verdict->message);
        const kf_error_figures *f = &verdict->workloads[0].outputs[0].figures;
        assert_true(f->rms > 0 && f->baseline_rms > 0);
        /* that far ahead of its baseline, but where others use the machine, too */
        fast += verdict->speedup.value > 4;
        assert_true(turn < 12);
        kf_verdict_free(verdict);
    }
    kf_job_free(job);
    free(source);
    kf_directory_remove(directory, NULL);
    free(directory);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timed_verdict_is_complete),
        cmocka_unit_test(verifying_measures_twice),
        cmocka_unit_test(slow_at_first_is_not_judged_on_few_calls),
        cmocka_unit_test(every_call_is_compared),
        cmocka_unit_test(every_doubtful_set_is_heard),
    };
    return TEST_GROUP(tests, open_judge, close_judge);
}
