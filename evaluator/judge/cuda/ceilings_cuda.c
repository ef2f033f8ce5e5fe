/* Measures what the GPU reaches at best. Memory: bytes read by a kernel that only reads, and bytes
 * read plus written by a copy, of data far larger than the L2. Reading alone is faster (3.1 against
 * 2.8 TB/s on an H100). A floor from the copy alone would call a good reduction impossible.
 * Launches: the time of one of many empty launches. Gates: the time that a stream's wait adds to a
 * kernel. The best pass counts. The figures are kept in the cache folder, for each device and
 * driver. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_calls.h"
#include "kforge/file.h"
#include "stream_page.h"

#define COPY_BYTES (512u << 20)
#define PASSES 6
#define LAUNCHES 2000
/* Kernels that are longer than their launch, and passes over them. */
#define GATED_LAUNCHES 200
#define GATED_PASSES 5
/* The least time of a call, as a part of an empty launch. */
#define LAUNCH_PART 0.5

static char *figure_path(const kf_cuda_device *gpu)
{
    char *path = NULL;
    if (!gpu->cache || asprintf(&path, "%s/devices/%s-%s-ceilings.txt", gpu->cache,
                                gpu->properties.uuid, gpu->properties.driver) < 0)
        return NULL;
    return path;
}

/* Runs some passes of a kernel with `bytes` of traffic. *best: the best bandwidth. */
static bool measure(kf_cuda_device *gpu, enum kf_kernel kernel, void **parameters, double bytes,
                    double *best, kf_error *error)
{
    const kf_cuda *cuda = &gpu->cuda;
    cu_event events[2] = {0};
    bool done = kf_cuda_check(gpu, cuda->event_create(&events[0], CU_EVENT_DEFAULT),
                              "making an event", error) &&
                kf_cuda_check(gpu, cuda->event_create(&events[1], CU_EVENT_DEFAULT),
                              "making an event", error);
    for (int pass = 0; pass < PASSES && done; pass++) {
        float milliseconds = 0;
        cuda->event_record(events[0], gpu->stream);
        done = kf_cuda_check(
            gpu,
            cuda->launch(gpu->kernels[kernel], (unsigned)gpu->properties.multiprocessors * 8, 1, 1,
                         KF_KERNEL_THREADS, 1, 1, 0, gpu->stream, parameters, NULL),
            "measuring the memory's bandwidth", error);
        cuda->event_record(events[1], gpu->stream);
        done = done && kf_cuda_wait(gpu, "measuring the memory's bandwidth", error) &&
               kf_cuda_check(gpu, cuda->event_elapsed(&milliseconds, events[0], events[1]),
                             "reading events", error);
        if (done && milliseconds > 0 && bytes / (milliseconds * 1e-3) > *best)
            *best = bytes / (milliseconds * 1e-3);
    }
    for (int i = 0; i < 2; i++)
        if (events[i]) cuda->event_destroy(events[i]);
    return done;
}

static bool measure_both(kf_cuda_device *gpu, kf_error *error)
{
    kf_cuda_scratch from = {0}, to = {0};
    unsigned long long blocks = COPY_BYTES / 16;
    void *copy[] = {&from.pointer, &to.pointer, &blocks},
         *read[] = {&from.pointer, &blocks, &gpu->tasks.pointer};
    bool done = kf_cuda_scratch_need(gpu, &from, COPY_BYTES, error) &&
                kf_cuda_scratch_need(gpu, &to, COPY_BYTES, error) &&
                kf_cuda_check(gpu, gpu->cuda.set_bytes(from.pointer, 0x3c, COPY_BYTES, gpu->stream),
                              "filling memory", error) &&
                measure(gpu, KF_KERNEL_COPY, copy, 2.0 * COPY_BYTES, &gpu->bandwidth.copy, error) &&
                measure(gpu, KF_KERNEL_READ, read, COPY_BYTES, &gpu->bandwidth.read, error);
    if (from.pointer) gpu->cuda.release(from.pointer);
    if (to.pointer) gpu->cuda.release(to.pointer);
    return done;
}

/* Runs kernels that copy `bytes`. *seconds: of each, with a wait for an open gate before it if
 * `gated`. */
static bool time_kernels(kf_cuda_device *gpu, size_t bytes, bool gated, double *seconds,
                         kf_error *error)
{
    const kf_cuda *cuda = &gpu->cuda;
    cu_pointer from = gpu->flush.pointer, to = from + bytes;
    unsigned long long blocks = bytes / 16;
    void *parameters[] = {&from, &to, &blocks};
    double started = kf_now();
    for (int i = 0; i < GATED_LAUNCHES; i++)
        if ((gated && !kf_cuda_check(gpu,
                                     cuda->stream_wait(gpu->stream, gpu->tasks.pointer,
                                                       KF_GATE_OPEN, CU_WAIT_EQUAL),
                                     "measuring gates", error)) ||
            !kf_cuda_check(gpu,
                           cuda->launch(gpu->kernels[KF_KERNEL_COPY],
                                        (unsigned)gpu->properties.multiprocessors * 8, 1, 1,
                                        KF_KERNEL_THREADS, 1, 1, 0, gpu->stream, parameters, NULL),
                           "measuring gates", error))
            return false;
    if (!kf_cuda_wait(gpu, "measuring gates", error)) return false;
    *seconds = (kf_now() - started) / GATED_LAUNCHES;
    return true;
}

/* Measures how much longer kernels take with a wait for an open gate before each, by the quickest
 * passes. *seconds: the mean for data that stays in the L2, and data that does not. */
static bool measure_gates(kf_cuda_device *gpu, double *seconds, kf_error *error)
{
    const size_t bytes[2] = {gpu->properties.l2_bytes / 8 / 16 * 16,
                             gpu->properties.l2_bytes / 16 * 16};
    *seconds = 0;
    if (!kf_cuda_check(gpu,
                       gpu->cuda.set_bytes(gpu->tasks.pointer, KF_GATE_OPEN & 0xff, 4, gpu->stream),
                       "measuring gates", error))
        return false;
    for (int size = 0; size < 2; size++) {
        double least[2] = {1, 1}, one;
        for (int pass = 0; pass < 2 * GATED_PASSES; pass++) {
            if (!time_kernels(gpu, bytes[size], pass % 2, &one, error)) return false;
            least[pass % 2] = fmin(least[pass % 2], one);
        }
        *seconds += fmax(least[1] - least[0], 0) / 2;
    }
    return true;
}

/* Measures empty launches, one after the other. *best: the least time of one. */
static bool measure_launches(kf_cuda_device *gpu, double *best, kf_error *error)
{
    unsigned long long nowhere = 0, blocks = 0;
    void *parameters[] = {&nowhere, &nowhere, &blocks};
    *best = 1;
    for (int pass = 0; pass < PASSES; pass++) {
        double started = kf_now();
        for (int i = 0; i < LAUNCHES; i++)
            if (!kf_cuda_check(gpu,
                               gpu->cuda.launch(gpu->kernels[KF_KERNEL_COPY], 1, 1, 1, 32, 1, 1, 0,
                                                gpu->stream, parameters, NULL),
                               "measuring launches", error))
                return false;
        if (!kf_cuda_wait(gpu, "measuring launches", error)) return false;
        double seconds = (kf_now() - started) / LAUNCHES;
        if (seconds < *best) *best = seconds;
    }
    return true;
}

static void keep(const kf_cuda_device *gpu)
{
    kf_autofree char *path = figure_path(gpu);
    kf_autofree char *folder = gpu->cache ? kf_path_join(gpu->cache, "devices") : NULL;
    char text[128];
    int size = snprintf(text, sizeof text, "%.6g %.6g %.6g %.6g\n", gpu->bandwidth.copy,
                        gpu->bandwidth.read, gpu->head.least_call / LAUNCH_PART, gpu->gate_seconds);
    if (path && folder && kf_directory_make_private(folder, NULL))
        kf_file_write(path, text, (size_t)size, NULL);
}

bool kf_cuda_ceilings(kf_cuda_device *gpu, kf_error *error)
{
    kf_autofree char *path = figure_path(gpu);
    kf_autofree char *known = path ? kf_file_read(path, 256, NULL, NULL) : NULL;
    double copy = 0, read = 0, launch = 0, gate = 0;
    if (known && sscanf(known, "%lf %lf %lf %lf", &copy, &read, &launch, &gate) == 4 &&
        copy > 1e9 && copy < 1e15 && read > 1e9 && read < 1e15 && launch > 1e-8 && launch < 1e-3 &&
        gate >= 0 && gate < 1e-3) {
        gpu->bandwidth.copy = copy;
        gpu->bandwidth.read = read;
        gpu->head.least_call = LAUNCH_PART * launch;
        gpu->gate_seconds = gate;
        return true;
    }
    /* The driver may still clear memory of a process that has just ended, and the usual time of a
     * read is unknown yet. So it waits and measures twice. */
    if (!measure_both(gpu, error)) return false;
    nanosleep(&(struct timespec){.tv_nsec = (long)(KF_MEMORY_SETTLE_SECONDS * 1e9)}, NULL);
    if (!measure_both(gpu, error) || !measure_launches(gpu, &launch, error) ||
        !measure_gates(gpu, &gpu->gate_seconds, error))
        return false;
    gpu->head.least_call = LAUNCH_PART * launch;
    keep(gpu);
    return true;
}

bool kf_cuda_measure_ceilings(kf_device *device, kf_error *error)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    /* A job's buffers may fill the memory. The figures stay unchanged then. */
    kf_error no_room = {0};
    double launch = 0;
    kf_memory_settle_await(&gpu->settle.reads, KF_MEMORY_SETTLE_SECONDS);
    measure_both(gpu, &no_room);
    if (!measure_launches(gpu, &launch, error)) return false;
    gpu->head.least_call = fmin(gpu->head.least_call, LAUNCH_PART * launch);
    keep(gpu);
    return true;
}
