/* Ends of a run, and what the search says while it goes on: the time of the whole run, the
 * roofline, candidates that are not confirmed, verdicts of earlier runs, budgets of replies.
 *
 * kf_now is wrapped. Each job takes f->seconds on this clock, however fast the machine is. */
#include "test_search_common.h"

#include "kforge/json.h"
#include "optimize_result.h"
#include "progress.h"
#include "search_internal.h"
#include "test_main.h"

static struct {
    /* how far the clock is ahead, and how long a job takes on it */
    double ahead, seconds;
    /* how long a job of the final measurement takes; 0: `seconds` */
    double ending_seconds;
    /* The clock runs on during the job that follows so many attempts; 0: during no job */
    int64_t runs_after;
    /* to be resumed, or NULL */
    const char *run;
    int64_t attempts;
    char text[1 << 16];
    /* at the start of the run */
    double usual;
} view;

double __real_kf_now(void);
double __wrap_kf_now(void);
double __wrap_kf_now(void)
{
    return __real_kf_now() + view.ahead;
}

static void watch(void *context, kf_search_event event, const kf_search_progress *progress,
                  const char *text)
{
    (void)context;
    if (event == KF_SEARCH_STARTED) view.usual = progress->usual;
    if (event == KF_SEARCH_BEST || event == KF_SEARCH_VERIFIED || event == KF_SEARCH_NEWS) {
        size_t used = strlen(view.text);
        snprintf(view.text + used, sizeof view.text - used, "%s\n", text);
    }
    /* The first tick while a job is in flight. A job of the final measurement has just begun. */
    bool runs = view.runs_after && progress->attempts == view.runs_after &&
                (!progress->ending || progress->judging > 10);
    if (event != KF_SEARCH_TICK || !(progress->judging > 0) ||
        (progress->attempts == view.attempts && !runs))
        return;
    view.attempts = progress->attempts;
    view.ahead += progress->ending && view.ending_seconds > 0 ? view.ending_seconds : view.seconds;
}

/* Runs a search in which each job takes `seconds`. */
static void search_timed(fixture *f, const kf_search_settings *settings, double seconds)
{
    const char *workers = FAKE_WORKER;
    view.seconds = seconds;
    view.attempts = -1;
    view.text[0] = '\0';
    kf_auto(kf_workers) pool =
        kf_workers_open(&workers, 1, &(kf_workers_options){.grace_seconds = 1}, &f->error);
    assert_non_null(pool);
    kf_search_observer observer = {.notify = watch};
    f->ran = kf_search_run(f->store, f->task, view.run, settings, pool, &f->interrupts, &observer,
                           &f->result, &f->error);
    if (!f->ran) fail_msg("%s", f->error.text);
    if (!kf_store_check(f->store, &f->error)) fail_msg("%s", f->error.text);
}

static kf_search_settings of_seconds(double seconds)
{
    return (kf_search_settings){.declared_flags = true, .seed = 1, .budget = {.seconds = seconds}};
}

static const char *expect_text(const char *text)
{
    if (!strstr(view.text, text)) fail_msg("\"%s\" is not in: %s", text, view.text);
    return text;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The best is measured again within the time of the run. At most one verdict comes later. */
static void time_is_that_of_the_whole_run(void **state)
{
    fixture *f = *state;
    make_task(
        f, (const char *const[]){TUNED("2", "256"), TUNED("2.1", "64"), TUNED("2.2", "64"), NULL});
    kf_search_settings settings = of_seconds(60);
    search_timed(f, &settings, 5);
    const kf_search_progress *p = &f->result.progress;
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_true(p->best_reverified);
    assert_true(p->elapsed < 60 + 5 + 10);
    /* Most of the time was searched. */
    assert_true(p->judged >= 6);
    assert_string_equal(f->result.left_out.text, "");
    assert_false(f->result.settled);
}

/* A verdict that comes too late leaves no time, and the result says what is left out. */
static void says_what_the_time_left_out(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 2\n", "#pragma fake: speed 3\n", NULL});
    kf_search_settings settings = of_seconds(45);
    search_timed(f, &settings, 25);
    assert_int_equal(f->result.progress.judged, 2);
    assert_false(f->result.progress.best_reverified);
    assert_non_null(strstr(f->result.left_out.text, "with 2.00x was not measured again"));
    /* With a little more it begins in time, and ends with the verdict in flight. */
    fresh_store(f);
    settings.budget.seconds = 60;
    search_timed(f, &settings, 25);
    assert_int_equal(f->result.progress.judged, 2);
    assert_true(f->result.progress.best_reverified);
    assert_true(f->result.progress.elapsed < 60 + 25 + 10);
}

/* A run that ended for another reason, and had no time to measure a candidate again, is resumed
 * with more time, too. The first measurement of the end refutes the best, and takes the time of the
 * second. */
static void time_is_spent_by_the_final_measurement(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 3\n#pragma fake: verified 1.5\n",
                                       "#pragma fake: speed 2\n", NULL});
    kf_search_settings settings = of_seconds(200);
    settings.budget.candidates = 3;
    view.ending_seconds = 90;
    search_timed(f, &settings, 10);
    view.ending_seconds = 0;
    assert_string_equal(f->result.why.text, "all candidates of the budget are judged");
    assert_non_null(strstr(f->result.left_out.text,
                           "c3 with 2.00x was not measured again: the time did not suffice"));
    assert_true(f->result.time_spent);
    /* The result has the command that does it. */
    char *text = NULL;
    size_t size;
    kf_autofree char *output = kf_path_join(f->folder, "best.cu");
    kf_optimize_result shown = {.result = &f->result,
                                .task = "toy",
                                .named = "my tasks/toy",
                                .store = "k.db",
                                .output = output};
    FILE *out = open_memstream(&text, &size);
    if (!kf_optimize_result_report(&shown, f->store, false, out, &f->error))
        fail_msg("%s", f->error.text);
    fclose(out);
    assert_non_null(
        strstr(text, "\n          kforge eval 'my tasks/toy' c3 --verify --store k.db\n"));
    free(text);
    kf_optimize_result_clear(&shown);
}

/* Without a stop a job of a run of 60 s gets a further minute. A busy machine needs some seconds.
 */
#define STOPPED 100

/* A job that goes on for ever is stopped at the end of the time. Its candidate stays open: a
 * resumed run judges it. The best still gets its second measurement. */
static void a_job_in_flight_is_stopped(void **state)
{
    fixture *f = *state;
    char endless[300], go[200];
    snprintf(go, sizeof go, "%s/go", f->folder);
    snprintf(endless, sizeof endless, "#pragma fake: speed 3\n#pragma fake: until %s\n", go);
    make_task(f, (const char *const[]){"#pragma fake: speed 2\n", endless, NULL});
    kf_search_settings settings = of_seconds(60);
    view.runs_after = 2;
    search_timed(f, &settings, 5);
    view.runs_after = 0;
    const kf_search_progress *p = &f->result.progress;
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_int_equal(p->judged, 2);
    assert_true(p->best_reverified);
    assert_near(best_of(f), 2);
    assert_true(p->elapsed < STOPPED);
    assert_string_equal(f->result.left_out.text,
                        "1 candidate was not judged: a resumed run judges it");
    assert_false(f->result.settled);
    assert_true(kf_file_write(go, "", 0, NULL));
    kf_autofree char *run = strdup(p->run);
    view.run = run;
    settings.budget.seconds = 600;
    search_timed(f, &settings, 5);
    view.run = NULL;
    assert_int_equal(p->judged, 3);
    assert_true(p->best_reverified);
    assert_near(best_of(f), 3);
    assert_string_equal(f->result.left_out.text, "");
}

/* The end says that no model was asked, and what took the time. */
static void a_run_without_a_request_says_so(void **state)
{
    fixture *f = *state;
    char endless[300];
    snprintf(endless, sizeof endless, "#pragma fake: speed 3\n#pragma fake: until %s/go\n",
             f->folder);
    make_task(f, (const char *const[]){"#pragma fake: speed 2\n", endless, NULL});
    kf_search_settings settings = of_seconds(60);
    settings.models = (const char *const[]){"exec:exit 1"};
    settings.model_count = 1;
    view.runs_after = 2;
    search_timed(f, &settings, 5);
    view.runs_after = 0;
    assert_int_equal(f->result.progress.calls, 0);
    assert_string_equal(f->result.why.text,
                        "the time of the budget is used up; no model was asked: baseline and seeds "
                        "took it; give more, as in --time 240s");
    assert_false(f->result.models_silent);
    /* Other budgets end a run before its first request, too. */
    make_task(f, (const char *const[]){"#pragma fake: speed 2\n", NULL});
    settings = of_seconds(0);
    settings.models = (const char *const[]){"exec:exit 1"};
    settings.model_count = 1;
    settings.budget.candidates = 2;
    settings.anew = true;
    search_timed(f, &settings, 0);
    assert_string_equal(f->result.why.text,
                        "all candidates of the budget are judged; no model was asked");
}

/* The same for the candidate of a paid reply. The model is not asked again for it. */
static void a_paid_candidate_stays_open(void **state)
{
    fixture *f = *state;
    char spec[600], go[200];
    snprintf(go, sizeof go, "%s/go", f->folder);
    snprintf(spec, sizeof spec,
             "exec:cat >/dev/null; echo x >>%s/asked; printf '```cuda\\n#pragma fake: speed 3\\n"
             "#pragma fake: until %s\\nvoid toy() {}\\n```\\n'",
             f->folder, go);
    const char *models[] = {spec};
    make_task(f, (const char *const[]){NULL});
    kf_search_settings settings = of_seconds(60);
    settings.models = models;
    settings.model_count = 1;
    settings.budget.replies = 1;
    view.runs_after = 1;
    search_timed(f, &settings, 5);
    view.runs_after = 0;
    const kf_search_progress *p = &f->result.progress;
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_int_equal(p->judged, 1);
    assert_true(p->elapsed < STOPPED);
    assert_string_equal(f->result.left_out.text,
                        "1 candidate was not judged: a resumed run judges it");
    assert_true(kf_file_write(go, "", 0, NULL));
    kf_autofree char *run = strdup(p->run);
    view.run = run;
    settings.budget.seconds = 600;
    search_timed(f, &settings, 5);
    view.run = NULL;
    assert_int_equal(p->judged, 2);
    assert_int_equal(p->replies, 1);
    assert_near(best_of(f), 3);
    kf_autofree char *path = kf_path_join(f->folder, "asked");
    size_t size = 0;
    kf_autofree char *asked = kf_file_read(path, 100, &size, NULL);
    assert_int_equal(size, strlen("x\n"));
}

/* The baseline is waited for: nothing could be said without it, also not after a resume. */
static void the_baseline_is_not_stopped(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 2\n", NULL});
    kf_search_settings settings = of_seconds(2);
    setenv("FAKE_SLEEP", "4", 1);
    search_timed(f, &settings, 0);
    unsetenv("FAKE_SLEEP");
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_int_equal(f->result.progress.judged, 1);
}

/* ---- what is confirmed ----------------------------------------------------------------------- */

static void refuted_bests_are_named(void **state)
{
    fixture *f = *state;
    make_task(f,
              (const char *const[]){"#pragma fake: speed 3\n#pragma fake: verified 1.5\n",
                                    "#pragma fake: speed 2.5\n#pragma fake: again wrong_result\n",
                                    "#pragma fake: speed 2.2\n#pragma fake: disagree\n", NULL});
    kf_search_settings settings = of_seconds(0);
    search_timed(f, &settings, 0);
    expect_text("new best: c2 3.00x [2.97, 3.03], not measured again yet\n");
    expect_text(
        "c2 not confirmed: 3.00x [2.97, 3.03] at first, 1.50x [1.48, 1.52] measured again\n");
    expect_text("c3 not confirmed: wrong_result when measured again\n");
    expect_text("c4 not confirmed: two measurements disagree, 2.20x [2.18, 2.22] and 2.20x");
    assert_true(f->result.progress.best_reverified);
    assert_near(best_of(f), 1.5);
}

/* An interval that says nothing is measured again at once, also of a candidate that is not ahead.
 * A machine on which all intervals are wide does not double the time of the run. */
static void intervals_that_say_nothing_are_measured_again(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 2\n",
                                       "#pragma fake: speed 1.2\n#pragma fake: interval 0.1 9\n",
                                       NULL});
    kf_search_settings settings = of_seconds(0);
    search_timed(f, &settings, 0);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_string_equal(text, "baseline judged correct 1.00\nseed judged correct 2.00\n"
                              "seed judged correct 1.20\nverify reverified correct 1.20\n"
                              "verify reverified correct 2.00\n");
    static const char wide[] = "#pragma fake: speed 1.2\n#pragma fake: wide 0.1 9\n";
    make_task(f, (const char *const[]){"#pragma fake: speed 1.2\n#pragma fake: wide 0.1 9\n// a\n",
                                       wide, wide, wide, wide, wide, wide, NULL});
    for (int i = 1; i < 7; i++) {
        char name[32], seed[128];
        snprintf(name, sizeof name, "seed%d.cu", i);
        snprintf(seed, sizeof seed, "%s#pragma fake: note %d\n", wide, i);
        write_text(f->task_folder, name, seed);
    }
    kf_task_free(f->task);
    f->task = kf_task_load(f->task_folder, &f->error);
    assert_non_null(f->task);
    search_timed(f, &settings, 0);
    kf_autofree char *again = history(f, f->result.progress.run, false);
    assert_in_range(count(again, "verify reverified"), 3, 7);
}

/* So is a correct candidate without a figure. */
static void correct_without_a_figure_is_measured_again(void **state)
{
    fixture *f = *state;
    make_task(f,
              (const char *const[]){"#pragma fake: speed nan\n#pragma fake: verified 1.3\n", NULL});
    kf_search_settings settings = of_seconds(0);
    search_timed(f, &settings, 0);
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_string_equal(text, "baseline judged correct 1.00\nseed judged correct\n"
                              "verify reverified correct 1.30\n");
    assert_near(best_of(f), 1.3);
    assert_true(f->result.progress.best_reverified);
}

/* ---- earlier runs ---------------------------------------------------------------------------- */

static void earlier_verdicts_are_counted_once(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){TUNED("2", "256"), NULL});
    kf_search_settings settings = of_seconds(0);
    search_timed(f, &settings, 0);
    assert_int_equal(f->result.progress.known, 0);
    assert_int_equal(count(view.text, "earlier"), 0);
    assert_true(f->result.settled);
    search_timed(f, &settings, 0);
    assert_int_equal(f->result.progress.judged, 0);
    assert_int_equal(f->result.progress.known, 6);
    assert_string_equal(view.text, "6 known from earlier runs, the best of them c6 with 2.00x "
                                   "(--anew measures again)\n");
    settings.anew = true;
    search_timed(f, &settings, 0);
    assert_int_equal(f->result.progress.judged, 6);
    assert_int_equal(f->result.progress.known, 0);
}

/* Without a second measurement in the earlier run. */
static void earlier_intervals_that_say_nothing_do_not_count(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){"#pragma fake: speed 1.2\n#pragma fake: wide 0.1 9\n"
                                       "#pragma fake: disagree\n",
                                       NULL});
    kf_search_settings settings = {.declared_flags = true, .seed = 1, .budget = {.candidates = 2}};
    search_timed(f, &settings, 0);
    f->result.progress.known = 0;
    search_timed(f, &settings, 0);
    assert_int_equal(f->result.progress.known, 1);
    assert_int_equal(f->result.progress.judged, 1);
}

/* A log has a line each 30 s, with the time of a long job, and of those before. */
static void long_builds_are_announced(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_search_settings settings = of_seconds(0);
    setenv("FAKE_SLEEP", "0.02", 1);
    search_timed(f, &settings, 0);
    assert_true(view.usual == 0);
    settings.anew = true;
    search_timed(f, &settings, 0);
    assert_near(view.usual, 0.02);
    char *text = NULL;
    size_t size;
    FILE *log = open_memstream(&text, &size);
    kf_progress_view shown = {.log = log};
    kf_search_progress progress = {.hardware = "cpu test",
                                   .judging = 31,
                                   .usual = 119.6,
                                   .baseline = {1.68, 0.56, 6.23},
                                   .best_speedup = {NAN, NAN, NAN}};
    kf_progress_notify(&shown, KF_SEARCH_STARTED, &progress, "1abc");
    /* A line is printed after each 30 s without one. */
    const double waits[] = {0, 29, 2, 1, 30};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        view.ahead += waits[i];
        kf_progress_notify(&shown, KF_SEARCH_TICK, &progress, "");
    }
    progress.attempts = progress.judged = progress.correct = 2;
    progress.judging = 65;
    progress.usual = 3.2;
    kf_progress_notify(&shown, KF_SEARCH_NEWS, &progress, "news");
    view.ahead += 29;
    kf_progress_notify(&shown, KF_SEARCH_TICK, &progress, "");
    view.ahead += 2;
    kf_progress_notify(&shown, KF_SEARCH_TICK, &progress, "");
    fclose(log);
    assert_string_equal(text, "run 1abc on cpu test\n"
                              "0 judged, 0 correct, the baseline takes 31 s so far, usually 2 min "
                              "00 s\n"
                              "0 judged, 0 correct, the baseline takes 31 s so far, usually 2 min "
                              "00 s\n"
                              "     0 s  news\n"
                              "2 judged, 2 correct, a candidate takes 65 s so far, usually "
                              "3 s\n");
    free(text);
}

/* ---- budgets --------------------------------------------------------------------------------- */

static void replies_end_a_run(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec =
        cassette(f, REPLY("speed 1.2") "{\"reply\": \"I would rather not.\"}\n" REPLY("speed 1.3")
                        REPLY("speed 1.4"));
    kf_search_settings settings = {.declared_flags = true,
                                   .seed = 1,
                                   .models = (const char *const[]){spec},
                                   .model_count = 1,
                                   .budget = {.replies = 3}};
    settings.strategy = *kf_strategy_named("sample");
    search_timed(f, &settings, 0);
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    /* A useless reply is one, and the candidate of the last one is judged. */
    assert_int_equal(f->result.progress.replies, 3);
    assert_string_equal(f->result.why.text, "all model replies of the budget have come");
    kf_autofree char *text = history(f, f->result.progress.run, false);
    assert_non_null(strstr(text, "1.30"));
    assert_null(strstr(text, "1.40"));
}

/* ---- the roofline in a run ------------------------------------------------------------------- */

static void a_run_stops_at_the_roofline(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *spec = cassette(f, REPLY("speed 2\\n#pragma fake: floor 0.97")
                                             REPLY("speed 1.3") REPLY("speed 1.4"));
    kf_search_settings settings = {
        .declared_flags = true, .seed = 1, .models = (const char *const[]){spec}, .model_count = 1};
    search_timed(f, &settings, 0);
    assert_int_equal(f->result.end, KF_SEARCH_SPENT);
    assert_string_equal(f->result.why.text, "within 3 % of the roofline: stopped");
    assert_true(f->result.settled && f->result.progress.best_reverified);
    /* A call may be in flight while the best is measured again. */
    assert_in_range(f->result.progress.calls, 1, 2);
    /* Above it the run goes on, and asks. */
    kf_autofree char *above = cassette(f, REPLY("speed 2.5\\n#pragma fake: floor 1.3")
                                              REPLY("speed 1.5") REPLY("speed 1.6"));
    settings.models = (const char *const[]){above};
    search_timed(f, &settings, 0);
    assert_int_equal(f->result.progress.calls, 3);
    assert_non_null(strstr(f->result.question.text, "1.30 times as fast as the roofline allows: "
                                                    "check the task's bytes and flops"));
}

/* ---- the roofline ---------------------------------------------------------------------------- */

static void the_roofline_ends_a_run_in_words(void **state)
{
    (void)state;
    kf_search *s = calloc(1, sizeof *s);
    s->models.count = 1;
    s->calls.answered = 1;
    s->selection.population = kf_population_new();
    s->strategy = *kf_strategy_named("sample");
    s->strategy.stop.floor = 0.95;
    s->strategy.stop.gain = 0;
    kf_outcome outcome = {.step = KF_STEP_IMPROVE,
                          .candidate = 7,
                          .of_model = true,
                          .status = KF_CORRECT,
                          .speedup = 2,
                          .floor_share = 0.97,
                          .cell = ""};
    /* One measurement ends nothing. */
    assert_true(kf_selection_take(s, &outcome, NULL));
    assert_null(kf_selection_stop(s));
    outcome.step = KF_STEP_VERIFY;
    assert_true(kf_selection_take(s, &outcome, NULL));
    assert_string_equal(kf_selection_stop(s), "within 3 % of the roofline: stopped");
    s->strategy.stop.floor = 0.98;
    assert_null(kf_selection_stop(s));
    s->strategy.stop.floor = 0.95;
    /* Above the bound it is a question. */
    outcome.floor_share = 1.3;
    assert_true(kf_selection_take(s, &outcome, NULL));
    assert_null(kf_selection_stop(s));
    assert_non_null(strstr(s->selection.above_floor, "1.30 times as fast as the roofline allows"));
    kf_population_free(s->selection.population);
    free(s);
}

/* "a call" has the name of the hidden workload "all" in it. */
static void an_agent_reads_words_with_a_hidden_name(void **state)
{
    fixture *f = *state;
    make_task(f, (const char *const[]){NULL});
    kf_autofree char *json = kf_path_join(f->task_folder, "task.json"),
                     *old = kf_file_read(json, 1 << 20, NULL, NULL);
    const char *at = strstr(old, "{\"name\": \"main\"}");
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "%.*s{\"name\": \"all\", \"hidden\": true, \"timed\": false}, %s",
                     (int)(at - old), old, at);
    write_text(f->task_folder, "task.json", text.data);
    kf_task_free(f->task);
    f->task = kf_task_load(f->task_folder, &f->error);
    if (!f->task) fail_msg("%s", f->error.text);
    kf_search *s = calloc(1, sizeof *s);
    s->task = f->task;
    static const struct {
        const char *finding;
        bool shown;
    } rows[] = {{"the process crashed in a call", true}, {"no memory in workload all", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_verdict) verdict = kf_verdict_new("job", "toy", "cpu:0");
        kf_verdict_add_workload(verdict, "main", true)->status = KF_CORRECT;
        kf_verdict_add_workload(verdict, "all", false)->status = KF_CORRECT;
        kf_verdict_add_finding(verdict, NULL, KF_CRASH, KF_BLAME_CANDIDATE, "runner.crashed", NAN,
                               NAN, "%s", rows[i].finding);
        kf_verdict_conclude(verdict);
        kf_autofree char *answer = kf_answer_json(s, (kf_llm_wish)0, verdict, "0123456789ab");
        kf_auto(cJSON) brief = cJSON_Parse(answer);
        const char *summary = cJSON_GetStringValue(cJSON_GetObjectItem(brief, "summary"));
        if (!strstr(summary, rows[i].finding) == rows[i].shown) fail_msg("%s", answer);
    }
    free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int test_program(void)
{
    const struct CMUnitTest tests[] = {
        TEST(time_is_that_of_the_whole_run),
        TEST(says_what_the_time_left_out),
        TEST(time_is_spent_by_the_final_measurement),
        TEST(a_job_in_flight_is_stopped),
        TEST(a_run_without_a_request_says_so),
        TEST(the_baseline_is_not_stopped),
        TEST(a_paid_candidate_stays_open),
        TEST(refuted_bests_are_named),
        TEST(intervals_that_say_nothing_are_measured_again),
        TEST(correct_without_a_figure_is_measured_again),
        TEST(earlier_verdicts_are_counted_once),
        TEST(earlier_intervals_that_say_nothing_do_not_count),
        TEST(long_builds_are_announced),
        TEST(replies_end_a_run),
        TEST(a_run_stops_at_the_roofline),
        TEST(the_roofline_ends_a_run_in_words),
        TEST(an_agent_reads_words_with_a_hidden_name),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
