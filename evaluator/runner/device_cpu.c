/* The runner's CPU device: libkfcpu, in this process. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "kfcpu/exec.h"
#include "kforge/sandbox.h"

/* The device runtime's C interface, from libkfcpu.so. */
extern int cudaStreamCreateWithFlags(void **stream, unsigned flags);
extern int cudaStreamSynchronize(void *stream);
extern int cudaDeviceSynchronize(void);
extern const char *cudaGetErrorString(int code);

#define STREAM_NON_BLOCKING 1u

#if defined(__SANITIZE_ADDRESS__)
extern void __asan_poison_memory_region(void const volatile *address, size_t size);
extern void *__asan_get_report_address(void);
void __asan_on_error(void);
#endif

typedef struct mapping {
    void *base;
    size_t size;
    const char *data;
    uint64_t bytes;
} mapping;

static mapping mappings[KF_WIRE_MAX_SETS][KF_WIRE_MAX_ARGUMENTS];
/* Sets from this one on have no mappings. */
static uint32_t set_limit;
static void *stream;

#if defined(__SANITIZE_ADDRESS__)
/* Further away than this, an access has nothing to do with a buffer. */
#define NEAR_BYTES (64 << 20)

/* AddressSanitizer calls this before it reports an error. Prints where the access lies, relative to
 * the nearest buffer: measure_report.c reads "kforge-access: ARGUMENT DISTANCE", the bytes past the
 * end, or with a minus before the start. */
void __asan_on_error(void)
{
    const char *address = __asan_get_report_address();
    int64_t least = NEAR_BYTES, distance = 0;
    int nearest = -1;
    for (uint32_t set = 0; set < set_limit; set++)
        for (int argument = 0; argument < KF_WIRE_MAX_ARGUMENTS; argument++) {
            const mapping *entry = &mappings[set][argument];
            if (!entry->base) continue;
            int64_t past = address - entry->data - (int64_t)entry->bytes,
                    before = address - entry->data;
            int64_t away = past >= 0 ? past : before < 0 ? -before : NEAR_BYTES;
            if (away >= least) continue;
            least = away;
            distance = past >= 0 ? past : before;
            nearest = argument;
        }
    if (nearest >= 0) fprintf(stderr, "kforge-access: %d %lld\n", nearest, (long long)distance);
}
#endif

void *kf_runner_start(void)
{
    kfcpu_start();
    /* Where the kernel refuses, the judge still looks at what is mapped. */
    kf_sandbox_deny_made_code();
    if (cudaStreamCreateWithFlags(&stream, STREAM_NON_BLOCKING) == 0) return stream;
    fprintf(stderr, "kforge-runner: the CPU device does not start\n");
    return NULL;
}

/* Maps a buffer between two unmapped pages. */
void *kf_runner_map(const kf_wire_command *command, int fd)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = command->length + 2 * page;
    char *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    int protection = command->flags & KF_WIRE_READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
    void *inner = mmap(base + page, command->length, protection,
                       MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, (off_t)command->offset);
    if (inner == MAP_FAILED) {
        munmap(base, size);
        return NULL;
    }
    char *data = base + page + command->data_offset;
    mappings[command->set][command->argument] = (mapping){base, size, data, command->bytes};
    if (command->set >= set_limit) set_limit = command->set + 1;
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(base + page, command->data_offset);
    __asan_poison_memory_region(data + command->bytes,
                                command->length - command->data_offset - command->bytes);
#endif
    return data;
}

void kf_runner_unmap(void)
{
    for (uint32_t set = 0; set < set_limit; set++)
        for (int argument = 0; argument < KF_WIRE_MAX_ARGUMENTS; argument++) {
            mapping *entry = &mappings[set][argument];
            if (entry->base) munmap(entry->base, entry->size);
            *entry = (mapping){0};
        }
    set_limit = 0;
}

/* The judge needs this processor to send the command. */
const double kf_runner_lookout = 0;

void kf_runner_ready(void)
{
    kfcpu_ready();
}

void kf_runner_reverse(int order)
{
    kfcpu_reverse(order);
}

void kf_runner_nothing(void) {}

/* Each operation of this device is over when its function returns, so calls are in order. */
void kf_runner_take_page(void *page)
{
    (void)page;
}

void kf_runner_sample(uint64_t nonce, uint32_t slot, const void *output, uint64_t bytes)
{
    (void)nonce, (void)slot, (void)output, (void)bytes;
}

static uint32_t unseen, *progress = &unseen;

int kf_runner_show_progress(uint32_t *begun)
{
    progress = begun;
    return 1;
}

/* No read of the call may come before this store. */
void kf_runner_begin_call(uint32_t number)
{
    __atomic_store_n(progress, number + 1, __ATOMIC_SEQ_CST);
}

int kf_runner_wait_stream(void)
{
    return cudaStreamSynchronize(stream);
}

int kf_runner_wait_device(void)
{
    return cudaDeviceSynchronize();
}

void kf_runner_complain(int code)
{
    const char *fault = kfcpu_last_fault(code);
    fprintf(stderr, "kforge-runner: %s%s%s\n", cudaGetErrorString(code), *fault ? ": " : "", fault);
}

int kf_runner_count(void (*call)(void *context), void *context, uint32_t passes,
                    kf_count_records *records)
{
    (void)call, (void)context, (void)passes, (void)records;
    return 0;
}
