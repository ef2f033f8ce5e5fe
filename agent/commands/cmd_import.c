/* `kforge import kernelbench|robust-kbench|cuda-l1|sol-execbench|flashinfer-bench|gpu-mode|
 * kernelbench.com|raw|torch`. */
#include <string.h>
#include <unistd.h>

#include "import.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "output.h"
#include "shell_command.h"
#include "table.h"
#include "terminal.h"

typedef struct settings {
    const char *output, *level, *ids, *mode, *class_name, *sandbox, *device, *aliasing;
    kf_option_list patches;
    int64_t scale, jobs;
    double timeout, memory;
    bool link, compiled, force, json, multi, unchecked;
} settings;

extern const kf_command kf_command_import_torch;

/* ---- what came of it ------------------------------------------------------------------------- */

typedef struct state {
    const kf_invocation *invocation;
    const settings *settings;
    const kf_import_suite *suite;
    size_t done;
} state;

/* before the lines of code that a remedy offers (evaluator/torch/load.py) */
static const char code_start[] = "append it: ";

/* Prints the reason. Lines of code that the remedy offers get lines of their own, not indented, so
 * that they can be appended to the file. */
static void print_refusal(FILE *log, const char *task, const char *reason)
{
    const char *code = strstr(reason, code_start);
    if (!code) {
        fprintf(log, "%s: %s\n", task, reason);
        return;
    }
    code += strlen(code_start);
    fprintf(log, "%s: %.*s\n", task, (int)(code - reason) - 1, reason);
    for (const char *end; code; code = end ? end + 3 : NULL) {
        end = strstr(code, " / ");
        fprintf(log, "%.*s\n", end ? (int)(end - code) : (int)strlen(code), code);
    }
}

/* Prints the command that goes on with a file that lacks a class or lines. */
static void print_next(const state *s, const kf_import_problem *problem,
                       const kf_import_result *result)
{
    if (strcmp(s->suite->name, "torch") != 0) return;
    if (!*result->offered && !strstr(result->reason, code_start)) return;
    const char *class_name = *result->offered ? result->offered : s->settings->class_name;
    const kf_command_word instead[] = {
        {"class", strcmp(class_name, "Model") == 0 ? NULL : class_name},
        {NULL, NULL},
    };
    bool alone = s->suite->count == 1;
    const char *file = alone ? s->invocation->arguments[0] : problem->path;
    kf_autofree char *line = kf_command_line(&kf_command_import_torch, s->settings,
                                             KF_COMMAND_CHANGED, instead, &file, 1, NULL);
    if (line) fprintf(s->invocation->log, "%s: next: %s\n", problem->task, line);
}

static void tell_progress(void *context, const kf_import_problem *problem,
                          const kf_import_result *result)
{
    state *s = context;
    s->done++;
    if (s->invocation->terminal)
        kf_terminal_redraw(s->invocation->log, "%zu of %zu  %s", s->done, s->suite->count,
                           problem->task);
    if (s->invocation->terminal && s->done == s->suite->count) fputc('\n', s->invocation->log);
    bool shown = !s->invocation->terminal || s->suite->count == 1;
    if (shown && result->status >= KF_IMPORT_UNFIT) {
        print_refusal(s->invocation->log, problem->task, result->reason);
        print_next(s, problem, result);
    }
    fflush(s->invocation->log);
}

/* Prints lint's findings. Some errors are the reason of a refusal already. */
static void tell_findings(const kf_invocation *invocation, const kf_import_problem *problem,
                          const kf_import_result *result)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, result->findings)
    {
        const char *path = kf_json_get_text(row, "path", "");
        if (strcmp(kf_json_get_text(row, "rule", ""), result->rule) != 0)
            fprintf(invocation->log, "%s: lint: %s: %s%s%s (%s)\n", problem->task,
                    kf_json_get_text(row, "severity", ""), path, *path ? ": " : "",
                    kf_json_get_text(row, "text", ""), kf_json_get_text(row, "rule", ""));
    }
}

static void print_table(const kf_view *view, const kf_import_suite *suite,
                        const kf_import_result *results)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "~TASK", "STATUS", ">ELEMENTS", ">FLOP", ">ARGS", ">TIME",
                         "~PATCHES", "~WHY", NULL);
    for (size_t i = 0; i < suite->count; i++) {
        const kf_import_result *r = &results[i];
        char count[KF_FIGURE], time[KF_FIGURE];
        bool there = r->status == KF_IMPORT_MADE || r->status == KF_IMPORT_UNCHANGED;
        kf_table_cell(&table, "%s", suite->problems[i].task);
        kf_table_cell(&table, "%s", kf_import_status_name(r->status));
        kf_table_cell(&table, "%s", there ? kf_figure_count((double)r->elements, count) : "");
        kf_table_cell(&table, there && r->flops > 0 ? "%.3g" : "", r->flops);
        kf_table_cell(&table, there ? "%d" : "", r->inputs + r->state + r->outputs);
        kf_table_cell(&table, "%s",
                      r->status == KF_IMPORT_NOT_TRIED ? "" : kf_figure_seconds(r->seconds, time));
        kf_table_cell(&table, "%s", r->patches ? r->patches : "");
        if (there)
            kf_table_cell(&table, "%s", r->notes ? r->notes : "");
        else
            kf_table_cell(&table, "%s%s%s", r->rule, r->rule[0] ? ": " : "", r->reason);
    }
    kf_table_print(&table, view->out, view->width, 0, view->color);
}

static bool print_results_json(const kf_view *view, const kf_import_suite *suite,
                               const kf_import_result *results, double seconds, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_document("kforge-import/1");
    cJSON_AddStringToObject(json, "suite", suite->name);
    if (suite->url) cJSON_AddStringToObject(json, "url", suite->url);
    if (suite->commit) cJSON_AddStringToObject(json, "commit", suite->commit);
    kf_add_figure(json, "seconds", seconds);
    cJSON *rows = cJSON_AddArrayToObject(json, "problems");
    for (size_t i = 0; i < suite->count; i++) {
        const kf_import_problem *p = &suite->problems[i];
        const kf_import_result *r = &results[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(rows, row);
        cJSON_AddStringToObject(row, "task", p->task);
        cJSON_AddStringToObject(row, "file", p->relative);
        if (p->level >= 0) cJSON_AddNumberToObject(row, "level", (double)p->level);
        if (p->problem >= 0) cJSON_AddNumberToObject(row, "problem", (double)p->problem);
        if (p->variant) cJSON_AddStringToObject(row, "variant", p->variant);
        cJSON_AddStringToObject(row, "status", kf_import_status_name(r->status));
        cJSON_AddStringToObject(row, "rule", r->rule);
        cJSON_AddStringToObject(row, "reason", r->reason);
        cJSON_AddStringToObject(row, "notes", r->notes ? r->notes : "");
        cJSON_AddStringToObject(row, "patches", r->patches ? r->patches : "");
        cJSON_AddNumberToObject(row, "elements", (double)r->elements);
        cJSON_AddNumberToObject(row, "inputs", r->inputs);
        cJSON_AddNumberToObject(row, "state", r->state);
        cJSON_AddNumberToObject(row, "outputs", r->outputs);
        cJSON_AddNumberToObject(row, "flops", r->flops);
        kf_add_figure(row, "seconds", r->seconds);
        kf_add_figure(row, "check_seconds", r->check_seconds);
        cJSON_AddItemToObject(row, "findings",
                              r->findings ? cJSON_Duplicate(r->findings, true)
                                          : cJSON_CreateArray());
    }
    return kf_print_json(view->out, kf_steal(&json), error);
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool write_solutions(const kf_import_options *options, const kf_invocation *invocation,
                            const kf_import_suite *suite, const kf_import_result *results,
                            kf_error *error)
{
    size_t written;
    if (!kf_import_write_solutions(suite, options, results, &written, error)) return false;
    if (written)
        fprintf(invocation->log,
                "%zu solutions in %s/solutions; judge them with kforge bench %s --solutions "
                "%s/solutions\n",
                written, options->output, options->output, options->output);
    if (suite->notes) fputs(suite->notes, invocation->log);
    return true;
}

static int import(const settings *s, const kf_invocation *invocation, const kf_import_suite *suite,
                  kf_error *error)
{
    kf_view view = kf_view_of(invocation, s->json);
    kf_autofree kf_import_result *results = calloc(suite->count, sizeof *results);
    const char *patches[KF_OPTION_LIST_MAX + 1] = {0};
    if (!results) return kf_fail_memory(error, "the import"), -1;
    for (size_t i = 0; i < s->patches.count; i++) {
        const char *equals = strchr(s->patches.items[i], '=');
        if (!equals || equals == s->patches.items[i] || !equals[1] ||
            strspn(equals + 1, "0123456789") != strlen(equals + 1))
            return kf_fail(error, KF_ERROR_INPUT, "--patch %s: expected NAME=NUMBER",
                           s->patches.items[i]),
                   -1;
        patches[i] = s->patches.items[i];
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const kf_import_options options = {.output = s->output,
                                       .class_name = s->class_name,
                                       .mode = s->mode,
                                       .patches = patches,
                                       .max_elements = s->scale,
                                       .seconds = s->timeout,
                                       .memory_bytes = (uint64_t)(s->memory * (1u << 30)),
                                       .jobs = s->jobs          ? (int)s->jobs
                                               : processors > 0 ? (int)processors
                                                                : 1,
                                       .link = s->link,
                                       .compiled = s->compiled,
                                       .force = s->force,
                                       .strict = strcmp(s->sandbox, "strict") == 0,
                                       .unchecked = s->unchecked,
                                       .aliasing = s->aliasing,
                                       .device = s->device};
    state progress = {.invocation = invocation, .settings = s, .suite = suite};
    double started = kf_now();
    bool good = kf_import_run(suite, &options, results, tell_progress, &progress,
                              invocation->interrupts, error);
    bool interrupted = *invocation->interrupts;
    double checking = 0;
    int status = -1;
    size_t there = 0, refused = 0;
    for (size_t i = 0; i < suite->count; i++) {
        there += results[i].status == KF_IMPORT_MADE || results[i].status == KF_IMPORT_UNCHANGED;
        refused += results[i].status == KF_IMPORT_UNFIT || results[i].status == KF_IMPORT_FAILED;
        checking += results[i].check_seconds;
        tell_findings(invocation, &suite->problems[i], &results[i]);
    }
    if (good || interrupted) {
        bool printed = true;
        kf_error why = {0};
        /* the tasks are written, so this is only a warning */
        if (!kf_import_record(suite, &options, results, &why))
            fprintf(invocation->log,
                    "suite.json is not written, so a bench will not count refused problems: %s\n",
                    why.text);
        if (s->json)
            printed = print_results_json(&view, suite, results, kf_now() - started, error);
        else
            print_table(&view, suite, results);
        char time[KF_FIGURE], checks[KF_FIGURE];
        fprintf(invocation->log,
                "%zu of %zu imported to %s, %zu refused, in %s; lint and judging the modules: %s\n",
                there, suite->count, s->output, refused,
                kf_figure_seconds(kf_now() - started, time),
                s->unchecked ? "left out" : kf_figure_seconds(checking, checks));
        if (printed) printed = write_solutions(&options, invocation, suite, results, error);
        status = !printed      ? -1
                 : interrupted ? KF_EXIT_INTERRUPTED
                 : there       ? KF_EXIT_DONE
                               : KF_EXIT_NOTHING;
    }
    kf_import_results_clear(results, suite->count);
    return status;
}

static int run_kernelbench(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *s = values;
    kf_import_ranges levels, ids;
    kf_import_suite suite = {0};
    int status = -1;
    if (kf_import_ranges_parse(s->level, "level", &levels, error) &&
        kf_import_ranges_parse(s->ids, "ids", &ids, error) &&
        kf_import_kernelbench(invocation->arguments[0], &levels, &ids, &suite, error))
        status = import(s, invocation, &suite, error);
    kf_import_suite_clear(&suite);
    return status;
}

static int run_robust(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *s = values;
    kf_import_suite suite = {0};
    int status = kf_import_robust(invocation->arguments[0], s->multi, &suite, error)
                     ? import(s, invocation, &suite, error)
                     : -1;
    kf_import_suite_clear(&suite);
    return status;
}

static int run_cuda_l1(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *s = values;
    kf_import_ranges levels, ids;
    kf_import_suite suite = {0};
    int status = -1;
    if (kf_import_ranges_parse(s->level, "level", &levels, error) &&
        kf_import_ranges_parse(s->ids, "ids", &ids, error) &&
        kf_import_cuda_l1(invocation->arguments[0], &levels, &ids, &suite, error))
        status = import(s, invocation, &suite, error);
    kf_import_suite_clear(&suite);
    return status;
}

static int import_definitions(const char *format, const kf_invocation *invocation,
                              const settings *s, kf_error *error)
{
    kf_import_suite suite = {0};
    int status =
        kf_import_definitions(format, invocation->arguments[0], strcmp(s->sandbox, "strict") == 0,
                              invocation->interrupts, &suite, error)
            ? import(s, invocation, &suite, error)
            : -1;
    kf_import_suite_clear(&suite);
    return status;
}

static int run_sol_execbench(const kf_invocation *invocation, const void *values, kf_error *error)
{
    return import_definitions("sol-execbench", invocation, values, error);
}

static int run_flashinfer(const kf_invocation *invocation, const void *values, kf_error *error)
{
    return import_definitions("flashinfer-bench", invocation, values, error);
}

static int import_bundles(const char *format, const kf_invocation *invocation, const settings *s,
                          kf_error *error)
{
    kf_import_suite suite = {0};
    int status = kf_import_bundles(format, invocation->arguments[0], &suite, error)
                     ? import(s, invocation, &suite, error)
                     : -1;
    kf_import_suite_clear(&suite);
    return status;
}

static int run_gpu_mode(const kf_invocation *invocation, const void *values, kf_error *error)
{
    return import_bundles("gpu-mode", invocation, values, error);
}

static int run_kernelbench_com(const kf_invocation *invocation, const void *values, kf_error *error)
{
    return import_bundles("kernelbench.com", invocation, values, error);
}

static int run_raw(const kf_invocation *invocation, const void *values, kf_error *error)
{
    return import_bundles("raw", invocation, values, error);
}

static int run_torch(const kf_invocation *invocation, const void *values, kf_error *error)
{
    kf_import_suite suite = {0};
    int status = kf_import_file(invocation->arguments[0], &suite, error)
                     ? import(values, invocation, &suite, error)
                     : -1;
    kf_import_suite_clear(&suite);
    return status;
}

/* Options of all imports. */
#define OUTPUT_ROW(FALLBACK)                                                        \
    {                                                                               \
        .name = "output", .letter = 'o', .type = KF_OPTION_PATH, .argument = "DIR", \
        .offset = offsetof(settings, output), .fallback = FALLBACK,                 \
        .help = "Folder for the task folders."                                      \
    }
#define COMMON_ROWS                                                                               \
    {KF_OPTION(INTEGER, "scale", "N", settings, scale), .fallback = "0", .low = 0, .high = 1e15,  \
     .help =                                                                                      \
         "Halve module-level constants until all arguments have at most N elements and a call "   \
         "takes at most 256 N operations; 0: keep the sizes. 1000000 suits the CPU device."},     \
        {KF_OPTION(LIST, "patch", "NAME=N", settings, patches),                                   \
         .help = "Set a module-level constant: NAME=N, or NAME[I]=N for an element of a tuple."}, \
        {KF_OPTION(CHOICE, "mode", "MODE", settings, mode), .choices = "train|eval",              \
         .fallback = "train", .help = "Mode of the module: train, as in KernelBench, or eval."},  \
        {KF_OPTION(TEXT, "class", "NAME", settings, class_name), .fallback = "Model",             \
         .help = "Class of the module."},                                                         \
        {KF_OPTION(FLAG, "link", NULL, settings, link),                                           \
         .help = "Refer to problem files by path and hash instead of copying them."},             \
        {KF_OPTION(FLAG, "compiled", NULL, settings, compiled),                                   \
         .help = "Use torch.compile as the baseline, and eager as an extra baseline."},           \
        {KF_OPTION(FLAG, "force", NULL, settings, force),                                         \
         .help = "Replace existing tasks that differ."},                                          \
        {KF_OPTION(CHOICE, "aliasing", "POLICY", settings, aliasing), .choices = "forbid|allow",  \
         .fallback = "forbid",                                                                    \
         .help = "Whether results of calls may share memory, as in KernelBench's own evaluator. " \
                 "With allow each result is copied within the measured time."},                   \
        {KF_OPTION(FLAG, "unchecked", NULL, settings, unchecked),                                 \
         .help = "Do not lint the new tasks, and do not judge their modules."},                   \
        KF_ROW_DEVICE(settings),                                                                  \
        {KF_OPTION(INTEGER, "jobs", "N", settings, jobs),                                         \
         .letter = 'j',                                                                           \
         .fallback = "0",                                                                         \
         .low = 0,                                                                                \
         .high = 64,                                                                              \
         .help = "Problems to import at a time; 0: one for each processor."},                     \
        {KF_OPTION(DURATION, "timeout", "TIME", settings, timeout), .fallback = "120s", .low = 1, \
         .high = 86400, .help = "Time limit for each problem."},                                  \
        {KF_OPTION(NUMBER, "memory", "GIB", settings, memory), .fallback = "8", .low = 0.25,      \
         .high = 4096, .help = "Memory limit for each problem."},                                 \
        KF_ROW_SANDBOX(settings), KF_ROW_JSON(settings)

#define HOW                                                                                        \
    "Runs each problem in the sandbox to find its arguments: inputs, parameters and buffers by "   \
    "their names in state_dict, outputs, numbers. It also measures how inputs and weights are "    \
    "distributed. A problem with outputs that are random, constant, zero or independent of an "    \
    "input is refused with the reason. suite.json lists refused problems, so that `kforge bench` " \
    "counts them. A task folder is written completely or not at all; an equal one stays."

/* of the other imports */
#define AS_KERNELBENCH "The rest is as in `kforge import kernelbench`."

#define NUMBER_ROWS                                                                          \
    {KF_OPTION(TEXT, "level", "LEVELS", settings, level), .letter = 'l', .fallback = "1..3", \
     .help = "Levels: 2, 1..3 or 1,3."},                                                     \
    {                                                                                        \
        KF_OPTION(TEXT, "ids", "IDS", settings, ids),                                        \
            .letter = 'i', .help = "Only problems with these numbers: 19 or 1..10,42."       \
    }

static const kf_option kernelbench_options[] = {
    NUMBER_ROWS, OUTPUT_ROW("kernelbench"), COMMON_ROWS, {0}};

static const kf_option cuda_l1_options[] = {NUMBER_ROWS, OUTPUT_ROW("cuda-l1"), COMMON_ROWS, {0}};

const kf_command kf_command_import_cuda_l1 = {
    .name = "import cuda-l1",
    .synopsis = "FILE.json",
    .summary = "Make tasks of the problems in a file of CUDA-L1's release",
    .description = "FILE holds JSON lines with level_id, task_id and ref_code, for example "
                   "optimized_cuda_code/h100.json of CUDA-L1. Its problem texts are older than "
                   "today's KernelBench and have other sizes. `kforge bench DIR --solutions "
                   "FILE.json` compares claimed and verified speedups. " AS_KERNELBENCH,
    .examples = "kforge import cuda-l1 ~/CUDA-L1/optimized_cuda_code/h100.json -o l1\tproblems of "
                "its three levels\n"
                "kforge bench l1 --solutions ~/CUDA-L1/optimized_cuda_code/h100.json --html "
                "l1.html\tclaimed and verified speedups",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = cuda_l1_options,
    .settings_size = sizeof(settings),
    .run = run_cuda_l1,
};

const kf_command kf_command_import_kernelbench = {
    .name = "import kernelbench",
    .synopsis = "DIR",
    .summary = "Make tasks of the problems in a checkout of KernelBench",
    .description = HOW "\n\nExit status: 1 no problem could be imported, 2 not a checkout of "
                       "KernelBench, 3 no PyTorch.",
    .examples = "kforge import kernelbench ~/KernelBench --level 1\tlevel 1 at its own sizes\n"
                "kforge import kernelbench ~/KernelBench --scale 1000000 -o small\tsizes that a "
                "CPU can judge",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = kernelbench_options,
    .settings_size = sizeof(settings),
    .run = run_kernelbench,
};

static const kf_option robust_options[] = {
    {KF_OPTION(FLAG, "multi", NULL, settings, multi),
     .help = "Import the configurations with several inputs and initialisations instead of the "
             "single ones."},
    OUTPUT_ROW("robust-kbench"),
    COMMON_ROWS,
    {0},
};

const kf_command kf_command_import_robust = {
    .name = "import robust-kbench",
    .synopsis = "DIR",
    .summary = "Make tasks of the folders in a checkout of robust-kbench",
    .description =
        "Makes one task for each configuration, forward and backward. The inputs of a backward "
        "task are the gradient of the output, then the forward inputs. Its outputs are the "
        "gradients of inputs and parameters. Its baseline computes forward, too. " AS_KERNELBENCH,
    .examples = "kforge import robust-kbench ~/robust-kbench --multi\tall configurations",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = robust_options,
    .settings_size = sizeof(settings),
    .run = run_robust,
};

static const kf_option sol_execbench_options[] = {OUTPUT_ROW("sol-execbench"), COMMON_ROWS, {0}};

const kf_command kf_command_import_sol_execbench = {
    .name = "import sol-execbench",
    .synopsis = "DIR",
    .summary = "Make tasks of SOL-ExecBench's problems",
    .description = "DIR holds folders with definition.json, workload.jsonl and solution*.json. "
                   "Each definition becomes a task with its workloads. The solutions become "
                   "Python files in OUTPUT/solutions. docs/reference/import.md has the rules.\n\n"
                   "Exit status: 1 no definition could be imported, 2 no definition there, 3 no "
                   "PyTorch.",
    .examples = "kforge import sol-execbench ~/SOL-ExecBench/examples --scale 1000000\tsizes that "
                "a CPU can judge\n"
                "kforge bench sol-execbench --solutions sol-execbench/solutions\tpublished "
                "solutions",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = sol_execbench_options,
    .settings_size = sizeof(settings),
    .run = run_sol_execbench,
};

static const kf_option flashinfer_options[] = {OUTPUT_ROW("flashinfer-bench"), COMMON_ROWS, {0}};

const kf_command kf_command_import_flashinfer = {
    .name = "import flashinfer-bench",
    .synopsis = "DIR",
    .summary = "Make tasks of a trace set of FlashInfer-Bench",
    .description = "DIR holds definitions/, workloads/ and perhaps solutions/ and traces/. It may "
                   "be the file of one definition. The rest is as in `kforge import "
                   "sol-execbench`.",
    .examples = "kforge import flashinfer-bench ~/flashinfer-trace\tall definitions",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = flashinfer_options,
    .settings_size = sizeof(settings),
    .run = run_flashinfer,
};

static const kf_option gpu_mode_options[] = {OUTPUT_ROW("gpu-mode"), COMMON_ROWS, {0}};

const kf_command kf_command_import_gpu_mode = {
    .name = "import gpu-mode",
    .synopsis = "DIR",
    .summary = "Make tasks of GPU MODE's problems",
    .description =
        "DIR is a checkout of reference-kernels, a folder in it, or a problem's folder "
        "with task.yml and reference.py. Benchmarks become timed workloads, tests "
        "untimed ones. A solution may be a submission.py with custom_kernel. " AS_KERNELBENCH,
    .examples =
        "kforge import gpu-mode ~/reference-kernels/problems/pmpp_v2 --scale 1000000\tsizes "
        "that a CPU can judge\n"
        "kforge eval gpu-mode/sort_py submission.py\tjudge a submission",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = gpu_mode_options,
    .settings_size = sizeof(settings),
    .run = run_gpu_mode,
};

static const kf_option kernelbench_com_options[] = {
    OUTPUT_ROW("kernelbench.com"), COMMON_ROWS, {0}};

const kf_command kf_command_import_kernelbench_com = {
    .name = "import kernelbench.com",
    .synopsis = "DIR",
    .summary = "Make tasks of problems with reference.py and shapes.py",
    .description =
        "DIR is a checkout of kernelbench.com, or a folder with problems in it. Each "
        "entry of SHAPES becomes a workload. A solution may define Model. " AS_KERNELBENCH,
    .examples = "kforge import kernelbench.com "
                "~/kernelbench.com/benchmarks/hard/problems-h100\tits problems for one GPU",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = kernelbench_com_options,
    .settings_size = sizeof(settings),
    .run = run_kernelbench_com,
};

static const kf_option raw_options[] = {OUTPUT_ROW("raw"), COMMON_ROWS, {0}};

const kf_command kf_command_import_raw = {
    .name = "import raw",
    .synopsis = "DIR",
    .summary = "Make tasks of CUDA kernels with a driver or a function solve",
    .description =
        "DIR holds folders with init.cu and driver.cpp, or files with solve(). The "
        "driver's reference in libtorch becomes the oracle, init.cu a seed. " AS_KERNELBENCH,
    .examples =
        "kforge import raw ~/KernelBlaster/data --scale 1000000\tsizes that a CPU can judge",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = raw_options,
    .settings_size = sizeof(settings),
    .run = run_raw,
};

static const kf_option torch_options[] = {OUTPUT_ROW("tasks"), COMMON_ROWS, {0}};

const kf_command kf_command_import_torch = {
    .name = "import torch",
    .synopsis = "FILE.py",
    .summary = "Make a task of your own PyTorch module",
    .description = "The file defines class Model(torch.nn.Module) and get_inputs(), which returns "
                   "a list of example inputs. If the constructor has arguments, get_init_inputs() "
                   "returns them. A folder stands for all files in it. " AS_KERNELBENCH,
    .examples = "kforge import torch my_layer.py --mode eval\ttasks/my_layer",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = torch_options,
    .settings_size = sizeof(settings),
    .run = run_torch,
};
