/* Shared by the tests of workers: jobs for tests/cli/fake_worker.c, and a folder for each test. */
#ifndef TEST_WORKERS_COMMON_H
#define TEST_WORKERS_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kforge/file.h"
#include "workers.h"

/* The folder of a test. */
static char *folder;

static inline int set_up(void **state)
{
    (void)state;
    folder = kf_directory_temporary("kforge-test-workers", NULL);
    return folder ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    unsetenv("FAKE_LOG");
    unsetenv("FAKE_SLEEP");
    unsetenv("FAKE_JOBS");
    kf_directory_remove(folder, NULL);
    free(folder);
    return 0;
}

static inline kf_job *make_job(const char *id, const char *source)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    if (!task) fail_msg("%s", error.text);
    kf_job *job = kf_job_new(id, task, source, strlen(source), NULL, 0, &error);
    if (!job) fail_msg("%s", error.text);
    job->options.build_seconds = job->options.timeout_seconds = 0.2;
    job->options.seconds = 0.1;
    return job;
}

static inline void submit(kf_workers *workers, const char *id, int64_t ticket, const char *source)
{
    kf_error error = {0};
    kf_auto(kf_job) job = make_job(id, source);
    if (!kf_workers_submit(workers, job, ticket, &error)) fail_msg("%s", error.text);
}

static inline kf_workers *open_one(const char *spec, double grace)
{
    kf_error error = {0};
    /* Silence does not count, however busy the machine is. */
    kf_workers *workers = kf_workers_open(
        &spec, 1, &(kf_workers_options){.grace_seconds = grace, .alive_seconds = 600}, &error);
    if (!workers) fail_msg("%s: %s", spec, error.text);
    return workers;
}

static inline void expect_no_news(kf_workers *workers)
{
    const char *news = kf_workers_news(workers);
    if (news) fail_msg("unexpected: %s", news);
}

static inline kf_workers_result next(kf_workers *workers)
{
    kf_workers_result result = {0};
    kf_error error = {0};
    double until = kf_now() + 600;
    int got;
    while ((got = kf_workers_wait(workers, until - kf_now(), &result, &error)) == 0 &&
           kf_now() < until)
        continue;
    if (got != 1) fail_msg("no result: %s", got ? error.text : "too late");
    return result;
}

static inline bool says(const char *text, const char *what)
{
    return strstr(text, what);
}

static inline void touch(const char *path)
{
    kf_error error = {0};
    if (!kf_file_write(path, "", 0, &error)) fail_msg("%s", error.text);
}

/* Waits until so many jobs are being judged and blocked. `log` is $FAKE_LOG. */
static inline void wait_for_jobs(kf_workers *workers, const char *log, int count)
{
    double until = kf_now() + 600;
    for (int lines = 0; lines < count;) {
        kf_workers_result result;
        kf_error error;
        if (kf_now() > until) fail_msg("%d of %d jobs were begun", lines, count);
        assert_int_equal(kf_workers_wait(workers, 0.02, &result, &error), 0);
        kf_autofree char *text = kf_file_read(log, 1 << 20, NULL, NULL);
        lines = 0;
        for (const char *c = text; c && *c; c++) lines += *c == '\n';
    }
}

/* Keeps the only worker busy with a job until release_worker(), so that it finds all later jobs at
 * once. If the first of them came alone, the worker would build it before it takes the next. */
static inline void keep_busy(kf_workers *workers)
{
    char log[600], source[700];
    snprintf(log, sizeof log, "%s/log", folder);
    snprintf(source, sizeof source, "// fake: speed 1\n// fake: until %s/go\n", folder);
    submit(workers, "busy", 99, source);
    wait_for_jobs(workers, log, 1);
}

static inline void release_worker(kf_workers *workers)
{
    char go[600];
    kf_workers_result result;
    kf_error error;
    snprintf(go, sizeof go, "%s/go", folder);
    /* Sends the submitted jobs. */
    assert_int_equal(kf_workers_wait(workers, 0, &result, &error), 0);
    touch(go);
    result = next(workers);
    assert_int_equal(result.ticket, 99);
    kf_workers_result_free(&result);
}

/* Sets $FAKE_JOBS and $FAKE_LOG for these. */
static inline void take_four(void)
{
    char log[600];
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("FAKE_LOG", log, 1);
    setenv("FAKE_JOBS", "4", 1);
}

/* Six jobs for a worker that takes four. It builds them at the same time and judges the built ones
 * first. The order proves four at once: the fourth is built first. */
static inline void build_six(kf_workers *workers)
{
    static const int order[] = {3, 4, 5, 2, 1, 0};
    char id[24], source[700], built[600];
    keep_busy(workers);
    for (int i = 0; i < 6; i++) {
        snprintf(id, sizeof id, "b%d", i);
        snprintf(source, sizeof source, "// fake: build until %s/built-%d\n// fake: speed %d\n",
                 folder, i, i + 1);
        submit(workers, id, i, source);
    }
    release_worker(workers);
    for (int i = 0; i < 6; i++) {
        snprintf(built, sizeof built, "%s/built-%d", folder, order[i]);
        touch(built);
        kf_workers_result result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        assert_int_equal(result.ticket, order[i]);
        assert_true(result.verdict->speedup.value > order[i] + 0.9 &&
                    result.verdict->speedup.value < order[i] + 1.1);
        kf_workers_result_free(&result);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
