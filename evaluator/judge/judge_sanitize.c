/* compute-sanitizer's library runs in the candidate's process. Its findings in honest code are
 * useful. A hostile candidate can suppress findings. So findings can only make a verdict worse. */
#include "judge_sanitize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sanitize_plan.h"
#include "device_cuda.h"
#include "input_generator.h"
#include "kforge/file.h"
#include "kforge/inputs.h"
#include "kforge/json.h"
#include "kforge/sanitize_report.h"
#include "paths.h"

/* A tool with many findings may exceed it. Its findings so far count. */
#define TOOL_SECONDS 30.0

_Static_assert(KF_SANITIZE_ARGUMENTS == KF_MAX_ARGUMENTS, "a plan holds all arguments");

static const struct tool {
    const char *name;
    /* True if a finding breaks the contract. Else it is a note. */
    bool convicts;
} tools[] = {
    {"memcheck", true},
    {"racecheck", true},
    /* An unused read is harmless, and outputs are random before a call. */
    {"initcheck", false},
};
#define TOOL_COUNT (sizeof tools / sizeof *tools)

bool kf_sanitizer_find(char path[4096])
{
    static const char *const places[] = {"bin/compute-sanitizer",
                                         "compute-sanitizer/compute-sanitizer"};
    char toolkit[4096], tried[4400];
    if (!kf_cuda_toolkit(toolkit, NULL)) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(tried, sizeof tried, "%.4000s/%s", toolkit, places[i]);
        if (access(tried, X_OK) == 0 && realpath(tried, path)) return true;
    }
    return false;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* Finds the smallest workload that is not hidden, since the tools slow a kernel down a hundredfold.
 * *generated: there are others, but the problem's own generator makes their inputs. */
static bool choose_workload(const kf_judge *judge, const kf_task *task, kf_problem *problem,
                            bool *generated)
{
    int best = -1;
    uint64_t least = 0;
    bool applies;
    *generated = false;
    const char *kind = judge->device->operations->kind;
    for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
        if (!kf_task_resolve(task, workload, kind, problem, &applies, NULL) || !applies ||
            problem->hidden)
            continue;
        if (kf_generator_is_needed(problem)) {
            *generated = true;
            continue;
        }
        if (best >= 0 && problem->total_bytes >= least) continue;
        best = workload;
        least = problem->total_bytes;
    }
    return best >= 0 && kf_task_resolve(task, best, kind, problem, &applies, NULL);
}

static bool write_inputs(const kf_problem *problem, const char *folder, kf_error *error)
{
    kf_autofree kf_sanitize_plan *plan = calloc(1, sizeof *plan);
    char path[4200];
    uint64_t secret;
    if (!plan) return kf_fail_memory(error, "a sanitizer run");
    if (!kf_random(&secret, sizeof secret))
        return kf_fail(error, KF_ERROR_MACHINE, "getrandom refuses");
    plan->magic = KF_SANITIZE_MAGIC;
    plan->count = (uint32_t)problem->argument_count;
    kf_problem_scalars(problem, plan->scalars);
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind == KF_SCALAR) continue;
        plan->bytes[i] = (uint64_t)argument->bytes;
        plan->content[i] = argument->kind == KF_INPUT || argument->kind == KF_INOUT;
        if (!plan->content[i]) continue;
        kf_autofree void *data = aligned_alloc(256, ((size_t)argument->bytes + 511) / 256 * 256);
        if (!data) return kf_fail_memory(error, "a sanitizer run");
        kf_input_fill(argument, (kf_key){.secret = secret, .argument = (uint32_t)i}, KF_VARY_NONE,
                      data, 0, argument->elements);
        snprintf(path, sizeof path, "%.4000s/argument-%d", folder, i);
        if (!kf_file_write(path, data, (size_t)argument->bytes, error)) return false;
    }
    snprintf(path, sizeof path, "%.4000s/plan", folder);
    return kf_file_write(path, plan, sizeof *plan, error);
}

/* ---- one tool -------------------------------------------------------------------------------- */

static bool run_tool(kf_judge *judge, const kf_job *job, const struct tool *tool,
                     const char *sanitizer, const char *folder, const char *binary,
                     const volatile int *stop, kf_sanitize_report *report, kf_error *error)
{
    kf_runner_place place;
    char toolkit[4096];
    kf_autofree char *program = kf_root_file("bin/kforge-runner-sanitize", error);
    if (!program ||
        !judge->device->operations->place(judge->device, KF_RUNNER_PLAIN, &place, error) ||
        !kf_cuda_toolkit(toolkit, error))
        return false;
    const char *const argv[] = {sanitizer, "--tool", tool->name, "--print-limit", "20", program,
                                folder,    binary,   NULL};
    const char *const more[] = {program, toolkit, folder, binary};
    for (size_t i = 0; i < sizeof more / sizeof *more && place.path_count < KF_PLACE_PATHS; i++)
        place.paths[place.path_count++] =
            (kf_sandbox_path){more[i], KF_PATH_READ | KF_PATH_EXEC, false};
    kf_sandbox_spec spec = {.argv = argv,
                            .environment = place.environment,
                            .directory = folder,
                            .paths = place.paths,
                            .path_count = place.path_count,
                            .limits = place.limits,
                            .seccomp = KF_SECCOMP_TOOL,
                            .strict = job->options.strict_sandbox};
    spec.limits.wall_seconds = TOOL_SECONDS;
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, error);
    if (!jail) return false;
    while (!kf_sandbox_pump(jail, 0.1)) {
        if (!stop || !*stop) continue;
        kf_sandbox_kill(jail);
        return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    }
    const kf_buffer *output = kf_sandbox_output(jail);
    kf_sanitize_parse(output->data ? output->data : "", report);
    if (!report->finished && !report->trouble[0])
        kf_sandbox_describe(kf_sandbox_outcome(jail), report->trouble, sizeof report->trouble);
    return true;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* True for a failed API call. It may be a query of the program, or follow from an earlier finding.
 */
static bool is_of_the_api(const kf_sanitize_finding *f)
{
    return strncmp(f->kind, "Program hit", 11) == 0;
}

static bool add_finding(kf_verdict *verdict, const struct tool *tool, const kf_sanitize_finding *f)
{
    bool convicts = tool->convicts && !f->warning && !is_of_the_api(f);
    char rule[64], place[128] = "", times[32] = "";
    snprintf(rule, sizeof rule, "sanitizer.%s", tool->name);
    if (f->line) snprintf(place, sizeof place, " at %s:%d", f->file, f->line);
    if (f->count > 1) snprintf(times, sizeof times, ", %d times", f->count);
    return kf_verdict_add_finding(verdict, NULL, convicts ? KF_CONTRACT_VIOLATION : KF_CORRECT,
                                  convicts ? KF_BLAME_CANDIDATE : KF_BLAME_NOBODY, rule, NAN, NAN,
                                  "%s: %s%s%s%s%s%s%s", tool->name, f->kind,
                                  f->kernel[0] ? " in " : "", f->kernel, place, times,
                                  f->detail[0] ? "; " : "", f->detail) != NULL;
}

static bool note(cJSON *object, const char *text, const char *remedy)
{
    return cJSON_AddStringToObject(object, "note", text) &&
           (!remedy[0] || cJSON_AddStringToObject(object, "remedy", remedy));
}

/* Builds the candidate again, with source lines for the tools' messages. Returns `binary` if that
 * fails. The judged binary has no lines, so that equal programs give equal files. */
static const char *build_with_lines(kf_judge *judge, const kf_job *job, const char *directory,
                                    const char *binary, kf_build *build)
{
    const kf_build_request request = {.task = job->task,
                                      .source = job->source,
                                      .size = job->source_size,
                                      .name = "candidate.cu",
                                      .flags = (const char *const *)job->flags,
                                      .line_info = true,
                                      .seconds = job->options.build_seconds,
                                      .strict_sandbox = job->options.strict_sandbox,
                                      .directory = directory};
    kf_error ignored = {0};
    bool built = !job->options.torch && directory &&
                 judge->device->operations->build(judge->device, &request, build, &ignored);
    return built && build->ok ? build->binary : binary;
}

static bool run_tools(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict,
                      const volatile int *stop, cJSON *said, kf_error *error)
{
    char sanitizer[4096];
    if (!kf_sanitizer_find(sanitizer))
        return note(said, "compute-sanitizer is missing from the CUDA toolkit",
                    "install it (package cuda-sanitizer)") ||
               kf_fail_memory(error, "a sanitizer run");
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem) return kf_fail_memory(error, "a sanitizer run");
    bool generated, chosen = choose_workload(judge, job->task, problem, &generated);
    if (!chosen && generated)
        return note(said, "the problem's own generator makes inputs only for measurements", "") ||
               kf_fail_memory(error, "a sanitizer run");
    kf_autofree char *folder = kf_directory_temporary("kforge-sanitize", error),
                     *directory = kf_directory_temporary("kforge-job", NULL);
    kf_build build = {0};
    if (!folder) return false;
    double started = kf_now();
    binary = build_with_lines(judge, job, directory, binary, &build);
    bool done = chosen ? write_inputs(problem, folder, error)
                       : kf_fail(error, KF_ERROR_INPUT, "the task has no workload for it");
    cJSON *counts = done ? cJSON_AddObjectToObject(said, "tools") : NULL;
    if (done) done = counts && cJSON_AddStringToObject(said, "workload", problem->workload);
    for (size_t i = 0; i < TOOL_COUNT && done; i++) {
        kf_sanitize_report report;
        if (!(done =
                  run_tool(judge, job, &tools[i], sanitizer, folder, binary, stop, &report, error)))
            break;
        if (report.trouble[0] && !report.count) {
            cJSON_AddStringToObject(counts, tools[i].name, report.trouble);
            continue;
        }
        kf_json_add_number(counts, tools[i].name, (double)report.count);
        for (size_t k = 0; k < report.count && done; k++)
            if (k == 0 || !is_of_the_api(&report.findings[k]))
                done = add_finding(verdict, &tools[i], &report.findings[k]);
    }
    kf_json_add_number(said, "seconds", kf_now() - started);
    kf_directory_remove(folder, NULL);
    if (directory) kf_directory_remove(directory, NULL);
    kf_build_free(&build);
    return done;
}

bool kf_judge_sanitize(kf_judge *judge, const kf_job *job, const char *binary, kf_verdict *verdict,
                       const volatile int *stop, kf_error *error)
{
    const kf_device_operations *device = judge->device->operations;
    /* there nothing is called best that was not looked at */
    bool cuda = strcmp(device->kind, "cuda") == 0;
    if (!(job->options.sanitize || (job->options.verify && cuda)) || !binary ||
        verdict->status != KF_CORRECT)
        return true;
    cJSON *said = cJSON_CreateObject();
    if (!verdict->provenance || !said ||
        !cJSON_AddItemToObject(verdict->provenance, "sanitizer", said)) {
        cJSON_Delete(said);
        return kf_fail_memory(error, "a sanitizer run");
    }
    kf_error trouble = {0};
    bool done = true;
    if (!cuda) {
        done = note(said, "AddressSanitizer: nothing found", "");
    } else if ((done = !device->reserve || device->reserve(judge->device, true, stop, &trouble))) {
        done = run_tools(judge, job, binary, verdict, stop, said, &trouble);
        if (device->reserve) device->reserve(judge->device, false, NULL, NULL);
    }
    if (!done && trouble.code == KF_ERROR_BUSY) return kf_fail_copy(error, &trouble);
    if (!done && !note(said, trouble.text[0] ? trouble.text : "out of memory", ""))
        return kf_fail_memory(error, "a sanitizer run");
    kf_verdict_conclude(verdict);
    return true;
}
