/* The store's ordinary life: tasks, runs, attempts, look-ups, history, knowledge. */
#include "kforge/store_maintenance.h"
#include "test_main.h"
#include "test_store_common.h"

static void default_path_follows_environment(void **state)
{
    (void)state;
    kf_error error;
    setenv("KFORGE_STORE", "/some/where.db", 1);
    kf_autofree char *first = kf_store_default_path(&error);
    assert_string_equal(first, "/some/where.db");
    unsetenv("KFORGE_STORE");
    setenv("XDG_DATA_HOME", "/data", 1);
    kf_autofree char *second = kf_store_default_path(&error);
    assert_string_equal(second, "/data/kforge/kforge.db");
    setenv("XDG_DATA_HOME", "relative", 1); /* to be ignored, says the specification */
    setenv("HOME", "/home/me", 1);
    kf_autofree char *third = kf_store_default_path(&error);
    assert_string_equal(third, "/home/me/.local/share/kforge/kforge.db");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    assert_fails(&error, KF_ERROR_INPUT, "KFORGE_STORE", kf_store_default_path(&error));
}

static void tasks_are_stored_once(void **state)
{
    fixture *f = *state;
    kf_error error;
    assert_ok(&error, kf_store_put_task(f->store, TASK, "axpy", BUNDLE, strlen(BUNDLE), &error));
    /* a later version of the same name */
    assert_ok(&error, kf_store_put_task(f->store, TASK2, "axpy", "{}", 2, &error));
    size_t size;
    kf_autofree char *bundle = kf_store_task_bundle(f->store, TASK, &size, &error);
    assert_non_null(bundle);
    assert_string_equal(bundle, BUNDLE);
    assert_int_equal(size, strlen(BUNDLE));
    assert_fails(&error, KF_ERROR_INPUT, "no task",
                 kf_store_task_bundle(f->store, "nope", NULL, &error));

    kf_autoresult kf_store_task task = {0};
    assert_ok(&error, kf_store_find_task(f->store, "axpy", &task, &error));
    assert_string_equal(task.hash, TASK2);
    assert_ok(&error, kf_store_find_task(f->store, TASK, &task, &error));
    assert_string_equal(task.hash, TASK);
    assert_int_equal(task.runs, 1);
    assert_fails(&error, KF_ERROR_INPUT, "several",
                 kf_store_find_task(f->store, "0000", &task, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no task",
                 kf_store_find_task(f->store, "gemm", &task, &error));

    kf_auto(kf_store_cursor) cursor = kf_store_tasks(f->store, &error);
    int count = 0;
    while (kf_store_next_task(cursor, &task, &error) == 1) count++;
    assert_int_equal(count, 2);
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, NULL, &error));
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, NULL, &error));
    assert_ok(&error, kf_store_find_task(f->store, TASK, &task, &error));
    assert_int_equal(task.candidates, 1);
    assert_int_equal(kf_store_next_task(cursor, &task, &error), 0); /* stays at the end */
}

static void an_interrupt_ends_what_takes_long(void **state)
{
    fixture *f = *state;
    kf_error error;
    volatile int interrupts = 0;
    assert_ok(&error, kf_store_begin(f->store, &error));
    for (int64_t i = 1; i <= 300; i++)
        assert_ok(&error, record_number(f->store, f->run, i, KF_CORRECT, 2, NULL, &error));
    assert_ok(&error, kf_store_commit(f->store, &error));
    kf_store_set_interrupt(f->store, &interrupts);
    assert_ok(&error, kf_store_check(f->store, &error));
    interrupts = 1;
    assert_fails(&error, KF_ERROR_IO, "interrupted", kf_store_check(f->store, &error));
    kf_store_set_interrupt(f->store, NULL);
    assert_ok(&error, kf_store_check(f->store, &error));
}

static void runs_live_and_end(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_string_equal(run.task, TASK);
    assert_string_equal(run.task_name, "axpy");
    assert_string_equal(run.device, "cpu test");
    assert_int_equal(run.seed, 7);
    assert_int_equal(run.status, KF_RUN_RUNNING);
    assert_true(run.alive);
    assert_true(isnan(run.ended));
    assert_int_equal(run.best, 0);
    assert_int_equal(strlen(run.id), KF_RUN_ID - 1);

    char other[KF_RUN_ID];
    kf_store_run_new settings = {.task = TASK,
                                 .device = "cpu test",
                                 .options = "{\"a\":1}",
                                 .seed = UINT64_MAX,
                                 .state = "s",
                                 .state_size = 1};
    assert_ok(&error, kf_store_begin_run(f->store, &settings, other, &error));
    assert_string_not_equal(other, f->run);
    bool found;
    assert_ok(&error, kf_store_latest_run(f->store, NULL, true, &run, &found, &error));
    assert_true(found);
    assert_string_equal(run.id, other);
    assert_true(run.seed == UINT64_MAX);
    assert_string_equal(run.options, "{\"a\":1}");
    assert_ok(&error, kf_store_end_run(f->store, other, KF_RUN_FINISHED, &error));
    assert_ok(&error, kf_store_latest_run(f->store, TASK, true, &run, &found, &error));
    assert_string_equal(run.id, f->run);
    assert_ok(&error, kf_store_latest_run(f->store, TASK, false, &run, &found, &error));
    assert_string_equal(run.id, other);
    assert_false(run.alive);
    assert_false(isnan(run.ended));
    assert_ok(&error, kf_store_latest_run(f->store, TASK2, false, &run, &found, &error));
    assert_false(found);

    assert_ok(&error, kf_store_find_run(f->store, "last", &run, &error));
    assert_string_equal(run.id, other);
    assert_ok(&error, kf_store_find_run(f->store, "latest", &run, &error));
    assert_string_equal(run.id, other);
    assert_fails(&error, KF_ERROR_INPUT, "no run",
                 kf_store_find_run(f->store, "lates", &run, &error));

    char upper[KF_RUN_ID];
    for (int i = 0; i < KF_RUN_ID; i++)
        upper[i] = other[i] >= 'a' && other[i] <= 'z' ? (char)(other[i] - 32) : other[i];
    assert_ok(&error, kf_store_find_run(f->store, upper, &run, &error));
    assert_fails(&error, KF_ERROR_INPUT, "several",
                 kf_store_find_run(f->store, (char[]){other[0], '\0'}, &run, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no run",
                 kf_store_find_run(f->store, "zzzzzzzzzz", &run, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no run", kf_store_find_run(f->store, "", &run, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no run",
                 kf_store_find_run(f->store, "%' OR 1", &run, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no task",
                 kf_store_begin_run(f->store, &(kf_store_run_new){.task = TASK2, .device = "d"},
                                    other, &error));
}

/* Another process can resume a run only after the owner of the run died. */
static void a_dead_owner_gives_way(void **state)
{
    fixture *f = *state;
    kf_error error;
    int ids[2], go[2];
    assert_int_equal(pipe(ids), 0);
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    if (child == 0) {
        char id[KF_RUN_ID], byte;
        kf_store *store = kf_store_open(f->path, KF_STORE_WRITE, NULL);
        if (!store ||
            !kf_store_begin_run(store, &(kf_store_run_new){.task = TASK, .device = "d"}, id, NULL))
            _exit(1);
        kf_write_all(ids[1], id, sizeof id);
        kf_read_all(go[0], &byte, 1);
        _exit(0);
    }
    char id[KF_RUN_ID];
    assert_true(kf_read_all(ids[0], id, sizeof id));
    assert_fails(&error, KF_ERROR_BUSY, "another process",
                 kf_store_resume_run(f->store, id, &error));
    assert_ok(&error, kf_write_all(go[1], "x", 1));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(f->store, id, &run, &error));
    assert_int_equal(run.status, KF_RUN_RUNNING);
    assert_false(run.alive);
    assert_ok(&error, kf_store_resume_run(f->store, id, &error));
    assert_ok(&error, kf_store_find_run(f->store, id, &run, &error));
    assert_true(run.alive);
    assert_ok(&error, kf_store_resume_run(f->store, id, &error)); /* its own */
    for (int i = 0; i < 2; i++) close(ids[i]), close(go[i]);
}

static void state_travels_with_attempts(void **state)
{
    fixture *f = *state;
    kf_error error;
    char *text;
    size_t size;
    assert_ok(&error, kf_store_run_state(f->store, f->run, &text, &size, &error));
    assert_null(text);
    kf_store_attempt_new attempt = {.run = f->run,
                                    .outcome = KF_ATTEMPT_NO_SOURCE,
                                    .message = "no code",
                                    .state = "{\"n\":1}",
                                    .state_size = 7};
    kf_store_recorded recorded;
    assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
    assert_int_equal(recorded.attempt, 1);
    assert_int_equal(recorded.candidate, 0);
    assert_ok(&error, kf_store_run_state(f->store, f->run, &text, &size, &error));
    assert_string_equal(text, "{\"n\":1}");
    free(text);
    attempt.state = NULL;
    assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
    assert_int_equal(recorded.attempt, 2);
    char large[10000]; /* bytes that text would not survive */
    for (size_t i = 0; i < sizeof large; i++) large[i] = (char)(i * i);
    assert_ok(&error, kf_store_save_state(f->store, f->run, large, sizeof large, &error));
    assert_ok(&error, kf_store_run_state(f->store, f->run, &text, &size, &error));
    assert_int_equal(size, sizeof large);
    assert_memory_equal(text, large, size);
    free(text);
}

static void a_verdict_comes_back_whole(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_sample samples[3] = {{'b', 0, 10, 0.25, NAN, 1980.0, 0},
                            {'c', 0, 12, 0.125, 0.124, NAN, UINT64_MAX},
                            {'n', -1, 1, 1e-9, NAN, NAN, 4}};
    kf_workload_verdict workloads[2] = {
        {.workload = (char *)"main", .timed = true, .samples = samples, .sample_count = 3},
        {.workload = (char *)"ragged"}};
    kf_verdict verdict = make_verdict(KF_CORRECT, 1.75);
    verdict.workloads = workloads;
    verdict.workload_count = 2;
    verdict.code_hash = (char *)"c0de";
    const char json[] = "{\"schema\":\"kforge-verdict/1\",\"text\":\"\xc3\xa4\\u0000\"}";
    const char *flags[] = {"-DBLOCK=\"x\"", "-O2"};
    kf_store_attempt_new attempt = {.run = f->run,
                                    .outcome = KF_ATTEMPT_JUDGED,
                                    .message = "fine",
                                    .proposer = "person",
                                    .strategy = "evolve",
                                    .step = "draft",
                                    .island = 2,
                                    .cell = "memory/low",
                                    .content.source = "int x;",
                                    .content.source_size = 6,
                                    .content.flags = flags,
                                    .content.flag_count = 2,
                                    .content.tunables = "{\"BLOCK\":256}",
                                    .content.features = "[1,2]",
                                    .verdict = &verdict,
                                    .verdict_json = json,
                                    .verdict_size = sizeof json - 1,
                                    .counters = "{\"registers\":32}"};
    kf_store_recorded recorded;
    assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
    assert_true(recorded.is_new);
    kf_autoresult kf_store_candidate candidate = {0};
    assert_ok(&error,
              kf_store_get_candidate(f->store, recorded.candidate, f->run, &candidate, &error));
    assert_string_equal(candidate.run, f->run);
    assert_int_equal(candidate.attempt, 1);
    assert_int_equal(candidate.island, 2);
    assert_string_equal(candidate.cell, "memory/low");
    assert_string_equal(candidate.flags, "[\"-DBLOCK=\\\"x\\\"\",\"-O2\"]");
    assert_string_equal(candidate.tunables, "{\"BLOCK\":256}");
    assert_string_equal(candidate.features, "[1,2]");
    assert_int_equal(candidate.status, KF_CORRECT);
    assert_int_equal(candidate.blame, KF_BLAME_NOBODY);
    assert_true(candidate.speedup.value == 1.75 && candidate.speedup.low == 1.75 * 0.99 &&
                candidate.speedup.high == 1.75 * 1.01);
    assert_string_equal(candidate.code_hash, "c0de");
    assert_string_equal(candidate.device, "cpu test");
    assert_string_equal(candidate.message, "what happened");
    assert_true(candidate.build_seconds == 0.5 && candidate.judge_seconds == 1.5);
    char hash[KF_HASH_HEX];
    kf_store_candidate_hash("int x;", 6, flags, 2, hash);
    assert_string_equal(candidate.hash, hash);

    size_t size;
    kf_autofree char *source = kf_store_source(f->store, recorded.candidate, &size, &error);
    assert_string_equal(source, "int x;");
    kf_autofree char *text = kf_store_verdict_json(f->store, recorded.verdict, &size, &error);
    assert_int_equal(size, sizeof json - 1);
    assert_memory_equal(text, json, size);
    kf_autofree kf_sample *back = NULL;
    assert_ok(&error, kf_store_samples(f->store, recorded.verdict, "main", &back, &size, &error));
    assert_int_equal(size, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(back[i].side, samples[i].side);
        assert_int_equal(back[i].pair, samples[i].pair);
        assert_int_equal(back[i].calls, samples[i].calls);
        assert_true(back[i].seconds == samples[i].seconds);
        assert_true(back[i].claimed == samples[i].claimed ||
                    isnan(samples[i].claimed) == isnan(back[i].claimed));
        assert_true(back[i].clock_mhz == samples[i].clock_mhz ||
                    isnan(samples[i].clock_mhz) == isnan(back[i].clock_mhz));
        assert_true(back[i].throttle == samples[i].throttle);
    }
    kf_sample *none;
    assert_ok(&error, kf_store_samples(f->store, recorded.verdict, "ragged", &none, &size, &error));
    assert_null(none);
    bool found;
    kf_autofree char *counters = NULL;
    assert_ok(&error, kf_store_get_counters(f->store, recorded.candidate, "cpu test", &counters,
                                            &found, &error));
    assert_true(found);
    assert_string_equal(counters, "{\"registers\":32}");
    kf_autofree char *path = kf_path_join(f->folder, "best.cu");
    assert_ok(&error, kf_store_write_source(f->store, recorded.candidate, path, &error));
    kf_autofree char *written = kf_file_read(path, 100, NULL, &error);
    assert_string_equal(written, "int x;");
    assert_ok(&error, kf_store_check(f->store, &error));
}

static void identical_work_is_recognised(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_verdict verdict = make_verdict(KF_CORRECT, 2);
    verdict.code_hash = (char *)"abc123";
    kf_store_attempt_new attempt = {.run = f->run,
                                    .outcome = KF_ATTEMPT_JUDGED,
                                    .content.source = "A",
                                    .content.source_size = 1,
                                    .verdict = &verdict};
    attempt.verdict_json = "{}";
    attempt.verdict_size = 2;
    attempt.content.canonical_hash = "f0";
    kf_store_recorded first, again;
    assert_ok(&error, kf_store_record(f->store, &attempt, &first, &error));

    char hash[KF_HASH_HEX];
    kf_store_candidate_hash("A", 1, NULL, 0, hash);
    kf_autoresult kf_store_candidate candidate = {0};
    bool found;
    assert_ok(&error, kf_store_find_candidate(f->store, TASK, hash, "cpu test", &candidate, &found,
                                              &error));
    assert_true(found);
    assert_int_equal(candidate.id, first.candidate);
    assert_int_equal(candidate.verdict, first.verdict);
    assert_string_equal(candidate.run, ""); /* not asked as a member of a population */
    assert_ok(&error, kf_store_find_candidate(f->store, TASK, hash, "another device", &candidate,
                                              &found, &error));
    assert_false(found);
    assert_ok(&error,
              kf_store_find_candidate(f->store, TASK2, hash, NULL, &candidate, &found, &error));
    assert_false(found);
    assert_ok(&error,
              kf_store_find_code(f->store, TASK, "abc123", "cpu test", &candidate, &found, &error));
    assert_true(found);
    assert_int_equal(candidate.id, first.candidate);
    assert_ok(&error,
              kf_store_find_code(f->store, TASK, "abc124", NULL, &candidate, &found, &error));
    assert_false(found);
    assert_ok(&error, kf_store_find_canonical(f->store, TASK, "f0", "cpu test", &candidate, &found,
                                              &error));
    assert_true(found);
    assert_int_equal(candidate.id, first.candidate);
    assert_ok(&error, kf_store_find_canonical(f->store, TASK, "f0", "another device", &candidate,
                                              &found, &error));
    assert_false(found);
    /* an empty canonical hash matches no candidate */
    assert_ok(&error,
              kf_store_find_canonical(f->store, TASK, "", NULL, &candidate, &found, &error));
    assert_false(found);

    /* In another run the known verdict brings the candidate into that population. */
    char run[KF_RUN_ID];
    assert_ok(&error,
              kf_store_begin_run(f->store, &(kf_store_run_new){.task = TASK, .device = "cpu test"},
                                 run, &error));
    kf_store_attempt_new known = {.run = run,
                                  .outcome = KF_ATTEMPT_KNOWN,
                                  .candidate = first.candidate,
                                  .known_verdict = first.verdict};
    assert_ok(&error, kf_store_record(f->store, &known, &again, &error));
    assert_int_equal(again.candidate, first.candidate);
    assert_int_equal(again.verdict, first.verdict);
    assert_false(again.is_new);
    assert_int_equal(again.attempt, 1);
    kf_autoresult kf_store_run summary = {0};
    assert_ok(&error, kf_store_find_run(f->store, run, &summary, &error));
    assert_int_equal(summary.correct, 1);
    assert_int_equal(summary.best, first.candidate);
    assert_true(summary.best_speedup.value == 2);

    /* Other flags make another candidate. Equal machine code counts as a verdict on the candidate
     * itself. */
    const char *flags[] = {"-DX"};
    kf_store_attempt_new same_code = {.run = run,
                                      .outcome = KF_ATTEMPT_SAME_CODE,
                                      .content.source = "A",
                                      .content.source_size = 1,
                                      .content.flags = flags,
                                      .content.flag_count = 1};
    same_code.known_verdict = first.verdict;
    assert_ok(&error, kf_store_record(f->store, &same_code, &again, &error));
    assert_true(again.is_new);
    assert_int_not_equal(again.candidate, first.candidate);
    assert_int_equal(again.verdict, first.verdict);
    for (int in_run = 0; in_run < 2; in_run++) {
        assert_ok(&error, kf_store_get_candidate(f->store, again.candidate, in_run ? run : NULL,
                                                 &candidate, &error));
        assert_int_equal(candidate.verdict, first.verdict);
        assert_true(candidate.speedup.value == 2);
    }

    assert_ok(&error,
              kf_store_find_candidate_prefix(
                  f->store, NULL, (char[]){hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], 0},
                  &candidate, &error));
    assert_int_equal(candidate.id, first.candidate);
    assert_fails(&error, KF_ERROR_INPUT, "4 hexadecimal",
                 kf_store_find_candidate_prefix(f->store, NULL, "ab", &candidate, &error));
    assert_fails(
        &error, KF_ERROR_INPUT, "no candidate",
        kf_store_find_candidate_prefix(f->store, TASK, "ffffffffffff", &candidate, &error));
    assert_fails(&error, KF_ERROR_INPUT, "no candidate",
                 kf_store_get_candidate(f->store, 999, NULL, &candidate, &error));
    assert_ok(&error, kf_store_check(f->store, &error));
}

static void eval_needs_no_run(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_verdict verdict = make_verdict(KF_CORRECT, 3);
    kf_store_attempt_new attempt = {.task = TASK,
                                    .content.source = "E",
                                    .content.source_size = 1,
                                    .verdict = &verdict,
                                    .verdict_json = "{}",
                                    .verdict_size = 2};
    kf_store_recorded recorded;
    assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
    assert_int_equal(recorded.attempt, 0);
    kf_auto(kf_store_cursor) cursor =
        kf_store_best(f->store, &(kf_store_scope){.task = TASK, .island = -1}, 10, &error);
    kf_autoresult kf_store_candidate candidate = {0};
    assert_int_equal(kf_store_next_candidate(cursor, &candidate, &error), 1);
    assert_int_equal(candidate.id, recorded.candidate);
    assert_string_equal(candidate.device, "cpu:0");
    assert_int_equal(kf_store_next_candidate(cursor, &candidate, &error), 0);
}

static void wrong_calls_are_refused(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_verdict verdict = make_verdict(KF_CORRECT, 3);
    kf_store_attempt_new good = {.run = f->run,
                                 .content.source = "E",
                                 .content.source_size = 1,
                                 .verdict = &verdict,
                                 .verdict_json = "{}",
                                 .verdict_size = 2};
    kf_store_attempt_new bad = good;
    bad.run = NULL;
    assert_fails(&error, KF_ERROR_INTERNAL, "neither run nor task",
                 kf_store_record(f->store, &bad, NULL, &error));
    bad = good;
    bad.run = "0000000000";
    assert_fails(&error, KF_ERROR_INPUT, "no run", kf_store_record(f->store, &bad, NULL, &error));
    bad = good;
    bad.content.source = NULL;
    assert_fails(&error, KF_ERROR_INTERNAL, "no candidate",
                 kf_store_record(f->store, &bad, NULL, &error));
    bad = good;
    bad.parents = &(kf_store_parent){12345, "base"};
    bad.parent_count = 1;
    assert_fails(&error, KF_ERROR_INPUT, "refers to something that is not in the store",
                 kf_store_record(f->store, &bad, NULL, &error));
    bad = good;
    bad.model_call = 12345;
    assert_fails(&error, KF_ERROR_INPUT, "refers to something that is not in the store",
                 kf_store_record(f->store, &bad, NULL, &error));
    assert_fails(
        &error, KF_ERROR_INPUT, "refers to something that is not in the store",
        kf_store_put_note(f->store,
                          &(kf_store_note_new){.candidate = 12345, .kind = "paid", .text = "x"},
                          &error));
    bad = good;
    bad.known_verdict = 4;
    assert_fails(&error, KF_ERROR_INTERNAL, "at once",
                 kf_store_record(f->store, &bad, NULL, &error));
    bad.verdict = NULL;
    assert_fails(&error, KF_ERROR_INPUT, "no verdict 4",
                 kf_store_record(f->store, &bad, NULL, &error));
    bad = good;
    bad.verdict_size = (size_t)KF_STORE_BLOB_BYTES + 1;
    assert_fails(&error, KF_ERROR_LIMIT, "over the limit",
                 kf_store_record(f->store, &bad, NULL, &error));
    /* The failed calls left no rows. */
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_int_equal(run.attempts, 0);
    kf_autoresult kf_store_task task = {0};
    assert_ok(&error, kf_store_find_task(f->store, TASK, &task, &error));
    assert_int_equal(task.candidates, 0);
    assert_ok(&error, kf_store_check(f->store, &error));
}

static void attempts_replay_in_order(void **state)
{
    fixture *f = *state;
    kf_error error;
    for (int i = 1; i <= 5; i++) {
        bool judged = i % 2;
        if (judged)
            assert_ok(&error,
                      record_number(f->store, f->run, i, i == 3 ? KF_WRONG_RESULT : KF_CORRECT, i,
                                    NULL, &error));
        else
            assert_ok(&error,
                      kf_store_record(f->store,
                                      &(kf_store_attempt_new){.run = f->run,
                                                              .outcome = KF_ATTEMPT_BAD_EDIT,
                                                              .message = "no match",
                                                              .proposer = "openai:m"},
                                      NULL, &error));
    }
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(f->store, f->run, 2, &error);
    kf_autoresult kf_store_attempt attempt = {0};
    for (int i = 2; i <= 5; i++) {
        assert_int_equal(kf_store_next_attempt(cursor, &attempt, &error), 1);
        assert_int_equal(attempt.number, i);
        assert_int_equal(attempt.outcome, i % 2 ? KF_ATTEMPT_JUDGED : KF_ATTEMPT_BAD_EDIT);
        assert_string_equal(attempt.proposer, i % 2 ? "tuner" : "openai:m");
        assert_string_equal(attempt.message, i % 2 ? "" : "no match");
        assert_int_equal(attempt.candidate != 0, i % 2);
        if (i == 3) assert_int_equal(attempt.status, KF_WRONG_RESULT);
        if (i == 5) assert_true(attempt.status == KF_CORRECT && attempt.speedup.value == 5);
        assert_int_equal(strlen(attempt.hash), i % 2 ? 64 : 0);
    }
    assert_int_equal(kf_store_next_attempt(cursor, &attempt, &error), 0);
    assert_fails(&error, KF_ERROR_INPUT, "no run",
                 kf_store_attempts(f->store, "0000000000", 1, &error));
}

static int64_t record_child(fixture *f, const char *source, const kf_store_parent *parents,
                            size_t count)
{
    kf_error error;
    kf_verdict verdict = make_verdict(KF_CORRECT, 1.5);
    kf_store_recorded recorded;
    kf_store_attempt_new attempt = {.run = f->run,
                                    .content.source = source,
                                    .content.source_size = strlen(source),
                                    .parents = parents,
                                    .parent_count = count};
    attempt.verdict = &verdict;
    attempt.verdict_json = "{}";
    attempt.verdict_size = 2;
    assert_ok(&error, kf_store_record(f->store, &attempt, &recorded, &error));
    return recorded.candidate;
}

static void families_are_walked(void **state)
{
    fixture *f = *state;
    kf_error error;
    int64_t a = record_child(f, "a", NULL, 0), b = record_child(f, "b", NULL, 0);
    int64_t c = record_child(f, "c", (kf_store_parent[]){{a, "base"}, {b, "crossover"}}, 2);
    int64_t d = record_child(f, "d", (kf_store_parent[]){{c, "base"}}, 1);
    /* Proposes `a` again from its own descendant: no circle. */
    assert_int_equal(record_child(f, "a", (kf_store_parent[]){{d, "base"}}, 1), a);
    assert_int_equal(record_child(f, "c", (kf_store_parent[]){{c, "base"}, {d, "base"}}, 2), c);

    kf_autoresult kf_store_edge edge = {0};
    int64_t expected[][3] = {{d, c, 1}, {c, a, 2}, {c, b, 2}};
    for (int in_run = 0; in_run < 2; in_run++) {
        kf_auto(kf_store_cursor) up =
            kf_store_ancestors(f->store, d, in_run ? f->run : NULL, &error);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(kf_store_next_edge(up, &edge, &error), 1);
            assert_int_equal(edge.child, expected[i][0]);
            assert_int_equal(edge.parent, expected[i][1]);
            assert_int_equal(edge.depth, expected[i][2]);
            assert_string_equal(edge.run, f->run);
        }
        assert_string_equal(edge.role, "crossover");
        assert_int_equal(kf_store_next_edge(up, &edge, &error), 0);
        assert_int_equal(kf_store_next_edge(up, &edge, &error), 0);
    }
    kf_auto(kf_store_cursor) again = kf_store_parents(f->store, f->run, 5, &error);
    assert_int_equal(kf_store_next_edge(again, &edge, &error), 1);
    assert_true(edge.child == a && edge.parent == d && edge.attempt == 5);
    assert_int_equal(kf_store_next_edge(again, &edge, &error), 0);

    kf_auto(kf_store_cursor) all = kf_store_family(f->store, f->run, &error);
    int count = 0;
    while (kf_store_next_edge(all, &edge, &error) == 1) count++;
    assert_int_equal(count, 6);

    kf_autoresult kf_store_candidate candidate = {0};
    kf_auto(kf_store_cursor) last = kf_store_children(f->store, d, NULL, &error);
    assert_int_equal(kf_store_next_candidate(last, &candidate, &error), 0);
    for (int in_run = 0; in_run < 2; in_run++) {
        kf_auto(kf_store_cursor) children =
            kf_store_children(f->store, a, in_run ? f->run : NULL, &error);
        assert_int_equal(kf_store_next_candidate(children, &candidate, &error), 1);
        assert_int_equal(candidate.id, c);
        assert_int_equal(candidate.attempt, in_run ? 3 : 0);
        assert_int_equal(kf_store_next_candidate(children, &candidate, &error), 0);
    }
}

/* A text of `size` bytes: words, runs of numbers of any length, and, when `any`, bytes that no JSON
 * has. */
static void mixed_text(char *text, size_t size, uint64_t *random, bool any)
{
    static const char *const pieces[] = {"\"seconds\":[",
                                         "0.0059436480000840675,",
                                         "-1,",
                                         "----",
                                         "e+",
                                         "12",
                                         "345",
                                         "6789",
                                         ",,,,,",
                                         "1e-06",
                                         "],\"status\":\"correct\"",
                                         "\xc3\xa9",
                                         ".",
                                         "-",
                                         "7"};
    for (size_t at = 0; at < size;) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        unsigned choice = *random >> 33;
        if (any && choice % 8 == 0) {
            text[at++] = (char)(choice >> 8);
            continue;
        }
        for (const char *c = pieces[choice % (sizeof pieces / sizeof *pieces)]; *c && at < size;
             c++)
            text[at++] = *c;
    }
}

/* Any text comes back as it was. */
static void verdicts_come_back_byte_by_byte(void **state)
{
    fixture *f = *state;
    kf_error error;
    uint64_t random = 1;
    char text[3000];
    for (int i = 0; i < 400; i++) {
        size_t size = 250 + (size_t)i * 5;
        mixed_text(text, size, &random, i % 4 == 3);
        if (i % 10 == 0) memset(text, '5', size); /* one run, of even and of odd length */
        if (i % 50 == 1) text[0] = '\1';
        char source[32];
        int source_size = snprintf(source, sizeof source, "source %d", i);
        kf_verdict verdict = make_verdict(KF_CORRECT, 2);
        kf_store_recorded recorded;
        assert_ok(&error, kf_store_record(
                              f->store,
                              &(kf_store_attempt_new){.run = f->run,
                                                      .content.source = source,
                                                      .content.source_size = (size_t)source_size,
                                                      .verdict = &verdict,
                                                      .verdict_json = text,
                                                      .verdict_size = size},
                              &recorded, &error));
        size_t got;
        kf_autofree char *back = kf_store_verdict_json(f->store, recorded.verdict, &got, &error);
        if (!back) fail_msg("text %d: %s", i, error.text);
        assert_int_equal(got, size);
        assert_memory_equal(back, text, size);
    }
}

/* A chain far deeper than any queue's first size. */
static void long_lineages_end(void **state)
{
    fixture *f = *state;
    kf_error error;
    int64_t last = 0;
    assert_ok(&error, kf_store_begin(f->store, &error));
    for (int i = 0; i < 1000; i++) {
        char source[32];
        snprintf(source, sizeof source, "generation %d", i);
        last = record_child(f, source, (kf_store_parent[]){{last, "base"}}, i > 0);
    }
    assert_ok(&error, kf_store_commit(f->store, &error));
    kf_auto(kf_store_cursor) up = kf_store_ancestors(f->store, last, NULL, &error);
    kf_autoresult kf_store_edge edge = {0};
    int count = 0;
    while (kf_store_next_edge(up, &edge, &error) == 1) assert_int_equal(edge.depth, ++count);
    assert_int_equal(count, 999);
}

static void calls_under_way_are_kept_until_they_are_dropped(void **state)
{
    fixture *f = *state;
    kf_error error;
    const char *prompts[] = {"the first\nprompt", "", "the third"};
    for (int64_t tag = 1; tag <= 3; tag++)
        assert_ok(&error, kf_store_put_pending_call(f->store, f->run, tag, prompts[tag - 1],
                                                    strlen(prompts[tag - 1]), &error));
    assert_ok(&error, kf_store_drop_pending_call(f->store, f->run, 2, &error));
    assert_ok(&error, kf_store_vacuum(f->store, -1, NULL, &error));
    for (int64_t tag = 1; tag <= 4; tag++) {
        kf_autofree char *prompt = NULL;
        assert_ok(&error, kf_store_get_pending_call(f->store, f->run, tag, &prompt, &error));
        if (tag == 2 || tag == 4)
            assert_null(prompt);
        else
            assert_string_equal(prompt, prompts[tag - 1]);
    }
    assert_ok(&error, kf_store_check(f->store, &error));
    assert_ok(&error, kf_store_drop_pending_call(f->store, f->run, 0, &error));
    kf_autofree char *none = NULL;
    assert_ok(&error, kf_store_get_pending_call(f->store, f->run, 1, &none, &error));
    assert_null(none);
    assert_fails(&error, KF_ERROR_INPUT, "no run",
                 kf_store_put_pending_call(f->store, "zzzzzzzzzz", 1, "x", 1, &error));
}

static void model_calls_are_kept_exactly(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_store_model_call_new call = {.run = f->run,
                                    .provider = "openai",
                                    .model = "m-1",
                                    .purpose = "improve",
                                    .system = "be quick",
                                    .prompt = "make it faster",
                                    .prompt_size = 14,
                                    .reply = "a\0b",
                                    .reply_size = 3,
                                    .settings = "{\"temperature\":0.7}",
                                    .outcome = "ok",
                                    .prompt_tokens = 12,
                                    .completion_tokens = -1,
                                    .cost_usd = 0.25,
                                    .seconds = NAN};
    int64_t id = kf_store_put_model_call(f->store, &call, &error);
    assert_true(id > 0);
    kf_autoresult kf_store_model_call back = {0};
    assert_ok(&error, kf_store_get_model_call(f->store, id, &back, &error));
    assert_string_equal(back.run, f->run);
    assert_string_equal(back.model, "m-1");
    assert_string_equal(back.settings, "{\"temperature\":0.7}");
    assert_string_equal(back.message, "");
    assert_int_equal(back.prompt_tokens, 12);
    assert_int_equal(back.completion_tokens, -1);
    assert_true(back.cost_usd == 0.25 && isnan(back.seconds));
    size_t size;
    kf_autofree char *reply = kf_store_model_call_text(f->store, id, KF_CALL_REPLY, &size, &error);
    assert_int_equal(size, 3);
    assert_memory_equal(reply, "a\0b", 3);
    kf_autofree char *prompt = kf_store_model_call_text(f->store, id, KF_CALL_PROMPT, NULL, &error);
    assert_string_equal(prompt, "make it faster");
    call.run = NULL;
    call.system = call.reply = NULL;
    int64_t failed = kf_store_put_model_call(f->store, &call, &error);
    kf_autofree char *nothing =
        kf_store_model_call_text(f->store, failed, KF_CALL_REPLY, &size, &error);
    assert_int_equal(size, 0);
    assert_string_equal(nothing, "");
    assert_fails(&error, KF_ERROR_INPUT, "no model call",
                 kf_store_get_model_call(f->store, 99, &back, &error));

    assert_ok(&error, kf_store_record(f->store,
                                      &(kf_store_attempt_new){.run = f->run,
                                                              .outcome = KF_ATTEMPT_NO_SOURCE,
                                                              .proposer = "openai:m-1",
                                                              .model_call = id},
                                      NULL, &error));
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 1.5, NULL, &error));
    assert_ok(&error, record_number(f->store, f->run, 2, KF_CORRECT, 1.001, NULL, &error));
    assert_ok(&error, record_number(f->store, f->run, 3, KF_CRASH, 0, NULL, &error));
    assert_ok(&error, kf_store_record(f->store,
                                      &(kf_store_attempt_new){.run = f->run,
                                                              .outcome = KF_ATTEMPT_LOST,
                                                              .proposer = "seed",
                                                              .step = "baseline"},
                                      NULL, &error));
    kf_store_spent spent;
    assert_ok(&error, kf_store_run_spent(f->store, f->run, &spent, &error));
    assert_int_equal(spent.calls, 1);
    assert_int_equal(spent.prompt_tokens, 12);
    assert_true(spent.cost_usd == 0.25 && spent.seconds == 0);
    for (int all = 0; all < 2; all++) {
        kf_auto(kf_store_cursor) cursor = kf_store_proposers(f->store, all ? NULL : f->run, &error);
        kf_autoresult kf_store_proposer p = {0};
        assert_int_equal(kf_store_next_proposer(cursor, &p, &error), 1);
        assert_string_equal(p.proposer, "tuner");
        assert_int_equal(p.attempts, 3);
        assert_int_equal(p.judged, 3);
        assert_int_equal(p.correct, 2);
        assert_int_equal(p.faster, 1);
        assert_int_equal(p.calls, 0);
        assert_true(p.best_speedup.value == 1.5);
        assert_int_equal(kf_store_next_proposer(cursor, &p, &error), 1);
        assert_string_equal(p.proposer, "baseline");
        assert_int_equal(p.attempts, 1);
        assert_int_equal(kf_store_next_proposer(cursor, &p, &error), 1);
        assert_string_equal(p.proposer, "openai:m-1");
        assert_int_equal(p.calls, 1);
        assert_int_equal(p.prompt_tokens, 12);
        assert_true(p.cost_usd == 0.25 && isnan(p.best_speedup.value));
        assert_int_equal(kf_store_next_proposer(cursor, &p, &error), 0);
    }
}

static void knowledge_is_kept(void **state)
{
    fixture *f = *state;
    kf_error error;
    double value;
    bool found;
    assert_ok(&error, kf_store_put_ceiling(f->store, "NVIDIA H200", "copy_bytes_per_second", 4.2e12,
                                           &error));
    assert_ok(&error, kf_store_put_ceiling(f->store, "NVIDIA H200", "copy_bytes_per_second", 4.3e12,
                                           &error));
    assert_ok(&error, kf_store_get_ceiling(f->store, "NVIDIA H200", "copy_bytes_per_second", &value,
                                           &found, &error));
    assert_true(found && value == 4.3e12);
    assert_ok(&error, kf_store_get_ceiling(f->store, "cpu", "copy_bytes_per_second", &value, &found,
                                           &error));
    assert_false(found);
    assert_fails(&error, KF_ERROR_INPUT, "not a number",
                 kf_store_put_ceiling(f->store, "d", "n", NAN, &error));

    kf_store_recorded recorded;
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 1.5, &recorded, &error));
    kf_store_note_new note = {.task = TASK,
                              .run = f->run,
                              .device = "cpu test",
                              .kind = "paid",
                              .text = "vector loads",
                              .effect = 1.4};
    note.candidate = recorded.candidate;
    assert_ok(&error, kf_store_put_note(f->store, &note, &error));
    assert_ok(&error, kf_store_put_note(f->store,
                                        &(kf_store_note_new){
                                            .kind = "failed", .text = "everywhere", .effect = NAN},
                                        &error));
    assert_ok(&error, kf_store_put_task(f->store, TASK2, "gemm", "{}", 2, &error));
    assert_ok(&error, kf_store_put_note(
                          f->store,
                          &(kf_store_note_new){.task = TASK2, .kind = "paid", .text = "elsewhere"},
                          &error));
    kf_auto(kf_store_cursor) cursor = kf_store_notes(f->store, TASK, &error);
    kf_autoresult kf_store_note back = {0};
    assert_int_equal(kf_store_next_note(cursor, &back, &error), 1);
    assert_string_equal(back.text, "everywhere");
    assert_true(isnan(back.effect));
    assert_string_equal(back.task, "");
    assert_int_equal(kf_store_next_note(cursor, &back, &error), 1);
    assert_string_equal(back.text, "vector loads");
    assert_string_equal(back.run, f->run);
    assert_string_equal(back.device, "cpu test");
    assert_int_equal(back.candidate, recorded.candidate);
    assert_true(back.effect == 1.4);
    assert_int_equal(kf_store_next_note(cursor, &back, &error), 0);

    char *json;
    assert_ok(&error,
              kf_store_put_counters(f->store, recorded.candidate, "cpu test", "{\"a\":1}", &error));
    assert_ok(&error,
              kf_store_put_counters(f->store, recorded.candidate, "cpu test", "{\"a\":2}", &error));
    assert_ok(&error, kf_store_get_counters(f->store, recorded.candidate, "cpu test", &json, &found,
                                            &error));
    assert_string_equal(json, "{\"a\":2}");
    free(json);
    assert_ok(&error,
              kf_store_get_counters(f->store, recorded.candidate, "gpu", &json, &found, &error));
    assert_false(found);
    assert_fails(&error, KF_ERROR_INPUT, "no candidate 77",
                 kf_store_put_counters(f->store, 77, "cpu test", "{}", &error));
}

static void groups_commit_or_vanish(void **state)
{
    fixture *f = *state;
    kf_error error;
    kf_autoresult kf_store_run run = {0};
    assert_ok(&error, kf_store_begin(f->store, &error));
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, NULL, &error));
    kf_store_rollback(f->store);
    assert_false(kf_store_in_group(f->store));
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_int_equal(run.attempts, 0);
    assert_ok(&error, kf_store_begin(f->store, &error));
    assert_fails(&error, KF_ERROR_INTERNAL, "open already", kf_store_begin(f->store, &error));
    assert_ok(&error, record_number(f->store, f->run, 1, KF_CORRECT, 2, NULL, &error));
    assert_ok(&error, record_number(f->store, f->run, 2, KF_CORRECT, 3, NULL, &error));
    assert_ok(&error, kf_store_commit(f->store, &error));
    assert_fails(&error, KF_ERROR_INTERNAL, "no group", kf_store_commit(f->store, &error));
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_int_equal(run.attempts, 2);
    /* A failed write undoes the group, and says so. */
    assert_ok(&error, kf_store_begin(f->store, &error));
    assert_ok(&error, record_number(f->store, f->run, 3, KF_CORRECT, 3, NULL, &error));
    assert_fails(&error, KF_ERROR_INPUT, "group of writes was undone",
                 record_number(f->store, "0000000000", 3, KF_CORRECT, 3, NULL, &error));
    assert_false(kf_store_in_group(f->store));
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_int_equal(run.attempts, 2);
    assert_ok(&error, kf_store_check(f->store, &error));
    /* So does closing. */
    assert_ok(&error, kf_store_begin(f->store, &error));
    assert_ok(&error, record_number(f->store, f->run, 3, KF_CORRECT, 3, NULL, &error));
    kf_store_close(f->store);
    assert_ok(&error, f->store = kf_store_open(f->path, KF_STORE_WRITE, &error));
    assert_ok(&error, kf_store_find_run(f->store, f->run, &run, &error));
    assert_int_equal(run.attempts, 2);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_path_follows_environment),
        cmocka_unit_test_setup_teardown(tasks_are_stored_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_live_and_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_owner_gives_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(state_travels_with_attempts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_verdict_comes_back_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupt_ends_what_takes_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(identical_work_is_recognised, set_up, tear_down),
        cmocka_unit_test_setup_teardown(eval_needs_no_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_calls_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(attempts_replay_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(families_are_walked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verdicts_come_back_byte_by_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_lineages_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_under_way_are_kept_until_they_are_dropped, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(model_calls_are_kept_exactly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(knowledge_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_commit_or_vanish, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
