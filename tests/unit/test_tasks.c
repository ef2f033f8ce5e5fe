/* The tasks that kforge ships: they load without any finding of the static lint, resolve on both
 * devices within sensible sizes, and every seed's tune space reads, with a default point that its
 * constraints allow. What their sources compute is tested where they can run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/lint.h"
#include "kforge/task.h"
#include "tuner.h"

static const char *const names[] = {"axpy",
                                    "gemv",
                                    "gemm",
                                    "spmv_csr",
                                    "jacobi2d",
                                    "cg_step",
                                    "reduction",
                                    "row_softmax",
                                    "layernorm",
                                    "transpose",
                                    "conv2d",
                                    "histogram",
                                    "attention",
                                    "bias_gelu",
                                    "jacobi3d",
                                    "rope",
                                    "residual_rms_norm",
                                    "swiglu",
                                    "cross_entropy",
                                    "prefix_scan",
                                    "top_k",
                                    "radix_sort",
                                    "fp8_gemm",
                                    "int4_gemm",
                                    "conv_im2win",
                                    "moe_routing",
                                    "grouped_gemm",
                                    "paged_attention",
                                    "delta_rule",
                                    "bf16_gemm",
                                    "f16_gemm",
                                    "tf32_gemm",
                                    "bf16_attention"};
#define NAMES (sizeof names / sizeof names[0])

static kf_task *load(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tasks/%s", KFORGE_SOURCE_DIR, name);
    kf_error error = {0};
    kf_task *task = kf_task_load(path, &error);
    if (!task) fail_msg("%s", error.text);
    return task;
}

struct findings {
    const char *task;
    int count;
};

static void count_finding(void *context, const kf_lint_finding *finding)
{
    struct findings *findings = context;
    print_error("%s: %s: %s: %s\n", findings->task, finding->rule, finding->path, finding->text);
    findings->count++;
}

static void test_no_findings(void **state)
{
    (void)state;
    struct findings findings = {0};
    for (size_t i = 0; i < NAMES; i++) {
        kf_auto(kf_task) task = load(names[i]);
        findings.task = names[i];
        assert_string_equal(kf_task_name(task), names[i]);
        kf_task_lint_static(task, NULL, count_finding, &findings);
    }
    assert_int_equal(findings.count, 0);
}

/* Sizes: enough for a GPU to be busy, little enough for two slow cores. */
static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        kf_auto(kf_task) task = load(names[i]);
        int timed = 0, untimed = 0, hidden = 0;
        for (int w = 0; w < kf_task_workload_count(task); w++) {
            kf_problem cpu, cuda;
            bool applies;
            kf_error error = {0};
            if (!kf_task_resolve(task, w, "cpu", &cpu, &applies, &error) || !applies)
                fail_msg("%s: %s", names[i], error.text);
            if (!kf_task_resolve(task, w, "cuda", &cuda, &applies, &error) || !applies)
                fail_msg("%s: %s", names[i], error.text);
            timed += cpu.timed;
            untimed += !cpu.timed;
            hidden += cpu.hidden;
            assert_true(cpu.total_bytes <= 8u << 20);
            assert_true(cpu.total_bytes <= cuda.total_bytes);
            assert_true(cuda.total_bytes <= (uint64_t)2 << 30);
            assert_true(cuda.work_bytes > 0 && cuda.work_bytes <= 2 * (double)cuda.total_bytes);
            if (w == 0) {
                assert_string_equal(cpu.workload, "main");
                assert_true(cpu.timed && !cpu.hidden);
            }
        }
        assert_true(timed >= 2 && untimed >= 1 && hidden >= 1);
    }
}

static void test_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        kf_auto(kf_task) task = load(names[i]);
        char oracle[128];
        snprintf(oracle, sizeof oracle, "%s_oracle(", kf_task_entry(task));
        assert_non_null(strstr(kf_task_oracle(task)->text, oracle));
        int portable = 0;
        for (int s = -1; s < kf_task_seed_count(task); s++) {
            const kf_task_file *file = s < 0 ? kf_task_baseline(task) : kf_task_seed(task, s);
            assert_int_equal(strncmp(file->text, "/* ", 3), 0);
            if (!strstr(file->text, "asm")) {
                portable += s >= 0;
                continue;
            }
            /* PTX is for a seed that refuses other devices in words. */
            if (s < 0 || !strstr(file->text, "#error \"This candidate needs compute capability"))
                fail_msg("%s/%s: not every device can run it", names[i], file->name);
        }
        assert_true(portable >= 1); /* both devices have to run it */
    }
}

static void test_tune_spaces(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        kf_auto(kf_task) task = load(names[i]);
        for (int s = 0; s < kf_task_seed_count(task); s++) {
            const kf_task_file *seed = kf_task_seed(task, s);
            kf_error error = {0};
            kf_auto(kf_tune_space) space = kf_tune_space_read(seed->text, &error);
            if (!space) fail_msg("%s/%s: %s", names[i], seed->name, error.text);
            bool exact;
            kf_tune_point point;
            kf_tune_point_default(space, &point);
            if (!kf_tune_point_valid(space, &point))
                fail_msg("%s/%s: its defaults violate its constraints", names[i], seed->name);
            assert_true(kf_tune_space_axes(space) >= 2);
            assert_true(kf_tune_space_size(space, &exact) >= 8);
        }
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_findings),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_tune_spaces),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
