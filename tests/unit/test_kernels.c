/* Tests that the judge's kernels compile for every supported architecture. Skipped without NVRTC.
 * tests/gpu tests their results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test_main.h"
#include "kernels_build.h"

static void compile_for(int major)
{
    if (!kf_nvrtc_version()[0]) skip();
    kf_error error = {0};
    size_t size = 0;
    char *image = kf_kernels_image(NULL, major, 0, &size, &error);
    if (!image) fail_msg("%s", error.text);
    assert_true(size > 1000);
    assert_memory_equal(image, "\177ELF", 4);
    free(image);
}

static void they_compile_for_ampere(void **state)
{
    (void)state;
    compile_for(8);
}

static void they_compile_for_hopper(void **state)
{
    (void)state;
    compile_for(9);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_compile_for_ampere),
                                       cmocka_unit_test(they_compile_for_hopper)};
    return TEST_GROUP(tests, NULL, NULL);
}
