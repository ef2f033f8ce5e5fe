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

static void they_compile(void **state)
{
    (void)state;
    if (!kf_nvrtc_version()[0]) skip();
    static const int architectures[][2] = {{8, 0}, {9, 0}};
    for (size_t i = 0; i < 2; i++) {
        kf_error error = {0};
        size_t size = 0;
        char *image =
            kf_kernels_image(NULL, architectures[i][0], architectures[i][1], &size, &error);
        if (!image) fail_msg("%s", error.text);
        assert_true(size > 1000);
        assert_memory_equal(image, "\177ELF", 4);
        free(image);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_compile)};
    return TEST_GROUP(tests, NULL, NULL);
}
