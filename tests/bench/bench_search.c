/* Compares strategies at equal budgets, on a synthetic model (search_model.c). The verdicts on its
 * candidates are real: each variant of six tasks was measured once on the CPU device
 * (search_space/measured.jsonl, made by --measure).
 *
 * Every strategy searches every task with every seed, through the same loop, prompts, workers and
 * store as `kforge optimize`. The unit is a *proposal*: a call of the model, of a critic too, or a
 * point of the tuner. The baseline and the seed do not count, since all searches start from them.
 * Measuring the best again does not count either. `speedup after N` is that of the best candidate
 * among the first N proposals. Means are geometric over seeds.
 *
 * Usage: bench_search [--seeds N] [--first N] [--proposals N] [--task NAME]
 *                     [--strategy NAME|FILE.json]… [--rethink mapping|any]
 *        bench_search --measure KFORGE    fills the table, with KFORGE as `kforge worker`
 *        bench_search --loop [N]          measures the loop's cost with N candidates in the run */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/store.h"
#include "search.h"
#include "search_table.h"

static const char *const task_names[] = {"row_softmax", "gemv",     "layernorm",
                                         "transpose",   "jacobi2d", "gemm"};
enum {
    TASKS = sizeof task_names / sizeof *task_names,
    STRATEGIES = 16,
    SEEDS = 64,
    PROPOSALS = 256
};

typedef struct settings {
    int seeds, first, proposals;
    const char *task, *self, *rethink;
    const char *strategies[STRATEGIES];
    kf_strategy values[STRATEGIES];
    int strategy_count;
} settings;

/* log of the best speedup after each proposal. */
typedef struct curve {
    double best[PROPOSALS + 1];
} curve;

/* ---- one run --------------------------------------------------------------------------------- */

/* The task with one seed: the plainest variant, which declares what can be tuned. */
static kf_task *make_task(const char *name, kf_error *error)
{
    char path[4096];
    space s;
    snprintf(path, sizeof path, "%s/tasks/%s", KFORGE_SOURCE_DIR, name);
    kf_auto(kf_task) task = kf_task_load(path, error);
    kf_auto(cJSON) bundle = task ? kf_task_bundle(task) : NULL;
    if (!bundle || !space_read(&s, name, error)) return NULL;
    kf_autobuffer seed = {0};
    variant v = space_naive(&s);
    space_emit(&s, &v, true, &seed);
    space_free(&s);
    cJSON *json = cJSON_GetObjectItemCaseSensitive(bundle, "json"),
          *files = cJSON_GetObjectItemCaseSensitive(bundle, "files");
    const cJSON *old;
    cJSON_ArrayForEach(old, cJSON_GetObjectItemCaseSensitive(json, "seeds"))
        cJSON_DeleteItemFromObjectCaseSensitive(files, old->valuestring);
    cJSON_DeleteItemFromObjectCaseSensitive(json, "seeds");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(json, "seeds"), cJSON_CreateString("seed.cu"));
    cJSON_AddStringToObject(files, "seed.cu", seed.data);
    return kf_task_from_bundle(bundle, error);
}

static bool read_curve(kf_store *store, const char *run, int proposals, curve *c, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    double best = -INFINITY;
    int64_t points = 0, calls = 0, done = 0;
    for (int i = 0; i <= proposals; i++) c->best[i] = -INFINITY;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1) {
        if (strcmp(attempt.step, "verify") == 0) continue;
        points += strcmp(attempt.step, "tune") == 0;
        /* the store is this run's own, so ids count its calls */
        if (attempt.model_call > calls) calls = attempt.model_call;
        int64_t now = points + calls;
        /* Between two attempts nothing gets better. */
        for (; done < now && done <= proposals; done++)
            if (c->best[done] < best) c->best[done] = best;
        if (attempt.verdict && attempt.status == KF_CORRECT && attempt.speedup.value > 0)
            best = fmax(best, log(attempt.speedup.value));
        if (now <= proposals) c->best[now] = best;
        done = now;
    }
    for (int i = 1; i <= proposals; i++) c->best[i] = fmax(c->best[i], c->best[i - 1]);
    return row == 0;
}

static bool run_once(const settings *set, const kf_task *task, const kf_strategy *strategy,
                     int seed, curve *c, kf_error *error)
{
    kf_autofree char *folder = kf_directory_temporary("kforge-bench-search", error);
    if (!folder) return false;
    kf_autofree char *path = kf_path_join(folder, "store.db");
    char model[4096 + 256], worker[4096 + 256];
    snprintf(model, sizeof model, "exec:exec %s --answer %s %d %s/calls %s", set->self,
             kf_task_name(task), seed, folder, set->rethink);
    snprintf(worker, sizeof worker, "exec %s --table %s", set->self, kf_task_name(task));
    kf_auto(kf_store) store = path ? kf_store_open(path, KF_STORE_CREATE, error) : NULL;
    kf_auto(kf_workers) workers =
        store ? kf_workers_open((const char *const[]){worker}, 1,
                                &(kf_workers_options){.device = NULL}, error)
              : NULL;
    kf_search_settings search = {.declared_flags = true, /* what was measured */
                                 .seed = (uint64_t)seed,
                                 .models = (const char *const[]){model},
                                 .model_count = 1,
                                 .budget = {.candidates = set->proposals + 2},
                                 .calls = 1};
    search.strategy = *strategy;
    search.strategy.stop.floor = search.strategy.stop.gain = 0; /* equal budgets */
    kf_search_result result;
    bool done = workers &&
                kf_search_run(store, task, NULL, &search, workers, NULL, NULL, &result, error) &&
                read_curve(store, result.progress.run, set->proposals, c, error);
    kf_workers_close(kf_steal(&workers));
    kf_store_close(kf_steal(&store));
    return kf_directory_remove(folder, done ? error : NULL) && done;
}

/* ---- the comparison -------------------------------------------------------------------------- */

typedef struct results {
    int tasks;
    const char *names[TASKS];
    double best[TASKS]; /* of all variants, the limit */
    /* geometric mean of the speedup after N proposals */
    double mean[TASKS][STRATEGIES][PROPOSALS + 1];
} results;

static double median(double *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            double swap = values[k];
            values[k] = values[k - 1];
            values[k - 1] = swap;
        }
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static int find(const settings *set, const char *strategy)
{
    for (int i = 0; i < set->strategy_count; i++)
        if (strcmp(set->strategies[i], strategy) == 0) return i;
    return -1;
}

/* Returns the first N at which the mean curve reaches `level`, or the number of proposals plus one
 * if it never does. */
static int reaches(const double *curve_mean, int proposals, double level)
{
    for (int i = 0; i <= proposals; i++)
        if (curve_mean[i] >= level) return i;
    return proposals + 1;
}

static int print_results(const settings *set, const results *r)
{
    int n = set->proposals, automatic = find(set, "auto"), sample = find(set, "sample"), status = 0;
    printf("speedup after %d proposals, geometric mean over %d seeds\n%-12s", n, set->seeds,
           "task");
    for (int i = 0; i < set->strategy_count; i++) printf("%10s", set->strategies[i]);
    printf("%10s\n", "possible");
    for (int t = 0; t < r->tasks; t++) {
        printf("%-12s", r->names[t]);
        for (int i = 0; i < set->strategy_count; i++) printf("%10.3f", r->mean[t][i][n]);
        printf("%10.3f\n", r->best[t]);
    }
    if (automatic < 0) return 0;
    printf("%-12s", "over auto");
    for (int i = 0; i < set->strategy_count; i++) {
        double ratios[TASKS];
        for (int t = 0; t < r->tasks; t++) ratios[t] = r->mean[t][i][n] / r->mean[t][automatic][n];
        double ratio = median(ratios, r->tasks);
        printf("%10.3f", ratio);
        if (ratio > 1.05) status = 1;
    }
    printf("   median over tasks; none may pass 1.05\n");
    if (sample < 0) return status;
    double shares[TASKS];
    printf("proposals that auto needs for what sample has after %d:", n);
    for (int t = 0; t < r->tasks; t++) {
        int needed = reaches(r->mean[t][automatic], n, r->mean[t][sample][n]);
        shares[t] = (double)needed / n;
        printf(" %s %d", r->names[t], needed);
    }
    double share = median(shares, r->tasks);
    printf("\nmedian share of the proposals: %.2f; may not pass 0.50\n", share);
    return status || share > 0.5;
}

static bool compare(const settings *set, results *r, kf_error *error)
{
    for (size_t t = 0; t < TASKS; t++) {
        if (set->task && strcmp(set->task, task_names[t]) != 0) continue;
        kf_auto(kf_task) task = make_task(task_names[t], error);
        table all;
        if (!task || !table_read(&all, task_names[t], error)) return false;
        int row = r->tasks++;
        r->names[row] = task_names[t];
        for (size_t i = 0; i < all.count; i++) /* the baseline's own row is no variant */
            if (all.rows[i].status == KF_CORRECT && strchr(all.rows[i].key, '='))
                r->best[row] = fmax(r->best[row], all.rows[i].speedup.value);
        table_free(&all);
        for (int i = 0; i < set->strategy_count; i++) {
            double sums[PROPOSALS + 1] = {0};
            for (int seed = 1; seed <= set->seeds; seed++) {
                curve c;
                if (!run_once(set, task, &set->values[i], set->first + seed - 1, &c, error))
                    return false;
                for (int n = 0; n <= set->proposals; n++)
                    sums[n] += isfinite(c.best[n]) ? c.best[n] : log(0.1);
            }
            for (int n = 0; n <= set->proposals; n++)
                r->mean[row][i][n] = exp(sums[n] / set->seeds);
            fprintf(stderr, "%s %s %.3f\n", task_names[t], set->strategies[i],
                    r->mean[row][i][set->proposals]);
        }
    }
    return true;
}

static bool parse(int argc, char **argv, settings *set)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seeds") == 0)
            set->seeds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--proposals") == 0)
            set->proposals = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--task") == 0)
            set->task = argv[i + 1];
        else if (strcmp(argv[i], "--rethink") == 0)
            set->rethink = argv[i + 1];
        else if (strcmp(argv[i], "--first") == 0)
            set->first = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--strategy") == 0 && set->strategy_count < STRATEGIES)
            set->strategies[set->strategy_count++] = argv[i + 1];
        else
            return false;
    }
    bool all = !set->strategy_count;
    for (const char *const *name = kf_strategy_names(); all && *name; name++)
        set->strategies[set->strategy_count++] = *name;
    for (int i = 0; i < set->strategy_count; i++) {
        kf_error error = {0};
        if (!kf_strategy_load(set->strategies[i], &set->values[i], &error))
            return fprintf(stderr, "%s\n", error.text), false;
        set->strategies[i] = set->values[i].name;
    }
    bool known = strcmp(set->rethink, "mapping") == 0 || strcmp(set->rethink, "any") == 0;
    return argc % 2 && known && set->seeds >= 1 && set->seeds <= SEEDS && set->proposals >= 1 &&
           set->proposals <= PROPOSALS;
}

int main(int argc, char **argv)
{
    char self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) return 3;
    self[size] = '\0';
    if (argc == 3 && strcmp(argv[1], "--measure") == 0)
        return measure_all(argv[2], task_names, TASKS);
    if (argc == 3 && strcmp(argv[1], "--table") == 0) return serve_table(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--instant") == 0) return serve_instant();
    if (argc >= 2 && strcmp(argv[1], "--loop") == 0)
        return measure_loop(self, argc > 2 ? atoll(argv[2]) : 100000);
    if (argc == 6 && strcmp(argv[1], "--answer") == 0)
        return answer(argv[2], strtoull(argv[3], NULL, 10), argv[4], strcmp(argv[5], "any") == 0);
    static settings set;
    set = (settings){.seeds = 20, .first = 1, .proposals = 40, .self = self, .rethink = "mapping"};
    if (!parse(argc, argv, &set))
        return fprintf(stderr, "usage: bench_search [--seeds N] [--proposals N] [--task NAME] "
                               "[--strategy NAME] [--rethink mapping|any]...\n"),
               2;
    kf_autofree results *r = calloc(1, sizeof *r);
    kf_error error = {0};
    if (!r || !compare(&set, r, &error))
        return fprintf(stderr, "bench_search: %s\n", error.text), 3;
    return print_results(&set, r);
}
