#include "eval_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/scan.h"
#include "shell_command.h"
#include "show.h"
#include "table.h"
#include "terminal.h"
#include "verdict_brief.h"

/* ---- one candidate --------------------------------------------------------------------------- */

static void print_head(const kf_view *view, const kf_eval_result *result)
{
    const kf_verdict *v = result->verdict;
    char speedup[KF_FIGURE], interval[KF_FIGURE];
    kf_source_error errors[KF_BRIEF_ERRORS + 1];
    fprintf(view->out, "%s: ", result->name);
    size_t count = kf_verdict_errors(v, errors, KF_BRIEF_ERRORS + 1);
    int pairs = 0;
    for (size_t i = 0; i < v->workload_count; i++) pairs += v->workloads[i].pairs;
    if (v->status == KF_CORRECT && !isnan(v->speedup.value)) {
        fprintf(view->out, "correct, speedup %s %s%s", kf_figure_speedup(v->speedup, speedup),
                kf_figure_interval(v->speedup, interval), v->reverified ? ", measured twice" : "");
    } else if (v->status == KF_CORRECT) {
        fprintf(view->out, "correct%s", pairs ? ", speed not measured" : "");
    } else if (count) {
        fprintf(view->out, "%s", kf_status_name(v->status));
    } else {
        kf_autofree char *summary = kf_verdict_summary(v);
        kf_autofree char *named = summary ? kf_show_named(view, summary) : NULL;
        fprintf(view->out, "%s", named ? named : kf_status_name(v->status));
    }
    if (result->stored) fprintf(view->out, " (stored as c%lld)", (long long)result->stored);
    fputc('\n', view->out);
    kf_autofree char *general = v->status == KF_CORRECT ? kf_verdict_generalises(v, true) : NULL;
    if (general && *general) fprintf(view->out, "generalises: %s\n", general);
}

/* Prints a warning if a candidate is right on the CPU device and fails on a GPU. */
static void print_host_access(const kf_view *view, const kf_verdict *verdict)
{
    const size_t prefix = sizeof KF_SCAN_HOST_ACCESS; /* and a colon */
    for (size_t i = 0; i < verdict->flag_count; i++) {
        const char *flag = verdict->flags[i], *name = strrchr(flag, ':');
        if (strncmp(flag, KF_SCAN_HOST_ACCESS ":", prefix) != 0) continue;
        fprintf(view->out,
                "warning: line %.*s accesses %s on the host. On a GPU it is device memory, and the "
                "call fails. Access it in a kernel.\n",
                (int)(name - flag - (ptrdiff_t)prefix), flag + prefix, name + 1);
    }
}

/* Prints the next step, and behind it the command that carries it out. */
static void print_next(const kf_view *view, const kf_verdict *verdict, const kf_eval_style *style,
                       const char *next)
{
    kf_next_action action = *style->again ? kf_verdict_next_action(verdict) : KF_NEXT_NOTHING;
    /* The CPU device has no counters. The times of each workload are what it can show. */
    bool on_cpu = strncmp(verdict->device, "cpu", 3) == 0;
    if (!next || !next[0]) return;
    fprintf(view->out, "next: %s", next);
    if (action == KF_NEXT_TIME) fprintf(view->out, " Run: %s", style->again);
    if (action == KF_NEXT_LONGER) fprintf(view->out, " Run: %s", style->longer);
    if (action == KF_NEXT_PROFILE && !(on_cpu ? style->verbose : style->counters))
        fprintf(view->out, " Run: %s %s", style->again, on_cpu ? "--verbose" : "--counters all");
    if (action == KF_NEXT_ADDRESS && *style->address)
        fprintf(view->out, " Run: %s --asan", style->address);
    fputc('\n', view->out);
}

void kf_eval_print(const kf_view *screen, const kf_eval_result *result, const kf_eval_style *style)
{
    const kf_verdict *verdict = result->verdict;
    kf_view view = *screen;
    if (result->is_file) view.source_name = result->name;
    print_head(&view, result);
    if (style->quiet) return;
    kf_show_build_log(&view, verdict);
    if (verdict->blame != KF_BLAME_NOBODY && verdict->blame != KF_BLAME_CANDIDATE)
        fprintf(view.out, "the fault is the %s's, not the candidate's\n",
                kf_blame_name(verdict->blame));
    print_host_access(&view, verdict);
    kf_autofree char *next =
        verdict->status != KF_CORRECT || !style->check_only ? kf_verdict_next(verdict) : NULL;
    print_next(&view, verdict, style, next);
    view.said = next;
    if (!style->verbose) {
        if (style->sanitizer) kf_show_sanitizer(&view, verdict);
        if (style->counters) kf_show_counters(&view, verdict);
        return;
    }
    kf_show_verdict(&view, verdict);
    if (!result->stored) return;
    kf_autobuffer rest = {0};
    if (style->store) kf_command_append_option(&rest, "store", style->store);
    fprintf(view.out, "\nall of it: kforge show c%lld%s\n", (long long)result->stored,
            rest.data ? rest.data : "");
}

/* ---- several candidates ---------------------------------------------------------------------- */

/* Returns the figure that ranks a candidate: the lower end, or the value without an interval. */
static double rank_figure(const kf_eval_result *result)
{
    const kf_interval *s = &result->verdict->speedup;
    if (result->verdict->status != KF_CORRECT) return -2;
    return isnan(s->value) ? -1 : isnan(s->low) ? 0 : s->low;
}

static int compare_results(const void *left, const void *right)
{
    const kf_eval_result *a = *(const kf_eval_result *const *)left,
                         *b = *(const kf_eval_result *const *)right;
    double x = rank_figure(a), y = rank_figure(b);
    bool a_twice = x > -1 && a->verdict->reverified, b_twice = y > -1 && b->verdict->reverified;
    if (a_twice != b_twice) return a_twice ? -1 : 1;
    if (x != y) return x > y ? -1 : 1;
    return (a > b) - (a < b);
}

static bool overlaps(const kf_verdict *a, const kf_verdict *b)
{
    return a->speedup.low <= b->speedup.high && b->speedup.low <= a->speedup.high;
}

static void add_row(kf_table *table, const kf_eval_result *result, const kf_eval_result *above,
                    int rank, bool *tied)
{
    const kf_verdict *v = result->verdict;
    char figure[KF_FIGURE];
    bool timed = v->status == KF_CORRECT && !isnan(v->speedup.value);
    bool same = timed && above && overlaps(v, above->verdict);
    *tied = *tied || same;
    kf_table_cell(table, timed ? "%d%s" : "", rank, same ? " =" : "");
    kf_table_cell(table, "%s", result->name);
    kf_table_cell(table, "%s", kf_status_name(v->status));
    kf_table_cell(table, "%s", timed ? kf_figure_speedup(v->speedup, figure) : "");
    kf_table_cell(table, "%s", timed ? kf_figure_interval(v->speedup, figure) : "");
    kf_table_cell(table, result->stored ? "c%lld" : "", (long long)result->stored);
}

void kf_eval_print_ranking(const kf_view *view, const kf_eval_result *results, size_t count)
{
    kf_autofree const kf_eval_result **order = calloc(count + 1, sizeof *order);
    kf_autotable table = {0};
    bool tied = false;
    if (!order) return;
    for (size_t i = 0; i < count; i++) order[i] = &results[i];
    qsort(order, count, sizeof *order, compare_results);
    kf_table_add_columns(&table, "RANK", "~FILE", "STATUS", ">SPEEDUP", "95 %", "STORED", NULL);
    for (size_t i = 0; i < count; i++)
        add_row(&table, order[i], i ? order[i - 1] : NULL, (int)i + 1, &tied);
    fputc('\n', view->out);
    kf_table_print(&table, view->out, view->width, 0, view->color);
    if (tied) fputs("= not shown to differ from the row above\n", view->out);
}

bool kf_eval_print_line(FILE *out, const cJSON *json, kf_error *error)
{
    char *text = cJSON_PrintUnformatted(json);
    if (!text) return kf_fail_memory(error, "a verdict");
    fprintf(out, "%s\n", text);
    cJSON_free(text);
    fflush(out);
    return true;
}

/* ---- the present step ------------------------------------------------------------------------ */

void kf_eval_show_step(const kf_invocation *invocation, bool lines, const char *step,
                       char last[128])
{
    if (strcmp(step, last) == 0) return;
    if (invocation->terminal)
        kf_terminal_redraw(invocation->log, "%s", step);
    else if (lines && step[0])
        fprintf(invocation->log, "%s\n", step);
    fflush(invocation->log);
    snprintf(last, 128, "%s", step);
}
