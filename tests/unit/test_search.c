/* The search with tests/cli/fake_worker.c as its judge: what it tries, what it stores, and how
 * it resumes. The speed of a candidate is in its source ("#pragma fake: …"), so each
 * expectation is next to its cause. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "test_search_common.h"

/* ---- the tuner ------------------------------------------------------------------------------- */

static void finds_the_optimum(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){TUNED("2", "256"), NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    assert_int_equal(f->result.end, KF_SEARCH_CONVERGED);
    assert_near(best_of(f), 2);
    assert_true(f->result.progress.best_reverified);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(strncmp(text, "baseline judged correct 1.00\nseed judged correct 1.02\n", 54),
                     0);
    /* The defaults are one of the five points. */
    assert_int_equal(count(text, "tune judged"), 4);
    kf_autoresult kf_store_run run = {0};
    assert_true(kf_store_find_run(f->store, f->result.progress.run, &run, &f->error));
    assert_int_equal(run.status, KF_RUN_FINISHED);
    assert_int_equal(f->result.progress.judged, 6);
}

/* Points go to the promising source first. A hopelessly slow one is measured at its defaults
 * only. */
/* The device's compiler flags are tried at the best point of every source. Flags that the
 * source declares are not added. */
static void tries_the_flags_of_the_device(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){
                     TUNED("2", "256") "#pragma fake: flag --use_fast_math 1.25\n", NULL});
    search(f, &(kf_search_settings){.seed = 1});
    assert_near(best_of(f), 2.5);
    kf_autoresult kf_store_candidate best = {0};
    assert_true(kf_store_get_candidate(f->store, f->result.progress.best, f->result.progress.run,
                                       &best, &f->error));
    assert_string_equal(best.flags, "[\"-DBLOCK=256\",\"--use_fast_math\"]");
    /* Prompts show the source with the best values of its tunables, without flags. */
    kf_autofree char *source =
        kf_search_source(f->store, f->result.progress.run, f->result.progress.best, &f->error);
    assert_non_null(strstr(source, "#define BLOCK 256\n"));
    fresh_store(f);
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    assert_near(best_of(f), 2);
}

static void passes_hopeless_seeds_over(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){TUNED("0.01", "64"), TUNED("2", "128"), TUNED("1.9", "128"),
                                       NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 3});
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, "tune judged"), 8);
    assert_int_equal(count(text, "judged correct 0.01"), 1);
    assert_near(best_of(f), 2);
}

static void distrusts_luck(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 3\n#pragma fake: verified 1.1\n",
                                       "#pragma fake: speed 1.5\n", "#pragma fake: speed 1.2\n",
                                       NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    assert_near(best_of(f), 1.5);
    assert_true(f->result.progress.best_reverified);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, "verify reverified"), 2);
}

/* A verified candidate that may be faster is reported in preference to a verified one that is
 * slower than the baseline. */
static void prefers_the_doubtful_to_the_slower(void **state)
{
    fixture *f = *state;
    make_task(f,
              (const char *const[]){"#pragma fake: speed 3\n#pragma fake: verified 1.005\n",
                                    "#pragma fake: speed 2\n#pragma fake: verified 0.9\n", NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    assert_near(best_of(f), 1.005);
    assert_true(f->result.progress.best_reverified);
}

/* A candidate that is wrong when it is measured again is wrong. Too slow once may be the
 * machine's fault, too slow twice is the candidate's. */
static void verification_may_convict(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 3\n#pragma fake: again wrong_result\n",
                                       "#pragma fake: speed 2\n#pragma fake: again timeout\n",
                                       "#pragma fake: speed 1.5\n", NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, "verify reverified wrong_result\n"), 1);
    assert_int_equal(count(text, "verify lost\n"), 1);
    assert_int_equal(count(text, "verify reverified timeout\n"), 1);
    assert_near(best_of(f), 1.5);
    assert_true(f->result.progress.best_reverified);
}

static void says_what_could_not_be_verified(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 3\n#pragma fake: disagree\n", NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    assert_near(best_of(f), 3);
    assert_false(f->result.progress.best_reverified);
}

static void same_code_is_judged_once(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 1.5\n#pragma fake: code A\n",
                                       "#pragma fake: speed 1.7\n#pragma fake: code A\n", NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_non_null(strstr(text, "seed same_code correct 1.50"));
    assert_near(best_of(f), 1.5);
}

static void known_candidates_cost_nothing(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){TUNED("2", "256"), NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    assert_int_equal(f->result.progress.judged, 0);
    kf_autofree char *second = history(f, f->result.progress.run, true);
    assert_int_equal(count(second, " known "), 6);
    assert_near(best_of(f), 2);
    /* Another environment has other times. */
    kf_autofree char *environment_id = kf_search_environment_id("cpu test", "cublas");
    assert_string_equal(environment_id, "cpu test, against baseline cublas");
}

/* The same processor with another runtime, compiler or rules counts as another device: known
 * candidates are measured again. */
static void another_runtime_is_measured_again(void **state)
{
    static const char *const judges[] = {"cpu test; judge 1, runtime aaaaaaaaaaaa",
                                         "cpu test; judge 1, runtime bbbbbbbbbbbb",
                                         "cpu test; judge 2, runtime bbbbbbbbbbbb",
                                         "cpu test; judge 2, runtime bbbbbbbbbbbb, g++ 98.1.0"};
    fixture *f = *state;
    make_task(f, (const char *const[]){TUNED("2", "256"), NULL});
    for (int i = 0; i < 4; i++) {
        setenv("FAKE_CONDITIONS", judges[i], 1);
        search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
        assert_int_equal(f->result.progress.judged, 6);
        /* the hardware in prompts */
        assert_string_equal(f->result.progress.hardware, "cpu test");
        kf_autoresult kf_store_run run = {0};
        assert_true(kf_store_find_run(f->store, f->result.progress.run, &run, &f->error));
        assert_string_equal(run.device, judges[i]);
        search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
        assert_int_equal(f->result.progress.judged, 0);
    }
    unsetenv("FAKE_CONDITIONS");
    /* All verdicts stay, each under its own environment. */
    kf_autoresult kf_store_candidate best = {0};
    assert_true(kf_store_get_candidate(f->store, f->result.progress.best, NULL, &best, &f->error));
    int64_t verdicts[4];
    for (int i = 0; i < 4; i++) {
        kf_autoresult kf_store_candidate there = {0};
        bool found;
        assert_true(kf_store_find_candidate(f->store, best.task, best.hash, judges[i], &there,
                                            &found, &f->error) &&
                    found);
        assert_string_equal(there.device, judges[i]);
        verdicts[i] = there.verdict;
    }
    assert_true(verdicts[0] < verdicts[1] && verdicts[1] < verdicts[2] &&
                verdicts[2] < verdicts[3]);
}

static void budgets_end_a_run(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){TUNED("2", "256"), TUNED("2.1", "64"), NULL});
    search(f,
           &(kf_search_settings){.declared_flags = true, .seed = 1, .budget = {.candidates = 5}});
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_int_equal(f->result.progress.judged, 5);
    setenv("FAKE_SLEEP", "0.1", 1);
    double started = kf_now();
    make_task(f, (const char *const[]){TUNED("2.5", "256"), TUNED("2.2", "64"), NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1, .budget = {.seconds = 0.6}});
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    /* A share of it is kept for measuring again. */
    assert_true(kf_now() - started >= 0.36);
    /* of 11 jobs that take 0.1 s each */
    assert_true(f->result.progress.judged < 10);
}

static void nothing_correct(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: status crash\n",
                                       "#pragma fake: status wrong_result\n", NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    assert_int_equal(f->result.end, KF_SEARCH_CONVERGED);
    /* The baseline does not count as the best. */
    assert_int_equal(f->result.progress.best, 0);
}

/* A source with defaults that do not build is tuned if no other source works, since another
 * point may build. */
static void the_machine_gets_another_chance(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: status interference\n",
                                       "#pragma fake: worker die\n", "#pragma fake: speed 1.3\n",
                                       NULL});
    search(f, &(kf_search_settings){.declared_flags = true, .seed = 1});
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, "seed judged interference"), 2);
    assert_int_equal(count(text, "seed lost"), 1);
    assert_near(best_of(f), 1.3);
}

static void broken_tunables_are_told(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"// kforge: tune BLOCK\n", NULL});
    run_session(f, FAKE_WORKER, &(kf_search_settings){.declared_flags = true, .seed = 1}, NULL);
    assert_false(f->ran);
    assert_int_equal(f->error.code, KF_ERROR_INPUT);
    assert_non_null(strstr(f->error.text, "seed0.cu"));
}

static void no_worker(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    run_session(f, "exit 3", &(kf_search_settings){.declared_flags = true, .seed = 1}, NULL);
    assert_false(f->ran);
    assert_non_null(strstr(f->error.text, "status 3"));
}

/* ---- models ---------------------------------------------------------------------------------- */

static void drafts_repairs_improves(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec =
        cassette(f, REPLY("status compile_error") REPLY("status wrong_result") REPLY("speed 1.4")
                        REPLY("speed 1.6\\n// kforge: tune BLOCK 32 64\\n#ifndef BLOCK\\n#define "
                              "BLOCK 32\\n#endif\\n#pragma fake: "
                              "optimum BLOCK 64"));
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("auto");
    settings.strategy.propose.rethink = settings.strategy.propose.contrast =
        settings.strategy.propose.crossover = settings.strategy.propose.tune_above = 0;
    search(f, &settings);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_string_equal(text, "baseline judged correct 1.00\n"
                              "draft judged compile_error\n"
                              "repair_build judged wrong_result\n"
                              "repair_wrong judged correct 1.40\n"
                              "verify reverified correct 1.40\n"
                              "improve judged correct 1.28\n"
                              "tune judged correct 1.60\n"
                              "verify reverified correct 1.60\n");
    kf_store_spent spent;
    assert_true(kf_store_run_spent(f->store, f->result.progress.run, &spent, &f->error));
    assert_int_equal(spent.calls, 4);
    assert_int_equal(f->result.end, KF_SEARCH_CONVERGED);
}

static void useless_replies(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 1.5\nvoid toy() {}\n", NULL});
    kf_autofree char *spec = cassette(
        f, "{\"reply\": \"I would rather not.\"}\n"
           "{\"reply\": \"<<<<<<< SEARCH\\nnowhere to be found\\n=======\\nx\\n>>>>>>> REPLACE\"}\n"
           "{\"reply\": \"<<<<<<< SEARCH\\nnowhere to be found\\n=======\\nx\\n>>>>>>> REPLACE\"}\n"
           "{\"reply\": \"\", \"outcome\": \"refused\"}\n" REPLY("speed 1.2"));
    search(f, &(kf_search_settings){.declared_flags = true,
                                    .seed = 1,
                                    .models = (const char *const[]){spec},
                                    .model_count = 1});
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, " no_source\n") + count(text, " bad_edit\n"), 3);
    assert_true(count(text, " bad_edit\n") >= 1);
    assert_int_equal(count(text, " model_failed\n"), 1);
    assert_non_null(strstr(text, "judged correct 1.20"));
}

/* The next prompt says why a reply was useless. */
static void models_are_told_what_was_of_no_use(void **state)
{
    fixture *f = *state;
    static const char *const told[] = {
        "0 fenced blocks, without CUDA code; answer with one ```cuda block that defines toy",
        "edit 1 does not apply: its first line `nowhere to be found` is not in the source",
        "it was cut off at the token limit; answer with less: no remarks, and search/replace edits "
        "where they are allowed"};
    make_task(f, (const char *const[]){"#pragma fake: speed 1.5\nvoid toy() {}\n", NULL});
    kf_autofree char *spec =
        cassette(f, REPLY("speed 1.6") "{\"reply\": \"I would rather not.\"}\n"
                                       "{\"reply\": \"<<<<<<< SEARCH\\nnowhere to be "
                                       "found\\n=======\\nx\\n>>>>>>> REPLACE\"}\n"
                                       "{\"reply\": \"First of all I would like to\", \"outcome\": "
                                       "\"truncated\"}\n" REPLY("speed 1.2"));
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("auto");
    settings.strategy.propose.rethink = settings.strategy.propose.contrast =
        settings.strategy.propose.crossover = 0;
    search(f, &settings);
    for (int64_t call = 3; call <= 5; call++) {
        size_t size;
        kf_autofree char *prompt =
            kf_store_model_call_text(f->store, call, KF_CALL_PROMPT, &size, &f->error);
        if (!strstr(prompt, "Your last reply could not be used: ") ||
            !strstr(prompt, told[call - 3]))
            fail_msg("call %d: %s", (int)call, prompt);
    }
}

/* Fails after its first reply, or from its first call on. */
static void failing_model_stops_the_run(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 1.5\n", NULL});
    for (int replies = 0; replies < 2; replies++) {
        kf_autofree char *model = NULL;
        assert_true(asprintf(&model,
                             "exec:cd %s; test -e asked || test %d = 0 && { echo no key >&2; "
                             "exit 7; }; touch asked; echo '```cuda'; echo '#pragma fake: speed "
                             "1.1'; echo 'void toy() {}'; echo '```'",
                             f->folder, replies) > 0);
        search(f, &(kf_search_settings){.declared_flags = true,
                                        .seed = 1,
                                        .models = (const char *const[]){model},
                                        .model_count = 1});
        assert_int_equal(f->result.end, KF_SEARCH_STOPPED);
        assert_int_equal(f->result.progress.calls, replies ? 9 : 3);
        if (!strstr(f->result.why.text,
                    replies ? "8 calls in a row without a candidate" : "3 calls in a row failed") ||
            !strstr(f->result.why.text, "no key"))
            fail_msg("%s", f->result.why.text);
        assert_near(best_of(f), 1.5);
        /* Without any reply the run ends at once. */
        if (replies) assert_true(f->result.progress.best_reverified);
        kf_autoresult kf_store_run run = {0};
        assert_true(kf_store_find_run(f->store, f->result.progress.run, &run, &f->error));
        assert_int_equal(run.status, KF_RUN_FAILED);
    }
}

static void tokens_and_money_end_a_run(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    const char *const model[] = {"exec:printf '{\"text\":\"```cuda\\\\n#pragma fake: speed "
                                 "1.%s\\\\nvoid toy() {}\\\\n```\",\"cost_usd\":0.4,\"usage\":"
                                 "{\"prompt_tokens\":100,\"completion_tokens\":50}}' $(date +%N)"};
    search(f, &(kf_search_settings){.declared_flags = true,
                                    .seed = 1,
                                    .models = model,
                                    .model_count = 1,
                                    .budget = {.cost_usd = 1}});
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_int_equal(f->result.progress.calls, 3);
    assert_near(f->result.progress.cost_usd, 1.2);
    search(f, &(kf_search_settings){.declared_flags = true,
                                    .seed = 1,
                                    .models = model,
                                    .model_count = 1,
                                    .budget = {.tokens = 250}});
    assert_int_equal(f->result.progress.calls, 2);
    assert_int_equal(f->result.progress.tokens, 300);
}

/* A prompt has no cause that rounding cannot have. */
static void an_inexact_output_gets_the_cause_of_its_verdict(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec = cassette(f, REPLY("inexact tail from 60") REPLY(
                                             "inexact one factor for each row") REPLY("speed 1.4"));
    search(f, &(kf_search_settings){.declared_flags = true,
                                    .seed = 1,
                                    .models = (const char *const[]){spec},
                                    .model_count = 1});
    size_t size;
    kf_autofree char *tail = kf_store_model_call_text(f->store, 2, KF_CALL_PROMPT, &size, NULL),
                     *row = kf_store_model_call_text(f->store, 3, KF_CALL_PROMPT, &size, NULL);
    if (!strstr(tail, "pattern: tail from 60") || strstr(tail, "perhaps: ")) fail_msg("%s", tail);
    if (!strstr(row, "perhaps: Check divisors, constants such as")) fail_msg("%s", row);
}

/* A prompt shows the findings of a failure, but nothing of a hidden workload. */
static void hidden_workloads_stay_hidden(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *json = kf_path_join(f->task_folder, "task.json"),
                     *old = kf_file_read(json, 1 << 20, NULL, NULL);
    char *at = strstr(old, "{\"name\": \"main\"}");
    kf_autobuffer text = {0};
    kf_buffer_format(&text,
                     "%.*s{\"name\": \"main\", \"hidden\": true, \"params\": {\"n\": 7919}}, "
                     "{\"name\": \"shown\"}%s",
                     (int)(at - old), old, at + strlen("{\"name\": \"main\"}"));
    write_text(f->task_folder, "task.json", text.data);
    kf_task_free(f->task);
    f->task = kf_task_load(f->task_folder, &f->error);
    if (!f->task) fail_msg("%s", f->error.text);
    kf_autofree char *spec = cassette(f, REPLY("status wrong_result") REPLY("speed 1.4"));
    search(f, &(kf_search_settings){.declared_flags = true,
                                    .seed = 1,
                                    .models = (const char *const[]){spec},
                                    .model_count = 1});
    for (int64_t call = 1; call <= 2; call++) {
        size_t size;
        kf_autofree char *prompt =
            kf_store_model_call_text(f->store, call, KF_CALL_PROMPT, &size, &f->error);
        assert_non_null(strstr(prompt, "| shown | n = 64 |"));
        assert_null(strstr(prompt, "7919"));
        assert_null(strstr(prompt, "| main |"));
        assert_null(strstr(prompt, "main:"));
        assert_null(strstr(prompt, "wrong_result\n-"));
        if (call == 2)
            assert_non_null(strstr(prompt, "only in a workload whose shape is not shown"));
    }
}

/* ---- going on -------------------------------------------------------------------------------- */

#define REPLIES                                                                          \
    REPLY("status compile_error")                                                        \
    REPLY("status crash")                                                                \
    REPLY("speed 1.4")                                                                   \
    REPLY("speed 1.5\\n// kforge: tune BLOCK 32 64 128\\n#ifndef BLOCK\\n#define BLOCK " \
          "32\\n#endif\\n#pragma fake: "                                                 \
          "optimum BLOCK 64")                                                            \
    "{\"reply\": \"no code at all\"}\n" REPLY("speed 1.1") REPLY("status wrong_result")  \
        REPLY("speed 1.9") REPLY("speed 0.7")

static void resume_until_done(fixture *f, const kf_search_settings *settings)
{
    char run[KF_RUN_ID];
    for (int sessions = 0; f->result.end == KF_SEARCH_INTERRUPTED; sessions++) {
        assert_true(sessions < 200);
        f->interrupts = 0;
        if (f->interrupt_at) f->interrupt_at = f->result.progress.attempts + 1;
        snprintf(run, sizeof run, "%s", f->result.progress.run);
        run_session(f, FAKE_WORKER, settings, run);
        if (!f->ran) fail_msg("%s", f->error.text);
    }
}

/* A run that is interrupted after each attempt makes the same attempts in the same order. */
static void goes_on_as_if_nothing_had_happened(void **state)
{
    fixture *f = *state;
    for (int models = 0; models < 3; models++) {
        make_task(f, (const char *const[]){TUNED("2", "256"), TUNED("1.8", "64"),
                                           "#pragma fake: status interference\n", NULL});
        kf_autofree char *spec = cassette(f, REPLIES);
        kf_autofree char *second = NULL;
        write_text(f->folder, "second.jsonl",
                   CASSETTE_HEAD REPLY("speed 1.3") REPLY("speed 1.7") REPLY("status wrong_result")
                       REPLY("speed 1.75"));
        assert_true(asprintf(&second, "replay,weight=0.5:%s/second.jsonl", f->folder) > 0);
        kf_search_settings settings = {.seed = 5,
                                       .models = (const char *const[]){spec, second},
                                       .model_count = (size_t)models};
        fresh_store(f);
        f->interrupt_at = 0;
        f->interrupts = 0;
        search(f, &settings);
        kf_autofree char *whole = history(f, f->result.progress.run, true);
        fresh_store(f);
        f->interrupt_at = 1;
        search(f, &settings);
        assert_int_equal(f->result.end, KF_SEARCH_INTERRUPTED);
        resume_until_done(f, &settings);
        kf_autofree char *pieces = history(f, f->result.progress.run, true);
        assert_string_equal(whole, pieces);
        assert_true(count(whole, "\n") > 10);
    }
}

/* Returns all prompts of a run. They hold parents, exemplars, negative examples, notes and
 * diagnoses. */
static char *prompts(fixture *f)
{
    kf_autobuffer text = {0};
    kf_store_spent spent;
    assert_true(kf_store_run_spent(f->store, f->result.progress.run, &spent, &f->error));
    for (int64_t call = 1; call <= spent.calls; call++) {
        size_t size;
        kf_autofree char *prompt =
            kf_store_model_call_text(f->store, call, KF_CALL_PROMPT, &size, &f->error);
        if (!prompt) fail_msg("%s", f->error.text);
        kf_buffer_format(&text, "==== %lld\n%s\n", (long long)call, prompt ? prompt : "");
    }
    return kf_buffer_take(&text);
}

#define DIAGNOSIS "{\"reply\": \"{\\\"bottleneck\\\": \\\"this and that\\\"}\"}\n"

/* Every strategy resumes in this way, with the same prompts. */
static void every_strategy_goes_on(void **state)
{
    fixture *f = *state;
    for (const char *const *name = kf_strategy_names(); *name; name++) {
        make_task(f, (const char *const[]){TUNED("2", "256"), "#pragma fake: speed 1.2\n", NULL});
        /* Its calls come in pairs. */
        bool critic = strcmp(*name, "critic") == 0;
        kf_autofree char *spec = cassette(
            f, critic ? REPLY("speed 1.3") DIAGNOSIS REPLY("speed 2.1\\nMove: some")
                            DIAGNOSIS REPLY("status crash\\n//3") DIAGNOSIS REPLY("speed 2.5")
                                REPLY("no diagnosis") DIAGNOSIS REPLY("speed 0.9\\n//4")
                                    DIAGNOSIS REPLY("status compile_error\\n//4") DIAGNOSIS
                      : REPLIES REPLY("speed 2.1\\nMove: some") REPLY("speed 1.3\\n//2")
                            REPLY("status crash\\n//3") REPLY("speed 2.5") REPLY("speed 2.4")
                                REPLY("speed 0.9\\n//4"));
        kf_search_settings settings = {.seed = 7,
                                       .models = (const char *const[]){spec},
                                       .model_count = 1,
                                       .declared_flags = true};
        settings.strategy = *kf_strategy_named(*name);
        fresh_store(f);
        f->interrupt_at = 0;
        f->interrupts = 0;
        search(f, &settings);
        kf_autofree char *whole = history(f, f->result.progress.run, true), *asked = prompts(f);
        fresh_store(f);
        f->interrupt_at = 1;
        search(f, &settings);
        resume_until_done(f, &settings);
        kf_autofree char *pieces = history(f, f->result.progress.run, true),
                         *asked_again = prompts(f);
        if (strcmp(whole, pieces) != 0) fail_msg("%s: %s\n--- in pieces: %s", *name, whole, pieces);
        if (strcmp(asked, asked_again) != 0) fail_msg("%s: other prompts", *name);
        bool tuner_alone = strcmp(*name, "tune") == 0;
        assert_true(tuner_alone == (count(asked, "====") == 0));
    }
}

/* A process that is killed at any time leaves a valid store. The resumed run ends with the same
 * attempts. */
static void survives_kill(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){TUNED("2", "256"), TUNED("1.8", "64"), NULL});
    kf_autofree char *spec = cassette(f, REPLIES);
    kf_search_settings settings = {
        .seed = 5, .models = (const char *const[]){spec}, .model_count = 1};
    search(f, &settings);
    kf_autofree char *whole = history(f, f->result.progress.run, true);
    fresh_store(f);
    kf_store_close(kf_steal(&f->store));
    unsigned random = 12345;
    char id[KF_RUN_ID] = "";
    int kills = 0, status = -1;
    for (int session = 0; session < 400 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
         session++) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            f->store = kf_store_open(f->path, KF_STORE_CREATE, &f->error);
            run_session(f, FAKE_WORKER, &settings, *id ? id : NULL);
            _exit(f->ran && f->result.end == KF_SEARCH_CONVERGED ? 0 : 1);
        }
        random = random * 1103515245u + 12345u;
        /* Wait longer each time, so that a busy machine progresses too. */
        usleep(2000 + (random >> 8) % (8000 + 3000 * (unsigned)session));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        kills += WIFSIGNALED(status);
        kf_auto(kf_store) store = kf_store_open(f->path, KF_STORE_WRITE, &f->error);
        /* It was killed before the store existed. */
        if (!store) continue;
        if (!kf_store_check(store, &f->error)) fail_msg("%s", f->error.text);
        kf_autoresult kf_store_run run = {0};
        bool found;
        assert_true(kf_store_latest_run(store, NULL, false, &run, &found, &f->error));
        if (found) snprintf(id, sizeof id, "%s", run.id);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(kills > 3);
    f->store = kf_store_open(f->path, KF_STORE_WRITE, &f->error);
    kf_autofree char *pieces = history(f, id, true);
    assert_string_equal(whole, pieces);
}

static void interrupt_at_once(void *context, kf_search_event event,
                              const kf_search_progress *progress, const char *text)
{
    (void)text;
    fixture *f = context;
    static double since;
    if (event == KF_SEARCH_STARTED) since = kf_now();
    if (event == KF_SEARCH_TICK && progress->attempts && progress->in_flight &&
        kf_now() - since > 0.2)
        f->interrupts = 2;
}

/* The second Ctrl-C does not wait for a verdict, which may never come. */
static void interrupted_twice(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: sleep 60\n", NULL});
    const char *workers = FAKE_WORKER;
    kf_workers *pool = kf_workers_open(&workers, 1, NULL, &f->error);
    kf_search_observer observer = {.notify = interrupt_at_once, .context = f};
    double started = kf_now();
    assert_true(kf_search_run(f->store, f->task, NULL,
                              &(kf_search_settings){.declared_flags = true, .seed = 1}, pool,
                              &f->interrupts, &observer, &f->result, &f->error));
    kf_workers_close(pool);
    assert_true(kf_now() - started < 40);
    assert_int_equal(f->result.end, KF_SEARCH_INTERRUPTED);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_string_equal(text, "baseline judged correct 1.00\n");
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void several_workers(void **state)
{
    fixture *f = *state;
    make_task(
        f, (const char *const[]){TUNED("2", "256"), TUNED("1.8", "64"), TUNED("1.7", "64"), NULL});
    setenv("FAKE_SLEEP", "0.02", 1);
    run_session(f, FAKE_WORKER "*4", &(kf_search_settings){.declared_flags = true, .seed = 1},
                NULL);
    assert_true(f->ran);
    assert_true(kf_store_check(f->store, &f->error));
    assert_near(best_of(f), 2);
    kf_autofree char *text = history(f, f->result.progress.run, true);
    assert_int_equal(count(text, "tune judged"), 12);
}

static void options_survive(void **state)
{
    (void)state;
    const char *models[KF_SEARCH_MODELS] = {"none", "exec:a \"b\""}, *read_models[KF_SEARCH_MODELS];
    kf_search_settings settings = {.seed = UINT64_MAX - 1,
                                   .models = models,
                                   .model_count = 2,
                                   .prompts = "p",
                                   .baseline = "cublas",
                                   .calls = 3,
                                   .budget = {.seconds = 1.5,
                                              .candidates = 7,
                                              .cost_usd = 0.25,
                                              .tokens = 900},
                                   .timing_seconds = 0.7,
                                   .strict_sandbox = true},
                       again;
    kf_autofree char *text = kf_search_options_json(&settings);
    cJSON *memory = NULL;
    kf_error error = {0};
    if (!kf_search_options_read(text, &again, read_models, &memory, &error))
        fail_msg("%s", error.text);
    assert_true(again.seed == settings.seed && again.calls == 3 && again.strict_sandbox);
    assert_int_equal(again.model_count, 2);
    assert_string_equal(again.models[1], models[1]);
    assert_string_equal(again.baseline, "cublas");
    assert_memory_equal(&again.budget, &settings.budget, sizeof again.budget);
    cJSON_Delete(memory);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_the_optimum),
        TEST(tries_the_flags_of_the_device),
        TEST(passes_hopeless_seeds_over),
        TEST(distrusts_luck),
        TEST(prefers_the_doubtful_to_the_slower),
        TEST(verification_may_convict),
        TEST(says_what_could_not_be_verified),
        TEST(same_code_is_judged_once),
        TEST(known_candidates_cost_nothing),
        TEST(another_runtime_is_measured_again),
        TEST(budgets_end_a_run),
        TEST(nothing_correct),
        TEST(the_machine_gets_another_chance),
        TEST(broken_tunables_are_told),
        TEST(no_worker),
        TEST(drafts_repairs_improves),
        TEST(useless_replies),
        TEST(models_are_told_what_was_of_no_use),
        TEST(an_inexact_output_gets_the_cause_of_its_verdict),
        TEST(hidden_workloads_stay_hidden),
        TEST(failing_model_stops_the_run),
        TEST(tokens_and_money_end_a_run),
        TEST(goes_on_as_if_nothing_had_happened),
        TEST(every_strategy_goes_on),
        TEST(survives_kill),
        TEST(interrupted_twice),
        TEST(several_workers),
        TEST(options_survive),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
