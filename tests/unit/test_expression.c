/* Expressions: values, checked arithmetic, errors with their column, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/buffer.h"
#include "kforge/expression.h"

static const kf_binding bindings[] = {
    {"rows", 4096}, {"cols", 1003}, {"zero", 0}, {"big", INT64_MAX}, {"low", INT64_MIN}};

static bool evaluate(const char *text, kf_value *value, kf_error *error)
{
    kf_auto(kf_expression) expression = kf_expression_parse(text, error);
    if (!expression) return false;
    assert_string_equal(kf_expression_text(expression), text);
    return kf_expression_evaluate(expression, bindings, sizeof bindings / sizeof *bindings, value,
                                  error);
}

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t expected;
    } rows[] = {
        {"42", 42},
        {" rows ", 4096},
        {"2*rows*cols*4", 2LL * 4096 * 1003 * 4},
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"10-4-3", 3},
        {"100/7/2", 7},
        {"-7/2", -3},
        {"-7%2", -1},
        {"7%-2", 1},
        {"low % -1", 0},
        {"- -3", 3},
        {"+3", 3},
        {"!0 + !5", 1},
        {"1 < 2 == 1", 1},
        {"1 + 1 == 2 && 3 > 2 || 1/0", 1},
        {"0 && 1/0", 0},
        {"1 || 1/0", 1},
        {"0 || 0", 0},
        {"1 && 7", 1},
        {"zero ? 1/zero : 5", 5},
        {"1 ? 2 : 1/zero", 2},
        {"0 ? 1 : 0 ? 2 : 3", 3},
        {"1 ? 0 ? 4 : 5 : 6", 5},
        {"min(3, 2) + max(3, 2) * 10", 32},
        {"ceil_div(7, 2)", 4},
        {"ceil_div(8, 2)", 4},
        {"ceil_div(0, 2)", 0},
        {"ceil_div(-7, 2)", -3},
        {"ceil_div(big, 1)", INT64_MAX},
        {"abs(-3) + abs(3)", 6},
        {"big - 1 < big", 1}, /* equal as doubles */
        {"big != big - 1", 1},
        {"rows <= 4096", 1},
        {"rows <= 4095", 0},
        {"9223372036854775807", INT64_MAX},
        {"\t\n1\r ", 1},
        {"rows*2 >= cols != 0", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_value value = {0};
        if (!evaluate(rows[i].text, &value, &error)) fail_msg("%s: %s", rows[i].text, error.text);
        if (!value.is_integer || value.integer != rows[i].expected)
            fail_msg("%s gives %lld", rows[i].text, (long long)value.integer);
        assert_true(value.number == (double)rows[i].expected);
    }
}

static void decimals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double expected;
    } rows[] = {
        {"0.5", 0.5},           {".25", 0.25},      {"1.", 1},
        {"1e3", 1000},          {"2.5E-1", 0.25},   {"1/2.0", 0.5},
        {"1-0.25", 0.75},       {"rows*1.5", 6144}, {"log2(rows)", 12},
        {"-0.5", -0.5},         {"abs(-0.5)", 0.5}, {"min(1, 0.5)", 0.5},
        {"max(1, 0.5)", 1},     {"1e308", 1e308},   {"0 ? 1 : 2.5", 2.5},
        {"0.1+0.2", 0.1 + 0.2}, {"log2(0.5)", -1},  {"5*rows*log2(rows)", 245760},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_value value = {0};
        if (!evaluate(rows[i].text, &value, &error)) fail_msg("%s: %s", rows[i].text, error.text);
        if (value.is_integer || value.number != rows[i].expected)
            fail_msg("%s gives %.17g", rows[i].text, value.number);
    }
}

static void errors_name_the_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"", "column 1: expected a number, a name or '(', found the end"},
        {"rows*", "column 6: expected a number, a name or '(', found the end"},
        {"(1+2", "column 5: expected ')' or an operator, found the end"},
        {"1+2)", "column 4: expected an operator or the end, found ')'"},
        {"1 = 2", "column 3: expected '==' to compare, found '='"},
        {"rows cols", "column 6: expected an operator or the end, found 'cols'"},
        {"3rows", "column 2: expected an operator behind the number, found 'rows'"},
        {"1.2.3", "column 4: expected an operator behind the number, found '.'"},
        {"1e", "column 3: expected the digits of an exponent, found the end"},
        {"1e999", "column 1: expected a number that a double can hold"},
        {"9223372036854775808", "column 1: expected an integer below 2^63"},
        {"rows ? 1", "column 9: expected ':' of the condition, found the end"},
        {"min(1)", "column 6: expected ',' between the two operands, found ')'"},
        {"min 1", "column 5: expected '(' behind the function's name"},
        {"log2(1, 2)", "column 7: expected ')' behind the function's operands, found ','"},
        {"mim(1, 2)", "column 1: there is no function mim; did you mean min"},
        {"sqrtish(1)", "there are min, max, ceil_div, log2, abs"},
        {"1 $ 2", "column 3: expected an operator or the end, found '$'"},
        {"\xc3\xa4",
         "expression \"??\", column 1: expected a number, a name or '(', found a byte 0xc3"},
        {"row + 1", "column 1: unknown name row; did you mean rows?"},
        {"1 + completely_different", "column 5: unknown name completely_different"},
        {"1/zero", "column 2: division by zero"},
        {"1%zero", "column 2: division by zero"},
        {"1.5/zero", "column 4: division by zero"},
        {"1.5 % 2", "column 5: '%' takes integers, not decimals"},
        {"ceil_div(1.5, 2)", "column 1: 'ceil_div' takes integers, not decimals"},
        {"ceil_div(1, zero)", "column 1: the divisor of ceil_div has to be positive"},
        {"big + 1", "column 5: 64-bit integer overflow in '+'"},
        {"low - 1", "column 5: 64-bit integer overflow in '-'"},
        {"big * 2", "column 5: 64-bit integer overflow in '*'"},
        {"low / -1", "column 5: 64-bit integer overflow in '/'"},
        {"-low", "column 1: 64-bit integer overflow"},
        {"abs(low)", "column 1: 64-bit integer overflow"},
        {"1e308*10", "column 6: the result is beyond what a double can hold"},
        {"log2(zero)", "column 1: log2 of a number that is not positive"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_value value;
        if (evaluate(rows[i].text, &value, &error)) fail_msg("%s is accepted", rows[i].text);
        assert_int_equal(error.code, KF_ERROR_INPUT);
        if (!strstr(error.text, rows[i].expected))
            fail_msg("\"%s\": expected \"%s\"", error.text, rows[i].expected);
    }
}

/* `count` times `left`, "1", `count` times `right`. */
static kf_error_code nested(const char *left, const char *right, int count)
{
    kf_autobuffer buffer = {0};
    for (int i = 0; i < count; i++) kf_buffer_string(&buffer, left);
    kf_buffer_string(&buffer, "1");
    for (int i = 0; i < count; i++) kf_buffer_string(&buffer, right);
    kf_error error = {0};
    kf_value value;
    if (!evaluate(buffer.data, &value, &error) && !strstr(error.text, "limit") &&
        !strstr(error.text, "deeper than 64"))
        fail_msg("%s", error.text);
    return error.code;
}

static void limits(void **state)
{
    (void)state;
    static const char *const shapes[][2] = {{"(", ")"},     {"-", ""},    {"!", ""},
                                            {"1?1:", ""},   {"1?", ":1"}, {"abs(", ")"},
                                            {"max(1,", ")"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_int_equal(nested(shapes[i][0], shapes[i][1], KF_EXPRESSION_DEPTH - 1),
                         KF_ERROR_NONE);
        assert_int_equal(nested(shapes[i][0], shapes[i][1], KF_EXPRESSION_DEPTH + 1),
                         KF_ERROR_LIMIT);
        assert_int_equal(nested(shapes[i][0], shapes[i][1], 100000), KF_ERROR_LIMIT);
    }
    /* long chains of operators are not deep */
    assert_int_equal(nested("", "+1", 511), KF_ERROR_NONE);
    assert_int_equal(nested("", "+1", 512), KF_ERROR_LIMIT);
}

static void collect(void *context, const char *name)
{
    kf_buffer_format(context, "%s;", name);
}

static void names_are_visited(void **state)
{
    (void)state;
    kf_auto(kf_expression) expression = kf_expression_parse("min(a, b_2) + a ? _c : 7", NULL);
    kf_autobuffer buffer = {0};
    kf_expression_names(expression, collect, &buffer);
    assert_string_equal(buffer.data, "a;b_2;a;_c;");
    assert_true(kf_expression_is_function("ceil_div"));
    assert_false(kf_expression_is_function("a"));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(decimals),
        cmocka_unit_test(errors_name_the_column),
        cmocka_unit_test(limits),
        cmocka_unit_test(names_are_visited),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
