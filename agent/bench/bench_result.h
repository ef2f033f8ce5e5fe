/* What a bench has come to: read from the store (or from a report that --json wrote), scored, and
 * written in the forms that people and programs read. Reading never changes anything, so a report
 * can be made while the bench still runs.
 *
 * All texts belong to the result (kf_bench_text) and hold what candidates, compilers and files
 * said, as valid UTF-8 on one line; each form escapes them in its own way. Figures that are not
 * known are NaN.
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

#define KF_BENCH_REPORT_SCHEMA "kforge-bench-report/1"
#define KF_BENCH_FAST 16  /* most thresholds of fast_p */
#define KF_BENCH_ROOFS 16 /* most workloads of a problem that are drawn */
#define KF_BENCH_OTHERS 6 /* most further baselines of a report */

/* Times of one call of a candidate or baseline, over the batches of its first timed workload.
 * Seconds. */
typedef struct kf_bench_times {
    double median, mean, deviation, least, most;
    int64_t batches;
} kf_bench_times;

/* One attempt at a problem. */
typedef struct kf_bench_sample {
    const char *label; /* "sample 3", or the file that it came from */
    /* of the verdict, or "no_source", "bad_edit", "rejected", "lost", "not_judged" */
    const char *status;
    /* of the first finding; of a correct one KF_FLAG_FROZEN, KF_FLAG_TF32 or KF_FLAG_FULL_F32; ""
     * none */
    const char *rule;
    const char *text; /* one line: what was found, or why it was not judged */
    const char *proposer;
    char hash[KF_HASH_HEX]; /* of the candidate, "" none */
    int64_t candidate, model_call;
    int64_t number; /* which of the solutions it is, from 0 */
    kf_interval speedup;
    bool reverified, verdict, python;
    double claimed; /* speedup that its author claims */
    /* its author had another text of the problem than the task has: the claim is for that one */
    bool other_text;
    /* What KernelBench's own protocol says of a solution in Python: a claim of the solution's
     * process. */
    bool kernelbench, kernelbench_correct;
    double kernelbench_speedup;
    double build_seconds, judge_seconds;
    kf_bench_times times, baseline_times;
    kf_score_sample score;
} kf_bench_sample;

/* A timed workload of the best candidate against the device's limits. */
typedef struct kf_bench_roof {
    const char *workload;
    /* of a call, by the task; the flops of an imported one by its reference. 0 not known */
    double bytes, flops;
    double seconds, floor_seconds;
} kf_bench_roof;

/* The best candidate against another baseline than the bench's own: measured again beside it, or
 * set against a time that a file gives. */
typedef struct kf_bench_versus {
    kf_interval speedup; /* NaN: not known. Without limits where a file's time was taken */
    double seconds;      /* of the baseline; NaN */
    const char *why;     /* of a solved problem: what kept it from being measured; "" */
} kf_bench_versus;

typedef struct kf_bench_other {
    const char *name;     /* of the tasks' baseline; or of the file */
    bool measured;        /* here, by the judge; else they are the words of a file */
    const char *hardware; /* that the file's times were taken on, as it says; "" */
    size_t known;         /* solved problems with a figure */
} kf_bench_other;

typedef struct kf_bench_row {
    const char *task;
    const char *fault; /* "" none: why it could not be judged at all */
    /* the import refused it by this rule, for the reason `fault`; "": it did not */
    const char *rule;
    char hash[KF_HASH_HEX]; /* of the task's content; "" not known */
    bool scaled;            /* its shapes are not the problem's own */
    const char *state;      /* of its run: "finished", "interrupted", …, "not begun" */
    char run[KF_RUN_ID];
    int64_t level, problem;
    kf_bench_sample *samples;
    kf_score_sample *scores; /* of the samples, in their order */
    size_t count;
    kf_bench_sample best;    /* the fastest correct one; its `candidate` is 0 where there is none */
    kf_score_sample outcome; /* of the search as a whole */
    const char *statuses;    /* "2 correct, 1 wrong_result" */
    kf_bench_roof roofs[KF_BENCH_ROOFS];
    size_t roof_count;
    kf_bench_versus others[KF_BENCH_OTHERS]; /* in the order of the result's */
    double cost_usd, device_seconds;
    int64_t calls, tokens;
} kf_bench_row;

typedef struct kf_bench_result {
    char id[KF_RUN_ID];
    const char *name, *suite, *source, *device, *models, *strategy, *baseline;
    const char *imported; /* where the suite's problems come from, "" where it does not say */
    int64_t samples;      /* asked for a problem; 0: not by number */
    bool independent;     /* samples are independent draws: pass@k means something */
    double started;
    double bytes_per_second; /* of the device's memory, measured */
    double fast[KF_BENCH_FAST];
    size_t fast_count;
    kf_bench_row *rows;
    size_t count;
    kf_bench_other others[KF_BENCH_OTHERS];
    size_t other_count;
    /* Scores. `problems`: all samples; `outcomes`: the same where they are independent, else one a
     * search. Of each the part that was judged lies behind all of them: `judged` problems, which
     * have a run; the others were refused by the import, can't be loaded, or were not begun. */
    kf_score_problem *problems, *outcomes;
    const kf_score_problem *judged_problems, *judged_outcomes;
    size_t judged, refused;
    kf_score score;
    size_t surely_faster; /* problems whose best correct sample has its whole interval above 1 */
    size_t frozen;        /* correct samples with frozen weights */
    kf_score_options scoring;
    double cost_usd, device_seconds;
    int64_t calls, tokens;
    char **texts;
    size_t text_count;
    bool failed; /* out of memory for a text */
} kf_bench_result;

/* A cleaned copy that lives as long as the result; "" for NULL. */
const char *kf_bench_text(kf_bench_result *result, const char *text);
void kf_bench_result_clear(kf_bench_result *result);
#define kf_autobenchresult __attribute__((cleanup(kf_bench_result_clear))) kf_bench_result

/* ---- reading --------------------------------------------------------------------------------- */

/* `fast`: thresholds of fast_p as texts; none: KernelBench's 0, 0.5, 0.8, 1, 1.5, 2. */
bool kf_bench_thresholds(const kf_option_list *fast, kf_bench_result *result, kf_error *error);
/* bench_result.c */
bool kf_bench_load(kf_store *store, const char *id, kf_bench_result *result, kf_error *error);
/* Once the rows are complete: samples into problems, and all scores. */
bool kf_bench_score(kf_bench_result *result, kf_error *error);
/* fast_p of the best of each problem against another baseline; a solved problem without a figure is
 * not fast. NaN where no figure is known. */
kf_interval kf_bench_fast_other(const kf_bench_result *result, size_t other, double p, bool judged);
/* Adds files in the form of KernelBench's baseline_time_….json as further baselines
 * (bench_external_timings.c): times in milliseconds that somebody else has measured, for problems
 * of the same level and number, at their own sizes only. After kf_bench_load. KF_ERROR_INPUT: a
 * file is none. */
bool kf_bench_external_timings(const kf_option_list *files, kf_bench_result *result,
                               kf_error *error);
/* What `kforge bench … --json` wrote, as far as a comparison needs it (bench_json.c). `where` names
 * it in errors. */
bool kf_bench_read_json(const cJSON *json, const char *where, kf_bench_result *result,
                        kf_error *error);

/* ---- claims (bench_claims.c) ----------------------------------------------------------------- */

typedef struct kf_bench_claims {
    /* samples whose author claims a speedup; those with a verdict; of these */
    size_t count, judged, correct, cheating;
    size_t other_text; /* whose author had another text of the problem */
    /* geometric mean of all claims, as their authors would have it */
    double all;
    /* geometric means over the correct ones, and verified / claimed; NaN */
    double claimed, verified, ratio;
} kf_bench_claims;
kf_bench_claims kf_bench_claims_of(const kf_bench_result *result);
/* verified / claimed; NaN unless it is correct and there is a claim */
double kf_bench_claim_ratio(const kf_bench_sample *sample);
/* cheating, or faster than the device can be */
bool kf_bench_is_cheat(const kf_bench_sample *sample);
/* "output.mismatch (2), input.mutated (1)": the rules by which samples were found not to be
 * correct, and how often. */
void kf_bench_broken_rules(const kf_bench_result *result, kf_buffer *out);

/* ---- writing --------------------------------------------------------------------------------- */

/* NULL when out of memory */
cJSON *kf_bench_json(const kf_bench_result *result);
/* table and scores for a terminal */
void kf_bench_print(const kf_bench_result *result, FILE *out, int width, bool bold);
/* a line a sample (RFC 4180) */
void kf_bench_csv(const kf_bench_result *result, kf_buffer *out);
void kf_bench_markdown(const kf_bench_result *result, kf_buffer *out);
/* bench_html.c */
bool kf_bench_html(const kf_bench_result *result, kf_buffer *out, kf_error *error);
/* eval_results.json and eval_results_analysis.json of KernelBench, as its own programs write them,
 * for rows with a problem number. */
bool kf_bench_kernelbench(const kf_bench_result *result, const char *folder, kf_error *error);
/* The error of a bench without such a row; false. */
bool kf_bench_no_origin(kf_error *error);

/* Files that a report is written to; what `bench` and `bench report` share. */
typedef struct kf_bench_outputs {
    const char *html, *csv, *markdown, *kernelbench;
    kf_option_list fast, times;
    bool json;
} kf_bench_outputs;
/* Before anything is judged: can the files be written, and those that are read be read? Writes
 * nothing. */
bool kf_bench_outputs_check(const kf_bench_outputs *outputs, kf_error *error);
/* Writes all of them, folders above them that are missing too, and text or JSON to the output. */
bool kf_bench_write(const kf_bench_result *result, const kf_bench_outputs *outputs,
                    const kf_invocation *invocation, kf_error *error);

#define KF_ROWS_BENCH_OUTPUTS(SETTINGS)                                                            \
    {.name = "html",                                                                               \
     .type = KF_OPTION_PATH,                                                                       \
     .argument = "FILE",                                                                           \
     .offset = offsetof(SETTINGS, outputs.html),                                                   \
     .help = "Write the report as one HTML page that needs nothing else."},                        \
        {.name = "csv",                                                                            \
         .type = KF_OPTION_PATH,                                                                   \
         .argument = "FILE",                                                                       \
         .offset = offsetof(SETTINGS, outputs.csv),                                                \
         .help = "Write a line a sample as CSV."},                                                 \
        {.name = "md",                                                                             \
         .type = KF_OPTION_PATH,                                                                   \
         .argument = "FILE",                                                                       \
         .offset = offsetof(SETTINGS, outputs.markdown),                                           \
         .help = "Write the report as Markdown."},                                                 \
        {.name = "kernelbench",                                                                    \
         .type = KF_OPTION_PATH,                                                                   \
         .argument = "DIR",                                                                        \
         .offset = offsetof(SETTINGS, outputs.kernelbench),                                        \
         .help = "Write eval_results.json and eval_results_analysis.json as KernelBench does, "    \
                 "for problems that come from there."},                                            \
        {.name = "fast",                                                                           \
         .type = KF_OPTION_LIST,                                                                   \
         .argument = "P",                                                                          \
         .offset = offsetof(SETTINGS, outputs.fast),                                               \
         .help = "A threshold of fast_p; may be given again. Default 0, 0.5, 0.8, 1, 1.5 and 2."}, \
        {.name = "baseline-times",                                                                 \
         .type = KF_OPTION_LIST,                                                                   \
         .argument = "FILE",                                                                       \
         .offset = offsetof(SETTINGS, outputs.times),                                              \
         .help = "Set the best of each problem against times that others have measured, as well: " \
                 "a baseline_time_….json of "                                                    \
                 "KernelBench; marked as not measured here. May be given again."},                 \
    {                                                                                              \
        .name = "json", .type = KF_OPTION_FLAG, .offset = offsetof(SETTINGS, outputs.json),        \
        .help = "Write one JSON value instead of text."                                            \
    }

#endif
