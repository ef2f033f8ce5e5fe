/* `kforge prompt`: shows the next prompt without sending it. */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "prompt.h"
#include "named_task.h"
#include "search.h"
#include "output.h"
#include "table.h"

#define HELLO_SECONDS 60

typedef struct settings {
    const char *store, *device, *strategy, *run, *step, *hardware, *prompts;
    bool json;
} settings;

typedef struct preview {
    kf_task *task;
    kf_search_settings search;
    const char *models[KF_SEARCH_MODELS];
    cJSON *options;
    char run[KF_RUN_ID];
    char *hardware;
    kf_search_preview_text text;
} preview;

static void preview_clear(preview *p)
{
    kf_task_free(p->task);
    cJSON_Delete(p->options);
    free(p->hardware);
    free(p->text.system);
    free(p->text.prompt);
}

/* Finds the hardware: the run's, the given one, or that of a worker on this machine. */
static bool find_hardware(preview *p, const settings *wanted, const kf_invocation *invocation,
                          kf_error *error)
{
    if (wanted->hardware) {
        p->hardware = strdup(wanted->hardware);
        return p->hardware || kf_fail_memory(error, "the hardware description");
    }
    if (p->hardware) return true;
    kf_auto(kf_workers) workers = kf_workers_open(
        (const char *const[]){"local"}, 1, &(kf_workers_options){.device = wanted->device}, error);
    double until = kf_now() + HELLO_SECONDS;
    while (workers && !kf_workers_hardware(workers)) {
        kf_workers_result result;
        if (*invocation->interrupts) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
        if (kf_now() > until)
            return kf_fail(error, KF_ERROR_MACHINE, "no device was found; give --hardware");
        if (kf_workers_wait(workers, 0.1, &result, error) < 0) return false;
    }
    p->hardware = workers ? strdup(kf_workers_hardware(workers)) : NULL;
    return p->hardware || (workers && kf_fail_memory(error, "the hardware description"));
}

static bool read_run(preview *p, kf_store *store, const settings *wanted, kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    if (!kf_store_find_run(store, wanted->run, &run, error)) return false;
    snprintf(p->run, sizeof p->run, "%s", run.id);
    p->task = kf_stored_task(store, run.task, error);
    const char *more = strstr(run.device, ", against baseline ");
    p->hardware = more ? strndup(run.device, (size_t)(more - run.device)) : strdup(run.device);
    return p->task && p->hardware &&
           kf_search_options_read(run.options, &p->search, p->models, &p->options, error);
}

static void print_line(const kf_invocation *invocation, const char *text)
{
    kf_print_exact(invocation->output, text, strlen(text));
    kf_print_exact(invocation->output, "\n", 1);
}

static bool print(const preview *p, const settings *wanted, const kf_invocation *invocation,
                  kf_error *error)
{
    long long system = (long long)kf_prompt_tokens(strlen(p->text.system)),
              prompt = (long long)kf_prompt_tokens(strlen(p->text.prompt));
    if (wanted->json) {
        kf_auto(cJSON) json = kf_json_document("kforge-prompt/1");
        cJSON_AddStringToObject(json, "step", p->text.step);
        cJSON_AddStringToObject(json, "strategy", p->search.strategy.name);
        cJSON_AddStringToObject(json, "hardware", p->hardware);
        cJSON_AddNumberToObject(json, "system_tokens", (double)system);
        cJSON_AddNumberToObject(json, "prompt_tokens", (double)prompt);
        cJSON_AddStringToObject(json, "system", p->text.system);
        cJSON_AddStringToObject(json, "prompt", p->text.prompt);
        return kf_print_json(invocation->output, kf_steal(&json), error);
    }
    fprintf(invocation->log,
            "%s: %lld tokens of system text, %lld of the prompt (estimated from the bytes)\n",
            p->text.step, system, prompt);
    print_line(invocation, p->text.system);
    print_line(invocation, p->text.prompt);
    return true;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    __attribute__((cleanup(preview_clear))) preview p = {0};
    kf_auto(kf_store) store = NULL;
    if (wanted->run) {
        if (!kf_open_to_read(wanted->store, &store, error)) return -1;
        if (!store)
            return kf_fail(error, KF_ERROR_INPUT, "--run %s: the store has no runs yet",
                           wanted->run),
                   -1;
        if (!read_run(&p, store, wanted, error)) return -1;
    } else {
        if (!invocation->argument_count)
            return kf_fail(error, KF_ERROR_INPUT,
                           "prompt: expected a TASK, or --run RUN; \"kforge list --tasks\" shows "
                           "tasks"),
                   -1;
        p.task = kf_named_task_find(invocation->arguments[0], wanted->store, error);
        if (!p.task) return -1;
    }
    if (wanted->prompts) p.search.prompts = wanted->prompts;
    if (wanted->device) p.search.device = wanted->device;
    if (wanted->strategy || !*p.search.strategy.name) {
        if (!kf_strategy_load(wanted->strategy ? wanted->strategy : "auto", &p.search.strategy,
                              error))
            return kf_fail_prefix(error, "--strategy"), -1;
    }
    if (!find_hardware(&p, wanted, invocation, error)) return -1;
    if (!p.search.device) p.search.device = strncmp(p.hardware, "cpu", 3) == 0 ? "cpu" : "cuda";
    if (!kf_search_preview(store, p.task, wanted->run ? p.run : NULL, &p.search, p.hardware,
                           wanted->step, &p.text, error))
        return -1;
    return print(&p, wanted, invocation, error) ? KF_EXIT_DONE : -1;
}

static const kf_option options[] = {
    {KF_OPTION(TEXT, "strategy", "NAME|FILE", settings, strategy), .config = true,
     .help = "Strategy of the search, as for `kforge optimize`. Default: auto, or the run's."},
    {KF_OPTION(TEXT, "run", "RUN", settings, run), .letter = 'r',
     .help = "The next prompt of this run (id, the beginning of one, or last), with its parents, "
             "exemplars and notes."},
    {KF_OPTION(TEXT, "step", "STEP", settings, step),
     .help = "This prompt instead of the strategy's choice: draft, improve, repair_build, "
             "repair_wrong, contrast, crossover, rethink, critic_optimise, critic_repair or "
             "episode. All but draft and episode need --run."},
    {KF_OPTION(TEXT, "hardware", "TEXT", settings, hardware),
     .help = "Prompt for this hardware (\"NVIDIA H100 80GB HBM3\" or \"GPU of compute capability "
             "8.9\")."},
    KF_ROW_PROMPTS(settings),
    KF_ROW_DEVICE(settings),
    KF_ROW_STORE(settings),
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_prompt = {
    .name = "prompt",
    .synopsis = "[TASK]",
    .summary = "Show the next prompt for a model, and its tokens",
    .description = "Writes system text and prompt to standard output and sends nothing. For a task "
                   "this is the first draft; with --run the next prompt of the run.",
    .examples = "kforge prompt tasks/gemm\tthe first prompt of a search\n"
                "kforge prompt --run 0k7c --step contrast\twith candidates of a run\n"
                "kforge prompt tasks/gemm --hardware \"GPU of compute capability 9.0\" --json\tfor "
                "another GPU",
    .most_arguments = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
