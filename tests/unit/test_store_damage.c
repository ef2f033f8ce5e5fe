/* Tests of damaged and hostile store files: each flipped bit and each truncation that changes a
 * value is reported, and nothing that a file holds runs.
 *
 * KFORGE_TEST_FLIPS is the number of flips. The second tier makes more. KFORGE_TEST_SEED draws
 * others. */
#include "test_store_common.h"

#include "test_main.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/store_maintenance.h"

static uint64_t random_state = 27;

/* Returns the next number of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t random_bits(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void run_sql(const char *path, const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
    sqlite3_close(db);
}

/* Fills the store with a row in every table. */
static void fill(fixture *f)
{
    kf_error error;
    int64_t candidates[12] = {0};
    for (int i = 0; i < 12; i++) {
        kf_autobuffer source = {0}, json = {0};
        kf_buffer_format(&source, "__global__ void kernel_%d() {}\n", i);
        for (int k = 0; k < 20 * i; k++) kf_buffer_format(&source, "// line %d\n", k * i);
        kf_sample samples[6];
        for (int k = 0; k < 6; k++)
            samples[k] =
                (kf_sample){k % 2 ? 'c' : 'b', k / 2, 16, 1e-3 / (k + i + 1), NAN, 1980, 0};
        kf_workload_verdict workload = {
            .workload = (char *)"main", .samples = samples, .sample_count = 6};
        kf_verdict verdict = make_verdict(i % 3 == 2 ? KF_WRONG_RESULT : KF_CORRECT, 1 + i * 0.1);
        verdict.workloads = &workload;
        verdict.workload_count = 1;
        verdict.code_hash = (char *)"0123456789abcdef";
        kf_buffer_format(&json, "{\"status\":\"%s\",\"message\":\"what happened\",\"seconds\":[%d",
                         kf_status_name(verdict.status), i);
        for (int k = 0; k < 60; k++) kf_buffer_format(&json, ",%.17g", 1.0 / (k + i + 1));
        kf_buffer_string(&json, "]}");
        kf_store_model_call_new call = {.run = f->run,
                                        .provider = "exec",
                                        .model = "ask",
                                        .purpose = "improve",
                                        .settings = "{\"temperature\":0.7}",
                                        .system = "Make it fast.",
                                        .prompt = json.data,
                                        .prompt_size = json.size,
                                        .reply = source.data,
                                        .reply_size = source.size,
                                        .outcome = "ok",
                                        .prompt_tokens = 1200 + i,
                                        .completion_tokens = 340,
                                        .cost_usd = 0.01,
                                        .seconds = 2.5};
        kf_store_parent parent = {i ? candidates[i - 1] : 0, "base"};
        const char *flags[] = {"-DITEMS=8"};
        kf_store_attempt_new attempt = {.run = f->run,
                                        .proposer = "exec:ask",
                                        .strategy = "evolve",
                                        .step = "improve",
                                        .message = "an attempt",
                                        .parents = &parent,
                                        .parent_count = i > 0,
                                        .content.source = source.data,
                                        .content.source_size = source.size,
                                        .content.flags = flags,
                                        .content.flag_count = 1,
                                        .content.tunables = "{\"ITEMS\":8}",
                                        .content.features = "{\"a\":1}",
                                        .verdict = &verdict,
                                        .verdict_json = json.data,
                                        .verdict_size = json.size,
                                        .counters = json.data,
                                        .state = source.data,
                                        .state_size = source.size,
                                        .began = i + 1};
        kf_store_recorded recorded;
        attempt.model_call = kf_store_put_model_call(f->store, &call, &error);
        assert_true(attempt.model_call > 0);
        assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
        candidates[i] = recorded.candidate;
        assert_ok(&error, kf_store_put_note(f->store,
                                            &(kf_store_note_new){.task = TASK,
                                                                 .run = f->run,
                                                                 .device = "cpu test",
                                                                 .kind = "paid",
                                                                 .text = "wider loads",
                                                                 .effect = 1.25,
                                                                 .candidate = recorded.candidate},
                                            &error));
    }
    assert_ok(&error, kf_store_put_pending_call(f->store, f->run, 3, "a prompt", 8, &error));
    assert_ok(&error, kf_store_put_ceiling(f->store, "cpu test", "f32_flops", 1e12, &error));
}

/* ---- damaged bits ---------------------------------------------------------------------------- */

static bool dump_table(sqlite3 *db, const char *table, kf_buffer *out)
{
    char sql[100];
    sqlite3_stmt *row;
    snprintf(sql, sizeof sql, "SELECT * FROM %s", table);
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK) return false;
    int rc;
    while ((rc = sqlite3_step(row)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(row); i++) {
            /* kf_store_digest compares packed texts. */
            if (!strcmp(sqlite3_column_name(row, i), "data")) continue;
            int type = sqlite3_column_type(row, i);
            double number = type == SQLITE_FLOAT ? sqlite3_column_double(row, i) : 0;
            const void *text = sqlite3_column_blob(row, i);
            kf_buffer_format(out, "%d:%d:", type, sqlite3_column_bytes(row, i));
            if (type == SQLITE_FLOAT)
                kf_buffer_append(out, &number, sizeof number);
            else if (text)
                kf_buffer_append(out, text, (size_t)sqlite3_column_bytes(row, i));
        }
    sqlite3_finalize(row);
    return rc == SQLITE_DONE;
}

/* Appends every value of every table that a reader gets. False if one can't be read. */
static bool dump(const char *path, kf_buffer *out)
{
    static const char *const tables[] = {
        "blob",    "task",  "device",   "run",     "run_state", "candidate",
        "verdict", "asked", "sample",   "attempt", "lineage",   "verdict_json",
        "member",  "tally", "counters", "ceiling", "note",      "model_call"};
    sqlite3 *db;
    bool ok = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && ok; i++)
        ok = dump_table(db, tables[i], out);
    sqlite3_close(db);
    kf_error error;
    kf_auto(kf_store) store = ok ? kf_store_open(path, KF_STORE_READ, &error) : NULL;
    char hex[KF_HASH_HEX];
    ok = store && kf_store_digest(store, hex, &error);
    if (ok) kf_buffer_string(out, hex);
    return ok;
}

/* True if opening or checking the store reports damage. */
static bool is_reported(const char *path)
{
    kf_error error = {0};
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &error);
    bool sound = store && kf_store_check(store, &error);
    if (!sound && (error.code == KF_ERROR_INTERNAL || !*error.text))
        fail_msg("\"%s\" blames kforge", error.text);
    return !sound;
}

static int flips = 60;

static void each_changed_value_is_reported(void **state)
{
    fixture *f = *state;
    kf_error error;
    fill(f);
    kf_store_close(f->store);
    f->store = NULL;
    /* A file without a log, which holds all data. */
    run_sql(f->path, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    size_t size;
    kf_autofree char *good = kf_file_read(f->path, 16 << 20, &size, &error);
    assert_non_null(good);
    kf_autobuffer before = {0};
    assert_true(dump(f->path, &before));
    assert_false(is_reported(f->path));
    kf_autofree char *path = kf_path_join(f->folder, "damaged.db");
    int changed = 0, reported = 0;
    for (int i = 0; i < flips; i++) {
        /* One in ten is a truncation. */
        size_t at = random_bits() % size, left = i % 10 ? size : at;
        /* Most of a small store is empty space, which holds no value. */
        for (int again = 0; again < 8 && !good[at]; again++) at = random_bits() % size;
        unsigned char bit = (unsigned char)(1u << random_bits() % 8);
        if (i % 10) good[at] = (char)(good[at] ^ bit);
        unlink(path);
        assert_ok(&error, kf_file_write(path, good, left, &error));
        if (i % 10) good[at] = (char)(good[at] ^ bit);
        kf_autobuffer after = {0};
        bool same = dump(path, &after) && after.size == before.size &&
                    !memcmp(after.data, before.data, before.size);
        bool seen = is_reported(path);
        changed += !same;
        reported += seen;
        if (!same && !seen)
            fail_msg("flip %d, byte %zu of %zu, bit %02x: a value changed unnoticed", i, at, size,
                     bit);
    }
    print_message("%d of %d changed a value, %d were reported\n", changed, flips, reported);
    assert_true(changed > flips / 4);
}

/* Changes each column of each table in turn, as a row that was damaged and is still a row. */
static void each_changed_column_is_reported(void **state)
{
    fixture *f = *state;
    kf_error error;
    fill(f);
    kf_store_close(f->store);
    f->store = NULL;
    sqlite3 *db;
    sqlite3_stmt *columns;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT t.name, c.name, c.type FROM sqlite_schema t JOIN "
                           "pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name <> "
                           "'data'",
                           -1, &columns, NULL),
        SQLITE_OK);
    kf_autobuffer list = {0};
    while (sqlite3_step(columns) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(columns, 0);
        const char *column = (const char *)sqlite3_column_text(columns, 1);
        const char *type = (const char *)sqlite3_column_text(columns, 2);
        kf_buffer_format(&list,
                         "UPDATE OR IGNORE %s SET %s = %s WHERE %s = (SELECT max(%s) FROM %s)\n",
                         table, column,
                         !strcmp(type, "TEXT")   ? "'' || 'x'"
                         : !strcmp(type, "BLOB") ? "x'00'"
                                                 : "7654321",
                         column, column, table);
    }
    sqlite3_finalize(columns);
    int changes = 0;
    for (char *at = list.data, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        run_sql(f->path, "PRAGMA wal_checkpoint(TRUNCATE)");
        kf_autofree char *copy = kf_path_join(f->folder, "copy.db");
        size_t size;
        kf_autofree char *good = kf_file_read(f->path, 16 << 20, &size, &error);
        assert_ok(&error, kf_file_write(copy, good, size, &error));
        run_sql(copy, at);
        run_sql(copy, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
        kf_autobuffer before = {0}, after = {0};
        dump(f->path, &before);
        bool same = dump(copy, &after) && after.size == before.size &&
                    !memcmp(after.data, before.data, before.size);
        changes += !same;
        if (!same && !is_reported(copy)) fail_msg("%s: is not reported", at);
        /* The sums themselves count as well. */
        if (strstr(at, "table_sum") && !is_reported(copy)) fail_msg("%s: is not reported", at);
        unlink(copy);
    }
    sqlite3_close(db);
    assert_true(changes > 60);
}

/* A lost row leaves no other trace in these tables. */
static void a_lost_row_is_reported(void **state)
{
    fixture *f = *state;
    static const char *const lost[] = {"DELETE FROM note WHERE id = 3",
                                       "DELETE FROM ceiling",
                                       "DELETE FROM asked",
                                       "DELETE FROM counters WHERE candidate = 2",
                                       "DELETE FROM sample WHERE verdict = 2",
                                       "DELETE FROM lineage WHERE attempt = 5",
                                       "DELETE FROM run_state",
                                       "DELETE FROM table_sum WHERE name = 'note'"};
    kf_error error;
    fill(f);
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        kf_autofree char *copy = kf_path_join(f->folder, "copy.db");
        assert_ok(&error, kf_store_backup(f->store, copy, &error));
        assert_false(is_reported(copy));
        run_sql(copy, lost[i]);
        if (!is_reported(copy)) fail_msg("%s: is not reported", lost[i]);
        unlink(copy);
    }
}

/* ---- hostile files --------------------------------------------------------------------------- */

/* Nothing that kforge did not make is ever read, whatever it would do. */
static void foreign_objects_are_refused(void **state)
{
    fixture *f = *state;
    kf_error error;
    static const char *const foreign[] = {
        "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i FROM n",
        "DROP TABLE note; CREATE VIEW note AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i "
        "+ 1 FROM n) SELECT i AS id, NULL AS task, NULL AS run, NULL AS device, NULL AS candidate, "
        "'paid' AS kind, '' AS text, 1.0 AS effect, 0.0 AS created FROM n",
        "CREATE TRIGGER again AFTER INSERT ON attempt BEGIN DELETE FROM verdict; END",
        "CREATE TABLE other (x)",
        "CREATE INDEX slow ON attempt (length(printf('%.*c', number, 'x')))",
        "CREATE INDEX plain ON attempt (message)",
        "DROP INDEX run_task",
        "ALTER TABLE note ADD COLUMN twice TEXT GENERATED ALWAYS AS (kind || kind) VIRTUAL",
        "ALTER TABLE note ADD COLUMN more TEXT",
        "CREATE VIRTUAL TABLE words USING fts5(word)",
        "DROP TABLE ceiling; CREATE TABLE ceiling (device INTEGER NOT NULL, name TEXT NOT NULL, "
        "value REAL NOT NULL CHECK (value > 0), measured REAL NOT NULL, PRIMARY KEY (device, "
        "name)) STRICT, WITHOUT ROWID",
        "ANALYZE",
    };
    fill(f);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        kf_autofree char *copy = kf_path_join(f->folder, "copy.db");
        assert_ok(&error, kf_store_backup(f->store, copy, &error));
        run_sql(copy, foreign[i]);
        for (int mode = KF_STORE_READ; mode <= KF_STORE_CREATE; mode++) {
            kf_store *store = kf_store_open(copy, (kf_store_mode)mode, &error);
            if (store) fail_msg("%s: is opened", foreign[i]);
            assert_int_equal(error.code, KF_ERROR_INPUT);
        }
        kf_store_merged merged = {0};
        assert_false(kf_store_merge(f->store, copy, &merged, &error));
        unlink(copy);
        char log[4200];
        snprintf(log, sizeof log, "%s-wal", copy);
        unlink(log);
        snprintf(log, sizeof log, "%s-shm", copy);
        unlink(log);
    }
}

/* ---- a store that is taken away -------------------------------------------------------------- */

static void a_store_that_is_gone_is_an_error(void **state)
{
    fixture *f = *state;
    kf_error error;
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, NULL, &error));
    kf_autofree char *aside = kf_path_join(f->folder, "aside.db");
    assert_int_equal(rename(f->path, aside), 0);
    assert_fails(&error, KF_ERROR_IO, "deleted or replaced",
                 record_number(f->store, f->run, 2, KF_CORRECT, 2, NULL, &error));
    /* Another file under its name is not the store. */
    assert_ok(&error, kf_file_write(f->path, "x", 1, &error));
    assert_fails(&error, KF_ERROR_IO, "deleted or replaced",
                 record_number(f->store, f->run, 2, KF_CORRECT, 2, NULL, &error));
    assert_int_equal(rename(aside, f->path), 0);
    assert_ok(&error, record_number(f->store, f->run, 2, KF_CORRECT, 2, NULL, &error));
    /* A group that is open while the file goes away. */
    assert_ok(&error, kf_store_begin(f->store, &error));
    assert_ok(&error, record_number(f->store, f->run, 3, KF_CORRECT, 2, NULL, &error));
    assert_int_equal(rename(f->path, aside), 0);
    assert_fails(&error, KF_ERROR_IO, "deleted or replaced", kf_store_commit(f->store, &error));
    assert_int_equal(rename(aside, f->path), 0);
    assert_ok(&error, kf_store_check(f->store, &error));
}

/* ---- re-opened verdicts ---------------------------------------------------------------------- */

static void a_reopened_verdict_no_longer_counts(void **state)
{
    fixture *f = *state;
    kf_error error;
    static const char json[] = "{\"status\":\"cheating\",\"blame\":\"candidate\",\"message\":\"m\","
                               "\"findings\":[{\"rule\":\"runner.woken\"}],\"workloads\":[{"
                               "\"status\":\"cheating\",\"findings\":[]}]}";
    kf_verdict correct = make_verdict(KF_CORRECT, 2), wrong = make_verdict(KF_CHEATING, NAN);
    kf_store_attempt_new attempt = {.run = f->run,
                                    .content.source = "S",
                                    .content.source_size = 1,
                                    .verdict = &correct,
                                    .verdict_json = "{}",
                                    .verdict_size = 2};
    wrong.blame = KF_BLAME_CANDIDATE;
    wrong.message = (char *)"m";
    kf_store_recorded first, second;
    assert_ok(&error, kf_store_record(f->store, &attempt, &first, &error));
    attempt.verdict = &wrong;
    attempt.verdict_json = json;
    attempt.verdict_size = sizeof json - 1;
    assert_ok(&error, kf_store_record(f->store, &attempt, &second, &error));
    int64_t id = 0;
    assert_int_equal(kf_store_next_accusation(f->store, 0, &id, &error), 1);
    assert_int_equal(id, second.verdict);
    assert_ok(&error, kf_store_reopen(f->store, id, "judged again", &error));
    assert_int_equal(kf_store_next_accusation(f->store, 0, &id, &error), 0);
    kf_autoresult kf_store_candidate c = {0};
    bool found;
    char hash[KF_HASH_HEX];
    kf_store_candidate_hash("S", 1, NULL, 0, hash);
    assert_ok(&error,
              kf_store_find_candidate(f->store, TASK, hash, "cpu test", &c, &found, &error));
    assert_true(found);
    /* The correct verdict of before stands again. */
    assert_int_equal(c.verdict, first.verdict);
    assert_int_equal(c.status, KF_CORRECT);
    kf_autofree char *text = kf_store_verdict_json(f->store, second.verdict, NULL, &error);
    assert_non_null(strstr(text, "\"reopened\":{\"status\":\"cheating\""));
    assert_ok(&error, kf_store_check(f->store, &error));
    int64_t counts[KF_STATUS_COUNT];
    assert_ok(&error, kf_store_count_statuses(f->store, f->run, counts, &error));
    assert_int_equal(counts[KF_CHEATING], 0);
    assert_int_equal(counts[KF_JUDGE_ERROR], 1);
}

int test_program(void)
{
    const char *more = getenv("KFORGE_TEST_FLIPS"), *seed = getenv("KFORGE_TEST_SEED");
    if (more) flips = atoi(more);
    if (seed) random_state = strtoull(seed, NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_changed_value_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_changed_column_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_row_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_objects_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_is_gone_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reopened_verdict_no_longer_counts, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
