/* What ptxas says becomes figures; whatever else is in the compiler's output does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "ptxas.h"

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    assert_non_null(item);
    return item->valuedouble;
}

/* As a verdict's reader sees it. */
static cJSON *read_back(cJSON *report)
{
    char *text = cJSON_PrintUnformatted(report);
    cJSON *read = cJSON_Parse(text);
    assert_non_null(read);
    cJSON_free(text);
    cJSON_Delete(report);
    return read;
}

static void kernels_have_figures(void **state)
{
    (void)state;
    const char *log =
        "candidate.cu(3): warning #177-D: variable was declared but never referenced\n"
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90a'\n"
        "ptxas info    : Function properties for _Z1aPf\n"
        "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 4096 bytes smem, 380 bytes cmem[0]\n"
        "ptxas info    : Compiling entry function 'b' for 'sm_90a'\n"
        "ptxas info    : Function properties for b\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 10 registers, used 0 barriers, 8192 bytes smem\n";
    cJSON *report = read_back(kf_ptxas_report(log)),
          *kernels = cJSON_GetObjectItem(report, "kernels");
    assert_int_equal(cJSON_GetArraySize(kernels), 2);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(kernels, 0), "name")->valuestring,
                        "_Z1aPf");
    assert_true(number(cJSON_GetArrayItem(kernels, 0), "registers") == 255 &&
                number(cJSON_GetArrayItem(kernels, 0), "shared_bytes") == 4096);
    assert_true(number(cJSON_GetArrayItem(kernels, 0), "spill_load_bytes") == 12 &&
                number(cJSON_GetArrayItem(kernels, 1), "registers") == 10);
    assert_true(number(report, "registers") == 255 && number(report, "spill_bytes") == 20 &&
                number(report, "stack_bytes") == 16);
    assert_true(number(report, "shared_bytes") == 8192);
    cJSON_Delete(report);
}

static void anything_may_come(void **state)
{
    (void)state;
    const char *logs[] = {"",
                          "\n\n",
                          "Compiling entry function '",
                          "Compiling entry function ''",
                          "Used  registers",
                          "bytes stack frame\nUsed 3 registers"};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        cJSON *report = kf_ptxas_report(logs[i]);
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(report, "kernels")), 0);
        cJSON_Delete(report);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_have_figures),
                                       cmocka_unit_test(anything_may_come)};
    return TEST_GROUP(tests, NULL, NULL);
}
