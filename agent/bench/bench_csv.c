/* A result as CSV (RFC 4180). It has one line for each sample, and one for each problem without
 * samples, so that sums over all lines cover the whole suite. */
#include <math.h>
#include <string.h>

#include "bench_result.h"

/* Quotes a text. A leading =, +, - or @ would be a formula in a spreadsheet; an apostrophe makes it
 * text. */
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

static void csv_sample(const kf_bench_row *row, const kf_bench_sample *s, kf_buffer *out)
{
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
    csv_number(out, kf_bench_claim_ratio(s));
    kf_buffer_string(out, isnan(s->claimed) ? "," : s->other_text ? ",1" : ",0");
    csv_number(out, s->times.median);
    csv_number(out, s->baseline_times.median);
    csv_number(out, s->judge_seconds);
    const double parts[] = {s->work.own, s->work.library, s->work.framework, s->work.copies};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        csv_number(out, kf_bench_knows(&s->work) ? parts[i] : NAN);
    kf_buffer_string(out, ",");
    if (s->candidate) kf_buffer_format(out, "c%lld", (long long)s->candidate);
    kf_buffer_format(out, ",%s,", row->run);
    csv_text(out, s->text);
}

/* a problem without a sample: refused, with a fault, or not begun */
static void csv_without(const kf_bench_row *row, kf_buffer *out)
{
    kf_buffer_format(out, ",\"\",%s,",
                     *row->rule    ? "refused"
                     : *row->fault ? "not_loaded"
                     : row->run[0] ? "no_sample"
                                   : "not_begun");
    csv_text(out, row->rule);
    kf_buffer_format(out, ",0,0,,,,0,,,,,,,,,,,,%s,", row->run);
    csv_text(out, row->fault);
}

static void csv_begin(const kf_bench_row *row, kf_buffer *out)
{
    csv_text(out, row->task);
    csv_number(out, row->level < 0 ? NAN : (double)row->level);
    csv_number(out, row->problem < 0 ? NAN : (double)row->problem);
}

/* Writes the columns of extra baselines. Only the best sample has figures. */
static void csv_extra_baselines(const kf_bench_result *result, const kf_bench_row *row,
                                const kf_bench_sample *s, kf_buffer *out)
{
    for (size_t k = 0; k < result->extra_baseline_count; k++)
        csv_number(out, s && s->candidate && s->candidate == row->best.candidate
                            ? row->versus[k].speedup.value
                            : NAN);
    kf_buffer_string(out, "\r\n");
}

void kf_bench_csv(const kf_bench_result *result, kf_buffer *out)
{
    kf_buffer_string(
        out, "task,level,problem,sample,status,rule,compiled,correct,speedup,low,high,reverified,"
             "claimed,claim_ratio,"
             "claim_of_other_text,seconds,baseline_seconds,judge_seconds,own_work,library_work,"
             "framework_work,copies_work,candidate,run,text");
    for (size_t k = 0; k < result->extra_baseline_count; k++) {
        char name[200];
        snprintf(name, sizeof name, "speedup against %.120s%s", result->extra_baselines[k].name,
                 result->extra_baselines[k].measured ? "" : ", not measured here");
        kf_buffer_string(out, ",");
        csv_text(out, name);
    }
    kf_buffer_string(out, "\r\n");
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        for (size_t k = 0; k < row->count; k++) {
            csv_begin(row, out);
            csv_sample(row, &row->samples[k], out);
            csv_extra_baselines(result, row, &row->samples[k], out);
        }
        if (row->count) continue;
        csv_begin(row, out);
        csv_without(row, out);
        csv_extra_baselines(result, row, NULL, out);
    }
}
