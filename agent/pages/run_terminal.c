/* A frame is written into memory, cut to the screen, and drawn over the one before. */
#include "run_terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "best_so_far.h"
#include "output.h"
#include "search.h"
#include "table.h"
#include "terminal.h"
#include "kforge/verdict.h"

#define FRAME_SECONDS 0.5
#define CHART_ROWS 8
/* Of a screen with less than TALL lines. */
#define SHORT_CHART_ROWS 5
#define TALL 40
#define LOG_ROWS 200
/* Columns of the labels of a chart. */
#define LABEL 8
#define NARROWEST 20

typedef struct log_row {
    int64_t number, candidate;
    char proposer[40], step[24], result[32], speedup[24], text[160];
} log_row;

typedef struct watcher {
    kf_store *store;
    const char *run;
    kf_run_time time;
    kf_best_so_far best;
    int64_t seen;
    int64_t results[KF_STATUS_COUNT + KF_ATTEMPT_OUTCOME_COUNT];
    /* The latest attempts, in a ring. */
    log_row log[LOG_ROWS];
    size_t logged;
} watcher;

typedef struct screen {
    int width, height;
    bool color;
} screen;

static void watcher_clear(watcher *w)
{
    kf_best_so_far_clear(&w->best);
    kf_run_time_clear(&w->time);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *result_name(int result)
{
    return result < KF_STATUS_COUNT
               ? kf_status_name((kf_status)result)
               : kf_outcome_words((kf_attempt_outcome)(result - KF_STATUS_COUNT));
}

static int result_of(const kf_store_attempt *a)
{
    return a->verdict && !a->unverified ? (int)a->status : KF_STATUS_COUNT + (int)a->outcome;
}

static void copy(char *to, size_t size, const char *text)
{
    kf_autofree char *clean = kf_text_clean(text, strlen(text), true);
    snprintf(to, size, "%s", clean ? clean : "");
}

static bool take(watcher *w, const kf_store_attempt *a, kf_error *error)
{
    char figure[KF_FIGURE];
    log_row *row = &w->log[w->logged++ % LOG_ROWS];
    *row = (log_row){.number = a->number, .candidate = a->candidate};
    copy(row->proposer, sizeof row->proposer, kf_proposer_words(a->proposer, a->step));
    copy(row->step, sizeof row->step, a->step);
    copy(row->result, sizeof row->result, result_name(result_of(a)));
    copy(row->text, sizeof row->text, a->message);
    if (a->verdict && !isnan(a->speedup.value))
        copy(row->speedup, sizeof row->speedup, kf_figure_speedup(a->speedup, figure));
    w->seen = a->number;
    if (a->outcome != KF_ATTEMPT_REVERIFIED) w->results[result_of(a)]++;
    return kf_best_so_far_add(&w->best, a) || kf_fail_memory(error, "the view of a run");
}

static bool read_attempts(watcher *w, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(w->store, w->run, w->seen + 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = kf_store_next_attempt(cursor, &attempt, error)) == 1) {
        attempt.created = kf_run_time_at(&w->time, attempt.created);
        if (!take(w, &attempt, error)) return false;
    }
    return more == 0;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void print_wrapped(FILE *out, const char *name, const char *text, const screen *s)
{
    fprintf(out, "%-9s ", name);
    kf_text_wrap(out, text, strlen(text), s->width, 10, true);
}

static void draw_head(FILE *out, const watcher *w, const kf_store_run *run,
                      const kf_store_spent *spent, const screen *s)
{
    char figure[KF_FIGURE], other[KF_FIGURE];
    kf_autobuffer text = {0};
    bool lives = run->status == KF_RUN_RUNNING && run->alive;
    fprintf(out, s->color ? KF_STYLE_BOLD "%s" KF_STYLE_PLAIN "\n" : "%s\n", run->task_name);
    kf_buffer_format(&text, "%s, %s %s", run->id, kf_run_state(run),
                     kf_figure_seconds(lives ? round(w->time.seconds) : w->time.seconds, figure));
    print_wrapped(out, "run", text.data ? text.data : "", s);
    print_wrapped(out, "device", run->device, s);
    kf_buffer_clear(&text);
    if (run->best)
        kf_buffer_format(&text, "%sc%lld %s %s, %s%s",
                         run->best_speedup.value > 1 ? "" : "not faster than the baseline: ",
                         (long long)run->best, kf_figure_speedup(run->best_speedup, figure),
                         kf_figure_interval(run->best_speedup, other),
                         run->best_reverified ? "measured twice" : "not confirmed",
                         lives && !run->best_reverified ? " yet" : "");
    else
        kf_buffer_format(&text, "no correct candidate%s", lives ? " yet" : "");
    print_wrapped(out, "best", text.data ? text.data : "", s);
    kf_buffer_clear(&text);
    kf_buffer_format(&text, "%lld of %lld candidates", (long long)run->correct,
                     (long long)run->judged);
    print_wrapped(out, "correct", text.data ? text.data : "", s);
    kf_buffer_clear(&text);
    kf_buffer_format(&text, "%lld model calls, %s, %s of devices", (long long)spent->calls,
                     kf_figure_cost(spent->cost_usd, spent->unpriced > 0, other),
                     kf_figure_seconds(spent->device_seconds, figure));
    print_wrapped(out, "spent", text.data ? text.data : "", s);
}

/* Returns the step that holds at `time`, or NULL before the first. */
static const kf_best_step *step_at(const kf_best_so_far *best, double time)
{
    const kf_best_step *found = NULL;
    for (size_t i = 0; i < best->step_count && best->steps[i].time <= time; i++)
        found = &best->steps[i];
    return found && !isnan(found->speedup.value) ? found : NULL;
}

/* The axis is logarithmic, so that equal factors have equal room. */
typedef struct axis {
    double low, high;
} axis;

static axis axis_of(const kf_best_so_far *best)
{
    axis a = {1, 1};
    for (size_t i = 0; i < best->step_count; i++) {
        double value = best->steps[i].speedup.value;
        if (!(value > 0)) continue;
        a.low = fmin(a.low, value);
        a.high = fmax(a.high, value);
    }
    a.high = fmax(a.high * 1.05, a.low * 1.2);
    return a;
}

static bool is_cut(const kf_best_so_far *best, const axis *a)
{
    for (size_t i = 0; i < best->step_count; i++)
        if (best->steps[i].speedup.low < a->low || best->steps[i].speedup.high > a->high)
            return true;
    return false;
}

static bool is_short(const screen *s)
{
    return s->height && s->height < TALL;
}

static int row_of(const axis *a, double value, int rows)
{
    double share = log(value / a->low) / log(a->high / a->low);
    return (int)lround(fmax(0, fmin(1, share)) * (rows - 1));
}

static void draw_chart(FILE *out, const watcher *w, const screen *s)
{
    char figure[KF_FIGURE];
    int columns = s->width - LABEL - 1;
    double span = fmax(w->time.seconds, 1e-3);
    axis a = axis_of(&w->best);
    int rows = is_short(s) ? SHORT_CHART_ROWS : CHART_ROWS;
    if (!w->best.step_count || columns < NARROWEST) return;
    fprintf(out, "\nbest so far%s\n",
            columns <= 50          ? ""
            : is_cut(&w->best, &a) ? " (░ its 95 % interval, which goes on beyond the chart)"
                                   : " (░ its 95 % interval)");
    for (int row = rows - 1; row >= 0; row--) {
        double value = a.low * pow(a.high / a.low, (double)row / (rows - 1));
        bool labelled = row == 0 || row == rows - 1 || row == rows / 2;
        fprintf(out, "%*s ", LABEL,
                labelled ? kf_figure_speedup((kf_interval){value, NAN, NAN}, figure) : "");
        for (int column = 0; column < columns; column++) {
            const kf_best_step *step = step_at(&w->best, span * (column + 1) / columns);
            bool line = step && row_of(&a, step->speedup.value, rows) == row,
                 band = step && step->speedup.low > 0 &&
                        row_of(&a, step->speedup.low, rows) <= row &&
                        row_of(&a, step->speedup.high, rows) >= row;
            fputs(line && step->verified ? "━" : line ? "─" : band ? "░" : " ", out);
        }
        fputc('\n', out);
    }
    fprintf(out, "%*s 0%*s\n", LABEL, "", columns - 1,
            kf_figure_seconds(span >= 1 ? round(span) : span, figure));
}

/* Draws a bar for each result, or one line on a short screen. */
static void draw_results(FILE *out, const watcher *w, const screen *s)
{
    int64_t most = 0, all = 0;
    int count = KF_STATUS_COUNT + KF_ATTEMPT_OUTCOME_COUNT;
    kf_autobuffer line = {0};
    for (int i = 0; i < count; i++) {
        all += w->results[i];
        if (w->results[i] > most) most = w->results[i];
    }
    /* One candidate may be the result of several attempts. */
    if (most && is_short(s)) fputc('\n', out);
    if (most && !is_short(s)) fprintf(out, "\nresults of %lld attempts\n", (long long)all);
    for (int i = count - 1; i >= 0; i--) {
        if (!w->results[i]) continue;
        if (is_short(s)) {
            kf_buffer_format(&line, "%s%lld %s", line.size ? ", " : "", (long long)w->results[i],
                             result_name(i));
            continue;
        }
        fprintf(out, "  %-20s %5lld ", result_name(i), (long long)w->results[i]);
        int bar = (int)ceil((double)w->results[i] / (double)most * fmin(s->width - 30, 50));
        for (int k = 0; k < bar; k++) fputs("█", out);
        fputc('\n', out);
    }
    if (line.size) print_wrapped(out, "attempts", line.data, s);
}

static bool draw_models(FILE *out, const watcher *w, const screen *s, kf_error *error)
{
    kf_autotable table = {0};
    kf_auto(kf_store_cursor) cursor = kf_store_proposers(w->store, w->run, error);
    kf_autoresult kf_store_proposer p = {0};
    /* A narrow screen shows the first columns alone. */
    int shown = s->width < 60 ? 3 : 7, more = cursor ? 1 : -1;
    kf_table_add_columns(&table, "~PROPOSER", ">ATTEMPTS", ">CORRECT", NULL);
    if (shown == 7) kf_table_add_columns(&table, ">FASTER", ">BEST", ">CALLS", ">COST", NULL);
    while (more == 1 && (more = kf_store_next_proposer(cursor, &p, error)) == 1) {
        char figure[KF_FIGURE];
        kf_table_cell(&table, "%s", kf_proposer_words(p.proposer, ""));
        kf_table_cell(&table, "%lld", (long long)p.attempts);
        kf_table_cell(&table, "%lld", (long long)p.correct);
        if (shown == 3) continue;
        kf_table_cell(&table, "%lld", (long long)p.faster);
        kf_table_cell(&table, "%s", kf_figure_speedup(p.best_speedup, figure));
        kf_table_cell(&table, p.calls ? "%lld" : "", (long long)p.calls);
        kf_table_cell(&table, "%s",
                      p.calls ? kf_figure_cost(p.cost_usd, p.unpriced > 0, figure) : "");
    }
    if (table.cell_count) fputc('\n', out);
    kf_table_print(&table, out, s->width, 0, s->color);
    kf_auto(kf_store_cursor) calls =
        more == 0 ? kf_store_call_outcomes(w->store, w->run, error) : NULL;
    kf_autoresult kf_store_call_outcome outcome = {0};
    kf_autobuffer text = {0};
    more = calls ? 1 : -1;
    while (more == 1 && (more = kf_store_next_call_outcome(calls, &outcome, error)) == 1)
        kf_buffer_format(&text, "%s%lld %s", text.size ? ", " : "", (long long)outcome.spent.calls,
                         outcome.outcome);
    if (text.size) print_wrapped(out, "replies", text.data, s);
    return more == 0;
}

/* Draws as many of the latest attempts as `rows` lines hold. */
static void draw_log(FILE *out, const watcher *w, const screen *s, int rows)
{
    kf_autotable table = {0};
    size_t held = w->logged < LOG_ROWS ? w->logged : LOG_ROWS,
           count = rows < 3 ? 0 : (size_t)rows - 2;
    if (count > held) count = held;
    kf_table_add_columns(&table, ">ATTEMPT", "", s->width < 60 ? "~RESULT" : "RESULT", ">SPEEDUP",
                         NULL);
    if (s->width >= 60) {
        kf_table_add_columns(&table, "~PROPOSER", "~STEP", NULL);
    }
    if (s->width >= 120) kf_table_add_columns(&table, "~MESSAGE", NULL);
    for (size_t i = w->logged - count; i < w->logged; i++) {
        const log_row *row = &w->log[i % LOG_ROWS];
        kf_table_cell(&table, "%lld", (long long)row->number);
        kf_table_cell(&table, row->candidate ? "c%lld" : "", (long long)row->candidate);
        kf_table_cell(&table, "%s", row->result);
        kf_table_cell(&table, "%s", row->speedup);
        if (s->width >= 60) kf_table_cell(&table, "%s", row->proposer);
        if (s->width >= 60) kf_table_cell(&table, "%s", row->step);
        if (s->width >= 120) kf_table_cell(&table, "%s", row->text);
    }
    if (table.cell_count) fputc('\n', out);
    kf_table_print(&table, out, s->width, 0, s->color);
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* Writes one frame into *text, which the caller frees. */
static bool draw(watcher *w, const kf_store_run *run, const screen *s, char **text, kf_error *error)
{
    size_t size;
    kf_store_spent spent;
    if (!kf_store_run_spent(w->store, w->run, &spent, error)) return false;
    FILE *out = open_memstream(text, &size);
    if (!out) return kf_fail_memory(error, "the view of a run");
    draw_head(out, w, run, &spent, s);
    draw_chart(out, w, s);
    draw_results(out, w, s);
    bool drawn = draw_models(out, w, s, error);
    fflush(out);
    draw_log(out, w, s, s->height ? s->height - 1 - count_lines(*text) : 12);
    return fclose(out) == 0 && drawn;
}

/* Prints over the frame before, and cuts at the end of the screen. */
static void show(FILE *out, const char *text, const screen *s)
{
    kf_terminal_top(out);
    for (int row = 1; *text && row < s->height; row++) {
        size_t size = strcspn(text, "\n");
        fprintf(out, KF_STYLE_CLEAR "%.*s\n", (int)size, text);
        text += size + (text[size] == '\n');
    }
    kf_terminal_clear_below(out);
}

static screen screen_of(const kf_invocation *invocation)
{
    struct winsize size;
    screen s = {.width = 80, .color = invocation->color};
    if (!invocation->width || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return s;
    s.width = size.ws_col > NARROWEST ? size.ws_col : 80;
    s.height = size.ws_row > 4 ? size.ws_row : 24;
    return s;
}

static bool frame(watcher *w, const kf_invocation *invocation, bool *over, kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    kf_autofree char *text = NULL;
    screen s = screen_of(invocation);
    if (!kf_store_find_run(w->store, w->run, &run, error) ||
        !kf_run_time_read(w->store, &run, &w->time, error) || !read_attempts(w, error) ||
        !draw(w, &run, &s, &text, error))
        return false;
    *over = !s.height || run.status != KF_RUN_RUNNING || !run.alive;
    if (s.height)
        show(invocation->output, text, &s);
    else
        fputs(text, invocation->output);
    return true;
}

bool kf_run_terminal(kf_store *store, const char *run, const kf_invocation *invocation,
                     kf_error *error)
{
    __attribute__((cleanup(watcher_clear))) watcher w = {.store = store, .run = run};
    bool over = false;
    kf_terminal_top(invocation->output);
    kf_terminal_clear_below(invocation->output);
    while (frame(&w, invocation, &over, error)) {
        if (over || *invocation->interrupts) return true;
        nanosleep(&(struct timespec){.tv_nsec = (long)(FRAME_SECONDS * 1e9)}, NULL);
    }
    return false;
}
