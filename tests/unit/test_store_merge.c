/* Merging and maintenance of stores. A merge gives the same result in any order, again, and after a
 * kill -9 at any point. Also sources that are not stores, are newer, cut or damaged, and backup,
 * vacuum and stats. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>

#include "kforge/store_maintenance.h"
#include "test_main.h"
#include "test_store_common.h"

#define SHARED "__global__ void shared() {}\n"

/* A store in the fixture's folder. */
static kf_store *make_store(fixture *f, const char *name, char **path)
{
    kf_error error;
    *path = kf_path_join(f->folder, name);
    kf_store *store;
    assert_ok(&error, store = kf_store_open(*path, KF_STORE_CREATE, &error));
    return store;
}

static void put_task(kf_store *store, const char *hash, const char *name, const char *bundle)
{
    kf_error error;
    assert_ok(&error, kf_store_put_task(store, hash, name, bundle, strlen(bundle), &error));
}

static bool record_source(kf_store *store, const char *run, const char *source, kf_status status,
                          double speedup, int64_t parent, int64_t call, kf_store_recorded *recorded,
                          kf_error *error)
{
    kf_verdict verdict = make_verdict(status, speedup);
    kf_sample samples[2] = {{'b', 0, 16, 0.02, NAN, NAN, 0}, {'c', 0, 16, 0.01, NAN, NAN, 0}};
    kf_workload_verdict workload = {.workload = (char *)"main",
                                    .timed = true,
                                    .status = status,
                                    .samples = samples,
                                    .sample_count = 2};
    verdict.workloads = &workload;
    verdict.workload_count = 1;
    const char *json =
        "{\"workloads\":[{\"workload\":\"main\",\"samples\":{\"side\":\"bc\",\"pair\":[0,0]}}]}";
    kf_store_parent parents = {parent, "base"};
    return kf_store_record(store,
                           &(kf_store_attempt_new){.run = run,
                                                   .proposer = "model",
                                                   .strategy = "evolve",
                                                   .step = "improve",
                                                   .content.source = source,
                                                   .content.source_size = strlen(source),
                                                   .parents = &parents,
                                                   .parent_count = parent != 0,
                                                   .model_call = call,
                                                   .verdict = &verdict,
                                                   .verdict_json = json,
                                                   .verdict_size = strlen(json),
                                                   .counters = "{\"registers\":32}",
                                                   .state = "state",
                                                   .state_size = 5},
                           recorded, error);
}

/* A run of `count` attempts with `mark` in their sources, and one source that every store has, with
 * a verdict of this store's own. */
static void fill(kf_store *store, const char *task, const char *mark, int count,
                 char run[KF_RUN_ID])
{
    kf_error error;
    kf_store_recorded recorded = {0};
    put_task(store, task, "axpy", BUNDLE);
    assert_ok(&error, kf_store_begin_run(
                          store, &(kf_store_run_new){.task = task, .device = "cpu test", .seed = 7},
                          run, &error));
    for (int i = 0; i < count; i++) {
        char source[200], prompt[64];
        snprintf(source, sizeof source, "// %s %d\n__global__ void k() {}\n", mark, i);
        snprintf(prompt, sizeof prompt, "improve %s %d", mark, i / 2);
        int64_t call;
        assert_ok(&error, call = kf_store_put_model_call(
                              store,
                              &(kf_store_model_call_new){.run = run,
                                                         .provider = "exec",
                                                         .model = "m",
                                                         .purpose = "improve",
                                                         .prompt = prompt,
                                                         .prompt_size = strlen(prompt),
                                                         .reply = "\0odd",
                                                         .reply_size = 4,
                                                         .outcome = "ok",
                                                         .prompt_tokens = 3,
                                                         .completion_tokens = -1,
                                                         .cost_usd = NAN,
                                                         .seconds = 1},
                              &error));
        assert_ok(&error, record_source(store, run, source, i % 3 ? KF_CORRECT : KF_WRONG_RESULT,
                                        1 + 0.1 * i, recorded.candidate, call, &recorded, &error));
    }
    assert_ok(&error, record_source(store, run, SHARED, KF_CORRECT, 1 + (double)strlen(mark), 0, 0,
                                    &recorded, &error));
    assert_ok(&error, kf_store_put_note(store,
                                        &(kf_store_note_new){.task = task,
                                                             .run = run,
                                                             .kind = "paid",
                                                             .text = mark,
                                                             .effect = 1.5,
                                                             .candidate = recorded.candidate},
                                        &error));
    assert_ok(&error, kf_store_put_ceiling(store, "cpu test", "copy_bytes_per_second",
                                           (double)strlen(mark), &error));
    assert_ok(&error, kf_store_end_run(store, run, KF_RUN_FINISHED, &error));
}

static void digest_of(kf_store *store, char hex[KF_HASH_HEX])
{
    kf_error error;
    assert_ok(&error, kf_store_check(store, &error));
    assert_ok(&error, kf_store_digest(store, hex, &error));
}

/* Digest of a fresh store after merging `count` sources into it. */
static void merged_digest(fixture *f, const char *name, char *const *paths, const int *order,
                          int count, char hex[KF_HASH_HEX])
{
    kf_error error;
    kf_store_merged merged = {0};
    char *path;
    kf_store *store = make_store(f, name, &path);
    for (int i = 0; i < count; i++)
        assert_ok(&error, kf_store_merge(store, paths[order[i]], &merged, &error));
    digest_of(store, hex);
    kf_store_close(store);
    unlink(path);
    free(path);
}

static void copy_file(const char *from, const char *to)
{
    kf_error error;
    size_t size;
    char *data;
    assert_ok(&error, data = kf_file_read(from, 1 << 28, &size, &error));
    assert_ok(&error, kf_file_write(to, data, size, &error));
    free(data);
}

#define SOURCES 5
/* 0 and 1: two stores that share a task and a source; 2: another task of the same name; 3: a copy
 * of 0, in which the run went on; 4: another copy of 0, in which it went on differently. */
static void make_sources(fixture *f, char *paths[SOURCES])
{
    kf_error error;
    char run[KF_RUN_ID], other[KF_RUN_ID];
    kf_store *store = make_store(f, "0.db", &paths[0]);
    fill(store, TASK, "first", 7, run);
    for (int i = 3; i < SOURCES; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d.db", i);
        paths[i] = kf_path_join(f->folder, name);
        assert_ok(&error, kf_store_backup(store, paths[i], &error));
    }
    kf_store_close(store);
    store = make_store(f, "1.db", &paths[1]);
    fill(store, TASK, "second one", 4, other);
    kf_store_close(store);
    store = make_store(f, "2.db", &paths[2]);
    fill(store, TASK2, "third", 3, other);
    kf_store_close(store);
    for (int i = 3; i < SOURCES; i++) {
        assert_ok(&error, store = kf_store_open(paths[i], KF_STORE_WRITE, &error));
        assert_ok(&error, kf_store_resume_run(store, run, &error));
        for (int k = 0; k < 2 + i; k++)
            assert_ok(&error, record_source(store, run, i == 3 ? "// on\n" : "// elsewhere\n",
                                            KF_CORRECT, 2 + k, 0, 0, NULL, &error));
        kf_store_close(store);
    }
}

static void free_paths(char **paths)
{
    for (int i = 0; i < SOURCES; i++) free(paths[i]);
}

static void test_any_order(void **state)
{
    fixture *f = *state;
    char *paths[SOURCES], first[KF_HASH_HEX], hex[KF_HASH_HEX];
    make_sources(f, paths);
    static const int orders[][SOURCES + 3] = {
        {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {3, 0, 4, 2, 1}, {2, 4, 1, 0, 3},
        {1, 3, 0, 4, 2}, {0, 4, 3, 1, 2}, {3, 4, 0, 1, 2},
    };
    merged_digest(f, "all.db", paths, orders[0], SOURCES, first);
    for (size_t i = 1; i < sizeof orders / sizeof *orders; i++) {
        merged_digest(f, "all.db", paths, orders[i], SOURCES, hex);
        assert_string_equal(hex, first);
    }
    /* Twice is once. */
    merged_digest(f, "all.db", paths, (const int[]){0, 0, 1, 2, 3, 3, 4, 1}, 8, hex);
    assert_string_equal(hex, first);
    /* A merge without one of the sources gives another store. */
    merged_digest(f, "all.db", paths, orders[0], SOURCES - 2, hex);
    assert_string_not_equal(hex, first);
    free_paths(paths);
}

/* An unfinished run continues from the merged store: the start times of its attempts and its open
 * questions are there. */
static void test_under_way(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *paths[2], run[KF_RUN_ID];
    kf_store *from = make_store(f, "from.db", &paths[0]);
    kf_auto(kf_store) to = make_store(f, "to.db", &paths[1]);
    put_task(from, TASK, "axpy", BUNDLE);
    assert_ok(&error, kf_store_begin_run(from, &(kf_store_run_new){.task = TASK, .device = "d"},
                                         run, &error));
    for (int64_t number = 1; number <= 3; number++)
        assert_ok(&error, kf_store_record(from,
                                          &(kf_store_attempt_new){.run = run,
                                                                  .outcome = KF_ATTEMPT_NO_SOURCE,
                                                                  .began = number / 2},
                                          NULL, &error));
    assert_ok(&error, kf_store_put_pending_call(from, run, 7, "which?", 6, &error));
    kf_store_close(from);
    kf_store_merged merged = {0};
    assert_ok(&error, kf_store_merge(to, paths[0], &merged, &error));
    kf_autofree char *prompt = NULL;
    assert_ok(&error, kf_store_get_pending_call(to, run, 7, &prompt, &error));
    assert_string_equal(prompt, "which?");
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(to, run, 1, &error);
    kf_autoresult kf_store_attempt attempt = {0};
    for (int64_t number = 1; number <= 3; number++) {
        assert_int_equal(kf_store_next_attempt(cursor, &attempt, &error), 1);
        assert_int_equal(attempt.began, number / 2);
    }
    free(paths[0]);
    free(paths[1]);
}

static void test_report(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *paths[SOURCES], *path;
    make_sources(f, paths);
    kf_store *store = make_store(f, "all.db", &path);
    kf_store_merged merged = {0};
    assert_ok(&error, kf_store_merge(store, paths[0], &merged, &error));
    assert_int_equal(merged.tasks, 1);
    assert_int_equal(merged.runs, 1);
    assert_int_equal(merged.attempts, 8);
    assert_int_equal(merged.candidates, 8);
    assert_int_equal(merged.verdicts, 8);
    assert_int_equal(merged.model_calls, 7);
    merged = (kf_store_merged){0};
    assert_ok(&error, kf_store_merge(store, paths[1], &merged, &error));
    assert_int_equal(merged.tasks, 0);
    assert_int_equal(merged.candidates, 4); /* the shared one was here */
    assert_int_equal(merged.verdicts, 5);
    merged = (kf_store_merged){0};
    assert_ok(&error, kf_store_merge(store, paths[2], &merged, &error));
    assert_int_equal(merged.name_clashes, 1);
    merged = (kf_store_merged){0};
    assert_ok(&error, kf_store_merge(store, paths[3], &merged, &error));
    assert_int_equal(merged.replaced, 1);
    assert_int_equal(merged.diverged, 0);
    merged = (kf_store_merged){0};
    assert_ok(&error, kf_store_merge(store, paths[4], &merged, &error));
    assert_int_equal(merged.diverged, 1);
    assert_int_equal(merged.candidates, 1); /* what only the other history has is kept */
    merged = (kf_store_merged){0};
    assert_ok(&error, kf_store_merge(store, path, &merged, &error));
    assert_true(merged.same);
    assert_int_equal(merged.candidates, 0);
    kf_store_close(store);
    free(path);
    free_paths(paths);
}

/* The best candidate of a task after merging is the best of all stores. Ancestors are kept. */
static void test_queries_after(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *paths[SOURCES], *path;
    make_sources(f, paths);
    kf_store *store = make_store(f, "all.db", &path);
    kf_store_merged merged = {0};
    for (int i = 0; i < 2; i++) assert_ok(&error, kf_store_merge(store, paths[i], &merged, &error));
    kf_autoresult kf_store_candidate best = {0};
    kf_store_cursor *cursor;
    assert_ok(&error, cursor = kf_store_best(store, &(kf_store_scope){.task = TASK, .island = -1},
                                             1, &error));
    assert_int_equal(kf_store_next_candidate(cursor, &best, &error), 1);
    kf_store_cursor_free(cursor);
    assert_true(best.speedup.value == 11); /* "second one" judged the shared source last */
    char *source;
    assert_ok(&error, source = kf_store_source(store, best.id, NULL, &error));
    assert_string_equal(source, SHARED);
    free(source);
    kf_autoresult kf_store_task task = {0};
    assert_ok(&error, kf_store_find_task(store, TASK, &task, &error));
    assert_int_equal(task.candidates, 12);
    kf_store_close(store);
    free(path);
    free_paths(paths);
}

/* Killed at any moment, the store is as before or as after a source, and merging all again ends at
 * the same. */
static void test_kill(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *paths[SOURCES], whole[KF_HASH_HEX], hex[KF_HASH_HEX], *path;
    make_sources(f, paths);
    merged_digest(f, "whole.db", paths, (const int[]){0, 1, 2, 3, 4}, SOURCES, whole);
    kf_store_close(make_store(f, "killed.db", &path));
    for (int round = 0; round < 30; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kf_store *store = kf_store_open(path, KF_STORE_WRITE, NULL);
            kf_store_merged merged = {0};
            for (int i = 0; i < SOURCES && store; i++)
                kf_store_merge(store, paths[i], &merged, NULL);
            _exit(0);
        }
        usleep((useconds_t)(1000 * round));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        kf_store *store;
        assert_ok(&error, store = kf_store_open(path, KF_STORE_WRITE, &error));
        assert_ok(&error, kf_store_check(store, &error));
        kf_store_close(store);
    }
    kf_store_merged merged = {0};
    kf_store *store;
    assert_ok(&error, store = kf_store_open(path, KF_STORE_WRITE, &error));
    for (int i = 0; i < SOURCES; i++)
        assert_ok(&error, kf_store_merge(store, paths[i], &merged, &error));
    digest_of(store, hex);
    assert_string_equal(hex, whole);
    kf_store_close(store);
    free(path);
    free_paths(paths);
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

static void test_bad_sources(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *paths[SOURCES], *bad = kf_path_join(f->folder, "bad.db");
    make_sources(f, paths);
    kf_store_merged merged = {0};
    assert_ok(&error, kf_store_merge(f->store, paths[1], &merged, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no store there",
                 kf_store_merge(f->store, "/proc/none/x.db", &merged, &error));
    assert_ok(&error, kf_file_write(bad, "hello\n", 6, &error));
    assert_fails(&error, KF_ERROR_INPUT, "not a kforge store",
                 kf_store_merge(f->store, bad, &merged, &error));
    copy_file(paths[0], bad);
    sql(bad, "PRAGMA user_version = 999");
    assert_fails(&error, KF_ERROR_INPUT, "newer kforge",
                 kf_store_merge(f->store, bad, &merged, &error));
    /* Half-written: its end is missing. */
    unlink(bad);
    copy_file(paths[0], bad);
    assert_int_equal(truncate(bad, 60000), 0);
    assert_fails(&error, KF_ERROR_IO, "bad.db", kf_store_merge(f->store, bad, &merged, &error));
    /* Damaged in the middle: a text that no longer has its hash. */
    unlink(bad);
    copy_file(paths[0], bad);
    sql(bad, "UPDATE blob SET data = zeroblob(length(data)) WHERE id = (SELECT min(source) FROM "
             "candidate)");
    assert_fails(&error, KF_ERROR_IO, "bad.db", kf_store_merge(f->store, bad, &merged, &error));
    /* Every half of a page zeroed in turn: merges or names the store at fault, and never leaves a
     * part behind. */
    for (off_t page = 1; page < 80; page++) {
        unlink(bad);
        copy_file(paths[0], bad);
        int fd = open(bad, O_RDWR | O_CLOEXEC);
        char zero[4096] = {0};
        off_t end = lseek(fd, 0, SEEK_END);
        bool inside = page * 4096 < end;
        if (inside)
            assert_int_equal(pwrite(fd, zero, sizeof zero, page * 4096), (ssize_t)sizeof zero);
        close(fd);
        if (!inside) break;
        memset(&error, 0, sizeof error);
        if (kf_store_merge(f->store, bad, &merged, &error)) continue;
        if (!strstr(error.text, "bad.db")) fail_msg("page %ld: %s", (long)page, error.text);
        assert_false(kf_store_in_group(f->store));
        assert_ok(&error, kf_store_check(f->store, &error));
    }
    free(bad);
    free_paths(paths);
}

/* Refused sources left no files. */
static void test_refused_leaves_nothing(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *paths[SOURCES], before[KF_HASH_HEX], after[KF_HASH_HEX];
    make_sources(f, paths);
    kf_store_merged merged = {0};
    digest_of(f->store, before);
    sql(paths[0], "UPDATE blob SET data = zeroblob(length(data)) WHERE id = (SELECT min(source) "
                  "FROM candidate)");
    assert_fails(&error, KF_ERROR_IO, "damaged",
                 kf_store_merge(f->store, paths[0], &merged, &error));
    digest_of(f->store, after);
    assert_string_equal(before, after);
    assert_int_equal(merged.candidates, 0);
    free_paths(paths);
}

static void test_backup(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *copy = kf_path_join(f->folder, "copy.db"), before[KF_HASH_HEX], after[KF_HASH_HEX],
         run[KF_RUN_ID];
    fill(f->store, TASK, "mine", 20, run);
    digest_of(f->store, before);
    /* While another connection is in the middle of a transaction. */
    kf_store *reader;
    assert_ok(&error, reader = kf_store_open(f->path, KF_STORE_READ, &error));
    assert_ok(&error, kf_store_begin(f->store, &error));
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, NULL, &error));
    assert_ok(&error, kf_store_backup(reader, copy, &error));
    assert_ok(&error, kf_store_commit(f->store, &error));
    kf_store_close(reader);
    kf_store *store;
    assert_ok(&error, store = kf_store_open(copy, KF_STORE_READ, &error));
    digest_of(store, after);
    assert_string_equal(before, after);
    assert_fails(&error, KF_ERROR_INPUT, "exists already", kf_store_backup(store, copy, &error));
    assert_fails(&error, KF_ERROR_IO, "folder",
                 kf_store_backup(store, "/proc/none/copy.db", &error));
    kf_store_close(store);
    free(copy);
}

static void test_vacuum_and_stats(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_store_stats before, after;
    char run[KF_RUN_ID];
    fill(f->store, TASK, "mine", 6, run);
    assert_ok(&error, kf_store_get_stats(f->store, &before, &error));
    assert_int_equal(before.schema, kf_store_schema());
    assert_int_equal(before.runs, 2);
    assert_int_equal(before.attempts, 7);
    assert_int_equal(before.candidates, 7);
    assert_int_equal(before.verdicts, 7);
    assert_int_equal(before.correct, 5);
    assert_int_equal(before.samples, 14);
    assert_int_equal(before.model_calls, 6);
    assert_true(before.bytes > 0 && before.first <= before.last);
    int64_t dropped = -1;
    assert_ok(&error, kf_store_vacuum(f->store, -1, &dropped, &error));
    assert_int_equal(dropped, 0);
    assert_ok(&error, kf_store_vacuum(f->store, 1, &dropped, &error)); /* none is a day old */
    assert_int_equal(dropped, 0);
    assert_ok(&error, kf_store_vacuum(f->store, 0, &dropped, &error));
    /* the wrong ones. The correct and still valid ones keep their evidence */
    assert_int_equal(dropped, 2);
    assert_ok(&error, kf_store_get_stats(f->store, &after, &error));
    assert_int_equal(after.samples, 10);
    assert_int_equal(after.verdicts, 7);
    assert_int_equal(after.unused, 0);
    assert_ok(&error, kf_store_check(f->store, &error));
    char *json;
    assert_ok(&error, json = kf_store_verdict_json(f->store, 1, NULL, &error));
    assert_non_null(strstr(json, "\"side\":\"\""));
    assert_non_null(strstr(json, "\"pair\":[]"));
    free(json);
}

/* The other numbers of a verdict keep every bit, and so does a verdict that is re-opened. */
static void test_vacuum_keeps_numbers(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_sample sample = {'b', 0, 16, 1e-3, NAN, 1980, 0};
    kf_workload_verdict workload = {
        .workload = (char *)"main", .samples = &sample, .sample_count = 1};
    kf_verdict verdict = make_verdict(KF_WRONG_RESULT, NAN);
    verdict.workloads = &workload;
    verdict.workload_count = 1;
    /* In 15 digits, each is another number. */
    static const char numbers[] =
        "[0.10000000000000002,1.0000000000000002,4503599627370497,-0.30000000000000004]";
    char json[400];
    int size = snprintf(json, sizeof json,
                        "{\"status\":\"wrong_result\",\"seconds\":%s,\"workloads\":[{\"samples\":{"
                        "\"seconds\":[0.25]}}]}",
                        numbers);
    kf_store_attempt_new attempt = {.run = f->run,
                                    .content.source = "S",
                                    .content.source_size = 1,
                                    .verdict = &verdict,
                                    .verdict_json = json,
                                    .verdict_size = (size_t)size};
    kf_store_recorded recorded;
    int64_t dropped = 0;
    assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
    assert_ok(&error, kf_store_vacuum(f->store, 0, &dropped, &error));
    assert_int_equal(dropped, 1);
    kf_autofree char *text = kf_store_verdict_json(f->store, recorded.verdict, NULL, &error);
    if (!strstr(text, numbers) || !strstr(text, "\"seconds\":[]")) fail_msg("%s", text);
    assert_ok(&error, kf_store_reopen(f->store, recorded.verdict, "judged again", &error));
    kf_autofree char *again = kf_store_verdict_json(f->store, recorded.verdict, NULL, &error);
    if (!strstr(again, numbers)) fail_msg("%s", again);
}

/* A copy that lost its samples and one that did not: merged in either order the samples are there.
 */
static void test_merge_after_vacuum(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *path, *copy = kf_path_join(f->folder, "copy.db"), run[KF_RUN_ID], hex[2][KF_HASH_HEX];
    kf_store *store = make_store(f, "lean.db", &path);
    fill(store, TASK, "mine", 6, run);
    assert_ok(&error, kf_store_backup(store, copy, &error));
    assert_ok(&error, kf_store_vacuum(store, 0, NULL, &error));
    kf_store_close(store);
    char *paths[] = {path, copy};
    merged_digest(f, "all.db", paths, (const int[]){0, 1}, 2, hex[0]);
    merged_digest(f, "all.db", paths, (const int[]){1, 0}, 2, hex[1]);
    assert_string_equal(hex[0], hex[1]);
    free(path);
    free(copy);
}

static void test_migrate(void **state)
{
    fixture *f = *state;
    kf_error error;
    int from = 0, to = 0;
    assert_ok(&error, kf_store_migrate(f->path, &from, &to, &error));
    assert_int_equal(from, kf_store_schema());
    assert_int_equal(to, kf_store_schema());
    /* A store of the first version: what came later is taken away again. */
    kf_store_close(f->store);
    f->store = NULL;
    sql(f->path, "DROP TABLE note; DROP TABLE ceiling; DROP TABLE counters; DROP INDEX "
                 "candidate_form; DROP TABLE asked; DROP TABLE table_sum;"
                 " ALTER TABLE candidate DROP COLUMN form; ALTER TABLE attempt DROP COLUMN began; "
                 "ALTER TABLE attempt DROP COLUMN unverified; "
                 "PRAGMA user_version = 1");
    assert_fails(&error, KF_ERROR_INPUT, "kforge store migrate",
                 kf_store_open(f->path, KF_STORE_READ, &error));
    assert_ok(&error, kf_store_migrate(f->path, &from, &to, &error));
    assert_int_equal(from, 1);
    assert_ok(&error, f->store = kf_store_open(f->path, KF_STORE_READ, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no store there",
                 kf_store_migrate("/proc/none/x.db", &from, &to, &error));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_under_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_report, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_queries_after, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kill, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_sources, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_backup, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vacuum_and_stats, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vacuum_keeps_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_merge_after_vacuum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_migrate, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
