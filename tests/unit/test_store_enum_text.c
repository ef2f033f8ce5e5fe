/* The words in the database are those of verdicts. */
#include "test_store_common.h"
#include "test_main.h"

#include <sqlite3.h>

#include "kforge/verdict.h"

static void statuses_and_blames_agree(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autoresult kf_store_candidate candidate = {0};
    for (int status = 0; status < KF_STATUS_COUNT; status++) {
        kf_store_recorded recorded;
        assert_ok(&error, record_number(f->store, f->run, status, (kf_status)status, 1.5, &recorded,
                                        &error));
        assert_ok(&error,
                  kf_store_get_candidate(f->store, recorded.candidate, f->run, &candidate, &error));
        assert_int_equal(candidate.status, status);
        char query[256];
        snprintf(query, sizeof query,
                 "SELECT status = '%s' AND blame = '%s' FROM verdict WHERE id = %lld",
                 kf_status_name((kf_status)status), kf_blame_name(candidate.blame),
                 (long long)recorded.verdict);
        sqlite3 *db;
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, query, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        if (!sqlite3_column_int(statement, 0))
            fail_msg("status %s is another word in the store", kf_status_name((kf_status)status));
        sqlite3_finalize(statement);
        sqlite3_close(db);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(statuses_and_blames_agree, set_up, tear_down)};
    return TEST_GROUP(tests, NULL, NULL);
}
