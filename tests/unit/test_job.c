/* Jobs: round trip, defaults, the error for each way to be a bad one, allowed and refused flags,
 * and memory running out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/job.h"
#include "kforge/json.h"

/* ---- allocation that fails on demand (the linker routes libkforge's calls here) -------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static long allocations_left = -1; /* negative: unlimited */

static bool may_allocate(void)
{
    if (allocations_left == 0) return false;
    if (allocations_left > 0) allocations_left--;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}
void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

/* ---- helpers --------------------------------------------------------------------------------- */

static const char source[] = "// caf\xc3\xa9\nextern \"C\" void axpy();\n";

static kf_task *load_task(void)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    if (!task) fail_msg("%s", error.text);
    return task;
}

static kf_job *make_job(void)
{
    const char *const flags[] = {"-DBLOCK=256", "--use_fast_math"};
    kf_error error = {0};
    kf_job *job = kf_job_new("run1.7", load_task(), source, strlen(source), flags, 2, &error);
    if (!job) fail_msg("%s", error.text);
    return job;
}

static char *job_text(const kf_job *job)
{
    kf_auto(cJSON) json = kf_job_to_json(job);
    assert_non_null(json);
    return cJSON_PrintUnformatted(json);
}

static kf_job *read_job(const char *text, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_parse(text, strlen(text), KF_JOB_BYTES, "line", error);
    return json ? kf_job_from_json(json, error) : NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void round_trip(void **state)
{
    (void)state;
    kf_auto(kf_job) job = make_job();
    assert_true(job->options.seconds == 0 && job->options.timeout_seconds == 120 &&
                job->options.build_seconds == 60);
    assert_true(job->options.half_width == 0.01 && !job->options.verify && !job->options.baseline &&
                !job->options.replay_key);
    job->options.seconds = 2.5;
    job->options.check_only = job->options.asan = true;
    job->options.baseline = strdup("cublas");
    job->options.counters = strdup("sm__inst_executed.sum,lts__t_bytes.sum");
    job->options.replay_key = strdup("00ffAB");
    free(job->device);
    job->device = strdup("cuda:1");
    char hash[KF_HASH_HEX];
    for (int i = 0; i < KF_JOB_KNOWN + 3; i++) { /* the first three give way */
        snprintf(hash, sizeof hash, "%064x", i);
        assert_true(kf_job_add_known(job, hash));
    }
    kf_autofree char *text = job_text(job);
    kf_error error = {0};
    kf_auto(kf_job) read = read_job(text, &error);
    if (!read) fail_msg("%s", error.text);
    assert_int_equal(read->known_count, KF_JOB_KNOWN);
    assert_int_equal(strtol(read->known_code[0], NULL, 16), 3);
    assert_string_equal(read->known_code[KF_JOB_KNOWN - 1], hash);
    assert_string_equal(read->id, "run1.7");
    assert_string_equal(read->source, source);
    assert_int_equal(read->source_size, strlen(source));
    assert_int_equal(read->flag_count, 2);
    assert_string_equal(read->flags[1], "--use_fast_math");
    assert_string_equal(read->device, "cuda:1");
    assert_string_equal(kf_task_hash(read->task), kf_task_hash(job->task));
    assert_true(read->options.seconds == 2.5 && read->options.half_width == 0.01);
    assert_true(read->options.check_only && read->options.asan && !read->options.verify);
    assert_string_equal(read->options.counters, "sm__inst_executed.sum,lts__t_bytes.sum");
    assert_string_equal(read->options.baseline, "cublas");
    assert_string_equal(read->options.replay_key, "00ffAB");
    kf_autofree char *again = job_text(read);
    assert_string_equal(text, again);
}

static void absent_parts_have_defaults(void **state)
{
    (void)state;
    kf_auto(kf_job) job = make_job();
    kf_auto(cJSON) json = kf_job_to_json(job);
    cJSON_DeleteItemFromObject(json, "flags");
    cJSON_DeleteItemFromObject(json, "options");
    cJSON_DeleteItemFromObject(json, "device");
    kf_error error = {0};
    kf_auto(kf_job) read = kf_job_from_json(json, &error);
    if (!read) fail_msg("%s", error.text);
    assert_int_equal(read->flag_count, 0);
    assert_string_equal(read->device, "");
    assert_true(read->options.seconds == 0);
}

/* Each row replaces one field of a good job. */
static void bad_jobs_are_named(void **state)
{
    (void)state;
    kf_auto(kf_job) job = make_job();
    const struct {
        const char *key, *value, *expected;
    } rows[] = {
        {"schema", "\"kforge-job/2\"", "job: schema: \"kforge-job/2\" is not \"kforge-job/1\""},
        {"schema", NULL, "job: schema: missing"},
        {"id", NULL, "job: id: missing; expected a string"},
        {"id", "\"\"", "job: id: \"\" is not an id"},
        {"id", "\"../etc\"", "job: id: \"../etc\" is not an id"},
        {"id", "7", "job: id: expected a string, found a number"},
        {"known_code", "[\"abc\"]", "job: known_code: entry 0 is not a SHA-256"},
        {"known_code", "[7]", "job: known_code: entry 0 is not a SHA-256"},
        {"task", NULL, "job: task: missing"},
        {"task", "{}", "job: task: "},
        {"task", "[]", "job: task: expected an object, found an array"},
        {"source", "\" \\n\"", "job: source: empty"},
        {"source", "null", "job: source: expected a string, found null"},
        {"flags", "\"-O3\"", "job: flags: expected an array, found a string"},
        {"flags", "[1]", "job: flags: entry 0 is not a string"},
        {"flags", "[\"-O2\",\"-I/etc\"]", "job: flags[1]: compiler flag \"-I/etc\" is not allowed"},
        {"device", "\"cpu;ls\"", "job: device: expected"},
        {"options", "[]", "job: options: expected an object, found an array"},
        {"options", "{\"second\":3}",
         "job: options.second: unknown key; did you mean \"seconds\"?"},
        {"options", "{\"seconds\":-1}", "job: options.seconds: -1 is out of range"},
        {"options", "{\"seconds\":\"nan\"}", "job: options.seconds: expected a number"},
        {"options", "{\"counters\":true}", "job: options.counters: expected a string"},
        {"options", "{\"counters\":\"a b\"}", "job: options.counters: \"a b\" is no list of names"},
        {"options", "{\"verify\":1}", "job: options.verify: expected true or false"},
        {"options", "{\"replay_key\":\"0x12\"}",
         "job: options.replay_key: expected hexadecimal digits"},
        {"options", "{\"baseline\":\"\"}", "job: options.baseline: expected 1 to 128 characters"},
        {"extra", "1", "job: extra: unknown key"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(cJSON) json = kf_job_to_json(job);
        cJSON_DeleteItemFromObject(json, rows[i].key);
        if (rows[i].value) cJSON_AddItemToObject(json, rows[i].key, cJSON_Parse(rows[i].value));
        kf_error error = {0};
        kf_auto(kf_job) read = kf_job_from_json(json, &error);
        if (read || strncmp(error.text, rows[i].expected, strlen(rows[i].expected)) != 0)
            fail_msg("\"%s\", expected \"%s\"", error.text, rows[i].expected);
        assert_int_equal(error.code, KF_ERROR_INPUT);
        assert_null(kf_job_from_json(json, NULL));
    }
    kf_auto(cJSON) number = cJSON_CreateNumber(3);
    assert_null(kf_job_from_json(number, NULL));
    const char *flags[KF_JOB_FLAGS + 1];
    for (int i = 0; i <= KF_JOB_FLAGS; i++) flags[i] = "-O3";
    kf_error error = {0};
    assert_null(kf_job_new("a", load_task(), "x", 1, flags, KF_JOB_FLAGS + 1, &error));
    assert_non_null(strstr(error.text, "65 flags; at most 64"));
}

static void sources(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t size;
        const char *expected;
    } rows[] = {
        {"int x;\nint\0y;", 13, "f.cu:2: a NUL byte; expected text"},
        {"", 0, "f.cu: empty; expected the source of a candidate"},
        {" \t\r\n", 4, "f.cu: empty; expected the source of a candidate"},
        {"\n\n// caf\xe9\n", 11, "f.cu:3: not UTF-8; convert it with iconv -t UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        assert_false(kf_source_check(rows[i].text, rows[i].size, "f.cu", &error));
        assert_string_equal(error.text, rows[i].expected);
    }
    assert_true(kf_source_check(source, strlen(source), "f.cu", NULL));
    kf_autofree char *huge = malloc(KF_SOURCE_BYTES + 1);
    memset(huge, 'x', KF_SOURCE_BYTES + 1);
    kf_error error = {0};
    assert_true(kf_source_check(huge, KF_SOURCE_BYTES, "f.cu", &error));
    assert_false(kf_source_check(huge, KF_SOURCE_BYTES + 1, "f.cu", &error));
    assert_non_null(strstr(error.text, "4194305 bytes; a source has at most 4194304"));
}

static void flags(void **state)
{
    (void)state;
    const char *const allowed[] = {"-DBLOCK",
                                   "-DBLOCK=256",
                                   "-DX=1.5e-3f",
                                   "-DT=float",
                                   "-DOFFSET=-1",
                                   "-maxrregcount=64",
                                   "--maxrregcount=255",
                                   "--use_fast_math",
                                   "-use_fast_math",
                                   "-O0",
                                   "-O3",
                                   "--fmad=true",
                                   "-lineinfo",
                                   "-Xptxas=-dlcm=cg",
                                   "-Xptxas=-O1",
                                   "-Xptxas=-v",
                                   "--ftz=false",
                                   "--prec-div=false",
                                   "--extra-device-vectorization"};
    const char *const refused[] = {"",
                                   "-",
                                   "-O4",
                                   "-O3 -I/",
                                   "-o",
                                   "-DX=\"a\"",
                                   "-DX=$(id)",
                                   "-DX=a b",
                                   "-DX=a/b",
                                   "-D",
                                   "-D=1",
                                   "-D1X=2",
                                   "-DX,Y",
                                   "-D__CUDA_ARCH__=1",
                                   "-Dkf_entry=x",
                                   "-DKF_X",
                                   "-UNDEBUG",
                                   "-include",
                                   "-I/etc",
                                   "-l:evil.so",
                                   "-Xlinker=-rpath",
                                   "-Xcompiler=-fplugin=x",
                                   "-Xcompiler=-funroll-loops,-fplugin=x",
                                   "-Xptxas=-v,-o,x",
                                   "-Xptxas",
                                   "@file",
                                   "candidate.cu",
                                   "--fmad=maybe",
                                   "-maxrregcount=0",
                                   "-maxrregcount=256",
                                   "-maxrregcount=1e2",
                                   "-maxrregcount=064",
                                   "-DX=1\n-o",
                                   "--run",
                                   "-ccbin=/tmp/x",
                                   "-fsanitize=address"};
    kf_error error = {0};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!kf_flag_check(allowed[i], &error)) fail_msg("%s", error.text);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (kf_flag_check(refused[i], &error)) fail_msg("\"%s\" was allowed", refused[i]);
        assert_int_equal(error.code, KF_ERROR_INPUT);
    }
    char text[KF_FLAG_BYTES + 10];
    memset(text, 'A', sizeof text);
    memcpy(text, "-D", 2);
    text[sizeof text - 1] = '\0';
    assert_false(kf_flag_check(text, &error));
    text[KF_FLAG_BYTES] = '\0';
    assert_true(kf_flag_check(text, &error));
}

static void limits(void **state)
{
    (void)state;
    kf_job_options options = kf_job_options_default();
    kf_auto(cJSON) lower =
        cJSON_Parse("{\"options\": {\"timeout_seconds\": 5, \"build_seconds\": 1}}");
    kf_auto(cJSON) usual = cJSON_Parse("{\"options\": {\"seconds\": 0}}");
    assert_false(kf_job_limits_hold(&options, KF_TIMEOUT, lower));
    assert_false(kf_job_limits_hold(&options, KF_COMPILE_ERROR, lower));
    assert_true(kf_job_limits_hold(&options, KF_CORRECT, lower));
    assert_true(kf_job_limits_hold(&options, KF_WRONG_RESULT, lower));
    assert_true(kf_job_limits_hold(&options, KF_TIMEOUT, usual));
    assert_true(kf_job_limits_hold(&options, KF_COMPILE_ERROR, NULL));
    options.timeout_seconds = options.build_seconds = 1;
    assert_true(kf_job_limits_hold(&options, KF_TIMEOUT, lower));
    assert_true(kf_job_limits_hold(&options, KF_COMPILE_ERROR, lower));
}

static void memory_runs_out(void **state)
{
    (void)state;
    kf_auto(kf_job) job = make_job();
    job->options.baseline = strdup("cublas");
    kf_autofree char *text = job_text(job);
    kf_auto(cJSON) json = kf_json_parse(text, strlen(text), 0, "line", NULL);
    cJSON_Hooks hooks = {__wrap_malloc, free};
    cJSON_InitHooks(&hooks);
    bool read = false, written = false;
    long limit = 0;
    for (; !read || !written; limit++) {
        assert_true(limit < 100000);
        kf_error error = {0};
        allocations_left = limit;
        kf_job *copy = kf_job_from_json(json, &error);
        allocations_left = limit;
        cJSON *out = kf_job_to_json(job);
        allocations_left = -1;
        if (!copy && error.code != KF_ERROR_MEMORY)
            fail_msg("allocation %ld: %s", limit, error.text);
        read = copy != NULL;
        written = out != NULL;
        kf_job_free(copy);
        cJSON_Delete(out);
    }
    cJSON_InitHooks(NULL);
    assert_true(limit > 20);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(absent_parts_have_defaults),
        cmocka_unit_test(bad_jobs_are_named),
        cmocka_unit_test(sources),
        cmocka_unit_test(flags),
        cmocka_unit_test(limits),
        cmocka_unit_test(memory_runs_out),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
