/* Python solutions that are timed, so that no other test may run meanwhile. */
#include "torch_cases.h"

static bool holds(const kf_interval *speedup, double low, double high)
{
    return speedup->low < high && speedup->high > low;
}

/* Times the reference as a solution: it is correct and close to its own time. On a shared machine,
 * other programs may spoil a few measurements, so this test accepts some wrong ones. bench_aa
 * counts them, and unit.measure has the causes found. */
static void the_reference_is_correct(void **state)
{
    (void)state;
    size_t size;
    kf_autofree char *text = kf_file_read(KFORGE_SOURCE_DIR "/tests/kernelbench/level1/2_ReLU.py",
                                          KF_SOURCE_BYTES, &size, NULL);
    kf_autofree char *source = NULL;
    assert_true(asprintf(&source, "%s\n\nModelNew = Model\n", text) > 0);
    kf_auto(kf_verdict) verdict = judge_source("relu", source, true, true);
    for (int again = 0; again < 2; again++) {
        if (verdict->blame != KF_BLAME_MACHINE &&
            (verdict->status != KF_CORRECT || holds(&verdict->speedup, 0.7, 1.3)))
            break;
        kf_verdict_free(verdict);
        verdict = judge_source("relu", source, true, true);
    }
    if (verdict->status != KF_CORRECT || !holds(&verdict->speedup, 0.7, 1.3))
        fail_msg("%s: %s", kf_status_name(verdict->status), verdict->message);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(verdict->kernelbench, "correctness")));
    assert_true(kf_json_get_number(verdict->kernelbench, "runtime", 0) > 0);
    kf_auto(cJSON) json = kf_verdict_to_json(verdict);
    assert_non_null(cJSON_GetObjectItem(json, "kernelbench"));
}

/* A candidate in CUDA C against the eager baseline. */
static void cuda_against_eager(void **state)
{
    (void)state;
    static const char source[] = "__global__ void relu(const float *x, float *y) { int i = "
                                 "blockIdx.x * blockDim.x + threadIdx.x; y[i] = fmaxf(x[i], 0); }\n"
                                 "extern \"C\" void relu_entry(const float *x, float *out, "
                                 "cudaStream_t stream) { relu<<<1024, 256, 0, stream>>>(x, out); "
                                 "}\n";
    kf_error error = {0};
    kf_task *task = kf_task_load(DATA "tasks/relu", &error);
    kf_auto(kf_job) job =
        task ? kf_job_new("cuda", task, source, strlen(source), NULL, 0, &error) : NULL;
    if (!job) fail_msg("%s", error.text);
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, NULL, &error);
    for (int again = 0; again < 2 && verdict; again++) {
        if (verdict->blame != KF_BLAME_MACHINE &&
            (verdict->status != KF_CORRECT || verdict->speedup.value > 0))
            break;
        kf_verdict_free(verdict);
        verdict = kf_judge_run(judge, job, NULL, &error);
    }
    if (!verdict) fail_msg("%s", error.text);
    if (verdict->status != KF_CORRECT) fail_msg("%s", verdict->message);
    assert_true(verdict->speedup.value > 0);
    assert_null(verdict->kernelbench);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_correct),
        cmocka_unit_test(cuda_against_eager),
    };
    return judge_tests("torch_timed", tests, sizeof tests / sizeof *tests, "");
}
