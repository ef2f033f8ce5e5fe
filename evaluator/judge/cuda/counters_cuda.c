/* Counts one call on a GPU. The runner loads CUPTI before it puts on the second system call filter.
 * A runner in Python takes PyTorch's CUPTI, and measures device time only.
 * There are two sets of buffers. A short call gets one warm-up. Then the runner repeats the counted
 * call (evaluator/runner/cupti_counters.c), as often as the call's time allows
 * (kf_counters_passes). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters_cuda.h"
#include "counters_wire.h"
#include "device_cuda.h"
#include "device_work.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "paths.h"
#include "torch_plan.h"

#define SETS 2
/* Environment words of a runner without those for counting. */
#define MOST_WORDS 20
#define MISSING "CUPTI is missing (looked in $KFORGE_CUPTI and the CUDA toolkit)"
#define INSTALL \
    "install the CUPTI of CUDA 13 (package cuda-cupti), or set KFORGE_CUPTI to its libcupti.so"

/* ---- CUPTI ----------------------------------------------------------------------------------- */

bool kf_cupti_find(char path[4096])
{
    char toolkit[4096] = "", tried[4400];
    static const char *const places[] = {"extras/CUPTI/lib64/libcupti.so.13",
                                         "extras/CUPTI/lib64/libcupti.so",
                                         "lib64/libcupti.so.13",
                                         "lib64/libcupti.so",
                                         "lib/libcupti.so.13",
                                         "targets/x86_64-linux/lib/libcupti.so.13"};
    const char *given = getenv("KFORGE_CUPTI");
    if (given && given[0] == '/') return access(given, R_OK) == 0 && realpath(given, path);
    if (!kf_cuda_toolkit(toolkit, NULL)) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(tried, sizeof tried, "%.4000s/%s", toolkit, places[i]);
        if (access(tried, R_OK) == 0 && realpath(tried, path)) return true;
    }
    return false;
}

bool kf_counters_restricted(const char *params)
{
    const char *line = params ? strstr(params, "RmProfilingAdminOnly: ") : NULL;
    return line && line[strlen("RmProfilingAdminOnly: ")] == '1';
}

bool kf_counters_available(char text[512], char remedy[512])
{
    char path[4096];
    remedy[0] = '\0';
    if (!kf_cupti_find(path)) {
        snprintf(text, 512, "no hardware counters: " MISSING);
        snprintf(remedy, 512, INSTALL);
        return false;
    }
    kf_autofree char *params = kf_system_file("/proc/driver/nvidia/params", 1 << 20);
    if (kf_counters_restricted(params) && geteuid() != 0) {
        snprintf(text, 512, "hardware counters are for administrators here (RmProfilingAdminOnly)");
        snprintf(remedy, 512,
                 "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0");
        return false;
    }
    snprintf(text, 512, "hardware counters by %.400s", path);
    return true;
}

/* ---- one runner ------------------------------------------------------------------------------ */

/* The steps, and the names of their times in a verdict ("seconds"). */
enum { LOCK, BUFFERS, RUNNER, LOAD, HAND_OVER, WARM_UP, COUNT, STEPS };
static const char *const step_names[STEPS] = {"lock",      "buffers", "runner", "load",
                                              "hand_over", "warm_up", "count"};

typedef struct counter_run {
    kf_cuda_device *gpu;
    kf_device *device;
    kf_counting *counting;
    char *names;
    kf_sets *sets;
    kf_runner *runner;
    kf_count_records *records;
    /* `since`: kf_now() at the begin of the current step. `took`: seconds of the finished steps. */
    double since, took[STEPS];
    char note[1024];
} counter_run;

static void ended(counter_run *run, int step)
{
    double now = kf_now();
    run->took[step] = now - run->since;
    run->since = now;
}

/* Sets the note about the end of the runner. False if the caller interrupted it. */
static bool explain(counter_run *run, kf_runner_event event, const char *doing, kf_error *error)
{
    kf_runner_explanation why;
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    kf_runner_explain(run->runner, event, doing, &why);
    kf_autofree char *said = kf_runner_output(run->runner, 200);
    snprintf(run->note, sizeof run->note, "%s%s%s", why.text, said ? ": " : "", said ? said : "");
    return true;
}

/* Sets the metrics of the next runners, and whether they sample lines. Ends waiting runners for
 * other requests. */
static bool choose_names(kf_cuda_device *gpu, kf_runner_pool *pool, const char *names, bool lines)
{
    if (gpu->counting.names && strcmp(gpu->counting.names, names) == 0 &&
        gpu->counting.lines == lines)
        return true;
    if (pool) kf_runner_pool_forget(pool, KF_RUNNER_COUNT);
    gpu->counting.lines = lines;
    free(gpu->counting.names);
    return (gpu->counting.names = strdup(names)) != NULL;
}

bool kf_cuda_expect_count(kf_device *device, kf_runner_pool *pool, const char *wanted, bool lines)
{
    char library[4096];
    kf_autofree char *names = kf_counters_names(wanted);
    return names && kf_cupti_find(library) &&
           choose_names((kf_cuda_device *)device, pool, names, lines);
}

/* A solution in Python needs no CUPTI of the toolkit if PyTorch brings its own. */
static void place_python(kf_cuda_device *gpu, kf_runner_place *place)
{
    char library[4096];
    size_t count = 0;
    bool found = kf_cupti_find(library);
    snprintf(gpu->counting.library, sizeof gpu->counting.library, KF_COUNT_LIBRARY "=%s",
             found ? library : "libcupti.so.13");
    for (const char *const *word = place->environment; *word && count < MOST_WORDS; word++)
        gpu->counting.environment[count++] = *word;
    gpu->counting.environment[count++] = gpu->counting.library;
    gpu->counting.environment[count] = NULL;
    place->environment = gpu->counting.environment;
    if (!found || place->path_count >= KF_PLACE_PATHS - 1) return;
    snprintf(gpu->counting.folder, sizeof gpu->counting.folder, "%s", library);
    *strrchr(gpu->counting.folder, '/') = '\0';
    place->paths[place->path_count++] =
        (kf_sandbox_path){gpu->counting.folder, KF_PATH_READ | KF_PATH_EXEC, true};
}

bool kf_cuda_count_place(kf_cuda_device *gpu, kf_runner_place *place, kf_error *error)
{
    char library[4096];
    size_t count = 0;
    if (place->kind == KF_RUNNER_TORCH_COUNT) place_python(gpu, place);
    if (place->kind != KF_RUNNER_COUNT) return true;
    if (!gpu->counting.names || !kf_cupti_find(library))
        return kf_fail(error, KF_ERROR_MACHINE, MISSING);
    snprintf(gpu->counting.library, sizeof gpu->counting.library, KF_COUNT_LIBRARY "=%s", library);
    snprintf(gpu->counting.folder, sizeof gpu->counting.folder, "%s", library);
    *strrchr(gpu->counting.folder, '/') = '\0';
    snprintf(gpu->counting.search, sizeof gpu->counting.search, "LD_LIBRARY_PATH=%s:%s",
             gpu->properties.driver_folder, gpu->counting.folder);
    free(gpu->counting.metrics);
    gpu->counting.metrics = NULL;
    if (asprintf(&gpu->counting.metrics, KF_COUNT_NAMES "=%s", gpu->counting.names) < 0)
        return kf_fail_memory(error, "hardware counters");
    for (const char *const *word = place->environment; *word && count < MOST_WORDS; word++)
        if (strncmp(*word, "LD_LIBRARY_PATH=", 16) != 0) gpu->counting.environment[count++] = *word;
    gpu->counting.environment[count++] = gpu->counting.search;
    gpu->counting.environment[count++] = gpu->counting.library;
    gpu->counting.environment[count++] = gpu->counting.metrics;
    if (gpu->counting.lines) gpu->counting.environment[count++] = KF_COUNT_SAMPLE_LINES "=1";
    gpu->counting.environment[count] = NULL;
    place->environment = gpu->counting.environment;
    if (place->path_count < KF_PLACE_PATHS - 1)
        place->paths[place->path_count++] =
            (kf_sandbox_path){gpu->counting.folder, KF_PATH_READ | KF_PATH_EXEC, true};
    return true;
}

/* Starts a runner in Python, with its device pool and its plan. */
static bool start_python(counter_run *run, kf_error *error)
{
    kf_counting *counting = run->counting;
    const kf_device_operations *device = run->device->operations;
    if (!counting->pool) return kf_fail(error, KF_ERROR_MACHINE, "no runner in Python");
    kf_runner_pool_make_room(counting->pool, KF_TORCH_KEY, counting->strict_sandbox,
                             counting->problem);
    return (run->runner = kf_runner_pool_take(counting->pool, KF_RUNNER_TORCH_COUNT,
                                              counting->strict_sandbox, counting->stop, error)) &&
           kf_torch_give(run->runner, counting->torch, error) &&
           device->python.equip(run->device, run->runner, KF_ROLE_CANDIDATE, counting->problem,
                                SETS, error);
}

static bool start(counter_run *run, kf_error *error)
{
    kf_counting *counting = run->counting;
    if (counting->torch) return start_python(run, error);
    kf_runner_place place;
    if (!choose_names(run->gpu, counting->pool, run->names, counting->lines))
        return kf_fail_memory(error, "hardware counters");
    if (counting->pool)
        return (run->runner =
                    kf_runner_pool_take(counting->pool, KF_RUNNER_COUNT, counting->strict_sandbox,
                                        counting->stop, error)) &&
               kf_runner_give(run->runner, counting->binary, error);
    if (!run->device->operations->place(run->device, KF_RUNNER_COUNT, &place, error)) return false;
    place.paths[place.path_count++] =
        (kf_sandbox_path){counting->binary, KF_PATH_READ | KF_PATH_EXEC, false};
    kf_runner_spec spec = {.program = place.program,
                           .directory = place.directory,
                           .binary = counting->binary,
                           .paths = place.paths,
                           .path_count = place.path_count,
                           .environment = place.environment,
                           .limits = place.limits,
                           .strict = counting->strict_sandbox,
                           .stop = counting->stop};
    return (run->runner = kf_runner_start(&spec, error)) != NULL;
}

static bool fill(counter_run *run, kf_error *error)
{
    const kf_device_operations *device = run->device->operations;
    kf_set_variation variations[SETS];
    uint64_t secrets[2];
    for (int i = 0; i < SETS; i++) variations[i].argument = -1;
    if (!kf_random(secrets, sizeof secrets))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
    run->sets = device->buffers.sets_new(run->device, run->counting->problem, SETS, false, error);
    return run->sets && device->buffers.fill(run->sets, secrets[0], variations, error) &&
           device->buffers.poison(run->sets, KF_ROLE_BASELINE, secrets[1], error);
}

static void drop_sets(counter_run *run)
{
    if (run->sets) run->device->operations->buffers.sets_free(run->sets);
    run->sets = NULL;
}

/* Counts. Sets run->note if the runner fails. False: a fault of the machine or the caller. */
static bool count(counter_run *run, kf_error *error)
{
    uint64_t scalars[KF_MAX_ARGUMENTS];
    uint32_t first = 0, passes = kf_counters_passes(run->counting->call_seconds);
    double seconds = run->counting->seconds;
    if (!fill(run, error)) return false;
    ended(run, BUFFERS);
    if (!start(run, error)) return false;
    ended(run, RUNNER);
    kf_problem_scalars(run->counting->problem, scalars);
    kf_batch warm = {.order = &first, .count = 1, .timeout = seconds};
    kf_runner_event event = kf_runner_load(run->runner, seconds);
    ended(run, LOAD);
    if (event == KF_RUNNER_OK)
        event = kf_runner_scalars(run->runner, scalars,
                                  (uint32_t)run->counting->problem->argument_count);
    if (event == KF_RUNNER_OK)
        event =
            run->device->operations->buffers.hand_over(run->sets, run->runner, KF_ROLE_CANDIDATE);
    ended(run, HAND_OVER);
    /* A solution's first call loads code, and may choose kernels. */
    if (event == KF_RUNNER_OK && (passes > 1 || run->counting->torch))
        event = kf_runner_batch(run->runner, &warm);
    ended(run, WARM_UP);
    if (event != KF_RUNNER_OK) return explain(run, event, "being made ready for counting", error);
    event = kf_runner_count(run->runner, 1, passes, seconds, run->records);
    ended(run, COUNT);
    return event == KF_RUNNER_OK || explain(run, event, "counting", error);
}

static cJSON *conclude_counters(const counter_run *run)
{
    const kf_counters_origin *origin = &run->counting->origin;
    if (run->note[0]) return kf_counters_note(origin, run->note, "");
    const kf_count_header *header = &run->records->header;
    if (header->stage == KF_COUNT_DONE) {
        cJSON *taken = kf_counters_json(origin, run->names, header, run->records->launches);
        cJSON *seconds = cJSON_GetObjectItemCaseSensitive(taken, "seconds");
        for (int step = 0; seconds && step < STEPS; step++)
            kf_json_add_number(seconds, step_names[step], run->took[step]);
        return taken;
    }
    char note[256], remedy[256];
    kf_counters_explain(header, note, remedy);
    return kf_counters_note(origin, note, remedy);
}

static cJSON *conclude(const counter_run *run)
{
    kf_auto(cJSON) counters = conclude_counters(run);
    const kf_count_records *records = run->records;
    bool good = counters &&
                (run->note[0] ||
                 (kf_work_put(counters, &run->counting->origin, &records->header, records->works) &&
                  kf_lines_put(counters, &records->header, records->lines)));
    return good ? kf_steal(&counters) : NULL;
}

cJSON *kf_cuda_count(kf_device *device, kf_counting *counting, kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    char library[4096];
    counting->origin.major = gpu->head.major;
    counting->origin.minor = gpu->head.minor;
    if (!counting->torch && !kf_cupti_find(library))
        return kf_counters_note(&counting->origin, MISSING, INSTALL);
    counter_run run = {.gpu = gpu, .device = device, .counting = counting, .since = kf_now()};
    run.names = kf_counters_names(counting->wanted);
    run.records = calloc(1, sizeof *run.records);
    kf_error trouble = {0};
    cJSON *taken = NULL;
    bool done = run.names && run.records &&
                (!device->operations->reserve ||
                 device->operations->reserve(device, true, counting->stop, &trouble));
    if (done) {
        ended(&run, LOCK);
        done = count(&run, &trouble);
        if (device->operations->reserve) device->operations->reserve(device, false, NULL, NULL);
    }
    if (!done && trouble.code == KF_ERROR_BUSY)
        kf_fail_copy(error, &trouble);
    else if (!done && trouble.code)
        taken = kf_counters_note(&counting->origin, trouble.text, "");
    else if (done)
        taken = conclude(&run);
    if (!taken && trouble.code != KF_ERROR_BUSY) kf_fail_memory(error, "counters");
    bool clean = done && !run.note[0];
    /* The driver frees memory half as fast while it ends a process. */
    if (clean) drop_sets(&run);
    if (counting->pool)
        kf_runner_pool_retire(counting->pool, run.runner, !clean);
    else
        kf_runner_free(run.runner);
    drop_sets(&run);
    free(run.names);
    free(run.records);
    return taken;
}
