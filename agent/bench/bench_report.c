/* A result as text for terminals and as Markdown, and the function that writes all output files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_result.h"
#include "kforge/file.h"
#include "output.h"
#include "table.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

static const char *percent(kf_interval share, char text[KF_FIGURE])
{
    if (isnan(share.value))
        snprintf(text, KF_FIGURE, "-");
    else if (isnan(share.low))
        snprintf(text, KF_FIGURE, "%.1f %%", 100 * share.value);
    else
        snprintf(text, KF_FIGURE, "%.1f %% [%.1f, %.1f]", 100 * share.value, 100 * share.low,
                 100 * share.high);
    return text;
}

static const char *times(kf_interval speedup, char text[KF_FIGURE])
{
    char value[KF_FIGURE], interval[KF_FIGURE];
    snprintf(text, KF_FIGURE, "%.20s %.40s", kf_figure_speedup(speedup, value),
             kf_figure_interval(speedup, interval));
    return text;
}

size_t kf_bench_most_samples(const kf_bench_result *result)
{
    size_t most = 0;
    for (size_t i = 0; i < result->count; i++)
        if (result->rows[i].count > most) most = result->rows[i].count;
    return result->setup.independent ? most : 1;
}

size_t kf_bench_next_k(size_t k, size_t most)
{
    if (k < 1 && most >= 1) return 1;
    return k < 5 && most >= 5 ? 5 : k < most ? most : 0;
}

void kf_bench_sample_words(const kf_bench_result *result, char *words, size_t size)
{
    const kf_score *s = &result->score;
    if (s->voided)
        snprintf(words, size, "%zu, and %zu that could not be judged", s->samples, s->voided);
    else
        snprintf(words, size, "%zu, all of which count", s->samples);
}

void kf_bench_count_words(const kf_bench_result *result, size_t count, char *words, size_t size)
{
    snprintf(words, size, "%zu of %zu, ", count, result->score.samples);
}

/* Lists each score with its name, its value over all problems, and its value over judged problems
 * ("" if it is the same). */
typedef void (*score_line)(void *context, const char *name, const char *value, const char *judged);

typedef struct lister {
    const kf_bench_result *result;
    score_line line;
    void *context;
} lister;

static void list_text(const lister *l, const char *name, const char *value)
{
    l->line(l->context, name, value, "");
}

static void list_share(const lister *l, const char *name, kf_interval all, kf_interval judged)
{
    char first[KF_FIGURE], second[KF_FIGURE];
    bool same = l->result->judged == l->result->count;
    l->line(l->context, name, percent(all, first), same ? "" : percent(judged, second));
}

static void list_rate(const lister *l, const char *name, size_t count, kf_interval share)
{
    char value[2 * KF_FIGURE], figure[KF_FIGURE];
    kf_bench_count_words(l->result, count, value, KF_FIGURE);
    strcat(value, percent(share, figure));
    list_text(l, name, value);
}

static void list_fast(const lister *l, const char *name, double p, size_t k)
{
    const kf_bench_result *r = l->result;
    list_share(l, name, kf_score_fast(r->outcomes, r->count, p, k, &r->scoring),
               kf_score_fast(r->judged_outcomes, r->judged, p, k, &r->scoring));
}

/* Lists fast_p against extra baselines, or the reason why it is missing. */
static void list_extra_baselines(const lister *l)
{
    const kf_bench_result *r = l->result;
    char name[160], value[400];
    for (size_t i = 0; i < r->extra_baseline_count; i++) {
        const kf_bench_extra_baseline *extra = &r->extra_baselines[i];
        size_t unknown = 0;
        const char *why = "";
        for (size_t k = 0; k < r->count; k++) {
            bool lacks = r->rows[k].best.candidate && !(r->rows[k].versus[i].speedup.value > 0);
            unknown += lacks;
            if (lacks && !*why) why = r->rows[k].versus[i].why;
        }
        for (size_t k = 0; k < r->fast_count && extra->known; k++) {
            if (!(r->fast[k] > 0)) continue;
            snprintf(name, sizeof name, "fast_%g against %.80s%s", r->fast[k], extra->name,
                     extra->measured ? "" : ", not measured here");
            list_share(l, name, kf_bench_fast_extra(r, i, r->fast[k], false),
                       kf_bench_fast_extra(r, i, r->fast[k], true));
        }
        if (extra->known && !extra->measured) {
            snprintf(name, sizeof name, "%.80s", extra->name);
            snprintf(value, sizeof value, "times from a file, taken on %s; not measured here",
                     *extra->hardware ? extra->hardware : "unknown hardware");
            list_text(l, name, value);
        }
        if (!unknown && extra->known) continue;
        snprintf(name, sizeof name, "%s against %.80s",
                 extra->measured ? "not measured" : "no figure", extra->name);
        snprintf(value, sizeof value,
                 unknown ? "%zu solved problems, which count as not faster; the first: %.300s"
                         : "no problem was solved",
                 unknown, why);
        list_text(l, name, value);
    }
}

static void list_claims(const lister *l)
{
    kf_bench_claims claims = kf_bench_claims_of(l->result);
    char value[300], verified[KF_FIGURE], claimed[KF_FIGURE];
    if (!claims.count) return;
    snprintf(value, sizeof value,
             "%zu solutions, geometric mean %s; %zu judged, %zu of them correct", claims.count,
             kf_figure_ratio(claims.all, claimed), claims.judged, claims.correct);
    list_text(l, "claimed", value);
    if (claims.ratio > 0) {
        snprintf(value, sizeof value,
                 "%s where %s was claimed, of the %zu correct ones: %.3f of it",
                 kf_figure_ratio(claims.verified, verified),
                 kf_figure_ratio(claims.claimed, claimed), claims.correct, claims.ratio);
        list_text(l, "verified", value);
    }
    if (!claims.other_text) return;
    snprintf(value, sizeof value,
             "%zu claims are for another text of the problem, so perhaps for other sizes",
             claims.other_text);
    list_text(l, "other text", value);
}

/* Lists the mean origin of the device time of the best candidates. */
static void list_work(const lister *l)
{
    const kf_bench_result *r = l->result;
    double own = 0, library = 0, framework = 0, copies = 0;
    size_t known = 0;
    char value[200];
    for (size_t i = 0; i < r->count; i++) {
        const kf_bench_work *work = &r->rows[i].best.work;
        if (!r->rows[i].best.candidate || !kf_bench_knows(work)) continue;
        own += work->own, library += work->library;
        framework += work->framework, copies += work->copies;
        known++;
    }
    if (!known) return;
    double part = 100 / (double)known;
    snprintf(value, sizeof value,
             "%.0f %% own kernels, %.0f %% libraries, %.0f %% framework, %.0f %% copies: mean of "
             "%zu best candidates",
             own * part, library * part, framework * part, copies * part, known);
    list_text(l, "device time", value);
    if (!(r->own_work > 0)) return;
    snprintf(value, sizeof value, "solved needs %g of the device time in own kernels", r->own_work);
    list_text(l, "own work", value);
}

/* Lists what the best candidates show beyond the given sizes and values, and which results may
 * share memory. */
static void list_policies(const lister *l)
{
    const kf_bench_result *r = l->result;
    size_t shown = 0, wholly = 0, allow = 0;
    char value[128];
    for (size_t i = 0; i < r->count; i++) {
        const char *general = r->rows[i].best.generalises;
        allow += r->rows[i].aliasing;
        shown += general && *general;
        wholly += general && *general && !strstr(general, "not ");
    }
    snprintf(value, sizeof value, "%zu of %zu best candidates pass all unseen workloads", wholly,
             shown);
    if (shown) list_text(l, "generalises", value);
    list_work(l);
    snprintf(value, sizeof value, "allowed in %zu of %zu problems", allow, r->count);
    if (allow) list_text(l, "aliasing", value);
}

static void list_scores(const kf_bench_result *r, score_line line, void *context)
{
    const lister l = {r, line, context};
    char name[80], value[256], judged[64], figure[KF_FIGURE];
    const kf_score *s = &r->score;
    size_t most = kf_bench_most_samples(r);
    snprintf(value, sizeof value, "%zu of %zu problems, %zu faster than the baseline", s->solved,
             s->problems, s->faster);
    snprintf(judged, sizeof judged, r->judged == r->count ? "" : "%zu of %zu", s->solved,
             r->judged);
    line(context, "solved", value, judged);
    snprintf(value, sizeof value, "%zu: whole interval above 1", r->surely_faster);
    list_text(&l, "surely faster", value);
    kf_bench_sample_words(r, value, sizeof value);
    list_text(&l, "samples", value);
    list_rate(&l, "compile rate", s->compiled, s->compile_rate);
    list_rate(&l, "correctness rate", s->correct, s->correct_rate);
    list_rate(&l, "cheat rate", s->cheating, s->cheat_rate);
    snprintf(value, sizeof value,
             "%zu correct ones, which transform their weights once and keep the result", r->frozen);
    if (r->frozen) list_text(&l, "frozen weights", value);
    list_policies(&l);
    kf_autobuffer rules = {0};
    kf_bench_broken_rules(r, &rules);
    if (rules.size) list_text(&l, "rules broken", rules.data);
    for (size_t i = 0; i < r->fast_count; i++) {
        snprintf(name, sizeof name, "fast_%g", r->fast[i]);
        list_fast(&l, name, r->fast[i], 1);
    }
    for (size_t k = r->setup.independent ? kf_bench_next_k(0, most) : 0; k;
         k = kf_bench_next_k(k, most)) {
        snprintf(name, sizeof name, "pass@%zu", k);
        list_share(&l, name, kf_score_pass(r->problems, r->count, k, &r->scoring),
                   kf_score_pass(r->judged_problems, r->judged, k, &r->scoring));
    }
    for (size_t i = 0; most > 1 && i < r->fast_count; i++) {
        if (!(r->fast[i] >= 1)) continue;
        snprintf(name, sizeof name, "fast_%g of %zu samples", r->fast[i], most);
        list_fast(&l, name, r->fast[i], most);
    }
    list_extra_baselines(&l);
    list_text(&l, "geometric mean", times(s->geometric_mean, figure));
    list_text(&l, "median", times(s->median, figure));
    list_claims(&l);
    size_t claims = 0, claimed = 0, differ = 0;
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->rows[i].count; k++) {
            const kf_bench_sample *sample = &r->rows[i].samples[k];
            claims += sample->kernelbench;
            claimed += sample->kernelbench && sample->kernelbench_correct;
            differ += sample->kernelbench && sample->kernelbench_correct != sample->score.correct;
        }
    snprintf(value, sizeof value,
             "%zu of %zu Python solutions are correct; kforge says otherwise of %zu", claimed,
             claims, differ);
    if (claims) list_text(&l, "KernelBench would say", value);
    char cost[KF_FIGURE];
    bool unknown = r->spent.unpriced > 0 && !(r->spent.cost_usd > 0);
    snprintf(value, sizeof value, "%s, %lld call%s, %lld tokens; %s of devices",
             unknown ? "unknown" : kf_figure_cost(r->spent.cost_usd, r->spent.unpriced > 0, cost),
             (long long)r->spent.calls, r->spent.calls == 1 ? "" : "s", (long long)r->spent.tokens,
             kf_figure_seconds(r->spent.device_seconds, figure));
    list_text(&l, "cost", value);
}

/* Appends "2 of 10 problems count as unsolved of all: 1 refused by the import, 1 can't be loaded",
 * or nothing if all were judged. */
static const char *tell_unjudged(const kf_bench_result *r, char text[256])
{
    size_t faults = 0, waiting = 0;
    for (size_t i = 0; i < r->count; i++) {
        const kf_bench_row *row = &r->rows[i];
        faults += *row->fault && !*row->rule;
        waiting += !*row->fault && !row->run[0];
    }
    size_t length = 0;
    text[0] = '\0';
    if (r->judged == r->count) return text;
    const struct {
        size_t count;
        const char *word;
    } parts[] = {
        {r->refused, "refused by the import"}, {faults, "can't be loaded"}, {waiting, "not begun"}};
    length = (size_t)snprintf(text, 256,
                              "%zu of %zu problems were not judged and count as unsolved of all:",
                              r->count - r->judged, r->count);
    const char *comma = "";
    for (size_t i = 0; i < 3; i++) {
        if (!parts[i].count) continue;
        length += (size_t)snprintf(text + length, 256 - length, "%s %zu %s", comma, parts[i].count,
                                   parts[i].word);
        comma = ",";
    }
    return text;
}

/* Returns the text for a row's samples: their statuses, or the reason why there are no samples. */
static const char *outcome_of(const kf_bench_row *row)
{
    return *row->fault ? row->fault : *row->statuses ? row->statuses : row->state;
}

/* ---- for a terminal -------------------------------------------------------------------------- */

static void print_score(void *context, const char *name, const char *value, const char *judged)
{
    if (*judged)
        fprintf(context, "%-26s %-26s %s\n", name, value, judged);
    else
        fprintf(context, "%-26s %s\n", name, value);
}

static void print_rows(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    kf_autotable table = {0};
    char speedup[KF_FIGURE], interval[KF_FIGURE], seconds[KF_FIGURE];
    kf_table_add_columns(&table, "~problem", ">best", "interval", NULL);
    bool general = false;
    for (size_t i = 0; i < result->count; i++)
        general =
            general || (result->rows[i].best.generalises && *result->rows[i].best.generalises);
    if (general) kf_table_add_columns(&table, "~generalises", NULL);
    bool work = kf_bench_has_work(result);
    if (work) kf_table_add_columns(&table, ">own work", NULL);
    kf_table_add_columns(&table, ">claimed", "~samples", ">cost", ">device", "run", NULL);
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        char claimed[KF_FIGURE];
        kf_table_cell(&table, "%s", row->task);
        kf_table_cell(&table, "%s",
                      *row->fault ? "" : kf_figure_speedup(row->best.speedup, speedup));
        kf_table_cell(&table, "%s", kf_figure_interval(row->best.speedup, interval));
        if (general)
            kf_table_cell(&table, "%s", row->best.generalises ? row->best.generalises : "");
        if (work)
            kf_table_cell(&table, kf_bench_knows(&row->best.work) ? "%.0f %%" : "",
                          100 * row->best.work.own);
        kf_table_cell(&table, "%s",
                      isnan(row->best.claimed) ? "" : kf_figure_ratio(row->best.claimed, claimed));
        if (*row->rule)
            kf_table_cell(&table, "refused: %s", row->rule);
        else
            kf_table_cell(&table, "%s", outcome_of(row));
        kf_table_cell(&table, row->spent.cost_usd > 0 ? "$%.2f" : "", row->spent.cost_usd);
        kf_table_cell(&table, "%s",
                      row->spent.device_seconds > 0
                          ? kf_figure_seconds(row->spent.device_seconds, seconds)
                          : "");
        kf_table_cell(&table, "%s", row->run);
    }
    kf_table_print(&table, out, width, 0, bold);
}

/* Prints unconfirmed claims, and cheats with their rules. */
static void print_cheats(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "~problem", "~sample", ">claimed", "verdict", "rule", "~evidence",
                         NULL);
    size_t listed = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].count; k++) {
            const kf_bench_sample *sample = &result->rows[i].samples[k];
            char claimed[KF_FIGURE];
            if (!kf_bench_is_cheat(sample)) continue;
            listed++;
            kf_table_cell(&table, "%s", result->rows[i].task);
            kf_table_cell(&table, "%s", sample->label);
            kf_table_cell(&table, "%s",
                          isnan(sample->claimed) ? "" : kf_figure_ratio(sample->claimed, claimed));
            kf_table_cell(&table, "%s", sample->status);
            kf_table_cell(&table, "%s", sample->rule);
            kf_table_cell(&table, "%s", sample->text);
        }
    if (!listed) return;
    fprintf(out, "\ncheats, and speeds that are impossible\n");
    kf_table_print(&table, out, width, 2, bold);
}

/* Prints each solution with a claimed speedup and its verified figure. */
static void print_claims(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    kf_autotable table = {0};
    char speedup[KF_FIGURE], interval[KF_FIGURE];
    kf_table_add_columns(&table, "~problem", "~sample", ">claimed", ">verified", "interval",
                         ">ratio", "verdict", "rule", "claimed for", NULL);
    size_t listed = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].count; k++) {
            const kf_bench_sample *sample = &result->rows[i].samples[k];
            double ratio = kf_bench_claim_ratio(sample);
            if (isnan(sample->claimed)) continue;
            listed++;
            kf_table_cell(&table, "%s", result->rows[i].task);
            kf_table_cell(&table, "%s", sample->label);
            kf_table_cell(&table, "%s", kf_figure_ratio(sample->claimed, speedup));
            kf_table_cell(&table, "%s", kf_figure_speedup(sample->speedup, speedup));
            kf_table_cell(&table, "%s", kf_figure_interval(sample->speedup, interval));
            kf_table_cell(&table, isnan(ratio) ? "-" : "%.2f", ratio);
            kf_table_cell(&table, "%s", sample->status);
            kf_table_cell(&table, "%s", sample->rule);
            kf_table_cell(&table, "%s", sample->other_text ? "another text" : "");
        }
    if (!listed) return;
    fprintf(out, "\nclaimed and verified\n");
    kf_table_print(&table, out, width, 2, bold);
}

/* Prints the best of each problem against the bench's own baseline and the extra ones. */
static void print_extra_baselines(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    kf_autotable table = {0};
    char text[KF_FIGURE];
    if (!result->extra_baseline_count) return;
    kf_table_add_column(&table, "problem", KF_LEFT, true);
    kf_table_add_column(&table, *result->setup.baseline ? result->setup.baseline : "baseline",
                        KF_LEFT, false);
    for (size_t k = 0; k < result->extra_baseline_count; k++)
        kf_table_add_column(&table, result->extra_baselines[k].name, KF_LEFT, true);
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        if (!row->best.candidate) continue;
        kf_table_cell(&table, "%s", row->task);
        kf_table_cell(&table, "%s", times(row->best.speedup, text));
        for (size_t k = 0; k < result->extra_baseline_count; k++)
            kf_table_cell(&table, "%s",
                          row->versus[k].speedup.value > 0 ? times(row->versus[k].speedup, text)
                                                           : row->versus[k].why);
    }
    fprintf(out, "\nbest of each solved problem against extra baselines\n");
    kf_table_print(&table, out, width, 2, bold);
}

void kf_bench_print(const kf_bench_result *result, FILE *out, int width, bool bold)
{
    char when[KF_FIGURE], unjudged[256];
    fprintf(out, "bench %s, %s, begun %s, on %s\n", result->id, result->setup.name,
            kf_figure_time(result->setup.started, when), result->setup.device);
    if (*result->setup.source)
        fprintf(out, "solutions of %s\n", result->setup.source);
    else
        fprintf(out, "strategy %s, models: %s\n", result->setup.strategy,
                *result->setup.models ? result->setup.models : "none, the tuner alone");
    if (*result->setup.imported) fprintf(out, "with problems of %s\n", result->setup.imported);
    fputc('\n', out);
    print_rows(result, out, width, bold);
    print_cheats(result, out, width, bold);
    print_claims(result, out, width, bold);
    print_extra_baselines(result, out, width, bold);
    fputc('\n', out);
    if (result->judged < result->count) {
        char all[64], judged[64];
        snprintf(all, sizeof all, "of all %zu problems", result->count);
        snprintf(judged, sizeof judged, "of the %zu judged", result->judged);
        print_score(out, "", all, judged);
    }
    list_scores(result, print_score, out);
    if (*tell_unjudged(result, unjudged)) fprintf(out, "%s\n", unjudged);
    if (!result->setup.independent)
        fprintf(out,
                "samples of the strategy %s build on each other: no pass@k; fast_p is of whole "
                "searches\n",
                result->setup.strategy);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Appends a text for a table cell, with all markup escaped. */
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

static void markdown_cells(kf_buffer *out, const char *const *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kf_buffer_string(out, "| ");
        markdown_text(out, cells[i]);
        kf_buffer_string(out, " ");
    }
    kf_buffer_string(out, "|\n");
}

static void markdown_score(void *context, const char *name, const char *value, const char *judged)
{
    markdown_cells(context, (const char *const[]){name, value, judged}, 3);
}

static void markdown_claims(const kf_bench_result *result, kf_buffer *out)
{
    char claimed[KF_FIGURE], ratio[32], speedup[KF_FIGURE];
    size_t listed = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->rows[i].count; k++) {
            const kf_bench_sample *s = &result->rows[i].samples[k];
            double share = kf_bench_claim_ratio(s);
            if (isnan(s->claimed)) continue;
            if (!listed++)
                kf_buffer_string(out, "\n## Claimed and verified\n\n| problem | sample | claimed | "
                                      "verified | ratio | verdict | rule | "
                                      "claimed for |\n|---|---|---:|---:|---:|---|---|---|\n");
            kf_figure_ratio(s->claimed, claimed);
            snprintf(ratio, sizeof ratio, isnan(share) ? "-" : "%.2f", share);
            markdown_cells(
                out,
                (const char *const[]){result->rows[i].task, s->label, claimed,
                                      times(s->speedup, speedup), ratio, s->status, s->rule,
                                      s->other_text ? "another text of the problem" : ""},
                8);
        }
}

static void markdown_extra_baselines(const kf_bench_result *result, kf_buffer *out)
{
    char speedup[KF_FIGURE];
    if (!result->extra_baseline_count) return;
    kf_buffer_string(
        out, "\n## Extra baselines\n\n| problem | baseline | speedup | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->extra_baseline_count && result->rows[i].best.candidate;
             k++) {
            const kf_bench_versus *versus = &result->rows[i].versus[k];
            bool known = versus->speedup.value > 0;
            markdown_cells(
                out,
                (const char *const[]){result->rows[i].task, result->extra_baselines[k].name,
                                      known ? times(versus->speedup, speedup) : "-",
                                      !known                                ? versus->why
                                      : result->extra_baselines[k].measured ? ""
                                                                            : "not measured here"},
                4);
        }
}

static void markdown_refused(const kf_bench_result *result, kf_buffer *out)
{
    size_t listed = 0;
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        if (!*row->fault) continue;
        if (!listed++)
            kf_buffer_string(out,
                             "\n## Not judged\n\n| problem | rule | reason |\n|---|---|---|\n");
        markdown_cells(out, (const char *const[]){row->task, row->rule, row->fault}, 3);
    }
}

void kf_bench_markdown(const kf_bench_result *result, kf_buffer *out)
{
    char when[KF_FIGURE], speedup[KF_FIGURE], interval[KF_FIGURE], unjudged[256];
    kf_buffer_string(out, "# ");
    markdown_text(out, result->setup.name);
    kf_buffer_format(out, "\n\nBench %s, begun %s, on ", result->id,
                     kf_figure_time(result->setup.started, when));
    markdown_text(out, result->setup.device);
    kf_buffer_string(out, *result->setup.source ? "; solutions of " : "; models: ");
    markdown_text(out, *result->setup.source   ? result->setup.source
                       : *result->setup.models ? result->setup.models
                                               : "none, the tuner alone");
    kf_buffer_format(out, "; strategy %s. Intervals are 95 %%.\n", result->setup.strategy);
    if (*result->setup.imported) {
        kf_buffer_string(out, "With problems of ");
        markdown_text(out, result->setup.imported);
        kf_buffer_string(out, ".\n");
    }
    if (*tell_unjudged(result, unjudged)) kf_buffer_format(out, "%s.\n", unjudged);
    kf_buffer_format(out, "\n| score | of all %zu problems |", result->count);
    if (result->judged < result->count) kf_buffer_format(out, " of the %zu judged", result->judged);
    kf_buffer_string(out, " |\n|---|---|---|\n");
    list_scores(result, markdown_score, out);
    kf_buffer_string(out, "\n| problem | best | interval | samples |\n|---|---:|---|---|\n");
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        kf_buffer_string(out, "| ");
        markdown_text(out, row->task);
        kf_buffer_format(out, " | %s | %s | ", kf_figure_speedup(row->best.speedup, speedup),
                         kf_figure_interval(row->best.speedup, interval));
        if (*row->rule) kf_buffer_string(out, "refused: ");
        markdown_text(out, *row->rule ? row->rule : outcome_of(row));
        kf_buffer_string(out, " |\n");
    }
    markdown_claims(result, out);
    markdown_extra_baselines(result, out);
    markdown_refused(result, out);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool write_buffer(const char *path, const kf_buffer *text, kf_error *error)
{
    if (text->failed) return kf_fail_memory(error, path);
    return kf_directory_make_above(path, error) &&
           kf_file_write(path, text->data ? text->data : "", text->size, error);
}

bool kf_bench_outputs_check(const kf_bench_outputs *outputs, kf_error *error)
{
    kf_autobenchresult nothing = {0};
    kf_autofree char *table =
        outputs->kernelbench ? kf_path_join(outputs->kernelbench, "eval_results.json") : NULL;
    if (outputs->kernelbench && !table) return kf_fail_memory(error, "the report");
    const struct {
        const char *option, *path;
    } files[] = {{"html", outputs->html},
                 {"csv", outputs->csv},
                 {"md", outputs->markdown},
                 {"kernelbench", table}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kf_error why = {0};
        if (files[i].path && !kf_file_can_write(files[i].path, &why))
            return kf_fail(error, why.code, "%s; name another place with --%s", why.text,
                           files[i].option);
    }
    return kf_bench_thresholds(&outputs->fast, &nothing, error) &&
           kf_bench_external_timings(&outputs->times, &nothing, error);
}

bool kf_bench_write(const kf_bench_result *result, const kf_bench_outputs *outputs,
                    const kf_invocation *invocation, kf_error *error)
{
    kf_autobuffer html = {0}, csv = {0}, markdown = {0};
    if (outputs->csv) kf_bench_csv(result, &csv);
    if (outputs->markdown) kf_bench_markdown(result, &markdown);
    if (outputs->html &&
        (!kf_bench_html(result, &html, error) || !write_buffer(outputs->html, &html, error)))
        return false;
    if (outputs->csv && !write_buffer(outputs->csv, &csv, error)) return false;
    if (outputs->markdown && !write_buffer(outputs->markdown, &markdown, error)) return false;
    if (outputs->kernelbench && !kf_bench_kernelbench(result, outputs->kernelbench, error))
        return false;
    if (outputs->json) return kf_print_json(invocation->output, kf_bench_json(result), error);
    kf_bench_print(result, invocation->output, invocation->width, invocation->color);
    return true;
}
