/* A result as JSON ("kforge-bench-report/2"), and the reader of those parts that a comparison
 * needs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_result.h"
#include "kforge/json.h"
#include "output.h"

static void add_text(cJSON *json, const char *key, const char *text)
{
    if (*text) cJSON_AddStringToObject(json, key, text);
}

static void add_times(cJSON *json, const char *key, const kf_bench_times *times)
{
    if (isnan(times->median)) return;
    cJSON *inner = cJSON_AddObjectToObject(json, key);
    kf_add_figure(inner, "median", times->median);
    kf_add_figure(inner, "mean", times->mean);
    kf_add_figure(inner, "std", times->deviation);
    kf_add_figure(inner, "min", times->least);
    kf_add_figure(inner, "max", times->most);
    cJSON_AddNumberToObject(inner, "batches", (double)times->batches);
}

static cJSON *sample_json(const kf_bench_sample *s)
{
    cJSON *json = cJSON_CreateObject();
    add_text(json, "label", s->label);
    cJSON_AddStringToObject(json, "status", s->status);
    add_text(json, "rule", s->rule);
    add_text(json, "text", s->text);
    add_text(json, "proposer", s->proposer);
    add_text(json, "hash", s->hash);
    if (s->candidate) kf_add_candidate(json, "candidate", s->candidate);
    cJSON_AddBoolToObject(json, "counts", s->score.counts);
    cJSON_AddBoolToObject(json, "compiled", s->score.compiled);
    cJSON_AddBoolToObject(json, "correct", s->score.correct);
    cJSON_AddBoolToObject(json, "cheating", s->score.cheating);
    kf_add_interval(json, "speedup", s->speedup);
    cJSON_AddBoolToObject(json, "reverified", s->reverified);
    if (s->generalises) add_text(json, "generalises", s->generalises);
    if (kf_bench_knows(&s->work)) {
        cJSON *work = cJSON_AddObjectToObject(json, "work");
        kf_add_figure(work, "own", s->work.own);
        kf_add_figure(work, "library", s->work.library);
        kf_add_figure(work, "framework", s->work.framework);
        kf_add_figure(work, "copies", s->work.copies);
    }
    if (!isnan(s->claimed)) {
        kf_add_figure(json, "claimed", s->claimed);
        kf_add_figure(json, "claim_ratio", kf_bench_claim_ratio(s));
        cJSON_AddBoolToObject(json, "claim_of_other_text", s->other_text);
    }
    if (s->kernelbench) {
        cJSON *claim = cJSON_AddObjectToObject(json, "kernelbench");
        cJSON_AddBoolToObject(claim, "correct", s->kernelbench_correct);
        kf_add_figure(claim, "speedup", s->kernelbench_speedup);
    }
    kf_add_figure(json, "build_seconds", s->build_seconds);
    kf_add_figure(json, "judge_seconds", s->judge_seconds);
    add_times(json, "seconds", &s->times);
    add_times(json, "baseline_seconds", &s->baseline_times);
    return json;
}

/* Adds the best candidate's figures against each extra baseline, in their order. */
static void add_extra_baselines(cJSON *json, const kf_bench_result *result, const kf_bench_row *row)
{
    cJSON *list = result->extra_baseline_count ? cJSON_AddArrayToObject(json, "against") : NULL;
    for (size_t i = 0; i < result->extra_baseline_count; i++) {
        const kf_bench_versus *versus = &row->versus[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "baseline", result->extra_baselines[i].name);
        kf_add_interval(entry, "speedup", versus->speedup);
        kf_add_figure(entry, "baseline_seconds", versus->seconds);
        if (row->best.candidate && !(versus->speedup.value > 0))
            add_text(entry, "why", versus->why);
        cJSON_AddItemToArray(list, entry);
    }
}

static cJSON *row_json(const kf_bench_result *result, const kf_bench_row *row)
{
    cJSON *json = cJSON_CreateObject(), *samples;
    cJSON_AddStringToObject(json, "task", row->task);
    add_text(json, "fault", row->fault);
    if (*row->rule) {
        cJSON *refused = cJSON_AddObjectToObject(json, "refused");
        cJSON_AddStringToObject(refused, "rule", row->rule);
        cJSON_AddStringToObject(refused, "reason", row->fault);
    }
    add_text(json, "hash", row->hash);
    if (row->scaled) cJSON_AddTrueToObject(json, "scaled");
    cJSON_AddStringToObject(json, "aliasing", row->aliasing ? "allow" : "forbid");
    add_text(json, "run", row->run);
    cJSON_AddStringToObject(json, "state", row->state);
    if (row->level >= 0) cJSON_AddNumberToObject(json, "level", (double)row->level);
    if (row->problem >= 0) cJSON_AddNumberToObject(json, "problem", (double)row->problem);
    if (row->best.candidate)
        cJSON_AddItemToObject(json, "best", sample_json(&row->best));
    else
        cJSON_AddNullToObject(json, "best");
    add_extra_baselines(json, result, row);
    cJSON_AddStringToObject(json, "statuses", row->statuses);
    samples = cJSON_AddArrayToObject(json, "samples");
    for (size_t i = 0; i < row->count; i++)
        cJSON_AddItemToArray(samples, sample_json(&row->samples[i]));
    cJSON *roofs = cJSON_AddArrayToObject(json, "rooflines");
    for (size_t i = 0; i < row->roof_count; i++) {
        const kf_bench_roof *roof = &row->roofs[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "workload", roof->workload);
        kf_add_figure(entry, "bytes", roof->bytes);
        kf_add_figure(entry, "flops", roof->flops);
        kf_add_figure(entry, "seconds", roof->seconds);
        kf_add_figure(entry, "floor_seconds", roof->floor_seconds);
        cJSON_AddItemToArray(roofs, entry);
    }
    kf_add_figure(json, "cost_usd", row->spent.cost_usd);
    kf_add_figure(json, "device_seconds", row->spent.device_seconds);
    cJSON_AddNumberToObject(json, "calls", (double)row->spent.calls);
    cJSON_AddNumberToObject(json, "tokens", (double)row->spent.tokens);
    return json;
}

static void add_scores(cJSON *json, const kf_bench_result *r)
{
    const kf_score *s = &r->score;
    size_t most = 1;
    for (size_t i = 0; i < r->count; i++)
        if (r->setup.independent && r->rows[i].count > most) most = r->rows[i].count;
    cJSON_AddNumberToObject(json, "problems", (double)s->problems);
    cJSON_AddNumberToObject(json, "judged", (double)r->judged);
    cJSON_AddNumberToObject(json, "refused", (double)r->refused);
    cJSON_AddNumberToObject(json, "solved", (double)s->solved);
    cJSON_AddNumberToObject(json, "faster", (double)s->faster);
    cJSON_AddNumberToObject(json, "surely_faster", (double)r->surely_faster);
    cJSON_AddNumberToObject(json, "frozen", (double)r->frozen);
    cJSON_AddNumberToObject(json, "samples", (double)s->samples);
    cJSON_AddNumberToObject(json, "void", (double)s->voided);
    kf_add_interval(json, "compile_rate", s->compile_rate);
    kf_add_interval(json, "correctness_rate", s->correct_rate);
    kf_add_interval(json, "cheat_rate", s->cheat_rate);
    kf_add_interval(json, "geometric_mean", s->geometric_mean);
    kf_add_interval(json, "median", s->median);
    cJSON *fast = cJSON_AddArrayToObject(json, "fast_p"),
          *pass = cJSON_AddArrayToObject(json, "pass_at_k");
    for (size_t i = 0; i < r->fast_count; i++)
        for (size_t k = 1; k <= most; k = k < most ? most : most + 1) {
            cJSON *entry = cJSON_CreateObject();
            cJSON_AddNumberToObject(entry, "p", r->fast[i]);
            cJSON_AddNumberToObject(entry, "k", (double)k);
            kf_add_interval(entry, "share",
                            kf_score_fast(r->outcomes, r->count, r->fast[i], k, &r->scoring));
            kf_add_interval(
                entry, "share_of_judged",
                kf_score_fast(r->judged_outcomes, r->judged, r->fast[i], k, &r->scoring));
            cJSON_AddItemToArray(fast, entry);
        }
    for (size_t k = 1; r->setup.independent && k <= most; k++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddNumberToObject(entry, "k", (double)k);
        kf_add_interval(entry, "share", kf_score_pass(r->problems, r->count, k, &r->scoring));
        kf_add_interval(entry, "share_of_judged",
                        kf_score_pass(r->judged_problems, r->judged, k, &r->scoring));
        cJSON_AddItemToArray(pass, entry);
    }
}

/* Adds the scores of the best candidates against extra baselines. */
static void add_against(cJSON *json, const kf_bench_result *r)
{
    cJSON *list = r->extra_baseline_count ? cJSON_AddArrayToObject(json, "against") : NULL;
    for (size_t i = 0; i < r->extra_baseline_count; i++) {
        cJSON *entry = cJSON_CreateObject(), *fast;
        cJSON_AddItemToArray(list, entry);
        cJSON_AddStringToObject(entry, "baseline", r->extra_baselines[i].name);
        cJSON_AddBoolToObject(entry, "measured_here", r->extra_baselines[i].measured);
        add_text(entry, "hardware", r->extra_baselines[i].hardware);
        cJSON_AddNumberToObject(entry, "known", (double)r->extra_baselines[i].known);
        fast = cJSON_AddArrayToObject(entry, "fast_p");
        for (size_t k = 0; k < r->fast_count; k++) {
            cJSON *share = cJSON_CreateObject();
            cJSON_AddNumberToObject(share, "p", r->fast[k]);
            kf_add_interval(share, "share", kf_bench_fast_extra(r, i, r->fast[k], false));
            kf_add_interval(share, "share_of_judged", kf_bench_fast_extra(r, i, r->fast[k], true));
            cJSON_AddItemToArray(fast, share);
        }
    }
}

static void add_claims(cJSON *json, const kf_bench_result *r)
{
    kf_bench_claims claims = kf_bench_claims_of(r);
    if (!claims.count) return;
    cJSON *inner = cJSON_AddObjectToObject(json, "claims");
    cJSON_AddNumberToObject(inner, "count", (double)claims.count);
    cJSON_AddNumberToObject(inner, "judged", (double)claims.judged);
    cJSON_AddNumberToObject(inner, "correct", (double)claims.correct);
    cJSON_AddNumberToObject(inner, "cheating", (double)claims.cheating);
    cJSON_AddNumberToObject(inner, "of_other_text", (double)claims.other_text);
    kf_add_figure(inner, "claimed_of_all", claims.all);
    kf_add_figure(inner, "claimed_of_correct", claims.claimed);
    kf_add_figure(inner, "verified_of_correct", claims.verified);
    kf_add_figure(inner, "ratio", claims.ratio);
    kf_autobuffer rules = {0};
    kf_bench_broken_rules(r, &rules);
    cJSON_AddStringToObject(inner, "rules", rules.data ? rules.data : "");
}

cJSON *kf_bench_json(const kf_bench_result *r)
{
    cJSON *json = kf_json_document(KF_BENCH_REPORT_SCHEMA);
    cJSON_AddStringToObject(json, "id", r->id);
    cJSON_AddStringToObject(json, "name", r->setup.name);
    cJSON_AddStringToObject(json, "suite", r->setup.suite);
    add_text(json, "solutions", r->setup.source);
    cJSON_AddStringToObject(json, "device", r->setup.device);
    add_text(json, "models", r->setup.models);
    cJSON_AddStringToObject(json, "strategy", r->setup.strategy);
    add_text(json, "baseline", r->setup.baseline);
    add_text(json, "imported", r->setup.imported);
    kf_add_time(json, "started", r->setup.started);
    cJSON_AddNumberToObject(json, "samples", (double)r->setup.samples);
    cJSON_AddBoolToObject(json, "independent", r->setup.independent);
    kf_add_figure(json, "bytes_per_second", r->setup.bytes_per_second);
    add_scores(cJSON_AddObjectToObject(json, "scores"), r);
    add_against(json, r);
    add_claims(json, r);
    kf_add_figure(json, "cost_usd", r->spent.cost_usd);
    kf_add_figure(json, "device_seconds", r->spent.device_seconds);
    cJSON_AddNumberToObject(json, "calls", (double)r->spent.calls);
    cJSON_AddNumberToObject(json, "tokens", (double)r->spent.tokens);
    cJSON *rows = cJSON_AddArrayToObject(json, "problems");
    for (size_t i = 0; i < r->count; i++) cJSON_AddItemToArray(rows, row_json(r, &r->rows[i]));
    return json;
}

/* ---- reading back ---------------------------------------------------------------------------- */

static double number_of(const cJSON *json, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* Reads "c38", or the number 38 of version 1. */
static int64_t candidate_of(const cJSON *json)
{
    const char *id = kf_json_get_text(json, "candidate", "");
    double number = number_of(json, "candidate");
    return *id == 'c' ? strtoll(id + 1, NULL, 10) : number > 0 ? (int64_t)number : 0;
}

static bool flag_of(const cJSON *json, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, key));
}

static kf_bench_sample read_sample(const cJSON *json, kf_bench_result *result)
{
    const cJSON *speedup = cJSON_GetObjectItemCaseSensitive(json, "speedup");
    kf_bench_sample s = {.label = kf_bench_text(result, kf_json_get_text(json, "label", "")),
                         .status = kf_bench_text(result, kf_json_get_text(json, "status", "")),
                         .rule = kf_bench_text(result, kf_json_get_text(json, "rule", "")),
                         .text = kf_bench_text(result, kf_json_get_text(json, "text", "")),
                         .proposer = "",
                         .number = -1,
                         .speedup = {number_of(speedup, "value"), number_of(speedup, "low"),
                                     number_of(speedup, "high")},
                         .claimed = number_of(json, "claimed"),
                         .kernelbench_speedup = NAN,
                         .work = {NAN, NAN, NAN, NAN, ""},
                         .candidate = candidate_of(json)};
    s.score = (kf_score_sample){flag_of(json, "counts"), flag_of(json, "compiled"),
                                flag_of(json, "correct"), flag_of(json, "cheating"), NAN};
    if (s.score.correct) s.score.speedup = s.speedup.value;
    return s;
}

static bool read_row(const cJSON *json, kf_bench_result *result, kf_bench_row *row)
{
    const cJSON *entry, *samples = cJSON_GetObjectItemCaseSensitive(json, "samples");
    const cJSON *best = cJSON_GetObjectItemCaseSensitive(json, "best");
    int count = cJSON_GetArraySize(samples);
    *row = (kf_bench_row){.level = -1,
                          .problem = -1,
                          .state = kf_bench_text(result, kf_json_get_text(json, "state", ""))};
    row->task = kf_bench_text(result, kf_json_get_text(json, "task", ""));
    row->fault = kf_bench_text(result, kf_json_get_text(json, "fault", ""));
    row->rule = kf_bench_text(
        result, kf_json_get_text(cJSON_GetObjectItemCaseSensitive(json, "refused"), "rule", ""));
    snprintf(row->hash, sizeof row->hash, "%.64s", kf_json_get_text(json, "hash", ""));
    row->statuses = kf_bench_text(result, kf_json_get_text(json, "statuses", ""));
    snprintf(row->run, sizeof row->run, "%.10s", kf_json_get_text(json, "run", ""));
    row->samples = calloc(count > 0 ? (size_t)count : 1, sizeof *row->samples);
    row->scores = calloc(count > 0 ? (size_t)count : 1, sizeof *row->scores);
    if (!row->samples || !row->scores) return false;
    cJSON_ArrayForEach(entry, samples)
    {
        row->samples[row->count] = read_sample(entry, result);
        row->scores[row->count] = row->samples[row->count].score;
        row->count++;
    }
    row->best = read_sample(best, result);
    row->best.speedup = cJSON_IsObject(best) ? row->best.speedup : (kf_interval){NAN, NAN, NAN};
    row->outcome = cJSON_IsObject(best)
                       ? row->best.score
                       : (kf_score_sample){.counts = row->count > 0, .speedup = NAN};
    row->spent.cost_usd = fmax(0, number_of(json, "cost_usd"));
    row->spent.device_seconds = fmax(0, number_of(json, "device_seconds"));
    return true;
}

bool kf_bench_read_json(const cJSON *json, const char *where, kf_bench_result *result,
                        kf_error *error)
{
    const cJSON *entry, *rows = cJSON_GetObjectItemCaseSensitive(json, "problems");
    const char *schema = kf_json_get_text(json, "schema", "");
    bool known = strcmp(schema, KF_BENCH_REPORT_SCHEMA) == 0 ||
                 strcmp(schema, KF_BENCH_REPORT_SCHEMA_1) == 0;
    if (!known || !cJSON_IsArray(rows))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a report of a bench: \"schema\" is not \"%s\"", where,
                       KF_BENCH_REPORT_SCHEMA);
    snprintf(result->id, sizeof result->id, "%.10s", kf_json_get_text(json, "id", ""));
    result->setup.name = kf_bench_text(result, kf_json_get_text(json, "name", ""));
    result->setup.suite = kf_bench_text(result, kf_json_get_text(json, "suite", ""));
    result->setup.source = kf_bench_text(result, kf_json_get_text(json, "solutions", ""));
    result->setup.device = kf_bench_text(result, kf_json_get_text(json, "device", ""));
    result->setup.models = kf_bench_text(result, kf_json_get_text(json, "models", ""));
    result->setup.strategy = kf_bench_text(result, kf_json_get_text(json, "strategy", ""));
    result->setup.baseline = kf_bench_text(result, kf_json_get_text(json, "baseline", ""));
    result->setup.imported = kf_bench_text(result, kf_json_get_text(json, "imported", ""));
    result->setup.independent = flag_of(json, "independent");
    result->setup.started = kf_time_of(cJSON_GetObjectItemCaseSensitive(json, "started"));
    result->setup.bytes_per_second = number_of(json, "bytes_per_second");
    result->setup.flops_per_second = NAN;
    result->rows = calloc((size_t)cJSON_GetArraySize(rows) + 1, sizeof *result->rows);
    if (!result->rows) return kf_fail_memory(error, "the report");
    cJSON_ArrayForEach(entry, rows)
    {
        if (!read_row(entry, result, &result->rows[result->count++]))
            return kf_fail_memory(error, "the report");
    }
    return kf_bench_score(result, error);
}
