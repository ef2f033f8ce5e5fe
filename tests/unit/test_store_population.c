/* Choosing parents: standings, buckets, exactly uniform draws, best lists, islands and cells. */
#include "test_store_common.h"
#include "test_main.h"

#include <limits.h>

static kf_store_recorded put(fixture *f, int number, kf_status status, double speedup)
{
    kf_error error;
    kf_store_recorded recorded;
    assert_ok(&error, record_number(f->store, f->run, number, status, speedup, &recorded, &error));
    return recorded;
}

/* A further verdict on a stored candidate. */
static void judge_again(fixture *f, int64_t candidate, kf_verdict verdict)
{
    kf_error error;
    assert_ok(&error, kf_store_record(f->store,
                                      &(kf_store_attempt_new){.run = f->run,
                                                              .outcome = KF_ATTEMPT_REVERIFIED,
                                                              .candidate = candidate,
                                                              .verdict = &verdict,
                                                              .verdict_json = "{}",
                                                              .verdict_size = 2},
                                      NULL, &error));
}

static void buckets_are_powers(void **state)
{
    (void)state;
    assert_int_equal(kf_store_bucket_of(1.0), 0);
    assert_int_equal(kf_store_bucket_of(2.0), KF_BUCKETS_PER_OCTAVE);
    assert_int_equal(kf_store_bucket_of(0.999), -1);
    assert_int_equal(kf_store_bucket_of(1e300), KF_BUCKET_HIGH);
    assert_int_equal(kf_store_bucket_of(1e-300), KF_BUCKET_LOW);
    assert_int_equal(kf_store_bucket_of(INFINITY), KF_BUCKET_HIGH);
    assert_int_equal(kf_store_bucket_of(NAN), KF_BUCKET_FAILED + KF_CORRECT);
    assert_int_equal(kf_store_bucket_of(0), KF_BUCKET_FAILED + KF_CORRECT);
    for (double s = 0.01; s < 100; s *= 1.013) {
        int bucket = kf_store_bucket_of(s);
        assert_true(kf_store_bucket_edge(bucket) <= s && s < kf_store_bucket_edge(bucket + 1));
    }
}

static void standing_follows_the_rule(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_verdict reverified = make_verdict(KF_CORRECT, 1.8), crash = make_verdict(KF_CRASH, 0);
    kf_verdict vague = make_verdict(KF_CORRECT, 3), vague_again = vague;
    kf_verdict unmeasured_again = make_verdict(KF_CORRECT, NAN);
    reverified.reverified = vague_again.reverified = unmeasured_again.reverified = true;
    vague.speedup.low = vague_again.speedup.low = 0.05;
    vague.speedup.high = vague_again.speedup.high = 42;
    struct {
        kf_verdict first, second;
        kf_status status;
        double speedup;
    } cases[] = {
        {make_verdict(KF_CORRECT, 2), make_verdict(KF_CORRECT, 3), KF_CORRECT, 3},
        {make_verdict(KF_CORRECT, 2), reverified, KF_CORRECT, 1.8},
        {reverified, make_verdict(KF_CORRECT, 3), KF_CORRECT, 1.8},
        {make_verdict(KF_CORRECT, 2), make_verdict(KF_INTERFERENCE, 0), KF_CORRECT, 2},
        {make_verdict(KF_INTERFERENCE, 0), make_verdict(KF_CORRECT, 2), KF_CORRECT, 2},
        {reverified, make_verdict(KF_WRONG_RESULT, 0), KF_WRONG_RESULT, NAN},
        {make_verdict(KF_WRONG_RESULT, 0), make_verdict(KF_CORRECT, 2), KF_WRONG_RESULT, NAN},
        {make_verdict(KF_CHEATING, 0), reverified, KF_CHEATING, NAN},
        {crash, make_verdict(KF_CORRECT, 2), KF_CORRECT, 2},
        {crash, vague, KF_CORRECT, 3},
        {make_verdict(KF_CORRECT, 2), vague, KF_CORRECT, 2},
        {vague, make_verdict(KF_CORRECT, 2), KF_CORRECT, 2},
        {make_verdict(KF_CORRECT, 2), make_verdict(KF_CORRECT, NAN), KF_CORRECT, 2},
        {reverified, vague_again, KF_CORRECT, 1.8},
        {make_verdict(KF_CORRECT, 2), unmeasured_again, KF_CORRECT, 2},
        {reverified, unmeasured_again, KF_CORRECT, 1.8},
    };
    kf_autoresult kf_store_candidate candidate = {0};
    int64_t correct = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[32];
        snprintf(source, sizeof source, "case %zu", i);
        kf_store_recorded recorded;
        kf_store_attempt_new attempt = {.run = f->run,
                                        .content.source = source,
                                        .content.source_size = strlen(source),
                                        .verdict = &cases[i].first};
        attempt.verdict_json = "{}";
        attempt.verdict_size = 2;
        assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
        judge_again(f, recorded.candidate, cases[i].second);
        for (int in_run = 0; in_run < 2; in_run++) {
            assert_ok(&error, kf_store_get_candidate(f->store, recorded.candidate,
                                                     in_run ? f->run : NULL, &candidate, &error));
            if (candidate.status != cases[i].status)
                fail_msg("case %zu stands as %d", i, candidate.status);
            assert_true(isnan(cases[i].speedup) ? isnan(candidate.speedup.value)
                                                : candidate.speedup.value == cases[i].speedup);
        }
        correct += cases[i].status == KF_CORRECT;
    }
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_int_equal(run.judged, sizeof cases / sizeof *cases);
    assert_int_equal(run.correct, correct);
    assert_int_equal(run.attempts, 2 * sizeof cases / sizeof *cases);
    assert_true(run.best_speedup.value == 1.8 && run.best_reverified); /* 3 was measured once */
    assert_ok(&error, kf_store_check(f->store, &error));
}

/* Every member of every bucket range is drawn by exactly one rank, also after members changed
 * buckets. */
static void every_rank_is_one_member(void **state)
{
    fixture *f = *state;
    kf_error error;
    enum { COUNT = 60 };
    int64_t ids[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ids[i] = put(f, i, i % 4 ? KF_CORRECT : KF_TIMEOUT, 1 + (i % 7) * 0.3).candidate;
        assert_ok(&error,
                  kf_store_move(f->store, f->run, ids[i], i % 3, i % 2 ? "odd" : NULL, &error));
    }
    for (int i = 0; i < COUNT; i += 5)
        judge_again(f, ids[i], make_verdict(i % 2 ? KF_CRASH : KF_CORRECT, 1.6));
    assert_ok(&error, kf_store_check(f->store, &error));
    kf_autoresult kf_store_candidate candidate = {0};
    for (int island = -1; island < 3; island++) {
        kf_store_bucket buckets[KF_MAX_BUCKETS];
        size_t count;
        bool found, seen[COUNT + 1] = {false};
        uint64_t total = 0;
        assert_ok(&error, kf_store_histogram(f->store, f->run, island, buckets, &count, &error));
        for (size_t i = 0; i < count; i++) {
            total += (uint64_t)buckets[i].count;
            if (i) assert_true(buckets[i - 1].bucket < buckets[i].bucket);
        }
        assert_int_equal(total, island < 0 ? COUNT : COUNT / 3);
        for (uint64_t rank = 0; rank < total; rank++) {
            assert_ok(&error, kf_store_pick(f->store, f->run, island, INT_MIN, INT_MAX, rank,
                                            &candidate, &found, &error));
            assert_true(found && !seen[candidate.id]);
            seen[candidate.id] = true;
            if (island >= 0) assert_int_equal(candidate.island, island);
        }
        assert_ok(&error, kf_store_pick(f->store, f->run, island, INT_MIN, INT_MAX, total,
                                        &candidate, &found, &error));
        assert_false(found);
    }
    int64_t statuses[KF_STATUS_COUNT];
    assert_ok(&error, kf_store_count_statuses(f->store, f->run, statuses, &error));
    int64_t sum = 0;
    for (int i = 0; i < KF_STATUS_COUNT; i++) sum += statuses[i];
    assert_int_equal(sum, COUNT);
    assert_true(statuses[KF_CRASH] > 0 && statuses[KF_TIMEOUT] > 0 && statuses[KF_CORRECT] > 0);
    assert_fails(&error, KF_ERROR_INPUT, "not in the population",
                 kf_store_move(f->store, f->run, 4711, 0, NULL, &error));
}

/* Chi-squared test: 30 of 40 candidates are correct, 30,000 draws. The 99.9 % quantile for 29
 * degrees of freedom is 58.3. */
static void correct_ones_are_drawn_uniformly(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autoresult kf_store_candidate candidate = {0};
    bool found;
    assert_ok(&error, kf_store_pick_correct(f->store, f->run, -1, 5, &candidate, &found, &error));
    assert_false(found);
    for (int i = 0; i < 40; i++)
        put(f, i, i % 4 ? KF_CORRECT : KF_WRONG_RESULT,
            i % 8 == 1 ? 0 : 1 + 0.1 * (i % 5)); /* some untimed */
    int drawn[41] = {0};
    uint64_t random = 1;
    for (int i = 0; i < 30000; i++) {
        /* Knuth's MMIX. The test uses its high bits */
        random = random * 6364136223846793005u + 1442695040888963407u;
        assert_ok(&error,
                  kf_store_pick_correct(f->store, f->run, -1, random, &candidate, &found, &error));
        assert_true(found);
        assert_int_equal(candidate.status, KF_CORRECT);
        drawn[candidate.id]++;
    }
    double chi = 0;
    int members = 0;
    for (int i = 1; i <= 40; i++)
        if (drawn[i]) {
            chi += (drawn[i] - 1000.0) * (drawn[i] - 1000.0) / 1000.0;
            members++;
        }
    assert_int_equal(members, 30);
    if (chi > 58.3) fail_msg("chi-squared is %g", chi);
    assert_ok(&error,
              kf_store_pick_correct(f->store, f->run, -1, UINT64_MAX, &candidate, &found, &error));
    assert_true(found);
}

static int list(kf_store *store, kf_store_scope scope, size_t limit, int64_t *ids)
{
    kf_error error;
    kf_auto(kf_store_cursor) cursor = kf_store_best(store, &scope, limit, &error);
    assert_non_null(cursor);
    kf_autoresult kf_store_candidate candidate = {0};
    int count = 0, row;
    double last = INFINITY;
    bool again = true;
    while ((row = kf_store_next_candidate(cursor, &candidate, &error)) == 1) {
        if (candidate.reverified != again) last = INFINITY;
        assert_true(again || !candidate.reverified);
        assert_true(candidate.speedup.low <= last);
        again = candidate.reverified;
        last = candidate.speedup.low;
        ids[count++] = candidate.id;
    }
    assert_int_equal(row, 0);
    return count;
}

static void best_lists_are_sorted_and_scoped(void **state)
{
    fixture *f = *state;
    kf_error error;
    double speedups[] = {1.5, 3, 3, 0.5, 2, 9};
    int64_t ids[6], got[100];
    for (int i = 0; i < 6; i++) {
        ids[i] = put(f, i, i == 5 ? KF_CHEATING : KF_CORRECT, speedups[i]).candidate;
        assert_ok(&error,
                  kf_store_move(f->store, f->run, ids[i], i % 2, i < 3 ? "cell" : NULL, &error));
    }
    kf_verdict reverified = make_verdict(KF_CORRECT, 1.9);
    reverified.reverified = true;
    judge_again(f, ids[4], reverified);

    assert_int_equal(list(f->store, (kf_store_scope){.run = f->run, .island = -1}, 10, got), 5);
    int64_t expected[] = {ids[4], ids[1], ids[2], ids[0], ids[3]};
    assert_memory_equal(got, expected, sizeof expected);
    assert_int_equal(list(f->store, (kf_store_scope){.run = f->run, .island = -1}, 2, got), 2);
    assert_memory_equal(got, expected, 2 * sizeof *expected);
    assert_int_equal(list(f->store, (kf_store_scope){.run = f->run, .island = 1}, 10, got), 2);
    assert_int_equal(got[0], ids[1]);
    assert_int_equal(
        list(f->store, (kf_store_scope){.run = f->run, .island = -1, .cell = "cell"}, 10, got), 3);
    assert_int_equal(
        list(f->store, (kf_store_scope){.run = f->run, .island = 0, .cell = "cell"}, 10, got), 2);
    assert_int_equal(
        list(f->store, (kf_store_scope){.run = f->run, .island = -1, .reverified = true}, 10, got),
        1);
    assert_int_equal(got[0], ids[4]);
    assert_int_equal(
        list(f->store, (kf_store_scope){.run = f->run, .island = -1, .once = true}, 2, got), 2);
    assert_memory_equal(got, expected + 1, 2 * sizeof *expected);
    assert_int_equal(list(f->store,
                          (kf_store_scope){.run = f->run, .island = -1, .device = "cpu test"}, 10,
                          got),
                     5);
    assert_int_equal(
        list(f->store, (kf_store_scope){.run = f->run, .island = -1, .device = "other"}, 10, got),
        0);
    assert_int_equal(list(f->store, (kf_store_scope){.run = f->run, .island = -1}, 0, got), 0);

    /* Another run of the task, and another task. The same candidate on another device is still
     * listed once. */
    char run[KF_RUN_ID];
    assert_ok(&error,
              kf_store_begin_run(f->store, &(kf_store_run_new){.task = TASK, .device = "gpu"}, run,
                                 &error));
    kf_store_recorded twin;
    assert_ok(&error, record_number(f->store, run, 0, KF_CORRECT, 7, &twin, &error));
    assert_int_equal(twin.candidate, ids[0]);
    assert_int_equal(list(f->store, (kf_store_scope){.task = TASK, .island = -1}, 10, got), 5);
    assert_int_equal(got[0], ids[4]);
    assert_int_equal(got[1], ids[0]);
    assert_int_equal(
        list(f->store, (kf_store_scope){.task = TASK, .device = "gpu", .island = -1}, 10, got), 1);
    assert_int_equal(
        list(f->store, (kf_store_scope){.task = TASK, .reverified = true, .island = -1}, 10, got),
        1);
    assert_int_equal(list(f->store, (kf_store_scope){.task = TASK, .island = -1}, 1, got), 1);
    assert_ok(&error, kf_store_put_task(f->store, TASK2, "gemm", "{}", 2, &error));
    assert_ok(&error,
              kf_store_begin_run(f->store, &(kf_store_run_new){.task = TASK2, .device = "gpu"}, run,
                                 &error));
    assert_ok(&error, record_number(f->store, run, 0, KF_CORRECT, 5, &twin, &error));
    assert_true(twin.is_new); /* candidates belong to a task */
    assert_int_equal(list(f->store, (kf_store_scope){.island = -1}, 10, got), 6);
    assert_int_equal(got[2], twin.candidate);
    assert_int_equal(list(f->store, (kf_store_scope){.task = TASK2, .island = -1}, 10, got), 1);
    assert_null(kf_store_best(f->store, &(kf_store_scope){.run = "0000000000"}, 10, &error));
}

/* The ranking, as kforge/store.h words it. */
static int by_rank(const void *a, const void *b)
{
    const kf_store_candidate *x = a, *y = b;
    if (x->reverified != y->reverified) return x->reverified ? -1 : 1;
    if (x->speedup.low != y->speedup.low) return x->speedup.low > y->speedup.low ? -1 : 1;
    if (x->speedup.value != y->speedup.value) return x->speedup.value > y->speedup.value ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Of many candidates with intervals of any width, the first are those of a sorted list. */
static void lower_bounds_rank(void **state)
{
    enum { COUNT = 150 };
    static const size_t limits[] = {1, 2, 7, 40, COUNT};
    fixture *f = *state;
    kf_error error;
    kf_store_candidate all[COUNT];
    int64_t got[COUNT];
    uint64_t random = 7;
    assert_ok(&error, kf_store_begin(f->store, &error));
    for (int i = 0; i < COUNT; i++) {
        int64_t id = put(f, i, KF_CRASH, 0).candidate;
        random = random * 6364136223846793005u + 1442695040888963407u;
        /* Every other interval says nothing, and ties occur. */
        double value = 1 + (double)(random >> 60), width = i % 2 ? 0.02 : 1;
        bool again = i >= COUNT - 30 && i % 3 == 0;
        kf_verdict verdict = make_verdict(KF_CORRECT, value);
        verdict.speedup = (kf_interval){value, value * (1 - width), value * (1 + 9 * width)};
        verdict.reverified = again;
        judge_again(f, id, verdict);
        assert_ok(&error, kf_store_move(f->store, f->run, id, i % 3, NULL, &error));
        all[i] = (kf_store_candidate){.id = id, .speedup = verdict.speedup, .reverified = again};
    }
    assert_ok(&error, kf_store_commit(f->store, &error));
    qsort(all, COUNT, sizeof *all, by_rank);
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        const kf_store_scope scopes[] = {{.run = f->run, .island = -1},
                                         {.task = TASK, .island = -1}};
        for (int s = 0; s < 2; s++) {
            assert_int_equal(list(f->store, scopes[s], limits[k], got), limits[k]);
            for (size_t i = 0; i < limits[k]; i++) assert_int_equal(got[i], all[i].id);
        }
    }
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_int_equal(run.best, all[0].id);
}

/* The same history gives the same draws, whatever else is in the store. */
static void equal_histories_draw_equally(void **state)
{
    fixture *f = *state;
    kf_error error;
    char run[KF_RUN_ID];
    for (int i = 0; i < 20; i++) put(f, i, KF_CORRECT, 1 + 0.01 * i);
    assert_ok(&error,
              kf_store_begin_run(f->store, &(kf_store_run_new){.task = TASK, .device = "cpu test"},
                                 run, &error));
    for (int i = 0; i < 20; i++)
        assert_ok(&error, record_number(f->store, run, i, KF_CORRECT, 1 + 0.01 * i, NULL, &error));
    kf_autoresult kf_store_candidate a = {0}, b = {0};
    for (uint64_t i = 0; i < 20; i++) {
        bool found;
        assert_ok(&error, kf_store_pick_correct(f->store, f->run, -1, i << 59, &a, &found, &error));
        assert_ok(&error, kf_store_pick_correct(f->store, run, -1, i << 59, &b, &found, &error));
        assert_int_equal(a.id, b.id);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_powers),
        cmocka_unit_test_setup_teardown(standing_follows_the_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_rank_is_one_member, set_up, tear_down),
        cmocka_unit_test_setup_teardown(correct_ones_are_drawn_uniformly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(best_lists_are_sorted_and_scoped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lower_bounds_rank, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_histories_draw_equally, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
