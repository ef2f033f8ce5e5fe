/* Opens, describes and reserves one GPU, and has the table of its operations. device_cuda.h lists
 * the other files of the device.
 *
 * The judge keeps one context and one stream for its whole life. Every operation waits for its own
 * work, so that the judge has no work on the GPU while a batch is timed. */
#include "device_cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buffers_cuda.h"
#include "cuda_calls.h"
#include "device_pool_cuda.h"
#include "counters_cuda.h"
#include "driver_watch.h"
#include "error_codes.h"
#include "jail.h"
#include "kernels_build.h"
#include "kforge/file.h"
#include "kforge/gpu.h"
#include "paths.h"
#include "python_installation.h"
#include "cgroup_cpu_limit.h"
#include "timing_lock.h"

/* The numbers of a context's channels to the GPU, for kernels and for copies. Fewer channels make a
 * context quicker to create and to destroy: 113 and 49 ms on an H200 with the default of 8 each, 85
 * and 36 ms with one for copies, 51 and 20 ms with one each. Kernels in more than four streams of a
 * candidate may wait for each other. */
#define QUEUES "CUDA_DEVICE_MAX_CONNECTIONS=4", "CUDA_DEVICE_MAX_COPY_CONNECTIONS=1"
/* The least processors of a control group for the idle guard. */
#define PLENTY 4.0
/* Only if no GPU is there. Another fault of a GPU has its own remedy. */
#define WITHOUT_GPU "; --device cpu judges without a GPU"
/* The host memory of a candidate. */
#define RUNNER_MEMORY (8ull << 30)
/* Threads that the driver starts later. The runner makes the driver start all threads before it
 * loads a candidate. With host functions, callbacks, asynchronous allocation, graphs and
 * cooperative launches an H100 with driver 580 started no thread later (tests/honest). */
#define SPARE_THREADS 0
/* PyTorch loads cuBLAS and cuDNN when they are first needed. */
#define PYTHON_SPARE_THREADS 8
/* A module makes its constants on the host first. */
#define PYTHON_MEMORY (32ull << 30)
/* Blank runners in Python. Each has a context of half a gigabyte. */
#define MAX_SPARES 6
/* The device memory for each of them. */
#define SPARE_BYTES (8ull << 30)

/* ---- operations ------------------------------------------------------------------------------ */

static void cuda_free(kf_device *device)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    const kf_cuda *cuda = &gpu->cuda;
    kf_cuda_scratch *rooms[] = {&gpu->tasks, &gpu->results, &gpu->snapshots, &gpu->flush,
                                &gpu->settle.memory};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        if (rooms[i]->pointer && !gpu->lost) cuda->release(rooms[i]->pointer);
    if (!gpu->lost) kf_cuda_memory_settle_end(gpu);
    if (!gpu->lost) kf_cuda_occupy_close(gpu);
    if (gpu->module && !gpu->lost) cuda->module_unload(gpu->module);
    if (gpu->stream && !gpu->lost) cuda->stream_destroy(gpu->stream);
    if (gpu->context && !gpu->lost) cuda->context_release(gpu->device);
    kf_nvml_close(gpu->nvml);
    if (gpu->lock >= 0) close(gpu->lock);
    kf_cpu_idle_guard_free(gpu->launcher.idle_guard);
    free(gpu->cache);
    free(gpu->counting.names);
    free(gpu->counting.metrics);
    free(gpu);
}

/* Returns the nominal peak rate of the fastest units, in operations a second. */
static double peak_flops(const kf_cuda_device *gpu, bool bytes8)
{
    double per_clock = gpu->head.major >= 10                          ? 8192
                       : gpu->head.major == 9                         ? 4096
                       : gpu->head.major == 8 && gpu->head.minor == 0 ? 2048
                                                                      : 1024;
    return per_clock * (bytes8 ? 2 : 1) * gpu->properties.multiprocessors *
           gpu->properties.clock_khz * 1e3;
}

static bool cuda_describe(const kf_device *device, cJSON *object)
{
    const kf_cuda_device *gpu = (const kf_cuda_device *)device;
    char capability[32], version[32];
    snprintf(capability, sizeof capability, "%d.%d", gpu->head.major, gpu->head.minor);
    snprintf(version, sizeof version, "%d.%d", gpu->properties.driver_version / 1000,
             gpu->properties.driver_version % 1000 / 10);
    return cJSON_AddStringToObject(object, "uuid", gpu->properties.uuid) &&
           cJSON_AddStringToObject(object, "compute_capability", capability) &&
           cJSON_AddStringToObject(object, "driver", gpu->properties.driver) &&
           cJSON_AddStringToObject(object, "driver_cuda", version) &&
           cJSON_AddStringToObject(object, "nvrtc", kf_nvrtc_version()) &&
           cJSON_AddNumberToObject(object, "multiprocessors", gpu->properties.multiprocessors) &&
           cJSON_AddNumberToObject(object, "l2_bytes", (double)gpu->properties.l2_bytes) &&
           cJSON_AddNumberToObject(object, "memory_bytes", (double)gpu->properties.memory_bytes) &&
           cJSON_AddNumberToObject(object, "copy_bytes_per_second", gpu->bandwidth.copy) &&
           cJSON_AddNumberToObject(object, "read_bytes_per_second", gpu->bandwidth.read) &&
           cJSON_AddNumberToObject(object, "peak_flops_per_second", peak_flops(gpu, false)) &&
           cJSON_AddNumberToObject(object, "least_call_seconds", gpu->head.least_call) &&
           (!gpu->launcher.known || cJSON_AddNumberToObject(object, "launching_processor",
                                                            gpu->launcher.processors.processor));
}

static bool cuda_build(kf_device *device, const kf_build_request *request, kf_build *build,
                       kf_error *error)
{
    return kf_build_cuda((const kf_cuda_device *)device, request, build, error);
}

static char *cuda_toolchain(const kf_device *device)
{
    return kf_cuda_toolchain((const kf_cuda_device *)device);
}

static void add_path(kf_runner_place *place, const char *path, int access, bool optional)
{
    if (place->path_count < KF_PLACE_PATHS - 1)
        place->paths[place->path_count++] = (kf_sandbox_path){path, access, optional};
}

/* Changes `place` for PyTorch on a GPU. libkftorch.so gives PyTorch's allocator the judge's memory
 * (device_pool_cuda.c). PyTorch's processor threads have no work, so one is enough. */
static void place_python(kf_cuda_device *gpu, const kf_python *python, kf_runner_kind kind,
                         kf_runner_place *place)
{
    static const char *const variables[] = {"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
                                            "OPENBLAS_NUM_THREADS=1", KF_PYTHON_VARIABLES};
    size_t count = 0;
    while (gpu->place.environment[count]) count++;
    snprintf(gpu->place.preload, sizeof gpu->place.preload, "LD_PRELOAD=%s/libkftorch.so",
             gpu->place.directory);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        gpu->place.environment[count++] = variables[i];
    gpu->place.environment[count++] = gpu->place.preload;
    snprintf(gpu->place.compiling, sizeof gpu->place.compiling, "TRITON_LIBCUDA_PATH=%s",
             gpu->properties.driver_folder);
    /* Triton needs this variable even for kernels that it has compiled already. */
    gpu->place.environment[count++] = gpu->place.compiling;
    gpu->place.environment[count] = NULL;
    const char *const arguments[] = {
        "-I", gpu->place.script, "serve", "--cuda", kind == KF_RUNNER_COMPILED ? "--compile" : NULL,
        NULL};
    memcpy(gpu->place.arguments, arguments, sizeof arguments);
    place->program = python->program;
    place->arguments = gpu->place.arguments;
    place->spare_threads = PYTHON_SPARE_THREADS;
}

/* Lists the paths that the driver needs: its libraries, /sys and the device nodes. Each path was
 * tested by leaving it out. The sandbox has a /proc of its own. */
static bool cuda_place(kf_device *device, kf_runner_kind kind, kf_runner_place *place,
                       kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                        "/dev/nvidia-uvm-tools", "/dev/nvidia-caps"};
    if (kind == KF_RUNNER_ASAN)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "AddressSanitizer needs device cpu; on a GPU use compute-sanitizer (--sanitize)");
    const kf_python *python = NULL;
    if (kf_runner_is_python(kind) && !(python = kf_python_find(error))) return false;
    kf_autofree char *found =
        kf_root_file(python ? "lib/kforge/torch/kforge_torch.py" : "bin/kforge-runner-cuda", error);
    if (!found) return false;
    snprintf(python ? gpu->place.script : gpu->place.program, sizeof gpu->place.program, "%s",
             found);
    snprintf(gpu->place.directory, sizeof gpu->place.directory, "%s/lib/kforge", kf_root());
    snprintf(gpu->place.visible, sizeof gpu->place.visible, "CUDA_VISIBLE_DEVICES=%s",
             gpu->properties.uuid);
    snprintf(gpu->place.libraries, sizeof gpu->place.libraries, "LD_LIBRARY_PATH=%s",
             gpu->properties.driver_folder);
    const char *const environment[] = {"PATH=/usr/bin:/bin",
                                       "LANG=C.UTF-8",
                                       "HOME=/tmp",
                                       "TMPDIR=/tmp",
                                       gpu->place.visible,
                                       "CUDA_CACHE_DISABLE=1",
                                       gpu->place.libraries,
                                       QUEUES,
                                       NULL};
    memcpy(gpu->place.environment, environment, sizeof environment);
    *place = (kf_runner_place){.kind = kind,
                               .program = gpu->place.program,
                               .directory = gpu->place.directory,
                               .environment = gpu->place.environment,
                               .idle_guard = gpu->launcher.idle_guard,
                               .launcher =
                                   gpu->launcher.known ? &gpu->launcher.processors.launcher : NULL,
                               .spare_threads = SPARE_THREADS,
                               .hidable = kind == KF_RUNNER_PLAIN};
    if (python) place_python(gpu, python, kind, place);
    kf_jail_system(place->paths, &place->path_count, KF_PLACE_PATHS - 12);
    add_path(place, gpu->place.directory, KF_PATH_READ | KF_PATH_EXEC, false);
    if (!python) add_path(place, gpu->place.program, KF_PATH_READ | KF_PATH_EXEC, false);
    add_path(place, gpu->properties.driver_folder, KF_PATH_READ | KF_PATH_EXEC, true);
    add_path(place, "/opt", KF_PATH_READ | KF_PATH_EXEC, true);
    add_path(place, "/sys", KF_PATH_READ, true);
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        add_path(place, nodes[i], KF_PATH_READ | KF_PATH_WRITE | KF_PATH_DEVICE, true);
    int minor = kf_nvml_minor(gpu->nvml);
    snprintf(gpu->place.node, sizeof gpu->place.node, "/dev/nvidia%d",
             minor >= 0 ? minor : gpu->properties.ordinal);
    if (access(gpu->place.node, F_OK) != 0)
        return kf_fail(
            error, KF_ERROR_MACHINE,
            "%s: the device file %s is missing; give it to this container (--gpus, --device)",
            gpu->head.name, gpu->place.node);
    add_path(place, gpu->place.node, KF_PATH_READ | KF_PATH_WRITE | KF_PATH_DEVICE, false);
    for (size_t i = 0; python && i < python->path_count; i++)
        if (strncmp(python->paths[i], "/opt/", 5) != 0)
            add_path(place, python->paths[i], KF_PATH_READ | KF_PATH_EXEC, true);
    place->limits = (kf_sandbox_limits){
        .memory_bytes = python ? PYTHON_MEMORY : RUNNER_MEMORY,
        .file_bytes = kind == KF_RUNNER_COMPILED ? KF_COMPILED_FILE : 64u << 20,
        .output_bytes = 256u << 10,
        .temporary_bytes = kind == KF_RUNNER_COMPILED ? KF_COMPILED_TEMPORARY : 64u << 20};
    return kf_cuda_count_place(gpu, place, error);
}

/* Returns the least time of memory and arithmetic. Memory: all inputs, and the outputs beyond the
 * size of the L2 cache. Arithmetic: the peak rate of the fastest units, for every type, since a
 * candidate may compute an f32 product with tensor operations. */
static double cuda_floor(const kf_device *device, const kf_problem *problem)
{
    const kf_cuda_device *gpu = (const kf_cuda_device *)device;
    double reads = 0, writes = 0;
    bool bytes8 = false;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *a = &problem->arguments[i];
        if (a->kind == KF_INPUT || a->kind == KF_INOUT) reads += (double)a->bytes;
        if (a->kind == KF_OUTPUT || a->kind == KF_INOUT) writes += (double)a->bytes;
        if (a->kind != KF_SCALAR && kf_dtype_size(a->dtype) == 1) bytes8 = true;
    }
    writes =
        writes > (double)gpu->properties.l2_bytes ? writes - (double)gpu->properties.l2_bytes : 0;
    double bytes = reads + writes < problem->work_bytes ? reads + writes : problem->work_bytes;
    double flops = peak_flops(gpu, bytes8);
    double best = fmax(gpu->bandwidth.copy, gpu->bandwidth.read);
    double memory_time = bytes / best, arithmetic_time = problem->work_flops / flops;
    return memory_time > arithmetic_time ? memory_time : arithmetic_time;
}

static void cuda_sample(kf_device *device, kf_sample *sample)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    sample->clock_mhz = kf_nvml_clock_mhz(gpu->nvml);
    sample->throttle = kf_nvml_throttle(gpu->nvml);
}

/* ---- one process at a time ------------------------------------------------------------------- */

/* Keeps this thread off the processors that runners launch from, while it times runners. */
static void keep_off_launchers(kf_cuda_device *gpu)
{
    cpu_set_t others;
    if (!gpu->launcher.known || gpu->launcher.moved ||
        !kf_launch_cpu_others(&gpu->launcher.processors, &others))
        return;
    gpu->launcher.moved =
        sched_getaffinity(0, sizeof gpu->launcher.before, &gpu->launcher.before) == 0 &&
        sched_setaffinity(0, sizeof others, &others) == 0;
}

static bool cuda_reserve(kf_device *device, bool take, const volatile int *stop, kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    if (take) {
        if (gpu->lock < 0 && (gpu->lock = kf_timing_lock_open(gpu->properties.uuid, error)) < 0)
            return false;
        if (!kf_timing_lock_take(gpu->lock, stop, error)) return false;
        kf_cpu_idle_guard_begin(gpu->launcher.idle_guard);
        keep_off_launchers(gpu);
        return true;
    }
    kf_cpu_idle_guard_end(gpu->launcher.idle_guard);
    if (gpu->launcher.moved)
        sched_setaffinity(0, sizeof gpu->launcher.before, &gpu->launcher.before);
    gpu->launcher.moved = false;
    if (gpu->lock >= 0) kf_timing_lock_give_back(gpu->lock);
    return true;
}

/* True if the GPU is lost. An error in a candidate's context does not reach the judge's context, so
 * the judge's context shows if the GPU still works. No claim of a runner counts. An uncorrectable
 * memory error may end only the runner that met it, but the driver counts these errors. */
static bool cuda_lost(kf_device *device, const volatile int *stop, kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    const kf_cuda *cuda = &gpu->cuda;
    char words[256] = "";
    if (!cuda_reserve(device, true, stop, NULL)) return false;
    cu_result result = cuda->context_set(gpu->context);
    if (result == CU_SUCCESS) result = cuda->set_bytes(gpu->results.pointer, 0, 4, gpu->stream);
    if (result == CU_SUCCESS) result = cuda->stream_synchronize(gpu->stream);
    cuda_reserve(device, false, NULL, NULL);
    if (result != CU_SUCCESS)
        kf_cuda_describe(cuda, result, words, sizeof words);
    else if (kf_nvml_is_lost(gpu->nvml))
        snprintf(words, sizeof words, "NVML does not find it any more");
    else if (kf_nvml_broken_words(gpu->nvml) > gpu->broken_words)
        snprintf(words, sizeof words, "its memory had an uncorrectable error");
    else
        return false;
    gpu->lost = true;
    kf_fail(error, KF_ERROR_MACHINE,
            "%s was lost: %s; look for Xid errors in dmesg, and check if nvidia-smi still shows it",
            gpu->head.name, words);
    return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const kf_device_operations cuda_operations = {
    .kind = "cuda",
    .free = cuda_free,
    .describe = cuda_describe,
    .build = cuda_build,
    .toolchain = cuda_toolchain,
    .place = cuda_place,
    .error_status = kf_cuda_error_status,
    .floor_seconds = cuda_floor,
    .measure_ceilings = kf_cuda_measure_ceilings,
    .reserve = cuda_reserve,
    .expect_count = kf_cuda_expect_count,
    .count = kf_cuda_count,
    .sample = cuda_sample,
    .lost = cuda_lost,
    .buffers.sets_new = kf_cuda_sets_new,
    .buffers.sets_free = kf_cuda_sets_free,
    .buffers.memory = kf_cuda_memory_info,
    .buffers.turn_to = kf_cuda_turn_to,
    .buffers.sides_share = kf_cuda_sides_share,
    .python.least_sets = kf_cuda_least_sets,
    .buffers.hand_over = kf_cuda_hand_over,
    .buffers.fill = kf_cuda_fill,
    .buffers.poison = kf_cuda_poison,
    .buffers.cache_flush = kf_cuda_cache_flush,
    .buffers.occupy = kf_cuda_occupy,
    .buffers.withhold = kf_cuda_withhold,
    .buffers.vacate = kf_cuda_vacate,
    .buffers.interruption = kf_cuda_interruption,
    .memory_settle = kf_cuda_memory_settle,
    .buffers.inspect = kf_cuda_inspect,
    .buffers.snapshot = kf_cuda_output_snapshot,
    .buffers.settled = kf_cuda_settled,
    .buffers.device_compare = kf_cuda_device_compare,
    .buffers.prepare_truth = kf_cuda_prepare_truth,
    .buffers.output = kf_cuda_output,
    .buffers.truth = kf_cuda_truth,
    .buffers.input = kf_cuda_input,
    .buffers.copy_input = kf_cuda_copy_input,
    .buffers.make_fresh = kf_cuda_make_fresh,
    .buffers.nudge_input = kf_cuda_nudge_input,
    .buffers.poison_read = kf_cuda_poison_read,
    .python.equip = kf_cuda_equip,
    .python.suits = kf_cuda_suits,
    .python.is_short = kf_cuda_is_short,
    .buffers.truth_room = kf_cuda_truth_room,
    .python.fetch = kf_cuda_fetch,
    .python.hold_results = kf_cuda_hold_results,
    .order.hold = kf_cuda_hold,
    .order.cached = kf_cuda_cached,
    .order.release = kf_cuda_release,
    .order.take_samples = kf_cuda_take_samples,
    .order.check_samples = kf_cuda_check_samples,
    .order.gate_seconds = kf_cuda_gate_seconds,
};

static void write_uuid(const cu_uuid *uuid, char *text, size_t size)
{
    char hex[33];
    for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", uuid->bytes[i]);
    snprintf(text, size, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
}

/* Returns the first GPU on which no other judge times; 0 without one. */
static int first_free(const kf_cuda *cuda, int count)
{
    for (int ordinal = 0; ordinal < count; ordinal++) {
        cu_device device;
        cu_uuid uuid;
        char name[48];
        if (cuda->device_get(&device, ordinal) != CU_SUCCESS ||
            cuda->device_uuid(&uuid, device) != CU_SUCCESS)
            continue;
        write_uuid(&uuid, name, sizeof name);
        int lock = kf_timing_lock_open(name, NULL);
        bool free_now = lock >= 0 && kf_timing_lock_is_free(lock);
        if (lock >= 0) close(lock);
        if (free_now) return ordinal;
    }
    return 0;
}

static bool identify(kf_cuda_device *gpu, kf_error *error)
{
    const kf_cuda *cuda = &gpu->cuda;
    int l2 = 0, vmm = 0, posix = 0;
    cu_uuid uuid;
    struct {
        int attribute, *value;
    } attributes[] = {
        {CU_ATTRIBUTE_MAJOR, &gpu->head.major},
        {CU_ATTRIBUTE_MINOR, &gpu->head.minor},
        {CU_ATTRIBUTE_MULTIPROCESSORS, &gpu->properties.multiprocessors},
        {CU_ATTRIBUTE_CLOCK_KHZ, &gpu->properties.clock_khz},
        {CU_ATTRIBUTE_L2_BYTES, &l2},
        {CU_ATTRIBUTE_VMM, &vmm},
        {CU_ATTRIBUTE_POSIX_HANDLES, &posix},
    };
    if (!kf_cuda_check(gpu, cuda->device_get(&gpu->device, gpu->properties.ordinal), "finding it",
                       error) ||
        !kf_cuda_check(
            gpu, cuda->device_name(gpu->head.hardware, sizeof gpu->head.hardware, gpu->device),
            "its name", error) ||
        !kf_cuda_check(gpu, cuda->device_uuid(&uuid, gpu->device), "its UUID", error) ||
        !kf_cuda_check(gpu, cuda->version(&gpu->properties.driver_version), "the driver's version",
                       error))
        return false;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (!kf_cuda_check(
                gpu,
                cuda->device_attribute(attributes[i].value, attributes[i].attribute, gpu->device),
                "its properties", error))
            return false;
    gpu->properties.l2_bytes = (size_t)l2;
    write_uuid(&uuid, gpu->properties.uuid, sizeof gpu->properties.uuid);
    if (gpu->head.major < KF_GPU_MIN_MAJOR || !vmm || !posix)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "%s, %s: compute capability %d.%d%s; kforge needs 7.0 or later with buffers "
                       "shared by file descriptor",
                       gpu->head.name, gpu->head.hardware, gpu->head.major, gpu->head.minor,
                       vmm && posix ? "" : ", no shareable virtual memory");
    kf_cuda_compiler(gpu->head.compiler);
    /* nvcc links its runtime library, which needs a driver of its major version. Without nvcc the
     * device can still judge Python. */
    int nvcc = 0, nvcc_minor = 0, driver = gpu->properties.driver_version / 1000;
    if (sscanf(gpu->head.compiler, "nvcc %d.%d", &nvcc, &nvcc_minor) == 2 && nvcc > driver)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "%s: the driver is for CUDA %d.%d, nvcc is %d.%d; update the driver, or "
                       "point CUDA_HOME to a toolkit of CUDA %d",
                       gpu->head.name, driver, gpu->properties.driver_version % 1000 / 10, nvcc,
                       nvcc_minor, driver);
    /* Instructions of a single generation (wgmma, setmaxnreg) need the "a" target. */
    snprintf(gpu->properties.architecture, sizeof gpu->properties.architecture, "%d%d%s",
             gpu->head.major, gpu->head.minor, gpu->head.major >= 9 ? "a" : "");
    return true;
}

static bool load_kernels(kf_cuda_device *gpu, kf_error *error)
{
    static const char *const names[KF_KERNEL_COUNT] = {
        "kf_fill",   "kf_fill_quick",     "kf_fill_special", "kf_poison", "kf_check",
        "kf_digest", "kf_device_compare", "kf_snapshot",     "kf_occupy", "kf_withhold",
        "kf_reveal", "kf_read",           "kf_copy",         "kf_cached", "kf_gather"};
    size_t size;
    kf_autofree char *image =
        kf_kernels_image(gpu->cache, gpu->head.major, gpu->head.minor, &size, error);
    cu_result loaded = image ? gpu->cuda.module_load(&gpu->module, image) : CU_SUCCESS;
    int nvrtc = atoi(kf_nvrtc_version()), driver = gpu->properties.driver_version / 1000;
    if (loaded != CU_SUCCESS && nvrtc > driver) {
        char words[256];
        kf_cuda_describe(&gpu->cuda, loaded, words, sizeof words);
        return kf_fail(error, KF_ERROR_MACHINE,
                       "%s, loading the judge's kernels: %s: NVRTC %s made them, the driver is for "
                       "CUDA %d.%d; update the driver, or point "
                       "CUDA_HOME and LD_LIBRARY_PATH to a toolkit of CUDA %d",
                       gpu->head.name, words, kf_nvrtc_version(), driver,
                       gpu->properties.driver_version % 1000 / 10, driver);
    }
    if (!image || !kf_cuda_check(gpu, loaded, "loading the judge's kernels", error)) return false;
    for (int i = 0; i < KF_KERNEL_COUNT; i++)
        if (!kf_cuda_check(gpu, gpu->cuda.module_function(&gpu->kernels[i], gpu->module, names[i]),
                           names[i], error))
            return false;
    return true;
}

static bool start(kf_cuda_device *gpu, kf_error *error)
{
    cu_allocation allocation = {.type = CU_ALLOCATION_PINNED,
                                .handle_types = CU_HANDLE_POSIX,
                                .location = {.type = CU_LOCATION_DEVICE, .id = gpu->device}};
    uint64_t free_bytes = 0, total = 0;
    const kf_cuda *cuda = &gpu->cuda;
    cuda->context_flags(gpu->device, CU_SCHEDULE_SPIN);
    if (!kf_cuda_check(gpu, cuda->context_retain(&gpu->context, gpu->device), "making a context",
                       error) ||
        !kf_cuda_check(gpu, cuda->context_set(gpu->context), "the context", error) ||
        !kf_cuda_check(gpu, cuda->stream_create(&gpu->stream, CU_STREAM_NON_BLOCKING),
                       "making a stream", error) ||
        !kf_cuda_check(gpu, cuda->granularity(&gpu->properties.granule, &allocation, 0),
                       "the size of pages", error) ||
        !load_kernels(gpu, error) || !kf_cuda_scratch_need(gpu, &gpu->tasks, 1, error) ||
        !kf_cuda_scratch_need(gpu, &gpu->results, 1, error) ||
        !kf_cuda_scratch_need(gpu, &gpu->snapshots, 1, error) || !kf_cuda_occupy_open(gpu, error) ||
        !kf_cuda_scratch_need(gpu, &gpu->flush, 2 * gpu->properties.l2_bytes, error) ||
        !kf_cuda_check(gpu,
                       cuda->set_bytes(gpu->flush.pointer, 0x5a, gpu->flush.bytes, gpu->stream),
                       "memory to flush with", error) ||
        !kf_cuda_memory_info(&gpu->head, &free_bytes, &total, error) ||
        !kf_cuda_memory_settle_begin(gpu, total, error) || !kf_cuda_ceilings(gpu, error) ||
        !kf_cuda_device_compare_begin(gpu, error))
        return false;
    gpu->properties.memory_bytes = total;
    gpu->properties.others_bytes = kf_cuda_others_bytes(total, free_bytes);
    gpu->head.python_spares = total / SPARE_BYTES < MAX_SPARES ? total / SPARE_BYTES : MAX_SPARES;
    /* The truth in float64, and the memory that candidates allocate, come on top. */
    gpu->head.set_bytes = free_bytes / 5 < 12ull << 30 ? free_bytes / 5 : 12ull << 30;
    return true;
}

static void choose(kf_cuda_device *gpu, int ordinal, int count)
{
    gpu->properties.ordinal = ordinal < 0 ? first_free(&gpu->cuda, count) : ordinal;
    snprintf(gpu->head.name, sizeof gpu->head.name, "cuda:%d", gpu->properties.ordinal);
}

/* Opens NVML for the device. The driver gives a MIG instance a UUID like that of a GPU. NVML and
 * CUDA_VISIBLE_DEVICES need the prefix "MIG-" for it. */
static void open_nvml(kf_cuda_device *gpu)
{
    char instance[sizeof gpu->properties.uuid];
    snprintf(instance, sizeof instance, "MIG-%.40s", gpu->properties.uuid + strlen("GPU-"));
    if (!(gpu->nvml = kf_nvml_open(gpu->properties.uuid)) && (gpu->nvml = kf_nvml_open(instance)))
        snprintf(gpu->properties.uuid, sizeof gpu->properties.uuid, "%s", instance);
    gpu->broken_words = kf_nvml_broken_words(gpu->nvml);
}

/* Chooses the processors that runners launch from. Instances of one GPU (MIG) share their
 * processors, and it is unknown which instances are in use, so an instance gets no processor. */
static void choose_launcher(kf_cuda_device *gpu)
{
    cpu_set_t allowed;
    kf_gpu_place places[KF_LAUNCH_CPU_GPUS];
    size_t which, gpus = kf_nvml_places(gpu->nvml, places, KF_LAUNCH_CPU_GPUS, &which);
    gpu->launcher.known = gpus && gpus <= KF_LAUNCH_CPU_GPUS &&
                          strncmp(gpu->properties.uuid, "MIG-", 4) != 0 &&
                          sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
                          kf_launch_cpu_assign(&allowed, places, gpus, which, kf_core_of_system,
                                               &gpu->launcher.processors);
    gpu->head.keep_off = gpu->launcher.known ? &gpu->launcher.processors : NULL;
    /* The idle guard computes all the time. In a small control group it would take most of the
     * processor time. */
    bool plenty = kf_cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup") >= PLENTY;
    gpu->launcher.idle_guard = kf_cpu_idle_guard_new(
        gpu->launcher.known && plenty ? gpu->launcher.processors.processor : -1);
}

kf_device *kf_device_cuda_open(int ordinal, const char *cache, kf_error *error)
{
    kf_cuda_device *gpu = calloc(1, sizeof *gpu);
    char words[512];
    int count = 0;
    if (!gpu || (cache && !(gpu->cache = strdup(cache)))) {
        free(gpu);
        kf_fail_memory(error, "a device");
        return NULL;
    }
    gpu->lock = -1;
    gpu->head.operations = &cuda_operations;
    gpu->head.default_seconds = 3;
    /* 12 times an empty batch. If the interval is too wide, more pairs follow. */
    gpu->head.batch_seconds = 0.002;
    gpu->head.slow_start = true;
    /* Equal kernels in two processes on an H100 took 3.0 and 3.8 us a call, for the whole life of
     * the processes (docs/results/README.md). */
    gpu->head.launch_bound = 10e-6;
    gpu->head.launch_bias = 0.8e-6;
    gpu->head.batch_bias = 5e-6;
    /* 30 modules against themselves on an H200 were 29 us apart in the median
     * (docs/results/README.md). */
    gpu->head.python_bias = 30e-6;
    /* Eager PyTorch took 56 to 324 us more when it alternated with a kernel in CUDA C than alone,
     * for 11 of 12 kernels on two hosts with an H200 (docs/results/README.md). Its thread was not
     * bound to a processor then. */
    gpu->head.python_cold = 300e-6;
    gpu->head.most_sets = 1024; /* KF_WIRE_MAX_SETS */
    gpu->head.floor_margin = 0.9;
    snprintf(gpu->head.name, sizeof gpu->head.name, ordinal < 0 ? "cuda" : "cuda:%d", ordinal);
    /* The driver would load a kernel at its first launch, and wait for kf_occupy then. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (!kf_cuda_load_watched(&gpu->cuda, words, sizeof words)) {
        char why[512];
        char *todo = gpu->cuda.library && kf_gpu_without_instance(why, sizeof why)
                         ? strstr(words, "; ")
                         : NULL;
        if (todo) *todo = '\0';
        kf_fail(error, KF_ERROR_MACHINE, "%s: %s%s%s" WITHOUT_GPU, gpu->head.name, words,
                todo ? ": " : "", todo ? why : "");
    } else if (gpu->cuda.device_count(&count) != CU_SUCCESS || ordinal >= count || !count) {
        bool mig = !count && kf_gpu_without_instance(words, sizeof words);
        kf_fail(error, KF_ERROR_MACHINE, "%s: the driver shows %d GPU%s%s%s" WITHOUT_GPU,
                gpu->head.name, count, count == 1 ? "" : "s", mig ? ": " : "",
                mig ? words : "; CUDA_VISIBLE_DEVICES hides some where it is set");
    } else if (choose(gpu, ordinal, count), identify(gpu, error)) {
        open_nvml(gpu);
        choose_launcher(gpu);
        if (!kf_nvml_driver(gpu->nvml, gpu->properties.driver, sizeof gpu->properties.driver))
            snprintf(gpu->properties.driver, sizeof gpu->properties.driver, "unknown");
        if (!kf_cuda_folder(&gpu->cuda, gpu->properties.driver_folder,
                            sizeof gpu->properties.driver_folder))
            snprintf(gpu->properties.driver_folder, sizeof gpu->properties.driver_folder,
                     "/usr/lib");
        if (start(gpu, error)) return &gpu->head;
    }
    cuda_free(&gpu->head);
    return NULL;
}

int kf_device_cuda_count(void)
{
    kf_cuda cuda;
    char words[512];
    int count = 0;
    return kf_cuda_load_watched(&cuda, words, sizeof words) &&
                   cuda.device_count(&count) == CU_SUCCESS
               ? count
               : 0;
}

bool kf_device_cuda_trouble(char *text, size_t size)
{
    kf_cuda cuda;
    if (kf_cuda_load_watched(&cuda, text, size) || !cuda.library) return false;
    return !cuda.init || cuda.init(0) != KF_GPU_NONE;
}
