/* A result as one HTML page. The page is a template (report/bench.html) with a style and a script
 * from the same folder. This file makes the values of its variables. Their texts come from task
 * names, files, findings and models, so all of them pass kf_html_text. */
#include "bench_charts.h"
#include "bench_details.h"
#include "html_text.h"
#include "page_files.h"

#include <math.h>
#include <string.h>

#include "prompt_template.h"
#include "table.h"

/* samples shown of a problem */
#define SHOWN_SAMPLES 40
/* Bytes of sources, changes and replies in the page. */
#define TEXTS_BYTES (8u << 20)

static void percent(kf_buffer *out, double share)
{
    if (isnan(share))
        kf_buffer_string(out, "-");
    else
        kf_buffer_format(out, "%.1f %%", 100 * share);
}

static void percent_range(kf_buffer *out, kf_interval share)
{
    percent(out, share.value);
    if (!isnan(share.low))
        kf_buffer_format(out, " <small>95 %% [%.0f, %.0f]</small>", 100 * share.low,
                         100 * share.high);
}

static void speedup_range(kf_buffer *out, kf_interval speedup)
{
    char value[KF_FIGURE], interval[KF_FIGURE];
    kf_buffer_string(out, kf_figure_speedup(speedup, value));
    if (!isnan(speedup.low))
        kf_buffer_format(out, " <small>%s</small>", kf_figure_interval(speedup, interval));
}

/* ---- the head of the page -------------------------------------------------------------------- */

static void write_about(const kf_bench_result *r, kf_buffer *out)
{
    char when[KF_FIGURE];
    kf_buffer_format(out, "Bench %s, begun %s, on ", r->id, kf_figure_time(r->setup.started, when));
    kf_html_text(out, r->setup.device);
    if (*r->setup.source) {
        kf_buffer_string(out, ". Solutions of ");
        kf_html_text(out, r->setup.source);
    } else {
        kf_buffer_string(out, ". Strategy ");
        kf_html_text(out, r->setup.strategy);
        kf_buffer_string(out, *r->setup.models ? ", models: " : ", no model: the tuner alone");
        kf_html_text(out, r->setup.models);
    }
    if (*r->setup.imported) {
        kf_buffer_string(out, ". With problems of ");
        kf_html_text(out, r->setup.imported);
    }
    kf_buffer_format(out, ". Made by kforge %s.", KFORGE_VERSION);
}

static void tile(kf_buffer *out, const char *value, const char *name)
{
    kf_buffer_format(out, "<div class=\"tile\"><b>%s</b><span>%s</span></div>\n", value, name);
}

static void write_tiles(const kf_bench_result *r, kf_buffer *out)
{
    char text[64], figure[KF_FIGURE];
    const kf_score *s = &r->score;
    snprintf(text, sizeof text, "%zu of %zu", s->solved, s->problems);
    tile(out, text, "problems solved");
    if (r->judged < r->count) {
        snprintf(text, sizeof text, "%zu of %zu", s->solved, r->judged);
        tile(out, text, "solved of the judged ones");
    }
    snprintf(text, sizeof text, "%.1f %%",
             100 * kf_score_fast(r->outcomes, r->count, 1, 1, &r->scoring).value);
    tile(out, text,
         r->judged < r->count ? "fast_1 of all problems: faster than the baseline"
                              : "fast_1: faster than the baseline");
    snprintf(text, sizeof text, "%zu of %zu", r->surely_faster, s->problems);
    tile(out, text, "surely faster: interval above 1");
    tile(out, kf_figure_speedup(s->geometric_mean, figure), "geometric mean speedup");
    tile(out, kf_figure_speedup(s->median, figure), "median speedup");
    snprintf(text, sizeof text, "%zu of %zu", s->correct, s->samples);
    tile(out, text, "samples correct");
    snprintf(text, sizeof text, "%zu", r->frozen);
    if (r->frozen) tile(out, text, "correct samples with frozen weights");
    snprintf(text, sizeof text, "%zu", s->cheating);
    tile(out, text, s->cheating == 1 ? "cheat" : "cheats");
    if (r->spent.cost_usd > 0) {
        snprintf(text, sizeof text, "$%.2f", r->spent.cost_usd);
        tile(out, text, "for models");
    }
    tile(out, kf_figure_seconds(r->spent.device_seconds, figure), "of devices");
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool any_claims(const kf_bench_result *r)
{
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->rows[i].count; k++)
            if (!isnan(r->rows[i].samples[k].claimed)) return true;
    return false;
}

static void column(kf_buffer *out, const char *classes, const char *name)
{
    kf_buffer_format(out, "<th scope=\"col\" class=\"%s\"><button type=\"button\">%s</button></th>",
                     classes, name);
}

static void write_columns(const kf_bench_result *r, kf_buffer *out)
{
    column(out, "", "Problem");
    column(out, "number", "Best");
    if (any_claims(r)) column(out, "number", "Claimed");
    column(out, "", "Samples");
    column(out, "number", "Of the limit");
    if (kf_bench_has_work(r)) column(out, "number", "Own work");
    if (r->spent.cost_usd > 0) column(out, "number", "Cost");
    column(out, "number", "Device");
}

static const char *status_class(const kf_bench_sample *s)
{
    return s->score.correct ? "good" : s->score.counts ? "bad" : "other";
}

/* A page in the making. */
typedef struct page {
    const kf_bench_result *result;
    /* Bytes that its texts may still take. */
    size_t left;
} page;

static void write_sample(const kf_bench_sample *s, kf_buffer *out)
{
    char figure[KF_FIGURE];
    kf_buffer_string(out, "<li><code>");
    kf_html_text(out, s->label);
    kf_buffer_format(out, "</code> <span class=\"status %s\">", status_class(s));
    kf_html_text(out, s->status);
    kf_buffer_string(out, "</span>");
    if (s->speedup.value > 0) {
        kf_buffer_string(out, " ");
        speedup_range(out, s->speedup);
    }
    if (!isnan(s->times.median))
        kf_buffer_format(out, ", %s", kf_figure_seconds(s->times.median, figure));
    if (kf_bench_knows(&s->work)) {
        kf_buffer_string(out, ", device time: ");
        kf_html_text(out, s->work.words);
    }
    if (!isnan(s->claimed))
        kf_buffer_format(out, ", claimed %s", kf_figure_ratio(s->claimed, figure));
    if (s->kernelbench) {
        kf_buffer_format(out, ", KernelBench would say %s",
                         s->kernelbench_correct ? "correct" : "incorrect");
        if (s->kernelbench_correct && s->kernelbench_speedup > 0)
            kf_buffer_format(out, ", %s", kf_figure_ratio(s->kernelbench_speedup, figure));
    }
    if (*s->rule) {
        kf_buffer_string(out, " <code>");
        kf_html_text(out, s->rule);
        kf_buffer_string(out, "</code>");
    }
    if (*s->text) {
        kf_buffer_string(out, " ");
        kf_html_text(out, s->text);
    }
}

/* Returns the share of the physical limit, averaged over the timed workloads of the best candidate;
 * NaN if unknown. */
static double limit_share(const kf_bench_row *row)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < row->roof_count; i++)
        if (row->roofs[i].floor_seconds > 0)
            sum += row->roofs[i].floor_seconds / row->roofs[i].seconds, known++;
    return known ? sum / (double)known : NAN;
}

/* Begins a cell. `label` names it on a phone, where rows are blocks. */
static void number_cell(kf_buffer *out, const char *label, double key)
{
    kf_buffer_format(out, "<td class=\"number\" data-label=\"%s\" data-key=\"", label);
    if (!isnan(key)) kf_buffer_format(out, "%.9g", key);
    kf_buffer_string(out, "\">");
}

static void meter(kf_buffer *out, double share)
{
    kf_buffer_format(out,
                     "<svg class=\"meter\" aria-hidden=\"true\"><rect class=\"bar\" "
                     "width=\"%.0f%%\" height=\"100%%\"/></svg> %.0f %%",
                     100 * fmin(1, share), 100 * share);
}

static void write_row(page *p, const kf_bench_row *row, bool claims, kf_buffer *out)
{
    const kf_bench_result *r = p->result;
    char figure[KF_FIGURE];
    double share = limit_share(row);
    kf_buffer_string(out, "<tr><td class=\"problem\">");
    kf_buffer_string(out, row->count ? "<details><summary>" : "");
    kf_html_text(out, row->task);
    if (row->count) {
        kf_buffer_string(out, "</summary><ul>");
        for (size_t i = 0; i < row->count && i < SHOWN_SAMPLES; i++) {
            write_sample(&row->samples[i], out);
            kf_bench_details(r, row, &row->samples[i], &p->left, out);
            kf_buffer_string(out, "</li>");
        }
        if (row->count > SHOWN_SAMPLES)
            kf_buffer_format(out, "<li>and %zu more</li>", row->count - SHOWN_SAMPLES);
        kf_buffer_string(out, "</ul></details>");
    }
    kf_buffer_string(out, "</td>");
    number_cell(out, "best", row->best.speedup.value);
    speedup_range(out, row->best.speedup);
    kf_buffer_string(out, "</td>");
    if (claims) {
        double claimed = row->best.candidate ? row->best.claimed
                         : row->count        ? row->samples[0].claimed
                                             : NAN;
        number_cell(out, "claimed", claimed);
        kf_buffer_string(out, kf_figure_ratio(claimed, figure));
        kf_buffer_string(out, "</td>");
    }
    kf_buffer_string(out, *row->fault ? "<td class=\"samples other\">" : "<td class=\"samples\">");
    if (*row->rule) kf_buffer_string(out, "refused: ");
    kf_html_text(out, *row->rule       ? row->rule
                      : *row->fault    ? row->fault
                      : *row->statuses ? row->statuses
                                       : row->state);
    kf_buffer_string(out, "</td>");
    number_cell(out, "of the limit", share);
    if (share > 0) meter(out, share);
    kf_buffer_string(out, "</td>");
    if (kf_bench_has_work(r)) {
        bool known = kf_bench_knows(&row->best.work);
        number_cell(out, "own work", known ? row->best.work.own : NAN);
        if (known) kf_buffer_format(out, "%.0f %%", 100 * row->best.work.own);
        kf_buffer_string(out, "</td>");
    }
    if (r->spent.cost_usd > 0) {
        number_cell(out, "cost", row->spent.cost_usd);
        kf_buffer_format(out, "$%.3f</td>", row->spent.cost_usd);
    }
    number_cell(out, "device", row->spent.device_seconds > 0 ? row->spent.device_seconds : NAN);
    kf_buffer_string(out, row->spent.device_seconds > 0
                              ? kf_figure_seconds(row->spent.device_seconds, figure)
                              : "");
    kf_buffer_string(out, "</td></tr>\n");
}

/* ---- below the table ------------------------------------------------------------------------- */

/* Writes a labelled cell of a table that is stacked on a phone. */
static void figure_cell(kf_buffer *out, const char *label, const char *text)
{
    kf_buffer_format(out, "<td class=\"number\" data-label=\"%s\">%s</td>", label, text);
}

static void write_roof(kf_buffer *out, const kf_bench_row *row, const kf_bench_roof *roof,
                       size_t number)
{
    char figure[KF_FIGURE];
    kf_buffer_format(out, "<tr><td class=\"number\">%zu</td><td class=\"problem\">", number);
    kf_html_text(out, row->task);
    kf_buffer_string(out, ", ");
    kf_html_text(out, roof->workload);
    kf_buffer_string(out, "</td>");
    figure_cell(out, "time", kf_figure_seconds(roof->seconds, figure));
    figure_cell(out, "traffic", kf_figure_bytes(roof->bytes, figure));
    snprintf(figure, sizeof figure, "%.3g", roof->bytes / roof->seconds / 1e9);
    figure_cell(out, "GB/s", figure);
    snprintf(figure, sizeof figure, roof->flops > 0 ? "%.3g" : "-",
             roof->flops / roof->seconds / 1e9);
    figure_cell(out, "GFLOP/s", figure);
    kf_buffer_string(out, "<td class=\"number\" data-label=\"of the limit\">");
    if (roof->floor_seconds > 0)
        meter(out, roof->floor_seconds / roof->seconds);
    else
        kf_buffer_string(out, "-");
    kf_buffer_string(out, "</td></tr>\n");
}

/* Writes all workloads with the numbers of the chart. */
static void write_roof_table(const kf_bench_result *r, kf_buffer *out)
{
    static const char *const names[] = {"Time", "Traffic", "GB/s", "GFLOP/s", "Of the limit"};
    size_t number = 0;
    kf_buffer_string(out, "<div class=\"scroll\"><table class=\"stacked roofs\"><thead><tr><th "
                          "scope=\"col\" class=\"number\">#</th><th scope=\"col\">Problem, "
                          "workload</th>");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        kf_buffer_format(out, "<th scope=\"col\" class=\"number\">%s</th>", names[i]);
    kf_buffer_string(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->rows[i].roof_count; k++)
            write_roof(out, &r->rows[i], &r->rows[i].roofs[k], ++number);
    kf_buffer_string(out, "</tbody></table></div>\n");
}

static void write_rooflines(const kf_bench_result *r, kf_buffer *out)
{
    size_t known = 0;
    for (size_t i = 0; i < r->count; i++) known += r->rows[i].roof_count;
    if (!known) return;
    kf_autobuffer chart = {0};
    kf_buffer_string(out, "<section>\n<h2>Rooflines</h2>\n");
    if (kf_chart_roofline(r, &chart) && chart.data)
        kf_buffer_format(out,
                         "<figure class=\"wide\"><figcaption><b>Roofline</b> operations a second "
                         "over operations a byte; the numbers are those of the "
                         "table</figcaption>\n%s</figure>\n",
                         chart.data);
    kf_buffer_string(out, "<p class=\"about\">Traffic and operations are the task&#39;s; of "
                          "imported problems operations are the reference&#39;s own.</p>\n");
    write_roof_table(r, out);
    kf_buffer_string(out, "</section>\n");
}

static void write_cheats(const kf_bench_result *r, kf_buffer *out)
{
    size_t listed = 0;
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->rows[i].count; k++) {
            const kf_bench_sample *s = &r->rows[i].samples[k];
            if (!kf_bench_is_cheat(s)) continue;
            if (!listed++)
                kf_buffer_string(
                    out, "<section>\n<h2>Cheats</h2>\n<div class=\"scroll\"><table><thead><tr><th "
                         "scope=\"col\">Problem</th><th "
                         "scope=\"col\">What was found</th></tr></thead>\n<tbody>\n");
            kf_buffer_string(out, "<tr><td class=\"problem\">");
            kf_html_text(out, r->rows[i].task);
            kf_buffer_string(out, "</td><td><ul class=\"plain\">");
            write_sample(s, out);
            kf_buffer_string(out, "</li></ul></td></tr>\n");
        }
    if (listed) kf_buffer_string(out, "</tbody></table></div>\n</section>\n");
}

/* Begins a table in a section of its own. Rows follow, then end_table. On a phone each row is a
 * block: data-label names a cell, and cells of class "wide" get a line of their own. */
static void begin_table(kf_buffer *out, const char *title, const char *about,
                        const char *const *columns)
{
    kf_buffer_format(out, "<section>\n<h2>%s</h2>\n", title);
    if (*about) kf_buffer_format(out, "<p class=\"about\">%s</p>\n", about);
    kf_buffer_string(out, "<div class=\"scroll\"><table class=\"stacked\"><thead><tr>");
    for (; *columns; columns++) /* "number:Claimed" */
        kf_buffer_format(out, "<th scope=\"col\" class=\"%.*s\">%s</th>",
                         (int)strcspn(*columns, ":"), *columns,
                         *columns + strcspn(*columns, ":") + 1);
    kf_buffer_string(out, "</tr></thead>\n<tbody>\n");
}

static void end_table(kf_buffer *out)
{
    kf_buffer_string(out, "</tbody></table></div>\n</section>\n");
}

static void text_cell(kf_buffer *out, const char *classes, const char *text)
{
    kf_buffer_format(out, "<td class=\"%s\">", classes);
    kf_html_text(out, text);
    kf_buffer_string(out, "</td>");
}

static void write_claim(const kf_bench_row *row, const kf_bench_sample *s, kf_buffer *out)
{
    double ratio = kf_bench_claim_ratio(s);
    char figure[KF_FIGURE];
    kf_buffer_string(out, "<tr>");
    text_cell(out, "problem", row->task);
    kf_buffer_format(out,
                     "<td class=\"number\" data-label=\"claimed\">%s%s</td><td class=\"number\" "
                     "data-label=\"verified\">",
                     kf_figure_ratio(s->claimed, figure), s->other_text ? "*" : "");
    speedup_range(out, s->speedup);
    kf_buffer_string(out, "</td><td class=\"number\" data-label=\"ratio\">");
    kf_buffer_format(out, isnan(ratio) ? "-" : "%.2f", ratio);
    kf_buffer_format(out, "</td><td class=\"wide\"><span class=\"status %s\">", status_class(s));
    kf_html_text(out, s->status);
    kf_buffer_string(out, "</span> <code>");
    kf_html_text(out, s->rule);
    kf_buffer_string(out, "</code></td></tr>\n");
}

static void write_claims(const kf_bench_result *r, kf_buffer *out)
{
    static const char *const columns[] = {":Problem",     "number:Claimed", "number:Verified",
                                          "number:Ratio", ":Verdict",       NULL};
    kf_bench_claims claims = kf_bench_claims_of(r);
    char about[400], verified[KF_FIGURE], claimed[KF_FIGURE];
    if (!claims.count) return;
    int length =
        snprintf(about, sizeof about,
                 "%zu solutions claim a speedup, %s in the geometric mean; %zu were "
                 "judged, %zu of them are correct",
                 claims.count, kf_figure_ratio(claims.all, claimed), claims.judged, claims.correct);
    if (claims.ratio > 0)
        length += snprintf(about + length, sizeof about - (size_t)length,
                           ": %s where %s was claimed", kf_figure_ratio(claims.verified, verified),
                           kf_figure_ratio(claims.claimed, claimed));
    snprintf(about + length, sizeof about - (size_t)length, "%s",
             claims.other_text
                 ? ". * The claim is for another text of the problem, so perhaps for other sizes."
                 : ".");
    begin_table(out, "Claimed and verified", about, columns);
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->rows[i].count; k++)
            if (!isnan(r->rows[i].samples[k].claimed))
                write_claim(&r->rows[i], &r->rows[i].samples[k], out);
    end_table(out);
}

static void write_extra_baselines(const kf_bench_result *r, kf_buffer *out)
{
    static const char *const columns[] = {":Problem", ":Baseline", "number:Speedup", ":", NULL};
    if (!r->extra_baseline_count) return;
    begin_table(out, "Further baselines",
                "The best of each solved problem, measured again with another baseline, or "
                "compared with times from a file.",
                columns);
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->extra_baseline_count && r->rows[i].best.candidate; k++) {
            const kf_bench_versus *versus = &r->rows[i].versus[k];
            kf_buffer_string(out, "<tr>");
            text_cell(out, "problem", r->rows[i].task);
            text_cell(out, "", r->extra_baselines[k].name);
            kf_buffer_string(out, "<td class=\"number\">");
            speedup_range(out, versus->speedup);
            kf_buffer_string(out, "</td>");
            text_cell(out, "wide other",
                      !(versus->speedup.value > 0)     ? versus->why
                      : r->extra_baselines[k].measured ? ""
                                                       : "not measured here");
            kf_buffer_string(out, "</tr>\n");
        }
    end_table(out);
}

static void write_unjudged(const kf_bench_result *r, kf_buffer *out)
{
    static const char *const columns[] = {":Problem", ":Rule", ":Reason", NULL};
    size_t listed = 0;
    for (size_t i = 0; i < r->count; i++) {
        const kf_bench_row *row = &r->rows[i];
        if (!*row->fault) continue;
        if (!listed++)
            begin_table(out, "Not judged",
                        "Problems that the import refused, with the rule, and tasks that can&#39;t "
                        "be loaded. They count as unsolved.",
                        columns);
        kf_buffer_string(out, "<tr>");
        text_cell(out, "problem", row->task);
        text_cell(out, "wide rule", row->rule);
        text_cell(out, "wide", row->fault);
        kf_buffer_string(out, "</tr>\n");
    }
    if (listed) end_table(out);
}

static void score(const kf_bench_result *r, kf_buffer *out, const char *name, kf_interval share,
                  kf_interval judged)
{
    kf_buffer_format(out, "<tr><th scope=\"row\">%s</th><td>", name);
    percent_range(out, share);
    kf_buffer_string(out, "</td>");
    if (r->judged < r->count) {
        kf_buffer_string(out, "<td>");
        percent_range(out, judged);
        kf_buffer_string(out, "</td>");
    }
    kf_buffer_string(out, "</tr>\n");
}

/* Begins a row with one value for all problems and the judged ones. */
static void begin_plain(const kf_bench_result *r, kf_buffer *out, const char *name)
{
    kf_buffer_format(out, "<tr><th scope=\"row\">%s</th><td%s>", name,
                     r->judged < r->count ? " colspan=\"2\"" : "");
}

static void plain_rate(const kf_bench_result *r, kf_buffer *out, const char *name, size_t count,
                       kf_interval share)
{
    char words[KF_FIGURE];
    kf_bench_count_words(r, count, words, sizeof words);
    begin_plain(r, out, name);
    kf_buffer_string(out, words);
    percent_range(out, share);
    kf_buffer_string(out, "</td></tr>\n");
}

/* Writes fast_p for p from 1 against each extra baseline that has figures. */
static void write_fast_extra(const kf_bench_result *r, kf_buffer *out)
{
    for (size_t i = 0; i < r->extra_baseline_count; i++)
        for (size_t k = 0; k < r->fast_count && r->extra_baselines[i].known; k++) {
            kf_autobuffer name = {0};
            if (!(r->fast[k] > 0)) continue;
            kf_buffer_format(&name, "fast<sub>%g</sub> against ", r->fast[k]);
            kf_html_text(&name, r->extra_baselines[i].name);
            if (!r->extra_baselines[i].measured) kf_buffer_string(&name, ", not measured here");
            if (name.data)
                score(r, out, name.data, kf_bench_fast_extra(r, i, r->fast[k], false),
                      kf_bench_fast_extra(r, i, r->fast[k], true));
        }
}

static void write_scores(const kf_bench_result *r, kf_buffer *out)
{
    char name[64], words[KF_FIGURE];
    const kf_score *s = &r->score;
    size_t most = kf_bench_most_samples(r);
    if (r->judged < r->count)
        kf_buffer_format(out,
                         "<tr><th scope=\"col\"></th><th scope=\"col\">of all %zu problems</th><th "
                         "scope=\"col\">of the %zu judged</th></tr>\n",
                         r->count, r->judged);
    plain_rate(r, out, "compile rate", s->compiled, s->compile_rate);
    plain_rate(r, out, "correctness rate", s->correct, s->correct_rate);
    plain_rate(r, out, "cheat rate", s->cheating, s->cheat_rate);
    for (size_t i = 0; i < r->fast_count; i++) {
        snprintf(name, sizeof name, "fast<sub>%g</sub>", r->fast[i]);
        score(r, out, name, kf_score_fast(r->outcomes, r->count, r->fast[i], 1, &r->scoring),
              kf_score_fast(r->judged_outcomes, r->judged, r->fast[i], 1, &r->scoring));
    }
    write_fast_extra(r, out);
    for (size_t k = r->setup.independent ? kf_bench_next_k(0, most) : 0; k;
         k = kf_bench_next_k(k, most)) {
        snprintf(name, sizeof name, "pass@%zu", k);
        score(r, out, name, kf_score_pass(r->problems, r->count, k, &r->scoring),
              kf_score_pass(r->judged_problems, r->judged, k, &r->scoring));
    }
    begin_plain(r, out, "geometric mean");
    speedup_range(out, s->geometric_mean);
    kf_buffer_string(out, "</td></tr>\n");
    begin_plain(r, out, "median");
    speedup_range(out, s->median);
    kf_buffer_string(out, "</td></tr>\n");
    kf_bench_sample_words(r, words, sizeof words);
    begin_plain(r, out, "samples");
    kf_buffer_format(out, "%s</td></tr>\n", words);
}

/* ---- the page -------------------------------------------------------------------------------- */

static const kf_template_builtin *part(const char *name)
{
    for (const kf_template_builtin *file = kf_report_files; file->name; file++)
        if (strcmp(file->name, name) == 0) return file;
    return NULL;
}

enum {
    TITLE,
    ABOUT,
    TILES,
    CURVE,
    HISTOGRAM,
    FOREST,
    COLUMNS,
    ROWS,
    ROOFLINES,
    CHEATS,
    CLAIMS,
    EXTRA_BASELINES,
    UNJUDGED,
    SCORES,
    DASHED,
    PARTS
};

bool kf_bench_html(const kf_bench_result *r, kf_buffer *out, kf_error *error)
{
    static const char *const names[PARTS] = {"title",     "about",  "tiles",   "curve",
                                             "histogram", "forest", "columns", "rows",
                                             "rooflines", "cheats", "claims",  "extra_baselines",
                                             "unjudged",  "scores", "dashed"};
    kf_buffer parts[PARTS] = {{0}};
    const kf_template_builtin *html = part("bench.html"), *style = part("bench.css"),
                              *script = part("bench.js");
    kf_autobuffer css = {0}, policy = {0};
    kf_buffer_string(&css, kf_page_file("base.css"));
    kf_buffer_string(&css, style->text);
    if (!css.data || !kf_page_policy(css.data, script->text, false, &policy))
        return kf_fail_memory(error, "the page");
    kf_template_value values[PARTS + 3] = {{.name = "css", .text = css.data},
                                           {.name = "js", .text = script->text},
                                           {.name = "policy", .text = policy.data}};
    page whole = {.result = r, .left = TEXTS_BYTES};
    bool claims = any_claims(r), failed = false;
    kf_html_text(&parts[TITLE], *r->setup.name ? r->setup.name : "kforge bench");
    write_about(r, &parts[ABOUT]);
    write_tiles(r, &parts[TILES]);
    kf_chart_curve(r, &parts[CURVE]);
    kf_chart_histogram(r, &parts[HISTOGRAM]);
    kf_chart_forest(r, &parts[FOREST]);
    write_columns(r, &parts[COLUMNS]);
    for (size_t i = 0; i < r->count; i++) write_row(&whole, &r->rows[i], claims, &parts[ROWS]);
    write_rooflines(r, &parts[ROOFLINES]);
    write_cheats(r, &parts[CHEATS]);
    write_claims(r, &parts[CLAIMS]);
    write_extra_baselines(r, &parts[EXTRA_BASELINES]);
    write_unjudged(r, &parts[UNJUDGED]);
    write_scores(r, &parts[SCORES]);
    if (kf_bench_most_samples(r) > 1)
        kf_buffer_format(&parts[DASHED], "; dashed: by the best of %zu", kf_bench_most_samples(r));
    for (int i = 0; i < PARTS; i++) {
        failed |= parts[i].failed;
        values[i + 3] = (kf_template_value){.name = names[i], .text = parts[i].data};
    }
    kf_autofree char *text =
        failed ? NULL
               : kf_template_render("bench.html", html->text, html->size, values, PARTS + 3, error);
    for (int i = 0; i < PARTS; i++) kf_buffer_free(&parts[i]);
    if (failed) return kf_fail_memory(error, "the page");
    if (text) kf_buffer_string(out, text);
    return text && (!out->failed || kf_fail_memory(error, "the page"));
}
