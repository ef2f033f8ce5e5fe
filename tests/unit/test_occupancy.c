/* Values are those of the Nsight Compute occupancy calculator and of
 * cudaOccupancyMaxActiveBlocksPerMultiprocessor's arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/json.h"
#include "kforge/occupancy.h"

static void known_values(void **state)
{
    (void)state;
    static const struct {
        int major, minor, threads, registers, shared, resident, warps;
        kf_occupancy_limit limit;
    } rows[] = {
        {9, 0, 256, 32, 0, 8, 64, KF_OCCUPANCY_WARPS},
        /* 40 registers are given out: 12 warps a quarter */
        {9, 0, 256, 33, 0, 6, 48, KF_OCCUPANCY_REGISTERS},
        {9, 0, 1024, 64, 0, 1, 32, KF_OCCUPANCY_REGISTERS}, /* the whole file */
        {9, 0, 1024, 65, 0, 0, 0, KF_OCCUPANCY_REGISTERS},  /* does not fit */
        {9, 0, 32, 16, 0, 32, 32, KF_OCCUPANCY_BLOCKS},     /* 32 blocks of one warp */
        /* 8192 registers a warp, two warps a quarter */
        {9, 0, 128, 255, 0, 2, 8, KF_OCCUPANCY_REGISTERS},
        {9, 0, 128, 32, 48 * 1024, 4, 16, KF_OCCUPANCY_SHARED}, /* 228 KiB / (48 + 1) KiB */
        {9, 0, 128, 32, 227 * 1024, 1, 4, KF_OCCUPANCY_SHARED}, /* the most a block may have */
        {9, 0, 128, 32, 228 * 1024, 0, 0, KF_OCCUPANCY_SHARED},
        {8, 6, 1024, 32, 0, 1, 32, KF_OCCUPANCY_WARPS}, /* 48 warps: one block of 32 */
        {8, 6, 32, 32, 0, 16, 16, KF_OCCUPANCY_BLOCKS},
        {7, 5, 1024, 32, 0, 1, 32, KF_OCCUPANCY_WARPS},
        /* no reserved kilobyte before 8.0: 32 blocks of 3072 bytes fit */
        {7, 0, 64, 0, 3000, 32, 64, KF_OCCUPANCY_WARPS},
        {8, 9, 96, 40, 0, 16, 48, KF_OCCUPANCY_WARPS},
        {9, 0, 33, 32, 0, 32, 64, KF_OCCUPANCY_WARPS}, /* a second warp for one thread */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_sm_limits limits;
        kf_occupancy got;
        assert_true(kf_sm_limits_of(rows[i].major, rows[i].minor, &limits));
        assert_true(
            kf_occupancy_of(&limits, rows[i].threads, rows[i].registers, rows[i].shared, &got));
        if (got.resident != rows[i].resident || got.warps != rows[i].warps ||
            got.limit != rows[i].limit)
            fail_msg("row %zu: %d blocks, %d warps, limit %s", i, got.resident, got.warps,
                     kf_occupancy_limit_name(got.limit));
        assert_true(fabs(got.part - (double)got.warps / limits.warps) < 1e-12);
    }
}

static void impossible_figures_are_refused(void **state)
{
    (void)state;
    kf_sm_limits limits;
    kf_occupancy got;
    assert_true(kf_sm_limits_of(9, 0, &limits));
    assert_false(kf_occupancy_of(&limits, 0, 32, 0, &got));
    assert_false(kf_occupancy_of(&limits, 1025, 32, 0, &got));
    assert_false(kf_occupancy_of(&limits, 32, 256, 0, &got));
    assert_false(kf_occupancy_of(&limits, 32, -1, 0, &got));
    assert_false(kf_occupancy_of(&limits, 32, 32, -1, &got));
    assert_false(kf_sm_limits_of(6, 0, &limits));
    assert_false(kf_sm_limits_of(99, 0, &limits));
}

static void best_block_size(void **state)
{
    (void)state;
    kf_sm_limits limits;
    kf_occupancy best;
    int threads;
    assert_true(kf_sm_limits_of(9, 0, &limits));
    assert_true(kf_occupancy_best(&limits, 32, 0, &best, &threads));
    assert_int_equal(best.warps, 64);
    assert_int_equal(threads, 64); /* 32 blocks of two warps */
    assert_true(kf_occupancy_best(&limits, 64, 100 * 1024, &best, &threads));
    assert_int_equal(best.resident, 2); /* two blocks of 16 warps by their shared memory */
    assert_int_equal(threads, 512);
}

static void report_of_ptxas(void **state)
{
    (void)state;
    kf_auto(cJSON) report = cJSON_Parse("{\"kernels\":[{\"name\":\"a\",\"registers\":32,\"shared_"
                                        "bytes\":0},{\"name\":\"b\",\"registers\":128,"
                                        "\"shared_bytes\":0},{\"name\":\"c\"},{\"name\":\"d\","
                                        "\"registers\":1e9,\"shared_bytes\":-3}]}");
    assert_non_null(report);
    assert_true(kf_occupancy_report(report, 9, 0));
    const cJSON *kernels = cJSON_GetObjectItem(report, "kernels"),
                *b = cJSON_GetArrayItem(kernels, 1);
    assert_true(kf_json_get_number(cJSON_GetArrayItem(kernels, 0), "occupancy", -1) == 1);
    assert_true(kf_json_get_number(b, "occupancy", -1) == 0.25);
    assert_string_equal(cJSON_GetObjectItem(b, "occupancy_limit")->valuestring, "registers");
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(kernels, 2), "occupancy"));
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(kernels, 3), "occupancy"));
    assert_true(kf_json_get_number(report, "occupancy", -1) == 0.25);

    kf_auto(cJSON) unknown = cJSON_Parse("{\"kernels\":[{\"registers\":32,\"shared_bytes\":0}]}");
    assert_true(kf_occupancy_report(unknown, 3, 5));
    assert_null(cJSON_GetObjectItem(unknown, "occupancy"));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(impossible_figures_are_refused),
        cmocka_unit_test(best_block_size),
        cmocka_unit_test(report_of_ptxas),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
