/* Texts are what compute-sanitizer 2025.3 prints, and what a candidate might. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/sanitize_report.h"

static void out_of_bounds(void **state)
{
    (void)state;
    static const char text[] =
        "========= COMPUTE-SANITIZER\n"
        "========= Invalid __global__ write of size 4 bytes\n"
        "=========     at k(float *, int)+0x90 in oob.cu:2\n"
        "=========     by thread (100,0,0) in block (0,0,0)\n"
        "=========     Access to 0x7f14ea800190 is out of bounds\n"
        "=========     and is 1 bytes after the nearest allocation at 0x7f14ea800000 of size 400 "
        "bytes\n"
        "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
        "=========         Host Frame: main [0x8d12] in oob\n"
        "========= \n"
        "ran\n"
        "========= Invalid __global__ write of size 4 bytes\n"
        "=========     at k(float *, int)+0x90 in /tmp/x y/oob.cu:2\n"
        "=========     by thread (101,0,0) in block (0,0,0)\n"
        "=========     Access to 0x7f14ea800194 is out of bounds\n"
        "========= \n"
        "========= ERROR SUMMARY: 2 errors\n";
    kf_sanitize_report r;
    kf_sanitize_parse(text, &r);
    assert_int_equal(r.count, 1);
    assert_true(r.finished);
    assert_string_equal(r.trouble, "");
    const kf_sanitize_finding *f = &r.findings[0];
    assert_string_equal(f->kind, "Invalid __global__ write of size 4 bytes");
    assert_string_equal(f->kernel, "k(float *, int)");
    assert_string_equal(f->file, "oob.cu");
    assert_int_equal(f->line, 2);
    assert_int_equal(f->count, 2);
    assert_false(f->warning);
    assert_non_null(strstr(f->detail, "by thread (100,0,0) in block (0,0,0); Access to "
                                      "0x7f14ea800190 is out of bounds; and is 1 bytes after"));
    assert_null(strstr(f->detail, "Host Frame"));
}

static void races(void **state)
{
    (void)state;
    static const char text[] =
        "========= COMPUTE-SANITIZER\n"
        "========= Error: Race reported between Write access at sum(int *, int *)+0x130 in "
        "candidate.cu:10\n"
        "=========     and Read access at sum(int *, int *)+0x70 in candidate.cu:16 [508 hazards]\n"
        "========= \n"
        "========= Warning: Race reported between Write access at sum(int *, int *)+0x10 in "
        "candidate.cu:12\n"
        "=========     and Write access at sum(int *, int *)+0x10 in candidate.cu:12 [4 hazards]\n"
        "=========\n"
        "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n";
    kf_sanitize_report r;
    kf_sanitize_parse(text, &r);
    assert_int_equal(r.count, 2);
    assert_true(r.finished);
    assert_string_equal(r.findings[0].kind, "Race reported between Write access");
    assert_string_equal(r.findings[0].kernel, "sum(int *, int *)");
    assert_int_equal(r.findings[0].line, 10);
    assert_false(r.findings[0].warning);
    assert_non_null(
        strstr(r.findings[0].detail,
               "and Read access at sum(int *, int *)+0x70 in candidate.cu:16 [508 hazards]"));
    assert_true(r.findings[1].warning);
    assert_int_equal(r.findings[1].line, 12);
}

static void uninitialised_and_without_lines(void **state)
{
    (void)state;
    static const char text[] = "========= COMPUTE-SANITIZER\n"
                               "========= Uninitialized __global__ memory read of size 4 bytes\n"
                               "=========     at void ns::k<float, (int)4>(T1 *)+0x70\n"
                               "=========     by thread (0,0,0) in block (0,0,0)\n"
                               "========= \n"
                               "========= ERROR SUMMARY: 1 error\n";
    kf_sanitize_report r;
    kf_sanitize_parse(text, &r);
    assert_int_equal(r.count, 1);
    assert_string_equal(r.findings[0].kernel, "void ns::k<float, (int)4>(T1 *)");
    assert_int_equal(r.findings[0].line, 0);
    assert_string_equal(r.findings[0].file, "");
}

static void what_the_tool_could_not_do(void **state)
{
    (void)state;
    kf_sanitize_report r;
    kf_sanitize_parse("========= COMPUTE-SANITIZER\n========= Error: Target application terminated "
                      "before first instrumented API call\n",
                      &r);
    assert_int_equal(r.count, 0);
    assert_false(r.finished);
    assert_string_equal(r.trouble,
                        "Error: Target application terminated before first instrumented API call");
    kf_sanitize_parse("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", &r);
    assert_true(r.finished && r.count == 0 && !r.trouble[0]);
    kf_sanitize_parse("", &r);
    assert_true(!r.finished && r.count == 0);
}

/* Any output is kept as one line of printable text, and no buffer is overrun. */
static void any_text(void **state)
{
    (void)state;
    static char text[40000];
    size_t used = 0;
    for (int i = 0; i < 40; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "========= Kind %d \033[31m %0*d\n=========     at %0*d+0x1 in %0*d:%d\n", i, 300, i,
            250, i, 100, i, 99999999);
    kf_sanitize_report r;
    kf_sanitize_parse(text, &r);
    assert_int_equal(r.count, KF_SANITIZE_FINDINGS);
    for (size_t i = 0; i < r.count; i++) {
        assert_null(strchr(r.findings[i].kind, '\033'));
        assert_true(strlen(r.findings[i].kernel) < sizeof r.findings[i].kernel);
    }
    memset(text, '=', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    kf_sanitize_parse(text, &r);
    kf_sanitize_parse("=========     at x in y:-5\n=========  \n========= at  in :\n=========     "
                      "at  in :\n=========     at + in "
                      "a:999999999999999999999\n",
                      &r);
    for (size_t i = 0; i < r.count; i++) assert_true(r.findings[i].line >= 0);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_bounds),
        cmocka_unit_test(races),
        cmocka_unit_test(uninitialised_and_without_lines),
        cmocka_unit_test(what_the_tool_could_not_do),
        cmocka_unit_test(any_text),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
