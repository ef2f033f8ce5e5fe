/* Waits until the driver has cleared freed memory.
 *
 * The driver clears freed memory (cuMemFree, cuMemRelease, the end of a process) in the background,
 * at about 400 GB/s. Kernels that are bound by memory take 11 to 16 % longer meanwhile: for 65 ms
 * after 24 GiB, on an H100 and an H200 (docs/results/README.md). Synchronising and cuMemGetInfo do
 * not show it. A long read does: 512 MB take 130 us on an H200, and at least 145 us while memory is
 * cleared. A read of only twice the L2 does not show it. */
#include "cuda_calls.h"

#define BYTES (512u << 20)
/* The read is at most this part of the device's memory, since a small device is slow. */
#define MEMORY_PART 128

/* Returns the seconds of one read. 0: the driver failed; the next checked call reports why. */
static double read_once(void *context)
{
    kf_cuda_device *gpu = context;
    const kf_cuda *cuda = &gpu->cuda;
    unsigned long long blocks = gpu->settle.memory.bytes / 16;
    void *parameters[] = {&gpu->settle.memory.pointer, &blocks, &gpu->tasks.pointer};
    float milliseconds = 0;
    bool done =
        cuda->event_record(gpu->settle.events[0], gpu->stream) == CU_SUCCESS &&
        cuda->launch(gpu->kernels[KF_KERNEL_READ], (unsigned)gpu->properties.multiprocessors * 8, 1,
                     1, KF_KERNEL_THREADS, 1, 1, 0, gpu->stream, parameters, NULL) == CU_SUCCESS &&
        cuda->event_record(gpu->settle.events[1], gpu->stream) == CU_SUCCESS &&
        cuda->stream_synchronize(gpu->stream) == CU_SUCCESS &&
        cuda->event_elapsed(&milliseconds, gpu->settle.events[0], gpu->settle.events[1]) ==
            CU_SUCCESS;
    return done ? milliseconds * 1e-3 : 0;
}

bool kf_cuda_memory_settle_begin(kf_cuda_device *gpu, uint64_t memory_bytes, kf_error *error)
{
    size_t bytes = memory_bytes / MEMORY_PART < BYTES ? memory_bytes / MEMORY_PART : BYTES;
    if (!kf_cuda_scratch_need(gpu, &gpu->settle.memory, bytes, error) ||
        !kf_cuda_check(gpu,
                       gpu->cuda.set_bytes(gpu->settle.memory.pointer, 0x5a,
                                           gpu->settle.memory.bytes, gpu->stream),
                       "memory to read", error))
        return false;
    for (int i = 0; i < 2; i++)
        if (!kf_cuda_check(gpu, gpu->cuda.event_create(&gpu->settle.events[i], CU_EVENT_DEFAULT),
                           "making an event", error))
            return false;
    gpu->settle.reads = (kf_memory_settle){.read = read_once, .context = gpu};
    kf_memory_settle_learn(&gpu->settle.reads);
    return true;
}

void kf_cuda_memory_settle_end(kf_cuda_device *gpu)
{
    for (int i = 0; i < 2; i++)
        if (gpu->settle.events[i]) gpu->cuda.event_destroy(gpu->settle.events[i]);
    gpu->settle.events[0] = gpu->settle.events[1] = NULL;
}

void kf_cuda_memory_settle(kf_device *device, double most)
{
    kf_memory_settle_await(&((kf_cuda_device *)device)->settle.reads, most);
}
