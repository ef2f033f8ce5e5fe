/* Workers that take their jobs from a folder, against tests/cli/fake_worker.c: several share it,
 * and one takes over the jobs of another. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/json.h"
#include "test_main.h"
#include "worker.h"
#include "test_workers_common.h"

/* Seconds of silence after which another worker takes a job. */
static const char *lease = "0.4";

static pid_t start_spool_worker(const char *spool, bool once)
{
    pid_t pid = fork();
    if (pid == 0) {
        /* A failing test leaves no process. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(FAKE_WORKER, "fake_worker", "--spool", spool, "--lease", lease,
              once ? "--once" : NULL, NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void end_worker(pid_t pid, int number)
{
    kill(pid, number);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static char *spool_spec(int jobs)
{
    char *spec;
    assert_true(asprintf(&spec, "spool:%s/s*%d", folder, jobs) > 0);
    return spec;
}

static int count_files(const char *name)
{
    char command[700];
    snprintf(command, sizeof command, "ls -A '%s/s/%s' | wc -l", folder, name);
    FILE *pipe = popen(command, "r");
    int count = -1;
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

/* A worker of a folder stops a cancelled job, and goes on with the next. A job that no worker took
 * has not begun. */
static void spool_worker_stops(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/s", folder);
    kf_autofree char *spec = spool_spec(3);
    kf_auto(kf_workers) workers = open_one(spec, 600);
    pid_t worker = start_spool_worker(path, false);
    kf_workers_result result;
    kf_error error = {0};
    while (!kf_workers_room(workers)) kf_workers_wait(workers, 0.02, &result, &error);
    submit(workers, "a", 1, "// fake: until /nowhere\n");
    double until = kf_now() + 600;
    while (count_files("taken") < 2 && kf_now() < until) usleep(10000);
    submit(workers, "waiting", 3, "// fake: until /nowhere\n// 3\n");
    submit(workers, "answered", 4, "// fake: until /nowhere\n// 4\n");
    assert_int_equal(count_files("jobs"), 2);
    /* This side has looked at all jobs when it reports the invalid verdict of the last one. */
    char verdict[640];
    snprintf(verdict, sizeof verdict, "%s/s/verdicts/answered.json", folder);
    assert_true(kf_file_write(verdict, "{}", 2, &error));
    while (!kf_workers_news(workers)) kf_workers_wait(workers, 0.02, &result, &error);
    assert_true(kf_workers_cancel(workers, 3) == 0);
    assert_true(kf_workers_cancel(workers, 4) == 0);
    assert_true(kf_workers_cancel(workers, 1) > 0);
    submit(workers, "b", 2, "// fake: speed 2\n");
    result = next(workers);
    assert_int_equal(result.ticket, 2);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
    assert_int_equal(kf_workers_in_flight(workers), 0);
    end_worker(worker, SIGTERM);
    assert_int_equal(count_files("taken") + count_files("jobs") + count_files("verdicts"), 0);
}

static void spool_worker_comes_later(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/s", folder);
    kf_autofree char *spec = spool_spec(1);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    submit(workers, "early", 1, "// fake: speed 1.25\n");
    kf_workers_result result;
    kf_error error;
    assert_int_equal(kf_workers_wait(workers, 0.2, &result, &error), 0);
    pid_t pid = start_spool_worker(path, false);
    result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    assert_string_equal(kf_workers_hardware(workers), "cpu test");
    kf_workers_result_free(&result);
    end_worker(pid, SIGTERM);
    assert_int_equal(count_files("jobs") + count_files("taken") + count_files("verdicts") +
                         count_files("workers"),
                     0);
}

/* Eight jobs, three workers: every job is done once. */
static void spool_shares_work(void **state)
{
    (void)state;
    char path[600], log[600];
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("FAKE_LOG", log, 1);
    setenv("FAKE_SLEEP", "0.05", 1);
    kf_autofree char *spec = spool_spec(8);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    pid_t pids[3];
    /* However busy this machine is. */
    lease = "60";
    for (int i = 0; i < 3; i++) pids[i] = start_spool_worker(path, false);
    lease = "0.4";
    for (int i = 0; i < 8; i++) {
        char id[16], source[64];
        snprintf(id, sizeof id, "s%d", i);
        snprintf(source, sizeof source, "// fake: speed 1.%d\n", i);
        submit(workers, id, i, source);
    }
    for (int i = 0; i < 8; i++) {
        kf_workers_result result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        kf_workers_result_free(&result);
    }
    for (int i = 0; i < 3; i++) end_worker(pids[i], SIGTERM);
    kf_autofree char *text = kf_file_read(log, 1 << 20, NULL, NULL);
    int lines = 0;
    for (char *c = text; *c; c++) lines += *c == '\n';
    assert_int_equal(lines, 8);
}

static void spool_builds_ahead(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/s", folder);
    take_four();
    kf_autofree char *spec = spool_spec(7);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    lease = "60";
    pid_t pid = start_spool_worker(path, false);
    lease = "0.4";
    build_six(workers);
    end_worker(pid, SIGTERM);
    assert_int_equal(count_files("jobs") + count_files("taken") + count_files("verdicts") +
                         count_files("workers"),
                     0);
}

/* A stopped worker gives all its jobs back, and another worker does them. */
static void spool_gives_several_back(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/s", folder);
    take_four();
    kf_autofree char *spec = spool_spec(4);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    lease = "60";
    pid_t pid = start_spool_worker(path, false);
    keep_busy(workers);
    for (int i = 0; i < 3; i++) {
        char id[16], source[700];
        snprintf(id, sizeof id, "g%d", i);
        snprintf(source, sizeof source, "// fake: build until %s/built\n// fake: speed 1.%d\n",
                 folder, i);
        submit(workers, id, i, source);
    }
    release_worker(workers);
    kf_workers_result result;
    kf_error error;
    for (int i = 0; i < 1000 && count_files("taken") < 6; i++)
        assert_int_equal(kf_workers_wait(workers, 0.02, &result, &error), 0);
    /* The files that name their workers count, too. */
    assert_int_equal(count_files("taken"), 6);
    end_worker(pid, SIGTERM);
    assert_int_equal(count_files("jobs"), 3);
    assert_int_equal(count_files("taken"), 0);
    char built[600];
    snprintf(built, sizeof built, "%s/built", folder);
    touch(built);
    pid = start_spool_worker(path, false);
    lease = "0.4";
    for (int i = 0; i < 3; i++) {
        result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        kf_workers_result_free(&result);
    }
    end_worker(pid, SIGTERM);
}

static void spool_takes_over(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/s", folder);
    kf_autofree char *spec = spool_spec(1);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    pid_t dying = start_spool_worker(path, false);
    char source[700], hung[600];
    snprintf(hung, sizeof hung, "%s/hung", folder);
    snprintf(source, sizeof source, "// fake: worker hang\n// fake: once %s\n// fake: speed 1\n",
             hung);
    submit(workers, "t", 1, source);
    kf_workers_result result;
    kf_error error;
    double until = kf_now() + 600;
    do {
        assert_int_equal(kf_workers_wait(workers, 0.05, &result, &error), 0);
    } while (access(hung, F_OK) != 0 &&
             /* Killed earlier, it would leave the hanging job to the next worker. */
             kf_now() < until);
    end_worker(dying, SIGKILL);
    /* The next worker counts the silence from here. */
    double started = kf_now();
    pid_t next_worker = start_spool_worker(path, false);
    result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    /* Not before the lease was over. */
    assert_true(kf_now() - started > 0.35);
    kf_workers_result_free(&result);
    end_worker(next_worker, SIGTERM);
}

/* Opens a folder with one job at a time and quick signs of life. */
static kf_workers *open_quick(const char *spec, double alive_seconds)
{
    kf_error error = {0};
    kf_workers *workers =
        kf_workers_open(&spec, 1, &(kf_workers_options){.alive_seconds = alive_seconds}, &error);
    if (!workers) fail_msg("%s: %s", spec, error.text);
    return workers;
}

/* The only worker stops with a job, and no other worker takes the job back. */
static void spool_notices_a_lost_worker(void **state)
{
    (void)state;
    char path[600], source[700];
    snprintf(path, sizeof path, "%s/s", folder);
    kf_autofree char *spec = spool_spec(1);
    kf_auto(kf_workers) workers = open_quick(spec, 0.4);
    pid_t pid = start_spool_worker(path, false);
    snprintf(source, sizeof source,
             "// fake: worker stop\n// fake: once %s/once\n// fake: speed 1\n", folder);
    submit(workers, "t", 1, source);
    kf_workers_result result;
    kf_error error;
    const char *news = NULL;
    /* It does not stop itself again after SIGCONT. */
    for (double until = kf_now() + 600; waitpid(pid, NULL, WUNTRACED | WNOHANG) != pid;) {
        assert_true(kf_now() < until);
        assert_int_equal(kf_workers_wait(workers, 0.05, &result, &error), 0);
    }
    for (double until = kf_now() + 600; !news && kf_now() < until; news = kf_workers_news(workers))
        assert_int_equal(kf_workers_wait(workers, 0.05, &result, &error), 0);
    assert_true(news && says(news, "has not touched it"));
    assert_int_equal(count_files("jobs"), 1);
    kill(pid, SIGCONT);
    result = next(workers);
    assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
    kf_workers_result_free(&result);
    end_worker(pid, SIGTERM);
}

static void spool_without_its_folder(void **state)
{
    (void)state;
    char path[700];
    snprintf(path, sizeof path, "%s/s", folder);
    kf_autofree char *spec = spool_spec(1);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    submit(workers, "t", 1, "x");
    kf_workers_result result;
    kf_error error = {0};
    assert_int_equal(kf_workers_wait(workers, 0.1, &result, &error), 0);
    kf_directory_remove(path, NULL);
    double started = kf_now();
    assert_int_equal(kf_workers_wait(workers, 60, &result, &error), -1);
    assert_true(kf_now() - started < 30 && says(error.text, "is gone"));
}

static void spool_removes_old_hellos(void **state)
{
    (void)state;
    char path[600], dead[700];
    snprintf(path, sizeof path, "%s/s", folder);
    kf_autofree char *spec = spool_spec(1);
    kf_auto(kf_workers) workers = open_quick(spec, 1);
    pid_t pid = start_spool_worker(path, false);
    kf_workers_result result;
    kf_error error;
    for (double until = kf_now() + 600; !kf_workers_hardware(workers) && kf_now() < until;)
        kf_workers_wait(workers, 0.05, &result, &error);
    snprintf(dead, sizeof dead, "%s/workers/dead.json", path);
    touch(dead);
    for (double until = kf_now() + 600; access(dead, F_OK) == 0 && kf_now() < until;)
        assert_int_equal(kf_workers_wait(workers, 0.05, &result, &error), 0);
    assert_int_not_equal(access(dead, F_OK), 0);
    assert_int_equal(count_files("workers"), 1);
    end_worker(pid, SIGTERM);
}

static void spool_gives_back(void **state)
{
    (void)state;
    char path[600], answer[700];
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(answer, sizeof answer, "%s/jobs", path);
    kf_error error = {0};
    assert_true(kf_directory_make(answer, &error));
    snprintf(answer, sizeof answer, "%s/jobs/bad.json", path);
    assert_true(kf_file_write(answer, "no job", 6, &error));
    snprintf(answer, sizeof answer, "%s/jobs/renamed.json", path);
    kf_auto(kf_job) job = make_job("other", "x");
    kf_auto(cJSON) json = kf_job_to_json(job);
    kf_autofree char *line = cJSON_PrintUnformatted(json);
    assert_true(kf_file_write(answer, line, strlen(line), &error));
    pid_t pid = start_spool_worker(path, true);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    static const char *const names[] = {"bad", "renamed"};
    for (int i = 0; i < 2; i++) {
        snprintf(answer, sizeof answer, "%s/verdicts/%s.json", path, names[i]);
        kf_autofree char *text = kf_file_read(answer, 1 << 20, NULL, &error);
        assert_non_null(text);
        assert_true(says(text, KF_REFUSAL_SCHEMA));
        assert_true(says(text, names[i]));
    }
    assert_int_equal(count_files("jobs") + count_files("taken"), 0);
}

static void withdraws(void **state)
{
    (void)state;
    kf_autofree char *spec = spool_spec(2);
    char hello[700];
    snprintf(hello, sizeof hello, "%s/s/workers", folder);
    kf_error error = {0};
    assert_true(kf_directory_make(hello, &error));
    snprintf(hello, sizeof hello, "%s/s/workers/w.json", folder);
    static const char line[] =
        "{\"schema\":\"" KF_HELLO_SCHEMA "\",\"device\":\"cpu\",\"hardware\":\"cpu test\"}";
    assert_true(kf_file_write(hello, line, strlen(line), &error));
    kf_auto(kf_workers) workers = open_one(spec, 0);
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", i);
        submit(workers, id, 10 + i, "x");
    }
    kf_workers_result result;
    for (int i = 0; i < 200 && count_files("jobs") < 2; i++)
        assert_int_equal(kf_workers_wait(workers, 0.1, &result, &error), 0);
    assert_int_equal(count_files("jobs"), 2);
    int64_t tickets[8];
    assert_int_equal(kf_workers_withdraw(workers, tickets, 8), 3);
    assert_int_equal(tickets[0] + tickets[1] + tickets[2], 33);
    assert_int_equal(count_files("jobs"), 0);
    assert_int_equal(kf_workers_in_flight(workers), 0);
}

/* A worker with a broken machine answers each job at once and would take them all. It ends after
 * six, and the working one does the rest. */
static void spool_leaves_a_broken_machine_out(void **state)
{
    (void)state;
    char path[600], fault[600];
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(fault, sizeof fault, "%s/fault", folder);
    touch(fault);
    kf_autofree char *spec = spool_spec(2);
    kf_auto(kf_workers) workers = open_one(spec, 0);
    setenv("FAKE_SLEEP", "0.2", 1);
    pid_t good = start_spool_worker(path, false);
    unsetenv("FAKE_SLEEP");
    setenv("FAKE_FAULT", fault, 1);
    pid_t broken = start_spool_worker(path, false);
    unsetenv("FAKE_FAULT");
    for (double until = kf_now() + 600; count_files("workers") < 2 && kf_now() < until;)
        usleep(20000);
    assert_int_equal(count_files("workers"), 2);
    for (int i = 0; i < 12; i++) {
        char id[16];
        snprintf(id, sizeof id, "job-%d", i);
        submit(workers, id, i, "// fake: speed 1.5\n");
    }
    int faults = 0, status = 0;
    for (int i = 0; i < 12; i++) {
        kf_workers_result result = next(workers);
        assert_int_equal(result.outcome, KF_WORKERS_JUDGED);
        faults += result.verdict->status == KF_JUDGE_ERROR;
        kf_workers_result_free(&result);
    }
    assert_int_equal(faults, 6);
    assert_int_equal(waitpid(broken, &status, 0), broken);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    end_worker(good, SIGTERM);
    assert_int_equal(count_files("jobs") + count_files("taken") + count_files("verdicts") +
                         count_files("workers"),
                     0);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        TEST(spool_worker_comes_later),
        TEST(spool_worker_stops),
        TEST(spool_shares_work),
        TEST(spool_builds_ahead),
        TEST(spool_gives_several_back),
        TEST(spool_takes_over),
        TEST(spool_notices_a_lost_worker),
        TEST(spool_without_its_folder),
        TEST(spool_removes_old_hellos),
        TEST(spool_gives_back),
        TEST(withdraws),
        TEST(spool_leaves_a_broken_machine_out),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
