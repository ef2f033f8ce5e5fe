/* The CPU device: kforge-cpucc builds, kforge-runner runs, memfds are the buffers (sets_cpu.c). */
#include "device_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_flush.h"
#include "error_codes.h"
#include "jail.h"
#include "kforge/file.h"
#include "kforge/sandbox.h"
#include "paths.h"
#include "python_installation.h"
#include "timing_lock.h"

#define PROBE_BYTES (64u << 20)
#define PROBE_PASSES 3
/* Part of its time: gemv against itself, each with addresses of its own, came out between 0.93
 * and 1.12 */
#define ADDRESS_BIAS 0.05
/* With the same addresses: a module against itself, 37 times, came out between 0.95 and 1.11. */
#define PYTHON_BIAS 0.05
/* The memory of a candidate, without the shared buffers. */
#define RUNNER_MEMORY (2ull << 30)
/* Threads of a runner and of its child processes. Thousands of threads on the judge's processor
 * kept the judge from running for 20 s. */
#define RUNNER_THREADS 500
/* The blocks of a cooperative launch are threads. */
#define THREADS_A_PROCESSOR 32

/* ---- what this machine is -------------------------------------------------------------------- */

static void find_processor(char *text, size_t size, int threads)
{
    kf_autofclose FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256], name[128] = "";
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || (strncmp(line, "model name", 10) != 0 && strncmp(line, "CPU part", 8) != 0))
            continue;
        snprintf(name, sizeof name, "%.100s", colon + 2);
        name[strcspn(name, "\n")] = '\0';
        break;
    }
    snprintf(text, size, "cpu %s, %d thread%s", name[0] ? name : "unknown", threads,
             threads == 1 ? "" : "s");
}

/* ---- memory bandwidth ------------------------------------------------------------------------ */

#define PIECES 64

typedef struct probe {
    const uint64_t *data;
    size_t words;
    /* The result of the reads, one for each piece. Storing it keeps the compiler from dropping the
     * reads. */
    uint64_t sink[PIECES];
} probe;

/* Not instrumented: a sanitizer's check of every load would halve the measured bandwidth, and
 * honest candidates would be called impossible. */
__attribute__((no_sanitize("address", "undefined", "thread"))) static void read_piece(void *context,
                                                                                      size_t piece)
{
    probe *p = context;
    size_t count = p->words / PIECES;
    const uint64_t *data = p->data + piece * count;
    uint64_t lanes[16] = {0};
    for (size_t i = 0; i + 16 <= count; i += 16)
        for (int k = 0; k < 16; k++) lanes[k] ^= data[i + (size_t)k];
    for (int k = 1; k < 16; k++) lanes[0] ^= lanes[k];
    *(volatile uint64_t *)&p->sink[piece] = lanes[0];
}

static void flush_piece(void *context, size_t piece)
{
    probe *p = context;
    size_t count = p->words / PIECES;
    kf_cache_flush(p->data + piece * count, count * sizeof *p->data);
}

/* Takes the best of some passes. A busy machine lowers the figure, and with a low peak an honest
 * candidate would be called impossible. */
static bool measure_bandwidth(kf_cpu_device *cpu, kf_error *error)
{
    void *memory =
        mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory to measure the memory's bandwidth");
    memset(memory, 1, PROBE_BYTES);
    probe p = {.data = memory, .words = PROBE_BYTES / sizeof(uint64_t)};
    for (int pass = 0; pass < PROBE_PASSES; pass++) {
        kf_parallel_for(cpu->parallel, PIECES, flush_piece, &p);
        double started = kf_now();
        kf_parallel_for(cpu->parallel, PIECES, read_piece, &p);
        double rate = PROBE_BYTES / (kf_now() - started);
        if (rate > cpu->read_bytes_per_second) cpu->read_bytes_per_second = rate;
    }
    munmap(memory, PROBE_BYTES);
    return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void cpu_free(kf_device *device)
{
    kf_cpu_device *cpu = (kf_cpu_device *)device;
    if (cpu->lock >= 0) close(cpu->lock);
    kf_cpu_memory_release_all(cpu);
    free(cpu->cache);
    free(cpu);
}

/* Builds and checks may go on in other processes. Only one of them times, because two that time at
 * once share the processors. */
static bool cpu_time_alone(kf_device *device, bool take, const volatile int *stop, kf_error *error)
{
    kf_cpu_device *cpu = (kf_cpu_device *)device;
    if (take == cpu->is_locked) return true;
    if (!take) {
        kf_timing_lock_give_back(cpu->lock);
    } else if ((cpu->lock < 0 && (cpu->lock = kf_timing_lock_open("cpu", error)) < 0) ||
               !kf_timing_lock_take(cpu->lock, stop, error)) {
        return false;
    }
    cpu->is_locked = take;
    return true;
}

static bool cpu_describe(const kf_device *device, cJSON *object)
{
    const kf_cpu_device *cpu = (const kf_cpu_device *)device;
    return cJSON_AddNumberToObject(object, "threads", cpu->threads) &&
           cJSON_AddNumberToObject(object, "read_bytes_per_second", cpu->read_bytes_per_second) &&
           cJSON_AddNumberToObject(object, "memory_bytes", (double)cpu->memory_bytes) &&
           cJSON_AddBoolToObject(object, "same_addresses", kf_sandbox_same_addresses());
}

static bool cpu_build(kf_device *device, const kf_build_request *request, kf_build *build,
                      kf_error *error)
{
    kf_build_request with_cache = *request;
    with_cache.cache = ((const kf_cpu_device *)device)->cache;
    return kf_build_cpu(&with_cache, build, error);
}

static char *cpu_toolchain(const kf_device *device)
{
    static const char *const files[] = {"bin/kforge-cpucc", "lib/kforge/libkfcpu.so"};
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "cpu %s runtime %s", device->compiler, device->runtime);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kf_autofree char *path = kf_path_join(kf_root(), files[i]);
        struct stat status;
        if (path && stat(path, &status) == 0)
            kf_buffer_format(&text, " %s %lld %lld.%09ld", files[i], (long long)status.st_size,
                             (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    }
    return kf_buffer_take(&text);
}

/* Lets Python's heap keep freed memory. All results of a batch are in memory at a time, and a long
 * running program would find used memory, too. */
static bool torch_place(const kf_cpu_device *cpu, kf_runner_kind kind, kf_runner_place *place,
                        kf_error *error)
{
    static char library[4200], script[4300];
    static const char *serve[] = {"-I", script, "serve", NULL},
                      *compile[] = {"-I", script, "serve", "--compile", NULL};
    static const char *const environment[] = {"PATH=/usr/bin:/bin",
                                              "LANG=C.UTF-8",
                                              "HOME=/tmp",
                                              "TMPDIR=/tmp",
                                              "MALLOC_MMAP_MAX_=0",
                                              "MALLOC_TRIM_THRESHOLD_=1099511627776",
                                              "MALLOC_TOP_PAD_=33554432",
                                              KF_PYTHON_VARIABLES,
                                              NULL};
    const kf_python *python = kf_python_find(error);
    kf_autofree char *there =
        python ? kf_root_file("lib/kforge/torch/kforge_torch.py", error) : NULL;
    if (!there) return false;
    snprintf(library, sizeof library, "%s/lib/kforge", kf_root());
    snprintf(script, sizeof script, "%s", there);
    *place = (kf_runner_place){.kind = kind,
                               .program = python->program,
                               .directory = library,
                               .arguments = kind == KF_RUNNER_COMPILED ? compile : serve,
                               .environment = environment,
                               .spare_threads = 2 * cpu->threads,
                               .same_addresses = true};
    kf_jail_system(place->paths, &place->path_count, KF_PLACE_PATHS - 3);
    place->paths[place->path_count++] =
        (kf_sandbox_path){library, KF_PATH_READ | KF_PATH_EXEC, false};
    for (size_t i = 0; i < python->path_count && place->path_count < KF_PLACE_PATHS - 1; i++)
        place->paths[place->path_count++] =
            (kf_sandbox_path){python->paths[i], KF_PATH_READ | KF_PATH_EXEC, true};
    place->limits = (kf_sandbox_limits){
        .memory_bytes =
            cpu->memory_bytes / 2 > RUNNER_MEMORY ? cpu->memory_bytes / 2 : RUNNER_MEMORY,
        .file_bytes = kind == KF_RUNNER_COMPILED ? KF_COMPILED_FILE : 64u << 20,
        .output_bytes = 256u << 10,
        .temporary_bytes = kind == KF_RUNNER_COMPILED ? KF_COMPILED_TEMPORARY : 64u << 20,
    };
    return true;
}

static bool cpu_place(kf_device *device, kf_runner_kind kind, kf_runner_place *place,
                      kf_error *error)
{
    if (kf_runner_is_python(kind))
        return torch_place((const kf_cpu_device *)device, kind, place, error);
    bool asan = kind == KF_RUNNER_ASAN;
    /* Filled once, since the strings have to outlive every runner. */
    static char programs[2][4200], libraries[2][4300];
    static const char *const plain[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp",
                                        "TMPDIR=/tmp", NULL};
    /* A report on standard error and an exit status of its own; leaks are the candidate's business.
     */
    static const char *const sanitized[] = {
        "PATH=/usr/bin:/bin",
        "LANG=C.UTF-8",
        "HOME=/tmp",
        "TMPDIR=/tmp",
        ("ASAN_OPTIONS=detect_leaks=0:exitcode=66:abort_on_error=0:allow_user_segv_handler=0:"
         "symbolize=1:use_sigaltstack=0"),
        NULL};
    kf_autofree char *program =
        kf_root_file(asan ? "bin/kforge-runner-asan" : "bin/kforge-runner", error);
    if (!program) return false;
    snprintf(programs[asan], sizeof programs[asan], "%s", program);
    snprintf(libraries[asan], sizeof libraries[asan], "%s/lib/kforge%s", kf_root(),
             asan ? "" : "/libkfcpu.so");
    *place = (kf_runner_place){.kind = kind,
                               .program = programs[asan],
                               .environment = asan ? sanitized : plain,
                               .at_launcher = !asan,
                               .sealed = !asan,
                               .same_addresses = true};
    if (asan) /* it reads symbols when it reports */
        kf_jail_system(place->paths, &place->path_count, KF_PLACE_PATHS - 3);
    else
        kf_jail_libraries(place->paths, &place->path_count, KF_PLACE_PATHS - 3);
    place->paths[place->path_count++] =
        (kf_sandbox_path){libraries[asan], KF_PATH_READ | KF_PATH_EXEC, false};
    place->paths[place->path_count++] =
        (kf_sandbox_path){programs[asan], KF_PATH_READ | KF_PATH_EXEC, false};
    /* Only if the kernel counts a runner's threads apart from the user's other programs. */
    bool apart = kf_sandbox_available(NULL) & KF_LAYER_USER_NS;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    place->limits = (kf_sandbox_limits){
        .processes = apart ? RUNNER_THREADS +
                                 THREADS_A_PROCESSOR * (processors > 0 ? (uint32_t)processors : 1)
                           : 0,
        .memory_bytes = asan ? 0 : RUNNER_MEMORY, /* AddressSanitizer reserves terabytes */
        .file_bytes = 64u << 20,
        .output_bytes = 256u << 10,
        .temporary_bytes = 64u << 20,
    };
    return true;
}

static double cpu_floor(const kf_device *device, const kf_problem *problem)
{
    const kf_cpu_device *cpu = (const kf_cpu_device *)device;
    /* Only reads count: writes may stay in a cache when the clock stops. */
    double bytes = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind == KF_INPUT || argument->kind == KF_INOUT)
            bytes += (double)argument->bytes;
    }
    if (bytes > problem->work_bytes) bytes = problem->work_bytes;
    return bytes / cpu->read_bytes_per_second;
}

static bool cpu_measure_ceilings(kf_device *device, kf_error *error)
{
    return measure_bandwidth((kf_cpu_device *)device, error);
}

static void cpu_sample(kf_device *device, kf_sample *sample)
{
    (void)device;
    sample->clock_mhz = 0.0 / 0.0;
    sample->throttle = 0;
}

static const kf_device_operations cpu_operations = {
    .kind = "cpu",
    .free = cpu_free,
    .describe = cpu_describe,
    .build = cpu_build,
    .toolchain = cpu_toolchain,
    .place = cpu_place,
    .error_status = kf_cuda_error_status,
    .floor_seconds = cpu_floor,
    .measure_ceilings = cpu_measure_ceilings,
    .sample = cpu_sample,
    .time_alone = cpu_time_alone,
    .buffers.sets_new = kf_cpu_sets_new,
    .buffers.sets_free = kf_cpu_sets_free,
    .buffers.hand_over = kf_cpu_hand_over,
    .buffers.turn_to = kf_cpu_turn_to,
    .buffers.fill = kf_cpu_fill,
    .buffers.poison = kf_cpu_poison,
    .buffers.cache_flush = kf_cpu_cache_flush,
    .buffers.inspect = kf_cpu_inspect,
    .python.fetch = kf_cpu_fetch,
    .buffers.prepare_truth = kf_cpu_prepare_truth,
    .buffers.inspect_truth = kf_cpu_inspect_truth,
    .buffers.output = kf_cpu_output,
    .buffers.truth = kf_cpu_truth,
    .buffers.input = kf_cpu_input,
    .buffers.copy_input = kf_cpu_copy_input,
    .buffers.read_part = kf_cpu_read_part,
    .buffers.write_part = kf_cpu_write_part,
    .buffers.accept_input = kf_cpu_accept_input,
    .buffers.nudge_input = kf_cpu_nudge_input,
    .buffers.nudges_inouts = true,
    .buffers.poison_read = kf_cpu_poison_read,
};

kf_device *kf_device_cpu_open(kf_parallel *parallel, const char *cache, kf_error *error)
{
    static const char *const files[] = {
        "bin/kforge-cpucc",
        "bin/kforge-runner"}; /* without them every verdict would be judge_error */
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kf_autofree char *path = kf_root_file(files[i], error);
        if (!path) return NULL;
    }
    kf_cpu_device *cpu = calloc(1, sizeof *cpu);
    if (!cpu || (cache && !(cpu->cache = strdup(cache)))) {
        free(cpu);
        kf_fail_memory(error, "a device");
        return NULL;
    }
    cpu->parallel = parallel;
    cpu->lock = -1;
    cpu->head.operations = &cpu_operations;
    cpu->threads = kf_parallel_threads(cpu->parallel);
    cpu->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    cpu->head.default_seconds = 0.9;
    cpu->head.batch_seconds = 0.02;
    cpu->head.calls_block = true;
    cpu->head.most_sets = 256;
    cpu->head.process_bias = kf_sandbox_same_addresses() ? 0 : ADDRESS_BIAS;
    cpu->head.python_process_bias = PYTHON_BIAS;
    /* The machine may have been busy when the peak was measured. */
    cpu->head.floor_margin = 0.5;
    cpu->head.set_bytes = cpu->memory_bytes / 16 < 256u << 20 ? cpu->memory_bytes / 16 : 256u << 20;
    snprintf(cpu->head.name, sizeof cpu->head.name, "cpu");
    find_processor(cpu->head.hardware, sizeof cpu->head.hardware, cpu->threads);
    kf_autofree char *driver = kf_root_file("bin/kforge-cpucc", error);
    kf_compiler_find(driver, "g++", cpu->head.compiler);
    if (!kf_runtime_hash(cpu->head.runtime, sizeof cpu->head.runtime, error) ||
        !measure_bandwidth(cpu, error)) {
        cpu_free(&cpu->head);
        return NULL;
    }
    return &cpu->head;
}
