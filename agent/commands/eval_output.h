/* What `kforge eval` prints: each verdict in two lines or with all details, the ranking of several
 * candidates, and the present step. */
#ifndef KFORGE_EVAL_OUTPUT_H
#define KFORGE_EVAL_OUTPUT_H

#include "output.h"

typedef struct kf_eval_result {
    /* Borrowed. */
    const char *name;
    bool is_file;
    /* Owned. NULL until it is judged. */
    kf_verdict *verdict;
    /* In the store; 0: not stored. */
    int64_t stored;
} kf_eval_result;

typedef struct kf_eval_style {
    bool verbose, quiet;
    /* Counters and sanitizers were asked for. */
    bool counters, sanitizer;
    /* The results are right and nothing was to be timed: there is no next step. */
    bool check_only;
    const char *store;
    /* "kforge eval TASK CANDIDATE OPTION…" that judges this one again, and with more time; "": not
     * known. `address`: without the options that exclude --asan; "": addresses were checked */
    const char *again, *longer, *address;
} kf_eval_style;

void kf_eval_print(const kf_view *view, const kf_eval_result *result, const kf_eval_style *style);
/* Prints one row a candidate: measured twice first, then by the lower end of the interval. */
void kf_eval_print_ranking(const kf_view *view, const kf_eval_result *results, size_t count);
/* Prints JSON in one line. */
bool kf_eval_print_line(FILE *out, const cJSON *json, kf_error *error);
/* Shows the present step: a line that is redrawn on a terminal, else a line of its own if `lines`.
 * "" removes the line. Remembers the last step in `last`. */
void kf_eval_show_step(const kf_invocation *invocation, bool lines, const char *step,
                       char last[128]);

#endif
