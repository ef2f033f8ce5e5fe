/* Tests that one device thread computes the same bits as the CPU's vectorised loops, for every
 * distribution, type and variation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "inputs_plan_make.h"

#include "inputs_element.h"

#define MOST 5003

static void compare(kf_distribution_kind kind, kf_dtype dtype, kf_variation variation, double a,
                    double b, int64_t rows, int64_t columns)
{
    kf_problem_argument argument = {.name = "x",
                                    .kind = KF_INPUT,
                                    .dtype = dtype,
                                    .dims = 2,
                                    .shape = {rows, columns},
                                    .elements = rows * columns};
    argument.bytes = (uint64_t)argument.elements * kf_dtype_size(dtype);
    argument.distribution =
        (kf_distribution){.kind = kind,
                          .a = a,
                          .b = b,
                          .vary = true,
                          .nonfinite = true,
                          .stray_low = kind == KF_ONE_HOT || kind == KF_SORTED ? -3 : 0,
                          .stray_high = kind == KF_ONE_HOT || kind == KF_SORTED ? 2000 : 0};
    kf_key key = {.secret = 0x9d2c5680a5f1e37bu + (uint64_t)kind, .set = 3, .argument = 5};
    static unsigned char expected[MOST * 8 + 64], got[MOST * 8 + 64];
    size_t size = kf_dtype_size(dtype);
    memset(expected, 0x5a, sizeof expected);
    memset(got, 0x5a, sizeof got);
    kf_input_fill(&argument, key, variation, expected, 0, argument.elements);
    kf_input_plan plan = kf_input_plan_make(&argument, key, variation);
    for (uint64_t group = 0; 4 * group < plan.elements; group++) {
        uint64_t bits[4];
        kf_input_four(&plan, group, bits);
        for (uint64_t i = 0; i < 4 && 4 * group + i < plan.elements; i++)
            memcpy(got + (4 * group + i) * size, &bits[i], size);
    }
    if (memcmp(expected, got, argument.bytes) == 0) return;
    size_t at = 0;
    while (expected[at] == got[at]) at++;
    fail_msg("kind %d, %s, %s: element %zu differs", (int)kind, kf_dtype_name(dtype),
             kf_variation_name(variation), at / size);
}

static void a_thread_computes_what_the_loops_compute(void **state)
{
    (void)state;
    static const struct {
        kf_distribution_kind kind;
        double a, b;
    } rows[] = {
        {KF_NORMAL, 0, 1},           {KF_NORMAL, 3, 0.25},          {KF_UNIFORM, 0, 1},
        {KF_UNIFORM, -3, 5},         {KF_INTEGERS, -7, 100},        {KF_INTEGERS, 0, 1e15},
        {KF_PERMUTATION, 0, 0},      {KF_SORTED, 0, 1000},          {KF_OFFSETS, 40000, 1},
        {KF_OFFSETS, 40000, 2.5},    {KF_SPARSE, 0.1, 0},           {KF_CONSTANT, 2.5, 0},
        {KF_ONE_HOT, 0, 0},          {KF_POSITIVE_DEFINITE, 1, 0},  {KF_SYMMETRIC, -1, 2},
        {KF_UPPER_TRIANGULAR, 0, 1}, {KF_LOWER_TRIANGULAR, -3, -1}, {KF_SIGNS, 0, 0},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int dtype = 0; dtype < KF_DTYPE_COUNT; dtype++)
            for (int variation = 0; variation < KF_VARIATION_COUNT; variation++) {
                compare(rows[r].kind, (kf_dtype)dtype, (kf_variation)variation, rows[r].a,
                        rows[r].b, 1, MOST);
                compare(rows[r].kind, (kf_dtype)dtype, (kf_variation)variation, rows[r].a,
                        rows[r].b, 37, 41);
                compare(rows[r].kind, (kf_dtype)dtype, (kf_variation)variation, rows[r].a,
                        rows[r].b, 16, 300);
            }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_computes_what_the_loops_compute)};
    return TEST_GROUP(tests, NULL, NULL);
}
