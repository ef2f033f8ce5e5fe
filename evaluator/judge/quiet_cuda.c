/* Is the device's memory as quick as it gets? The driver clears what is freed (cuMemFree, cuMemRelease, a process that ends) in the background, at some 400 GB/s,
 * and whatever is bound by memory takes 11 to 16 % longer meanwhile: for 65 ms behind 24 GiB, on an H100 and an H200 (docs/measurements). Neither
 * synchronizing nor cuMemGetInfo tells of it. A long enough read does: of 512 MB it takes 130 us on an H200, 145 at least while memory is cleared, and of twice
 * the L2 either may take as long as the other. */
#include <math.h>
#include <time.h>

#include "device_cuda.h"
#include "kforge/file.h"
#include "kforge/stats.h"

#define READS 3 /* of which the median counts */
#define BYTES (512u << 20)
#define MEMORY_PART 128 /* of the device's memory, at most: a small one is slow, too */
/* Times what one takes as a rule. Chance makes 0.98 to 1.03 of nine in ten, clearing 1.11 or more of all. */
#define SLOW 1.06
#define USUAL 1.04 /* of a single one: says enough, where it is no less than the rule by more than */
#define QUICKER 0.97
#define PAUSE 1000000L /* nanoseconds between two looks */

size_t kf_cuda_quiet_bytes(uint64_t memory_bytes)
{
    return memory_bytes / MEMORY_PART < BYTES ? memory_bytes / MEMORY_PART : BYTES;
}

/* Seconds; 0: the driver says nothing, and somebody else will hear why. */
static double read_once(kf_cuda_device *gpu)
{
    const kf_cuda *cuda = &gpu->cuda;
    unsigned long long blocks = kf_cuda_quiet_bytes(gpu->memory_bytes) / 16;
    void *parameters[] = {&gpu->flush.pointer, &blocks, &gpu->tasks.pointer};
    float milliseconds = 0;
    bool done = cuda->event_record(gpu->quiet[0], gpu->stream) == CU_SUCCESS &&
                cuda->launch(gpu->kernels[KF_KERNEL_READ], (unsigned)gpu->multiprocessors * 8, 1, 1, KF_KERNEL_THREADS, 1, 1, 0,
                             gpu->stream, parameters, NULL) == CU_SUCCESS &&
                cuda->event_record(gpu->quiet[1], gpu->stream) == CU_SUCCESS &&
                cuda->stream_synchronize(gpu->stream) == CU_SUCCESS &&
                cuda->event_elapsed(&milliseconds, gpu->quiet[0], gpu->quiet[1]) == CU_SUCCESS;
    return done ? milliseconds * 1e-3 : 0;
}

/* Seconds of a read, those that it takes as a rule where it is as quick; 0 as above. The first one has to write back what somebody has left in the cache. */
static double look(kf_cuda_device *gpu)
{
    double seconds[READS], rule = gpu->quiet_read;
    for (int i = 0; i < READS; i++) {
        if (!((seconds[i] = read_once(gpu)) > 0)) return 0;
        if (seconds[i] < USUAL * rule && seconds[i] > QUICKER * rule) return rule;
    }
    return kf_median(seconds, READS);
}

bool kf_cuda_quiet_begin(kf_cuda_device *gpu, kf_error *error)
{
    for (int i = 0; i < 2; i++)
        if (!kf_cuda_check(gpu, gpu->cuda.event_create(&gpu->quiet[i], CU_EVENT_DEFAULT), "making an event", error)) return false;
    look(gpu); /* its clocks are to rise */
    gpu->quiet_read = look(gpu);
    return true;
}

void kf_cuda_quiet_end(kf_cuda_device *gpu)
{
    for (int i = 0; i < 2; i++)
        if (gpu->quiet[i]) gpu->cuda.event_destroy(gpu->quiet[i]);
    gpu->quiet[0] = gpu->quiet[1] = NULL;
}

void kf_cuda_await_quiet(kf_device *device, double most)
{
    kf_cuda_device *gpu = (kf_cuda_device *)device;
    double started = kf_now(), seconds;
    while ((seconds = look(gpu)) > SLOW * gpu->quiet_read && kf_now() - started < most)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    /* Not by chance: the rule was made while something was cleared, or the device has become another since (its clocks, its neighbours). */
    bool other = seconds > SLOW * gpu->quiet_read || seconds < QUICKER * gpu->quiet_read;
    if (seconds > 0 && other) gpu->quiet_read = seconds;
}
