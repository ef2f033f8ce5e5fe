/* Tests of the checksums of stored texts: damage is reported, and old stores get checksums.
 *
 * tests/unit/data/store-v5.db was written by a kforge of schema 5. It holds
 * one run of twelve attempts, in codecs 0, 1 and 2. */
#include "test_store_common.h"

#include "test_main.h"

#include <signal.h>
#include <sqlite3.h>

static sqlite3 *connection(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    return db;
}

static void run_sql(sqlite3 *db, const char *text)
{
    char *message = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
}

static int64_t number_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Appends every text of the store of `record_everything` that can be read, so that two states of
 * the store can be compared. */
static void read_everything(fixture *f, int64_t candidate, int64_t verdict, kf_buffer *out)
{
    kf_error error;
    size_t size;
    char *text = kf_store_source(f->store, candidate, &size, &error);
    if (text) kf_buffer_append(out, text, size);
    free(text);
    text = kf_store_verdict_json(f->store, verdict, &size, &error);
    if (text) kf_buffer_append(out, text, size);
    free(text);
    kf_sample *samples;
    if (kf_store_samples(f->store, verdict, "main", &samples, &size, &error))
        for (size_t i = 0; i < size; i++)
            kf_buffer_format(out, "%c %d %d %.17g %.17g\n", samples[i].side, samples[i].pair,
                             samples[i].calls, samples[i].seconds, samples[i].clock_mhz);
    free(samples);
    bool found;
    if (kf_store_get_counters(f->store, candidate, "cpu test", &text, &found, &error) && found)
        kf_buffer_string(out, text);
    free(text);
    if (kf_store_run_state(f->store, f->run, &text, &size, &error) && text)
        kf_buffer_append(out, text, size);
    free(text);
    if (kf_store_get_pending_call(f->store, f->run, 3, &text, &error) && text)
        kf_buffer_string(out, text);
    free(text);
}

/* Records one attempt with a text in each table that has packed texts. */
static kf_store_recorded record_everything(fixture *f, const char *text)
{
    kf_error error;
    kf_store_recorded recorded;
    kf_sample samples[6];
    for (int i = 0; i < 6; i++)
        samples[i] = (kf_sample){i % 2 ? 'c' : 'b', i / 2, 16, 1e-3 / (i + 1), NAN, 1980, 0};
    kf_workload_verdict workload = {
        .workload = (char *)"main", .samples = samples, .sample_count = 6};
    kf_verdict verdict = make_verdict(KF_CORRECT, 2);
    verdict.workloads = &workload;
    verdict.workload_count = 1;
    assert_ok(&error, kf_store_record(f->store,
                                      &(kf_store_attempt_new){.run = f->run,
                                                              .content.source = text,
                                                              .content.source_size = strlen(text),
                                                              .verdict = &verdict,
                                                              .verdict_json = text,
                                                              .verdict_size = strlen(text),
                                                              .counters = text,
                                                              .state = text,
                                                              .state_size = strlen(text)},
                                      &recorded, &error));
    assert_ok(&error, kf_store_put_pending_call(f->store, f->run, 3, text, strlen(text), &error));
    return recorded;
}

static const char *const tables[] = {"blob",     "verdict_json", "sample",
                                     "counters", "run_state",    "asked"};
#define TABLES (sizeof tables / sizeof *tables)

/* Fails unless the check names `table`, or nothing that can be read has changed. */
static bool is_reported(fixture *f, const kf_store_recorded *recorded, const kf_buffer *before,
                        const char *table, const char *change)
{
    kf_error error = {0};
    if (kf_store_check(f->store, &error)) {
        kf_autobuffer after = {0};
        read_everything(f, recorded->candidate, recorded->verdict, &after);
        if (after.size != before->size || memcmp(after.data, before->data, after.size))
            fail_msg("%s: %s: changed a text and is not reported", table, change);
        return false;
    }
    assert_int_equal(error.code, KF_ERROR_IO);
    if (!strstr(error.text, table) || !strstr(error.text, "restore a copy"))
        fail_msg("%s: %s: \"%s\" does not name the table", table, change, error.text);
    return true;
}

/* Flips one bit, then all bits, of each byte of each packed text in turn. */
static void every_flipped_byte_is_reported(void **state)
{
    fixture *f = *state;
    kf_store_recorded recorded = record_everything(
        f, "{\"seconds\":[0.00123456789,0.00234567891,0.00345678912],\"status\":\"correct\"}");
    kf_autobuffer before = {0};
    read_everything(f, recorded.candidate, recorded.verdict, &before);
    sqlite3 *db = connection(f->path);
    run_sql(db, "PRAGMA synchronous = OFF");
    for (size_t t = 0; t < TABLES; t++) {
        char sql[200];
        sqlite3_stmt *read, *write;
        snprintf(sql, sizeof sql, "SELECT data FROM %s ORDER BY size LIMIT 1", tables[t]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &read, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(read), SQLITE_ROW);
        size_t size = (size_t)sqlite3_column_bytes(read, 0);
        unsigned char good[4096], bad[4096];
        assert_true(size > 12 && size < sizeof good);
        memcpy(good, sqlite3_column_blob(read, 0), size);
        sqlite3_finalize(read);
        snprintf(sql, sizeof sql, "UPDATE %s SET data = ?2 WHERE data = ?1", tables[t]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &write, NULL), SQLITE_OK);
        size_t unreported = 0;
        for (size_t i = 0; i < 2 * size; i++) {
            size_t at = i / 2;
            memcpy(bad, good, size);
            bad[at] ^= i % 2 ? 0xff : (unsigned char)(1u << at % 8);
            sqlite3_bind_blob(write, 1, good, (int)size, SQLITE_STATIC);
            sqlite3_bind_blob(write, 2, bad, (int)size, SQLITE_STATIC);
            assert_int_equal(sqlite3_step(write), SQLITE_DONE);
            sqlite3_reset(write);
            char change[64];
            snprintf(change, sizeof change, "byte %zu of %zu", at, size);
            unreported += !is_reported(f, &recorded, &before, tables[t], change);
            sqlite3_bind_blob(write, 1, bad, (int)size, SQLITE_STATIC);
            sqlite3_bind_blob(write, 2, good, (int)size, SQLITE_STATIC);
            assert_int_equal(sqlite3_step(write), SQLITE_DONE);
            sqlite3_reset(write);
        }
        sqlite3_finalize(write);
        /* zstd ignores a bit of the header, and bits that pad its tables. */
        assert_true(unreported <= 4);
        static const char *const changes[] = {"size = size + 1",
                                              "size = size - 1",
                                              "codec = 0",
                                              "codec = 1",
                                              "codec = 2",
                                              "codec = 7",
                                              "data = substr(data, 1, length(data) - 1)",
                                              "data = CAST(data || x'00' AS BLOB)",
                                              "data = x''"};
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            snprintf(sql, sizeof sql, "CREATE TEMP TABLE kept AS SELECT * FROM %s", tables[t]);
            run_sql(db, sql);
            snprintf(sql, sizeof sql, "UPDATE %s SET %s", tables[t], changes[i]);
            run_sql(db, sql);
            assert_true(is_reported(f, &recorded, &before, tables[t], changes[i]));
            snprintf(sql, sizeof sql,
                     "DELETE FROM %s; INSERT INTO %s SELECT * FROM kept; DROP TABLE kept",
                     tables[t], tables[t]);
            run_sql(db, sql);
        }
    }
    sqlite3_close(db);
    kf_error error;
    assert_ok(&error, kf_store_check(f->store, &error));
}

/* The check names every damaged text, not just the first. */
static void all_damaged_texts_are_named(void **state)
{
    fixture *f = *state;
    kf_error error;
    for (int i = 1; i <= 20; i++)
        assert_ok(&error, record_number(f->store, f->run, i, KF_CORRECT, 2, NULL, &error));
    sqlite3 *db = connection(f->path);
    run_sql(db, "UPDATE verdict_json SET data = x'00' WHERE verdict IN (3, 7)");
    assert_fails(&error, KF_ERROR_IO, "verdict_json of verdict 3, verdict_json of verdict 7: ",
                 kf_store_check(f->store, &error));
    run_sql(db, "UPDATE verdict_json SET data = x'00'");
    assert_fails(&error, KF_ERROR_IO,
                 "verdict_json of verdict 12 and more: ", kf_store_check(f->store, &error));
    sqlite3_close(db);
}

/* ---- migration ------------------------------------------------------------------------------- */

static char *copy_old_store(fixture *f)
{
    kf_error error;
    size_t size;
    char *path = kf_path_join(f->folder, "old.db");
    kf_autofree char *bytes =
        kf_file_read(KFORGE_SOURCE_DIR "/tests/unit/data/store-v5.db", 1 << 20, &size, &error);
    assert_non_null(bytes);
    assert_ok(&error, kf_file_write(path, bytes, size, &error));
    return path;
}

/* The texts that attempt `n` of store-v5.db was recorded with. */
static void old_source(kf_buffer *out, int n)
{
    kf_buffer_format(out, "__global__ void k%d() {}\n", n);
    for (int i = 0; i < n * 20; i++) kf_buffer_format(out, "// line %d of %d\n", i, n);
}
static void old_verdict(kf_buffer *out, int n)
{
    kf_buffer_format(out,
                     "{\"schema\":\"kforge-verdict/"
                     "1\",\"id\":\"%d\",\"workloads\":[{\"samples\":{\"seconds\":[0",
                     n);
    for (int i = 1; i < (n == 1 ? 3 : 40); i++) kf_buffer_format(out, ",%.17g", 1e-3 / (i + n));
    kf_buffer_string(out, "]}}]}");
    if (n == 5) out->data[0] = '\1';
}
static void old_counters(kf_buffer *out, int n)
{
    kf_buffer_format(out, "{\"kernels\":[{\"name\":\"k%d\",\"metrics\":{", n);
    for (int i = 0; i < 20; i++)
        kf_buffer_format(out, "\"metric_%d\":%.9g,", i, n * 1.25 / (i + 1));
    kf_buffer_string(out, "\"end\":0}}]}");
}
static void old_state(kf_buffer *out, int n)
{
    kf_buffer_format(out, "{\"n\":%d,\"list\":[", n);
    for (int i = 0; i < 100; i++) kf_buffer_format(out, "%d,", i);
    kf_buffer_string(out, "0]}");
}

static void assert_text(kf_buffer *expected, char *got)
{
    assert_non_null(got);
    assert_string_equal(got, expected->data);
    free(got);
    kf_buffer_clear(expected);
}

/* Compares the texts of attempt `n`, but for the verdict's JSON if `spoilt`. */
static void assert_old_texts(kf_store *store, const char *run, int n, bool spoilt)
{
    kf_error error;
    kf_autobuffer expected = {0};
    size_t size;
    char *text;
    old_source(&expected, n);
    assert_text(&expected, kf_store_source(store, n, &size, &error));
    old_source(&expected, n);
    assert_text(&expected, kf_store_model_call_text(store, n, KF_CALL_PROMPT, &size, &error));
    old_source(&expected, n);
    assert_ok(&error, kf_store_get_pending_call(store, run, n, &text, &error));
    assert_text(&expected, text);
    text = kf_store_verdict_json(store, n, &size, &error);
    old_verdict(&expected, n);
    if (spoilt)
        assert_null(text);
    else
        assert_text(&expected, text);
    kf_buffer_clear(&expected);
    kf_sample *samples;
    assert_ok(&error, kf_store_samples(store, n, "main", &samples, &size, &error));
    assert_int_equal(size, n == 1 ? 2 : 20);
    for (size_t i = 0; i < size; i++) {
        assert_true(samples[i].seconds == 1e-3 / (double)(i + (size_t)n));
        assert_true(isnan(samples[i].claimed));
    }
    free(samples);
    bool found;
    assert_ok(&error, kf_store_get_counters(store, n, "cpu test", &text, &found, &error));
    assert_int_equal(found, n % 2);
    if (!found) return;
    old_counters(&expected, n);
    assert_text(&expected, text);
}

static void assert_old_store(kf_store *store, int spoilt)
{
    kf_error error;
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(store, "last", &run, &error));
    assert_int_equal(run.attempts, 12);
    for (int n = 1; n <= 12; n++) assert_old_texts(store, run.id, n, n == spoilt);
    kf_autobuffer expected = {0};
    char *text;
    size_t size;
    old_state(&expected, 12);
    assert_ok(&error, kf_store_run_state(store, run.id, &text, &size, &error));
    assert_text(&expected, text);
}

/* Returns how many rows of all tables have another codec than the one that is written. */
static int64_t old_rows(const char *path)
{
    sqlite3 *db = connection(path);
    int64_t rows = 0;
    for (size_t i = 0; i < TABLES; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE codec <> 3", tables[i]);
        rows += number_of(db, sql);
    }
    sqlite3_close(db);
    return rows;
}

static void an_old_store_gets_checksums(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autofree char *path = copy_old_store(f);
    assert_true(old_rows(path) > 40);
    assert_fails(&error, KF_ERROR_INPUT, "older kforge (schema 5",
                 kf_store_open(path, KF_STORE_READ, &error));
    for (int again = 0; again < 2; again++) {
        kf_auto(kf_store) store =
            kf_store_open(path, again ? KF_STORE_READ : KF_STORE_WRITE, &error);
        if (!store) fail_msg("%s", error.text);
        assert_ok(&error, kf_store_check(store, &error));
        assert_old_store(store, 0);
    }
    assert_int_equal(old_rows(path), 0);
}

/* A text that was damaged before stays, is named, and keeps no other one from being read. */
static void damage_in_an_old_store_stays_where_it_is(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autofree char *path = copy_old_store(f);
    sqlite3 *db = connection(path);
    run_sql(db, "UPDATE verdict_json SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, "
                "22) AS BLOB) WHERE verdict = 4");
    sqlite3_close(db);
    for (int again = 0; again < 2; again++) {
        kf_auto(kf_store) store = kf_store_open(path, KF_STORE_WRITE, &error);
        if (!store) fail_msg("%s", error.text);
        assert_fails(&error, KF_ERROR_IO, "wrong in verdict_json of verdict 4: restore a copy",
                     kf_store_check(store, &error));
        assert_old_store(store, 4);
    }
    assert_int_equal(old_rows(path), 1);
}

/* Gives every verdict of an old store many more, so that re-encoding takes several batches. */
static void enlarge(const char *path)
{
    sqlite3 *db = connection(path);
    run_sql(db,
            "BEGIN; CREATE TEMP TABLE n AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT "
            "x + 1 FROM c WHERE x < 400) SELECT x * 100 AS more FROM c;"
            "INSERT INTO verdict_json SELECT verdict + more, size, codec, data FROM n JOIN "
            "verdict_json;"
            "INSERT INTO sample SELECT verdict + more, count, size, codec, data FROM n JOIN "
            "sample;"
            "CREATE TEMP TABLE v AS SELECT * FROM verdict; UPDATE v SET standing = 0;"
            "CREATE TEMP TABLE w AS SELECT n.more, v.* FROM n JOIN v; UPDATE w SET id = id + "
            "more; ALTER TABLE w DROP COLUMN more; INSERT INTO verdict SELECT * FROM w; COMMIT");
    sqlite3_close(db);
}

/* Kills the process that migrates the store, again and again, each time a little later, until it is
 * quicker. Returns how often it was killed in the middle. */
static int kill_while_migrating(const char *path)
{
    kf_error error;
    int64_t left = old_rows(path);
    int kills = 0, partial = 0, status = -1;
    /* Until a child is quicker, however slow the machine is. */
    for (int delay = 4000; delay < 600000000; delay += delay / 4) {
        pid_t child = fork();
        if (!child) {
            kf_store *store = kf_store_open(path, KF_STORE_WRITE, &error);
            if (!store) fprintf(stderr, "child: %s\n", error.text);
            kf_store_close(store);
            _exit(store ? 0 : 1);
        }
        usleep((useconds_t)delay);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) break;
        kills++;
        int64_t rows = old_rows(path);
        assert_true(rows <= left); /* it never starts over */
        partial += rows < left && rows > 0;
        left = rows;
        if (partial == 1 && rows)
            assert_fails(&error, KF_ERROR_INPUT, "older kforge (schema 6",
                         kf_store_open(path, KF_STORE_READ, &error));
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return kills > 0 ? partial : 0;
}

static void killed_while_migrating_nothing_is_lost(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autofree char *path = NULL;
    int partial = 0;
    /* A child that a busy machine held back may do all of it before the next kill. */
    for (int turn = 0; turn < 20 && partial == 0; turn++) {
        free(path);
        path = copy_old_store(f);
        enlarge(path);
        partial = kill_while_migrating(path);
    }
    assert_true(partial > 0);
    assert_int_equal(old_rows(path), 0);
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &error);
    if (!store) fail_msg("%s", error.text);
    assert_ok(&error, kf_store_check(store, &error));
    assert_old_store(store, 0);
    kf_autobuffer expected = {0};
    size_t size;
    for (int n = 1; n <= 12; n++) {
        old_verdict(&expected, n);
        char *text = kf_store_verdict_json(store, 40000 + n, &size, &error);
        assert_text(&expected, text);
    }
}

/* Several processes may open the same old store at once. */
static void many_may_migrate_at_once(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autofree char *path = copy_old_store(f);
    enlarge(path);
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        if ((children[i] = fork())) continue;
        kf_store *store = kf_store_open(path, KF_STORE_WRITE, &error);
        if (!store) fprintf(stderr, "child: %s\n", error.text);
        _exit(store ? 0 : 1);
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(old_rows(path), 0);
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &error);
    assert_non_null(store);
    assert_old_store(store, 0);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_flipped_byte_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_damaged_texts_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_store_gets_checksums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_in_an_old_store_stays_where_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(killed_while_migrating_nothing_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_may_migrate_at_once, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
