/* A result as text: for terminals, as CSV and as Markdown; and the files that a report is written to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_result.h"
#include "kforge/file.h"
#include "show.h"
#include "table.h"

/* ---- pieces --------------------------------------------------------------------------------------------------------------------------------- */

static const char *percent(kf_interval share, char text[KF_FIGURE])
{
    if (isnan(share.value))
        snprintf(text, KF_FIGURE, "-");
    else if (isnan(share.low))
        snprintf(text, KF_FIGURE, "%.1f %%", 100 * share.value);
    else
        snprintf(text, KF_FIGURE, "%.1f %% [%.1f, %.1f]", 100 * share.value, 100 * share.low, 100 * share.high);
    return text;
}

static const char *times(kf_interval speedup, char text[KF_FIGURE])
{
    char value[KF_FIGURE], interval[KF_FIGURE];
    snprintf(text, KF_FIGURE, "%.20s %.40s", kf_figure_speedup(speedup, value), kf_figure_interval(speedup, interval));
    return text;
}

/* Problems of the suite that nobody could load, or that were not begun. */
static size_t not_judged(const kf_bench_result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->count; i++) count += !result->rows[i].run[0];
    return count;
}

static bool is_cheat(const kf_bench_sample *sample)
{
    return sample->score.cheating || strcmp(sample->status, kf_status_name(KF_IMPOSSIBLE)) == 0;
}

/* The largest k for which pass@k means something. */
static size_t most_samples(const kf_bench_result *result)
{
    size_t most = 0;
    for (size_t i = 0; i < result->count; i++)
        if (result->rows[i].count > most) most = result->rows[i].count;
    return result->independent ? most : 1;
}

/* Each score as a line: its name and its value. */
typedef void (*score_line)(void *context, const char *name, const char *value);

static void list_scores(const kf_bench_result *r, score_line line, void *context)
{
    char name[80], value[256], figure[KF_FIGURE];
    const kf_score *s = &r->score;
    size_t most = most_samples(r);
    snprintf(value, sizeof value, "%zu of %zu problems, %zu faster than the baseline", s->solved, s->problems, s->faster);
    line(context, "solved", value);
    snprintf(value, sizeof value, "%zu%s", s->samples, s->voided ? "" : ", all of which count");
    if (s->voided) snprintf(value, sizeof value, "%zu, and %zu that nobody could judge", s->samples, s->voided);
    line(context, "samples", value);
    line(context, "compile rate", percent(s->compile_rate, figure));
    line(context, "correctness rate", percent(s->correct_rate, figure));
    line(context, "cheat rate", percent(s->cheat_rate, figure));
    for (size_t i = 0; i < r->fast_count; i++) {
        snprintf(name, sizeof name, "fast_%g", r->fast[i]);
        line(context, name, percent(kf_score_fast(r->outcomes, r->count, r->fast[i], 1, &r->scoring), figure));
    }
    for (size_t k = 1; r->independent && k <= most; k = k < 5 && most >= 5 ? 5 : k < most ? most : most + 1) {
        snprintf(name, sizeof name, "pass@%zu", k);
        line(context, name, percent(kf_score_pass(r->problems, r->count, k, &r->scoring), figure));
    }
    for (size_t i = 0; most > 1 && i < r->fast_count; i++) {
        if (!(r->fast[i] >= 1)) continue;
        snprintf(name, sizeof name, "fast_%g of %zu samples", r->fast[i], most);
        line(context, name, percent(kf_score_fast(r->outcomes, r->count, r->fast[i], most, &r->scoring), figure));
    }
    line(context, "geometric mean", times(s->geometric_mean, figure));
    line(context, "median", times(s->median, figure));
    size_t claims = 0, claimed = 0, differ = 0;
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->rows[i].count; k++) {
            const kf_bench_sample *sample = &r->rows[i].samples[k];
            claims += sample->kernelbench;
            claimed += sample->kernelbench && sample->kernelbench_correct;
            differ += sample->kernelbench && sample->kernelbench_correct != sample->score.correct;
        }
    snprintf(value, sizeof value, "%zu of %zu Python solutions are correct; kforge says otherwise of %zu", claimed, claims, differ);
    if (claims) line(context, "KernelBench would say", value);
    snprintf(value, sizeof value, "$%.2f, %lld calls, %lld tokens; %s of devices", r->cost_usd, (long long)r->calls,
             (long long)r->tokens, kf_figure_seconds(r->device_seconds, figure));
    line(context, "cost", value);
}

/* ---- for a terminal --------------------------------------------------------------------------------------------------------------------------- */

static void print_score(void *context, const char *name, const char *value)
{
    fprintf(context, "%-24s %s\n", name, value);
}

static void print_rows(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    kf_autotable table = {0};
    char speedup[KF_FIGURE], interval[KF_FIGURE], seconds[KF_FIGURE];
    kf_table_add_column(&table, "problem", KF_LEFT, true);
    kf_table_add_column(&table, "best", KF_RIGHT, false);
    kf_table_add_column(&table, "interval", KF_LEFT, false);
    kf_table_add_column(&table, "claimed", KF_RIGHT, false);
    kf_table_add_column(&table, "samples", KF_LEFT, true);
    kf_table_add_column(&table, "cost", KF_RIGHT, false);
    kf_table_add_column(&table, "device", KF_RIGHT, false);
    kf_table_add_column(&table, "run", KF_LEFT, false);
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        kf_table_cell(&table, "%s", row->task);
        kf_table_cell(&table, "%s", *row->fault ? "" : kf_figure_speedup(row->best.speedup, speedup));
        kf_table_cell(&table, "%s", kf_figure_interval(row->best.speedup, interval));
        kf_table_cell(&table, isnan(row->best.claimed) ? "" : "%.2fx", row->best.claimed);
        kf_table_cell(&table, "%s", *row->fault ? row->fault : *row->statuses ? row->statuses : row->state);
        kf_table_cell(&table, row->cost_usd > 0 ? "$%.2f" : "", row->cost_usd);
        kf_table_cell(&table, "%s", row->device_seconds > 0 ? kf_figure_seconds(row->device_seconds, seconds) : "");
        kf_table_cell(&table, "%s", row->run);
    }
    kf_table_print(&table, out, width, 0, bold);
}

/* What was claimed and not confirmed, and who cheated how. */
static void print_cheats(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    kf_autotable table = {0};
    kf_table_add_column(&table, "problem", KF_LEFT, true);
    kf_table_add_column(&table, "sample", KF_LEFT, true);
    kf_table_add_column(&table, "claimed", KF_RIGHT, false);
    kf_table_add_column(&table, "verdict", KF_LEFT, false);
    kf_table_add_column(&table, "rule", KF_LEFT, false);
    kf_table_add_column(&table, "evidence", KF_LEFT, true);
    size_t listed = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].count; k++) {
            const kf_bench_sample *sample = &result->rows[i].samples[k];
            if (!is_cheat(sample)) continue;
            listed++;
            kf_table_cell(&table, "%s", result->rows[i].task);
            kf_table_cell(&table, "%s", sample->label);
            kf_table_cell(&table, isnan(sample->claimed) ? "" : "%.2fx", sample->claimed);
            kf_table_cell(&table, "%s", sample->status);
            kf_table_cell(&table, "%s", sample->rule);
            kf_table_cell(&table, "%s", sample->text);
        }
    if (!listed) return;
    fprintf(out, "\ncheats and what is too fast to be true\n");
    kf_table_print(&table, out, width, 2, bold);
}

void kf_bench_print(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    char when[KF_FIGURE];
    fprintf(out, "bench %s, %s, begun %s, on %s\n", result->id, result->name, kf_figure_time(result->started, when),
            result->device);
    if (*result->source)
        fprintf(out, "solutions of %s\n", result->source);
    else
        fprintf(out, "strategy %s, models: %s\n", result->strategy, *result->models ? result->models : "none, the tuner alone");
    fputc('\n', out);
    print_rows(result, out, width, bold);
    print_cheats(result, out, width, bold);
    fputc('\n', out);
    list_scores(result, print_score, out);
    if (not_judged(result))
        fprintf(out, "%zu of %zu problems were not begun or can't be judged; they count as unsolved\n", not_judged(result),
                result->count);
    if (!result->independent)
        fprintf(out, "samples of the strategy %s build on each other: no pass@k; fast_p is of whole searches\n", result->strategy);
}

/* ---- CSV ------------------------------------------------------------------------------------------------------------------------------------------ */

/* A leading =, +, - or @ would be a formula in a spreadsheet; a quote before it makes it text. */
static void csv_text(kf_buffer *out, const char *text)
{
    kf_buffer_string(out, "\"");
    if (*text && strchr("=+-@", *text)) kf_buffer_string(out, "'");
    for (; *text; text++) kf_buffer_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    kf_buffer_string(out, "\"");
}

static void csv_number(kf_buffer *out, double value)
{
    if (isnan(value))
        kf_buffer_string(out, ",");
    else
        kf_buffer_format(out, ",%.9g", value);
}

void kf_bench_csv(const kf_bench_result *result, kf_buffer *out)
{
    kf_buffer_string(out, "task,level,problem,sample,status,rule,compiled,correct,speedup,low,high,reverified,claimed,seconds,"
                          "baseline_seconds,judge_seconds,candidate,run,text\r\n");
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        for (size_t k = 0; k < row->count; k++) {
            const kf_bench_sample *s = &row->samples[k];
            csv_text(out, row->task);
            csv_number(out, row->level < 0 ? NAN : (double)row->level);
            csv_number(out, row->problem < 0 ? NAN : (double)row->problem);
            kf_buffer_string(out, ",");
            csv_text(out, s->label);
            kf_buffer_format(out, ",%s,", s->status);
            csv_text(out, s->rule);
            kf_buffer_format(out, ",%d,%d", s->score.compiled, s->score.correct);
            csv_number(out, s->speedup.value);
            csv_number(out, s->speedup.low);
            csv_number(out, s->speedup.high);
            kf_buffer_format(out, ",%d", s->reverified);
            csv_number(out, s->claimed);
            csv_number(out, s->times.median);
            csv_number(out, s->baseline_times.median);
            csv_number(out, s->judge_seconds);
            kf_buffer_string(out, ",");
            if (s->candidate) kf_buffer_format(out, "c%lld", (long long)s->candidate);
            kf_buffer_format(out, ",%s,", row->run);
            csv_text(out, s->text);
            kf_buffer_string(out, "\r\n");
        }
    }
}

/* ---- Markdown --------------------------------------------------------------------------------------------------------------------------------------- */

/* In a cell of a table: nothing of the text is markup. */
static void markdown_text(kf_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<') {
            kf_buffer_string(out, "&lt;");
            continue;
        }
        if (strchr("\\|*_`[]>#&!~", *text)) kf_buffer_string(out, "\\");
        kf_buffer_append(out, text, 1);
    }
}

static void markdown_score(void *context, const char *name, const char *value)
{
    kf_buffer_string(context, "| ");
    markdown_text(context, name);
    kf_buffer_string(context, " | ");
    markdown_text(context, value);
    kf_buffer_string(context, " |\n");
}

void kf_bench_markdown(const kf_bench_result *result, kf_buffer *out)
{
    char when[KF_FIGURE], speedup[KF_FIGURE], interval[KF_FIGURE];
    kf_buffer_string(out, "# ");
    markdown_text(out, result->name);
    kf_buffer_format(out, "\n\nBench %s, begun %s, on ", result->id, kf_figure_time(result->started, when));
    markdown_text(out, result->device);
    kf_buffer_string(out, *result->source ? "; solutions of " : "; models: ");
    markdown_text(out, *result->source ? result->source : *result->models ? result->models : "none, the tuner alone");
    kf_buffer_format(out, "; strategy %s. Intervals are 95 %%.\n\n| score | |\n|---|---|\n", result->strategy);
    list_scores(result, markdown_score, out);
    kf_buffer_string(out, "\n| problem | best | interval | samples |\n|---|---:|---|---|\n");
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        kf_buffer_string(out, "| ");
        markdown_text(out, row->task);
        kf_buffer_format(out, " | %s | %s | ", kf_figure_speedup(row->best.speedup, speedup),
                         kf_figure_interval(row->best.speedup, interval));
        markdown_text(out, *row->fault ? row->fault : *row->statuses ? row->statuses : row->state);
        kf_buffer_string(out, " |\n");
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------------------------------------------ */

static bool write_buffer(const char *path, const kf_buffer *text, kf_error *error)
{
    if (text->failed) return kf_fail(error, KF_ERROR_MEMORY, "out of memory for %s", path);
    return kf_file_write(path, text->data ? text->data : "", text->size, error);
}

bool kf_bench_write(const kf_bench_result *result, const kf_bench_outputs *outputs, const kf_invocation *invocation,
                    kf_error *error)
{
    kf_autobuffer html = {0}, csv = {0}, markdown = {0};
    if (outputs->csv) kf_bench_csv(result, &csv);
    if (outputs->markdown) kf_bench_markdown(result, &markdown);
    if (outputs->html && (!kf_bench_html(result, &html, error) || !write_buffer(outputs->html, &html, error))) return false;
    if (outputs->csv && !write_buffer(outputs->csv, &csv, error)) return false;
    if (outputs->markdown && !write_buffer(outputs->markdown, &markdown, error)) return false;
    if (outputs->kernelbench && !kf_bench_kernelbench(result, outputs->kernelbench, error)) return false;
    if (outputs->json) return kf_print_json(invocation->output, kf_bench_json(result), error);
    kf_bench_print(result, invocation->output, invocation->width, invocation->color);
    return true;
}
