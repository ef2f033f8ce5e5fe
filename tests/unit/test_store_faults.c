/* Faults around the store: files that are not stores, locks, kill -9, full disks, damaged pages,
 * readers during writes, old versions. */
#include "test_store_common.h"
#include "test_main.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* Exits a child process if `condition` is false. A cmocka assertion would continue with the other
 * tests in the child. */
#define CHILD_CHECK(condition, text)                                                         \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "child: %s:%d: %s: %s\n", __FILE__, __LINE__, #condition, text); \
            _exit(1);                                                                        \
        }                                                                                    \
    } while (0)

static int exit_status(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void write_text(const char *path, const char *text, size_t size)
{
    kf_error error;
    assert_ok(&error, kf_file_write(path, text, size, &error));
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
    sqlite3_close(db);
}

static void what_is_no_store_is_refused(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autofree char *path = kf_path_join(f->folder, "other.db");
    assert_fails(&error, KF_ERROR_INPUT, "no store there",
                 kf_store_open(path, KF_STORE_READ, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no store there",
                 kf_store_open(path, KF_STORE_WRITE, &error));
    for (kf_store_mode mode = KF_STORE_READ; mode <= KF_STORE_CREATE; mode++) {
        assert_fails(&error, KF_ERROR_INPUT, "is a folder", kf_store_open(f->folder, mode, &error));
        write_text(path,
                   "this is a letter, not a database, and long enough to have a header of a "
                   "hundred bytes or more in it ....",
                   104);
        assert_fails(&error, KF_ERROR_INPUT, "not a kforge store",
                     kf_store_open(path, mode, &error));
        unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_fails(&error, KF_ERROR_INPUT, "not a regular file",
                     kf_store_open(path, mode, &error));
        unlink(path);
        sql(path, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
        assert_fails(&error, KF_ERROR_INPUT, "another program's",
                     kf_store_open(path, mode, &error));
        unlink(path);
        if (mode == KF_STORE_CREATE) continue;
        write_text(path, "", 0);
        assert_fails(&error, KF_ERROR_INPUT, "empty", kf_store_open(path, mode, &error));
        unlink(path);
    }
    assert_fails(&error, KF_ERROR_INPUT, "path is empty",
                 kf_store_open("", KF_STORE_CREATE, &error));
    /* a file where a folder should be */
    kf_autofree char *below = kf_path_join(f->path, "below.db");
    assert_null(kf_store_open(below, KF_STORE_CREATE, &error));
    kf_autofree char *deep = kf_path_join(f->folder, "a/b/c/kforge.db");
    kf_auto(kf_store) made = kf_store_open(deep, KF_STORE_CREATE, &error);
    assert_non_null(made);
    /* Names that mean something else to SQLite are files here. */
    assert_int_equal(chdir(f->folder), 0);
    for (int i = 0; i < 2; i++) {
        kf_auto(kf_store) named =
            kf_store_open(i ? "file:x?mode=memory" : ":memory:", KF_STORE_CREATE, &error);
        assert_non_null(named);
        assert_int_equal(access(i ? "file:x?mode=memory" : ":memory:", F_OK), 0);
    }
    assert_int_equal(chdir("/"), 0);
}

static void a_newer_store_is_left_alone(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_store_close(f->store);
    f->store = NULL;
    sql(f->path, "PRAGMA user_version = 999");
    for (kf_store_mode mode = KF_STORE_READ; mode <= KF_STORE_CREATE; mode++)
        assert_fails(&error, KF_ERROR_INPUT, "newer kforge (schema 999",
                     kf_store_open(f->path, mode, &error));
}

/* tests/unit/data/store-v1.db was written by a kforge of schema 1. */
static void an_old_store_is_migrated(void **state)
{
    fixture *f = *state;
    kf_error error;
    assert_true(kf_store_schema() >= 2);
    size_t size;
    kf_autofree char *bytes =
        kf_file_read(KFORGE_SOURCE_DIR "/tests/unit/data/store-v1.db", 1 << 20, &size, &error);
    assert_non_null(bytes);
    kf_autofree char *path = kf_path_join(f->folder, "old.db");
    write_text(path, bytes, size);
    assert_fails(&error, KF_ERROR_INPUT, "older kforge (schema 1",
                 kf_store_open(path, KF_STORE_READ, &error));
    for (int again = 0; again < 2; again++) {
        kf_auto(kf_store) store = kf_store_open(path, KF_STORE_WRITE, &error);
        if (!store) fail_msg("%s", error.text);
        assert_ok(&error, kf_store_check(store, &error));
        kf_autoresult kf_store_run run = {0};
        bool found;
        assert_ok(&error, kf_store_latest_run(store, TASK, true, &run, &found, &error));
        assert_true(found);
        assert_int_equal(run.attempts, 12 + again);
        assert_int_equal(run.status, KF_RUN_INTERRUPTED);
        assert_true(run.best_speedup.value == 1 + 0.25 * 11);
        kf_autofree char *text = NULL;
        assert_ok(&error, kf_store_run_state(store, run.id, &text, &size, &error));
        assert_string_equal(text, again ? "{\"n\":13}" : "{\"n\":12}");
        kf_autofree char *reply = kf_store_model_call_text(store, 1, KF_CALL_REPLY, &size, &error);
        assert_string_equal(reply, "r");
        if (again) break;
        /* added after version 1 */
        assert_ok(&error, kf_store_put_ceiling(store, "cpu test", "copy", 1e9, &error));
        assert_ok(&error, kf_store_record(store,
                                          &(kf_store_attempt_new){.run = run.id,
                                                                  .outcome = KF_ATTEMPT_LOST,
                                                                  .state = "{\"n\":13}",
                                                                  .state_size = 8},
                                          NULL, &error));
    }
    kf_auto(kf_store) reader = kf_store_open(path, KF_STORE_READ, &error);
    assert_non_null(reader);
}

/* tests/unit/data/store-v7.db was written by a kforge of schema 7. It has a run with the attempts
 * of `old` below. The reply of attempt 5 has other names than candidate 3, which replaced its text.
 * The hash of machine code of candidate 4 is that of candidate 3. */
static void a_verdict_of_another_text_does_not_count(void **state)
{
    fixture *f = *state;
    kf_error error;
    size_t size;
    kf_autofree char *bytes =
        kf_file_read(KFORGE_SOURCE_DIR "/tests/unit/data/store-v7.db", 1 << 20, &size, &error);
    kf_autofree char *path = kf_path_join(f->folder, "old.db");
    write_text(path, bytes, size);
    static const struct {
        kf_attempt_outcome outcome;
        bool unverified;
    } old[] = {{KF_ATTEMPT_JUDGED, false}, {KF_ATTEMPT_JUDGED, false},
               {KF_ATTEMPT_JUDGED, false}, {KF_ATTEMPT_REVERIFIED, false},
               {KF_ATTEMPT_KNOWN, true},   {KF_ATTEMPT_SAME_CODE, true},
               {KF_ATTEMPT_JUDGED, false}};
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_WRITE, &error);
    if (!store) fail_msg("%s", error.text);
    int64_t count;
    assert_ok(&error, kf_store_check(store, &error));
    assert_ok(&error, kf_store_unverified(store, &count, &error));
    assert_int_equal(count, 2);
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(store, "last", &run, &error));
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run.id, 1, &error);
    kf_autoresult kf_store_attempt attempt = {0};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        assert_int_equal(kf_store_next_attempt(cursor, &attempt, &error), 1);
        assert_int_equal(attempt.outcome, old[i].outcome);
        assert_int_equal(attempt.unverified, old[i].unverified);
        assert_int_equal(attempt.verdict != 0, !old[i].unverified);
        assert_int_equal(strstr(attempt.message, "another text") != NULL, old[i].unverified);
    }
    assert_int_equal(kf_store_next_attempt(cursor, &attempt, &error), 0);
    /* The population has candidate 4 without a figure. */
    sqlite3 *db;
    sqlite3_stmt *scores;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_prepare_v2(db, "SELECT candidate FROM member WHERE score IS NULL", -1, &scores, NULL);
    assert_int_equal(sqlite3_step(scores), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(scores, 0), 4);
    assert_int_equal(sqlite3_step(scores), SQLITE_DONE);
    sqlite3_finalize(scores);
    sqlite3_close(db);
}

/* A migration that fails half-way leaves the old version: here its table is there already. */
static void a_failed_migration_changes_nothing(void **state)
{
    fixture *f = *state;
    kf_error error;
    size_t size;
    kf_autofree char *bytes =
        kf_file_read(KFORGE_SOURCE_DIR "/tests/unit/data/store-v1.db", 1 << 20, &size, &error);
    kf_autofree char *path = kf_path_join(f->folder, "old.db");
    write_text(path, bytes, size);
    sql(path, "CREATE TABLE note (x)");
    assert_null(kf_store_open(path, KF_STORE_WRITE, &error));
    sql(path, "DROP TABLE note; CREATE TABLE probe AS SELECT * FROM pragma_user_version");
    sql(path, "CREATE TABLE must_be_1 (x CHECK (x = 1)); INSERT INTO must_be_1 SELECT user_version "
              "FROM probe; DROP TABLE probe; "
              "DROP TABLE must_be_1");
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_WRITE, &error);
    assert_non_null(store);
}

static void a_lock_is_waited_for_then_reported(void **state)
{
    fixture *f = *state;
    kf_error error;
    setenv("KFORGE_STORE_PATIENCE", "0.05", 1);
    kf_auto(kf_store) second = kf_store_open(f->path, KF_STORE_WRITE, &error);
    assert_non_null(second);
    assert_ok(&error, kf_store_begin(f->store, &error));
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, NULL, &error));
    assert_fails(&error, KF_ERROR_BUSY, "another process keeps the store locked",
                 record_number(second, f->run, 2, KF_CORRECT, 2, NULL, &error));
    kf_autoresult kf_store_run run = {0};
    /* reading goes on, and sees nothing unfinished */
    assert_ok(&error, kf_store_find_run(second, f->run, &run, &error));
    assert_int_equal(run.attempts, 0);
    kf_auto(kf_store) reader = kf_store_open(f->path, KF_STORE_READ, &error);
    assert_non_null(reader);
    assert_fails(&error, KF_ERROR_INTERNAL, "opened for reading",
                 record_number(reader, f->run, 2, KF_CORRECT, 2, NULL, &error));
    assert_ok(&error, kf_store_commit(f->store, &error));
    assert_ok(&error, record_number(second, f->run, 2, KF_CORRECT, 2, NULL, &error));

    /* Another program locks the whole file, as a backup tool may. */
    kf_store_close(second);
    second = NULL;
    kf_store_close(reader);
    reader = NULL;
    kf_store_close(f->store);
    f->store = NULL;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE", NULL, NULL, NULL),
        SQLITE_OK);
    for (kf_store_mode mode = KF_STORE_READ; mode <= KF_STORE_CREATE; mode++)
        assert_fails(&error, KF_ERROR_BUSY, "locked", kf_store_open(f->path, mode, &error));
    sqlite3_close(db);
    unsetenv("KFORGE_STORE_PATIENCE");
    assert_ok(&error, f->store = kf_store_open(f->path, KF_STORE_WRITE, &error));
}

static void many_may_create_it_at_once(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autofree char *path = kf_path_join(f->folder, "new/kforge.db");
    pid_t children[6];
    for (int i = 0; i < 6; i++) {
        if ((children[i] = fork())) continue;
        kf_store *store = kf_store_open(path, KF_STORE_CREATE, &error);
        CHILD_CHECK(store, error.text);
        CHILD_CHECK(kf_store_put_task(store, TASK, "axpy", BUNDLE, strlen(BUNDLE), &error),
                    error.text);
        char run[KF_RUN_ID];
        CHILD_CHECK(kf_store_begin_run(store, &(kf_store_run_new){.task = TASK, .device = "d"}, run,
                                       &error),
                    error.text);
        for (int k = 0; k < 20; k++)
            CHILD_CHECK(record_number(store, run, k, KF_CORRECT, 1 + k, NULL, &error), error.text);
        kf_store_close(store);
        _exit(0);
    }
    for (int i = 0; i < 6; i++) assert_int_equal(exit_status(children[i]), 0);
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &error);
    assert_non_null(store);
    assert_ok(&error, kf_store_check(store, &error));
    kf_auto(kf_store_cursor) cursor = kf_store_runs(store, TASK, &error);
    kf_autoresult kf_store_run run = {0};
    int runs = 0;
    for (; kf_store_next_run(cursor, &run, &error) == 1; runs++) {
        assert_int_equal(run.attempts, 20);
        assert_int_equal(run.correct, 20);
    }
    assert_int_equal(runs, 6);
    kf_autoresult kf_store_task task = {0};
    assert_ok(&error, kf_store_find_task(store, TASK, &task, &error));
    assert_int_equal(task.candidates, 20); /* all six recorded the same ones */
}

/* Readers see whole groups of ten or nothing, in order, and never fewer than before. */
static void read_while_written(const char *path, const char *id)
{
    kf_error error;
    int64_t seen = 0;
    do {
        kf_store *store = kf_store_open(path, KF_STORE_READ, &error);
        CHILD_CHECK(store, error.text);
        kf_store_attempt attempt = {0};
        for (int round = 0; round < 3; round++) {
            kf_store_cursor *cursor = kf_store_attempts(store, id, 1, &error);
            CHILD_CHECK(cursor, error.text);
            int64_t count = 0;
            int row;
            while ((row = kf_store_next_attempt(cursor, &attempt, &error)) == 1) {
                CHILD_CHECK(attempt.number == ++count, "a gap");
                CHILD_CHECK(attempt.verdict, "half a record");
            }
            CHILD_CHECK(row == 0, error.text);
            kf_store_cursor_free(cursor);
            CHILD_CHECK(count % 10 == 0 && count >= seen, "part of a group, or fewer than before");
            seen = count;
        }
        kf_store_clear(&attempt);
        kf_store_close(store);
    } while (seen < 300);
    _exit(0);
}

static void several_read_while_one_writes(void **state)
{
    fixture *f = *state;
    kf_error error;
    pid_t children[3];
    for (int i = 0; i < 3; i++)
        if (!(children[i] = fork())) read_while_written(f->path, f->run);
    for (int i = 0; i < 300; i++) {
        if (i % 10 == 0) assert_ok(&error, kf_store_begin(f->store, &error));
        assert_ok(&error, record_number(f->store, f->run, i, KF_CORRECT, 1 + i, NULL, &error));
        if (i % 10 == 9) assert_ok(&error, kf_store_commit(f->store, &error));
        if (i % 50 == 0) usleep(2000);
    }
    for (int i = 0; i < 3; i++) assert_int_equal(exit_status(children[i]), 0);
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

/* Records for ever, and writes the number of committed attempts to the pipe. Odd rounds commit
 * groups of five. */
static void record_until_killed(const char *path, const char *run, int64_t from, int group,
                                int pipe_end)
{
    kf_error error;
    kf_store *store = kf_store_open(path, KF_STORE_WRITE, &error);
    CHILD_CHECK(store && kf_store_resume_run(store, run, &error), error.text);
    for (int64_t n = from + 1;; n++) {
        char source[64], text[32];
        int size = snprintf(source, sizeof source, "kernel %lld", (long long)n),
            text_size = snprintf(text, sizeof text, "%lld", (long long)n);
        kf_verdict verdict = make_verdict(n % 3 ? KF_CORRECT : KF_TIMEOUT, 1 + (double)(n % 10));
        if (group && (n - from) % group == 1)
            CHILD_CHECK(kf_store_begin(store, &error), error.text);
        kf_store_attempt_new attempt = {.run = run,
                                        .content.source = source,
                                        .content.source_size = (size_t)size,
                                        .verdict = &verdict,
                                        .verdict_json = text};
        attempt.verdict_size = attempt.state_size = (size_t)text_size;
        attempt.state = text;
        CHILD_CHECK(kf_store_record(store, &attempt, NULL, &error), error.text);
        if (group && (n - from) % group) continue;
        if (group) CHILD_CHECK(kf_store_commit(store, &error), error.text);
        CHILD_CHECK(kf_write_all(pipe_end, &n, sizeof n), "pipe");
    }
}

/* Checks that the store is intact and holds at least the acknowledged attempts. Returns the number
 * of attempts. */
static int64_t inspect(const char *path, const char *id, int64_t acknowledged)
{
    kf_error error;
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_WRITE, &error);
    if (!store) fail_msg("%s", error.text);
    assert_ok(&error, kf_store_check(store, &error));
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(store, id, &run, &error));
    assert_false(run.alive);
    if (run.attempts < acknowledged)
        fail_msg("%lld attempts, %lld were acknowledged", (long long)run.attempts,
                 (long long)acknowledged);
    assert_int_equal(run.judged, run.attempts);
    kf_autofree char *text = NULL;
    size_t size;
    assert_ok(&error, kf_store_run_state(store, id, &text, &size, &error));
    assert_int_equal(text ? atoll(text) : 0, run.attempts); /* state and attempts move together */
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, id, 1, &error);
    kf_autoresult kf_store_attempt attempt = {0};
    int64_t count = 0;
    while (kf_store_next_attempt(cursor, &attempt, &error) == 1) {
        assert_int_equal(attempt.number, ++count);
        kf_autofree char *json = kf_store_verdict_json(store, attempt.verdict, NULL, &error);
        assert_int_equal(atoll(json), count);
        kf_autofree char *source = kf_store_source(store, attempt.candidate, NULL, &error);
        assert_int_equal(atoll(source + 7), count);
    }
    assert_int_equal(count, run.attempts);
    return count;
}

/* Begins a run in a process that is gone afterwards: while this one lives, its own runs could not
 * be taken over. */
static void begin_in_child(const char *path, char id[KF_RUN_ID])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        kf_error error;
        kf_store *store = kf_store_open(path, KF_STORE_WRITE, &error);
        CHILD_CHECK(store, error.text);
        CHILD_CHECK(
            kf_store_begin_run(store, &(kf_store_run_new){.task = TASK, .device = "d"}, id, &error),
            error.text);
        kf_store_close(store);
        CHILD_CHECK(kf_write_all(ends[1], id, KF_RUN_ID), "pipe");
        _exit(0);
    }
    assert_int_equal(exit_status(child), 0);
    assert_true(kf_read_all(ends[0], id, KF_RUN_ID));
    close(ends[0]);
    close(ends[1]);
}

static void killed_at_any_instant_nothing_is_lost(void **state)
{
    fixture *f = *state;
    kf_store_close(f->store);
    f->store = NULL;
    char id[KF_RUN_ID] = "";
    begin_in_child(f->path, id);
    int64_t attempts = 0;
    unsigned random = 12345;
    for (unsigned round = 0; round < 30 || (attempts <= 30 && round < 300); round++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            close(ends[0]);
            record_until_killed(f->path, id, attempts, round % 2 ? 5 : 0, ends[1]);
        }
        close(ends[1]);
        random = random * 1103515245 + 12345;
        /* longer each time: a slow disk gets there, too */
        usleep(1000 + random % (30000 + 1000 * round));
        kill(child, SIGKILL);
        assert_int_equal(exit_status(child), 128 + SIGKILL);
        int64_t acknowledged = attempts, number;
        while (read(ends[0], &number, sizeof number) == sizeof number) acknowledged = number;
        close(ends[0]);
        attempts = inspect(f->path, id, acknowledged);
    }
    assert_true(attempts > 30);
}

/* ---- full disk ------------------------------------------------------------------------------- */

/* Fills the disk, sees the error, makes room, goes on with the same connection. `make_room` frees
 * space. */
static void write_until_full(const char *path, void (*make_room)(const char *),
                             const char *argument)
{
    kf_error error;
    kf_store *store = kf_store_open(path, KF_STORE_CREATE, &error);
    CHILD_CHECK(store, error.text);
    char run[KF_RUN_ID];
    CHILD_CHECK(kf_store_put_task(store, TASK, "axpy", BUNDLE, strlen(BUNDLE), &error), error.text);
    CHILD_CHECK(
        kf_store_begin_run(store, &(kf_store_run_new){.task = TASK, .device = "d"}, run, &error),
        error.text);
    int64_t stored = 0;
    for (int in_group = 0; in_group < 2; in_group++) {
        bool ok = true;
        int number = 10000 * in_group;
        while (ok && number < 10000 * in_group + 9999) {
            if (in_group && !kf_store_in_group(store)) ok = kf_store_begin(store, &error);
            ok = ok && record_number(store, run, ++number, KF_CORRECT, 2, NULL, &error);
            if (ok && !in_group) stored++;
            if (!in_group || number % 200) continue;
            ok = ok && kf_store_commit(store, &error);
            if (ok) stored += 200;
        }
        CHILD_CHECK(!ok, "the disk is not full");
        CHILD_CHECK(error.code == KF_ERROR_IO && strstr(error.text, "disk is full"), error.text);
        CHILD_CHECK(!kf_store_in_group(store), "a half-written group is open");
    }
    kf_store_run summary = {0};
    CHILD_CHECK(kf_store_find_run(store, run, &summary, &error), error.text);
    CHILD_CHECK(summary.attempts == stored, "attempts were lost or half-written");
    make_room(argument);
    for (int i = 1; i <= 20; i++)
        CHILD_CHECK(record_number(store, run, 50000 + i, KF_CORRECT, 2, NULL, &error), error.text);
    CHILD_CHECK(kf_store_check(store, &error), error.text);
    CHILD_CHECK(kf_store_find_run(store, run, &summary, &error), error.text);
    CHILD_CHECK(summary.attempts == stored + 20 && summary.correct == stored + 20, "counts");
    kf_store_clear(&summary);
    kf_store_close(store);
}

static void lift_limit(const char *argument)
{
    (void)argument;
    struct rlimit limit;
    CHILD_CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    CHILD_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

static void a_size_limit_undoes_cleanly(void **state)
{
    fixture *f = *state;
    kf_autofree char *path = kf_path_join(f->folder, "limited.db");
    pid_t child = fork();
    if (!child) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit;
        CHILD_CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0, "getrlimit");
        limit.rlim_cur = 1 << 20;
        CHILD_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
        write_until_full(path, lift_limit, NULL);
        _exit(0);
    }
    assert_int_equal(exit_status(child), 0);
}

static void remove_filler(const char *path)
{
    CHILD_CHECK(unlink(path) == 0, "unlink");
}

static void fill_disk(const char *path, size_t leave)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    char block[4096] = {0};
    while (write(fd, block, sizeof block) > 0) continue;
    CHILD_CHECK(errno == ENOSPC, "not full");
    off_t size = lseek(fd, 0, SEEK_END);
    CHILD_CHECK(ftruncate(fd, size - (off_t)leave) == 0, "ftruncate");
    close(fd);
}

static bool write_proc(const char *path, const char *text)
{
    kf_autoclose int fd = open(path, O_WRONLY);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Inside the namespace the user is root. */
static bool write_map(const char *path, unsigned id)
{
    char map[64];
    snprintf(map, sizeof map, "0 %u 1", id);
    return write_proc(path, map);
}

/* A mount namespace of its own with a small tmpfs at `folder`, as root or as an ordinary user that
 * becomes root in a user namespace; exit status 77 when the kernel forbids it. */
static void enter_small_disk(const char *folder)
{
    unsigned user = getuid(), group = getgid();
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(77);
        if (!write_proc("/proc/self/setgroups", "deny") || !write_map("/proc/self/uid_map", user) ||
            !write_map("/proc/self/gid_map", group))
            _exit(77);
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(77);
    if (mount("kforge-test", folder, "tmpfs", 0, "size=8m") != 0) _exit(77);
}

static void a_full_disk_undoes_cleanly(void **state)
{
    fixture *f = *state;
    pid_t child = fork();
    if (!child) {
        enter_small_disk(f->folder);
        char *filler = kf_path_join(f->folder, "filler");
        kf_error error;
        fill_disk(filler, 0);
        CHILD_CHECK(!kf_store_open(f->path, KF_STORE_CREATE, &error), "opened on a full disk");
        CHILD_CHECK(error.code == KF_ERROR_IO && strstr(error.text, "disk is full"), error.text);
        remove_filler(filler);
        fill_disk(filler, 2 << 20);
        write_until_full(f->path, remove_filler, filler);
        free(filler);
        _exit(0);
    }
    int status = exit_status(child);
    if (status == 77) skip();
    assert_int_equal(status, 0);
}

static void a_read_only_disk_can_be_read(void **state)
{
    fixture *f = *state;
    pid_t child = fork();
    if (!child) {
        kf_error error;
        enter_small_disk(f->folder);
        kf_store *store = kf_store_open(f->path, KF_STORE_CREATE, &error);
        char run[KF_RUN_ID];
        CHILD_CHECK(store && kf_store_put_task(store, TASK, "axpy", BUNDLE, strlen(BUNDLE), &error),
                    error.text);
        CHILD_CHECK(kf_store_begin_run(store, &(kf_store_run_new){.task = TASK, .device = "d"}, run,
                                       &error),
                    error.text);
        CHILD_CHECK(record_number(store, run, 1, KF_CORRECT, 2, NULL, &error), error.text);
        kf_store_close(store);
        if (mount(NULL, f->folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0) _exit(77);
        CHILD_CHECK(!kf_store_open(f->path, KF_STORE_WRITE, &error) && error.code == KF_ERROR_IO,
                    error.text);
        CHILD_CHECK(strstr(error.text, "read-only"), error.text);
        store = kf_store_open(f->path, KF_STORE_READ, &error);
        CHILD_CHECK(store, error.text);
        kf_store_run summary = {0};
        CHILD_CHECK(kf_store_find_run(store, run, &summary, &error) && summary.attempts == 1,
                    error.text);
        kf_store_clear(&summary);
        kf_store_close(store);
        _exit(0);
    }
    int status = exit_status(child);
    if (status == 77) skip();
    assert_int_equal(status, 0);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Bytes are damaged at random: reading gives an error or a right answer, never a crash. The check
 * finds most damage. */
static void damage_is_found_and_survived(void **state)
{
    fixture *f = *state;
    kf_error error;
    for (int i = 0; i < 200; i++)
        assert_ok(&error, record_number(f->store, f->run, i, KF_CORRECT, 1 + i, NULL, &error));
    kf_store_close(f->store);
    f->store = NULL;
    size_t size;
    kf_autofree char *good = kf_file_read(f->path, 64 << 20, &size, &error);
    assert_non_null(good);
    kf_autofree char *path = kf_path_join(f->folder, "damaged.db");
    kf_autofree char *bytes = malloc(size);
    unsigned random = 99;
    int found[2] = {0}, rounds = 40; /* of a few bytes, of a page */
    for (int round = 0; round < rounds; round++) {
        memcpy(bytes, good, size);
        random = random * 1103515245 + 12345;
        size_t page = 1 + (random >> 8) % (size / 4096 - 1), bytes_damaged = round % 2 ? 4096 : 64;
        size_t at = page * 4096 + (round % 2 ? 0 : random % 4000);
        for (size_t i = 0; i < bytes_damaged; i++)
            bytes[at + i] = (char)(random = random * 1103515245 + 12345);
        write_text(path, bytes, round % 10 == 9 ? size / 2 : size); /* some are cut as well */
        kf_autofree char *log = kf_path_join(f->folder, "damaged.db-wal");
        unlink(log);
        kf_auto(kf_store) store = kf_store_open(path, KF_STORE_WRITE, &error);
        if (!store) {
            assert_true(error.code == KF_ERROR_IO || error.code == KF_ERROR_INPUT);
            found[round % 2]++;
            continue;
        }
        if (!kf_store_check(store, &error)) {
            if (error.code != KF_ERROR_IO)
                fail_msg("%s (%s)", error.text, kf_error_code_name(error.code));
            assert_non_null(strstr(error.text, "damaged"));
            found[round % 2]++;
        }
        kf_autoresult kf_store_candidate candidate = {0};
        kf_auto(kf_store_cursor) cursor =
            kf_store_best(store, &(kf_store_scope){.run = f->run, .island = -1}, 100, &error);
        while (cursor && kf_store_next_candidate(cursor, &candidate, &error) == 1)
            free(kf_store_source(store, candidate.id, NULL, &error));
        record_number(store, f->run, 1000, KF_CORRECT, 3, NULL, &error);
    }
    /* A page may be one that is free, and a few bytes often lie where a page holds nothing. */
    if (found[1] < rounds / 2 * 4 / 5 || found[0] < rounds / 2 / 4)
        fail_msg("the check found only %d pages and %d times a few bytes, of %d each", found[1],
                 found[0], rounds / 2);
}

/* Reading a blob with changed bytes fails. */
static void a_changed_source_is_noticed(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_store_recorded recorded;
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, &recorded, &error));
    sql(f->path, "UPDATE blob SET data = CAST('__global__ void evil() {}' AS BLOB), size = 25, "
                 "codec = 0 WHERE size < 40");
    assert_fails(&error, KF_ERROR_IO, "damaged",
                 kf_store_source(f->store, recorded.candidate, NULL, &error));
    assert_fails(&error, KF_ERROR_IO, "damaged", kf_store_check(f->store, &error));
    sql(f->path, "UPDATE run SET attempts = 5");
    assert_fails(&error, KF_ERROR_IO, "counts 5 attempts", kf_store_check(f->store, &error));
}

/* So does reading a changed verdict. A changed digit is still a digit, so only a checksum shows it.
 */
static void a_changed_verdict_is_noticed(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autobuffer json = {0};
    kf_buffer_string(&json, "{\"workloads\":[{\"samples\":{\"seconds\":[0");
    for (int i = 1; i < 40; i++) kf_buffer_format(&json, ",%.17g", 1e-3 / i);
    kf_buffer_string(&json, "]}}]}");
    kf_verdict verdict = make_verdict(KF_CORRECT, 2);
    kf_store_recorded recorded;
    assert_ok(&error, kf_store_record(f->store,
                                      &(kf_store_attempt_new){.run = f->run,
                                                              .content.source = "S",
                                                              .content.source_size = 1,
                                                              .verdict = &verdict,
                                                              .verdict_json = json.data,
                                                              .verdict_size = json.size},
                                      &recorded, &error));
    char text[600];
    kf_autofree char *side = kf_path_join(f->folder, "side.db");
    snprintf(text, sizeof text,
             "ATTACH '%s' AS side; CREATE TABLE side.kept AS SELECT data FROM verdict_json", side);
    sql(f->path, text);
    for (int at = 1; at < 500; at += 7) {
        snprintf(text, sizeof text,
                 "ATTACH '%s' AS side; UPDATE verdict_json SET data = (SELECT CAST(substr(data, 1, "
                 "%d) || x'%02x' || substr(data, %d) AS BLOB) FROM kept)",
                 side, at - 1, at % 256, at + 1);
        sql(f->path, text);
        kf_autofree char *back = kf_store_verdict_json(f->store, recorded.verdict, NULL, &error);
        if (back) assert_string_equal(back, json.data); /* the byte was the same one */
    }
    snprintf(text, sizeof text,
             "ATTACH '%s' AS side; UPDATE verdict_json SET data = (SELECT substr(data, 1, "
             "length(data) - 1) FROM kept)",
             side);
    sql(f->path, text);
    assert_fails(&error, KF_ERROR_IO, "damaged",
                 kf_store_verdict_json(f->store, recorded.verdict, NULL, &error));
    assert_fails(&error, KF_ERROR_IO, "damaged", kf_store_check(f->store, &error));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_no_store_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_newer_store_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_store_is_migrated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_verdict_of_another_text_does_not_count, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_failed_migration_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_is_waited_for_then_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_may_create_it_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_read_while_one_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(killed_at_any_instant_nothing_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_size_limit_undoes_cleanly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_undoes_cleanly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_read_only_disk_can_be_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_found_and_survived, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_source_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_verdict_is_noticed, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
