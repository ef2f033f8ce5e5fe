/* Tests of the export library: scrubbed texts, equal sources, and rows from several threads
 * compared with rows from one. tests/cli/export.sh tests the formats through the command. */
#include <sched.h>

#include "export_internal.h"
#include "test_main.h"
#include "kforge/export.h"
#include "kforge/json.h"
#include "test_store_common.h"

static void scrubbed(const char *text, bool paths, const char *expected)
{
    kf_error error;
    kf_scrub_count count = {0};
    char *got;
    assert_ok(&error, got = kf_scrub(text, strlen(text), paths, &count, &error));
    assert_string_equal(got, expected);
    free(got);
}

static void replacements_are_counted_by_kind(void **state)
{
    (void)state;
    static const char text[] =
        "sk-ant-abcdefghij0123456789 /home/jane/x and http://a:b@c \"/data/x/a.cu\" "
        "{\"host\":\"node17\"}";
    kf_error error;
    kf_scrub_count count = {1, 10};
    kf_autofree char *clean = NULL;
    assert_ok(&error, clean = kf_scrub(text, strlen(text), true, &count, &error));
    assert_int_equal(count.secrets, 1 + 2);
    assert_int_equal(count.paths, 10 + 3);
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
    scrubbed("\"/data/jane/a.cu:3\" in /usr/include/x.h", true,
             "\"[path]/a.cu:3\" in /usr/include/x.h");
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
    scrubbed(
        "\xff \xc3 \xed\xa0\x80 \xc0\x80 \xf4\x90\x80\x80", false,
        "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd "
        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    /* Ends in the middle of anything. */
    static const char all[] = "/home/jane \"host\":\"x\" Bearer aaaaaaaaaaaaaaaa1 "
                              "sk-aaaaaaaaaaaaaaaaaaa1 \xf0\x9f\x9a\x80";
    for (size_t size = 0; size < sizeof all; size++) {
        kf_error error;
        kf_scrub_count count = {0};
        char *exact = malloc(size ? size : 1), *got;
        memcpy(exact, all, size);
        assert_ok(&error, got = kf_scrub(exact, size, true, &count, &error));
        free(got);
        free(exact);
    }
}

/* Patterns, escapes and sequences of several bytes around the places where a long text is cut into
 * pieces. */
static void test_scrub_long(void **state)
{
    (void)state;
    static const char tail[] =
        " sk-abcdefghij0123456789ABCD \xe2\x80\x94\xf0\x9f\x9a\x80\xff\"/home/jane/x\\\x01",
                      clean[] =
                          " [key] \xe2\x80\x94\xf0\x9f\x9a\x80\xef\xbf\xbd\"/home/user/x\\\x01";
    for (size_t before = 4040; before < 4110; before++) {
        kf_autobuffer text = {0}, expected = {0};
        for (int i = 0; i < 3; i++) {
            for (size_t k = 0; k < before; k++)
                kf_buffer_append(&text, "a", 1), kf_buffer_append(&expected, "a", 1);
            kf_buffer_string(&text, tail);
            kf_buffer_string(&expected, clean);
        }
        scrubbed(text.data, false, expected.data);
    }
    setenv("ODD_PASSWORD", "\xc3\xa9t\xc3\xa9-\xc3\xa9t\xc3\xa9", 1);
    setenv("QUOTED_SECRET", "\"in quotes\"", 1);
    scrubbed("a \xc3\xa9t\xc3\xa9-\xc3\xa9t\xc3\xa9 \xc3\xa9t\xc3\xa9 and \"in quotes\"!", false,
             "a [key] \xc3\xa9t\xc3\xa9 and [key]!");
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

/* Code with other comments or with line numbers is the same code; other code is not. */
static void test_leaks(void **state)
{
    (void)state;
    static const char code[] =
        "__global__ void k(const float *x, float *y, long n)\n{\n    long i = blockIdx.x * 256L + "
        "threadIdx.x;\n"
        "    float sum = 0;\n    for (int j = 0; j < 8; j++) sum += x[8 * i + j];\n"
        "    sum = sum * 0.125f + 1.0f;\n    if (i < n) y[i] = sum;\n}\n";
    kf_hash_set prints = {0};
    kf_leak_learn(&prints, code, strlen(code));
    assert_true(prints.size > 0 && !prints.failed);
    for (int how = 0; how < 6; how++) {
        kf_autobuffer quoted = {0};
        int number = 0;
        kf_buffer_string(&quoted, "Here is what others wrote, files in src/*:\n");
        for (const char *line = code; *line; line = strchr(line, '\n') + 1) {
            int size = (int)(strchr(line, '\n') - line);
            number++;
            if (how == 0) kf_buffer_format(&quoted, "  %.*s\n\n", size, line);
            if (how == 1) kf_buffer_format(&quoted, "%.*s // as before\n", size, line);
            if (how == 2) kf_buffer_format(&quoted, "%.*s /* as */ /* before */\n", size, line);
            if (how == 3) kf_buffer_format(&quoted, "%3d| %.*s\n", number, size, line);
            if (how == 4) kf_buffer_format(&quoted, "%d: %.*s\n", number, size, line);
            if (how == 5) kf_buffer_format(&quoted, "%.*s + 1\n", size, line); /* other code */
        }
        assert_int_equal(kf_leak_found(&prints, quoted.data, quoted.size), how < 5);
    }
    kf_hash_set_free(&prints);
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

static void export_raw(kf_store *store, kf_export_only only, rows *taken)
{
    kf_error error;
    kf_export_report report;
    kf_export_options options = {
        .format = KF_EXPORT_RAW, .only = only, .reward = KF_REWARD_SPEEDUP, .margin = 1};
    assert_ok(&error, kf_export(store, &options, take, taken, &report, &error));
}

/* Returns the text after "NAME": in a row. */
static const char *field_of(const char *row, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, ",\"%s\":", name);
    const char *found = strstr(row, key);
    assert_non_null(found);
    return found + strlen(key);
}

/* Numbers are printed with every bit, as "%.17g" does. */
static void test_numbers(void **state)
{
    fixture *f = *state;
    kf_error error;
    static const double some[] = {1,
                                  1.5,
                                  0.1,
                                  1e-4,
                                  0x1.a36e2eb1c432bp-14,
                                  1e15,
                                  123456789012345.0,
                                  0x1p-13,
                                  1e22,
                                  5e-324,
                                  1e300,
                                  0.3,
                                  1e14,
                                  2.0e-4,
                                  99999999.5,
                                  10,
                                  9.9999999999999982,
                                  0x1p49,
                                  999999999999999.9,
                                  1e-5,
                                  3e-5,
                                  0x1p52,
                                  1e17,
                                  0.001};
    enum { COUNT = 2000 };
    static double values[COUNT];
    uint64_t bits = 1;
    assert_ok(&error, kf_store_begin(f->store, &error));
    for (int i = 0; i < COUNT; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double unit = (double)(bits >> 11) * 0x1p-53;
        values[i] = i < (int)(sizeof some / sizeof *some) ? some[i]
                    : i % 3                               ? exp(unit * 60 - 20)
                                                          : floor(unit * 1e6) / 1000 + 1e-3;
        assert_ok(&error, record_number(f->store, f->run, i, KF_CORRECT, values[i], NULL, &error));
    }
    assert_ok(&error, kf_store_commit(f->store, &error));
    rows all = {0};
    export_raw(f->store, KF_ONLY_ALL, &all);
    assert_int_equal(all.count, COUNT);
    const char *row = all.text.data;
    for (int i = 0; i < COUNT; i++, row = strchr(row, '\n') + 1) {
        const double three[] = {values[i], values[i] * 0.99, values[i] * 1.01};
        static const char *const names[] = {"speedup", "speedup_low", "speedup_high"};
        for (int k = 0; k < 3; k++) {
            char expected[64];
            snprintf(expected, sizeof expected, "%.17g", three[k]);
            if (!strpbrk(expected, ".e")) strcat(expected, ".0");
            const char *got = field_of(row, names[k]);
            size_t length = strcspn(got, ",");
            if (length != strlen(expected) || strncmp(got, expected, length) != 0)
                fail_msg("%a is %.*s, not %s", three[k], (int)length, got, expected);
        }
    }
    kf_buffer_free(&all.text);
}

/* Parents stay with their attempts if other attempts are left out. Verdicts outside runs come after
 * all attempts, each once. JSON readers get the scrubbed text. */
static void test_rows(void **state)
{
    fixture *f = *state;
    kf_error error;
    char odd[9000];
    for (size_t i = 0; i < sizeof odd; i++) odd[i] = (char)(i * 7 % 256);
    int64_t candidates[40] = {0};
    for (int i = 0; i < 40; i++) {
        kf_verdict verdict = make_verdict(i % 4 ? KF_CORRECT : KF_WRONG_RESULT, 2);
        char source[64];
        bool lone = i % 5 == 4, is_odd = i == 7;
        snprintf(source, sizeof source, "// number %d\n", i);
        kf_store_parent parents[2] = {{candidates[0], "base"}, {candidates[i / 2], "exem\"plar"}};
        kf_store_recorded recorded;
        kf_store_attempt_new attempt = {.run = lone ? NULL : f->run,
                                        .task = lone ? TASK : NULL,
                                        .proposer = "tuner",
                                        .content.source = is_odd ? odd : source,
                                        .content.source_size = is_odd ? sizeof odd : strlen(source),
                                        .parents = parents,
                                        .parent_count = i && !lone ? (size_t)(i % 3) : 0,
                                        .verdict = &verdict,
                                        .verdict_json = "{}",
                                        .verdict_size = 2};
        assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
        candidates[i] = recorded.candidate;
    }
    static const char *const hashes[] = {"candidate\\\":\\\""};
    rows all = {0}, correct = {0};
    export_raw(f->store, KF_ONLY_ALL, &all);
    export_raw(f->store, KF_ONLY_CORRECT, &correct);
    assert_int_equal(all.count, 40);
    assert_int_equal(correct.count, 30);
    const char *row = all.text.data, *kept = correct.text.data;
    kf_scrub_count count = {0};
    for (int i = 0; i < 40; i++) {
        int number = i < 32 ? i + i / 4 : 5 * (i - 32) + 4; /* attempts, then the lone ones */
        const char *end = strchr(row, '\n'), *candidate = field_of(row, "parents");
        kf_auto(cJSON) json =
            cJSON_ParseWithLength(strchr(row, '{'), (size_t)(end - strchr(row, '{')));
        assert_non_null(json);
        const char *source = cJSON_GetStringValue(cJSON_GetObjectItem(json, "source"));
        if (number == 7) {
            char *clean;
            assert_ok(&error, clean = kf_scrub(odd, sizeof odd, false, &count, &error));
            assert_string_equal(source, clean);
            free(clean);
        } else {
            char expected[64];
            snprintf(expected, sizeof expected, "// number %d\n", number);
            assert_string_equal(source, expected);
        }
        int parents = 0;
        const char *close = strstr(candidate, "]\"");
        for (const char *at = candidate; (at = strstr(at, *hashes)) && at < close; at++) parents++;
        assert_int_equal(parents, i < 32 && number ? number % 3 : 0);
        if (number % 4) { /* the same row where the wrong ones are left out */
            assert_memory_equal(row, kept, (size_t)(end + 1 - row));
            kept += end + 1 - row;
        }
        row = end + 1;
    }
    kf_buffer_free(&all.text);
    kf_buffer_free(&correct.text);
}

#define ATTEMPTS 5000

static void test_threads(void **state)
{
    fixture *f = *state;
    kf_error error;
    assert_ok(&error, kf_store_begin(f->store, &error));
    for (int i = 0; i < ATTEMPTS; i++)
        assert_ok(&error, record_number(f->store, f->run, i, i % 3 ? KF_CORRECT : KF_WRONG_RESULT,
                                        1 + i % 7, NULL, &error));
    assert_ok(&error, kf_store_commit(f->store, &error));
    kf_export_options options = {
        .format = KF_EXPORT_RAW, .reward = KF_REWARD_LOG, .margin = 1, .test_share = 0.5};
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
    /* An export ends with all its threads if its sink fails. */
    assert_fails(&error, KF_ERROR_IO, "enough",
                 kf_export(f->store, &options, take, &third, &many, &error));
    assert_int_equal(third.count, 700);
    kf_buffer_free(&first.text);
    kf_buffer_free(&second.text);
    kf_buffer_free(&third.text);
}

/* Exports all rows with these columns. */
static void export_columns(kf_store *store, const char *columns, rows *taken)
{
    kf_error error;
    kf_export_report report;
    kf_auto(kf_export_shape) shape = NULL;
    assert_ok(&error,
              shape = kf_export_shape_new(KF_EXPORT_RAW, KF_DIALECT_KFORGE, columns, &error));
    kf_export_options options = {
        .format = KF_EXPORT_RAW, .reward = KF_REWARD_LOG, .margin = 1, .shape = shape};
    assert_ok(&error, kf_export(store, &options, take, taken, &report, &error));
}

static cJSON *next_row(const char **at)
{
    const char *start = strchr(*at, '{'), *end = strchr(start, '\n');
    cJSON *row = cJSON_ParseWithLength(start, (size_t)(end - start));
    assert_non_null(row);
    *at = end + 1;
    return row;
}

/* A column has the value of its field, whatever brackets and quotes the row's texts hold. Threads
 * write the same rows. */
static void test_columns(void **state)
{
    fixture *f = *state;
    kf_error error;
    uint64_t bits = 1;
    enum { COUNT = 20 * KF_RAW_CHUNK };
    assert_ok(&error, kf_store_begin(f->store, &error));
    for (int i = 0; i < COUNT; i++) {
        static const char signs[] = "\"\\{}[],:x<>+\n\xff";
        kf_verdict verdict = make_verdict(KF_CORRECT, 2);
        char source[64];
        int length = snprintf(source, sizeof source, "%d", i);
        while (length < 60) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            source[length++] = signs[(bits >> 33) % (sizeof signs - 1)];
        }
        kf_store_attempt_new attempt = {.run = f->run,
                                        .proposer = "\"][}{\\",
                                        .message = source + length / 2,
                                        .content.source = source,
                                        .content.source_size = (size_t)length,
                                        .verdict = &verdict,
                                        .verdict_json = "{\"flags\":[\"a]\"]}",
                                        .verdict_size = 16};
        assert_ok(&error, kf_store_record(f->store, &attempt, NULL, &error));
    }
    assert_ok(&error, kf_store_commit(f->store, &error));
    const kf_export_field *fields = kf_export_fields(KF_EXPORT_RAW);
    kf_autobuffer columns = {0};
    size_t count = 0;
    while (fields[count].name) count++;
    for (size_t i = count; i-- > 0;)
        kf_buffer_format(&columns, "%snew_%s=%s", columns.size ? "," : "", fields[i].name,
                         fields[i].name);
    rows plain = {0}, shaped = {0};
    export_raw(f->store, KF_ONLY_ALL, &plain);
    export_columns(f->store, columns.data, &shaped);
    assert_int_equal(plain.count, COUNT);
    assert_int_equal(shaped.count, COUNT);
    const char *left = plain.text.data, *right = shaped.text.data;
    for (int i = 0; i < COUNT; i++) {
        kf_auto(cJSON) a = next_row(&left);
        kf_auto(cJSON) b = next_row(&right);
        const cJSON *item = b->child;
        assert_int_equal(cJSON_GetArraySize(b), count);
        for (size_t k = count; k-- > 0; item = item->next) {
            assert_string_equal(item->string + strlen("new_"), fields[k].name);
            /* export_raw has another reward. */
            if (strcmp(fields[k].name, "reward") != 0)
                assert_true(cJSON_Compare(item, cJSON_GetObjectItem(a, fields[k].name), true));
        }
    }
    kf_buffer_free(&plain.text);
    kf_buffer_free(&shaped.text);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replacements_are_counted_by_kind),
        cmocka_unit_test(test_scrub),
        cmocka_unit_test(test_scrub_long),
        cmocka_unit_test(test_normalised),
        cmocka_unit_test(test_leaks),
        cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_columns, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
