/* A paired comparison: each problem is its own control, so problems that are hard for both benches
 * do not blur the difference. */
#include "bench_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "table.h"

static const kf_bench_row *row_named(const kf_bench_result *result, const char *name)
{
    for (size_t i = 0; i < result->count; i++)
        if (strcmp(result->rows[i].task, name) == 0) return &result->rows[i];
    return NULL;
}

/* Returns the same problem in the other result, or NULL. *named is the problem of the same name,
 * which may have different content. */
static const kf_bench_row *partner(const kf_bench_result *result, const kf_bench_row *row,
                                   bool by_name, const kf_bench_row **named)
{
    *named = row_named(result, row->task);
    for (size_t i = 0; i < result->count && row->hash[0]; i++)
        if (strcmp(result->rows[i].hash, row->hash) == 0) return &result->rows[i];
    bool known = *named && row->hash[0] && (*named)->hash[0];
    return known && !by_name ? NULL : *named;
}

static bool is_solved(const kf_bench_row *row)
{
    return row->best.candidate && row->outcome.correct;
}

static bool are_apart(kf_interval a, kf_interval b)
{
    /* False if one of them is unknown. */
    return a.high < b.low || b.high < a.low;
}

/* Returns the probability that a sample of the problem is correct and faster than p. */
static double fast_share(const kf_bench_result *result, const kf_bench_row *row, double p)
{
    kf_score_problem problem = result->setup.independent
                                   ? (kf_score_problem){row->scores, row->count}
                                   : (kf_score_problem){&row->outcome, 1};
    size_t counts = 0, good = 0;
    for (size_t i = 0; i < problem.count; i++) {
        const kf_score_sample *s = &problem.samples[i];
        counts += s->counts;
        good += s->counts && s->correct && (p <= 0 || s->speedup > p);
    }
    return counts ? (double)good / (double)counts : 0;
}

static double correct_share(const kf_bench_row *row)
{
    size_t counts = 0, good = 0;
    for (size_t i = 0; i < row->count; i++)
        counts += row->scores[i].counts, good += row->scores[i].counts && row->scores[i].correct;
    return counts ? (double)good / (double)counts : 0;
}

static bool pair_up(kf_bench_comparison *c, bool by_name, kf_error *error)
{
    const kf_bench_row *named;
    c->pairs = calloc(c->before->count ? c->before->count : 1, sizeof *c->pairs);
    if (!c->pairs) return kf_fail_memory(error, "the comparison");
    for (size_t i = 0; i < c->before->count; i++) {
        const kf_bench_row *before = &c->before->rows[i],
                           *after = partner(c->after, before, by_name, &named);
        if (!after) {
            if (named && !c->other++) c->other_name = before->task;
            c->only_before += !named;
            continue;
        }
        kf_bench_pair *pair = &c->pairs[c->count++];
        bool same = before->hash[0] && strcmp(before->hash, after->hash) == 0;
        *pair = (kf_bench_pair){before, after, NAN, false, !same};
        c->by_name += !same;
        bool was = is_solved(before), is = is_solved(after);
        c->both += was && is;
        c->gained += is && !was;
        c->lost += was && !is;
        if (!was || !is) continue;
        pair->ratio = after->best.speedup.value / before->best.speedup.value;
        pair->apart = are_apart(before->best.speedup, after->best.speedup);
        c->faster += pair->apart && pair->ratio > 1;
        c->slower += pair->apart && pair->ratio < 1;
    }
    for (size_t i = 0; i < c->after->count; i++)
        c->only_after += !partner(c->before, &c->after->rows[i], by_name, &named) && !named;
    if (c->count) return true;
    if (c->other)
        return kf_fail(error, KF_ERROR_INPUT,
                       "the two benches have no problem in common: %zu problems have the same name "
                       "and different content, for example %s; --by-name compares them",
                       c->other, c->other_name);
    return kf_fail(error, KF_ERROR_INPUT, "the two benches have no problem in common");
}

bool kf_bench_compare(const kf_bench_result *before, const kf_bench_result *after, bool by_name,
                      kf_bench_comparison *c, kf_error *error)
{
    c->before = before;
    c->after = after;
    if (!pair_up(c, by_name, error)) return false;
    kf_autofree double *first = calloc(c->count, sizeof *first),
                       *second = calloc(c->count, sizeof *second);
    if (!first || !second) return kf_fail_memory(error, "the comparison");
    for (size_t i = 0; i < c->count; i++) {
        first[i] = is_solved(c->pairs[i].before) ? c->pairs[i].before->best.speedup.value : NAN;
        second[i] = is_solved(c->pairs[i].after) ? c->pairs[i].after->best.speedup.value : NAN;
    }
    c->ratio = kf_score_ratio(first, second, c->count, &before->scoring, NULL);
    for (size_t i = 0; i < c->count; i++)
        first[i] = (double)is_solved(c->pairs[i].after) - (double)is_solved(c->pairs[i].before);
    c->solved = kf_score_mean(first, c->count, &before->scoring);
    for (size_t i = 0; i < c->count; i++)
        first[i] = correct_share(c->pairs[i].after) - correct_share(c->pairs[i].before);
    c->correct = kf_score_mean(first, c->count, &before->scoring);
    for (size_t p = 0; p < before->fast_count; p++) {
        for (size_t i = 0; i < c->count; i++)
            first[i] = fast_share(after, c->pairs[i].after, before->fast[p]) -
                       fast_share(before, c->pairs[i].before, before->fast[p]);
        c->fast[p] = kf_score_mean(first, c->count, &before->scoring);
    }
    return true;
}

void kf_bench_comparison_clear(kf_bench_comparison *comparison)
{
    free(comparison->pairs);
    *comparison = (kf_bench_comparison){0};
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends the result of a problem and the reason why it was not solved: its fault, or its statuses
 * with the text of the first sample. */
static const char *why(const kf_bench_row *row)
{
    if (*row->fault) return row->fault;
    for (size_t i = 0; i < row->count; i++)
        if (!row->samples[i].score.correct && *row->samples[i].text) return row->samples[i].text;
    return "";
}

static const char *change_of(const kf_bench_pair *pair)
{
    bool was = is_solved(pair->before), is = is_solved(pair->after);
    if (was != is) return is ? "gained" : "lost";
    if (!was) return "unsolved";
    return !pair->apart ? "not_shown_to_differ" : pair->ratio > 1 ? "faster" : "slower";
}

/* Returns the words for people of a pair without a difference. */
static const char *words_of(const char *change)
{
    return strcmp(change, "not_shown_to_differ") == 0 ? "not shown to differ" : change;
}

static cJSON *side_json(const kf_bench_row *row)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddBoolToObject(json, "solved", is_solved(row));
    kf_add_interval(json, "speedup", row->best.speedup);
    cJSON_AddStringToObject(json, "statuses", *row->fault ? "not judged" : row->statuses);
    if (!is_solved(row)) cJSON_AddStringToObject(json, "why", why(row));
    if (*row->run) cJSON_AddStringToObject(json, "run", row->run);
    return json;
}

static void add_result(cJSON *json, const char *key, const kf_bench_result *result)
{
    cJSON *inner = cJSON_AddObjectToObject(json, key);
    cJSON_AddStringToObject(inner, "id", result->id);
    cJSON_AddStringToObject(inner, "name", result->setup.name);
    cJSON_AddStringToObject(inner, "device", result->setup.device);
    cJSON_AddStringToObject(inner, "models", result->setup.models);
    cJSON_AddStringToObject(inner, "strategy", result->setup.strategy);
}

static cJSON *comparison_json(const kf_bench_comparison *c)
{
    cJSON *json = kf_json_document("kforge-bench-comparison/1");
    add_result(json, "before", c->before);
    add_result(json, "after", c->after);
    cJSON_AddBoolToObject(json, "same_device",
                          strcmp(c->before->setup.device, c->after->setup.device) == 0);
    cJSON_AddNumberToObject(json, "problems", (double)c->count);
    cJSON_AddNumberToObject(json, "only_before", (double)c->only_before);
    cJSON_AddNumberToObject(json, "only_after", (double)c->only_after);
    cJSON_AddNumberToObject(json, "paired_by_name", (double)c->by_name);
    cJSON_AddNumberToObject(json, "same_name_other_content", (double)c->other);
    cJSON_AddNumberToObject(json, "both_solved", (double)c->both);
    cJSON_AddNumberToObject(json, "gained", (double)c->gained);
    cJSON_AddNumberToObject(json, "lost", (double)c->lost);
    cJSON_AddNumberToObject(json, "faster", (double)c->faster);
    cJSON_AddNumberToObject(json, "slower", (double)c->slower);
    kf_add_interval(json, "ratio", c->ratio);
    kf_add_interval(json, "solved_change", c->solved);
    kf_add_interval(json, "correct_change", c->correct);
    cJSON *fast = cJSON_AddArrayToObject(json, "fast_p_change"),
          *pairs = cJSON_AddArrayToObject(json, "pairs");
    for (size_t i = 0; i < c->before->fast_count; i++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddNumberToObject(entry, "p", c->before->fast[i]);
        kf_add_interval(entry, "change", c->fast[i]);
        cJSON_AddItemToArray(fast, entry);
    }
    for (size_t i = 0; i < c->count; i++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "task", c->pairs[i].before->task);
        if (strcmp(c->pairs[i].after->task, c->pairs[i].before->task) != 0)
            cJSON_AddStringToObject(entry, "task_after", c->pairs[i].after->task);
        cJSON_AddStringToObject(entry, "paired_by", c->pairs[i].by_name ? "name" : "content");
        cJSON_AddStringToObject(entry, "change", change_of(&c->pairs[i]));
        kf_add_figure(entry, "ratio", c->pairs[i].ratio);
        cJSON_AddItemToObject(entry, "before", side_json(c->pairs[i].before));
        cJSON_AddItemToObject(entry, "after", side_json(c->pairs[i].after));
        cJSON_AddItemToArray(pairs, entry);
    }
    return json;
}

static void print_change(FILE *out, const char *name, kf_interval change)
{
    fprintf(out, "%-22s %+.1f %%", name, 100 * change.value);
    if (!isnan(change.low)) fprintf(out, " [%+.1f, %+.1f]", 100 * change.low, 100 * change.high);
    fputc('\n', out);
}

static void print_table(const kf_bench_comparison *c, const kf_invocation *invocation, bool flipped)
{
    kf_autotable table = {0};
    char first[KF_FIGURE], second[KF_FIGURE];
    kf_table_add_columns(&table, "~problem", "change", ">before", ">after", ">ratio",
                         "~samples before", "~samples after", "~why", NULL);
    size_t listed = 0;
    for (size_t i = 0; i < c->count; i++) {
        const kf_bench_pair *pair = &c->pairs[i];
        bool flips = is_solved(pair->before) != is_solved(pair->after);
        if (flips != flipped) continue;
        listed++;
        kf_table_cell(&table, "%s", pair->before->task);
        kf_table_cell(&table, "%s", words_of(change_of(pair)));
        kf_table_cell(&table, "%s", kf_figure_speedup(pair->before->best.speedup, first));
        kf_table_cell(&table, "%s", kf_figure_speedup(pair->after->best.speedup, second));
        kf_table_cell(&table, isnan(pair->ratio) ? "-" : "%.3f", pair->ratio);
        kf_table_cell(&table, "%s", pair->before->statuses);
        kf_table_cell(&table, "%s", pair->after->statuses);
        kf_table_cell(&table, "%s",
                      !flips ? "" : why(is_solved(pair->before) ? pair->after : pair->before));
    }
    if (!listed) return;
    fprintf(invocation->output, "\n%s\n",
            flipped ? "solved by one of them" : "solved by both or neither");
    kf_table_print(&table, invocation->output, invocation->width, 2, invocation->color);
}

bool kf_bench_comparison_write(const kf_bench_comparison *c, const kf_invocation *invocation,
                               bool json, kf_error *error)
{
    FILE *out = invocation->output;
    char name[32];
    if (json) return kf_print_json(out, comparison_json(c), error);
    fprintf(out, "before %s  %s\nafter  %s  %s\n", c->before->id, c->before->setup.name,
            c->after->id, c->after->setup.name);
    if (strcmp(c->before->setup.device, c->after->setup.device) != 0)
        fprintf(out, "on different devices: %s, then %s; speedups are over the baseline of each\n",
                c->before->setup.device, c->after->setup.device);
    print_table(c, invocation, true);
    print_table(c, invocation, false);
    fprintf(out, "\n%zu problems in common; %zu solved by both, %zu gained, %zu lost", c->count,
            c->both, c->gained, c->lost);
    if (c->only_before || c->only_after)
        fprintf(out, "; %zu only before, %zu only after", c->only_before, c->only_after);
    fputc('\n', out);
    if (c->other)
        fprintf(out,
                "%zu have the same name and different content (for example %s): not compared; "
                "--by-name compares them\n",
                c->other, c->other_name);
    if (c->by_name)
        fprintf(out, "%zu are paired by name: their content differs, or is unknown in one bench\n",
                c->by_name);
    if (c->both) {
        fprintf(out, "%-22s %.3f", "ratio of speedups", c->ratio.value);
        if (!isnan(c->ratio.low)) fprintf(out, " [%.3f, %.3f]", c->ratio.low, c->ratio.high);
        fprintf(out, "; %zu faster and %zu slower beyond their intervals\n", c->faster, c->slower);
    }
    print_change(out, "solved", c->solved);
    print_change(out, "correct samples", c->correct);
    for (size_t i = 0; i < c->before->fast_count; i++) {
        snprintf(name, sizeof name, "fast_%g", c->before->fast[i]);
        print_change(out, name, c->fast[i]);
    }
    return true;
}
