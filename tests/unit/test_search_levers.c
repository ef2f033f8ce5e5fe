/* The search: candidates that are known before they are built, stopping by itself, summaries of
 * notes, prompts of critics. */
#include "search_internal.h"
#include "test_main.h"
#include "test_search_common.h"

#define CODE(FAKE, BODY) "{\"reply\": \"```cuda\\n#pragma fake: " FAKE "\\n" BODY "\\n```\"}\n"

static const kf_store_attempt *attempt_at(fixture *f, int64_t number, kf_store_attempt *attempt)
{
    kf_auto(kf_store_cursor) cursor =
        kf_store_attempts(f->store, f->result.progress.run, number, &f->error);
    assert_int_equal(kf_store_next_attempt(cursor, attempt, &f->error), 1);
    assert_int_equal(attempt->number, number);
    return attempt;
}

static char *prompt_of(fixture *f, int64_t call)
{
    size_t size;
    char *prompt = kf_store_model_call_text(f->store, call, KF_CALL_PROMPT, &size, &f->error);
    assert_non_null(prompt);
    return prompt;
}

/* ---- novelty --------------------------------------------------------------------------------- */

/* the first candidate, the same in other words, and a new one */
#define FIRST CODE("code A\\n#pragma fake: speed 1.4", "void toy() { int a = 1; work(a); }")
#define IN_OTHER_WORDS "// Faster!\\nvoid toy()\\n{\\n    int better = 1;\\n    work(better);\\n}"
#define REWORDED CODE("code A\\n#pragma fake: speed 1.4", IN_OTHER_WORDS)
/* Two with one canonical source and other binaries: the fake worker hashes their texts. */
#define UNEQUAL CODE("speed 1.4", "void toy() { int a = 1; work(a); }")
#define UNEQUAL_REWORDED CODE("speed 1.4", IN_OTHER_WORDS)
#define ANOTHER CODE("speed 1.5", "void toy() { int a = 2; work(a); }")

static void equal_binaries_share_a_verdict(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec = cassette(f, FIRST REWORDED ANOTHER);
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("sample");
    search(f, &settings);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_string_equal(text, "baseline judged correct 1.00\n"
                              "draft judged correct 1.40\n"
                              "verify reverified correct 1.40\n"
                              "draft same_code correct 1.40\n"
                              "draft judged correct 1.50\n"
                              "verify reverified correct 1.50\n");
    /* The reply keeps its own source. */
    kf_autoresult kf_store_attempt first = {0}, again = {0};
    assert_int_not_equal(attempt_at(f, 2, &first)->candidate, attempt_at(f, 4, &again)->candidate);
    kf_autofree char *source = kf_store_source(f->store, again.candidate, NULL, &f->error);
    assert_non_null(strstr(source, "better"));
    /* The model's next prompt says it. */
    kf_autofree char *prompt = prompt_of(f, 3);
    assert_non_null(strstr(prompt, "judged before, in other words: its machine code is the same: "
                                   "correct, 1.40 times as fast as the baseline"));
}

/* A canonical source is no proof. */
static void other_binaries_are_judged(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec = cassette(f, UNEQUAL UNEQUAL_REWORDED),
                     *log = kf_path_join(f->folder, "jobs.log");
    setenv("FAKE_LOG", log, 1);
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("sample");
    search(f, &settings);
    unsetenv("FAKE_LOG");
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, "draft judged correct 1.40"), 2);
    kf_autofree char *jobs = kf_file_read(log, 1 << 20, NULL, &f->error);
    /* one of them is a verification */
    assert_int_equal(count(jobs, "\n"), 4);
}

/* Another run of the same store has judged it. */
static void another_run_knows_it(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *first = cassette(f, FIRST);
    kf_search_settings settings = {.declared_flags = true,
                                   .seed = 1,
                                   .models = (const char *const[]){first},
                                   .model_count = 1};
    settings.strategy = *kf_strategy_named("sample");
    search(f, &settings);
    kf_autofree char *second = cassette(f, REWORDED);
    settings.models = (const char *const[]){second};
    search(f, &settings);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, "draft same_code correct 1.40"), 1);
    /* With `anew` it does not count. */
    settings.anew = true;
    kf_autofree char *third = cassette(f, REWORDED);
    settings.models = (const char *const[]){third};
    search(f, &settings);
    kf_autofree char *anew = history(f, f->result.progress.run, false);
    assert_int_equal(count(anew, "draft judged correct 1.40"), 1);
}

/* ---- when to stop ---------------------------------------------------------------------------- */

/* Gives these candidates of a model to the search, which has no others. */
static void see(kf_search *s, const double *speedups, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        kf_outcome outcome = {.step = KF_STEP_IMPROVE,
                              .candidate = s->selection.model_candidates + 1,
                              .of_model = true,
                              .status = speedups[i] > 0 ? KF_CORRECT : KF_WRONG_RESULT,
                              .blame = speedups[i] > 0 ? KF_BLAME_NOBODY : KF_BLAME_CANDIDATE,
                              .speedup = speedups[i] > 0 ? speedups[i] : NAN,
                              .cell = ""};
        assert_true(kf_selection_take(s, &outcome, NULL));
    }
}

static kf_search *new_search(void)
{
    kf_search *s = calloc(1, sizeof *s);
    s->selection.population = kf_population_new();
    s->models.count = 1;
    s->strategy = *kf_strategy_named("sample");
    s->strategy.stop.gain = 0.002;
    return s;
}

static void free_search(kf_search **s)
{
    kf_population_free((*s)->selection.population);
    free(*s);
}
#define autosearch __attribute__((cleanup(free_search))) kf_search

/* Returns how many failures in a row after `speedups` end the search. */
static int failures_until_stop(const double *speedups, size_t size)
{
    autosearch *s = new_search();
    see(s, speedups, size);
    for (int i = 0; i < 10000; i++) {
        if (kf_selection_stop(s)) return i;
        see(s, (double[]){0}, 1);
    }
    return -1;
}

static void expected_gain_follows_its_formula(void **state)
{
    (void)state;
    autosearch *s = new_search();
    assert_near(kf_selection_expected(&s->selection), 0.223 / 2);
    see(s, (double[]){1, 1.2, 1.1, 0}, 4);
    /* One gain of log(1.2) is half of the mean. Then two candidates gain nothing. The first
     * speedup is no gain. */
    double mean = (0.223 + log(1.2)) / 2;
    assert_true(fabs(kf_selection_expected(&s->selection) - mean / 4) < 1e-9);
    /* Less than `gain` is no gain. */
    see(s, (double[]){1.21}, 1);
    assert_true(fabs(kf_selection_expected(&s->selection) - mean / 5) < 1e-9);
    see(s, (double[]){2.4}, 1);
    assert_true(fabs(kf_selection_expected(&s->selection) - (mean + log(2.4 / 1.2)) / 2 / 2) <
                1e-9);
}

static void stops_when_little_is_expected(void **state)
{
    (void)state;
    const double flat[] = {1}, small[] = {1, 1.03, 1.06, 1.1, 1.13, 1.17}, doubling[] = {1, 2, 4};
    assert_int_equal(failures_until_stop(flat, 1), 110);
    int after_small = failures_until_stop(small, 6),
        after_doubling = failures_until_stop(doubling, 3);
    assert_in_range(after_small, 10, 40);
    assert_in_range(after_doubling, 200, 400);
    /* A search that keeps gaining never stops. 0 turns the rule off. */
    autosearch *s = new_search();
    for (double speedup = 1; speedup < 50; speedup *= 1.03) {
        see(s, (double[]){speedup, 0, 0.9 * speedup}, 3);
        assert_null(kf_selection_stop(s));
    }
    see(s, (double[400]){0}, 400);
    assert_string_equal(
        kf_selection_stop(s),
        "the next candidate is expected to improve the best by less than stop_gain");
    s->strategy.stop.gain = 0;
    assert_null(kf_selection_stop(s));
    s->strategy.stop.floor = 0.95;
    kf_selection_floor(&s->selection, 0.96);
    /* Never before a model was asked. */
    assert_null(kf_selection_stop(s));
    s->calls.answered = 1;
    assert_non_null(kf_selection_stop(s));
}

/* The same in a run, and in a run that is interrupted and resumed. */
static void a_run_ends_for_want_of_gain(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autobuffer replies = {0};
    for (int i = 0; i < 30; i++)
        kf_buffer_format(
            &replies,
            "{\"reply\": \"```cuda\\n#pragma fake: speed 1.%02d\\nvoid toy() {}\\n```\"}\n",
            50 - i);
    kf_autofree char *spec = cassette(f, replies.data);
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("sample");
    /* (0.223 + log(1.5)) / 2 = 0.314 for the first: n + 2 > 10.5 */
    settings.strategy.stop.gain = 0.03;
    search(f, &settings);
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_non_null(strstr(f->result.why.text, "stop_gain"));
    kf_autofree char *whole = history(f, f->result.progress.run, false);
    assert_int_equal(count(whole, "draft judged"), 10);
    fresh_store(f);
    f->interrupt_at = 5;
    run_session(f, FAKE_WORKER, &settings, NULL);
    assert_int_equal(f->result.end, KF_SEARCH_INTERRUPTED);
    f->interrupt_at = f->interrupts = 0;
    kf_autofree char *run = strdup(f->result.progress.run);
    run_session(f, FAKE_WORKER, &settings, run);
    kf_autofree char *resumed = history(f, run, false);
    assert_string_equal(whole, resumed);
}

/* ---- summaries ------------------------------------------------------------------------------- */

#define MOVED(NUMBER, FAKE)                                                        \
    "{\"reply\": \"Move: change number " NUMBER "\\n```cuda\\n#pragma fake: " FAKE \
    "\\nvoid toy() {}\\n```\"}\n"

static void notes_are_summarised(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec = cassette(
        f,
        MOVED("one", "speed 1.2") MOVED("two", "speed 1.5")
            MOVED("three", "speed 1.1") "{\"reply\": \"```json\\n{\\\"paid\\\": [\\\"tiling: 1.25 "
                                        "times\\\", 7], \\\"did_not_pay\\\": "
                                        "[\\\"unrolling\\\"]}\\n```\"}\n" MOVED("four", "speed 1.9")
                                            MOVED("five", "speed 1.3"));
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("sample");
    settings.strategy.propose.draft = 0;
    settings.strategy.propose.improve = 1;
    settings.strategy.context.notes = 8;
    settings.strategy.context.summary = 3;
    search(f, &settings);
    /* The request for a summary comes after three candidates. */
    kf_autofree char *asked = prompt_of(f, 4);
    assert_non_null(strstr(asked, "\"did_not_pay\": ["));
    assert_non_null(strstr(asked, "change number two"));
    assert_non_null(strstr(asked, "The best candidate"));
    /* The next prompts show it instead of the notes that it summarises, together with later
     * notes. */
    kf_autofree char *next = prompt_of(f, 5), *later = prompt_of(f, 6);
    assert_non_null(strstr(next, "A summary of earlier candidates, by a model:\npaid: tiling: 1.25 "
                                 "times\ndid not pay: unrolling\n"));
    assert_null(strstr(next, "change number two"));
    assert_non_null(strstr(later, "Since then:\n"));
    assert_non_null(strstr(later, "change number four"));
    kf_autofree char *text = history(f, f->result.progress.run, false);
    /* It is no attempt. */
    assert_int_equal(count(text, "summary"), 0);
}

static void a_summary_that_is_none_is_told(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec = cassette(
        f, MOVED("one", "speed 1.2") "{\"reply\": \"It went well.\"}\n" MOVED("two", "speed 1.5"));
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("sample");
    settings.strategy.context.notes = 8;
    settings.strategy.context.summary = 1;
    search(f, &settings);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_int_equal(count(text, "summary no_source"), 1);
    assert_int_equal(count(text, "draft judged"), 2);
    kf_autofree char *next = prompt_of(f, 3);
    assert_non_null(strstr(next, "no JSON object with \"paid\" and \"did_not_pay\""));
}

/* ---- flags ----------------------------------------------------------------------------------- */

static void critics_are_shown_flags_and_coders_are_not(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec = cassette(
        f, CODE("speed 1.2",
                "void toy() {\\n    clock_gettime(1, 0);\\n}") "{\"reply\": \"{\\\"bottleneck\\\": "
                                                               "\\\"memory\\\"}\"}\n" CODE(
                                                                   "speed 1.5",
                                                                   "void toy() { int a; }"));
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    settings.strategy = *kf_strategy_named("critic");
    search(f, &settings);
    kf_autofree char *critic = prompt_of(f, 2), *coder = prompt_of(f, 3);
    assert_non_null(strstr(critic, "None of this is a fault by itself"));
    assert_non_null(strstr(critic, "line 3: clock_gettime: "));
    assert_non_null(strstr(coder, "diagnosis"));
    assert_null(strstr(coder, "static scan"));
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* What simulated workers take, or 0. */
static size_t places, devices;

size_t __real_kf_workers_capacity(const kf_workers *workers);
size_t __wrap_kf_workers_capacity(const kf_workers *workers);
size_t __wrap_kf_workers_capacity(const kf_workers *workers)
{
    return places ? places : __real_kf_workers_capacity(workers);
}

size_t __real_kf_workers_devices(const kf_workers *workers);
size_t __wrap_kf_workers_devices(const kf_workers *workers);
size_t __wrap_kf_workers_devices(const kf_workers *workers)
{
    return devices ? devices : __real_kf_workers_devices(workers);
}

/* Workers that take more than 5 jobs a device do not get them, so that each job is chosen with the
 * results of earlier ones. */
static void a_device_gets_five_jobs(void **state)
{
    (void)state;
    static const struct {
        size_t places, devices, in_flight, room;
    } rows[] = {{1, 1, 0, 1},  {5, 1, 0, 5},   {6, 1, 0, 5}, {9, 1, 4, 1},
                {9, 1, 5, 0},  {9, 1, 7, 0},   {9, 2, 0, 9}, {18, 2, 0, 10},
                {18, 2, 9, 1}, {72, 8, 0, 40}, {2, 2, 3, 0}};
    kf_proposal proposals[16];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_search s = {0};
        for (size_t k = 0; k < rows[i].in_flight; k++) {
            proposals[k] = (kf_proposal){.next = s.jobs.in_flight};
            s.jobs.in_flight = &proposals[k];
        }
        places = rows[i].places, devices = rows[i].devices;
        assert_int_equal(kf_free_capacity(&s), rows[i].room);
    }
    places = devices = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_binaries_share_a_verdict),
        TEST(other_binaries_are_judged),
        TEST(another_run_knows_it),
        cmocka_unit_test(expected_gain_follows_its_formula),
        cmocka_unit_test(stops_when_little_is_expected),
        TEST(a_run_ends_for_want_of_gain),
        TEST(notes_are_summarised),
        TEST(a_summary_that_is_none_is_told),
        TEST(critics_are_shown_flags_and_coders_are_not),
        cmocka_unit_test(a_device_gets_five_jobs),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
