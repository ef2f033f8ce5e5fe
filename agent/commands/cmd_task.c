/* `kforge task new|lint|show`. */
#include <string.h>

#include "shell_command.h"
#include "kforge/judge.h"
#include "kforge/lint.h"
#include "named_task.h"
#include "show.h"
#include "starter.h"
#include "table.h"

/* ---- new ------------------------------------------------------------------------------------- */

static int run_new(const kf_invocation *invocation, const void *values, kf_error *error)
{
    (void)values;
    const char *folder = invocation->arguments[0];
    kf_autobuffer word = {0};
    if (!kf_starter_write(folder, error)) return -1;
    kf_command_append_word(&word, folder);
    fprintf(invocation->output,
            "%s: a working task: y = x / (1 + exp(-x)). Edit its files:\n"
            "  task.json      operation, shapes and checks\n"
            "  oracle.cu      the reference result, in float64\n"
            "  baseline.cu    the implementation to beat\n"
            "  seed_items.cu  a candidate to start from, with tunables\n"
            "Then \"kforge task lint %s\" lists its faults.\n",
            folder, word.data ? word.data : folder);
    return KF_EXIT_DONE;
}

const kf_command kf_command_task_new = {
    .name = "task new",
    .synopsis = "DIRECTORY",
    .summary = "Make a task folder to start from",
    .description = "The folder holds a small elementwise operation that loads, lints and is "
                   "correct, with oracle, baseline and seed. Change them step by step into your "
                   "own (docs/reference/task-format.md).",
    .examples = "kforge task new tasks/my_kernel\tthen edit tasks/my_kernel/task.json",
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run_new,
};

/* ---- lint ------------------------------------------------------------------------------------ */

typedef struct lint_settings {
    const char *device, *store;
    bool only_read, json;
} lint_settings;

typedef struct lint {
    const kf_view *view;
    const char *task; /* the name on the command line */
    cJSON *findings;  /* NULL for text */
    int errors, warnings;
} lint;

static void report(void *context, const kf_lint_finding *finding)
{
    lint *l = context;
    bool severe = finding->severity == KF_LINT_ERROR;
    *(severe ? &l->errors : &l->warnings) += 1;
    if (l->findings) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(l->findings, row);
        cJSON_AddStringToObject(row, "severity", severe ? "error" : "warning");
        cJSON_AddStringToObject(row, "rule", finding->rule);
        cJSON_AddStringToObject(row, "path", finding->path ? finding->path : "");
        cJSON_AddStringToObject(row, "text", finding->text);
        cJSON_AddStringToObject(row, "advice", finding->advice ? finding->advice : "");
        return;
    }
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "%s: %s (%s): ", l->task, severe ? "error" : "warning", finding->rule);
    if (finding->path && finding->path[0]) kf_buffer_format(&text, "%s: ", finding->path);
    kf_buffer_string(&text, finding->text);
    if (finding->advice && finding->advice[0]) kf_buffer_format(&text, "; %s", finding->advice);
    if (text.data)
        kf_text_wrap(l->view->out, text.data, text.size, l->view->width ? l->view->width : 1 << 20,
                     4, true);
}

/* Opens one judge for all tasks. *judge stays NULL with --read-only. */
static bool open_judge(const lint_settings *wanted, kf_judge **judge, kf_error *error)
{
    *judge = NULL;
    if (wanted->only_read) return true;
    *judge = kf_judge_new(&(kf_judge_settings){.device = wanted->device}, error);
    return *judge != NULL;
}

static bool lint_outputs(kf_judge *judge, const kf_task *task, lint *l, const volatile int *stop,
                         kf_error *error)
{
    return !judge || kf_judge_lint(judge, task, report, l, stop, error) >= 0;
}

static int run_lint(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const lint_settings *wanted = values;
    kf_view view = kf_view_of(invocation, wanted->json);
    kf_auto(cJSON) json = kf_json_document("kforge-lint/1");
    cJSON *tasks = cJSON_AddArrayToObject(json, "tasks");
    int errors = 0;
    kf_auto(kf_judge) judge = NULL;
    if (!open_judge(wanted, &judge, error)) return -1;
    bool ran = judge != NULL;
    for (size_t i = 0; i < invocation->argument_count && !*invocation->interrupts; i++) {
        lint l = {.view = &view, .task = invocation->arguments[i]};
        cJSON *row = NULL;
        if (wanted->json) {
            cJSON_AddItemToArray(tasks, row = cJSON_CreateObject());
            cJSON_AddStringToObject(row, "task", l.task);
            l.findings = cJSON_AddArrayToObject(row, "findings");
            cJSON_AddBoolToObject(row, "ran", ran);
        }
        kf_error reason = {0};
        kf_auto(kf_task) task = kf_named_task_find(l.task, wanted->store, &reason);
        bool good = task != NULL;
        if (task) kf_task_lint_static(task, NULL, report, &l);
        good = good && lint_outputs(judge, task, &l, invocation->interrupts, &reason);
        if (task && !good && reason.code == KF_ERROR_BUSY) break; /* interrupted */
        if (task && !good && reason.code == KF_ERROR_MACHINE) {   /* not a fault of the task */
            kf_fail_copy(error, &reason);
            return -1;
        }
        if (!good) {
            l.errors++;
            if (row)
                cJSON_AddStringToObject(row, "error", reason.text);
            else
                fprintf(view.out, "%s: error: %s\n", l.task, reason.text);
        }
        errors += l.errors;
        if (!row && !l.errors)
            fprintf(view.out, "%s: good%s\n", l.task,
                    l.warnings ? ", with advice"
                    : ran      ? ""
                               : " as far as it was read");
    }
    if (*invocation->interrupts) return KF_EXIT_INTERRUPTED;
    if (wanted->json && !kf_print_json(view.out, kf_steal(&json), error)) return -1;
    return errors ? KF_EXIT_INPUT : KF_EXIT_DONE;
}

static const kf_option lint_options[] = {
    KF_ROW_DEVICE(lint_settings),
    {KF_OPTION(FLAG, "read-only", NULL, lint_settings, only_read),
     .help = "Read the task without running it."},
    KF_ROW_STORE(lint_settings),
    KF_ROW_JSON(lint_settings),
    {0},
};

const kf_command kf_command_task_lint = {
    .name = "task lint",
    .synopsis = "TASK…",
    .summary = "Find faults of tasks, and ways to cheat on them",
    .description = "Checks the task by rules, then runs oracle and baseline on a few inputs: do "
                   "they agree, does the baseline stay in bounds, and would zeros, a copy of an "
                   "input, a mean or a table pass? Errors make verdicts "
                   "unreliable. docs/reference/task-format.md lists the rules.\n\nExit status: 0, "
                   "or 2 if there are errors.",
    .examples = "kforge task lint tasks/*\tall of them",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = lint_options,
    .settings_size = sizeof(lint_settings),
    .run = run_lint,
};

/* ---- bundle ---------------------------------------------------------------------------------- */

typedef struct bundle_settings {
    const char *store;
} bundle_settings;

static int run_bundle(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const bundle_settings *wanted = values;
    kf_auto(kf_task) task = kf_named_task_find(invocation->arguments[0], wanted->store, error);
    cJSON *bundle = task ? kf_task_bundle(task) : NULL;
    if (task && !bundle) kf_fail_memory(error, "a task");
    return bundle && kf_print_json(invocation->output, bundle, error) ? KF_EXIT_DONE : -1;
}

static const kf_option bundle_options[] = {KF_ROW_STORE(bundle_settings), {0}};

const kf_command kf_command_task_bundle = {
    .name = "task bundle",
    .synopsis = "TASK",
    .summary = "Print a task with all its files as one JSON value, for jobs",
    .description = "The value is a kforge-bundle/1: {\"schema\", \"json\": the task.json, "
                   "\"files\": {name: text}}. It is the \"task\" of a worker's job and the "
                   "\"bundle\" of a request to `kforge serve` (docs/guide/serve.md).",
    .examples = "kforge task bundle tasks/axpy > axpy.json\twrites a bundle",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = bundle_options,
    .settings_size = sizeof(bundle_settings),
    .run = run_bundle,
};

/* ---- show ------------------------------------------------------------------------------------ */

typedef struct show_settings {
    const char *store;
    bool json;
} show_settings;

static int run_show(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const show_settings *wanted = values;
    kf_view view = kf_view_of(invocation, wanted->json);
    kf_auto(kf_task) task = kf_named_task_find(invocation->arguments[0], wanted->store, error);
    return task && kf_show_task(&view, task, error) ? KF_EXIT_DONE : -1;
}

static const kf_option show_options[] = {
    KF_ROW_STORE(show_settings), KF_ROW_JSON(show_settings), {0}};

const kf_command kf_command_task_show = {
    .name = "task show",
    .synopsis = "TASK",
    .summary = "Show a task's signature and workloads",
    .description =
        "BUFFERS is the memory of one set of arguments, WORK the least memory traffic of a call, "
        "FLOP its arithmetic. --json holds the task in canonical form and all shapes.",
    .examples = "kforge task show tasks/row_softmax\tthe signature of a candidate",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = show_options,
    .settings_size = sizeof(show_settings),
    .run = run_show,
};
