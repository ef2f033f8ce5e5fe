/* The runner's CUDA device, through the driver API, which is loaded at run time. The candidate's
 * own CUDA runtime uses the same primary context.
 *
 * Each allocation of the judge (a region, see evaluator/judge/cuda/sets_cuda.c) comes as a
 * descriptor. The runner imports it once, and maps it between two unmapped granules. A region holds
 * one buffer or many small ones. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver_cuda.h"
#include "cupti_counters.h"
#include "device.h"
#include "kforge/sandbox.h"
#include "regions_cuda.h"
#include "stream_gate_cuda.h"

#define MAX_REGIONS (KF_WIRE_MAX_SETS * KF_WIRE_MAX_ARGUMENTS)

static kf_cuda cuda;
static cu_stream stream;
static cu_context primary;
static cu_pointer scratch;
static kf_stream_gate gate;
static kf_region regions[MAX_REGIONS];
/* One more than the largest number in use. */
static uint32_t region_limit;

static int said(cu_result result, const char *what)
{
    return kf_cuda_said(&cuda, result, what);
}

static void nothing(void *argument)
{
    (void)argument;
}

/* Lets the default memory pool keep freed memory, as PyTorch and most programs do. With the
 * driver's default each synchronisation gives it back, and each batch of a candidate that allocates
 * in its calls would pay for that. */
static void keep_freed_memory(cu_device device)
{
    cu_pool pool;
    uint64_t most = UINT64_MAX;
    /* Some devices have no pools. */
    if (cuda.default_pool(&pool, device) == CU_SUCCESS)
        cuda.pool_set(pool, CU_POOL_RELEASE_THRESHOLD, &most);
}

/* Makes the driver start all its threads, since the judge counts threads at the hello. The driver
 * starts some of them only when they are first needed. */
static int wake_threads(void)
{
    cu_pointer memory;
    cu_event event;
    if (!said(cuda.launch_host(stream, nothing, NULL), "a host function")) return 0;
    if (cuda.allocate_async(&memory, 1 << 20, stream) == CU_SUCCESS)
        cuda.release_async(memory, stream);
    if (cuda.event_create(&event, CU_EVENT_DEFAULT) == CU_SUCCESS) {
        cuda.event_record(event, stream);
        cuda.event_destroy(event);
    }
    return said(cuda.stream_synchronize(stream), "synchronising");
}

/* The judge takes all files from a loaded runner. So it loads now the libraries that the driver and
 * the C library look for later (a compiler of PTX, and the end of threads), and leaves its folder.
 */
static void need_no_files(void)
{
    static const char *const later[] = {"libnvidia-ptxjitcompiler.so.1", "libgcc_s.so.1"};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) dlopen(later[i], RTLD_LAZY);
    if (chdir("/")) fprintf(stderr, "kforge-runner-cuda: no root\n");
}

void *kf_runner_start(void)
{
    char words[512];
    cu_device device;
    if (!kf_cuda_load(&cuda, words, sizeof words)) {
        fprintf(stderr, "kforge-runner-cuda: %s\n", words);
        return NULL;
    }
    bool ready = said(cuda.device_get(&device, 0), "device 0") &&
                 said(cuda.context_flags(device, CU_SCHEDULE_SPIN), "setting up a context") &&
                 said(cuda.context_retain(&primary, device), "a context") &&
                 said(cuda.context_set(primary), "the context") &&
                 said(cuda.stream_create(&stream, CU_STREAM_NON_BLOCKING), "a stream") &&
                 said(cuda.allocate(&scratch, 4096), "4 KiB of device memory") &&
                 kf_stream_gate_begin(&gate, &cuda, stream) && wake_threads();
    if (ready) keep_freed_memory(device);
    need_no_files();
    /* Where the kernel refuses, the judge still looks at what is mapped. */
    kf_sandbox_deny_made_code();
    if (ready) kf_count_prepare(&cuda, primary, stream);
    return ready ? stream : NULL;
}

void *kf_runner_map(const kf_wire_command *command, int fd)
{
    if (command->region >= MAX_REGIONS || command->offset + command->length > command->region_bytes)
        return NULL;
    kf_region *r = &regions[command->region];
    const kf_region_wish wish = {.size = command->region_bytes,
                                 .address = command->address,
                                 .read_only = command->flags & KF_WIRE_READ_ONLY};
    if (command->region >= region_limit) region_limit = command->region + 1;
    if (!r->base && !kf_region_import(&cuda, r, &wish, fd)) return NULL;
    return (void *)(uintptr_t)(r->base + command->offset + command->data_offset);
}

void kf_runner_unmap(void)
{
    for (uint32_t i = 0; i < region_limit; i++) kf_region_drop(&cuda, &regions[i]);
    region_limit = 0;
    kf_stream_gate_take(&gate, 0);
}

const double kf_runner_lookout = 0.0003;

void kf_runner_ready(void) {}

/* Makes the GPU switch to this context, as calls would. */
void kf_runner_reverse(int order)
{
    (void)order;
}

void kf_runner_nothing(void)
{
    cuda.set_bytes(scratch, 0, 4, stream);
}

void kf_runner_take_page(void *page)
{
    kf_stream_gate_take(&gate, (cu_pointer)(uintptr_t)page);
}

/* Gates show the order of calls here. */
int kf_runner_show_progress(uint32_t *begun)
{
    (void)begun;
    return 0;
}

void kf_runner_begin_call(uint32_t number)
{
    kf_stream_gate_wait(&gate, number);
}

void kf_runner_sample(uint64_t nonce, uint32_t slot, const void *output, uint64_t bytes)
{
    kf_stream_gate_sample(&gate, nonce, slot, (cu_pointer)(uintptr_t)output, bytes);
}

int kf_runner_wait_stream(void)
{
    return cuda.stream_synchronize(stream);
}

/* A call may have made another context current, and may have left work there. */
int kf_runner_wait_device(void)
{
    cu_context current = NULL;
    int other = CU_SUCCESS;
    if (cuda.context_get(&current) == CU_SUCCESS && current && current != primary)
        other = cuda.context_synchronize();
    cuda.context_set(primary);
    int own = cuda.context_synchronize();
    return own ? own : other;
}

void kf_runner_complain(int code)
{
    char words[256];
    kf_cuda_describe(&cuda, code, words, sizeof words);
    fprintf(stderr, "kforge-runner: %s\n", words);
}

int kf_runner_count(void (*call)(void *context), void *context, uint32_t passes,
                    kf_count_records *records)
{
    kf_count_calls(call, context, passes, records);
    return 1;
}
