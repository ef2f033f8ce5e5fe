/* Tables, wrapping and figures: widths, cuts, units. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "table.h"
#include "terminal.h"

static char text[4096];

static FILE *open_text(void)
{
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    return out;
}

static void print(const kf_table *table, int width, int indent)
{
    FILE *out = open_text();
    kf_table_print(table, out, width, indent, false);
    fclose(out);
}

static void test_table(void **state)
{
    (void)state;
    kf_autotable table = {0};
    kf_table_add_columns(&table, "~NAME", "EMPTY", ">N", "LAST", NULL);
    print(&table, 0, 0);
    assert_string_equal(text, "");
    kf_table_cell(&table, "a");
    kf_table_cell(&table, "%s", "");
    kf_table_cell(&table, "%d", 12345);
    kf_table_cell(&table, "x");
    kf_table_cell(&table, "größer als acht");
    kf_table_cell(&table, "%s", "");
    kf_table_cell(&table, "7");
    kf_table_cell(&table, "two\nlines\033[31m\xc2\x9b");
    unsetenv("COLUMNS");
    print(&table, 0, 2);
    assert_string_equal(text, "  NAME                 N  LAST\n"
                              "  a                12345  x\n"
                              "  größer als acht      7  two lines [31m  \n");
    print(&table, 36, 0);
    assert_string_equal(text, "NAME             N  LAST\n"
                              "a            12345  x\n"
                              "größer als…      7  two lines [31m  \n");
    /* No column below 8: the row goes on, and a cell that is wider than the line is cut. */
    print(&table, 30, 0);
    assert_string_equal(text, "NAME                 N\n"
                              "  LAST\n"
                              "a                12345\n"
                              "  x\n"
                              "größer als acht      7\n"
                              "  two lines [31m  \n");
    print(&table, 12, 0);
    assert_non_null(strstr(text, "größer als …\n"));
    /* Nothing is cut in a pipe. */
    kf_autotable wide = {0};
    kf_table_add_column(&wide, "FOLDER", KF_LEFT, true);
    char folder[300];
    memset(folder, 'f', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    kf_table_cell(&wide, "%s", folder);
    print(&wide, 0, 0);
    assert_non_null(strstr(text, folder));
    print(&wide, 80, 0);
    assert_null(strstr(text, folder));
    setenv("COLUMNS", "30", 1);
    print(&table, 0, 0);
    assert_non_null(strstr(text, "\n  LAST\n"));
    unsetenv("COLUMNS");
}

static void test_untitled_table(void **state)
{
    (void)state;
    kf_autotable table = {0};
    kf_table_add_column(&table, "", KF_LEFT, false);
    kf_table_cell(&table, "row");
    print(&table, 0, 0);
    assert_string_equal(text, "row\n");
}

static void test_many_rows(void **state)
{
    (void)state;
    kf_autotable table = {0};
    kf_table_add_column(&table, "N", KF_RIGHT, false);
    for (int i = 0; i < 300; i++) kf_table_cell(&table, "%d", i);
    print(&table, 80, 0);
    assert_string_equal(text + strlen(text) - 12, "297\n298\n299\n");
}

static const char *wrap(const char *words, int width, int indent, bool hang)
{
    FILE *out = open_text();
    kf_text_wrap(out, words, strlen(words), width, indent, hang);
    fclose(out);
    return text;
}

static void test_wrap(void **state)
{
    (void)state;
    assert_string_equal(wrap("one two three", 9, 0, false), "one two\nthree\n");
    assert_string_equal(wrap("one two three", 11, 2, false), "  one two\n  three\n");
    assert_string_equal(wrap("one two three", 11, 2, true), "one two\n  three\n");
    assert_string_equal(wrap("größe größe", 11, 0, false), "größe größe\n");
    assert_string_equal(wrap("a-word-that-is-too-long b", 5, 1, false),
                        " a-word-that-is-too-long\n b\n");
    assert_string_equal(wrap("", 5, 1, false), "\n");
    assert_int_equal(kf_text_width("日本", 6), 4);
    assert_int_equal(kf_text_width("e\xcc\x81", 3), 1);
    assert_int_equal(kf_text_width("\xff\xc3", 2), 2);
    static const char grey[] = KF_STYLE_GREY "c1" KF_STYLE_PLAIN;
    assert_int_equal(kf_text_width(grey, strlen(grey)), 2);
}

static void test_figures(void **state)
{
    (void)state;
    char f[KF_FIGURE];
    static const struct {
        double value;
        const char *text;
    } seconds[] = {{0, "0 s"},
                   {1.24e-3, "1.24 ms"},
                   {999.4e-6, "999 us"},
                   {999.6e-6, "1.00 ms"},
                   {12.3e-9, "12.3 ns"},
                   {12.34, "12.3 s"},
                   {119.6, "120 s"},
                   {120, "2 min 00 s"},
                   {3599, "59 min 59 s"},
                   {3900, "1 h 05 min"},
                   {1e-12, "0.00 ns"},
                   {NAN, "-"}};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        assert_string_equal(kf_figure_seconds(seconds[i].value, f), seconds[i].text);
    assert_string_equal(kf_figure_bytes(0, f), "0 B");
    assert_string_equal(kf_figure_bytes(1023, f), "1023 B");
    assert_string_equal(kf_figure_bytes(1536, f), "1.5 KiB");
    assert_string_equal(kf_figure_bytes(256.0 * 1024 * 1024, f), "256 MiB");
    assert_string_equal(kf_figure_bytes(NAN, f), "-");
    assert_string_equal(kf_figure_count(0, f), "0");
    assert_string_equal(kf_figure_count(999, f), "999");
    assert_string_equal(kf_figure_count(1234567, f), "1,234,567");
    assert_string_equal(kf_figure_count(-1000, f), "-1,000");
    assert_string_equal(kf_figure_count(INFINITY, f), "1,000,000,000,000,000,000");
    /* Three digits if the interval allows three. */
    assert_string_equal(kf_figure_speedup((kf_interval){1.836, 1.80, 1.87}, f), "1.84x");
    assert_string_equal(kf_figure_speedup((kf_interval){1.836, NAN, NAN}, f), "1.84x");
    assert_string_equal(kf_figure_speedup((kf_interval){1.836, 1, 2}, f), "1.8x");
    assert_string_equal(kf_figure_interval((kf_interval){1.68, 0.56, 6.23}, f), "[0.6, 6.2]");
    assert_string_equal(kf_figure_speedup((kf_interval){12.34, 12, 12.7}, f), "12.3x");
    assert_string_equal(kf_figure_speedup((kf_interval){58.31, 0, 135.6}, f), "58x");
    assert_string_equal(kf_figure_speedup((kf_interval){124.3, 80, 160}, f), "124x");
    assert_string_equal(kf_figure_speedup((kf_interval){0.0123, 0.012, 0.0126}, f), "0.012x");
    assert_string_equal(kf_figure_cost(1.254, false, f), "$1.25");
    assert_string_equal(kf_figure_cost(0, false, f), "$0.00");
    assert_string_equal(kf_figure_cost(0.00312, false, f), "$0.0031");
    assert_string_equal(kf_figure_cost(0.000002, false, f), "under $0.0001");
    assert_string_equal(kf_figure_cost(0, true, f), "cost unknown");
    assert_string_equal(kf_figure_cost(0.00001, true, f), "cost unknown");
    assert_string_equal(kf_figure_cost(NAN, false, f), "cost unknown");
    assert_string_equal(kf_figure_cost(0.5, true, f), "at least $0.50");
    assert_string_equal(kf_figure_speedup((kf_interval){NAN, 1, 2}, f), "-");
    assert_string_equal(kf_figure_interval((kf_interval){1.84, 1.8, 1.9}, f), "[1.80, 1.90]");
    assert_string_equal(kf_figure_interval((kf_interval){1.84, NAN, 1.9}, f), "");
    assert_string_equal(kf_figure_age(100, 130, f), "just now");
    assert_string_equal(kf_figure_age(100, 90, f), "just now");
    assert_string_equal(kf_figure_age(0, 119, f), "1 min ago");
    assert_string_equal(kf_figure_age(0, 7200, f), "2 h ago");
    assert_string_equal(kf_figure_age(0, 86400 * 3.5, f), "3 days ago");
    setenv("TZ", "UTC", 1);
    assert_string_equal(kf_figure_time(0, f), "1970-01-01 00:00:00");
    assert_string_equal(kf_figure_time(NAN, f), "-");
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),     cmocka_unit_test(test_untitled_table),
        cmocka_unit_test(test_many_rows), cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_figures),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
