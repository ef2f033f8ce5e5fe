/* The part of `task lint` that runs programs: the oracle and the baseline of every workload. They
 * run on three independent sets of inputs, and on one more set for each input, in which only that
 * input differs. kf_lint_outputs judges the outputs. Then the baseline is judged as a candidate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge_internal.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/list.h"
#include "kforge/scan.h"
#include "input_generator.h"
#include "runner_process.h"
#include "input_secret.h"
#include "torch_plan.h"
#include "task_binaries.h"

#define INDEPENDENT 3
#define CALL_SECONDS 120
#define KEY_BYTES 256

typedef struct lint_run {
    kf_judge *judge;
    const kf_problem *problem;
    kf_sets *sets;
    kf_runner *oracle, *baseline;
    /* A runner has served another task. */
    bool secondhand;
    /* Both programs ran on all cases. */
    bool ran;
    kf_lint_case cases[INDEPENDENT + KF_MAX_ARGUMENTS];
    /* Every array that a case points to. */
    double **arrays;
    size_t array_count;
    uint32_t count; /* cases, one a set */
    /* Seconds, with the loading of code at the first call. */
    double oracle_call, baseline_call;
    /* what the oracle wrote outside its outputs */
    kf_damage written;
} lint_run;

static bool is_given(const kf_problem_argument *argument)
{
    return argument->kind == KF_INPUT || argument->kind == KF_INOUT;
}

static bool is_output(const kf_problem_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT;
}

static kf_runner_kind kind_of(const kf_torch_request *request)
{
    if (request->file->kind != KF_SOURCE_TORCH) return KF_RUNNER_PLAIN;
    return request->compiled ? KF_RUNNER_COMPILED : KF_RUNNER_TORCH;
}

/* True if runners of that kind serve the next workload and the next task, too: starting PyTorch
 * takes longer than a lint. On a GPU they would hold memory that the next sets need. */
static bool serves_on(const kf_judge *judge, kf_runner_kind kind)
{
    return kind == KF_RUNNER_TORCH && !judge->device->slow_start;
}

static bool can_serve(const kf_judge *judge, const kf_torch_request *request)
{
    char key[KEY_BYTES];
    kf_torch_key(request->task, request->role, NULL, request->workload, key, sizeof key);
    return serves_on(judge, kind_of(request)) &&
           kf_runner_pool_can_serve(judge->pool, request->role, key, false, request->problem);
}

/* Takes a runner that serves already, or a new one. */
static bool take_runner(lint_run *run, const kf_torch_request *request, const volatile int *stop,
                        kf_runner **runner, kf_error *error)
{
    kf_runner_pool *pool = run->judge->pool;
    char key[KEY_BYTES];
    bool from_another = false;
    kf_torch_key(request->task, request->role, NULL, request->workload, key, sizeof key);
    if (can_serve(run->judge, request))
        *runner = kf_runner_pool_take_trusted(pool, request->role, key, false, request->problem,
                                              stop, &from_another);
    run->secondhand = run->secondhand || from_another;
    if (!*runner) *runner = kf_runner_pool_take(pool, kind_of(request), false, stop, error);
    return *runner != NULL;
}

/* Gives a runner back to the pool, or ends it. */
static void give_back(lint_run *run, const kf_torch_request *request, kf_runner *runner)
{
    char key[KEY_BYTES];
    kf_torch_key(request->task, request->role, NULL, request->workload, key, sizeof key);
    if (run->ran && serves_on(run->judge, kind_of(request)) &&
        kf_runner_unmap(runner) == KF_RUNNER_OK)
        kf_runner_pool_keep_trusted(run->judge->pool, request->role, key, false, runner);
    else
        kf_runner_free(runner);
}

static bool start(lint_run *run, const kf_torch_request *request, const char *binary,
                  const char *what, const volatile int *stop, kf_runner **runner, kf_error *error)
{
    kf_judge *judge = run->judge;
    const kf_problem *problem = run->problem;
    kf_runner_kind kind = kind_of(request);
    bool torch = kf_runner_is_python(kind);
    if (!take_runner(run, request, stop, runner, error)) return false;
    const kf_device_operations *operations = judge->device->operations;
    if (torch && operations->python.equip &&
        !operations->python.equip(judge->device, *runner, request->role, problem, 0, error))
        return false;
    if (!(torch ? kf_torch_give(*runner, request, error) : kf_runner_give(*runner, binary, error)))
        return false;
    uint64_t scalars[KF_MAX_ARGUMENTS];
    kf_problem_scalars(problem, scalars);
    kf_runner_event event =
        kf_runner_load(*runner, kind == KF_RUNNER_COMPILED ? KF_COMPILE_SECONDS : CALL_SECONDS);
    if (event == KF_RUNNER_OK)
        event = kf_runner_scalars(*runner, scalars, (uint32_t)problem->argument_count);
    if (event == KF_RUNNER_OK) return true;
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    kf_runner_explanation why;
    kf_runner_explain(*runner, event, "loading it", &why);
    return kf_fail(error, KF_ERROR_INPUT, "the task's %s does not load: %s", what, why.text);
}

/* Returns an argument's data as doubles. run->arrays owns them. */
static const double *as_doubles(lint_run *run, kf_dtype dtype, const void *data, int64_t count,
                                kf_error *error)
{
    double *values = malloc((size_t)count * sizeof *values);
    if (!values || !kf_list_grow(&run->arrays, run->array_count)) {
        free(values);
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for %lld values", (long long)count);
        return NULL;
    }
    run->arrays[run->array_count++] = values;
    size_t size = kf_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++)
        values[i] = kf_dtype_load(dtype, (const char *)data + (size_t)i * size);
    return values;
}

static const double **argument_table(lint_run *run, kf_error *error)
{
    const double **table = calloc(KF_MAX_ARGUMENTS, sizeof *table);
    if (!table || !kf_list_grow(&run->arrays, run->array_count)) {
        free(table);
        kf_fail_memory(error, "a lint of the task");
        return NULL;
    }
    run->arrays[run->array_count++] = (double *)table;
    return table;
}

static bool call_some(lint_run *run, kf_runner *runner, const uint32_t *order, uint32_t count,
                      const char *what, double *seconds, kf_error *error)
{
    kf_batch batch = {.order = order, .count = count, .timeout = CALL_SECONDS};
    kf_runner_event event = kf_runner_batch(runner, &batch);
    *seconds = batch.seconds / count;
    if (event == KF_RUNNER_OK) return true;
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    kf_runner_explanation why;
    kf_autofree char *said = kf_runner_output(runner, 300);
    kf_runner_explain(runner, event, "running it", &why);
    kf_error_code code = event == KF_RUNNER_TIMEOUT ? KF_ERROR_LIMIT : KF_ERROR_INPUT;
    return kf_fail(error, code, "workload %s: the task's %s fails: %s%s%s", run->problem->workload,
                   what, why.text, said ? ": " : "", said ? said : "");
}

static bool call(lint_run *run, kf_runner *runner, const uint32_t *order, const char *what,
                 double *seconds, kf_error *error)
{
    return call_some(run, runner, order, run->count, what, seconds, error);
}

static bool is_generated(const lint_run *run, int argument)
{
    return argument >= 0 && run->problem->arguments[argument].distribution.generated;
}

/* Case c differs from case 0 in the one input `changed`. The independent cases differ in all. One
 * call makes all generated inputs, which may depend on each other, so they change together. */
static void plan_cases(lint_run *run)
{
    bool has_generated = false;
    for (int c = 0; c < INDEPENDENT; c++)
        run->cases[run->count++] =
            (kf_lint_case){.problem = run->problem, .base = -1, .changed = -1};
    for (int i = 0; i < run->problem->argument_count; i++)
        if (is_given(&run->problem->arguments[i]) && !(has_generated && is_generated(run, i))) {
            run->cases[run->count++] =
                (kf_lint_case){.problem = run->problem, .base = 0, .changed = i};
            has_generated = has_generated || is_generated(run, i);
        }
}

static bool run_cases(lint_run *run, kf_error *error)
{
    const kf_device_operations *device = run->judge->device->operations;
    const kf_problem *problem = run->problem;
    kf_secret secret;
    uint32_t order[INDEPENDENT + KF_MAX_ARGUMENTS];
    kf_set_variation none[INDEPENDENT + KF_MAX_ARGUMENTS];
    for (uint32_t c = 0; c < run->count; c++) {
        order[c] = c;
        none[c] = (kf_set_variation){-1, KF_VARY_NONE};
    }
    if (!kf_secret_new(&secret, NULL, error)) return false;
    if (!device->buffers.fill(run->sets, kf_secret_draw(&secret, "inputs", 0, 0), none, error))
        return false;
    /* All inputs but the changed one are those of case 0. */
    for (uint32_t c = 0; c < run->count; c++)
        for (int i = 0; i < problem->argument_count && run->cases[c].base >= 0; i++)
            if (is_given(&problem->arguments[i]) && i != run->cases[c].changed &&
                !(is_generated(run, i) && is_generated(run, run->cases[c].changed)) &&
                !device->buffers.copy_input(run->sets, (uint32_t)run->cases[c].base, c, i, error))
                return false;
    if (!device->buffers.poison(run->sets, KF_ROLE_BASELINE,
                                kf_secret_draw(&secret, "poison", 0, 0), error) ||
        !device->buffers.prepare_truth(run->sets, order, run->count, error))
        return false;
    for (uint32_t c = 0; c < run->count; c++) {
        const double **given = argument_table(run, error),
                     **expected = given ? argument_table(run, error) : NULL;
        if (!expected) return false;
        run->cases[c].given = given;
        run->cases[c].expected = expected;
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (is_given(argument) &&
                !(given[i] = as_doubles(run, argument->dtype,
                                        device->buffers.input(run->sets, c, i, error),
                                        argument->elements, error)))
                return false;
        }
    }
    /* The first call of PyTorch loads code, which would seem slow. */
    if (kf_runner_is_python(kf_runner_kind_of(run->oracle)) &&
        !call_some(run, run->oracle, order, 1, "oracle", &run->oracle_call, error))
        return false;
    if (!call(run, run->oracle, order, "oracle", &run->oracle_call, error)) return false;
    if (device->buffers.inspect_truth)
        device->buffers.inspect_truth(run->sets, order, run->count, &run->written);
    for (uint32_t c = 0; c < run->count; c++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            kf_dtype dtype = kf_dtype_is_float(argument->dtype) ? KF_F64 : argument->dtype;
            if (is_output(argument) &&
                !(((const double **)run->cases[c].expected)[i] =
                      as_doubles(run, dtype, device->buffers.truth(run->sets, c, i, error),
                                 argument->elements, error)))
                return false;
        }
    if (!call(run, run->baseline, order, "baseline", &run->baseline_call, error)) return false;
    if (kf_runner_is_python(kf_runner_kind_of(run->baseline))) {
        kf_fetch_fault fault;
        bool all[INDEPENDENT + KF_MAX_ARGUMENTS];
        memset(all, 1, sizeof all);
        if (!device->python.fetch(run->sets, run->baseline, KF_ROLE_BASELINE, order, run->count,
                                  all, &fault, error))
            return false;
        if (fault.rule[0])
            return kf_fail(error, fault.machine ? KF_ERROR_MACHINE : KF_ERROR_INPUT,
                           "workload %s: the task's baseline: %s", problem->workload, fault.text);
    }
    for (uint32_t c = 0; c < run->count; c++) {
        const double **table = argument_table(run, error);
        if (!table) return false;
        run->cases[c].baseline = table;
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (is_output(argument) &&
                !(table[i] = as_doubles(run, argument->dtype,
                                        device->buffers.output(run->sets, c, i, error),
                                        argument->elements, error)))
                return false;
        }
    }
    return true;
}

/* Reports what the oracle wrote outside its outputs. Returns the number of errors. */
static int report_oracle_writes(const lint_run *run, kf_lint_report *report, void *context)
{
    char text[300];
    if (run->written.kind == KF_DAMAGE_NONE) return 0;
    const kf_problem_argument *argument = &run->problem->arguments[run->written.argument];
    bool widened = kf_dtype_is_float(argument->dtype) && is_output(argument);
    int64_t size = (int64_t)kf_dtype_size(widened ? KF_F64 : argument->dtype),
            at = run->written.byte;
    snprintf(text, sizeof text,
             "in workload \"%s\" the oracle writes outside its outputs: to %s[%lld], which has "
             "%lld elements",
             run->problem->workload, argument->name,
             (long long)(at < 0 ? (at - size + 1) / size : at / size),
             (long long)argument->elements);
    report(context, &(kf_lint_finding){.severity = KF_LINT_ERROR,
                                       .rule = "oracle.faulty",
                                       .path = "oracle",
                                       .text = text,
                                       .advice = "mend the oracle's bounds"});
    return 1;
}

static void release(lint_run *run, const kf_torch_request requests[2])
{
    give_back(run, &requests[0], run->oracle);
    give_back(run, &requests[1], run->baseline);
    if (run->sets) run->judge->device->operations->buffers.sets_free(run->sets);
    kf_generator_free(kf_steal(&run->judge->device->next_sets.generator));
    for (size_t i = 0; i < run->array_count; i++) free(run->arrays[i]);
    free(run->arrays);
}

/* Starts both programs and runs them on all cases. */
static bool run_programs(lint_run *run, const kf_torch_request requests[2], const char *oracle,
                         const char *baseline, const volatile int *stop, kf_error *error)
{
    kf_judge *judge = run->judge;
    const kf_device_operations *device = judge->device->operations;
    plan_cases(run);
    for (int kind = 0; kind < KF_RUNNER_KINDS; kind++) {
        size_t count = 0;
        for (int i = 0; i < 2; i++)
            count += (int)kind_of(&requests[i]) == kind && !can_serve(judge, &requests[i]);
        kf_runner_pool_expect(judge->pool, (kf_runner_kind)kind, false, count);
    }
    if (!(run->sets =
              device->buffers.sets_new(judge->device, run->problem, run->count, true, error)) ||
        !start(run, &requests[0], oracle, "oracle", stop, &run->oracle, error) ||
        !start(run, &requests[1], baseline, "baseline", stop, &run->baseline, error))
        return false;
    kf_runner_event event = device->buffers.hand_over(run->sets, run->oracle, KF_ROLE_ORACLE);
    kf_generator *generator = NULL;
    if (kf_generator_is_needed(run->problem)) {
        if (!(generator = kf_generator_new(run->problem, 1, NULL, error))) return false;
        judge->device->next_sets.generator = generator;
    }
    if (event == KF_RUNNER_OK && generator) event = kf_generator_hand_over(generator, run->oracle);
    if (event == KF_RUNNER_OK)
        event = device->buffers.hand_over(run->sets, run->baseline, KF_ROLE_BASELINE);
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    if (event != KF_RUNNER_OK)
        return kf_fail(error, KF_ERROR_MACHINE, "workload %s: a runner cannot map its buffers",
                       run->problem->workload);
    return run->ran = run_cases(run, error);
}

static void report_nothing(void *context, const kf_lint_finding *finding)
{
    (void)context;
    (void)finding;
}

/* True if something that another task left in a runner may be at fault. */
static bool is_doubtful(const lint_run *run, const kf_error *why)
{
    kf_error ignored = {0};
    if (!run->secondhand) return false;
    if (!run->ran) return why->code != KF_ERROR_BUSY && why->code != KF_ERROR_MEMORY;
    return run->written.kind != KF_DAMAGE_NONE ||
           kf_lint_outputs(run->cases, run->count, report_nothing, NULL, &ignored) != 0;
}

static int lint_workload(kf_judge *judge, const kf_task *task, int workload,
                         const kf_problem *problem, const kf_task_binary *oracle,
                         const kf_task_binary *baseline, kf_lint_report *report, void *context,
                         const volatile int *stop, kf_error *error)
{
    const char *device = judge->device->operations->kind;
    const kf_torch_request requests[] = {{.task = task,
                                          .problem = problem,
                                          .workload = workload,
                                          .device = device,
                                          .role = KF_ROLE_ORACLE,
                                          .file = kf_task_oracle(task)},
                                         {.task = task,
                                          .problem = problem,
                                          .workload = workload,
                                          .device = device,
                                          .role = KF_ROLE_BASELINE,
                                          .file = kf_task_baseline(task),
                                          .compiled = kf_task_baseline_compiled(task, NULL)}};
    lint_run run = {.judge = judge, .problem = problem};
    kf_error why = {0};
    run_programs(&run, requests, oracle->path, baseline->path, stop, &why);
    if (is_doubtful(&run, &why)) {
        release(&run, requests);
        kf_runner_pool_drop_trusted(judge->pool);
        run = (lint_run){.judge = judge, .problem = problem};
        why = (kf_error){0};
        run_programs(&run, requests, oracle->path, baseline->path, stop, &why);
    }
    int errors = -1;
    if (run.ran) {
        errors = report_oracle_writes(&run, report, context);
        /* Its outputs may be wrong then. */
        if (!errors) errors = kf_lint_outputs(run.cases, run.count, report, context, error);
        kf_lint_pace(problem, run.oracle_call, run.baseline_call, report, context);
    } else {
        kf_fail_copy(error, &why);
    }
    release(&run, requests);
    return errors;
}

/* ---- the baseline as a candidate ------------------------------------------------------------- */

/* Returns the text with the name of the baseline's file in place of the candidate's, malloc'd. */
static char *with_file_name(const char *text, const char *name)
{
    static const char candidate[] = "candidate.cu";
    kf_autobuffer out = {0};
    for (const char *at; (at = strstr(text, candidate)); text = at + sizeof candidate - 1) {
        kf_buffer_append(&out, text, (size_t)(at - text));
        kf_buffer_string(&out, name);
    }
    kf_buffer_string(&out, text);
    return kf_buffer_take(&out);
}

/* Judges the baseline as a candidate, with AddressSanitizer on the CPU device and compute-sanitizer
 * on a GPU: both also see reads. A baseline may use what a candidate may not, so refusals without a
 * run do not count. Returns the number of errors, and -1 after a fault of the machine. */
static int lint_baseline(kf_judge *judge, const kf_task *task, kf_lint_report *report,
                         void *context, const volatile int *stop, kf_error *error)
{
    const kf_task_file *baseline = kf_task_baseline(task);
    if (baseline->kind != KF_SOURCE_CUDA || kf_task_file_libraries(task, baseline)[0]) return 0;
    kf_auto(kf_job) job = kf_job_of_baseline("lint", task, NULL, error);
    if (!job) return -1;
    bool cpu = strcmp(judge->device->operations->kind, "cpu") == 0;
    job->options.check_only = true;
    job->options.asan = cpu;
    job->options.sanitize = !cpu;
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, stop, error);
    if (!verdict) return -1;
    if (verdict->status == KF_CORRECT || verdict->status == KF_COMPILE_ERROR) return 0;
    kf_autofree char *text = with_file_name(verdict->message, baseline->name);
    if (!text) return kf_fail_memory(error, "a lint of the task"), -1;
    if (verdict->status == KF_JUDGE_ERROR && verdict->blame != KF_BLAME_TASK)
        return kf_fail(error, KF_ERROR_MACHINE, "judging the baseline: %s", text), -1;
    bool late = verdict->status == KF_TIMEOUT || verdict->status == KF_INTERFERENCE;
    report(context, &(kf_lint_finding){.severity = late ? KF_LINT_WARNING : KF_LINT_ERROR,
                                       .rule = late ? "baseline.unchecked" : "baseline.faulty",
                                       .path = baseline->name,
                                       .text = text,
                                       .advice = late ? "judge it with kforge eval --asan"
                                                      : "mend the baseline"});
    return !late;
}

/* ---- accesses of the host -------------------------------------------------------------------- */

/* True if a workload is for GPUs. */
static bool is_for_gpus(const kf_task *task, kf_problem *problem)
{
    bool applies = false;
    for (int i = 0; i < kf_task_workload_count(task) && !applies; i++)
        if (!kf_task_resolve(task, i, "cuda", problem, &applies, NULL)) applies = false;
    return applies;
}

/* Warns of files that work on the CPU device alone. */
static bool lint_host_accesses(const kf_task *task, kf_problem *problem, kf_lint_report *report,
                               void *context, kf_error *error)
{
    const int count = is_for_gpus(task, problem) ? 2 + kf_task_seed_count(task) : 0;
    for (int i = 0; i < count; i++) {
        const kf_task_file *file = i == 0   ? kf_task_oracle(task)
                                   : i == 1 ? kf_task_baseline(task)
                                            : kf_task_seed(task, i - 2);
        char text[300];
        kf_scan_flag found;
        if (file->kind != KF_SOURCE_CUDA || kf_task_file_libraries(task, file)[0]) continue;
        if (!kf_scan_host_flag(file->text, file->size, &found, error)) return false;
        if (!found.line) continue;
        snprintf(text, sizeof text,
                 "line %ld: the host accesses %s, which is device memory on a GPU: there the call "
                 "fails",
                 found.line, found.word);
        report(context, &(kf_lint_finding){.severity = KF_LINT_WARNING,
                                           .rule = "host.access",
                                           .path = file->name,
                                           .text = text,
                                           .advice = "access it in a kernel"});
    }
    return true;
}

int kf_judge_lint(kf_judge *judge, const kf_task *task, kf_lint_report *report, void *context,
                  const volatile int *stop, kf_error *error)
{
    kf_task_binary oracle = {0}, baseline = {0};
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    int errors = -1;
    if (!problem) {
        kf_fail_memory(error, "a lint of the task");
        return -1;
    }
    if (lint_host_accesses(task, problem, report, context, error) &&
        kf_task_binary_get(judge->device, judge->cache, task, kf_task_oracle(task), true, 60, stop,
                           &oracle, error) &&
        kf_task_binary_get(judge->device, judge->cache, task, kf_task_baseline(task), false, 60,
                           stop, &baseline, error)) {
        const char *reason = oracle.reason ? oracle.reason : baseline.reason;
        if (reason)
            kf_fail(error, KF_ERROR_INPUT, "%s", reason);
        else
            errors = 0;
    }
    for (int workload = 0; workload < kf_task_workload_count(task) && errors >= 0; workload++) {
        bool applies;
        if (kf_task_is_unseen(task, workload)) continue; /* the rules are about what decides */
        if (stop && *stop) { /* runners look at it only while they are waited for */
            kf_fail(error, KF_ERROR_BUSY, "interrupted");
            errors = -1;
        } else if (!kf_task_resolve(task, workload, judge->device->operations->kind, problem,
                                    &applies, error)) {
            errors = -1;
        } else if (applies) {
            int found = lint_workload(judge, task, workload, problem, &oracle, &baseline, report,
                                      context, stop, error);
            errors = found < 0 ? -1 : errors + found;
        }
    }
    kf_task_binary_free(&oracle);
    kf_task_binary_free(&baseline);
    /* A baseline that disagrees is reported already. */
    return errors ? errors : lint_baseline(judge, task, report, context, stop, error);
}
