/* Workers on pipes, simulated by tests/cli/fake_worker.c: every way in which a worker can fail. No
 * worker process may be left. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/json.h"
#include "test_main.h"
#include "worker.h"
#include "test_workers_common.h"

static void judges(void **state)
{
    (void)state;
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    assert_null(kf_workers_hardware(workers));
    assert_int_equal(kf_workers_room(workers), 0);
    submit(workers, "a-1", 7, "// fake: speed 1.5\n");
    submit(workers, "a-2", 8, "// fake: status crash\n");
    kf_workers_result first = next(workers), second = next(workers);
    assert_string_equal(kf_workers_hardware(workers), "cpu test");
    assert_string_equal(kf_workers_device(workers), "cpu");
    assert_int_equal(first.outcome, KF_WORKERS_JUDGED);
    assert_int_equal(first.ticket, 7);
    assert_true(first.verdict->speedup.value > 1.49 && first.verdict->speedup.value < 1.51);
    kf_error error = {0};
    kf_auto(cJSON) json = kf_json_parse(first.json, first.json_size, 0, "verdict", &error);
    assert_non_null(json);
    assert_int_equal(second.ticket, 8);
    assert_int_equal(second.verdict->status, KF_CRASH);
    assert_int_equal(kf_workers_in_flight(workers), 0);
    assert_int_equal(kf_workers_room(workers), 1);
    kf_workers_result_free(&first);
    kf_workers_result_free(&second);
}

/* One failure costs only time: after its restart the worker gets the job again. */
static void survives_once(const char *how, const char *news, double grace)
{
    char source[600], file[512];
    snprintf(file, sizeof file, "%s/%s", folder, how);
    snprintf(source, sizeof source, "// fake: worker %s\n// fake: once %s\n// fake: speed 2\n", how,
             file);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, grace);
    submit(workers, "job", 1, source);
    kf_workers_result result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    assert_int_equal(result.verdict->status, KF_CORRECT);
    const char *line = kf_workers_news(workers);
    if (!line || !says(line, news))
        fail_msg("%s: \"%s\" does not say \"%s\"", how, line ? line : "", news);
    expect_no_news(workers);
    kf_workers_result_free(&result);
}

static void worker_dies(void **state)
{
    (void)state;
    survives_once("die", "ended with status 3", 0);
}
static void worker_hangs(void **state)
{
    (void)state;
    /* The next one has as long to answer. */
    survives_once("hang", "no verdict within", 3);
}
/* A stopped worker answers nothing, and its process does not end. */
static void worker_is_silent(void **state)
{
    (void)state;
    char source[600], file[512];
    snprintf(file, sizeof file, "%s/stop", folder);
    snprintf(source, sizeof source, "// fake: worker stop\n// fake: once %s\n// fake: speed 2\n",
             file);
    kf_error error = {0};
    const char *spec = FAKE_WORKER;
    kf_auto(kf_workers) workers = kf_workers_open(
        &spec, 1, &(kf_workers_options){.grace_seconds = 600, .alive_seconds = 2}, &error);
    assert_non_null(workers);
    submit(workers, "job", 1, source);
    kf_workers_result result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    const char *news = kf_workers_news(workers);
    assert_true(news && (says(news, "no sign of life for 6 s while it was compiling") ||
                         says(news, "no sign of life for 6 s while it was measuring")));
    kf_workers_result_free(&result);
}

/* Signs of life keep a slow worker: its job takes several times as long as a silent one would be
 * given. They also come between the jobs of a worker that has several. */
static void slow_worker_lives(void **state)
{
    (void)state;
    setenv("FAKE_JOBS", "2", 1);
    kf_error error = {0};
    const char *spec = FAKE_WORKER;
    kf_auto(kf_workers) workers = kf_workers_open(
        &spec, 1, &(kf_workers_options){.grace_seconds = 600, .alive_seconds = 1.5}, &error);
    assert_non_null(workers);
    submit(workers, "a", 1, "// fake: sleep 6\n");
    submit(workers, "b", 2, "// fake: build 6\n// fake: sleep 5\n");
    for (int i = 0; i < 2; i++) {
        kf_workers_result result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        kf_workers_result_free(&result);
    }
    expect_no_news(workers);
}

/* Figures that no judge writes are a broken worker's, and not a new best. */
static void worker_writes_impossible_figures(void **state)
{
    (void)state;
    static const char *const speeds[] = {"1e300", "-2", "inf", "0", "1e8"};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        char source[100];
        snprintf(source, sizeof source, "// fake: speed %s\n", speeds[i]);
        kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
        submit(workers, "job", 1, source);
        kf_workers_result result = next(workers);
        if (result.outcome != KF_WORKERS_LOST || !says(result.error.text, "impossible figures"))
            fail_msg("speed %s: %s", speeds[i], result.error.text);
        kf_workers_result_free(&result);
    }
}

static void worker_writes_garbage(void **state)
{
    (void)state;
    survives_once("garbage", "verdict", 0);
}
static void worker_mistakes_the_job(void **state)
{
    (void)state;
    survives_once("wrong-id", "answered job another", 0);
}
static void worker_mistakes_the_source(void **state)
{
    (void)state;
    survives_once("wrong-source", "another source", 0);
}
static void worker_never_ends_a_line(void **state)
{
    (void)state;
    survives_once("endless", "bytes", 0);
}

static void worker_answers_twice(void **state)
{
    (void)state;
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    submit(workers, "one", 1, "// fake: worker twice\n// fake: speed 2\n");
    kf_workers_result result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
    submit(workers, "two", 2, "// fake: speed 3\n");
    result = next(workers);
    assert_int_equal(result.ticket, 2);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    assert_true(result.verdict->speedup.value > 2.9);
    kf_workers_result_free(&result);
}

/* A job that kills every worker is lost. The next job is judged. */
static void gives_a_job_up(void **state)
{
    (void)state;
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    submit(workers, "bad", 1, "// fake: worker die\n");
    submit(workers, "good", 2, "// fake: speed 1\n");
    kf_workers_result result = next(workers);
    assert_int_equal(result.ticket, 1);
    assert_int_equal(result.outcome, KF_WORKERS_LOST);
    assert_true(says(result.error.text, "3 workers failed"));
    kf_workers_result_free(&result);
    result = next(workers);
    assert_int_equal(result.ticket, 2);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
}

/* Workers that SIGKILL ends, from outside or out of memory. Three of them lose no job. A worker
 * that ends so four times in a row is given up, and the job is still there for others. */
static void survives_kills(void **state)
{
    (void)state;
    char source[700];
    snprintf(source, sizeof source,
             "// fake: worker kill\n// fake: times 3 %s/kills\n// fake: speed 2\n", folder);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    submit(workers, "job", 1, source);
    kf_workers_result result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
    /* Of three workers, each of which four kills end, the job ends two, and not the last one. */
    kf_auto(kf_workers) three = open_one(FAKE_WORKER "*3", 0);
    submit(three, "poison", 1, "// fake: worker kill\n");
    submit(three, "good", 2, "// fake: speed 2\n");
    result = next(three);
    if (result.ticket == 2) {
        kf_workers_result_free(&result);
        result = next(three);
    }
    assert_int_equal(result.ticket, 1);
    assert_int_equal(result.outcome, KF_WORKERS_LOST);
    if (!says(result.error.text, "status 137") && !says(result.error.text, "signal 9"))
        fail_msg("%s", result.error.text);
    kf_workers_result_free(&result);
}

/* A worker with a broken machine answers each job at once. After six it is given up, and the
 * working one judges all jobs. */
static void leaves_a_broken_machine_out(void **state)
{
    (void)state;
    char fault[600], log[600], broken[1400];
    snprintf(fault, sizeof fault, "%s/fault", folder);
    snprintf(log, sizeof log, "%s/broken", folder);
    snprintf(broken, sizeof broken, "exec env FAKE_FAULT=%s FAKE_LOG=%s %s", fault, log,
             FAKE_WORKER);
    touch(fault);
    const char *const specs[] = {broken, FAKE_WORKER};
    kf_error error = {0};
    kf_auto(kf_workers) workers = kf_workers_open(specs, 2, &(kf_workers_options){0}, &error);
    assert_non_null(workers);
    double until = kf_now() + 600;
    kf_workers_result result;
    while (kf_workers_room(workers) < 2 && kf_now() < until)
        assert_int_equal(kf_workers_wait(workers, 0.05, &result, &error), 0);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "job-%d", i);
        submit(workers, id, i, "// fake: speed 1.5\n// fake: sleep 0.05\n");
    }
    for (int i = 0; i < 20; i++) {
        result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        assert_int_equal(result.verdict->status, KF_CORRECT);
        kf_workers_result_free(&result);
    }
    assert_int_equal(kf_workers_retired(workers), 1);
    assert_int_equal(kf_workers_devices(workers), 1);
    kf_autofree char *text = kf_file_read(log, 1 << 20, NULL, NULL);
    int lines = 0;
    for (const char *c = text; c && *c; c++) lines += *c == '\n';
    assert_int_equal(lines, 6);
}

/* Without another worker the run fails after the sixth. Any verdict between them restarts the
 * count. */
static void ends_on_a_broken_machine(void **state)
{
    (void)state;
    char fault[600];
    snprintf(fault, sizeof fault, "%s/fault", folder);
    setenv("FAKE_FAULT", fault, 1);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    kf_error error = {0};
    kf_workers_result result;
    for (int i = 0; i < 5 + 1 + 6; i++) {
        char id[16];
        snprintf(id, sizeof id, "job-%d", i);
        if (i == 5)
            unlink(fault);
        else
            touch(fault);
        submit(workers, id, i, "// fake: speed 1.5\n");
        result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        assert_int_equal(result.verdict->status, i == 5 ? KF_CORRECT : KF_JUDGE_ERROR);
        kf_workers_result_free(&result);
    }
    unsetenv("FAKE_FAULT");
    assert_int_equal(kf_workers_wait(workers, 1, &result, &error), -1);
    if (!says(error.text, "the machine failed 6 jobs in a row") || !says(error.text, "on fire"))
        fail_msg("%s", error.text);
}

static void gives_workers_up(void **state)
{
    (void)state;
    static const char *const specs[] = {"/nowhere/kforge worker"};
    kf_error error = {0};
    kf_auto(kf_workers) workers = kf_workers_open(specs, 1, NULL, &error);
    assert_non_null(workers);
    kf_workers_result result;
    double until = kf_now() + 600;
    int got;
    while ((got = kf_workers_wait(workers, 1, &result, &error)) == 0 && kf_now() < until) continue;
    assert_int_equal(got, -1);
    if (!says(error.text, "/nowhere/kforge") || !says(error.text, "127"))
        fail_msg("%s", error.text);
}

/* Once, when there is nothing to read, the worker goes on and ends before the reader does. */
ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);
/* The file that it waits for. NULL: not now. */
static const char *continue_file;

ssize_t __wrap_read(int fd, void *data, size_t size)
{
    ssize_t got = __real_read(fd, data, size);
    if (got >= 0 || errno != EAGAIN || !continue_file) return got;
    siginfo_t info;
    assert_true(kf_file_write(continue_file, "", 0, NULL));
    continue_file = NULL;
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    errno = EAGAIN;
    return -1;
}

static void hears_last_words(void **state)
{
    (void)state;
    char file[4096], spec[4400];
    snprintf(file, sizeof file, "%s/go", folder);
    snprintf(spec, sizeof spec,
             "until [ -e %s ]; do sleep 0.01; done; echo what is wrong >&2; exit 9", file);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    continue_file = file;
    kf_workers_result result;
    kf_error error = {0};
    const char *news = NULL;
    for (int i = 0; i < 100 && !news; i++) {
        assert_int_equal(kf_workers_wait(workers, 0.1, &result, &error), 0);
        news = kf_workers_news(workers);
    }
    assert_non_null(news);
    if (!says(news, "it ended with status 9: what is wrong")) fail_msg("%s", news);
}

static void passes_a_banner_over(void **state)
{
    (void)state;
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER " --banner", 0);
    submit(workers, "x", 1, "// fake: speed 1\n");
    kf_workers_result result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
}

static void refuses(void **state)
{
    (void)state;
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    kf_auto(kf_job) job = make_job("gpu", "// fake: speed 1\n");
    free(job->device);
    job->device = strdup("cuda:1");
    kf_error error = {0};
    assert_true(kf_workers_submit(workers, job, 1, &error));
    kf_workers_result result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_REFUSED);
    assert_true(says(result.error.text, "this worker has cpu, not cuda:1"));
    kf_workers_result_free(&result);
}

static void other_hardware(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    assert_true(kf_workers_expect(workers, "NVIDIA H200"));
    kf_workers_result result;
    int got;
    while ((got = kf_workers_wait(workers, 5, &result, &error)) == 0) continue;
    assert_int_equal(got, -1);
    assert_true(says(error.text, "can't be compared"));
}

/* The same processor, but its measurements can't be compared with the present ones. */
static void other_runtime(void **state)
{
    (void)state;
    kf_error error = {0};
    setenv("FAKE_CONDITIONS", "cpu test; judge 2, runtime bb", 1);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    assert_true(kf_workers_expect(workers, "cpu test; judge 2, runtime aa"));
    kf_workers_result result;
    int got;
    while ((got = kf_workers_wait(workers, 5, &result, &error)) == 0) continue;
    unsetenv("FAKE_CONDITIONS");
    assert_int_equal(got, -1);
    assert_true(says(error.text, "start a new run"));
}

/* Three workers judge three jobs at once. */
static void works_in_parallel(void **state)
{
    (void)state;
    char log[600], go[600], source[700];
    snprintf(log, sizeof log, "%s/log", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    snprintf(source, sizeof source, "// fake: speed 1\n// fake: until %s\n", go);
    setenv("FAKE_LOG", log, 1);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER "\xc3\x97"
                                                       "3",
                                           0);
    for (int i = 0; i < 3; i++)
        submit(workers, (const char *const[]){"p0", "p1", "p2"}[i], i, source);
    wait_for_jobs(workers, log, 3);
    touch(go);
    for (int i = 0; i < 3; i++) {
        kf_workers_result result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        kf_workers_result_free(&result);
    }
}

/* One worker for each device, and each gets its own device. */
static void one_worker_a_device(void **state)
{
    (void)state;
    char script[600], program[600], log[600], jobs[600], go[600], source[700];
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    snprintf(jobs, sizeof jobs, "%s/jobs", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    snprintf(source, sizeof source, "// fake: speed 1\n// fake: until %s\n", go);
    setenv("FAKE_LOG", jobs, 1);
    int size =
        snprintf(script, sizeof script, "#!/bin/sh\necho \"$*\" >>%s\nexec %s\n", log, FAKE_WORKER);
    kf_error error = {0};
    assert_true(kf_file_write(program, script, (size_t)size, &error));
    assert_int_equal(chmod(program, 0755), 0);
    const char *const spec = "local", *const devices[] = {"cuda:0", "cuda:2"};
    kf_auto(kf_workers) workers = kf_workers_open(
        &spec, 1,
        &(kf_workers_options){
            .program = program, .device = "cuda", .devices = devices, .device_count = 2},
        &error);
    assert_non_null(workers);
    submit(workers, "d-1", 1, source);
    submit(workers, "d-2", 2, source);
    /* So that no worker does both. */
    wait_for_jobs(workers, jobs, 2);
    touch(go);
    for (int i = 0; i < 2; i++) {
        kf_workers_result result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        kf_workers_result_free(&result);
    }
    kf_autofree char *text = kf_file_read(log, 4096, NULL, &error);
    assert_non_null(text);
    assert_true(says(text, "worker --device cuda:0\n") && says(text, "worker --device cuda:2\n"));
    assert_int_equal(kf_workers_devices(workers), 2);
}

static void builds_ahead(void **state)
{
    (void)state;
    take_four();
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    build_six(workers);
    assert_int_equal(kf_workers_devices(workers), 1);
    assert_int_equal(kf_workers_room(workers), 4);
}

/* A job that kills its worker does not take the worker's other jobs with it. */
static void one_of_several_is_to_blame(void **state)
{
    (void)state;
    setenv("FAKE_JOBS", "4", 1);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 0);
    for (int i = 0; i < 4; i++) {
        char id[16];
        snprintf(id, sizeof id, "c%d", i);
        submit(workers, id, i,
               i == 2 ? "// fake: worker die\n" : "// fake: build 0.05\n// fake: speed 2\n");
    }
    for (int i = 0; i < 4; i++) {
        kf_workers_result result = next(workers);
        assert_int_equal(result.outcome, result.ticket == 2 ? KF_WORKERS_LOST : KF_WORKERS_JUDGED);
        kf_workers_result_free(&result);
    }
    assert_int_equal(kf_workers_in_flight(workers), 0);
}

/* Waits until a worker names this step. */
static void await_step(kf_workers *workers, const char *step)
{
    kf_workers_result result;
    kf_error error = {0};
    for (double until = kf_now() + 600; !says(kf_workers_doing(workers), step);) {
        assert_int_equal(kf_workers_wait(workers, 0.02, &result, &error), 0);
        if (kf_now() > until) fail_msg("no step \"%s\"", step);
    }
}

static void await_file(kf_workers *workers, const char *name)
{
    kf_workers_result result;
    kf_autofree char *path = kf_path_join(folder, name);
    for (double until = kf_now() + 600; access(path, F_OK) != 0 && kf_now() < until;)
        assert_int_equal(kf_workers_wait(workers, 0.02, &result, NULL), 0);
    assert_int_equal(access(path, F_OK), 0);
}

/* Waits until the workers have `count` jobs, none of which may end by itself. */
static void await_jobs(kf_workers *workers, size_t count)
{
    kf_workers_result result;
    kf_error error = {0};
    for (double until = kf_now() + 600; kf_workers_in_flight(workers) != count;) {
        if (kf_workers_wait(workers, 0.02, &result, &error)) fail_msg("%s", error.text);
        if (kf_now() > until) fail_msg("%zu jobs", kf_workers_in_flight(workers));
    }
}

static int count_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    int lines = 0;
    for (int c; file && (c = fgetc(file)) != EOF;) lines += c == '\n';
    if (file) fclose(file);
    return lines;
}

/* Waits without reading what the workers have written. */
static void await_lines(const char *path, int count)
{
    for (double until = kf_now() + 600; count_lines(path) < count; usleep(10000))
        if (kf_now() > until) fail_msg("%d of %d lines", count_lines(path), count);
}

/* A result that waits to be taken is dropped, and the time of its job is returned. */
static void cancels_a_waiting_result(void **state)
{
    (void)state;
    char log[600];
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("FAKE_LOG", log, 1);
    setenv("FAKE_JOBS", "4", 1);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 600);
    char last[700], *built = kf_path_join(folder, "built");
    snprintf(last, sizeof last, "// fake: build until %s\n// fake: until /nowhere\n", built);
    submit(workers, "first", 1, "// fake: speed 2\n");
    submit(workers, "second", 2, "// fake: speed 3\n");
    submit(workers, "third", 3, "// fake: speed 4\n");
    submit(workers, "fourth", 4, last);
    /* The first three come in any order: the worker judges what is built. */
    kf_workers_result result = next(workers);
    int64_t waiting = 1 + 2 + 3 - result.ticket;
    kf_workers_result_free(&result);
    await_lines(log, 3);
    touch(built);
    free(built);
    /* The worker has written the other results when it begins the fourth job. So one wait reads
     * both. */
    await_lines(log, 4);
    result = next(workers);
    waiting -= result.ticket;
    kf_workers_result_free(&result);
    assert_int_equal(kf_workers_in_flight(workers), 2);
    assert_true(kf_workers_cancel(workers, waiting) > 0);
    assert_true(kf_workers_cancel(workers, waiting) == 0);
    assert_int_equal(kf_workers_in_flight(workers), 1);
    assert_true(kf_workers_cancel(workers, 4) > 0);
    submit(workers, "fifth", 5, "// fake: speed 5\n");
    result = next(workers);
    assert_int_equal(result.ticket, 5);
    kf_workers_result_free(&result);
}

/* The worker stops a cancelled job, whether it measures it, builds it or has not read it, and the
 * same process judges the next one. A job that it has not read has not begun, and cost no time. */
static void cancels(void **state)
{
    (void)state;
    char log[600], text[2000], never[] = "// fake: until /nowhere\n";
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("FAKE_LOG", log, 1);
    setenv("FAKE_JOBS", "3", 1);
    kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 600);
    submit(workers, "measured", 1, never);
    await_step(workers, "timing");
    submit(workers, "built", 2, "// fake: build until /nowhere\n");
    submit(workers, "second", 3, "// fake: until /nowhere\n// 3\n");
    submit(workers, "unsent", 4, "// fake: until /nowhere\n// 4\n");
    assert_true(kf_workers_cancel(workers, 4) == 0);
    assert_true(kf_workers_cancel(workers, 2) == 0);
    assert_true(kf_workers_cancel(workers, 1) > 0);
    assert_true(kf_workers_cancel(workers, 1) == 0);
    assert_true(kf_workers_cancel(workers, 77) == 0);
    await_jobs(workers, 1);
    assert_true(kf_workers_cancel(workers, 3) > 0);
    await_jobs(workers, 0);
    assert_int_equal(kf_workers_room(workers), 3);
    submit(workers, "next", 5, "// fake: speed 2\n");
    kf_workers_result result = next(workers);
    assert_int_equal(result.ticket, 5);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
    expect_no_news(workers);
    kf_autofclose FILE *lines = fopen(log, "re");
    long pid, first = 0;
    while (lines && fgets(text, sizeof text, lines)) {
        assert_int_equal(sscanf(text, "%*s %*s %ld", &pid), 1);
        if (!first) first = pid;
        assert_int_equal(pid, first);
    }
}

/* A job that is built while another is built has begun: a sign of life names it. */
static void names_jobs_that_begin(void **state)
{
    (void)state;
    char first[600], go[512];
    snprintf(go, sizeof go, "%s/go", folder);
    snprintf(first, sizeof first, "// fake: until %s\n", go);
    setenv("FAKE_JOBS", "3", 1);
    /* The second of the two builds to begin is named "begun both". */
    kf_auto(kf_workers) workers =
        open_one(FAKE_WORKER " | sed -u '/\"id\":\"[ab]\"/{/compiling/{x;s/^/x/;"
                             "/xx/{x;s/compiling/begun both/;b};x}}'",
                 600);
    submit(workers, "first", 1, first);
    await_step(workers, "timing");
    submit(workers, "a", 2, "// fake: build until /nowhere\n");
    submit(workers, "b", 3, "// fake: build until /nowhere\n// b\n");
    close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    kf_workers_result result = next(workers);
    assert_int_equal(result.ticket, 1);
    kf_workers_result_free(&result);
    await_step(workers, "begun both");
    assert_true(kf_workers_cancel(workers, 3) > 0);
    assert_true(kf_workers_cancel(workers, 2) > 0);
    await_jobs(workers, 0);
}

/* A full queue of builds lets the worker read cancels, and a job that ends as it is cancelled has
 * no result. */
static void cancels_builds(void **state)
{
    (void)state;
    setenv("FAKE_JOBS", "2", 1);
    for (int i = 0; i < 10; i++) {
        kf_auto(kf_workers) workers = open_one(FAKE_WORKER, 600);
        submit(workers, "a", 1, "// fake: build until /nowhere\n");
        submit(workers, "b", 2, "// fake: build until /nowhere\n// 2\n");
        await_step(workers, "ing");
        kf_workers_cancel(workers, 2);
        kf_workers_cancel(workers, 1);
        await_jobs(workers, 0);
        char source[100];
        snprintf(source, sizeof source, "// fake: sleep %g\n", i * 0.001);
        submit(workers, "c", 3, source);
        usleep(5000);
        kf_workers_cancel(workers, 3);
        await_jobs(workers, 0);
        expect_no_news(workers);
    }
}

static void write_job(int fd, const char *id)
{
    kf_auto(kf_job) job = make_job(id, "// fake: build until /nowhere\n");
    kf_auto(cJSON) json = kf_job_to_json(job);
    kf_autofree char *line = json ? cJSON_PrintUnformatted(json) : NULL;
    assert_non_null(line);
    assert_true(kf_write_all(fd, line, strlen(line)) && kf_write_all(fd, "\n", 1));
}

/* Returns the processor time of a worker with a full queue that reads a line of so many bytes, and
 * finds the cancels behind it. */
static double reading_seconds(size_t size)
{
    static const char cancels[] = "{\"schema\":\"kforge-cancel/1\",\"id\":\"a\"}\n"
                                  "{\"schema\":\"kforge-cancel/1\",\"id\":\"b\"}\n";
    int in[2];
    assert_int_equal(pipe(in), 0);
    pid_t pid = fork();
    if (!pid) {
        int null = open("/dev/null", O_WRONLY);
        if (dup2(in[0], 0) < 0 || dup2(null, 1) < 0 || close(in[1]) < 0) _exit(1);
        execl(FAKE_WORKER, "fake_worker", NULL);
        _exit(1);
    }
    close(in[0]);
    write_job(in[1], "a");
    write_job(in[1], "b");
    kf_autofree char *text = malloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\n';
    assert_true(kf_write_all(in[1], text, size + 1));
    assert_true(kf_write_all(in[1], cancels, sizeof cancels - 1));
    close(in[1]);
    struct rusage used;
    int status;
    assert_int_equal(wait4(pid, &status, 0, &used), pid);
    assert_int_equal(status, 0);
    return (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec * 1e-6;
}

/* A cancel behind a large job costs time in proportion to its size. */
static void cancels_behind_large_jobs(void **state)
{
    (void)state;
    setenv("FAKE_JOBS", "2", 1);
    double small = reading_seconds(8 << 20), large = reading_seconds(48 << 20);
    if (large > 15 * small + 0.05) fail_msg("48 MiB took %.3f s, and 8 MiB %.3f s", large, small);
}

/* The input is empty by the time that the watch reads it: the main thread was first. */
static void watch_never_waits_for_input(void **state)
{
    (void)state;
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (!pid) {
        setenv("FAKE_READABLE", "1", 1);
        if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || close(in[1]) < 0) _exit(1);
        execl(FAKE_WORKER, "fake_worker", NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    kf_auto(kf_job) job = make_job("a", "// fake: sleep 0.5\n");
    kf_auto(cJSON) json = kf_job_to_json(job);
    kf_autofree char *line = json ? cJSON_PrintUnformatted(json) : NULL;
    assert_non_null(line);
    assert_true(kf_write_all(in[1], line, strlen(line)) && kf_write_all(in[1], "\n", 1));
    char text[4096];
    size_t size = 0;
    struct pollfd verdict = {.fd = out[0], .events = POLLIN};
    bool answered = false;
    while (!answered && size < sizeof text - 1 && poll(&verdict, 1, 30000) == 1) {
        ssize_t got = read(out[0], text + size, sizeof text - 1 - size);
        if (got <= 0) break;
        text[size += (size_t)got] = '\0';
        answered = strstr(text, "kforge-verdict/1") != NULL;
    }
    if (!answered) kill(pid, SIGKILL);
    close(in[1]);
    close(out[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(answered);
}

/* A worker that dies with a cancelled job gives no result for it, and starts again. */
static void cancelled_jobs_are_not_repeated(void **state)
{
    (void)state;
    char source[700];
    snprintf(source, sizeof source, "// fake: sleep 0\n// fake: worker stop\n// fake: once %s/x\n",
             folder);
    kf_error error = {0};
    const char *spec = FAKE_WORKER;
    kf_auto(kf_workers) workers = kf_workers_open(
        &spec, 1, &(kf_workers_options){.grace_seconds = 600, .alive_seconds = 2}, &error);
    assert_non_null(workers);
    submit(workers, "a", 1, source);
    await_file(workers, "x");
    kf_workers_cancel(workers, 1);
    await_jobs(workers, 0);
    assert_non_null(kf_workers_news(workers));
    submit(workers, "b", 2, "// fake: speed 2\n");
    kf_workers_result result = next(workers);
    assert_int_equal(result.ticket, 2);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
}

/* True soon after the end of a process. One that only waits to be reaped is gone. */
static bool is_gone(long pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    for (double until = kf_now() + 600; kf_now() < until; usleep(5000)) {
        kf_autofclose FILE *stat = fopen(path, "re");
        char state = 0;
        if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1 || state == 'Z' || state == 'X')
            return true;
    }
    return false;
}

/* The workers that logged a job are gone after the object is closed. Closing is quick whatever they
 * do. */
static void leaves_nothing_behind(void **state)
{
    (void)state;
    char log[600];
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("FAKE_LOG", log, 1);
    kf_workers *workers = open_one(FAKE_WORKER "*3", 0);
    submit(workers, "a", 1, "// fake: worker hang\n");
    submit(workers, "b", 2, "// fake: sleep 30\n");
    wait_for_jobs(workers, log, 2);
    submit(workers, "c", 3, "// fake: speed 1\n");
    kf_workers_result result = next(workers);
    assert_int_equal(result.ticket, 3);
    kf_workers_result_free(&result);
    double started = kf_now();
    kf_workers_close(workers);
    /* It waits for no worker. */
    assert_true(kf_now() - started < 15);
    kf_autofree char *text = kf_file_read(log, 1 << 20, NULL, NULL);
    assert_non_null(text);
    int lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        long pid = strtol(strrchr(line, ' '), NULL, 10);
        assert_true(pid > 1);
        assert_true(is_gone(pid));
    }
    assert_int_equal(lines, 3);
    errno = 0;
    /* No child, not even a zombie. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* srun needs time to end its job on another machine, whether its worker is idle or busy. */
static void a_closed_command_ends_by_itself(void **state)
{
    (void)state;
    char program[600], script[1400], ended[600], log[600];
    snprintf(program, sizeof program, "%s/srun", folder);
    snprintf(ended, sizeof ended, "%s/ended", folder);
    snprintf(log, sizeof log, "%s/srun.log", folder);
    snprintf(script, sizeof script,
             "#!/bin/sh\ntrap : TERM\nexec 3<&0\n%s <&3 &\nwait $!\nsleep 1\n"
             "echo | tee %s\n",
             FAKE_WORKER, ended);
    assert_true(kf_file_write(program, script, strlen(script), NULL));
    assert_int_equal(chmod(program, 0755), 0);
    setenv("FAKE_LOG", log, 1);
    for (int busy = 0; busy < 2; busy++) {
        unlink(ended);
        unlink(log);
        kf_workers *workers = open_one(program, 0);
        submit(workers, "a", 1, busy ? "// fake: sleep 600\n" : "// fake: speed 1\n");
        if (busy) {
            wait_for_jobs(workers, log, 1);
        } else {
            kf_workers_result result = next(workers);
            kf_workers_result_free(&result);
        }
        kf_workers_close(workers);
        assert_int_equal(access(ended, F_OK), 0);
    }
}

/* `local` starts without variables that look like keys. */
static void keeps_keys_to_itself(void **state)
{
    (void)state;
    char program[600], script[1300];
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(script, sizeof script,
             "#!/bin/sh\nenv > %s/environment\necho \"$@\" >> %s/environment\nexec %s\n", folder,
             folder, FAKE_WORKER);
    assert_true(kf_file_write(program, script, strlen(script), NULL));
    assert_int_equal(chmod(program, 0755), 0);
    setenv("OPENAI_API_KEY", "sk-precious", 1);
    setenv("HF_TOKEN", "precious", 1);
    setenv("KEPT", "kept", 1);
    static const char *const specs[] = {"local"};
    kf_error error = {0};
    kf_auto(kf_workers) workers = kf_workers_open(
        specs, 1, &(kf_workers_options){.program = program, .device = "cpu"}, &error);
    submit(workers, "k", 1, "// fake: speed 1\n");
    kf_workers_result result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
    snprintf(script, sizeof script, "%s/environment", folder);
    kf_autofree char *text = kf_file_read(script, 1 << 20, NULL, &error);
    assert_non_null(text);
    assert_null(strstr(text, "precious"));
    assert_non_null(strstr(text, "KEPT=kept"));
    assert_non_null(strstr(text, "worker --device cpu"));
    unsetenv("OPENAI_API_KEY");
    unsetenv("HF_TOKEN");
}

static void bad_specs(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "*3", "local*0", "local*100000", "spool:"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kf_error error = {0};
        if (kf_workers_open(&bad[i], 1, NULL, &error)) fail_msg("\"%s\" was accepted", bad[i]);
        assert_int_equal(error.code, KF_ERROR_INPUT);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        TEST(judges),
        TEST(worker_dies),
        TEST(worker_hangs),
        TEST(worker_is_silent),
        TEST(slow_worker_lives),
        TEST(worker_writes_impossible_figures),
        TEST(worker_writes_garbage),
        TEST(worker_mistakes_the_job),
        TEST(worker_mistakes_the_source),
        TEST(worker_never_ends_a_line),
        TEST(worker_answers_twice),
        TEST(gives_a_job_up),
        TEST(survives_kills),
        TEST(leaves_a_broken_machine_out),
        TEST(ends_on_a_broken_machine),
        TEST(gives_workers_up),
        TEST(hears_last_words),
        TEST(passes_a_banner_over),
        TEST(refuses),
        TEST(other_hardware),
        TEST(other_runtime),
        TEST(works_in_parallel),
        TEST(one_worker_a_device),
        TEST(builds_ahead),
        TEST(one_of_several_is_to_blame),
        TEST(cancels),
        TEST(cancels_a_waiting_result),
        TEST(names_jobs_that_begin),
        TEST(cancels_builds),
        TEST(cancels_behind_large_jobs),
        TEST(watch_never_waits_for_input),
        TEST(cancelled_jobs_are_not_repeated),
        TEST(leaves_nothing_behind),
        TEST(a_closed_command_ends_by_itself),
        TEST(keeps_keys_to_itself),
        TEST(bad_specs),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
