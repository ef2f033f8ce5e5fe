/* The result of a bench: read from the store (or from a report that --json wrote), scored, and
 * written as text, JSON, CSV, Markdown, HTML or the files of KernelBench. Reading changes nothing,
 * so a report can be made while the bench still runs.
 *
 * All texts belong to the result (kf_bench_text). They come from candidates, compilers and files,
 * are valid UTF-8 and one line each. Each output form escapes them in its own way. Unknown figures
 * are NaN.
 */
#ifndef KFORGE_AGENT_BENCH_RESULT_H
#define KFORGE_AGENT_BENCH_RESULT_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "command.h"
#include "kforge/buffer.h"
#include "kforge/hash.h"
#include "kforge/score.h"
#include "kforge/store.h"

#define KF_BENCH_REPORT_SCHEMA "kforge-bench-report/2"
/* Of older versions: times in seconds, candidates as numbers. */
#define KF_BENCH_REPORT_SCHEMA_1 "kforge-bench-report/1"
/* maximum of thresholds of fast_p */
#define KF_BENCH_FAST 16
/* maximum of workloads of a problem in the roofline */
#define KF_BENCH_ROOFS 16
/* maximum of extra baselines of a report */
#define KF_BENCH_EXTRA_BASELINES 6

/* Times of one call of a candidate or baseline, over the batches of its first timed workload.
 * Seconds. */
typedef struct kf_bench_times {
    double median, mean, deviation, least, most;
    int64_t batches;
} kf_bench_times;

/* Parts of the device time of a correct sample (evaluator/verdict/device_work.h). */
typedef struct kf_bench_work {
    double own, library, framework, copies;
    /* "93 % own kernels, 7 % cuBLAS". NULL or "" if nothing was measured; the parts are NaN then */
    const char *words;
} kf_bench_work;

static inline bool kf_bench_knows(const kf_bench_work *work)
{
    return work->words && *work->words;
}

/* One attempt at a problem. */
typedef struct kf_bench_sample {
    /* "sample 3", or the file of the solution */
    const char *label;
    /* of the verdict, or "no_source", "bad_edit", "rejected", "lost", "not_judged" */
    const char *status;
    /* rule of the first finding. Of a correct sample: KF_FLAG_FROZEN, KF_FLAG_TF32,
     * KF_FLAG_FULL_F32 or "". */
    const char *rule;
    /* text of the finding, or the reason why the sample was not judged */
    const char *text;
    const char *proposer;
    /* of the candidate; "" without a candidate */
    char hash[KF_HASH_HEX];
    int64_t candidate, model_call;
    /* index of the solution, from 0 */
    int64_t number;
    kf_interval speedup;
    /* of a correct sample: whether it generalises, in words (kf_verdict_generalises); or "" */
    const char *generalises;
    bool reverified, verdict, python;
    /* speedup that the author of the solution claims */
    double claimed;
    /* True if the author's problem text differs from the task's. The claim is for that text. */
    bool other_text;
    /* Result of KernelBench's own protocol for a solution in Python, as the process of the
     * solution reports it. */
    bool kernelbench, kernelbench_correct;
    double kernelbench_speedup;
    double build_seconds, judge_seconds;
    kf_bench_times times, baseline_times;
    kf_bench_work work;
    kf_score_sample score;
} kf_bench_sample;

/* A timed workload of the best candidate, compared with the limits of the device. */
typedef struct kf_bench_roof {
    const char *workload;
    /* of a call, by the task. The operations of an imported problem are its reference's. 0 if
     * unknown. */
    double bytes, flops;
    double seconds, floor_seconds;
} kf_bench_roof;

/* The best candidate of a problem compared with an extra baseline. The judge measures both again,
 * or a file gives the baseline's time. */
typedef struct kf_bench_versus {
    /* NaN if unknown. Without limits if the baseline's time comes from a file. */
    kf_interval speedup;
    /* time of the baseline; NaN if unknown */
    double seconds;
    /* of a solved problem: the reason for a missing measurement; or "" */
    const char *why;
} kf_bench_versus;

/* A baseline in addition to the bench's own. */
typedef struct kf_bench_extra_baseline {
    /* of the tasks' baseline, or of the file */
    const char *name;
    /* True if the judge measured it here. False if its times come from a file. */
    bool measured;
    /* hardware that the file names; or "" */
    const char *hardware;
    /* number of solved problems with a figure */
    size_t known;
} kf_bench_extra_baseline;

/* Cost of one run, or of all of them. */
typedef struct kf_bench_spent {
    double cost_usd, device_seconds;
    /* unpriced: calls of which the cost is unknown */
    int64_t calls, tokens, unpriced;
} kf_bench_spent;

/* One problem of the bench. */
typedef struct kf_bench_row {
    const char *task;
    /* the reason why the problem could not be judged at all; or "" */
    const char *fault;
    /* rule by which the import refused the problem, with the reason in `fault`; or "" */
    const char *rule;
    /* of the task's content; "" if unknown */
    char hash[KF_HASH_HEX];
    /* True if the import scaled the shapes of the problem */
    bool scaled;
    /* True if the task lets results of calls share memory */
    bool aliasing;
    /* of its run: "finished", "interrupted", …, "not begun" */
    const char *state;
    char run[KF_RUN_ID];
    int64_t level, problem;
    kf_bench_sample *samples;
    /* scores of the samples, in their order */
    kf_score_sample *scores;
    size_t count;
    /* the fastest correct sample. `best.candidate` is 0 if no sample is correct. */
    kf_bench_sample best;
    /* score of the search as a whole */
    kf_score_sample outcome;
    /* "2 correct, 1 wrong_result" */
    const char *statuses;
    kf_bench_roof roofs[KF_BENCH_ROOFS];
    size_t roof_count;
    /* in the order of the result's extra_baselines */
    kf_bench_versus versus[KF_BENCH_EXTRA_BASELINES];
    kf_bench_spent spent;
} kf_bench_row;

/* The settings of the bench and the machine. */
typedef struct kf_bench_setup {
    const char *name, *suite, *source, *device, *models, *strategy, *baseline;
    /* origin of the suite's problems; "" if unknown */
    const char *imported;
    /* wanted samples of a problem. 0 if the bench has no limit of samples. */
    int64_t samples;
    /* True if samples are independent draws, so that pass@k has a meaning */
    bool independent;
    double started;
    /* measured bandwidth of the device's memory, and its nominal arithmetic; NaN if unknown */
    double bytes_per_second, flops_per_second;
} kf_bench_setup;

/* The texts of a result. */
typedef struct kf_bench_texts {
    char **items;
    size_t count;
    /* True if memory for a text was lacking */
    bool failed;
} kf_bench_texts;

typedef struct kf_bench_result {
    char id[KF_RUN_ID];
    kf_bench_setup setup;
    /* thresholds of fast_p */
    double fast[KF_BENCH_FAST];
    size_t fast_count;
    /* A correct sample counts as solved only with at least this part of its device time in its own
     * kernels. 0: no such rule. Set it before kf_bench_load. */
    double own_work;
    kf_bench_row *rows;
    size_t count;
    kf_bench_extra_baseline extra_baselines[KF_BENCH_EXTRA_BASELINES];
    size_t extra_baseline_count;
    /* Scores. `problems` has all samples of each problem. `outcomes` is the same if samples are
     * independent, else it has one outcome for each search. In both arrays the `judged` problems
     * that have a run are repeated behind the `count` problems: `judged_…` points there. The other
     * problems were refused by the import, can't be loaded, or were not begun. */
    kf_score_problem *problems, *outcomes;
    const kf_score_problem *judged_problems, *judged_outcomes;
    size_t judged, refused;
    kf_score score;
    /* problems with a best sample that has its whole interval above 1 */
    size_t surely_faster;
    /* correct samples with frozen weights */
    size_t frozen;
    kf_score_options scoring;
    /* for the texts behind samples; borrowed, or NULL */
    kf_store *store;
    kf_bench_spent spent;
    kf_bench_texts texts;
} kf_bench_result;

/* Returns a cleaned copy that lives as long as the result; "" for NULL. */
const char *kf_bench_text(kf_bench_result *result, const char *text);
/* Frees everything that the result owns and fills it with zeros. */
void kf_bench_result_clear(kf_bench_result *result);
#define kf_autobenchresult __attribute__((cleanup(kf_bench_result_clear))) kf_bench_result

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads thresholds of fast_p. An empty list stands for KernelBench's 0, 0.5, 0.8, 1, 1.5, 2. */
bool kf_bench_thresholds(const kf_option_list *fast, kf_bench_result *result, kf_error *error);
/* Reads the bench `id` from the store and scores it (bench_result.c). */
bool kf_bench_load(kf_store *store, const char *id, kf_bench_result *result, kf_error *error);
/* Reads what the report will say of one run: its best ("1.24x [1.20, 1.28]", or "-") and its
 * samples ("2 correct, 1 wrong_result", or "none"). */
bool kf_bench_run_words(kf_store *store, const char *run, kf_buffer *words, kf_error *error);
/* Computes all scores from complete rows. */
bool kf_bench_score(kf_bench_result *result, kf_error *error);
/* Returns fast_p of the best samples against an extra baseline. A solved problem without a figure
 * is not fast. NaN if no figure is known. */
kf_interval kf_bench_fast_extra(const kf_bench_result *result, size_t extra, double p, bool judged);
/* Adds the times of files in the form of KernelBench's baseline_time_….json as extra baselines
 * (bench_external_timings.c). The times are in milliseconds. They apply to problems of the same
 * level and number at their own sizes. Call it after kf_bench_load. KF_ERROR_INPUT if a file has
 * another form. */
bool kf_bench_external_timings(const kf_option_list *files, kf_bench_result *result,
                               kf_error *error);
/* Reads the JSON that `kforge bench … --json` wrote, as far as a comparison needs it
 * (bench_json.c). `where` names the file in errors. */
bool kf_bench_read_json(const cJSON *json, const char *where, kf_bench_result *result,
                        kf_error *error);

/* ---- claims (bench_claims.c) ----------------------------------------------------------------- */

typedef struct kf_bench_claims {
    /* samples with a claimed speedup, and how many of them have a verdict, are correct, cheat */
    size_t count, judged, correct, cheating;
    /* samples with a claim for another text of the problem */
    size_t other_text;
    /* geometric mean of all claims */
    double all;
    /* geometric means over the correct samples, and verified / claimed; NaN if unknown */
    double claimed, verified, ratio;
} kf_bench_claims;
kf_bench_claims kf_bench_claims_of(const kf_bench_result *result);
/* Returns verified / claimed. NaN unless the sample is correct and has a claim. */
double kf_bench_claim_ratio(const kf_bench_sample *sample);
/* True if the sample cheats, or is faster than the device can be. */
bool kf_bench_is_cheat(const kf_bench_sample *sample);
/* Appends the rules that incorrect samples broke, with their counts: "output.mismatch (2),
 * input.mutated (1)". */
void kf_bench_broken_rules(const kf_bench_result *result, kf_buffer *out);

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns NULL without memory. */
cJSON *kf_bench_json(const kf_bench_result *result);
/* True if the origin of a best sample's device time is known. */
bool kf_bench_has_work(const kf_bench_result *result);
/* Writes how many samples count: "5, all of which count" (bench_report.c). */
void kf_bench_sample_words(const kf_bench_result *result, char *words, size_t size);
/* Writes a share of the samples: "2 of 3, " before its percentage. */
void kf_bench_count_words(const kf_bench_result *result, size_t count, char *words, size_t size);
/* Returns the largest meaningful k of pass@k. */
size_t kf_bench_most_samples(const kf_bench_result *result);
/* Returns the next k of pass@k after `k`: 1, 5, all samples. 0 after the last. All forms of the
 * report list these. */
size_t kf_bench_next_k(size_t k, size_t most);
/* Prints table and scores for a terminal. */
void kf_bench_print(const kf_bench_result *result, FILE *out, int width, bool bold);
/* Writes one line for each sample (RFC 4180). */
void kf_bench_csv(const kf_bench_result *result, kf_buffer *out);
void kf_bench_markdown(const kf_bench_result *result, kf_buffer *out);
/* Writes one HTML page (bench_html.c). */
bool kf_bench_html(const kf_bench_result *result, kf_buffer *out, kf_error *error);
/* Writes eval_results.json and eval_results_analysis.json in KernelBench's own form, for rows with
 * a problem number. */
bool kf_bench_kernelbench(const kf_bench_result *result, const char *folder, kf_error *error);
/* Fails with the error of a bench without a problem number. Returns false. */
bool kf_bench_no_origin(kf_error *error);

/* The output options that `bench` and `bench report` share. */
typedef struct kf_bench_outputs {
    const char *html, *csv, *markdown, *kernelbench;
    kf_option_list fast, times;
    double own_work;
    bool json;
} kf_bench_outputs;
/* Reads the options that decide what counts: --fast and --own-work. Call it before
 * kf_bench_load. */
bool kf_bench_rules(const kf_bench_outputs *outputs, kf_bench_result *result, kf_error *error);
/* True if the output files can be written and the input files be read. Writes nothing. Call it
 * before judging. */
bool kf_bench_outputs_check(const kf_bench_outputs *outputs, kf_error *error);
/* Writes all files, with missing folders above them, and text or JSON to the standard output. */
bool kf_bench_write(const kf_bench_result *result, const kf_bench_outputs *outputs,
                    const kf_invocation *invocation, kf_error *error);

#define KF_ROWS_BENCH_OUTPUTS(SETTINGS)                                                           \
    {KF_OPTION(PATH, "html", "FILE", SETTINGS, outputs.html),                                     \
     .help = "Write the report as one self-contained HTML page."},                                \
        {KF_OPTION(PATH, "csv", "FILE", SETTINGS, outputs.csv),                                   \
         .help = "Write one line for each sample as CSV."},                                       \
        {KF_OPTION(PATH, "md", "FILE", SETTINGS, outputs.markdown),                               \
         .help = "Write the report as Markdown."},                                                \
        {KF_OPTION(PATH, "kernelbench", "DIR", SETTINGS, outputs.kernelbench),                    \
         .help = "Write KernelBench's eval_results.json and eval_results_analysis.json, for its " \
                 "problems."},                                                                    \
        {KF_OPTION(LIST, "fast", "P", SETTINGS, outputs.fast),                                    \
         .help = "A threshold of fast_p. Default 0, 0.5, 0.8, 1, 1.5, 2."},                       \
        {KF_OPTION(LIST, "baseline-times", "FILE", SETTINGS, outputs.times),                      \
         .help = "Also compare with times from another machine: a baseline_time_….json of "     \
                 "KernelBench."},                                                                 \
        {KF_OPTION(NUMBER, "own-work", "P", SETTINGS, outputs.own_work), .low = 0, .high = 1,     \
         .help = "Count a correct sample as solved only if at least this part of its device "     \
                 "time, 0 to 1, is in its own kernels. Samples without counters do not count."},  \
    {                                                                                             \
        KF_OPTION(FLAG, "json", NULL, SETTINGS, outputs.json),                                    \
            .help = "Write one JSON value instead of text."                                       \
    }

#endif
