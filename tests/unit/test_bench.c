/* Parts of `kforge bench` that need no worker: suites, solutions, models for a task, texts that
 * want to be markup or formulas, comparisons. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "bench_compare.h"
#include "html_text.h"
#include "bench_solutions.h"
#include "kforge/file.h"

#define TASKS KFORGE_SOURCE_DIR "/tasks"

static void write_text(const char *folder, const char *name, const char *text)
{
    kf_autofree char *path = kf_path_join(folder, name);
    assert_true(kf_file_write(path, text, strlen(text), NULL));
}

/* ---- suites ---------------------------------------------------------------------------------- */

static void a_folder_of_tasks_is_a_suite(void **state)
{
    (void)state;
    kf_bench_suite suite = {0};
    kf_error error = {0};
    const char *only[] = {"axpy", "gem*"};
    assert_true(kf_bench_suite_load(TASKS, only, 2, &suite, &error));
    assert_int_equal(suite.count, 3);
    assert_string_equal(suite.tasks[0].name, "axpy");
    assert_string_equal(suite.tasks[1].name, "gemm");
    assert_string_equal(suite.tasks[2].name, "gemv");
    assert_string_equal(suite.name, "tasks");
    assert_true(suite.tasks[0].level == -1 && !suite.tasks[0].fault && suite.tasks[0].hash[0]);
    kf_bench_suite_clear(&suite);
    assert_true(kf_bench_suite_load(TASKS "/axpy/task.json", NULL, 0, &suite, &error));
    assert_int_equal(suite.count, 1);
    kf_bench_suite_clear(&suite);
    assert_false(kf_bench_suite_load(TASKS "/nothing", NULL, 0, &suite, &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    kf_bench_suite_clear(&suite);
}

static void suite_json_names_tasks_and_faults_stay_with_their_task(void **state)
{
    (void)state;
    kf_bench_suite suite = {0};
    kf_error error = {0};
    kf_autofree char *folder = kf_directory_temporary("kforge-suite", NULL);
    write_text(folder, "suite.json",
               "{\"schema\": \"kforge-suite/1\", \"name\": \"mine\", \"tasks\": [\"" TASKS
               "/axpy\", \"missing\", \"" TASKS "/axpy\"]}");
    assert_true(kf_bench_suite_load(folder, NULL, 0, &suite, &error));
    assert_string_equal(suite.name, "mine");
    assert_int_equal(suite.count, 3);
    assert_null(suite.tasks[0].fault);
    assert_non_null(strstr(suite.tasks[1].fault, "missing"));
    assert_non_null(strstr(suite.tasks[2].fault, "has this name"));
    kf_bench_suite_clear(&suite);
    static const char *const bad[] = {
        "{\"schema\": \"kforge-suite/2\", \"tasks\": []}",
        "{\"schema\": \"kforge-suite/1\"}",
        "{\"schema\": \"kforge-suite/1\", \"tasks\": [7]}",
        "{\"schema\": \"kforge-suite/1\", \"tasks\": [], \"taks\": 1}",
        "{\"schema\": \"kforge-suite/1\", \"tasks\": []}",
        "nothing"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(folder, "suite.json", bad[i]);
        error.code = KF_ERROR_NONE;
        assert_false(kf_bench_suite_load(folder, NULL, 0, &suite, &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
        kf_bench_suite_clear(&suite);
    }
    kf_directory_remove(folder, NULL);
}

static void an_import_tells_of_what_it_refused(void **state)
{
    (void)state;
    kf_bench_suite suite = {0};
    kf_error error = {0};
    kf_autofree char *folder = kf_directory_temporary("kforge-suite", NULL),
                     *link = kf_path_join(folder, "axpy"), *beside = kf_path_join(folder, "gemm");
    assert_int_equal(symlink(TASKS "/axpy", link), 0);
    assert_int_equal(symlink(TASKS "/gemm", beside), 0); /* a task that the file does not name */
    write_text(
        folder, "suite.json",
        "{\"schema\": \"kforge-suite/1\", \"name\": \"mine\", \"imports\": [{\"suite\": "
        "\"kernelbench\", \"scale\": 9}], "
        "\"problems\": ["
        "{\"task\": \"level1_1\", \"level\": 1, \"problem\": 1, \"rule\": \"outputs.zero\", "
        "\"reason\": \"all zero\"},"
        "{\"task\": \"axpy\", \"folder\": \"axpy\"}, {\"task\": \"gone\", \"folder\": \"gone\"}]}");
    assert_true(kf_bench_suite_load(folder, NULL, 0, &suite, &error));
    assert_int_equal(suite.count, 4);
    assert_string_equal(suite.tasks[0].name, "level1_1");
    assert_string_equal(suite.tasks[0].rule, "outputs.zero");
    assert_string_equal(suite.tasks[0].fault, "all zero");
    assert_true(suite.tasks[0].level == 1 && suite.tasks[0].problem == 1);
    assert_true(!suite.tasks[1].fault && !suite.tasks[1].rule &&
                strcmp(suite.tasks[1].name, "axpy") == 0);
    /* it was imported, and is gone: no refusal */
    assert_true(suite.tasks[2].fault && !suite.tasks[2].rule);
    assert_string_equal(suite.tasks[3].name, "gemm");
    assert_int_equal(cJSON_GetArraySize(suite.imports), 1);
    assert_string_equal(suite.name, "mine");
    kf_bench_suite_clear(&suite);
    const char *only[] = {"level1_*", "axpy"};
    assert_true(kf_bench_suite_load(folder, only, 2, &suite, &error));
    assert_int_equal(suite.count, 2);
    kf_bench_suite_clear(&suite);
    write_text(folder, "suite.json",
               "{\"schema\": \"kforge-suite/1\", \"problems\": [{\"task\": \"../axpy\"}]}");
    assert_false(kf_bench_suite_load(folder, NULL, 0, &suite, &error));
    assert_non_null(strstr(error.text, "problems"));
    kf_bench_suite_clear(&suite);
    kf_directory_remove(folder, NULL);
}

static void a_model_for_each_task(void **state)
{
    (void)state;
    kf_autofree char *a = kf_bench_model_for("replay:x/{task}.jsonl", "axpy"),
                     *b = kf_bench_model_for("openai:m", "axpy"),
                     *c = kf_bench_model_for("exec:./ask {task} {task", "gemm");
    assert_string_equal(a, "replay:x/axpy.jsonl");
    assert_string_equal(b, "openai:m");
    assert_string_equal(c, "exec:./ask gemm {task");
}

/* ---- solutions ------------------------------------------------------------------------------- */

static void names_of_kernelbench(void **state)
{
    (void)state;
    int64_t level, problem, sample;
    kf_language language;
    assert_true(kf_bench_kernelbench_name("level_1_problem_19_sample_0_kernel.cu", &level, &problem,
                                          &sample, &language));
    assert_true(level == 1 && problem == 19 && sample == 0 && language == KF_LANGUAGE_CUDA);
    assert_true(kf_bench_kernelbench_name("level_3_problem_5_sample_12_kernel.py", &level, &problem,
                                          &sample, &language));
    assert_true(level == 3 && problem == 5 && sample == 12 && language == KF_LANGUAGE_PYTHON);
    static const char *const bad[] = {"level_1_problem_19_sample_0_kernel.txt",
                                      "level_1_problem_19_sample_0.cu",
                                      "level_1_problem_-9_sample_0_kernel.cu",
                                      "level__problem_1_sample_0_kernel.cu",
                                      "level_1_problem_99999999999999999999_sample_0_kernel.cu",
                                      "level_1_problem_1_sample_0_kernel.cu.orig",
                                      "xlevel_1_problem_1_sample_0_kernel.cu",
                                      ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kf_bench_kernelbench_name(bad[i], &level, &problem, &sample, &language))
            fail_msg("%s", bad[i]);
}

static void solutions_are_found(void **state)
{
    (void)state;
    kf_autofree char *folder = kf_directory_temporary("kforge-solutions", NULL),
                     *inner = kf_path_join(folder, "axpy");
    char axpy[] = "axpy", gemm[] = "gemm", none[] = "", fault[] = "broken";
    kf_bench_task tasks[] = {
        {.name = axpy, .folder = none, .level = 1, .problem = 7},
        {.name = gemm, .folder = none, .level = 2, .problem = 7},
        {.name = gemm, .folder = none, .fault = fault, .level = 1, .problem = 8}};
    kf_bench_suite suite = {.tasks = tasks, .count = 3};
    kf_bench_solutions found = {0};
    kf_error error = {0};
    assert_false(kf_bench_solutions_load(folder, &suite, &found, &error)); /* not one */
    write_text(folder, "level_2_problem_7_sample_1_kernel.cu", "second");
    write_text(folder, "level_2_problem_7_sample_0_kernel.cu", "first");
    write_text(folder, "level_1_problem_7_sample_0_kernel.py", "class ModelNew: pass");
    write_text(folder, "level_1_problem_8_sample_0_kernel.cu", "of a task at fault");
    write_text(folder, "gemm.cu", "third");
    write_text(folder, "readme.md", "not one");
    mkdir(inner, 0777);
    write_text(inner, "b.cu", "2");
    write_text(inner, "a.cu", "1");
    assert_true(kf_bench_solutions_load(folder, &suite, &found, &error));
    assert_int_equal(found.count, 6);
    assert_int_equal(found.unmatched_count, 1);
    static const char *const files[] = {"axpy/a.cu",
                                        "axpy/b.cu",
                                        "level_1_problem_7_sample_0_kernel.py",
                                        "gemm.cu",
                                        "level_2_problem_7_sample_0_kernel.cu",
                                        "level_2_problem_7_sample_1_kernel.cu"};
    for (size_t i = 0; i < 6; i++) assert_string_equal(found.items[i].file, files[i]);
    /* the task is not for PyTorch */
    assert_true(found.items[2].language == KF_LANGUAGE_PYTHON && found.items[2].why);
    assert_true(found.items[0].task == 0 && found.items[3].task == 1 && !found.items[3].why);
    kf_bench_solutions_clear(&found);
    write_text(folder, "l1.jsonl",
               "{\"level_id\": 2, \"task_id\": 7, \"custom_code\": \"x\", \"score_default\": 3.5, "
               "\"score_graph\": 2}\n\n"
               "{\"level_id\": \"1\", \"task_id\": \"7\", \"custom_code\": \"import torch\", "
               "\"score_graph\": 2}\n"
               "{\"level_id\": 9, \"task_id\": 7, \"custom_code\": \"x\"}");
    kf_autofree char *lines = kf_path_join(folder, "l1.jsonl");
    assert_true(kf_bench_solutions_load(lines, &suite, &found, &error));
    assert_int_equal(found.count, 2);
    assert_true(found.items[0].task == 0 && found.items[0].claimed == 2 &&
                found.items[0].language == KF_LANGUAGE_PYTHON);
    assert_true(found.items[1].task == 1 && found.items[1].claimed == 3.5 &&
                found.items[1].language == KF_LANGUAGE_CUDA);
    kf_bench_solutions_clear(&found);
    write_text(folder, "l1.jsonl", "{\"level_id\": 2}\n{broken");
    assert_false(kf_bench_solutions_load(lines, &suite, &found, &error));
    assert_non_null(strstr(error.text, "line 2"));
    kf_bench_solutions_clear(&found);
    kf_directory_remove(folder, NULL);
}

/* A release as one object of its levels, and the problem texts that its solutions were written
 * for. */
static void releases_say_what_they_were_written_for(void **state)
{
    (void)state;
    kf_autofree char *folder = kf_directory_temporary("kforge-release", NULL),
                     *path = kf_path_join(folder, "release.json");
    char names[][8] = {"a", "b", "c"}, none[] = "";
    kf_bench_task tasks[3];
    kf_hash hash = kf_hash_bytes("import torch\n", 13);
    for (int i = 0; i < 3; i++) {
        tasks[i] = (kf_bench_task){
            .name = names[i], .folder = none, .level = 1 + i / 2, .problem = i + 1, .torch = true};
        if (i < 2) kf_hash_hex(&hash, tasks[i].text_hash);
    }
    kf_bench_suite suite = {.tasks = tasks, .count = 3};
    kf_bench_solutions found = {0};
    kf_error error = {0};
    write_text(folder, "release.json",
               "{\n  \"1\": [\n    {\"task_id\": 1, \"ref_code\": \"import torch\", "
               "\"custom_code\": \"class ModelNew: pass\", "
               "\"score\": \"2.5\"},\n"
               "    {\"task_id\": 2, \"ref_code\": \"import torch, os\\n\", \"custom_code\": "
               "\"x\", \"score\": null}],\n"
               "  \"2\": [{\"task_id\": 3, \"ref_code\": \"?\", \"custom_code\": \"x\", \"score\": "
               "\"fast\"}]\n}\n");
    if (!kf_bench_solutions_load(path, &suite, &found, &error)) fail_msg("%s", error.text);
    assert_int_equal(found.count, 3);
    assert_true(found.items[0].claimed == 2.5 && found.items[0].language == KF_LANGUAGE_PYTHON &&
                !found.items[0].other_text);
    assert_true(isnan(found.items[1].claimed) && found.items[1].other_text);
    /* the task does not say what it was made of */
    assert_true(isnan(found.items[2].claimed) && !found.items[2].other_text);
    kf_bench_solutions_clear(&found);
    write_text(folder, "release.json", "{\n\"one\": []\n}\n");
    assert_false(kf_bench_solutions_load(path, &suite, &found, &error));
    assert_non_null(strstr(error.text, "object of levels"));
    kf_bench_solutions_clear(&found);
    kf_directory_remove(folder, NULL);
}

/* ---- reports --------------------------------------------------------------------------------- */

static const char hostile[] = "=<b>\"x\" & 'y'|`z`[";

static void fill(kf_bench_result *result, kf_bench_row *rows, kf_bench_sample *samples,
                 kf_score_sample *scores, const double *speedups, size_t count)
{
    const kf_bench_times none = {NAN, NAN, NAN, NAN, NAN, 0};
    *result = (kf_bench_result){.setup = {.name = hostile,
                                          .suite = "",
                                          .source = "",
                                          .device = hostile,
                                          .models = hostile,
                                          .strategy = "sample",
                                          .baseline = "",
                                          .imported = "",
                                          .independent = true,
                                          .started = 0,
                                          .bytes_per_second = 1e9},
                                .rows = rows,
                                .count = count,
                                .fast = {0, 1},
                                .fast_count = 2};
    static const char *const names[] = {"a", "b", "c", hostile};
    for (size_t i = 0; i < count; i++) {
        bool solved = speedups[i] > 0;
        samples[i] =
            (kf_bench_sample){.label = hostile,
                              .status = solved ? "correct" : "wrong_result",
                              .rule = hostile,
                              .text = hostile,
                              .proposer = "",
                              .candidate = 7,
                              .speedup = {speedups[i], 0.99 * speedups[i], 1.01 * speedups[i]},
                              .claimed = 9,
                              .judge_seconds = 1,
                              .times = none,
                              .baseline_times = none};
        samples[i].score = scores[i] =
            kf_score_of(solved ? KF_CORRECT : KF_WRONG_RESULT,
                        solved ? KF_BLAME_NOBODY : KF_BLAME_CANDIDATE, speedups[i]);
        rows[i] = (kf_bench_row){.task = names[i],
                                 .fault = "",
                                 .rule = "",
                                 .state = "finished",
                                 .run = "r",
                                 .level = -1,
                                 .problem = -1,
                                 .samples = &samples[i],
                                 .scores = &scores[i],
                                 .count = 1,
                                 .best = samples[i],
                                 .outcome = scores[i],
                                 .statuses = "1 of them",
                                 .roofs = {{hostile, 1e6, 1e6, 0.01, 0.001}},
                                 .roof_count = 1};
        if (!solved) rows[i].best.candidate = 0;
    }
}

static void drop(kf_bench_result *result)
{
    free(result->problems);
    free(result->outcomes);
}

static void texts_stay_texts(void **state)
{
    (void)state;
    kf_bench_result result;
    kf_bench_row rows[4];
    kf_bench_sample samples[4];
    kf_score_sample scores[4];
    const double speedups[] = {1, 2, 3, 4};
    fill(&result, rows, samples, scores, speedups, 4);
    kf_error error = {0};
    kf_autobuffer html = {0}, csv = {0}, markdown = {0};
    result.setup.bytes_per_second = 2e12;
    result.setup.flops_per_second = 5e13;
    assert_true(kf_bench_score(&result, &error));
    assert_true(kf_bench_html(&result, &html, &error));
    kf_bench_csv(&result, &csv);
    kf_bench_markdown(&result, &markdown);
    /* Both ceilings, the interval, and the workload of a row. */
    assert_non_null(strstr(html.data, ">memory 2 TB/s</text>"));
    assert_non_null(strstr(html.data, ">arithmetic 50 TFLOP/s</text>"));
    assert_non_null(strstr(html.data, "class=\"whisker\""));
    assert_null(strstr(html.data, "style=\""));
    assert_null(strstr(html.data, "<b>\"x"));
    assert_non_null(strstr(html.data, "=&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;"));
    assert_null(strstr(csv.data, ",=<b>"));
    assert_non_null(strstr(csv.data, "\"'=<b>\"\"x\"\" & 'y'"));
    assert_null(strstr(markdown.data, "<b>"));
    assert_non_null(strstr(markdown.data, "\\|\\`z\\`"));
    drop(&result);
}

/* A copy of the baseline measures above 1 half of the time, which is no success. Speedups with an
 * interval that contains 1 are counted apart. */
static void what_is_faster_by_chance_is_told_apart(void **state)
{
    (void)state;
    kf_bench_result result;
    kf_bench_row rows[4];
    kf_bench_sample samples[4];
    kf_score_sample scores[4];
    const double speedups[] = {1.005, 1.02, 0.9, NAN}; /* within 1 % each */
    kf_error error = {0};
    fill(&result, rows, samples, scores, speedups, 4);
    assert_true(kf_bench_score(&result, &error));
    assert_true(result.score.faster == 2 && result.surely_faster == 1);
    kf_autobuffer html = {0}, markdown = {0};
    cJSON *json = kf_bench_json(&result);
    assert_true(kf_bench_html(&result, &html, &error));
    kf_bench_markdown(&result, &markdown);
    assert_int_equal(
        cJSON_GetObjectItem(cJSON_GetObjectItem(json, "scores"), "surely_faster")->valuedouble, 1);
    cJSON_Delete(json);
    assert_non_null(strstr(html.data, "<b>1 of 4</b><span>surely faster"));
    assert_non_null(strstr(markdown.data, "| surely faster | 1: whole interval above 1"));
    drop(&result);
}

/* The second problem was refused, and the third solved by a solution that claimed twice as much. */
static void denominators_claims_and_other_baselines(void **state)
{
    (void)state;
    kf_bench_result result;
    kf_bench_row rows[4];
    kf_bench_sample samples[4];
    kf_score_sample scores[4];
    const double speedups[] = {4, NAN, 3, NAN};
    kf_error error = {0};
    fill(&result, rows, samples, scores, speedups, 4);
    rows[1].rule = "outputs.zero", rows[1].fault = "all zero", rows[1].run[0] = '\0',
    rows[1].count = 0;
    samples[0].claimed = 2, samples[2].claimed = 6, samples[2].other_text = true;
    samples[3].score.cheating = true, samples[3].rule = "input.mutated", samples[3].verdict = true;
    result.extra_baseline_count = 1;
    result.extra_baselines[0] =
        (kf_bench_extra_baseline){.name = "compiled", .measured = true, .hardware = ""};
    for (int i = 0; i < 4; i++)
        rows[i].versus[0] = (kf_bench_versus){{i == 0 ? 0.5 : NAN, NAN, NAN}, NAN, "no compiler"};
    assert_true(kf_bench_score(&result, &error));
    assert_true(result.judged == 3 && result.refused == 1 && result.score.solved == 2);
    assert_true(fabs(kf_score_fast(result.outcomes, 4, 1, 1, &result.scoring).value - 0.5) < 1e-12);
    assert_true(
        fabs(kf_score_fast(result.judged_outcomes, result.judged, 1, 1, &result.scoring).value -
             2.0 / 3) < 1e-12);
    assert_true(result.extra_baselines[0].known == 1 &&
                kf_bench_fast_extra(&result, 0, 1, false).value == 0);
    assert_true(fabs(kf_bench_fast_extra(&result, 0, 0.4, false).value - 0.25) < 1e-12);
    assert_true(fabs(kf_bench_fast_extra(&result, 0, 0.4, true).value - 1.0 / 3) < 1e-12);
    kf_bench_claims claims = kf_bench_claims_of(&result);
    assert_true(claims.count == 3 && claims.correct == 2 && claims.cheating == 1 &&
                claims.other_text == 1);
    assert_true(fabs(claims.claimed - sqrt(12)) < 1e-9 && fabs(claims.verified - sqrt(12)) < 1e-9 &&
                fabs(claims.ratio - 1) < 1e-9);
    assert_true(kf_bench_claim_ratio(&samples[2]) == 0.5 &&
                isnan(kf_bench_claim_ratio(&samples[3])));
    kf_autobuffer html = {0}, csv = {0}, markdown = {0};
    assert_true(kf_bench_html(&result, &html, &error));
    /* One figure has the same digits in the text and on the page. */
    char *printed = NULL;
    size_t printed_size;
    FILE *out = open_memstream(&printed, &printed_size);
    assert_non_null(out);
    kf_bench_print(&result, out, 200, false);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(printed, "3.46x where 3.46x was claimed"));
    assert_non_null(strstr(html.data, "3.46x where 3.46x was claimed"));
    free(printed);
    kf_bench_csv(&result, &csv);
    kf_bench_markdown(&result, &markdown);
    cJSON *json = kf_bench_json(&result);
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    static const char *const wanted[] = {"of all 4 problems", "of the 3 judged", "outputs.zero",
                                         "all zero",          "input.mutated",   "no compiler"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(html.data, wanted[i])) fail_msg("the page lacks \"%s\"", wanted[i]);
    static const char *const marked[] = {"of all 4 problems",
                                         "of the 3 judged",
                                         "outputs.zero",
                                         "input.mutated (1)",
                                         "1 refused by the import",
                                         "| 6.00x |",
                                         "| 0.50 |",
                                         "another text",
                                         "no compiler",
                                         "fast\\_1 against compiled"};
    for (size_t i = 0; i < sizeof marked / sizeof *marked; i++)
        if (!strstr(markdown.data, marked[i]))
            fail_msg("Markdown lacks \"%s\": %s", marked[i], markdown.data);
    assert_non_null(strstr(
        csv.data, "\"b\",,,\"\",refused,\"outputs.zero\",0,0,,,,0,,,,,,,,,,,,,\"all zero\",\r\n"));
    assert_non_null(strstr(csv.data, "claim_ratio"));
    assert_non_null(strstr(csv.data, ",\"speedup against compiled\"\r\n"));
    static const char *const said[] = {
        "\"judged\":3",
        "\"refused\":1",
        "\"refused\":{\"rule\":\"outputs.zero\",\"reason\":\"all zero\"}",
        "\"share_of_judged\"",
        "\"rules\":\"input.mutated (1)\"",
        "\"why\":\"no compiler\""};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(text, said[i])) fail_msg("JSON lacks %s: %s", said[i], text);
    cJSON_Delete(json);
    drop(&result);
}

/* Times of a file: by level and number, in milliseconds, and only for problems at their own sizes.
 */
static void times_of_a_file_are_another_baseline(void **state)
{
    (void)state;
    kf_autofree char *folder = kf_directory_temporary("kforge-times", NULL),
                     *path = kf_path_join(folder, "times.json");
    kf_bench_result result;
    kf_bench_row rows[4];
    kf_bench_sample samples[4];
    kf_score_sample scores[4];
    const double speedups[] = {4, 2, 3, NAN};
    kf_error error = {0};
    fill(&result, rows, samples, scores, speedups, 4);
    for (int i = 0; i < 4; i++)
        rows[i].level = 1, rows[i].problem = i + 1, rows[i].best.times.median = 0.001;
    rows[1].scaled = true;
    assert_true(kf_bench_score(&result, &error));
    write_text(folder, "times.json",
               "{\"level1\": {\"1_A.py\": {\"mean\": 1.5, \"hardware\": \"NVIDIA H100\"}, "
               "\"2_B.py\": {\"mean\": 9}, \"4_D.py\": "
               "{\"mean\": 9}}}");
    const kf_option_list files = {.items = {path}, .count = 1};
    if (!kf_bench_external_timings(&files, &result, &error)) fail_msg("%s", error.text);
    assert_true(result.extra_baseline_count == 1 && !result.extra_baselines[0].measured &&
                result.extra_baselines[0].known == 1);
    assert_string_equal(result.extra_baselines[0].hardware, "NVIDIA H100");
    assert_true(fabs(rows[0].versus[0].speedup.value - 1.5) < 1e-12 &&
                isnan(rows[0].versus[0].speedup.low));
    assert_non_null(strstr(rows[1].versus[0].why, "scaled"));
    assert_non_null(strstr(rows[2].versus[0].why, "no time"));
    kf_autobuffer markdown = {0};
    kf_bench_markdown(&result, &markdown);
    assert_non_null(strstr(markdown.data, "not measured here"));
    write_text(folder, "times.json", "{\"1_A.py\": 3}");
    assert_false(kf_bench_external_timings(&files, &result, &error));
    assert_non_null(strstr(error.text, "--baseline-times"));
    for (size_t i = 0; i < result.texts.count; i++) free(result.texts.items[i]);
    free(result.texts.items);
    drop(&result);
    kf_directory_remove(folder, NULL);
}

static void json_comes_back(void **state)
{
    (void)state;
    kf_bench_result result;
    kf_bench_row rows[4];
    kf_bench_sample samples[4];
    kf_score_sample scores[4];
    const double speedups[] = {0.5, NAN, 3, 4};
    fill(&result, rows, samples, scores, speedups, 4);
    kf_error error = {0};
    assert_true(kf_bench_score(&result, &error));
    cJSON *made = kf_bench_json(&result);
    kf_autofree char *text = cJSON_Print(made);
    cJSON *json = cJSON_Parse(text);
    cJSON_Delete(made);
    kf_autobenchresult again = {0};
    kf_bench_comparison comparison = {0};
    assert_true(kf_bench_read_json(json, "x", &again, &error));
    assert_true(kf_bench_compare(&result, &again, false, &comparison, &error));
    assert_true(comparison.count == 4 && comparison.both == 3 && comparison.gained == 0 &&
                comparison.lost == 0);
    assert_true(fabs(comparison.ratio.value - 1) < 1e-12 && comparison.faster == 0);
    assert_true(again.score.solved == 3 &&
                fabs(again.score.geometric_mean.value - result.score.geometric_mean.value) < 1e-12);
    kf_bench_comparison_clear(&comparison);
    cJSON_ReplaceItemInObject(json, "schema", cJSON_CreateString("kforge-bench-report/9"));
    kf_autobenchresult other = {0};
    assert_false(kf_bench_read_json(json, "x", &other, &error));
    cJSON_Delete(json);
    drop(&result);
}

static void comparisons_are_paired(void **state)
{
    (void)state;
    kf_bench_result before, after;
    kf_bench_row first[4], second[4];
    kf_bench_sample samples[8];
    kf_score_sample scores[8];
    const double was[] = {1, 2, NAN, 4}, is[] = {2, 2.01, 5, NAN};
    fill(&before, first, samples, scores, was, 4);
    fill(&after, second, samples + 4, scores + 4, is, 4);
    kf_error error = {0};
    kf_bench_comparison c = {0};
    assert_true(kf_bench_score(&before, &error) && kf_bench_score(&after, &error) &&
                kf_bench_compare(&before, &after, false, &c, &error));
    /* 2 and 2.01 overlap */
    assert_true(c.both == 2 && c.gained == 1 && c.lost == 1 && c.faster == 1 && c.slower == 0);
    assert_true(fabs(c.ratio.value - sqrt(2 * 1.005)) < 1e-9);
    assert_true(fabs(c.solved.value) < 1e-12 && c.solved.low < 0 && c.solved.high > 0);
    /* over 1: two of four before (1 is not), three after */
    assert_true(fabs(c.fast[1].value - 0.25) < 1e-12);
    kf_bench_comparison_clear(&c);
    second[0].task = second[1].task = second[2].task = second[3].task = "elsewhere";
    assert_false(kf_bench_compare(&before, &after, false, &c, &error));
    kf_bench_comparison_clear(&c);
    drop(&before);
    drop(&after);
}

/* A problem keeps its name and becomes another one: other sizes. And one is renamed. */
static void pairs_have_the_same_content(void **state)
{
    (void)state;
    kf_bench_result before, after;
    kf_bench_row first[4], second[4];
    kf_bench_sample samples[8];
    kf_score_sample scores[8];
    const double was[] = {1, 2, 3, 4}, is[] = {2, 4, 6, 8};
    fill(&before, first, samples, scores, was, 4);
    fill(&after, second, samples + 4, scores + 4, is, 4);
    kf_error error = {0};
    kf_bench_comparison c = {0};
    /* other content */
    snprintf(first[0].hash, sizeof first[0].hash, "aa"),
        snprintf(second[0].hash, sizeof second[0].hash, "bb");
    /* renamed */
    snprintf(first[1].hash, sizeof first[1].hash, "cc"),
        snprintf(second[1].hash, sizeof second[1].hash, "cc");
    second[1].task = "renamed";
    snprintf(first[2].hash, sizeof first[2].hash, "dd"); /* of the other nothing is known */
    assert_true(kf_bench_score(&before, &error) && kf_bench_score(&after, &error));
    assert_true(kf_bench_compare(&before, &after, false, &c, &error));
    assert_true(c.count == 3 && c.other == 1 && c.by_name == 2 && c.only_before == 0 &&
                c.only_after == 0);
    assert_string_equal(c.other_name, "a");
    assert_true(!c.pairs[0].by_name && strcmp(c.pairs[0].after->task, "renamed") == 0 &&
                c.pairs[1].by_name);
    kf_bench_comparison_clear(&c);
    assert_true(kf_bench_compare(&before, &after, true, &c, &error));
    assert_true(c.count == 4 && c.other == 0 && c.by_name == 3);
    kf_bench_comparison_clear(&c);
    before.count = after.count = 1;
    assert_false(kf_bench_compare(&before, &after, false, &c, &error));
    assert_non_null(strstr(error.text, "--by-name"));
    kf_bench_comparison_clear(&c);
    drop(&before);
    drop(&after);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_of_tasks_is_a_suite),
        cmocka_unit_test(suite_json_names_tasks_and_faults_stay_with_their_task),
        cmocka_unit_test(an_import_tells_of_what_it_refused),
        cmocka_unit_test(a_model_for_each_task),
        cmocka_unit_test(names_of_kernelbench),
        cmocka_unit_test(solutions_are_found),
        cmocka_unit_test(releases_say_what_they_were_written_for),
        cmocka_unit_test(texts_stay_texts),
        cmocka_unit_test(what_is_faster_by_chance_is_told_apart),
        cmocka_unit_test(denominators_claims_and_other_baselines),
        cmocka_unit_test(times_of_a_file_are_another_baseline),
        cmocka_unit_test(json_comes_back),
        cmocka_unit_test(comparisons_are_paired),
        cmocka_unit_test(pairs_have_the_same_content),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
