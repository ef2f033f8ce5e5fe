/* Starts the runners of a workload. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dry_run.h"
#include "input_generator.h"
#include "libraries.h"
#include "measure_internal.h"
#include "torch_plan.h"

#define LOAD_SECONDS 5.0
/* A constructor may fill large weights, and the first call finds out which buffers it writes. */
#define TORCH_LOAD_SECONDS 30.0

static bool give_scalars(kf_measurement *r, kf_role role, kf_runner *runner, kf_error *error)
{
    uint64_t scalars[KF_MAX_ARGUMENTS];
    kf_problem_scalars(r->bench->problem, scalars);
    kf_runner_event event =
        kf_runner_scalars(runner, scalars, (uint32_t)r->bench->problem->argument_count);
    return event == KF_RUNNER_OK ||
           kf_measurement_report(r, runner, role, event, 0, "taking its scalars", error);
}

/* Returns the path of the candidate's binary. Waits for its build, and meanwhile lets other jobs
 * use the device. NULL if the measurement is over, or *failed. */
static const char *candidate_binary(kf_measurement *r, bool *failed, kf_error *error)
{
    kf_workbench *bench = r->bench;
    *failed = false;
    if (bench->programs.candidate) return bench->programs.candidate;
    kf_clock_pause(&bench->clock, kf_now());
    if (r->device->reserve) r->device->reserve(bench->device, false, NULL, NULL);
    bench->programs.candidate =
        bench->programs.await_candidate(bench->programs.await_context, failed, error);
    double built = kf_now();
    if (!*failed && r->device->reserve)
        *failed = !r->device->reserve(bench->device, true, bench->stop, error);
    double now = kf_now();
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, now);
    bench->waited += now - built;
    if (bench->programs.candidate && !*failed) return bench->programs.candidate;
    bench->found.abandoned = r->over = true;
    return NULL;
}

/* Runs the candidate's dry run, whose time does not count. */
static bool run_dry(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_clock_pause(&bench->clock, kf_now());
    /* Compilers that choose kernels by their time need an idle device. */
    kf_runner_pool_pause(bench->pool);
    bool done = kf_dry_run(bench->device, bench->task, bench->options, bench->stop,
                           bench->programs.build, error);
    kf_runner_pool_resume(bench->pool);
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, kf_now());
    return done;
}

static double load_seconds(const kf_measurement *r, kf_runner_kind kind)
{
    if (kind == KF_RUNNER_COMPILED) return KF_COMPILE_SECONDS;
    return fmax(kind == KF_RUNNER_TORCH ? TORCH_LOAD_SECONDS : LOAD_SECONDS,
                kf_measurement_call_seconds(r));
}

/* Reports that a program was not loaded; one that ran into its limit with that limit. */
static bool report_load(kf_measurement *r, kf_role role, kf_runner *runner, kf_runner_event event,
                        double limit, kf_error *error)
{
    char doing[96];
    snprintf(doing, sizeof doing,
             event == KF_RUNNER_TIMEOUT && kf_runner_can_stop(runner)
                 ? "loading it. The limit of a load is %.3g s. A larger --timeout gives it more"
                 : "loading it",
             limit);
    return kf_measurement_report(r, runner, role, event, 0, doing, error);
}

/* Returns the seed for constructors: unknown before, not 0, and of 31 bits, which every generator
 * accepts. The round with frozen weights has another seed than the round that asked for them, so
 * that a solution that is right with some weights only fails in one of the two. */
static uint32_t own_seed(const kf_workbench *bench)
{
    return (uint32_t)(kf_secret_draw(bench->secret,
                                     bench->modules.frozen ? "weights/frozen" : "weights",
                                     (uint32_t)bench->workload, (uint32_t)bench->attempt) >>
                      33) |
           1;
}

/* True if results of calls may share memory. Only modules return memory of their own. Both sides
 * copy, or neither. */
static bool copies_results(const kf_workbench *bench)
{
    return bench->options->torch && kf_task_allows_aliasing(bench->task);
}

const char *kf_measurement_key(const kf_workbench *bench, kf_role role, char key[4400])
{
    const char *binary =
        role == KF_ROLE_BASELINE ? bench->programs.baseline : bench->programs.oracle;
    if (bench->kinds[role] != KF_RUNNER_TORCH) return binary;
    kf_torch_key(bench->task, role, role == KF_ROLE_BASELINE ? bench->options->baseline : NULL,
                 bench->workload, key, 4400);
    if (bench->modules.full_f32) snprintf(key + strlen(key), 4400 - strlen(key), " f32");
    if (copies_results(bench)) snprintf(key + strlen(key), 4400 - strlen(key), " copies");
    /* A compiled baseline cannot load another plan. */
    if (bench->modules.frozen && kf_measurement_kind(bench, role) == KF_RUNNER_COMPILED)
        snprintf(key + strlen(key), 4400 - strlen(key), " frozen %u", own_seed(bench));
    return key;
}

/* Gives a runner in Python its plan, and loads it; *event is the runner's. */
static bool load_plan(kf_measurement *r, kf_role role, kf_runner *runner, const char *candidate,
                      double runner_timeout, kf_runner_event *event, kf_error *error)
{
    const kf_workbench *bench = r->bench;
    const kf_torch_request request = {
        .task = bench->task,
        .problem = bench->problem,
        .workload = bench->workload,
        .device = r->device->kind,
        .role = role,
        .file =
            role == KF_ROLE_BASELINE ? bench->programs.baseline_file : kf_torch_file(bench->task),
        .compiled = role == KF_ROLE_BASELINE && bench->programs.compiled,
        .full_f32 = bench->modules.full_f32,
        .copies = role != KF_ROLE_ORACLE && copies_results(bench),
        .own_seed = r->modules.own_state ? own_seed(bench) : 0,
        .other_mode = r->modules.other_mode,
        .candidate = candidate};
    if (!kf_torch_give(runner, &request, error)) return false;
    if (r->device->python.equip &&
        !r->device->python.equip(bench->device, runner, role, bench->problem,
                                 r->sets ? r->set_count : 0, error))
        return false;
    *event = kf_runner_load(runner, runner_timeout);
    return true;
}

/* Loads the plan into a new runner. For a runner of the task's own that has served another task and
 * failed to load this plan, perhaps because of what that task left in it. */
static bool load_afresh(kf_measurement *r, kf_role role, kf_runner **runner, kf_runner_event *event,
                        kf_error *error)
{
    const kf_workbench *bench = r->bench;
    kf_runner_pool_retire(bench->pool, kf_steal(runner), false);
    *runner = kf_runner_pool_take(bench->pool, KF_RUNNER_TORCH, bench->options->strict_sandbox,
                                  bench->stop, error);
    return *runner && load_plan(r, role, *runner, NULL, TORCH_LOAD_SECONDS, event, error);
}

/* Loads the program; *event is the runner's. The time of oracle and baseline in Python does not
 * count: compiling them, or constructing a large module, takes long. */
static bool load(kf_measurement *r, kf_role role, kf_runner **runner, const char *binary,
                 double runner_timeout, bool from_another, kf_runner_event *event, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_runner_kind kind = kf_measurement_kind(bench, role);
    bool uncounted = kf_runner_is_python(kind) && role != KF_ROLE_CANDIDATE, done = true;
    if (uncounted) kf_clock_pause(&bench->clock, kf_now());
    if (kf_runner_is_python(kind))
        done = load_plan(r, role, *runner, role == KF_ROLE_CANDIDATE ? binary : NULL,
                         runner_timeout, event, error);
    else
        *event = kf_runner_load(*runner, runner_timeout);
    bool anew = done && *event != KF_RUNNER_OK && *event != KF_RUNNER_STOPPED && from_another;
    if (anew) done = load_afresh(r, role, runner, event, error);
    if (from_another && !anew) bench->found.secondhand = true;
    if (!uncounted) return done;
    kf_clock_resume(&bench->clock, KF_PAUSE_JOB, kf_now());
    if (r->runners[CANDIDATE]) kf_runner_set_deadline(r->runners[CANDIDATE], bench->clock.deadline);
    return done;
}

/* Takes a runner of that role that serves already, or a new one from the pool. *loaded is true if
 * its program is loaded. *from_another is true if it has served another task. */
static bool take_runner(kf_measurement *r, kf_role role, kf_runner **runner, bool *loaded,
                        bool *from_another, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_runner_kind kind = kf_measurement_kind(bench, role);
    bool python = kf_runner_is_python(kind), candidate = role == KF_ROLE_CANDIDATE,
         strict = bench->options->strict_sandbox;
    char key[4400];
    if (!candidate)
        *runner =
            kf_runner_pool_take_trusted(bench->pool, role, kf_measurement_key(bench, role, key),
                                        strict, bench->problem, bench->stop, from_another);
    else if (bench->round.candidate_runner)
        *runner = kf_steal(bench->round.candidate_runner);
    if (*runner && candidate) kf_runner_set_deadline(*runner, bench->clock.deadline);
    *loaded = *runner && !python;
    if (*loaded) return true;
    /* The import of PyTorch takes longer than measuring, so it does not count. */
    if (python) kf_clock_pause(&bench->clock, kf_now());
    if (!*runner) *runner = kf_runner_pool_take(bench->pool, kind, strict, bench->stop, error);
    if (python) kf_clock_resume(&bench->clock, KF_PAUSE_JOB, kf_now());
    return *runner != NULL;
}

/* Adds a flag if the runner of a loaded baseline lacks the second system-call filter. With
 * --sandbox=strict that is an error. */
static bool check_filter(kf_measurement *r, const kf_runner *runner, kf_error *error)
{
    const kf_workbench *bench = r->bench;
    if (!kf_runner_is_open(runner)) return true;
    if (bench->options->strict_sandbox)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "a baseline through torch.compile runs without the second system-call "
                       "filter, which --sandbox=strict needs: use Linux 5.9 or newer");
    return kf_verdict_add_flag(bench->verdict, "baseline.open") || kf_fail_memory(error, "a flag");
}

/* Takes the files from the loaded candidate, and adds a flag for what it still may open. Afterwards
 * its maps name no folders, so the judge looks first. */
static bool hide_files(kf_measurement *r, const kf_runner_place *place, kf_runner *runner,
                       kf_error *error)
{
    const kf_workbench *bench = r->bench;
    bool needs_files = bench->libraries && bench->libraries[0];
    if (place->hidable && !kf_measurement_audit(r, runner, error)) return false;
    if (r->over) return true;
    bool visible = place->hidable && (needs_files || !kf_runner_hide_files(runner));
    return ((!visible || kf_verdict_add_flag(bench->verdict, "files.visible")) &&
            (!kf_runner_writes_proc(runner) ||
             kf_verdict_add_flag(bench->verdict, "proc.writable"))) ||
           kf_fail_memory(error, "a flag");
}

bool kf_measurement_start_runner(kf_measurement *r, kf_role role, kf_runner **runner,
                                 kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_runner_place place;
    kf_runner_kind kind = kf_measurement_kind(bench, role);
    bool python = kf_runner_is_python(kind), candidate = role == KF_ROLE_CANDIDATE;
    bool failed = false, from_another = false, loaded;
    const char *binary = candidate                  ? candidate_binary(r, &failed, error)
                         : role == KF_ROLE_BASELINE ? bench->programs.baseline
                                                    : bench->programs.oracle;
    if (!binary) return !failed;
    if (candidate && !run_dry(r, error)) return false;
    if (!r->device->place(bench->device, kind, &place, error)) return false;
    if (candidate) r->leftovers.spare_threads = place.spare_threads;
    if (!take_runner(r, role, runner, &loaded, &from_another, error)) return false;
    if (loaded) return give_scalars(r, role, *runner, error);
    double began = kf_now();
    if (!python && !kf_runner_give(*runner, binary, error)) return false;
    if (candidate) bench->found.layers = kf_runner_layers(*runner);
    double runner_timeout = load_seconds(r, kind);
    bool hurried = candidate && kf_measurement_time_left(r) < runner_timeout;
    if (hurried) runner_timeout = fmax(kf_measurement_time_left(r), 1);
    if (candidate) kf_runner_set_deadline(*runner, bench->clock.deadline);
    kf_runner_event event;
    if (!load(r, role, runner, binary, runner_timeout, from_another, &event, error)) return false;
    if (event == KF_RUNNER_OK && !check_filter(r, *runner, error)) return false;
    /* If others used up the time, the candidate is not to blame. */
    if (candidate) kf_clock_charge_candidate(&bench->clock, kf_now() - began);
    if (event == KF_RUNNER_TIMEOUT && hurried && kf_runner_can_stop(*runner))
        return kf_measurement_out_of_time(r, error);
    if (event != KF_RUNNER_OK) return report_load(r, role, *runner, event, runner_timeout, error);
    if (candidate) kf_runner_set_deadline(*runner, bench->clock.deadline);
    if (candidate && !hide_files(r, &place, *runner, error)) return false;
    return r->over || give_scalars(r, role, *runner, error);
}

bool kf_measurement_start_idle(kf_measurement *r, kf_error *error)
{
    const kf_workbench *bench = r->bench;
    if (bench->kinds[KF_ROLE_CANDIDATE] == bench->kinds[KF_ROLE_BASELINE]) return true;
    r->idle = kf_runner_pool_take(bench->pool, bench->kinds[KF_ROLE_CANDIDATE],
                                  bench->options->strict_sandbox, bench->stop, error);
    return r->idle != NULL;
}

kf_runner *kf_measurement_take_oracle(kf_measurement *r)
{
    kf_generator *generator = r->bench->device->next_sets.generator;
    if (generator) kf_generator_hand_over(generator, NULL);
    return kf_steal(&r->oracle);
}

bool kf_measurement_hand_over(kf_measurement *r, kf_role role, kf_runner *runner, kf_error *error)
{
    kf_generator *generator = r->bench->device->next_sets.generator;
    kf_runner_event event = r->device->buffers.hand_over(r->sets, runner, role);
    if (event == KF_RUNNER_OK && role == KF_ROLE_ORACLE && generator)
        event = kf_generator_hand_over(generator, runner);
    return event == KF_RUNNER_OK ||
           kf_measurement_report(r, runner, role, event, 0, "mapping its buffers", error);
}
