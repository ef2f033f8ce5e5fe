/* Element types: the table, exact decoding, rounding to nearest even at every border. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/dtype.h"

static void names_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < KF_DTYPE_COUNT; i++) {
        kf_dtype dtype;
        assert_true(kf_dtype_parse(kf_dtype_name((kf_dtype)i), &dtype));
        assert_int_equal(dtype, i);
        assert_true(kf_dtype_size(dtype) >= 1 && kf_dtype_size(dtype) <= 8);
        assert_true(strlen(kf_dtype_ctype(dtype)) > 2);
        assert_true(kf_dtype_is_float(dtype) == (kf_dtype_roundoff(dtype) > 0));
    }
    kf_dtype dtype = KF_I8;
    assert_false(kf_dtype_parse("float", &dtype));
    assert_false(kf_dtype_parse("", &dtype));
    assert_int_equal(dtype, KF_I8);
    assert_true(kf_dtype_roundoff(KF_F32) == 0x1p-24);
    assert_true(kf_dtype_roundoff(KF_TF32) == 0x1p-11);
    assert_true(kf_dtype_roundoff(KF_BF16) == 0x1p-8);
}

/* Every finite code decodes to something that encodes to the same code, and halfway points go to
 * the even neighbour. */
static void narrow_formats_are_exact(void **state)
{
    (void)state;
    const kf_dtype narrow[] = {KF_F16, KF_BF16, KF_F8E4M3, KF_F8E5M2};
    for (size_t t = 0; t < 4; t++) {
        size_t size = kf_dtype_size(narrow[t]);
        uint32_t half = size == 2 ? 1u << 15 : 1u << 7;
        for (uint32_t code = 0; code < 2 * half; code++) {
            uint16_t bits = (uint16_t)code, back = 0;
            double value = kf_dtype_load(narrow[t], &bits);
            kf_dtype_store(narrow[t], &back, value);
            if (isnan(value)) {
                assert_true(isnan(kf_dtype_load(narrow[t], &back)));
                continue;
            }
            assert_int_equal(back, code);
            uint16_t next_bits = (uint16_t)(code + 1);
            double next = kf_dtype_load(narrow[t], &next_bits);
            if (code + 1 >= half || !isfinite(next)) continue;
            assert_true(next > value);
            double middle = (value + next) / 2;
            kf_dtype_store(narrow[t], &back, middle);
            assert_int_equal(back, code & 1 ? code + 1 : code);
            kf_dtype_store(narrow[t], &back, nextafter(middle, value));
            assert_int_equal(back, code);
            kf_dtype_store(narrow[t], &back, nextafter(middle, next));
            assert_int_equal(back, code + 1);
        }
    }
}

static void known_values(void **state)
{
    (void)state;
    const struct {
        kf_dtype dtype;
        double value;
        uint32_t bits;
    } rows[] = {
        {KF_F16, 65504, 0x7bff},
        {KF_F16, 65519.99, 0x7bff},
        {KF_F16, 65520, 0x7c00},
        {KF_F16, -1e300, 0xfc00},
        {KF_F16, 0x1p-24, 1},
        {KF_F16, 0x1p-25, 0},
        {KF_F16, 0x1.8p-25, 1},
        {KF_F16, -0.0, 0x8000},
        {KF_BF16, 1.0, 0x3f80},
        {KF_BF16, 3.3895e38, 0x7f7f},
        {KF_BF16, 3.4e38, 0x7f80},
        {KF_F8E4M3, 448, 0x7e},
        {KF_F8E4M3, 463.9, 0x7e},
        {KF_F8E4M3, 464, 0x7e},
        {KF_F8E4M3, 465, 0x7f},
        {KF_F8E4M3, (double)INFINITY, 0x7f},
        {KF_F8E4M3, 0x1p-9, 1},
        {KF_F8E5M2, 57344, 0x7b},
        {KF_F8E5M2, 61440, 0x7c},
        {KF_F8E5M2, 5e-324, 0},
        {KF_I8, 200, 127},
        {KF_I8, -2.5, 0xfe},
        {KF_U8, -3, 0},
        {KF_U8, 254.5, 254},
        {KF_BOOL, 0.25, 1},
        {KF_I16, (double)NAN, 0},
        {KF_I32, 1e10, 0x7fffffff},
        {KF_F32, 1.0, 0x3f800000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t bits = 0;
        kf_dtype_store(rows[i].dtype, &bits, rows[i].value);
        if (bits != rows[i].bits)
            fail_msg("%s of %g: %x, expected %x", kf_dtype_name(rows[i].dtype), rows[i].value, bits,
                     rows[i].bits);
    }
    int64_t wide = 0;
    kf_dtype_store(KF_I64, &wide, 1e300);
    assert_true(wide == INT64_MAX);
    kf_dtype_store(KF_I64, &wide, -1e300);
    assert_true(wide == INT64_MIN);
    uint8_t strange = 2;
    assert_true(kf_dtype_load(KF_BOOL, &strange) == 2.0);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_round_trip),
        cmocka_unit_test(narrow_formats_are_exact),
        cmocka_unit_test(known_values),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
