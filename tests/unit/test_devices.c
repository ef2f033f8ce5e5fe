/* `--devices`: which GPUs a run judges on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "devices.h"

static void lists(void **state)
{
    (void)state;
    kf_devices devices;
    kf_error error = {0};
    assert_true(kf_devices_parse("all", 3, &devices, &error));
    assert_int_equal(devices.count, 3);
    assert_string_equal(devices.items[2], "cuda:2");
    assert_true(kf_devices_parse("2,0", 3, &devices, &error));
    assert_int_equal(devices.count, 2);
    assert_string_equal(devices.items[0], "cuda:2");
    assert_string_equal(devices.items[1], "cuda:0");
    assert_true(kf_devices_parse("cuda:1", 2, &devices, &error));
    assert_int_equal(devices.count, 1);
    assert_string_equal(devices.items[0], "cuda:1");
}

static void what_is_no_list(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int available;
        kf_error_code code;
        const char *says;
    } rows[] = {
        {"", 2, KF_ERROR_INPUT, "expected all"},
        {"0,", 2, KF_ERROR_INPUT, "expected all"},
        {"0;1", 2, KF_ERROR_INPUT, "expected all"},
        {"-1", 2, KF_ERROR_INPUT, "expected all"},
        {"cpu", 2, KF_ERROR_INPUT, "expected all"},
        {"0,0", 2, KF_ERROR_INPUT, "cuda:0 is named twice"},
        {"0,2", 2, KF_ERROR_MACHINE, "shows 2 GPUs"},
        {"all", 0, KF_ERROR_MACHINE, "no GPU"},
        {"99999", 2, KF_ERROR_INPUT, "expected all"},
        {"1", 1, KF_ERROR_MACHINE, "shows 1 GPU ("},
        {"0", 0, KF_ERROR_MACHINE, "kforge doctor"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_devices devices;
        kf_error error = {0};
        if (kf_devices_parse(rows[i].text, rows[i].available, &devices, &error))
            fail_msg("\"%s\" is taken", rows[i].text);
        assert_int_equal(error.code, rows[i].code);
        if (!strstr(error.text, rows[i].says)) fail_msg("\"%s\": %s", rows[i].text, error.text);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists), cmocka_unit_test(what_is_no_list)};
    return TEST_GROUP(tests, NULL, NULL);
}
