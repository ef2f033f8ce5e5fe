/* Exports as a library: what is taken out of texts, when two sources are the same, rows from threads against rows from one. The formats are
 * tested through the command (tests/cli/export.sh). */
#include <sched.h>

#include "kforge/export.h"
#include "test_store_common.h"

static void scrubbed(const char *text, bool paths, const char *expected)
{
    kf_error error;
    int64_t count = 0;
    char *got;
    assert_ok(&error, got = kf_scrub(text, strlen(text), paths, &count, &error));
    assert_string_equal(got, expected);
    free(got);
}

static void test_scrub(void **state)
{
    (void)state;
    setenv("TEST_UPLOAD_TOKEN", "very-secret-value", 1);
    scrubbed("key sk-ant-abcdefghij0123456789.", false, "key [key].");
    scrubbed("Authorization: Bearer abcdefghijklmnop1234", false, "Authorization: Bearer [key]");
    scrubbed("hf_abcdefghijklmnopqrstuvwxyz0123 x AKIAABCDEFGHIJKLMNOP1", false, "[key] x [key]");
    scrubbed("a very-secret-value b", false, "a [key] b");
    scrubbed("/home/jane/x.cu and /Users/jane/y", false, "/home/user/x.cu and /home/user/y");
    scrubbed("\"/data/jane/a.cu:3\" in /usr/include/x.h", true, "\"[path]/a.cu:3\" in /usr/include/x.h");
    scrubbed("{\"host\":\"node17\",\"x\":1}", true, "{\"host\":\"\",\"x\":1}");
    /* Code stays code. */
    static const char *const code[] = {
        "int sk = risk-9 / home / a; x /= y; // mask-1",
        "#include <cuda_runtime.h>\nfloat host = a /b/c;",
        "sk-learn-compatible-regression",
        "/home/user/x",
        "\xc3\xa9\xf0\x9f\x9a\x80",
    };
    for (size_t i = 0; i < sizeof code / sizeof *code; i++) scrubbed(code[i], false, code[i]);
    scrubbed("\xff \xc3 \xed\xa0\x80 \xc0\x80 \xf4\x90\x80\x80", false,
             "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd "
             "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    /* Ends in the middle of anything. */
    static const char all[] = "/home/jane \"host\":\"x\" Bearer aaaaaaaaaaaaaaaa1 sk-aaaaaaaaaaaaaaaaaaa1 \xf0\x9f\x9a\x80";
    for (size_t size = 0; size < sizeof all; size++) {
        kf_error error;
        int64_t count = 0;
        char *exact = malloc(size ? size : 1), *got;
        memcpy(exact, all, size);
        assert_ok(&error, got = kf_scrub(exact, size, true, &count, &error));
        free(got);
        free(exact);
    }
}

static bool same(const char *a, const char *b)
{
    return kf_normalised_source(a, strlen(a)) == kf_normalised_source(b, strlen(b));
}

static void test_normalised(void **state)
{
    (void)state;
    assert_true(same("int a = 1;", "int  a=1 ; // one\n"));
    assert_true(same("f(a, b);", "f( a,/* x */b )\n;"));
    assert_true(same("", "  // nothing\n/* at all */"));
    assert_false(same("int a;", "inta;"));
    assert_false(same("a + +b", "a ++b"));
    assert_false(same("x = \"a b\";", "x = \"ab\";"));
    assert_false(same("x = \"// no remark\";", "x = \""));
    assert_false(same("int a = 1;", "int a = 2;"));
    assert_true(same("/* unterminated", ""));
}

typedef struct rows {
    kf_buffer text;
    int64_t count, stop_after;
} rows;

static bool take(void *context, const char *split, const char *row, size_t size, kf_error *error)
{
    rows *r = context;
    kf_buffer_format(&r->text, "%s ", split);
    kf_buffer_append(&r->text, row, size);
    kf_buffer_string(&r->text, "\n");
    return ++r->count != r->stop_after || kf_fail(error, KF_ERROR_IO, "enough");
}

#define ATTEMPTS 5000

static void test_threads(void **state)
{
    fixture *f = *state;
    kf_error error;
    assert_ok(&error, kf_store_begin(f->store, &error));
    for (int i = 0; i < ATTEMPTS; i++)
        assert_ok(&error, record_number(f->store, f->run, i, i % 3 ? KF_CORRECT : KF_WRONG_RESULT, 1 + i % 7, NULL, &error));
    assert_ok(&error, kf_store_commit(f->store, &error));
    kf_export_options options = {.format = KF_EXPORT_RAW, .reward = KF_REWARD_LOG, .margin = 1, .test_share = 0.5};
    kf_export_report many, one;
    rows first = {0}, second = {0}, third = {.stop_after = 700};
    assert_ok(&error, kf_export(f->store, &options, take, &first, &many, &error));
    cpu_set_t all, single;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&single);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &single);
            break;
        }
    assert_int_equal(sched_setaffinity(0, sizeof single, &single), 0);
    assert_ok(&error, kf_export(f->store, &options, take, &second, &one, &error));
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(first.count, ATTEMPTS);
    assert_int_equal(first.text.size, second.text.size);
    assert_memory_equal(first.text.data, second.text.data, first.text.size);
    assert_memory_equal(&many, &one, sizeof many);
    /* A sink that fails ends it, threads and all. */
    assert_fails(&error, KF_ERROR_IO, "enough", kf_export(f->store, &options, take, &third, &many, &error));
    assert_int_equal(third.count, 700);
    kf_buffer_free(&first.text);
    kf_buffer_free(&second.text);
    kf_buffer_free(&third.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scrub),
        cmocka_unit_test(test_normalised),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
