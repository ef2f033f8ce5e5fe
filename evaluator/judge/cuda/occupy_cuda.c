/* Keeps inputs from a runner's device work until the clock runs.
 *
 * Stopping a runner does not stop its device. A stream that waits for a memory value, a kernel that
 * polls, or a second context could begin as soon as the judge fills a buffer. Two defences:
 *
 * Occupying the device. From before inputs are filled until the clock runs, a kernel of the judge
 * runs on every multiprocessor and samples %globaltimer. Kernels of two processes never run at the
 * same time. To run another context, the GPU has to interrupt the judge's kernel, on all
 * multiprocessors, for the work and for two changes of the context: at least 0.3 ms on an H100.
 * Otherwise two samples are 0.1 us apart. The caller drops a batch with a gap, so early kernels
 * gain nothing.
 *
 * Withholding blocks. Copy engines work during the judge's kernel, and leave no gap. So random,
 * secret blocks of each input have other numbers of that input until the clock runs. A copy made
 * early is wrong in unknown places. To find them, a call has to read all inputs again.
 *
 * Staging all inputs and copying them inside the clock would need the memory twice. It would take
 * as long as many calls do, with a spread of 1 %, which is more than a batch varies by. Revealing
 * some thousand blocks takes microseconds, in every batch of both sides and in empty batches.
 *
 * What remains is work that waits in a runner's own context and starts when the occupation ends,
 * before the request has arrived: about 10 us of a batch of 2 ms. */
#include <math.h>
#include <stdlib.h>

#include "buffers_cuda.h"
#include "cuda_calls.h"
#include "kforge/file.h"
#include "work_cuda.h"

/* The kernel gives up after this time. Then the batch does not count. */
#define MOST_NANOSECONDS 4000000000ull
/* Seconds until the kernel has to run. */
#define START_SECONDS 2.0
/* Gaps from this time on are work of another context. Changing the context twice takes longer. */
#define GAP_SECONDS 100e-6
/* The same in steps of a timer that ticks slowly. */
#define GAP_STEPS 4
#define OCCUPY_THREADS 32

bool kf_cuda_occupy_open(kf_cuda_device *gpu, kf_error *error)
{
    kf_cuda_occupation *own = &gpu->occupation;
    return kf_cuda_check(gpu, gpu->cuda.stream_create(&own->stream, CU_STREAM_NON_BLOCKING),
                         "making a stream", error) &&
           kf_cuda_check(
               gpu,
               gpu->cuda.allocate_host((void **)&own->door, sizeof *own->door, CU_HOST_ON_DEVICE),
               "host memory for the device", error) &&
           kf_cuda_scratch_need(gpu, &own->report, sizeof(kf_occupy_report), error) &&
           kf_cuda_scratch_need(gpu, &own->withheld, 1, error);
}

void kf_cuda_occupy_close(kf_cuda_device *gpu)
{
    kf_cuda_occupation *own = &gpu->occupation;
    kf_cuda_occupy_end(gpu);
    if (own->stream) gpu->cuda.stream_destroy(own->stream);
    if (own->door) gpu->cuda.release_host(own->door);
    if (own->report.pointer) gpu->cuda.release(own->report.pointer);
    if (own->withheld.pointer) gpu->cuda.release(own->withheld.pointer);
    *own = (kf_cuda_occupation){0};
}

/* The judge reads or writes `door` while the kernel does. */
static bool has_started(const kf_cuda_occupation *own)
{
    return __atomic_load_n(&own->door->started, __ATOMIC_ACQUIRE) != 0;
}

bool kf_cuda_occupy(kf_sets *handle, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_device *gpu = sets->gpu;
    kf_cuda_occupation *own = &gpu->occupation;
    const kf_cuda *cuda = &gpu->cuda;
    size_t blocks =
        (size_t)sets->count * (size_t)sets->problem->argument_count * KF_WITHHELD_BLOCKS;
    static const kf_occupy_report nothing = {.shortest = UINT64_MAX};
    unsigned long long most = MOST_NANOSECONDS;
    void *parameters[] = {&own->door, &own->report.pointer, &most};
    if (own->on) return true;
    *own->door = (kf_occupy_switch){0};
    /* It may wait for kernels, and the flush of an occupied device does not call it. */
    cuda->context_reset_l2();
    if (!kf_cuda_scratch_need(gpu, &own->withheld, blocks * sizeof(kf_withheld_block), error) ||
        !kf_cuda_check(gpu,
                       cuda->copy_in(own->report.pointer, &nothing, sizeof nothing, own->stream),
                       "occupying the device", error) ||
        !kf_cuda_check(gpu,
                       cuda->launch(gpu->kernels[KF_KERNEL_OCCUPY],
                                    (unsigned)gpu->properties.multiprocessors, 1, 1, OCCUPY_THREADS,
                                    1, 1, 0, own->stream, parameters, NULL),
                       "occupying the device", error))
        return false;
    own->on = true;
    double until = kf_now() + START_SECONDS;
    while (!has_started(own) && kf_now() < until) continue;
    own->broken = own->broken || !has_started(own);
    return true;
}

/* Withholds blocks of all inputs, and of inouts, which hold inputs before the call. The kernel
 * that reveals them waits behind kf_occupy, and its end starts that kernel. */
bool kf_cuda_withhold(kf_sets *handle, kf_error *error)
{
    kf_cuda_sets *sets = (kf_cuda_sets *)handle;
    kf_cuda_device *gpu = sets->gpu;
    kf_cuda_occupation *own = &gpu->occupation;
    size_t arguments = (size_t)sets->problem->argument_count,
           entries = (size_t)sets->count * arguments;
    kf_autowork work = {0};
    unsigned long long seed, count;
    if (!own->on) return true;
    if (!kf_random(&seed, sizeof seed))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
    if (!kf_cuda_work_begin(&work, sizeof(kf_snapshot_task), entries, error)) return false;
    for (size_t entry = 0; entry < entries; entry++) {
        kf_argument_kind kind = sets->problem->arguments[entry % arguments].kind;
        const kf_cuda_buffer *b = &sets->buffers[entry];
        if (kind != KF_INPUT && kind != KF_INOUT) continue;
        *(kf_snapshot_task *)kf_cuda_work_add(&work, KF_WITHHELD_BLOCKS) =
            (kf_snapshot_task){.data = kf_cuda_address(sets, b), .bytes = b->bytes};
    }
    count = work.count * KF_WITHHELD_BLOCKS;
    if (!count) return true;
    void *parameters[] = {&seed, &own->withheld.pointer},
         *reveal[] = {&own->withheld.pointer, &count};
    return kf_cuda_work_run(gpu, KF_KERNEL_WITHHOLD, &work, parameters, 2, error) &&
           kf_cuda_check(gpu,
                         gpu->cuda.launch(gpu->kernels[KF_KERNEL_REVEAL],
                                          (unsigned)(count / KF_KERNEL_THREADS + 1), 1, 1,
                                          KF_KERNEL_THREADS, 1, 1, 0, own->stream, reveal, NULL),
                         "revealing inputs", error);
}

void kf_cuda_vacate(kf_sets *handle)
{
    kf_cuda_occupy_end(((kf_cuda_sets *)handle)->gpu);
}

bool kf_cuda_interruption(kf_sets *handle, double *seconds, kf_error *error)
{
    kf_cuda_device *gpu = ((kf_cuda_sets *)handle)->gpu;
    kf_occupy_report report = {0};
    bool broken = gpu->occupation.broken;
    gpu->occupation.broken = false;
    if (!kf_cuda_check(
            gpu,
            gpu->cuda.copy_out(&report, gpu->occupation.report.pointer, sizeof report, gpu->stream),
            "reading times", error) ||
        !kf_cuda_wait(gpu, "reading times", error))
        return false;
    double step = report.shortest == UINT64_MAX ? 0 : 1e-9 * (double)report.shortest,
           gap = 1e-9 * (double)report.longest;
    *seconds = gap > fmax(GAP_SECONDS, GAP_STEPS * step) ? gap : 0;
    if (broken || report.expired) *seconds = INFINITY;
    return true;
}
