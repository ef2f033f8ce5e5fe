/* Reads a result from the store: one run for each task. Its attempts are the samples. */
#include "bench_result.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device_work.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "llm.h"
#include "output.h"
#include "roof_points.h"

/* attempts beyond the samples: baseline and seeds */
#define SKIPPED 64

/* ---- texts ----------------------------------------------------------------------------------- */

const char *kf_bench_text(kf_bench_result *result, const char *text)
{
    if (!text || !*text) return "";
    char *copy = kf_text_clean(text, strlen(text), true);
    if (!copy || !kf_list_grow(&result->texts.items, result->texts.count)) {
        result->texts.failed = true;
        free(copy);
        return "";
    }
    return result->texts.items[result->texts.count++] = copy;
}

void kf_bench_result_clear(kf_bench_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->rows[i].samples);
        free(result->rows[i].scores);
    }
    for (size_t i = 0; i < result->texts.count; i++) free(result->texts.items[i]);
    free(result->rows);
    free(result->problems);
    free(result->outcomes);
    free(result->texts.items);
    *result = (kf_bench_result){0};
}

static double number_of(const cJSON *json, const char *key, double fallback)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    return cJSON_IsNumber(item) ? item->valuedouble : fallback;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static const kf_workload_verdict *first_timed(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].timed) return &verdict->workloads[i];
    return NULL;
}

static kf_bench_times times_of(const kf_workload_verdict *workload, char side, double median)
{
    kf_bench_times times = {median, NAN, NAN, NAN, NAN, 0};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < workload->sample_count; i++) {
        const kf_sample *sample = &workload->samples[i];
        if (sample->side != side || sample->pair < 0 || sample->calls < 1) continue;
        double seconds = fmax(0, sample->seconds - workload->batch_cost_seconds) / sample->calls;
        sum += seconds, squares += seconds * seconds;
        times.least = fmin(seconds, times.least); /* fmax and fmin ignore NaN */
        times.most = fmax(seconds, times.most);
        times.batches++;
    }
    if (!times.batches) return times;
    times.mean = sum / (double)times.batches;
    times.deviation = sqrt(fmax(0, squares / (double)times.batches - times.mean * times.mean));
    return times;
}

static const kf_finding *first_finding(const kf_verdict *verdict)
{
    const kf_finding *note = NULL;
    for (size_t i = 0; i < verdict->finding_count; i++) {
        if (verdict->findings[i].status == verdict->status) return &verdict->findings[i];
        note = note ? note : &verdict->findings[i];
    }
    for (size_t i = 0; i < verdict->workload_count; i++)
        for (size_t j = 0; j < verdict->workloads[i].finding_count; j++)
            if (verdict->workloads[i].findings[j].status == verdict->status &&
                kf_finding_decides(&verdict->workloads[i], &verdict->workloads[i].findings[j]))
                return &verdict->workloads[i].findings[j];
    return note;
}

static kf_verdict *stored_verdict(kf_store *store, int64_t id)
{
    size_t size;
    kf_autofree char *text = kf_store_verdict_json(store, id, &size, NULL);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, KF_JOB_BYTES, "verdict", NULL) : NULL;
    return json ? kf_verdict_from_json(json, NULL) : NULL;
}

static void read_verdict(kf_bench_result *result, const kf_verdict *verdict,
                         kf_bench_sample *sample)
{
    const kf_finding *finding = first_finding(verdict);
    const kf_workload_verdict *timed = first_timed(verdict);
    if (finding && verdict->status != KF_CORRECT)
        sample->rule = kf_bench_text(result, finding->rule);
    /* the last finding is the most exact */
    static const char *const flags[] = {KF_FLAG_FULL_F32, KF_FLAG_TF32, KF_FLAG_FROZEN};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (verdict->status == KF_CORRECT && kf_verdict_has_flag(verdict, flags[i]))
            sample->rule = flags[i];
    if (verdict->status == KF_CORRECT && timed) {
        sample->times = times_of(timed, 'c', timed->candidate_seconds);
        sample->baseline_times = times_of(timed, 'b', timed->baseline_seconds);
    }
    kf_autofree char *general =
        verdict->status == KF_CORRECT ? kf_verdict_generalises(verdict, true) : NULL;
    if (general) sample->generalises = kf_bench_text(result, general);
    const cJSON *claim = verdict->kernelbench;
    sample->kernelbench = claim;
    sample->kernelbench_correct =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(claim, "correctness"));
    sample->kernelbench_speedup = number_of(claim, "speedup", NAN);
    kf_roof_ceilings ceilings = kf_roof_ceilings_of(verdict);
    if (!(result->setup.bytes_per_second >= ceilings.bytes_per_second))
        result->setup.bytes_per_second = ceilings.bytes_per_second;
    if (!(result->setup.flops_per_second >= ceilings.flops_per_second))
        result->setup.flops_per_second = ceilings.flops_per_second;
}

/* Reads the origin of the device time from a verdict's counters. */
static void read_work(kf_bench_result *result, const cJSON *counters, kf_bench_sample *sample)
{
    static const char title[] = "device time: ";
    kf_autobuffer words = {0};
    kf_work_words(counters, &words);
    sample->work = (kf_bench_work){.own = kf_work_part(counters, KF_WORK_OWN),
                                   .library = kf_work_part(counters, KF_WORK_LIBRARY),
                                   .framework = kf_work_part(counters, KF_WORK_FRAMEWORK),
                                   .copies = kf_work_part(counters, KF_WORK_COPIES),
                                   .words = ""};
    if (words.size > sizeof title)
        sample->work.words = kf_bench_text(result, words.data + strlen(title));
}

/* Reads the counters of the sample's verdict, or those that a later run stored. */
static bool find_work(kf_bench_result *result, kf_store *store, const kf_verdict *verdict,
                      const char *device, kf_bench_sample *sample, kf_error *error)
{
    bool found = false;
    if (verdict && verdict->counters) return read_work(result, verdict->counters, sample), true;
    kf_autofree char *text = NULL;
    if (!kf_store_get_counters(store, sample->candidate, device, &text, &found, error))
        return false;
    kf_auto(cJSON) counters = found ? cJSON_Parse(text) : NULL;
    if (counters) read_work(result, counters, sample);
    return true;
}

bool kf_bench_has_work(const kf_bench_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        if (result->rows[i].best.candidate && kf_bench_knows(&result->rows[i].best.work))
            return true;
    return false;
}

/* Applies --own-work: a correct sample with little work of its own is not solved, and one without a
 * measurement does not count. */
static void judge_work(kf_bench_result *result, kf_bench_sample *sample)
{
    char text[160];
    if (!(result->own_work > 0) || !sample->score.correct || sample->work.own >= result->own_work)
        return;
    bool known = kf_bench_knows(&sample->work);
    snprintf(text, sizeof text, "only %.0f %% of its device time is in its own kernels",
             100 * sample->work.own);
    sample->text = known ? kf_bench_text(result, text)
                         : "the origin of its device time was not measured (--counters all)";
    sample->rule = "own-work";
    sample->score.correct = false;
    sample->score.counts = known;
    sample->score.speedup = NAN;
}

static void read_roofs(kf_bench_row *row, const kf_verdict *verdict, const kf_task *task,
                       kf_bench_result *result)
{
    kf_roof_point points[KF_BENCH_ROOFS];
    row->roof_count = task ? kf_roof_points(task, verdict, points, KF_BENCH_ROOFS) : 0;
    for (size_t i = 0; i < row->roof_count; i++)
        row->roofs[i] = (kf_bench_roof){.workload = kf_bench_text(result, points[i].workload),
                                        .bytes = points[i].bytes,
                                        .flops = points[i].flops,
                                        .seconds = points[i].seconds,
                                        .floor_seconds = points[i].floor_seconds};
}

/* ---- samples --------------------------------------------------------------------------------- */

typedef struct reader {
    kf_store *store;
    kf_bench_result *result;
    kf_bench_row *row;
    /* of this run's task; NULL for a bench of models */
    const cJSON *solutions;
    bool models; /* True if any model was called */
    int64_t skipped[SKIPPED];
    size_t skipped_count;
    kf_error *error;
} reader;

/* Returns the sample of the same reply or solution, which was judged again, or a new one. NULL
 * without memory. */
static kf_bench_sample *place_for(reader *r, int64_t call, int64_t number)
{
    kf_bench_row *row = r->row;
    for (size_t i = 0; i < row->count; i++)
        if (call ? row->samples[i].model_call == call
                 : number >= 0 && row->samples[i].number == number)
            return &row->samples[i];
    return kf_list_grow(&row->samples, row->count) ? &row->samples[row->count++] : NULL;
}

static kf_bench_sample empty_sample(void)
{
    const kf_bench_times none = {NAN, NAN, NAN, NAN, NAN, 0};
    return (kf_bench_sample){.label = "",
                             .status = "",
                             .rule = "",
                             .text = "",
                             .proposer = "",
                             .number = -1,
                             .speedup = {NAN, NAN, NAN},
                             .claimed = NAN,
                             .kernelbench_speedup = NAN,
                             .build_seconds = NAN,
                             .judge_seconds = NAN,
                             .times = none,
                             .baseline_times = none,
                             .work = {NAN, NAN, NAN, NAN, ""},
                             .score = {.speedup = NAN}};
}

static bool fill_candidate(reader *r, int64_t id, kf_bench_sample *sample)
{
    kf_autoresult kf_store_candidate c = {0};
    if (!kf_store_get_candidate(r->store, id, r->row->run, &c, r->error)) return false;
    sample->candidate = id;
    memcpy(sample->hash, c.hash, sizeof sample->hash);
    if (!c.verdict) return true;
    sample->verdict = true;
    sample->status = kf_status_name(c.status);
    sample->text = c.status == KF_CORRECT ? "" : kf_bench_text(r->result, c.message);
    sample->speedup = c.speedup;
    sample->reverified = c.reverified;
    sample->build_seconds = c.build_seconds;
    sample->judge_seconds = c.judge_seconds;
    sample->score = kf_score_of(c.status, c.blame, c.speedup.value);
    kf_auto(kf_verdict) verdict = stored_verdict(r->store, c.verdict);
    if (verdict) read_verdict(r->result, verdict, sample);
    if (c.status != KF_CORRECT) return true;
    if (!find_work(r->result, r->store, verdict, c.device, sample, r->error)) return false;
    judge_work(r->result, sample);
    return true;
}

/* True if the provider failed and there is no reply: then there is no sample. */
static bool is_no_answer(reader *r, int64_t call, bool *none)
{
    kf_autoresult kf_store_model_call stored = {0};
    if (!kf_store_get_model_call(r->store, call, &stored, r->error)) return false;
    *none = strcmp(stored.outcome, kf_llm_outcome_name(KF_LLM_FAILED)) == 0;
    return true;
}

/* Finds a solution by its file. */
static int64_t number_of_solution(const cJSON *solutions, const char *file)
{
    const cJSON *solution;
    int64_t number = 0;
    cJSON_ArrayForEach(solution, solutions)
    {
        if (strcmp(kf_json_get_text(solution, "file", ""), file) == 0) return number;
        number++;
    }
    return -1;
}

static bool take_attempt(reader *r, const kf_store_attempt *attempt)
{
    bool seed = strcmp(attempt->step, "seed") == 0,
         baseline = strcmp(attempt->step, "baseline") == 0, none = false;
    if ((baseline || (seed && r->models)) && attempt->candidate && r->skipped_count < SKIPPED)
        r->skipped[r->skipped_count++] = attempt->candidate;
    if (attempt->outcome == KF_ATTEMPT_REVERIFIED || strncmp(attempt->step, "critic_", 7) == 0 ||
        strcmp(attempt->step, "summary") == 0)
        return true;
    if (r->solutions ? strcmp(attempt->step, "solution") != 0
        : r->models  ? !attempt->model_call
                     : baseline)
        return true;
    if (attempt->outcome == KF_ATTEMPT_MODEL_FAILED && !is_no_answer(r, attempt->model_call, &none))
        return false;
    if (none) return true;
    int64_t number = r->solutions ? number_of_solution(r->solutions, attempt->proposer) : -1;
    kf_bench_sample *sample = place_for(r, attempt->model_call, number);
    if (!sample) return kf_fail_memory(r->error, "the result of a bench");
    *sample = empty_sample();
    sample->model_call = attempt->model_call;
    sample->number = number;
    sample->proposer = kf_bench_text(r->result, attempt->proposer);
    sample->status = kf_attempt_outcome_name(attempt->outcome);
    sample->text = kf_bench_text(r->result, attempt->message);
    sample->score = attempt->outcome == KF_ATTEMPT_LOST ? (kf_score_sample){.speedup = NAN}
                                                        : kf_score_no_candidate();
    if (attempt->unverified) {
        sample->status = "unverified";
        sample->score = (kf_score_sample){.speedup = NAN};
    } else if (attempt->candidate && attempt->verdict)
        return fill_candidate(r, attempt->candidate, sample);
    sample->candidate = attempt->candidate;
    return true;
}

/* Labels the samples of solutions, and adds solutions that were not judged. */
static bool take_solutions(reader *r)
{
    const cJSON *solution;
    int64_t number = 0;
    cJSON_ArrayForEach(solution, r->solutions)
    {
        size_t before = r->row->count;
        kf_bench_sample *sample = place_for(r, 0, number);
        if (!sample) return kf_fail_memory(r->error, "the result of a bench");
        if (r->row->count > before) {
            const char *why = kf_json_get_text(solution, "why", "");
            *sample = empty_sample();
            sample->number = number;
            sample->status = "not_judged";
            sample->text = kf_bench_text(r->result, *why ? why : "not judged yet");
        }
        sample->label = kf_bench_text(r->result, kf_json_get_text(solution, "file", ""));
        sample->claimed = number_of(solution, "claimed", NAN);
        sample->python = strcmp(kf_json_get_text(solution, "language", ""), "python") == 0;
        sample->other_text = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(solution, "other_text"));
        number++;
    }
    return true;
}

/* ---- a problem ------------------------------------------------------------------------------- */

/* "2 correct, 1 wrong_result", the most frequent first */
static const char *count_statuses(kf_bench_result *result, const kf_bench_row *row)
{
    kf_autobuffer text = {0};
    bool *counted = calloc(row->count ? row->count : 1, sizeof *counted);
    for (;;) {
        size_t best = 0, most = 0;
        for (size_t i = 0; counted && i < row->count; i++) {
            size_t same = 0;
            for (size_t k = 0; k < row->count && !counted[i]; k++)
                same += strcmp(row->samples[k].status, row->samples[i].status) == 0;
            if (same > most) most = same, best = i;
        }
        if (!most) break;
        kf_buffer_format(&text, "%s%zu %s", text.size ? ", " : "", most, row->samples[best].status);
        for (size_t k = 0; k < row->count; k++)
            counted[k] |= strcmp(row->samples[k].status, row->samples[best].status) == 0;
    }
    free(counted);
    return kf_bench_text(result, text.data);
}

static bool is_skipped(const reader *r, int64_t candidate)
{
    for (size_t i = 0; i < r->skipped_count; i++)
        if (r->skipped[i] == candidate) return true;
    return false;
}

static bool find_best_of_run(reader *r, kf_bench_sample *best)
{
    kf_store_scope scope = {.run = r->row->run, .island = -1};
    kf_auto(kf_store_cursor) cursor = kf_store_best(r->store, &scope, SKIPPED + 1, r->error);
    kf_autoresult kf_store_candidate candidate = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_candidate(cursor, &candidate, r->error) : row) == 1) {
        if (is_skipped(r, candidate.id)) continue;
        if (!fill_candidate(r, candidate.id, best)) return false;
        if (best->score.correct || !(r->result->own_work > 0)) return true;
        *best = empty_sample();
    }
    return row >= 0;
}

static bool conclude_row(reader *r, kf_task *task)
{
    kf_bench_row *row = r->row;
    row->best = empty_sample();
    row->scores = calloc(row->count ? row->count : 1, sizeof *row->scores);
    if (!row->scores) return kf_fail_memory(r->error, "the result of a bench");
    size_t best = SIZE_MAX, number = 0;
    for (size_t i = 0; i < row->count; i++) {
        kf_bench_sample *sample = &row->samples[i];
        row->scores[i] = sample->score;
        if (!*sample->label) {
            char label[32];
            snprintf(label, sizeof label, "sample %zu", number);
            sample->label = kf_bench_text(r->result, label);
        }
        number++;
    }
    if (r->result->setup.independent) {
        kf_score_best(&(kf_score_problem){row->scores, row->count}, &best);
        if (best < row->count) row->best = row->samples[best];
    } else if (row->run[0] && !find_best_of_run(r, &row->best)) {
        return false;
    }
    row->outcome = row->best.candidate
                       ? row->best.score
                       : (kf_score_sample){.counts = row->count > 0, .speedup = NAN};
    row->statuses = count_statuses(r->result, row);
    kf_autoresult kf_store_candidate c = {0};
    if (!row->best.candidate ||
        !kf_store_get_candidate(r->store, row->best.candidate, row->run, &c, r->error))
        return !row->best.candidate;
    kf_auto(kf_verdict) verdict = stored_verdict(r->store, c.verdict);
    if (verdict) read_roofs(row, verdict, task, r->result);
    return true;
}

/* Reads the verdicts on the best candidate against extra baselines. They are stored under
 * environment ids of their own (bench_extra_baselines.c). */
static bool read_extra_baselines(reader *r, const kf_task *task)
{
    const kf_bench_result *result = r->result;
    const char *own = strstr(result->setup.device, ", against baseline ");
    int length = own ? (int)(own - result->setup.device) : (int)strlen(result->setup.device);
    kf_autofree char *hardware = strndup(result->setup.device, (size_t)length);
    for (size_t i = 0; i < result->extra_baseline_count && r->row->best.candidate; i++) {
        kf_bench_versus *versus = &r->row->versus[i];
        kf_autofree char *environment_id =
            hardware ? kf_search_environment_id(hardware, result->extra_baselines[i].name) : NULL;
        kf_autoresult kf_store_candidate c = {0};
        bool found;
        if (!environment_id) return kf_fail_memory(r->error, "the result of a bench");
        if (task && !kf_task_baseline_named(task, result->extra_baselines[i].name)) {
            versus->why = "its task has no baseline of this name";
            continue;
        }
        if (!kf_store_find_candidate(r->store, r->row->hash, r->row->best.hash, environment_id, &c,
                                     &found, r->error))
            return false;
        if (!found) {
            versus->why = "not measured";
        } else if (c.status != KF_CORRECT || !(c.speedup.value > 0)) {
            versus->why =
                kf_bench_text(r->result, *c.message ? c.message : kf_status_name(c.status));
        } else {
            versus->speedup = c.speedup;
            kf_auto(kf_verdict) verdict = stored_verdict(r->store, c.verdict);
            const kf_workload_verdict *timed = verdict ? first_timed(verdict) : NULL;
            if (timed) versus->seconds = timed->baseline_seconds;
        }
    }
    return true;
}

static bool load_run(kf_bench_result *result, kf_store *store, const kf_store_run *run,
                     const cJSON *bench, kf_bench_row *row, kf_error *error)
{
    reader r = {.store = store,
                .result = result,
                .row = row,
                .models = *result->setup.models,
                .error = error};
    r.solutions = cJSON_GetObjectItemCaseSensitive(bench, "solutions");
    snprintf(row->run, sizeof row->run, "%s", run->id);
    row->state = kf_bench_text(result, kf_run_state(run));
    kf_store_spent spent;
    if (!kf_store_run_spent(store, run->id, &spent, error)) return false;
    row->spent.cost_usd = spent.cost_usd;
    row->spent.device_seconds = spent.device_seconds;
    row->spent.calls = spent.calls;
    row->spent.unpriced = spent.unpriced;
    row->spent.tokens = spent.prompt_tokens + spent.completion_tokens;
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run->id, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int got = cursor ? 1 : -1;
    while ((got = got == 1 ? kf_store_next_attempt(cursor, &attempt, error) : got) == 1)
        if (!take_attempt(&r, &attempt)) return false;
    kf_store_cursor_free(kf_steal(&cursor));
    if (got < 0 || !take_solutions(&r)) return false;
    /* needed only for its work: NULL is allowed */
    kf_auto(kf_task) task = kf_stored_task(store, run->task, NULL);
    if (task) {
        const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch");
        row->scaled = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(torch, "patches")) > 0;
        row->aliasing = kf_task_allows_aliasing(task);
        kf_bench_origin(kf_task_json(task), &row->level, &row->problem);
    }
    snprintf(row->hash, sizeof row->hash, "%s", run->task);
    return conclude_row(&r, task) && read_extra_baselines(&r, task);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* True if one of the parts between "; " is `part`. Two imports of one suite are the same. */
static bool lists(const char *text, const char *part)
{
    size_t size = strlen(part);
    for (const char *at = text; at; at = (at = strstr(at, "; ")) ? at + 2 : NULL)
        if (strncmp(at, part, size) == 0 && (!at[size] || strncmp(at + size, "; ", 2) == 0))
            return true;
    return false;
}

/* Returns "kernelbench, https://…, at 0123456789ab, scaled to 1000000 elements; …". */
static const char *tell_imports(kf_bench_result *result, const cJSON *imports)
{
    kf_autobuffer text = {0};
    const cJSON *entry;
    cJSON_ArrayForEach(entry, imports)
    {
        kf_autobuffer part = {0};
        double scale = number_of(entry, "scale", 0);
        const char *url = kf_json_get_text(entry, "url", ""),
                   *commit = kf_json_get_text(entry, "commit", ""),
                   *mode = kf_json_get_text(entry, "mode", "");
        kf_buffer_string(&part, kf_json_get_text(entry, "suite", ""));
        if (*url) kf_buffer_format(&part, ", %s", url);
        if (*commit) kf_buffer_format(&part, ", at %.12s", commit);
        if (scale > 0) kf_buffer_format(&part, ", scaled to %.0f elements", scale);
        if (*mode && strcmp(mode, "train") != 0) kf_buffer_format(&part, ", mode %s", mode);
        if (part.data && !lists(text.data, part.data))
            kf_buffer_format(&text, "%s%s", text.size ? "; " : "", part.data);
    }
    return kf_bench_text(result, text.data);
}

static bool describe(kf_bench_result *result, const kf_store_run *run, const cJSON *bench,
                     kf_error *error)
{
    kf_search_settings settings;
    const char *models[KF_SEARCH_MODELS], *specs[KF_SEARCH_MODELS];
    size_t model_count = 0;
    kf_auto(cJSON) memory = NULL;
    kf_autobuffer names = {0};
    const cJSON *model, *entry, *tasks = cJSON_GetObjectItemCaseSensitive(bench, "tasks");
    if (!kf_search_options_read(run->options, &settings, models, &memory, error)) return false;
    cJSON_ArrayForEach(model, cJSON_GetObjectItemCaseSensitive(bench, "models"))
    {
        if (model_count == KF_SEARCH_MODELS || !cJSON_IsString(model)) continue;
        specs[model_count] = model->valuestring;
        kf_autofree char *name = kf_search_model_name(specs, model_count++);
        if (name && strcmp(name, "none") != 0)
            kf_buffer_format(&names, "%s%s", names.size ? ", " : "", name);
    }
    result->setup.name = kf_bench_text(result, kf_json_get_text(bench, "name", ""));
    result->setup.suite = kf_bench_text(result, kf_json_get_text(bench, "suite", ""));
    result->setup.source = kf_bench_text(result, kf_json_get_text(bench, "source", ""));
    result->setup.device = kf_bench_text(result, run->device);
    result->setup.models = kf_bench_text(result, names.data);
    bool solutions = *result->setup.source;
    result->setup.strategy = solutions               ? "solutions"
                             : *result->setup.models ? kf_bench_text(result, settings.strategy.name)
                                                     : "tune";
    result->setup.baseline = kf_bench_text(result, settings.baseline);
    result->setup.imported =
        tell_imports(result, cJSON_GetObjectItemCaseSensitive(bench, "imports"));
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(bench, "against"))
    {
        if (cJSON_IsString(entry) && result->extra_baseline_count < KF_BENCH_EXTRA_BASELINES)
            result->extra_baselines[result->extra_baseline_count++] =
                (kf_bench_extra_baseline){.name = kf_bench_text(result, entry->valuestring),
                                          .measured = true,
                                          .hardware = ""};
    }
    result->setup.samples = settings.samples;
    result->setup.independent =
        solutions || (settings.samples && kf_strategy_is_independent(&settings.strategy));
    result->setup.started = number_of(bench, "started", NAN);
    int count = cJSON_GetArraySize(tasks);
    result->rows = calloc(count > 0 ? (size_t)count : 1, sizeof *result->rows);
    if (!result->rows) return kf_fail_memory(error, "the result of a bench");
    cJSON_ArrayForEach(entry, tasks)
    {
        kf_bench_row *row = &result->rows[result->count++];
        *row = (kf_bench_row){.state = "not begun",
                              .statuses = "",
                              .best = empty_sample(),
                              .outcome = {.speedup = NAN}};
        for (size_t i = 0; i < KF_BENCH_EXTRA_BASELINES; i++)
            row->versus[i] = (kf_bench_versus){{NAN, NAN, NAN}, NAN, ""};
        row->task = kf_bench_text(result, kf_json_get_text(entry, "name", ""));
        row->rule = kf_bench_text(result, kf_json_get_text(entry, "rule", ""));
        snprintf(row->hash, sizeof row->hash, "%.64s", kf_json_get_text(entry, "hash", ""));
        row->fault = kf_bench_text(result, kf_json_get_text(entry, "fault", ""));
        row->level = (int64_t)number_of(entry, "level", -1);
        row->problem = (int64_t)number_of(entry, "problem", -1);
    }
    return true;
}

static kf_bench_row *row_named(kf_bench_result *result, const char *name)
{
    for (size_t i = 0; i < result->count; i++)
        if (!*result->rows[i].fault && strcmp(result->rows[i].task, name) == 0)
            return &result->rows[i];
    return NULL;
}

bool kf_bench_run_words(kf_store *store, const char *id, kf_buffer *words, kf_error *error)
{
    kf_autobenchresult result = {.store = store};
    kf_autoresult kf_store_run run = {0};
    kf_auto(cJSON) memory = NULL;
    char best[KF_FIGURE], interval[KF_FIGURE];
    if (!kf_store_find_run(store, id, &run, error)) return false;
    const cJSON *bench = kf_bench_of_options(run.options, &memory);
    if (!describe(&result, &run, bench, error)) return false;
    kf_bench_row *row = row_named(&result, run.task_name);
    if (!row) return kf_fail(error, KF_ERROR_INPUT, "run %s: its bench has no such task", id);
    if (!load_run(&result, store, &run, bench, row, error)) return false;
    kf_figure_interval(row->best.speedup, interval);
    kf_buffer_format(words, "best %s%s%s, ", kf_figure_speedup(row->best.speedup, best),
                     *interval ? " " : "", interval);
    if (row->count)
        kf_buffer_format(words, "%zu sample%s: %s", row->count, row->count == 1 ? "" : "s",
                         row->statuses);
    else
        kf_buffer_string(words, "samples: none");
    return true;
}

bool kf_bench_load(kf_store *store, const char *id, kf_bench_result *result, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_runs(store, NULL, error);
    kf_autoresult kf_store_run run = {0};
    int got = cursor ? 1 : -1;
    snprintf(result->id, sizeof result->id, "%s", id);
    result->setup.bytes_per_second = result->setup.flops_per_second = NAN;
    result->store = store;
    result->setup.name = result->setup.suite = result->setup.source = result->setup.device =
        result->setup.models = result->setup.strategy = result->setup.baseline =
            result->setup.imported = "";
    while ((got = got == 1 ? kf_store_next_run(cursor, &run, error) : got) == 1) {
        kf_auto(cJSON) memory = NULL;
        const cJSON *bench = kf_bench_of_options(run.options, &memory);
        if (strcmp(kf_json_get_text(bench, "id", ""), id) != 0) continue;
        if (!result->rows && !describe(result, &run, bench, error)) return false;
        kf_bench_row *row = row_named(result, run.task_name);
        if (row && !row->run[0] && !load_run(result, store, &run, bench, row, error)) return false;
    }
    if (got < 0) return false;
    if (!result->rows)
        return kf_fail(error, KF_ERROR_INPUT,
                       "no bench \"%s\" in %s; \"kforge bench report\" lists them", id,
                       kf_store_path(store));
    return kf_bench_score(result, error);
}

static bool is_frozen(const kf_bench_sample *sample)
{
    return sample->score.correct && strcmp(sample->rule, KF_FLAG_FROZEN) == 0;
}

/* Only the best counts, because it was measured again. One of many samples may be above 1 by
 * chance. */
static bool is_surely_faster(const kf_bench_row *row)
{
    return row->best.candidate && row->best.score.correct && row->best.speedup.low > 1;
}

bool kf_bench_score(kf_bench_result *result, kf_error *error)
{
    size_t count = result->count;
    result->problems = calloc(2 * count + 1, sizeof *result->problems);
    result->outcomes = calloc(2 * count + 1, sizeof *result->outcomes);
    if (!result->problems || !result->outcomes || result->texts.failed)
        return kf_fail_memory(error, "the result of a bench");
    for (size_t i = 0; i < count; i++) {
        kf_bench_row *row = &result->rows[i];
        result->problems[i] = (kf_score_problem){row->scores, row->count};
        result->outcomes[i] = result->setup.independent
                                  ? result->problems[i]
                                  : (kf_score_problem){&row->outcome, row->run[0] ? 1 : 0};
        result->refused += *row->rule != '\0';
        if (row->run[0] && !*row->fault) {
            result->problems[count + result->judged] = result->problems[i];
            result->outcomes[count + result->judged++] = result->outcomes[i];
        }
        result->spent.cost_usd += row->spent.cost_usd;
        result->spent.device_seconds += row->spent.device_seconds;
        result->spent.calls += row->spent.calls;
        result->spent.unpriced += row->spent.unpriced;
        result->spent.tokens += row->spent.tokens;
    }
    result->surely_faster = result->frozen = 0;
    for (size_t i = 0; i < count; i++) {
        result->surely_faster += is_surely_faster(&result->rows[i]);
        for (size_t k = 0; k < result->rows[i].count; k++)
            result->frozen += is_frozen(&result->rows[i].samples[k]);
    }
    result->judged_problems = result->problems + count;
    result->judged_outcomes = result->outcomes + count;
    for (size_t k = 0; k < result->extra_baseline_count; k++) {
        result->extra_baselines[k].known = 0;
        for (size_t i = 0; i < count; i++)
            result->extra_baselines[k].known += result->rows[i].versus[k].speedup.value > 0;
    }
    result->score = kf_score_suite(result->problems, count, &result->scoring);
    if (result->setup.independent) return true;
    kf_score searches = kf_score_suite(result->outcomes, count, &result->scoring);
    result->score.solved = searches.solved;
    result->score.faster = searches.faster;
    result->score.geometric_mean = searches.geometric_mean;
    result->score.median = searches.median;
    return true;
}

kf_interval kf_bench_fast_extra(const kf_bench_result *result, size_t extra, double p, bool judged)
{
    size_t count = 0;
    kf_interval none = {NAN, NAN, NAN};
    kf_autofree kf_score_sample *samples = calloc(result->count + 1, sizeof *samples);
    kf_autofree kf_score_problem *problems = calloc(result->count + 1, sizeof *problems);
    if (!samples || !problems || !result->extra_baselines[extra].known) return none;
    for (size_t i = 0; i < result->count; i++) {
        const kf_bench_row *row = &result->rows[i];
        if (judged && (!row->run[0] || *row->fault)) continue;
        bool solved = row->best.candidate != 0;
        samples[count] =
            (kf_score_sample){true, solved, solved, false, row->versus[extra].speedup.value};
        problems[count] = (kf_score_problem){&samples[count], 1};
        count++;
    }
    return kf_score_fast(problems, count, p, 1, &result->scoring);
}

bool kf_bench_thresholds(const kf_option_list *fast, kf_bench_result *result, kf_error *error)
{
    static const double usual[] = {0, 0.5, 0.8, 1, 1.5, 2}; /* KernelBench's */
    result->fast_count = 0;
    for (size_t i = 0; i < fast->count; i++) {
        char *end;
        double p = strtod(fast->items[i], &end);
        if (end == fast->items[i] || *end || !(p >= 0 && p < 1e9))
            return kf_fail(error, KF_ERROR_INPUT, "--fast %s: expected a number of at least 0",
                           fast->items[i]);
        if (result->fast_count == KF_BENCH_FAST)
            return kf_fail(error, KF_ERROR_INPUT, "--fast: more than %d thresholds", KF_BENCH_FAST);
        result->fast[result->fast_count++] = p;
    }
    if (result->fast_count) return true;
    memcpy(result->fast, usual, sizeof usual);
    result->fast_count = sizeof usual / sizeof *usual;
    return true;
}

bool kf_bench_rules(const kf_bench_outputs *outputs, kf_bench_result *result, kf_error *error)
{
    result->own_work = outputs->own_work;
    return kf_bench_thresholds(&outputs->fast, result, error);
}
