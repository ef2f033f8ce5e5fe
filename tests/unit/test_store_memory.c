/* Every allocation of a session with the store fails once, SQLite's and the store's own: each time
 * it is an error of the right kind or no error at all, nothing leaks (under AddressSanitizer), and
 * the store stays whole. */
#include "test_store_common.h"
#include "test_main.h"

#include <sqlite3.h>

#include "failing_allocator.h"

static sqlite3_mem_methods plain;
static void *sqlite_malloc(int size)
{
    return fails_now() ? NULL : plain.xMalloc(size);
}
static void *sqlite_realloc(void *pointer, int size)
{
    return fails_now() ? NULL : plain.xRealloc(pointer, size);
}

static bool walk(kf_store *store, const char *run, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    kf_autoresult kf_store_attempt attempt = {0};
    kf_autoresult kf_store_edge edge = {0};
    kf_autoresult kf_store_run summary = {0};
    bool found;
    int row;
    kf_auto(kf_store_cursor) best =
        kf_store_best(store, &(kf_store_scope){.run = run, .island = -1}, 5, error);
    if (!best) return false;
    while ((row = kf_store_next_candidate(best, &candidate, error)) == 1) {
        kf_autofree char *source = kf_store_source(store, candidate.id, NULL, error);
        if (!source) return false;
    }
    kf_auto(kf_store_cursor) attempts = row == 0 ? kf_store_attempts(store, run, 1, error) : NULL;
    if (!attempts) return false;
    while ((row = kf_store_next_attempt(attempts, &attempt, error)) == 1) continue;
    kf_auto(kf_store_cursor) kin = row == 0 ? kf_store_ancestors(store, 2, run, error) : NULL;
    if (!kin) return false;
    while ((row = kf_store_next_edge(kin, &edge, error)) == 1) continue;
    return row == 0 && kf_store_pick_correct(store, run, -1, 1, &candidate, &found, error) &&
           kf_store_find_run(store, run, &summary, error);
}

/* Opens, uses and closes a store. True if no call failed. */
static bool session(const char *path, kf_error *error)
{
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_CREATE, error);
    char run[KF_RUN_ID], state[1000];
    memset(state, 's', sizeof state);
    kf_store_run_new settings = {
        .task = TASK, .device = "d", .state = state, .state_size = sizeof state};
    if (!store || !kf_store_put_task(store, TASK, "axpy", BUNDLE, strlen(BUNDLE), error) ||
        !kf_store_begin_run(store, &settings, run, error))
        return false;
    kf_store_recorded first;
    if (!record_number(store, run, 1, KF_CORRECT, 2, &first, error)) return false;
    kf_sample samples[20] = {{.side = 'b'}};
    kf_workload_verdict workload = {
        .workload = (char *)"main", .samples = samples, .sample_count = 20};
    kf_verdict verdict = make_verdict(KF_CORRECT, 1.5);
    verdict.workloads = &workload;
    verdict.workload_count = 1;
    const char *flags[] = {"-DA=1"};
    kf_store_parent parent = {first.candidate, "base"};
    kf_store_attempt_new attempt = {.run = run,
                                    .content.source = state,
                                    .content.source_size = sizeof state,
                                    .content.flags = flags,
                                    .content.flag_count = 1,
                                    .parents = &parent};
    attempt.parent_count = 1;
    attempt.verdict = &verdict;
    attempt.verdict_json = attempt.state = state;
    attempt.verdict_size = attempt.state_size = sizeof state;
    attempt.counters = "{}";
    kf_store_model_call_new call = {
        .run = run, .prompt = state, .prompt_size = sizeof state, .reply = "r", .reply_size = 1};
    return kf_store_begin(store, error) && kf_store_record(store, &attempt, NULL, error) &&
           kf_store_put_model_call(store, &call, error) &&
           kf_store_put_note(store, &(kf_store_note_new){.task = TASK, .kind = "paid", .text = "x"},
                             error) &&
           kf_store_commit(store, error) && walk(store, run, error);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    kf_error error;
    kf_autofree char *folder = kf_directory_temporary("kforge-test-store", &error);
    kf_autofree char *path = kf_path_join(folder, "kforge.db");
    int failures = 0, rounds = 0;
    bool reached_end = false;
    /* all of the first forty, then ever fewer of the thousands inside SQLite */
    for (long n = 0; !reached_end; n += 1 + n / 40) {
        memset(&error, 0, sizeof error);
        until_failure = n;
        bool ok = session(path, &error);
        reached_end = until_failure >= 0;
        until_failure = -1;
        rounds++;
        if (!ok) {
            failures++;
            if (error.code != KF_ERROR_MEMORY)
                fail_msg("allocation %ld: %s (%s)", n, error.text, kf_error_code_name(error.code));
        }
        if (access(path, F_OK) != 0) continue;
        kf_auto(kf_store) store = kf_store_open(path, KF_STORE_CREATE, &error);
        if (!store || !kf_store_check(store, &error))
            fail_msg("after allocation %ld failed: %s", n, error.text);
    }
    print_message("%d of %d rounds saw a failure\n", failures, rounds);
    assert_true(failures > rounds / 2);
    kf_directory_remove(folder, NULL);
}

int test_program(void)
{
    /* Before SQLite is used for the first time. */
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain);
    sqlite3_mem_methods failing = plain;
    failing.xMalloc = sqlite_malloc;
    failing.xRealloc = sqlite_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return TEST_GROUP(tests, NULL, NULL);
}
