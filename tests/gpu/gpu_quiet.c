/* Tests that the judge waits while the driver clears memory in the background. The test allocates
 * and frees memory in the judge's context. The judge's copies then measure the speed of the
 * remaining memory: at once, which shows if this driver clears memory at all, and after the
 * wait. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_calls.h"
#include "gpu_check.h"
#include "judge_internal.h"
#include "kforge/file.h"
#include "kforge/stats.h"

#define COPY_BYTES (256u << 20) /* read, and as many written */
#define COPIES 9
#define TURNS 8
#define WAITS 2000 /* with nothing to wait for */
#define MOST 0.5   /* seconds */

typedef struct copier {
    kf_cuda_device *gpu;
    kf_cuda_scratch from, to;
    cu_event events[2];
} copier;

/* Seconds of a copy, the median of some. */
static double copy(copier *c)
{
    const kf_cuda *cuda = &c->gpu->cuda;
    unsigned long long blocks = COPY_BYTES / 16;
    void *parameters[] = {&c->from.pointer, &c->to.pointer, &blocks};
    double seconds[COPIES];
    for (int i = 0; i < COPIES; i++) {
        float milliseconds = 0;
        cuda->event_record(c->events[0], c->gpu->stream);
        cuda->launch(c->gpu->kernels[KF_KERNEL_COPY],
                     (unsigned)c->gpu->properties.multiprocessors * 8, 1, 1, KF_KERNEL_THREADS, 1,
                     1, 0, c->gpu->stream, parameters, NULL);
        cuda->event_record(c->events[1], c->gpu->stream);
        cuda->stream_synchronize(c->gpu->stream);
        if (cuda->event_elapsed(&milliseconds, c->events[0], c->events[1]) != CU_SUCCESS)
            return NAN;
        seconds[i] = milliseconds * 1e-3;
    }
    return kf_median(seconds, COPIES);
}

/* Half of what is there. */
static bool allocate_and_free(copier *c)
{
    const kf_cuda *cuda = &c->gpu->cuda;
    size_t free_bytes = 0, total = 0;
    cu_pointer memory;
    return cuda->memory_info(&free_bytes, &total) == CU_SUCCESS &&
           cuda->allocate(&memory, free_bytes / 2) == CU_SUCCESS &&
           cuda->release(memory) == CU_SUCCESS;
}

int check_quiet(kf_judge *judge)
{
    kf_error error = {0};
    kf_device *device = judge->device;
    copier c = {.gpu = (kf_cuda_device *)device};
    const kf_cuda *cuda = &c.gpu->cuda;
    if (!kf_cuda_scratch_need(c.gpu, &c.from, COPY_BYTES, &error) ||
        !kf_cuda_scratch_need(c.gpu, &c.to, COPY_BYTES, &error) ||
        !kf_cuda_check(c.gpu, cuda->event_create(&c.events[0], CU_EVENT_DEFAULT), "making an event",
                       &error) ||
        !kf_cuda_check(c.gpu, cuda->event_create(&c.events[1], CU_EVENT_DEFAULT), "making an event",
                       &error))
        return printf("  %s\n", error.text), 1;
    double quiet = 0, at_once[TURNS], behind[TURNS], waits[TURNS], idle[WAITS], copies[TURNS];
    for (int i = 0; i < TURNS; i++) copies[i] = copy(&c);
    quiet = kf_median(copies, TURNS);
    for (int i = 0; i < TURNS; i++) {
        if (!allocate_and_free(&c)) return printf("  the driver frees no memory\n"), 1;
        at_once[i] = copy(&c) / quiet;
        device->operations->memory_settle(device, MOST);
        if (!allocate_and_free(&c)) return printf("  the driver frees no memory\n"), 1;
        double began = kf_now();
        device->operations->memory_settle(device, MOST);
        waits[i] = kf_now() - began;
        behind[i] = copy(&c) / quiet;
    }
    for (int i = 0; i < WAITS; i++) {
        double began = kf_now();
        device->operations->memory_settle(device, MOST);
        idle[i] = kf_now() - began;
    }
    printf("  a copy right behind memory that was freed takes %.3f times what it takes in quiet; "
           "waits for it, median %.1f ms\n",
           kf_median(at_once, TURNS), 1e3 * kf_median(waits, TURNS));
    if (kf_median(at_once, TURNS) < 1.03)
        printf("  this driver clears nothing beside others' work, so that waiting for it is not "
               "tried here\n");
    printf("  a wait for nothing: median %.0f us, 0.99 of them at most %.0f us\n",
           1e6 * kf_median(idle, WAITS), 1e6 * kf_quantile(idle, WAITS, 0.99));
    int bad = !gpu_figure("a copy behind the wait, beside one in quiet, the slowest",
                          kf_quantile(behind, TURNS, 1), "times", GPU_AT_MOST, 1.04);
    bad += !gpu_figure("the longest wait for nothing", 1e3 * kf_quantile(idle, WAITS, 1), "ms",
                       GPU_AT_MOST, 10);
    for (int i = 0; i < 2; i++) cuda->event_destroy(c.events[i]);
    if (c.from.pointer) cuda->release(c.from.pointer);
    if (c.to.pointer) cuda->release(c.to.pointer);
    return bad;
}
