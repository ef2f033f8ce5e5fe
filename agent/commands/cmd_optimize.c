/* `kforge optimize`: settings, search, result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "kforge/counters.h"
#include "kforge/judge.h"
#include "llm.h"
#include "named_task.h"
#include "noise.h"
#include "optimize_result.h"
#include "progress.h"
#include "output.h"

#define TUNER_SECONDS 40.0
#define MODEL_SECONDS 1800.0
#define MODEL_CANDIDATES 64

typedef struct settings {
    const char *strategy, *store, *device, *devices, *baseline, *counters, *sandbox, *flags,
        *resume, *output, *prompts, *events;
    double time, cost, gpu_seconds, seconds, timeout;
    int64_t candidates, replies, tokens, budget_requests, seed, calls;
    bool json, quiet, verbose, anew;
    const char *ensemble;
    kf_option_list models, workers;
} settings;

/* ---- what is to be done ---------------------------------------------------------------------- */

typedef struct plan {
    kf_search_settings search;
    const char *models[KF_SEARCH_MODELS];
    /* models of this command line, with their present prices */
    char *frozen[KF_SEARCH_MODELS];
    /* of a resumed run; texts of `search` point into it */
    cJSON *options;
    kf_task *task;
    char run[KF_RUN_ID]; /* "" for a new run */
    char *hardware;      /* hardware that judged the run */
} plan;

static void plan_clear(plan *p)
{
    cJSON_Delete(p->options);
    for (size_t i = 0; i < KF_SEARCH_MODELS; i++) free(p->frozen[i]);
    kf_task_free(p->task);
    free(p->hardware);
}

static bool add_model(plan *p, char *spec, kf_error *error)
{
    size_t count = p->search.model_count;
    if (count == KF_SEARCH_MODELS || !spec) {
        free(spec);
        return count == KF_SEARCH_MODELS ? kf_fail(error, KF_ERROR_INPUT,
                                                   "--model: more than %d models", KF_SEARCH_MODELS)
                                         : kf_fail_memory(error, "the run");
    }
    p->models[count] = p->frozen[count] = spec;
    p->search.models = p->models;
    p->search.model_count++;
    return true;
}

static bool set_models(plan *p, const settings *wanted, kf_error *error)
{
    p->search.model_count = 0;
    for (size_t i = 0; i < wanted->models.count; i++) {
        char *frozen = kf_llm_freeze(wanted->models.items[i], error);
        if (!frozen || !add_model(p, frozen, error)) return false;
    }
    return true;
}

static bool has_model(const plan *p)
{
    for (size_t i = 0; i < p->search.model_count; i++)
        if (strcmp(p->search.models[i], "none") != 0) return true;
    return false;
}

static void set_budget(plan *p, const settings *wanted)
{
    kf_search_budget *budget = &p->search.budget;
    if (wanted->time > 0) budget->seconds = wanted->time;
    if (wanted->candidates > 0) budget->candidates = wanted->candidates;
    if (wanted->replies > 0) budget->replies = wanted->replies;
    if (wanted->cost > 0) budget->cost_usd = wanted->cost;
    if (wanted->tokens > 0) budget->tokens = wanted->tokens;
    if (wanted->budget_requests > 0) budget->requests = wanted->budget_requests;
    if (wanted->gpu_seconds > 0) budget->device_seconds = wanted->gpu_seconds;
    if (budget->seconds > 0 || p->run[0]) return;
    /* True if there is a budget. Then --time has no default. Budgets of models do not count without
     * a model, because they would never end the tuner. */
    bool models = has_model(p), of_models = budget->replies > 0 || budget->cost_usd > 0 ||
                                            budget->tokens > 0 || budget->requests > 0;
    if (budget->candidates > 0 || budget->device_seconds > 0 || (models && of_models)) return;
    budget->seconds = models ? MODEL_SECONDS : TUNER_SECONDS;
    if (models) budget->candidates = MODEL_CANDIDATES;
}

/* ---- a run that is repeated ------------------------------------------------------------------ */

/* Returns the part of a spec with the model's role: ",weight=2,role=both". */
static void copy_traits(const char *spec, kf_buffer *text)
{
    static const char *const names[] = {
        "weight=", "role=", "temperature_from=", "temperature_to=", "temperature_calls="};
    size_t head = strcspn(spec, ":");
    for (const char *at = memchr(spec, ',', head); at;
         at = memchr(at + 1, ',', (size_t)(spec + head - at - 1)))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(at + 1, names[i], strlen(names[i])) == 0)
                kf_buffer_append(text, at, 1 + strcspn(at + 1, ",:"));
}

/* True if the run has calls of models[index], or if the name of that model has no number. Runs that
 * were stored before names had numbers have calls of the plain name only. */
static bool has_own_calls(kf_store *store, const char *run, const char *const *models, size_t index,
                          const char *name, kf_error *error)
{
    kf_autofree char *plain = kf_search_model_name(&models[index], 0);
    if (!plain) return kf_fail_memory(error, "the run");
    if (strcmp(plain, name) == 0) return true;
    kf_auto(kf_store_cursor) cursor = kf_store_model_calls(store, run, name, error);
    kf_autoresult kf_store_model_call call = {0};
    int row = cursor ? kf_store_next_model_call(cursor, &call, error) : -1;
    return row == 1 ||
           (row == 0 && kf_fail(error, KF_ERROR_INPUT,
                                "run %s has two models with the name \"%s\": their replies can't "
                                "be distinguished",
                                run, plain));
}

/* Replaces each model of the run `old` by a replay of its replies. */
static bool replay_models(plan *p, const char *options, const char *const *old, size_t count,
                          kf_store *store, const char *run, kf_error *error)
{
    kf_autofree char *path = realpath(kf_store_path(store), NULL);
    p->search.model_count = 0;
    for (size_t i = 0; i < count; i++) {
        kf_autofree char *name = kf_search_model_name(old, i);
        kf_autobuffer spec = {0};
        if (strcmp(old[i], "none") == 0) continue;
        if (!name) return kf_fail_memory(error, "the run");
        if (!has_own_calls(store, run, old, i, name, error)) return false;
        kf_buffer_format(&spec, "replay%s", options);
        copy_traits(old[i], &spec);
        kf_buffer_format(&spec, ":%s#%s#%s", path ? path : kf_store_path(store), run, name);
        if (!add_model(p, kf_buffer_take(&spec), error)) return false;
    }
    return p->search.model_count ||
           kf_fail(error, KF_ERROR_INPUT, "run %s has no model calls to replay", run);
}

/* Sets up `--model replay:RUN`: the same task, settings and replies. */
static bool plan_replay(plan *p, const kf_invocation *invocation, const settings *wanted,
                        const char *spec, const char *word, kf_error *error)
{
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_READ, error);
    kf_autoresult kf_store_run run = {0};
    const char *old[KF_SEARCH_MODELS];
    if (!store || !kf_store_find_run(store, word, &run, error)) return false;
    p->task = invocation->argument_count
                  ? kf_named_task_find(invocation->arguments[0], wanted->store, error)
                  : kf_stored_task(store, run.task, error);
    if (!p->task || !kf_search_options_read(run.options, &p->search, p->models, &p->options, error))
        return false;
    size_t count = p->search.model_count;
    memcpy(old, p->models, sizeof old);
    kf_autofree char *options = strndup(spec + 6, strcspn(spec, ":") - 6); /* ",strict=1" */
    if (!options) return kf_fail_memory(error, "the run");
    p->search.anew = true;
    p->search.traceparent = kf_event_traceparent();
    set_budget(p, wanted);
    return replay_models(p, options, old, count, store, run.id, error);
}

static bool plan_new(plan *p, const kf_invocation *invocation, const settings *wanted,
                     kf_error *error)
{
    const char *only = wanted->models.count == 1 ? wanted->models.items[0] : NULL;
    kf_autofree char *repeated = only ? kf_llm_replayed_run(only) : NULL;
    if (repeated) return plan_replay(p, invocation, wanted, only, repeated, error);
    if (invocation->argument_count == 0)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "optimize: expected a TASK, or --resume RUN; \"kforge list --tasks\" shows tasks");
    p->task = kf_named_task_find(invocation->arguments[0], wanted->store, error);
    if (!p->task || !set_models(p, wanted, error)) return false;
    if (wanted->counters && !kf_counters_check(wanted->counters, error))
        return kf_fail_prefix(error, "--counters");
    kf_search_settings *search = &p->search;
    search->seed = (uint64_t)wanted->seed;
    search->prompts = wanted->prompts;
    if (!kf_strategy_load(wanted->strategy, &search->strategy, error))
        return kf_fail_prefix(error, "--strategy");
    search->anew = wanted->anew;
    search->by_share = strcmp(wanted->ensemble, "share") == 0;
    search->calls = (int)wanted->calls;
    search->timing_seconds = wanted->seconds;
    search->timeout_seconds = wanted->timeout;
    search->strict_sandbox = strcmp(wanted->sandbox, "strict") == 0;
    search->declared_flags = strcmp(wanted->flags, "declared") == 0;
    search->baseline = wanted->baseline;
    search->counters = wanted->counters;
    search->traceparent = kf_event_traceparent();
    set_budget(p, wanted);
    return true;
}

/* Finds the run to resume: by its id, or the latest unfinished one ("last", "latest"), of the task
 * if there is one. */
static bool find_run(kf_store *store, const kf_invocation *invocation, const char *word,
                     kf_store_run *run, kf_error *error)
{
    bool found;
    if (!kf_store_means_latest(word)) return kf_store_find_run(store, word, run, error);
    kf_auto(kf_task) task = NULL;
    if (invocation->argument_count &&
        !(task = kf_named_task_find(invocation->arguments[0], kf_store_path(store), error)))
        return false;
    if (!kf_store_latest_run(store, task ? kf_task_hash(task) : NULL, true, run, &found, error))
        return false;
    return found ||
           kf_fail(
               error, KF_ERROR_INPUT,
               "--resume %s: no unfinished run; give the id of a run (\"kforge list\" shows them)",
               word);
}

static bool plan_resume(plan *p, kf_store *store, const kf_invocation *invocation,
                        const settings *wanted, kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    if (!find_run(store, invocation, wanted->resume, &run, error)) return false;
    snprintf(p->run, sizeof p->run, "%s", run.id);
    p->task = kf_stored_task(store, run.task, error);
    if (!p->task || !kf_search_options_read(run.options, &p->search, p->models, &p->options, error))
        return false;
    if (wanted->models.count
            ? !set_models(p, wanted, error)
            : !kf_check_commands(kf_store_path(store), p->models, p->search.model_count, error))
        return false;
    set_budget(p, wanted);
    /* The store's name of the device may have text after the hardware's name. */
    const char *more = p->search.baseline ? strstr(run.device, ", against baseline ") : NULL;
    p->hardware = more ? strndup(run.device, (size_t)(more - run.device)) : strdup(run.device);
    return p->hardware || kf_fail_memory(error, "the run");
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Sets the device, or several devices, of local workers. */
static bool choose_devices(const settings *wanted, const char **device, kf_devices *devices,
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

/* Checks the output file before the search spends anything. */
static bool has_place(const plan *p, const settings *wanted, kf_error *error)
{
    return kf_optimize_result_has_place(wanted->output, kf_task_name(p->task), p->run, error);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_devices devices;
    const char *device;
    if (!choose_devices(wanted, &device, &devices, error)) return -1;
    __attribute__((cleanup(plan_clear))) plan p = {0};
    kf_auto(kf_event_stream) events = NULL;
    kf_auto(kf_store) store = NULL;
    if (wanted->events && !(events = kf_event_stream_open(wanted->events, error))) return -1;
    if (!wanted->resume &&
        !(plan_new(&p, invocation, wanted, error) && has_place(&p, wanted, error)))
        return -1;
    store = kf_store_open(wanted->store, wanted->resume ? KF_STORE_WRITE : KF_STORE_CREATE, error);
    if (!store) return -1;
    if (wanted->resume &&
        !(plan_resume(&p, store, invocation, wanted, error) && has_place(&p, wanted, error)))
        return -1;
    kf_allow_commands(kf_store_path(store), p.models, p.search.model_count);
    kf_auto(kf_workers) workers = kf_workers_open(
        wanted->workers.items, wanted->workers.count,
        &(kf_workers_options){
            .device = device, .devices = devices.items, .device_count = devices.count},
        error);
    if (!workers || (p.hardware && !kf_workers_expect(workers, p.hardware))) return -1;
    p.search.device = device;
    bool alone = !p.run[0] && !has_model(&p);
    kf_noise noise, later;
    kf_noise_read("", &noise);
    bool here = kf_workers_here(wanted->workers.items, wanted->workers.count);
    kf_autobuffer news = {.limit = KF_NEWS_KEPT};
    kf_progress_view view = {
        .log = invocation->log,
        .news = &news,
        .terminal = invocation->terminal,
        .verbose = wanted->verbose,
        .events = events,
        .note = alone ? "no model given (--model): the tuner works alone" : NULL,
        .trouble = device || wanted->workers.count ? NULL : kf_judge_gpu_trouble};
    kf_search_observer observer = {
        .notify = kf_progress_notify, .context = &view, .events = events};
    kf_search_result result;
    bool ran = kf_search_run(store, p.task, p.run[0] ? p.run : NULL, &p.search, workers,
                             invocation->interrupts, &observer, &result, error);
    kf_progress_clear(&view);
    kf_progress_events(&view);
    /* before the first message: nothing runs then */
    kf_workers_close(kf_steal(&workers));
    bool reason_was_shown = !wanted->quiet && kf_progress_has_shown(&view, result.why.text);
    __attribute__((cleanup(kf_optimize_result_clear))) kf_optimize_result o = {
        .result = &result,
        .models = has_model(&p),
        .quiet = wanted->quiet,
        .reason_was_shown = reason_was_shown,
        .task = kf_task_name(p.task),
        .named = invocation->argument_count ? invocation->arguments[0] : kf_task_name(p.task),
        .store = wanted->store,
        .output = wanted->output};
    kf_noise_read("", &later);
    if (result.progress.judged)
        kf_noise_words(here ? &noise : NULL, here ? &later : NULL, result.progress.baseline,
                       &o.noise);
    if (!ran) {
        /* Everything is in the store. Print the command that continues. */
        if (result.progress.run[0] && error->code != KF_ERROR_INPUT && kf_store_is_there(store) &&
            kf_optimize_result_word_resume(&o, kf_store_path(store), NULL))
            fprintf(invocation->errors, "all results are stored; continue with: %s\n", o.resume);
        return -1;
    }
    if (!kf_optimize_result_report(&o, store, wanted->json, invocation->output, error)) return -1;
    int status = kf_optimize_result_status(&result);
    /* A person on a terminal sees the messages, and not the JSON in a file. */
    if (wanted->json && !reason_was_shown && status == KF_EXIT_MACHINE)
        fprintf(invocation->errors, "kforge: %s\n", result.why.text);
    return status;
}

static const kf_option options[] = {
    {KF_OPTION(LIST, "model", "SPEC", settings, models), .letter = 'm', .config = true,
     .help = "A model that proposes candidates: openai:MODEL, anthropic:MODEL, gemini:MODEL, "
             "openrouter:MODEL, azure:DEPLOYMENT, MODEL@http://HOST:PORT/v1, exec:COMMAND, "
             "agent:COMMAND, replay:FILE, 'fallback:SPEC then SPEC' or none "
             "(docs/guide/models.md). Without a "
             "model the tuner works alone. replay:RUN repeats a stored run."},
    KF_ROW_ENSEMBLE(settings),
    {KF_OPTION(TEXT, "strategy", "NAME|FILE", settings, strategy), .fallback = "auto",
     .config = true,
     .help =
         "Strategy of the search: auto, sample, evolve, contrast, critic, fsr, agent, tune, or a "
         "JSON file with settings (kforge help strategies)."},
    {KF_OPTION(DURATION, "time", "DURATION", settings, time), .letter = 't', .low = KF_MIN_SECONDS,
     .high = 1e9, .config = true, .budget = true,
     .help = "Time limit of the run, with the final measurement. Default, without any budget: 40s, "
             "with a model 30m and 64 candidates."},
    {KF_OPTION(INTEGER, "candidates", "N", settings, candidates), .letter = 'n', .low = 1,
     .high = 1e12, .config = true, .budget = true,
     .help = "Maximum of judged candidates, of models, tuner and task together."},
    {KF_OPTION(INTEGER, "replies", "N", settings, replies), .low = 1, .high = 1e12, .config = true,
     .budget = true, .help = "Maximum of replies of models, useless ones included."},
    {KF_OPTION(FLAG, "anew", NULL, settings, anew),
     .help = "Measure candidates again that earlier runs judged."},
    {KF_OPTION(NUMBER, "cost", "USD", settings, cost), .low = KF_MIN_USD, .high = 1e9,
     .config = true, .budget = true,
     .help = "Maximum cost of the models. Each request's maximum is reserved before it is sent."},
    {KF_OPTION(INTEGER, "tokens", "N", settings, tokens), .low = 1, .high = 1e15, .config = true,
     .budget = true, .help = "Maximum of tokens that the models read and write."},
    {KF_OPTION(INTEGER, "budget-requests", "N", settings, budget_requests), .low = 1, .high = 1e12,
     .config = true, .budget = true, .help = "Maximum of requests to models, with retries."},
    {KF_OPTION(DURATION, "gpu-seconds", "DURATION", settings, gpu_seconds), .low = KF_MIN_SECONDS,
     .high = 1e9, .config = true, .budget = true,
     .help = "Maximum of device time of all workers, without the final measurement."},
    KF_ROW_WORKERS(settings),
    KF_ROW_DEVICE(settings),
    {KF_OPTION(TEXT, "devices", "LIST", settings, devices), .config = true,
     .help = "GPUs of this machine, one worker each: all, or numbers as in 0,2."},
    {KF_OPTION(TEXT, "resume", "RUN", settings, resume), .letter = 'r',
     .help = "Continue a run: its id, the beginning of its id, or \"last\" for the last unfinished "
             "run. Budgets and models given here replace its own."},
    {KF_OPTION(PATH, "output", "FILE", settings, output), .letter = 'o',
     .help =
         "File for the best candidate, checked at the start; default kforge-out/TASK/RUN/best.cu."},
    {KF_OPTION(INTEGER, "seed", "N", settings, seed), .fallback = "1", .low = 0, .high = 9e15,
     .config = true, .help = "Seed of the random choices."},
    {KF_OPTION(INTEGER, "calls", "N", settings, calls), .low = 0, .high = 64, .config = true,
     .help = "Concurrent model calls; default as many as workers."},
    {KF_OPTION(DURATION, "seconds", "SECONDS", settings, seconds), .fallback = "0.6", .low = 0.01,
     .high = 86400, .help = "Time limit for timing a candidate during the search."},
    KF_ROW_TIMEOUT(settings),
    {KF_OPTION(TEXT, "counters", "WHICH", settings, counters),
     .help =
         "Hardware counters of every correct candidate, for prompts: all, none, or names of CUPTI, "
         "separated by commas. Default: on a GPU all, for candidates that are measured again."},
    KF_ROW_BASELINE(settings),
    KF_ROW_SANDBOX(settings),
    {KF_OPTION(CHOICE, "flags", "WHICH", settings, flags), .choices = "all|declared",
     .fallback = "all", .config = true,
     .help = "Compiler flags for the tuner: declared flags and those that matter on the device, or "
             "only declared ones."},
    KF_ROW_PROMPTS(settings),
    KF_ROW_EVENTS(settings),
    KF_ROW_STORE(settings),
    KF_ROW_VERBOSE(settings),
    KF_ROW_QUIET(settings),
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_optimize = {
    .name = "optimize",
    .synopsis = "[TASK]",
    .summary = "Search for a faster implementation of a task's kernel",
    .description =
        "Measures the baseline and the task's seeds, and tunes their tunables. Models draft, "
        "repair and improve candidates. Every candidate is judged in a sandbox and stored. The "
        "reported best was measured again in fresh processes. TASK is a task.json, its folder, or "
        "the name of a task in tasks/ or of one that comes with kforge.\n\nCtrl-C once waits for "
        "pending verdicts and stops; twice stops at once. Both keep all verdicts and print the "
        "command that continues the run.\n\nExit status: 0 a candidate was correct, 1 no candidate "
        "was correct, 2 bad input, 3 the machine or a model failed, 4 the budget ended before a "
        "correct candidate, 130 interrupted.",
    .examples = "kforge optimize row_softmax\ttunes the seeds of a task for 40 seconds\n"
                "kforge optimize tasks/gemm --model anthropic:claude-sonnet-4-5 --cost 5\tspends "
                "at most $5, with the key in ANTHROPIC_API_KEY\n"
                "kforge optimize tasks/gemm --model qwen2.5-coder@http://localhost:11434/v1\tuses "
                "your own model server\n"
                "kforge optimize --resume last --time 5m\tcontinues an interrupted run\n"
                "kforge optimize tasks/gemm --workers 'ssh gpu1 kforge worker'\tjudges on another "
                "machine\n",
    .most_arguments = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
