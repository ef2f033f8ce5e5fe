/* `kforge bench`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_events.h"
#include "api_key.h"
#include "bench_extra_baselines.h"
#include "bench_result.h"
#include "bench_solutions.h"
#include "shell_command.h"
#include "devices.h"
#include "kforge/counters.h"
#include "kforge/judge.h"
#include "llm.h"
#include "noise.h"
#include "named_task.h"
#include "output.h"

/* for a task without a model, as for `optimize` */
#define TUNER_SECONDS 40.0
#define MODEL_SECONDS 1800.0
/* concurrent calls of independent samples, so that the device need not wait for a model */
#define CALLS 4

typedef struct settings {
    const char *strategy, *store, *device, *devices, *baseline, *sandbox, *resume, *prompts,
        *ensemble, *name, *solutions, *events, *counters;
    double time, cost, seconds, timeout;
    int64_t samples, candidates, seed, calls;
    bool anew, once, protocol, quiet;
    kf_option_list models, workers, only, extra_baselines;
    kf_bench_outputs outputs;
} settings;

static void plan_clear(kf_bench_plan *plan)
{
    kf_bench_plan_clear(plan);
}

static void solutions_clear(kf_bench_solutions *solutions)
{
    kf_bench_solutions_clear(solutions);
}

/* ---- the plan -------------------------------------------------------------------------------- */

static bool add_model(kf_bench_plan *plan, const char *spec, kf_error *error)
{
    size_t index = plan->search.model_count;
    if (strcmp(spec, "none") == 0) return true;
    if (index == KF_SEARCH_MODELS)
        return kf_fail(error, KF_ERROR_INPUT, "--model: more than %d models", KF_SEARCH_MODELS);
    /* A model that differs for each task has no price to freeze. The first one is opened to find
     * errors at once. */
    const char *first = "";
    for (size_t i = plan->suite.count; i-- > 0;)
        if (!plan->suite.tasks[i].fault) first = plan->suite.tasks[i].name;
    kf_autofree char *of_task = kf_bench_model_for(spec, first);
    kf_autofree char *frozen = of_task ? kf_llm_freeze(of_task, error) : NULL;
    if (!frozen) return of_task ? false : kf_fail_memory(error, "the bench");
    plan->frozen[index] = strcmp(of_task, spec) == 0 ? kf_steal(&frozen) : strdup(spec);
    if (!plan->frozen[index]) return kf_fail_memory(error, "the bench");
    plan->models[index] = plan->frozen[index];
    plan->search.model_count++;
    return true;
}

static bool set_models(kf_bench_plan *plan, const settings *wanted, kf_error *error)
{
    if (!wanted->models.count) return true;
    plan->search.model_count = 0;
    for (size_t i = 0; i < wanted->models.count; i++)
        if (!add_model(plan, wanted->models.items[i], error)) return false;
    return true;
}

static bool plan_new(kf_bench_plan *plan, const settings *wanted, const char *path, kf_error *error)
{
    kf_search_settings *search = &plan->search;
    search->models = plan->models;
    if (!kf_bench_suite_load(path, wanted->only.items, wanted->only.count, &plan->suite, error))
        return false;
    if (wanted->name && !(plan->name = kf_text_clean(wanted->name, strlen(wanted->name), true)))
        return kf_fail_memory(error, "the bench");
    if (wanted->solutions) {
        if (wanted->models.count)
            return kf_fail(error, KF_ERROR_INPUT,
                           "--solutions and --model exclude each other; give one of them");
        plan->source = realpath(wanted->solutions, NULL);
        if (!plan->source)
            return kf_fail(error, KF_ERROR_INPUT, "%s: no such file or folder of solutions",
                           wanted->solutions);
    }
    if (!set_models(plan, wanted, error)) return false;
    if (!kf_strategy_load(wanted->strategy, &search->strategy, error))
        return kf_fail_prefix(error, "--strategy");
    search->seed = (uint64_t)wanted->seed;
    search->prompts = wanted->prompts;
    search->traceparent = kf_event_traceparent();
    search->by_share = strcmp(wanted->ensemble, "share") == 0;
    search->anew = wanted->anew;
    search->timing_seconds = wanted->seconds;
    search->timeout_seconds = wanted->timeout;
    search->strict_sandbox = strcmp(wanted->sandbox, "strict") == 0;
    search->baseline = wanted->baseline;
    search->counters = wanted->counters;
    search->declared_flags = true;
    search->samples = search->model_count ? wanted->samples : 0;
    search->calls = (int)wanted->calls;
    if (!search->calls && search->samples > 1 && kf_strategy_is_independent(&search->strategy))
        search->calls = (int)(wanted->samples < CALLS ? wanted->samples : CALLS);
    search->budget.candidates = wanted->candidates;
    search->budget.seconds = wanted->time > 0      ? wanted->time
                             : search->model_count ? MODEL_SECONDS
                                                   : TUNER_SECONDS;
    plan->cost_usd = wanted->cost;
    plan->once = wanted->once;
    plan->protocol = wanted->protocol;
    plan->extra_baselines = wanted->extra_baselines.items;
    plan->extra_baseline_count = wanted->extra_baselines.count;
    if (plan->extra_baseline_count > KF_BENCH_EXTRA_BASELINES)
        return kf_fail(error, KF_ERROR_INPUT, "--against: more than %d baselines",
                       KF_BENCH_EXTRA_BASELINES);
    return kf_bench_plan_begin(plan, error);
}

static bool plan_resume(kf_bench_plan *plan, const settings *wanted, const char *path,
                        kf_error *error)
{
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_READ, error);
    bool more = wanted->cost > 0 || wanted->time > 0 || wanted->candidates > 0;
    if (!store || !kf_bench_plan_resume(plan, store, wanted->resume, path, more, error) ||
        !(wanted->models.count ? set_models(plan, wanted, error)
                               : kf_check_commands(kf_store_path(store), plan->search.models,
                                                   plan->search.model_count, error)))
        return false;
    plan->search.counters = wanted->counters;
    if (wanted->candidates > 0) plan->search.budget.candidates = wanted->candidates;
    if (wanted->cost > 0) plan->cost_usd = wanted->cost;
    if (wanted->time > 0) plan->search.budget.seconds = wanted->time;
    return true;
}

/* ---- carrying it out ------------------------------------------------------------------------- */

static bool open_devices(const settings *wanted, kf_devices *devices, const char **device,
                         kf_error *error)
{
    devices->count = 0;
    *device = wanted->device;
    if (!wanted->devices) return true;
    if (wanted->device && strcmp(wanted->device, "cuda") != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--devices %s and --device %s exclude each other; give one of them",
                       wanted->devices, wanted->device);
    *device = "cuda";
    return kf_devices_parse(wanted->devices, kf_judge_gpu_count(), devices, error);
}

static void tell_faults(const kf_bench_plan *plan, const kf_bench_solutions *solutions, FILE *log)
{
    if (solutions->unmatched_count)
        fprintf(log,
                "%zu solutions are for no task of the suite and are left out, for example %s\n",
                solutions->unmatched_count, solutions->unmatched);
    for (size_t i = 0; i < plan->suite.count; i++)
        if (plan->suite.tasks[i].fault)
            fprintf(log, "left out, counts as unsolved: %s: %s%s%s\n", plan->suite.tasks[i].name,
                    plan->suite.tasks[i].rule ? plan->suite.tasks[i].rule : "",
                    plan->suite.tasks[i].rule ? ": " : "", plan->suite.tasks[i].fault);
}

static bool report(const kf_bench_plan *plan, const settings *wanted,
                   const kf_invocation *invocation, const char *path, bool *correct,
                   kf_error *error)
{
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, error);
    kf_autobenchresult result = {0};
    if (!store || !kf_bench_rules(&wanted->outputs, &result, error) ||
        !kf_bench_load(store, plan->id, &result, error) ||
        !kf_bench_external_timings(&wanted->outputs.times, &result, error))
        return false;
    *correct = result.score.solved > 0;
    return kf_bench_write(&result, &wanted->outputs, invocation, error);
}

/* Finds the error early that kf_bench_kernelbench would give at the end. */
static bool has_origins(const kf_bench_suite *suite, kf_error *error)
{
    for (size_t i = 0; i < suite->count; i++)
        if (suite->tasks[i].level >= 0 && suite->tasks[i].problem >= 0) return true;
    return kf_bench_no_origin(error);
}

/* Prints what disturbs timing on this machine, if it judges. `now` is NULL at the start. */
static void tell_noise(const kf_bench_how *how, const kf_noise *start, const kf_noise *now)
{
    kf_autobuffer words = {0};
    if (kf_workers_here(how->workers, how->worker_count) &&
        kf_noise_words(start, now, (kf_interval){NAN, NAN, NAN}, &words) && words.data)
        fprintf(how->log, "%s\n", words.data);
}

/* Writes the last event. Prints, once, that events were lost. */
static void end_events(kf_event_stream *events, const kf_bench_plan *plan,
                       kf_bench_outcome *outcome, const kf_error *why,
                       const kf_invocation *invocation)
{
    kf_error lost;
    outcome->interrupted |= *invocation->interrupts > 0;
    kf_bench_event_end(events, plan, outcome, why);
    if (kf_event_stream_trouble(events, &lost))
        fprintf(invocation->errors, "kforge: %s\n", lost.text);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_autofree char *path = NULL;
    __attribute__((cleanup(plan_clear))) kf_bench_plan plan = {0};
    __attribute__((cleanup(solutions_clear))) kf_bench_solutions solutions = {0};
    kf_auto(kf_event_stream) events = NULL;
    if (wanted->events && !(events = kf_event_stream_open(wanted->events, error))) return -1;
    kf_devices devices;
    kf_bench_how how = {.events = events,
                        .log = invocation->log,
                        .terminal = invocation->terminal,
                        .interrupts = invocation->interrupts};
    if (invocation->argument_count &&
        !(path = kf_named_suite_path(invocation->arguments[0], error)))
        return -1;
    if (!path && !wanted->resume)
        return kf_fail(error, KF_ERROR_INPUT,
                       "bench: expected SUITE_DIR, a folder of tasks, or --resume BENCH") -
               1;
    if (wanted->counters && !kf_counters_check(wanted->counters, error)) {
        kf_fail_prefix(error, "--counters");
        return -1;
    }
    if (!kf_bench_outputs_check(&wanted->outputs, error) ||
        !open_devices(wanted, &devices, &how.device, error))
        return -1;
    if (!(wanted->resume ? plan_resume(&plan, wanted, path, error)
                         : plan_new(&plan, wanted, path, error)))
        return -1;
    if (wanted->outputs.kernelbench && !has_origins(&plan.suite, error)) return -1;
    kf_autofree char *store = wanted->store ? strdup(wanted->store) : kf_store_default_path(error);
    if (!store) return -1;
    how.store = store;
    kf_allow_commands(store, plan.search.models, plan.search.model_count);
    how.workers = wanted->workers.items;
    how.worker_count = wanted->workers.count;
    for (size_t i = 0; i < how.worker_count; i++)
        if (!kf_api_keys_check_command("worker", how.workers[i], error)) return -1;
    how.devices = devices.items;
    how.device_count = devices.count;
    if (plan.source && !kf_bench_solutions_load(plan.source, &plan.suite, &solutions, error))
        return -1;
    tell_faults(&plan, &solutions, invocation->log);
    fprintf(invocation->log, "bench %s: %s, %zu task%s\n", plan.id, plan.name, plan.suite.count,
            plan.suite.count == 1 ? "" : "s");
    kf_noise noise, later;
    kf_noise_read("", &noise);
    tell_noise(&how, &noise, NULL);
    kf_bench_event_start(events, &plan);
    kf_bench_outcome outcome = {0};
    bool correct = false;
    bool ran = plan.source ? kf_bench_judge(&plan, &solutions, &how, &outcome, error)
                           : kf_bench_search(&plan, &how, &outcome, error);
    end_events(events, &plan, &outcome, ran ? NULL : error, invocation);
    if (!ran) return -1;
    bool begun = false;
    for (size_t i = 0; i < plan.suite.count; i++) begun |= plan.suite.tasks[i].run[0] != '\0';
    if (!begun)
        return kf_fail(error, outcome.why.code ? outcome.why.code : KF_ERROR_BUSY, "%s",
                       outcome.why.text[0] ? outcome.why.text
                                           : "interrupted before a task was started") -
               1;
    if (!outcome.gave_up && !kf_bench_extra_baselines(&plan, &how, error)) {
        if (error->code != KF_ERROR_MACHINE) return -1;
        /* report all verdicts even after an error */
        outcome.gave_up = true;
        outcome.why = *error;
    }
    if (!report(&plan, wanted, invocation, store, &correct, error)) return -1;
    kf_noise_read("", &later);
    tell_noise(&how, &noise, &later);
    outcome.interrupted |= *how.interrupts > 0;
    kf_autobuffer rest = {0};
    if (wanted->store) kf_command_append_option(&rest, "store", wanted->store);
    const char *other = rest.data ? rest.data : "";
    if (outcome.gave_up && !outcome.interrupted) {
        fprintf(invocation->errors,
                "kforge: %s; %zu of %zu %s are judged; continue with: kforge bench --resume %s%s\n",
                outcome.why.text, outcome.settled, outcome.total,
                plan.source ? "solutions" : "tasks", plan.id, other);
        return KF_EXIT_MACHINE;
    }
    if (outcome.interrupted || outcome.failed || outcome.spent)
        fprintf(invocation->log, "continue with: kforge bench --resume %s%s\n", plan.id, other);
    if (outcome.interrupted) return KF_EXIT_INTERRUPTED;
    if (outcome.failed) {
        /* The lines of searched tasks have their reasons, the lines of solutions have none. */
        bool unsaid = plan.source || wanted->quiet;
        fprintf(invocation->errors, "kforge: %zu task%s failed%s%s\n", outcome.failed,
                outcome.failed == 1 ? "" : "s", unsaid ? "; the last: " : "",
                unsaid ? outcome.why.text : "");
        return KF_EXIT_MACHINE;
    }
    return correct ? KF_EXIT_DONE : outcome.spent ? KF_EXIT_BUDGET : KF_EXIT_NOTHING;
}

static const kf_option options[] = {
    {KF_OPTION(LIST, "model", "SPEC", settings, models), .letter = 'm', .config = true,
     .help = "A model, as for `kforge optimize`. {task} becomes the task's name. Without a model "
             "the tuner works alone."},
    {KF_OPTION(INTEGER, "samples", "K", settings, samples), .letter = 'k', .fallback = "1",
     .low = 1, .high = 1e6, .help = "Number of replies for each task."},
    {KF_OPTION(PATH, "solutions", "PATH", settings, solutions),
     .help = "Judge these solutions and ask no model: a folder of "
             "level_L_problem_P_sample_S_kernel.cu, CUDA-L1's JSON lines, or a folder of TASK.cu "
             "or TASK/*.cu. Solutions in Python (.py) need tasks for PyTorch."},
    {KF_OPTION(TEXT, "strategy", "NAME|FILE", settings, strategy), .fallback = "sample",
     .help = "Strategy of the search (kforge help strategies). pass@k needs `sample`."},
    {KF_OPTION(LIST, "only", "PATTERN", settings, only),
     .help = "Only tasks with a matching name, as in '1_*'."},
    {KF_OPTION(TEXT, "name", "NAME", settings, name),
     .help = "Name of the bench in reports; default the suite's name."},
    {KF_OPTION(TEXT, "resume", "BENCH", settings, resume), .letter = 'r',
     .help = "Continue a bench: its id, the beginning of its id, or \"last\". A larger --cost, "
             "--time or --candidates also continues tasks that spent their budget."},
    {KF_OPTION(DURATION, "time", "DURATION", settings, time), .letter = 't', .low = KF_MIN_SECONDS,
     .high = 1e9, .config = true, .budget = true,
     .help = "Time limit for each task, with its final measurement. Default 30m, without a "
             "model 40s."},
    {KF_OPTION(INTEGER, "candidates", "N", settings, candidates), .letter = 'n', .low = 1,
     .high = 1e12, .config = true, .budget = true, .help = "Maximum of candidates for each task."},
    {KF_OPTION(NUMBER, "cost", "USD", settings, cost), .low = KF_MIN_USD, .high = 1e9,
     .config = true, .budget = true, .help = "Maximum cost of the models for all tasks."},
    KF_ROW_WORKERS(settings),
    KF_ROW_DEVICE(settings),
    {KF_OPTION(TEXT, "devices", "LIST", settings, devices), .config = true,
     .help = "GPUs of this machine, one task each: all, or numbers as in 0,2."},
    KF_ROW_ENSEMBLE(settings),
    {KF_OPTION(INTEGER, "seed", "N", settings, seed), .fallback = "1", .low = 0, .high = 9e15,
     .config = true, .help = "Seed of the search's random choices."},
    {KF_OPTION(INTEGER, "calls", "N", settings, calls), .low = 0, .high = 64, .config = true,
     .help = "Concurrent model calls for a task; default up to 4 for `sample`, else 1."},
    {KF_OPTION(DURATION, "seconds", "SECONDS", settings, seconds), .fallback = "0.6", .low = 0.01,
     .high = 86400, .help = "Time limit for timing a candidate. The best gets more."},
    KF_ROW_TIMEOUT(settings),
    {KF_OPTION(TEXT, "counters", "LIST", settings, counters),
     .help = "Hardware counters of every correct candidate, with the origin of its device time: "
             "all, none, or names of CUPTI."},
    {KF_OPTION(FLAG, "anew", NULL, settings, anew),
     .help = "Judge candidates again that have a verdict in the store."},
    {KF_OPTION(FLAG, "once", NULL, settings, once),
     .help = "Measure each existing solution once. The default is twice for correct ones."},
    {KF_OPTION(FLAG, "protocol", NULL, settings, protocol), .fallback = "true",
     .help = "Solutions in Python: add the result of KernelBench's own protocol (default; "
             "--no-protocol omits it)."},
    KF_ROW_BASELINE(settings),
    {KF_OPTION(LIST, "against", "NAME", settings, extra_baselines),
     .help = "Also measure the best candidates against this extra baseline of their tasks."},
    KF_ROW_SANDBOX(settings),
    KF_ROW_PROMPTS(settings),
    KF_ROWS_BENCH_OUTPUTS(settings),
    KF_ROW_EVENTS(settings),
    KF_ROW_STORE(settings),
    KF_ROW_QUIET(settings),
    {0},
};

const kf_command kf_command_bench = {
    .name = "bench",
    .synopsis = "[SUITE_DIR]",
    .summary = "Score models, or existing solutions, on a suite of tasks",
    .description =
        "SUITE_DIR is a folder of tasks, for example `tasks` or the output of an import, or a "
        "suite.json. Each task is a run in the store, and each worker works on one task at a time. "
        "A task that can't be loaded counts as unsolved.\n\nScores, with 95 % intervals: compile, "
        "correctness and cheat rates; fast_p, the share of problems with a correct sample more "
        "than p times as fast as the baseline; pass@k; geometric mean and median speedup "
        "(docs/guide/kernelbench.md).\n\nExit status: as of `kforge optimize`.",
    .examples =
        "kforge bench tasks --model anthropic:claude-sonnet-4-5 --samples 5 --cost 20\tfive "
        "samples of each task\n"
        "kforge bench tasks --only 'axpy' --only 'g*' --time 10s\ttunes the seeds of some tasks\n"
        "kforge bench suite --solutions runs/mine --kernelbench scores\tjudges existing solutions\n"
        "kforge bench --resume last\tcontinues an interrupted bench\n",
    .most_arguments = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
