/* From a job to a verdict: rounds over all workloads, and their repetition (README.md).
 * measure/measure.c measures one workload. */
#include "kforge/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "judge_count.h"
#include "judge_describe.h"
#include "judge_internal.h"
#include "input_generator.h"
#include "machine_failures.h"
#include "kernelbench.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/scan.h"
#include "measure.h"
#include "job_builds.h"
#include "judge_sanitize.h"
#include "torch_plan.h"

/* Each workload gets at least this part of its even share of the time, however long the workloads
 * before it took. */
#define MIN_PART 0.4
/* Builds ahead of the device. A build takes 1.3 s and a check 0.15 s, so 8 builds keep the device
 * nearly busy. A timed verdict takes half a second or more. */
#define MAX_BUILDS 8
/* Processors for each runner that starts ahead: the others serve the judge, the runners that it
 * measures, and builds. */
#define PROCESSORS_A_START 3

/* ---- life ------------------------------------------------------------------------------------ */

/* Opens "cpu", "cuda" or "cuda:1". NULL or "": the first GPU, or the CPU without a GPU. */
static bool open_device(kf_judge *judge, const char *name, kf_error *error)
{
    if (!name || !name[0]) name = kf_device_cuda_count() > 0 ? "cuda" : "cpu";
    if (strcmp(name, "cpu") == 0) {
        judge->device = kf_device_cpu_open(judge->parallel, judge->cache, error);
        return judge->device != NULL;
    }
    int ordinal = -1, used = 0; /* any */
    bool numbered = sscanf(name, "cuda:%d%n", &ordinal, &used) == 1 && !name[used] && ordinal >= 0;
    if (strcmp(name, "cuda") != 0 && !numbered)
        return kf_fail(error, KF_ERROR_INPUT, "unknown device \"%s\": cpu, cuda or cuda:N", name);
    judge->device = kf_device_cuda_open(ordinal, judge->cache, error);
    return judge->device != NULL;
}

static char *word_environment_id(const kf_device *device)
{
    char *text;
    int length =
        asprintf(&text, "%s" KF_JUDGE_MARK "%d%s%s, %s", device->hardware, KF_PROTOCOL_VERSION,
                 *device->runtime ? ", runtime " : "", device->runtime, device->compiler);
    return length < 0 ? NULL : text;
}

kf_judge *kf_judge_new(const kf_judge_settings *settings, kf_error *error)
{
    kf_auto(kf_judge) judge = calloc(1, sizeof *judge);
    for (int i = 0; judge && i < 2; i++) pthread_mutex_init(&judge->trusted_locks[i], NULL);
    if (!judge || !(judge->parallel = kf_parallel_new())) {
        kf_fail_memory(error, "a verdict");
        return NULL;
    }
    if (!settings || !settings->cache)
        judge->cache = kf_cache_folder();
    else if (settings->cache[0] && !(judge->cache = strdup(settings->cache))) {
        kf_fail_memory(error, "a verdict");
        return NULL;
    }
    if (!open_device(judge, settings ? settings->device : NULL, error)) return NULL;
    if (!(judge->environment_id = word_environment_id(judge->device)) ||
        !(judge->pool = kf_runner_pool_new(judge->device))) {
        kf_fail_memory(error, "a verdict");
        return NULL;
    }
    return kf_steal(&judge);
}

void kf_judge_free(kf_judge *judge)
{
    if (!judge) return;
    kf_runner_pool_free(judge->pool);
    if (judge->device) judge->device->operations->free(judge->device);
    kf_parallel_free(judge->parallel);
    for (int i = 0; i < 2; i++) pthread_mutex_destroy(&judge->trusted_locks[i]);
    free(judge->cache);
    free(judge->environment_id);
    free(judge);
}

size_t kf_judge_jobs(const kf_judge *judge)
{
    if (!judge->device->slow_start) return 1;
    /* The judge and its runners wait actively. */
    long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    return 1 + (size_t)(half < 1 ? 1 : half > MAX_BUILDS ? MAX_BUILDS : half);
}

/* ---- one round over all workloads ------------------------------------------------------------ */

typedef struct judge_round {
    kf_judge *judge;
    const kf_job *job;
    kf_prepared *prepared;
    kf_secret *secret;
    const volatile int *stop;
    /* The candidate's runner, between two workloads. */
    kf_runner *going;
    /* True if other jobs follow. */
    bool more;
    /* True if the round needs processes that no other measurement had. */
    bool afresh;
    /* Result: a runner of the task's own has served another task before. */
    bool secondhand;
    /* True if modules keep the weights that their constructors draw. */
    bool frozen;
    /* Result: the candidate is wrong, and would be right with frozen weights. */
    bool freezes;
    /* True if PyTorch computes convolutions in f32. */
    bool full_f32;
    /* Result: in tf32 the baseline is too far from the oracle to give tolerances. */
    bool coarse;
    /* Unseen workloads of this kind end the candidate's process, or hang. The others are left out.
     */
    bool broken[KF_UNSEEN_COUNT];
    /* Result: a signal from outside ended the round. */
    bool outside;
    /* Rounds that ended so; of them, those in which it met the candidate. */
    int outside_rounds, outside_candidate;
    /* 1: the second measurement of `verify`. */
    int attempt;
    /* The job's time in all rounds so far. */
    kf_clock clock;
    int layers;
} judge_round;

/* True if the candidate has a binary without a known verdict. Call it after the build. */
static bool is_measurable(const kf_prepared *p)
{
    return p->candidate.ok && !kf_job_knows(p->job, p->candidate.code_hash);
}

static const char *await_candidate(void *context, bool *wrong, kf_error *error)
{
    kf_prepared *p = context;
    *wrong = !kf_prepared_await_candidate(p, error);
    return !*wrong && is_measurable(p) ? p->candidate.binary : NULL;
}

/* True if the sizes of a workload are not for this job: no signature in CUDA C passes them. */
static bool has_other_signature(const kf_job *job, const kf_problem *problem)
{
    const char *name = job->options.baseline;
    const kf_task_file *baseline =
        name ? kf_task_baseline_named(job->task, name) : kf_task_baseline(job->task);
    return problem->own_shapes &&
           (!job->options.torch || !baseline || baseline->kind != KF_SOURCE_TORCH);
}

/* True if the round leaves out an unseen workload: the job does not ask for it, or a second
 * measurement will show the same. */
static bool leaves_out(const judge_round *r, const kf_problem *problem)
{
    const kf_job_options *options = &r->job->options;
    return problem->unseen && (!options->unseen || (options->verify && r->attempt == 0));
}

/* Returns the number of workloads of a round. *timed: how many of them are timed. */
static int count_workloads(const judge_round *r, kf_problem *problem, int *timed)
{
    int all = 0;
    const kf_job *job = r->job;
    const kf_task *task = job->task;
    bool applies;
    *timed = 0;
    for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
        if (!kf_task_resolve(task, workload, r->judge->device->operations->kind, problem, &applies,
                             NULL) ||
            !applies || leaves_out(r, problem) || has_other_signature(job, problem))
            continue;
        all++;
        if (problem->timed) ++*timed;
    }
    return all;
}

static kf_runner_kind kind_of(const kf_task_file *file)
{
    return file->kind == KF_SOURCE_TORCH ? KF_RUNNER_TORCH : KF_RUNNER_PLAIN;
}

static kf_runner_kind candidate_kind(const kf_job_options *options)
{
    return options->torch ? KF_RUNNER_TORCH : options->asan ? KF_RUNNER_ASAN : KF_RUNNER_PLAIN;
}

/* Returns when a workload is measured. Untimed ones come first: they are quick, and a wrong
 * candidate needs no timing. Those that models do not see come last, so that a candidate has no
 * later process to which it could pass on what it sees there. Those that only show if it
 * generalises follow: they are for correct candidates. */
#define TURNS 5
static int turn_of(const kf_problem *problem)
{
    if (problem->unseen) return TURNS - 1;
    return (problem->hidden ? 2 : 0) + (problem->hidden != problem->timed);
}

/* Resolves the workload that is measured first. Returns `problem`; NULL if no workload applies. */
static const kf_problem *first_problem(const kf_judge *judge, const kf_task *task,
                                       kf_problem *problem, int *workload)
{
    bool applies;
    for (int turn = 0; turn < TURNS; turn++)
        for (*workload = 0; *workload < kf_task_workload_count(task); (*workload)++)
            if (kf_task_resolve(task, *workload, judge->device->operations->kind, problem, &applies,
                                NULL) &&
                applies && turn_of(problem) == turn)
                return problem;
    return NULL;
}

/* Returns the number of fresh runners that a solution in Python needs: one for the measurement, one
 * for KernelBench's protocol. */
static size_t count_own(const kf_job_options *options)
{
    return options->torch ? 1 + (size_t)options->kernelbench : 0;
}

/* Returns the number of runners of the candidate's kind to start for the next jobs: one that is
 * ready, one that starts. In Python one more, for a baseline that needs a new runner. On a GPU
 * importing PyTorch takes as long as several jobs, so several runners start, each on processors of
 * its own. */
static size_t count_spares(const kf_judge *judge, const kf_job_options *options, bool more)
{
    if (!more) return 0;
    if (!options->torch) return 2;
    size_t least = 2 * count_own(options) + 1;
    size_t most = (size_t)sysconf(_SC_NPROCESSORS_ONLN) / PROCESSORS_A_START;
    if (most > judge->device->python_spares) most = judge->device->python_spares;
    return most > least ? most : least;
}

/* Starts runners in Python before the judge waits for a build, since importing PyTorch takes longer
 * than a build. On a GPU, starts runners for the next jobs, too. */
static void start_ahead(kf_judge *judge, const kf_prepared *p, bool more)
{
    const kf_job_options *options = &p->job->options;
    const kf_task *task = p->job->task;
    kf_autofree kf_problem *room = calloc(1, sizeof *room);
    int workload = 0;
    const kf_problem *problem = room ? first_problem(judge, task, room, &workload) : NULL;
    char baseline[256], oracle[256];
    bool strict = options->strict_sandbox;
    kf_torch_key(task, KF_ROLE_BASELINE, options->baseline, workload, baseline, sizeof baseline);
    kf_torch_key(task, KF_ROLE_ORACLE, NULL, workload, oracle, sizeof oracle);
    bool compiled = kf_task_baseline_compiled(task, options->baseline);
    size_t own = (size_t)(kind_of(p->baseline) == KF_RUNNER_TORCH &&
                          !kf_runner_pool_can_serve(judge->pool, KF_ROLE_BASELINE, baseline, strict,
                                                    problem));
    kf_runner_pool_expect(judge->pool, KF_RUNNER_COMPILED, strict, compiled ? own : 0);
    size_t count =
        (compiled ? 0 : own) +
        (kind_of(kf_task_oracle(task)) == KF_RUNNER_TORCH &&
         !kf_runner_pool_can_serve(judge->pool, KF_ROLE_ORACLE, oracle, strict, problem)) +
        count_own(options);
    if (judge->device->slow_start && options->torch) count += count_spares(judge, options, more);
    kf_runner_pool_expect(judge->pool, KF_RUNNER_TORCH, strict, count);
}

void kf_judge_watch(kf_judge *judge, void (*step)(void *context, const char *words), void *context)
{
    judge->step = step;
    judge->step_context = context;
}

static void say_step(const kf_judge *judge, const kf_problem *problem, bool timed, int number,
                     int count)
{
    char words[64];
    if (!judge->step) return;
    snprintf(words, sizeof words, "%s %.40s, %d of %d", timed ? "timing" : "checking",
             problem->workload, number, count);
    judge->step(judge->step_context, words);
}

/* True if a finding says that the candidate's process ended or hung. */
static bool ends_process(const kf_workload_verdict *result)
{
    for (size_t i = 0; i < result->finding_count; i++) {
        kf_status status = result->findings[i].status;
        if (status == KF_CRASH || status == KF_TIMEOUT || status == KF_LAUNCH_FAILURE ||
            status == KF_OUT_OF_MEMORY)
            return true;
    }
    return false;
}

/* Keeps what a workload has shown for those after it. */
static void keep_found(judge_round *r, const kf_workbench *bench)
{
    bool seen = !bench->problem->unseen;
    r->layers = bench->found.layers ? bench->found.layers : r->layers;
    r->secondhand = r->secondhand || bench->found.secondhand;
    r->freezes = r->freezes || (bench->found.freezes && seen);
    r->coarse = r->coarse || (bench->found.coarse && seen);
    r->outside = bench->found.outside;
    r->outside_rounds += bench->found.outside;
    r->outside_candidate += bench->found.outside_candidate;
}

/* True if one runner of the candidate serves all workloads: where starting one takes longer than a
 * measurement. Times on a processor need a process each, since they differ between processes. */
static bool has_one_runner(const judge_round *r)
{
    const kf_job_options *options = &r->job->options;
    return !options->asan &&
           (r->judge->device->slow_start || (options->torch && options->check_only));
}

/* Measures the workloads in their turns. The first failure ends the round. */
static bool measure_each(judge_round *r, kf_verdict *verdict, kf_error *error)
{
    const kf_task *task = r->job->task;
    const kf_job_options *options = &r->job->options;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem) return kf_fail_memory(error, "a verdict");
    double budget = options->seconds > 0 ? options->seconds : r->judge->device->default_seconds;
    int timed_left, left = count_workloads(r, problem, &timed_left);
    int number = 0, count = left;
    double least = timed_left ? MIN_PART * budget / timed_left : 0;
    bool one_runner = has_one_runner(r), built = kf_prepared_is_built(r->prepared);
    bool counts = options->counters && !options->torch && strcmp(options->counters, "none") != 0 &&
                  r->judge->device->operations->expect_count &&
                  r->judge->device->operations->expect_count(r->judge->device, r->judge->pool,
                                                             options->counters,
                                                             kf_judge_counts_lines(r->job));
    memset(r->broken, 0, sizeof r->broken);
    for (int turn = 0; turn < TURNS; turn++)
        for (int workload = 0; workload < kf_task_workload_count(task); workload++) {
            bool applies;
            if (!kf_task_resolve(task, workload, r->judge->device->operations->kind, problem,
                                 &applies, error))
                return false;
            if (!applies || turn_of(problem) != turn || r->broken[problem->unseen] ||
                leaves_out(r, problem))
                continue;
            if (has_other_signature(r->job, problem)) {
                if (!kf_verdict_add_flag(verdict, KF_FLAG_SIZES_FIXED))
                    return kf_fail_memory(error, "a verdict");
                continue;
            }
            for (int i = 0; i < problem->argument_count && r->full_f32; i++)
                problem->arguments[i].tf32 = false;
            kf_workload_verdict *result =
                kf_verdict_add_workload(verdict, problem->workload, problem->timed);
            if (!result || (r->full_f32 && !kf_verdict_add_flag(verdict, KF_FLAG_FULL_F32)) ||
                (r->frozen && !kf_verdict_add_flag(verdict, KF_FLAG_FROZEN)) ||
                (kf_generator_is_needed(problem) &&
                 !kf_verdict_add_flag(verdict, KF_FLAG_GENERATED)))
                return kf_fail_memory(error, "a verdict");
            result->unseen = problem->unseen;
            kf_workbench bench = {
                .device = r->judge->device,
                .parallel = r->judge->parallel,
                .options = options,
                .libraries = kf_task_libraries(task),
                .task = task,
                .kinds = {[KF_ROLE_CANDIDATE] = candidate_kind(options),
                          [KF_ROLE_BASELINE] = kind_of(r->prepared->baseline),
                          [KF_ROLE_ORACLE] = kind_of(kf_task_oracle(task))},
                .problem = problem,
                .workload = workload,
                .attempt = r->attempt,
                .programs = {.candidate = built && is_measurable(r->prepared)
                                              ? r->prepared->candidate.binary
                                              : NULL,
                             .baseline = r->prepared->trusted[KF_TRUSTED_BASELINE].binary.path,
                             .oracle = r->prepared->trusted[KF_TRUSTED_ORACLE].binary.path,
                             .baseline_file = r->prepared->baseline,
                             .compiled = !problem->unseen &&
                                         kf_task_baseline_compiled(task, options->baseline),
                             .await_candidate = await_candidate,
                             .await_context = r->prepared,
                             .build = &r->prepared->candidate},
                .modules = {.frozen = r->frozen, .full_f32 = r->full_f32},
                .pool = r->judge->pool,
                .round = {.candidate_runner = one_runner || problem->unseen ? &r->going : NULL,
                          .spare = count_spares(r->judge, options, r->more),
                          .counts = counts,
                          .last = --left == 0,
                          .outside_before = r->outside_candidate},
                .secret = r->secret,
                .seconds = timed_left ? fmax(budget / timed_left, least) : fmax(budget, 0),
                .clock = r->clock,
                .stop = r->stop,
                .verdict = verdict,
                .result = result};
            double started = kf_now(), before = r->clock.deadline;
            say_step(r->judge, problem, problem->timed && !options->check_only, ++number, count);
            bool done = kf_measure_workload(&bench, error);
            r->judge->waited += bench.waited;
            r->clock = bench.clock;
            if (!done) return false;
            keep_found(r, &bench);
            if (bench.found.abandoned) return true;
            built = true;
            if (problem->timed) {
                /* Waiting that is charged to neither side moves the deadline. A vague interval may
                 * take longer, and later workloads keep their time. */
                budget -= fmin(kf_now() - started - (r->clock.deadline - before), bench.seconds);
                timed_left--;
            }
            for (size_t i = 0; i < result->finding_count; i++)
                if (kf_finding_decides(result, &result->findings[i])) return true;
            if (result->finding_count) kf_verdict_remove_flags(verdict, KF_FLAG_SUSPECTED);
            if (problem->unseen) r->broken[problem->unseen] |= ends_process(result);
        }
    return true;
}

static bool measure_all(judge_round *r, kf_verdict *verdict, kf_error *error)
{
    if (r->afresh) kf_runner_pool_drop_trusted(r->judge->pool);
    bool done = measure_each(r, verdict, error);
    kf_runner_pool_retire(r->judge->pool, kf_steal(&r->going), true);
    /* Importing PyTorch takes as long as a measurement, so runners in Python serve the next job. */
    if (!r->judge->device->slow_start && !kf_task_is_torch(r->job->task))
        kf_runner_pool_drop_trusted(r->judge->pool);
    return done;
}

/* ---- a job ----------------------------------------------------------------------------------- */

static kf_verdict *new_verdict(const kf_judge *judge, const kf_job *job)
{
    kf_auto(kf_verdict) verdict =
        kf_verdict_new(job->id, kf_task_name(job->task), judge->device->name);
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(job->source, job->source_size);
    kf_hash_hex(&hash, hex);
    if (!verdict || !kf_verdict_set_text(&verdict->task_hash, kf_task_hash(job->task)) ||
        !kf_verdict_set_text(&verdict->source_hash, hex))
        return NULL;
    return kf_steal(&verdict);
}

static bool intervals_meet(const kf_interval *a, const kf_interval *b)
{
    return a->low <= b->high && b->low <= a->high;
}

/* Returns the number of workloads that decide. */
static size_t count_given(const kf_verdict *verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < verdict->workload_count; i++) count += !verdict->workloads[i].unseen;
    return count;
}

static bool agree(const kf_verdict *a, const kf_verdict *b)
{
    if (a->status != KF_CORRECT || b->status != KF_CORRECT || count_given(a) != count_given(b))
        return false;
    return isnan(a->speedup.value) || intervals_meet(&a->speedup, &b->speedup);
}

/* Adds the finding that says why a candidate is not measured. */
static bool say_unmeasured(const kf_judge *judge, const kf_prepared *p, const kf_secret *secret,
                           kf_verdict *verdict, kf_error *error)
{
    const kf_build *build = &p->candidate;
    bool said = kf_judge_describe_build(verdict, p->job, build) &&
                kf_judge_describe_origin(verdict, judge, p->job, secret, build->layers);
    kf_status status = build->status;
    if (said && build->ok)
        said =
            kf_verdict_add_finding(verdict, NULL, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "code.known",
                                   NAN, NAN, "not measured: there is a verdict on an equal binary");
    else if (said)
        said = kf_verdict_add_finding(verdict, NULL, status,
                                      status == KF_UNSUPPORTED_DEVICE || status == KF_JUDGE_ERROR
                                          ? KF_BLAME_MACHINE
                                          : KF_BLAME_CANDIDATE,
                                      "build.failed", NAN, NAN, "%s", build->reason) &&
               (!build->same_ends ||
                kf_verdict_add_flag(verdict, KF_FLAG_MACHINE_CLEARED ":%d", build->same_ends));
    if (said) kf_verdict_conclude(verdict);
    return said || kf_fail_memory(error, "a verdict");
}

/* Does one round and replaces *verdict by its verdict. */
static bool judge_round_of(judge_round *r, kf_verdict **verdict, kf_error *error)
{
    kf_auto(kf_verdict) fresh = new_verdict(r->judge, r->job);
    if (!fresh) return kf_fail_memory(error, "a verdict");
    if (!measure_all(r, fresh, error) || !kf_prepared_await_candidate(r->prepared, error))
        return false;
    if (!is_measurable(r->prepared))
        return say_unmeasured(r->judge, r->prepared, r->secret, *verdict, error);
    if (!kf_judge_describe_build(fresh, r->job, &r->prepared->candidate) ||
        !kf_judge_describe_origin(fresh, r->judge, r->job, r->secret, r->layers))
        return kf_fail_memory(error, "a verdict");
    kf_verdict_conclude(fresh);
    kf_verdict_free(*verdict);
    *verdict = kf_steal(&fresh);
    return true;
}

/* True if the verdict accuses the candidate by the clock alone. */
static bool is_by_the_clock(const kf_verdict *verdict)
{
    if (verdict->status == KF_IMPOSSIBLE) return true;
    for (size_t w = 0; w < verdict->workload_count && verdict->status == KF_CHEATING; w++) {
        const kf_workload_verdict *workload = &verdict->workloads[w];
        for (size_t i = 0; i < workload->finding_count; i++)
            if (strcmp(workload->findings[i].rule, "device.busy") == 0) return true;
    }
    return false;
}

/* True if a measured candidate is right and has no speedup. On a busy machine a batch without calls
 * may take longer than one with calls. */
static bool lacks_speedup(const kf_verdict *verdict)
{
    return verdict->status == KF_CORRECT && isnan(verdict->speedup.value) &&
           kf_verdict_was_timed(verdict);
}

bool kf_judge_tries_again(kf_rounds *rounds, const kf_verdict *verdict, double seconds,
                          double timeout)
{
    bool disturbed = verdict->status == KF_INTERFERENCE || lacks_speedup(verdict),
         accused = is_by_the_clock(verdict),
         cleared = verdict->status == KF_CORRECT && rounds->accused > 0;
    rounds->made++;
    rounds->disturbed += disturbed;
    rounds->accused += accused;
    rounds->cleared += cleared;
    bool open = disturbed ? rounds->disturbed < KF_DISTURBED_ROUNDS
                : accused || cleared
                    ? (accused ? rounds->accused : rounds->cleared) < KF_CLOCK_ROUNDS
                    : false;
    return open && seconds * (rounds->made + 1) < timeout * rounds->made;
}

static bool flag_rounds(const kf_rounds *rounds, kf_verdict *verdict)
{
    /* Disturbed rounds with a round after them. */
    int again = rounds->disturbed - (verdict->status == KF_INTERFERENCE || lacks_speedup(verdict));
    return (!again || kf_verdict_add_flag(verdict, "interference.again:%d", again)) &&
           (!rounds->accused ||
            kf_verdict_add_flag(verdict, "clock.accused:%d:%d", rounds->accused, rounds->made));
}

/* True if the task's own baseline or oracle failed in a runner that has served another task. */
static bool failed_secondhand(const judge_round *r, const kf_verdict *verdict)
{
    return r->secondhand && !r->afresh && verdict->status == KF_JUDGE_ERROR &&
           verdict->blame == KF_BLAME_TASK;
}

/* True if a verdict with frozen weights says more than the round before it, in which the weights
 * were arguments and the solution was wrong. */
static bool says_more(const kf_verdict *verdict)
{
    if (verdict->status == KF_CORRECT || verdict->status == KF_CHEATING ||
        verdict->status == KF_IMPOSSIBLE || verdict->status == KF_CONTRACT_VIOLATION)
        return true;
    for (size_t w = 0; w < verdict->workload_count; w++)
        for (size_t i = 0; i < verdict->workloads[w].finding_count; i++)
            if (strcmp(verdict->workloads[w].findings[i].rule, "mode.other") == 0) return true;
    return false;
}

/* Waits for the caller's own stop. A scheduler that ends a whole job signals the judge's children
 * some milliseconds before the judge. */
#define OWN_STOP_SECONDS 1.0
static bool own_stop_comes(const volatile int *stop)
{
    for (double until = kf_now() + OWN_STOP_SECONDS; stop && !*stop && kf_now() < until;)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return stop && *stop;
}

/* Does a round like judge_round_of. Does it once more if the machine fails, and again after events
 * from outside, with time of its own. Those could otherwise be a way to a round without a verdict.
 */
#define MOST_OUTSIDE_ROUNDS 8
static bool judge_round_undisturbed(judge_round *r, kf_verdict **verdict, kf_error *error)
{
    for (bool failed = false;;) {
        double began = kf_now();
        const kf_clock before = r->clock;
        kf_error why = {0};
        r->outside = false;
        bool done = judge_round_of(r, verdict, &why);
        if (done && !r->outside) return true;
        if (!done && (why.code != KF_ERROR_MACHINE || failed)) return kf_fail_copy(error, &why);
        if (own_stop_comes(r->stop)) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
        bool over = kf_clock_at_ceiling(&r->clock, kf_now());
        if (!done && over) return kf_fail_copy(error, &why);
        if (done && (over || r->outside_rounds >= MOST_OUTSIDE_ROUNDS)) return true;
        failed = failed || !done;
        /* The ceiling stays. */
        r->clock.deadline = before.deadline + kf_now() - began;
        r->clock.candidate = before.candidate;
        r->clock.candidate_before = before.candidate_before;
        r->going = NULL;
        r->afresh = true;
        if (!kf_secret_new(r->secret, r->job->options.replay_key, error)) return false;
    }
}

/* Repeats rounds until one counts; its verdict goes to *verdict. Another round follows, with
 * another key and in fresh processes, while the job's time allows, after
 *   - a disturbed round, and an accusation by the clock alone (kf_judge_tries_again),
 *   - a failure of the task in runners that have served another task (once).
 * A round in the same processes follows, once each, for
 *   - a baseline that needs more than tf32,
 *   - a solution that folds its weights, if the task admits frozen weights. */
static bool judge_undisturbed(judge_round *r, kf_verdict **verdict, kf_error *error)
{
    const kf_job_options *options = &r->job->options;
    double started = kf_now();
    r->clock = kf_clock_begin_job(options->timeout_seconds, started);
    /* The verdict with weights as arguments, while frozen weights are tried. */
    kf_auto(kf_verdict) known = NULL;
    for (kf_rounds rounds = {0};;) {
        double began = kf_now(), deadline = r->clock.deadline;
        if (!judge_round_undisturbed(r, verdict, error)) return false;
        /* Without the time that is charged to neither side. */
        double took = kf_now() - began - (r->clock.deadline - deadline);
        bool fits = kf_clock_left(&r->clock, kf_now()) > took;
        if (r->coarse && !r->full_f32 && fits) {
            kf_verdict_free(*verdict);
            if (!(*verdict = new_verdict(r->judge, r->job)))
                return kf_fail_memory(error, "a verdict");
            r->full_f32 = true;
            r->going = NULL;
            continue;
        }
        if (r->freezes && !r->frozen && fits) {
            known = kf_steal(verdict);
            if (!(*verdict = new_verdict(r->judge, r->job)))
                return kf_fail_memory(error, "a verdict");
            r->frozen = true;
            r->going = NULL;
            continue;
        }
        bool over = kf_clock_at_ceiling(&r->clock, kf_now()),
             secondhand = !over && failed_secondhand(r, *verdict);
        double uncharged = r->clock.deadline - options->timeout_seconds - started;
        double seconds = kf_now() - started - uncharged;
        if (!secondhand &&
            (!kf_judge_tries_again(&rounds, *verdict, seconds, options->timeout_seconds) || over)) {
            if (!flag_rounds(&rounds, *verdict)) return kf_fail_memory(error, "a verdict");
            if (!known || says_more(*verdict)) return true;
            kf_verdict_free(*verdict);
            *verdict = kf_steal(&known);
            return true;
        }
        r->going = NULL;
        r->afresh = true;
        if (!kf_secret_new(r->secret, options->replay_key, error)) return false;
    }
}

/* Adds the finding that the source contains what its task forbids. */
static bool say_forbidden(const kf_judge *judge, const kf_prepared *p, kf_verdict *verdict,
                          kf_error *error)
{
    kf_secret secret;
    if (!kf_secret_new(&secret, p->job->options.replay_key, error)) return false;
    bool said = kf_verdict_add_finding(verdict, NULL, KF_CONTRACT_VIOLATION, KF_BLAME_CANDIDATE,
                                       "source.forbidden", p->forbidden_line, NAN,
                                       "line %d has \"%s\", which the task forbids",
                                       p->forbidden_line, p->forbidden);
    if (said) kf_verdict_conclude(verdict);
    return (said && kf_judge_describe_origin(verdict, judge, p->job, &secret, 0)) ||
           kf_fail_memory(error, "a verdict");
}

/* Judges a job into *verdict. False: a failure of the machine, the judge or the caller. */
static bool judge_job(kf_judge *judge, kf_prepared *p, bool more, const volatile int *stop,
                      kf_verdict **verdict, kf_error *error)
{
    kf_secret secret;
    const kf_job *job = p->job;
    if (p->forbidden) return say_forbidden(judge, p, *verdict, error);
    p->stop = stop;
    /* A runner for torch.compile that an earlier job left unused serves no other job. */
    if (!kf_task_baseline_compiled(job->task, job->options.baseline))
        kf_runner_pool_forget(judge->pool, KF_RUNNER_COMPILED);
    if (kf_task_is_torch(job->task)) start_ahead(judge, p, more);
    if (!kf_secret_new(&secret, job->options.replay_key, error) ||
        !kf_prepared_await_trusted(p, error))
        return false;
    const kf_trusted_work *baseline = &p->trusted[KF_TRUSTED_BASELINE];
    const char *const *libraries = kf_task_file_libraries(job->task, baseline->file);
    /* A missing library is no fault of the task. */
    if (baseline->binary.reason && libraries[0]) {
        kf_verdict_add_finding(*verdict, NULL, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "baseline.library",
                               NAN, NAN,
                               "baseline \"%s\" needs %s, which this device does not offer: %s",
                               job->options.baseline ? job->options.baseline : "", libraries[0],
                               baseline->binary.reason);
        kf_verdict_conclude(*verdict);
        return true;
    }
    for (int i = 0; i < KF_TRUSTED_COUNT; i++) {
        const kf_task_binary *binary = &p->trusted[i].binary;
        if (!binary->reason) continue;
        kf_verdict_add_finding(*verdict, NULL, KF_JUDGE_ERROR,
                               binary->machine ? KF_BLAME_MACHINE : KF_BLAME_TASK, "task.build",
                               NAN, NAN, "the task's own %s", binary->reason);
        kf_verdict_conclude(*verdict);
        return true;
    }
    if (!judge->device->slow_start || kf_prepared_is_built(p)) {
        if (!kf_prepared_await_candidate(p, error)) return false;
        if (!is_measurable(p)) return say_unmeasured(judge, p, &secret, *verdict, error);
    }
    judge_round first = {
        .judge = judge, .job = job, .prepared = p, .secret = &secret, .stop = stop, .more = more};
    if (!judge_undisturbed(&first, verdict, error)) return false;
    if (!job->options.verify || (*verdict)->status != KF_CORRECT) return true;
    kf_auto(kf_verdict) again = new_verdict(judge, job);
    if (!again) return kf_fail_memory(error, "a verdict");
    judge_round second = first;
    second.attempt = 1;
    second.afresh = true;
    second.going = NULL;
    if (!judge_undisturbed(&second, &again, error)) return false;
    again->reverified = agree(*verdict, again);
    if (!again->reverified && again->status == KF_CORRECT &&
        !kf_verdict_add_flag(again, "verify.disagrees:%.4f..%.4f", (*verdict)->speedup.low,
                             (*verdict)->speedup.high))
        return kf_fail_memory(error, "a verdict");
    kf_verdict_free(*verdict);
    *verdict = kf_steal(&again);
    return true;
}

/* True if the device is lost. Findings about a candidate do not count then. */
static bool is_lost(kf_judge *judge, const volatile int *stop, kf_error *error)
{
    const kf_device_operations *device = judge->device->operations;
    return device->lost && device->lost(judge->device, stop, error);
}

/* Adds a flag to a correct verdict of the CPU device, if the host accesses an argument. */
static bool flag_host_access(const kf_judge *judge, const kf_job *job, kf_verdict *verdict,
                             kf_error *error)
{
    kf_scan_flag found;
    if (verdict->status != KF_CORRECT || strcmp(judge->device->operations->kind, "cpu") != 0 ||
        kf_task_is_solution(job->task, job->source))
        return true;
    if (!kf_scan_host_flag(job->source, job->source_size, &found, error)) return false;
    return !found.line ||
           kf_verdict_add_flag(verdict, KF_SCAN_HOST_ACCESS ":%ld:%s", found.line, found.word) ||
           kf_fail_memory(error, "a flag");
}

static kf_verdict *measure(kf_judge *judge, const kf_job *job, kf_prepared *prepared, bool more,
                           const volatile int *stop, const kf_error *unprepared, double started,
                           kf_error *error)
{
    kf_auto(kf_verdict) verdict = new_verdict(judge, job);
    if (!verdict) {
        kf_fail_memory(error, "a verdict");
        return NULL;
    }
    kf_error trouble = {0};
    bool judged = prepared ? judge_job(judge, prepared, more, stop, &verdict, &trouble) &&
                                 kf_judge_sanitize(judge, job, prepared->candidate.binary, verdict,
                                                   stop, &trouble) &&
                                 kf_judge_count(judge, job, prepared->candidate.binary, verdict,
                                                stop, &trouble) &&
                                 kf_judge_kernelbench(judge, job, prepared->candidate.binary,
                                                      verdict, stop, &trouble) &&
                                 flag_host_access(judge, job, verdict, &trouble)
                           : kf_fail_copy(&trouble, unprepared);
    if (!judged) {
        if (trouble.code == KF_ERROR_BUSY) {
            kf_fail_copy(error, &trouble);
            return NULL;
        }
        kf_blame blame = trouble.code == KF_ERROR_INPUT || trouble.code == KF_ERROR_LIMIT
                             ? KF_BLAME_TASK
                             : KF_BLAME_MACHINE;
        kf_verdict_add_finding(verdict, NULL, KF_JUDGE_ERROR, blame, "judge.failed", NAN, NAN, "%s",
                               trouble.text);
        kf_verdict_conclude(verdict);
    }
    /* A scheduler that ends this judge may have ended its children before. */
    if (verdict->status != KF_CORRECT &&
        (kf_verdict_is_fault(verdict) ? own_stop_comes(stop) : stop && *stop)) {
        kf_fail(error, KF_ERROR_BUSY, "interrupted");
        return NULL;
    }
    /* Without a measurement, nothing ran on the device. */
    bool ran = !judged || (kf_prepared_is_built(prepared) && is_measurable(prepared));
    if (ran && verdict->status != KF_CORRECT && is_lost(judge, stop, error)) return NULL;
    verdict->judge_seconds = kf_now() - started;
    return kf_steal(&verdict);
}

kf_verdict *kf_judge_measure(kf_judge *judge, kf_prepared *prepared, bool more,
                             const volatile int *stop, kf_error *error)
{
    return measure(judge, prepared->job, prepared, more, stop, NULL, kf_now(), error);
}

kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stop,
                         kf_error *error)
{
    double started = kf_now();
    kf_error unprepared = {0};
    kf_auto(kf_prepared) prepared = kf_judge_prepare(judge, job, -1, &unprepared);
    return measure(judge, prepared ? prepared->job : job, prepared, false, stop, &unprepared,
                   started, error);
}
