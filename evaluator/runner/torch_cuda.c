/* libkftorch: the C part of a runner in Python on a GPU (evaluator/torch/gpu.py calls it through
 * ctypes). It maps the judge's buffers. It replaces cudaMalloc and cudaFree (LD_PRELOAD), so that
 * all memory of PyTorch's own allocator lies in one allocation of the judge, the device pool.
 *
 * The judge has mapped the pool, too. So results stay where PyTorch put them, the judge reads them
 * in its own context, and no copy is timed (evaluator/judge/cuda/device_pool_cuda.c). PyTorch's
 * allocator stays in use. So blocks, caching, streams, graph pools and out-of-memory behaviour are
 * as anywhere else.
 *
 * Without a pool (before the judge sends one, and in the oracle) the CUDA runtime's own functions
 * do the work. If the device has no memory left for an oracle, the block lies in the host's memory,
 * where the GPU reads and writes it through its bus. The pool must come before the
 * first allocation, or PyTorch would go on to divide memory that the judge cannot read.
 * kf_torch_device_pool refuses a later one.
 *
 * Nothing here is trusted. A solution may call or replace all of it, and harms only itself. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "driver_cuda.h"
#include "blocks.h"
#include "host_blocks.h"
#include "kernel_work.h"
#include "regions_cuda.h"
#include "stream_gate_cuda.h"
#include "wire.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_REGIONS (KF_WIRE_MAX_SETS * KF_WIRE_MAX_ARGUMENTS)
/* Memory for records of device time (gpu.py). */
#define COUNT_BYTES (1 << 16)

enum {
    RUNTIME_OK = 0,
    RUNTIME_INVALID = 1,
    RUNTIME_OUT_OF_MEMORY = 2,
    RUNTIME_MISSING = 34 /* cudaErrorStubLibrary */
};

typedef int (*runtime_allocate)(void **pointer, size_t size);
typedef int (*runtime_release)(void *pointer);
typedef int (*runtime_last_error)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kf_cuda cuda;
static kf_region device_pool, regions[MAX_REGIONS];
static uint32_t region_limit;
static kf_blocks blocks;
/* Of the legacy default stream, in which PyTorch calls modules. */
static kf_stream_gate gate;
/* Allocations of the runtime's own that are still there. */
static int64_t outside;

/* The host's memory in place of memory that the device does not have. */
static struct {
    kf_host_blocks blocks;
    bool allowed, used;
    /* The size of the last allocation if it was refused. PyTorch then frees all memory that it does
     * not use, and asks once more. */
    size_t refused;
} host_memory;

/* ---- the runtime's own ----------------------------------------------------------------------- */

static int find_runtime(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libcudart.so")) return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

/* RTLD_NEXT would search only the libraries that the interpreter was linked with. */
static void *runtime_function(const char *name)
{
    static void *runtime;
    if (!runtime) dl_iterate_phdr(find_runtime, &runtime);
    return runtime ? dlsym(runtime, name) : NULL;
}

EXPORT int cudaMalloc(void **pointer, size_t size);
EXPORT int cudaFree(void *pointer);
EXPORT int kf_torch_start(void);
EXPORT int kf_torch_device_pool(int fd, uint64_t size, uint64_t address, uint64_t *base);
EXPORT uint64_t kf_torch_region(uint32_t number, int fd, uint64_t size, uint64_t address,
                                int read_only);
EXPORT void kf_torch_unmap(void);
EXPORT void kf_torch_use_host_memory(int allowed);
EXPORT int kf_torch_spilled(void);
EXPORT int kf_torch_open_gates(void);
EXPORT void kf_torch_take_page(uint64_t address);
EXPORT void kf_torch_begin_call(uint32_t number);
EXPORT void kf_torch_count_prepare(void);
EXPORT uint32_t kf_torch_count(void (*call)(void *context), void *answer);
EXPORT uint32_t kf_torch_sampled_call(uint64_t nonce, uint32_t slot, uint32_t calls);
EXPORT uint32_t kf_torch_sampled_output(uint64_t nonce, uint32_t slot, uint32_t outputs);
EXPORT void kf_torch_sample(uint64_t nonce, uint32_t slot, uint64_t address, uint64_t bytes);

static void drop_host_memory(void)
{
    for (void *pointer; (pointer = kf_host_blocks_drop(&host_memory.blocks));)
        cuda.release_host(pointer);
}

/* Takes memory of the host. The runtime keeps the error of the refused allocation before it, which
 * PyTorch would find after its next kernel. */
static int allocate_on_host(void **pointer, size_t size)
{
    runtime_last_error last_error;
    *(void **)&last_error = runtime_function("cudaGetLastError");
    if (last_error) last_error();
    host_memory.used = true;
    if ((*pointer = kf_host_blocks_take(&host_memory.blocks, size))) return RUNTIME_OK;
    if (cuda.allocate_host(pointer, size, CU_HOST_ON_DEVICE) != CU_SUCCESS) {
        drop_host_memory(); /* blocks of other sizes */
        if (cuda.allocate_host(pointer, size, CU_HOST_ON_DEVICE) != CU_SUCCESS)
            return RUNTIME_OUT_OF_MEMORY;
    }
    if (kf_host_blocks_add(&host_memory.blocks, *pointer, size)) return RUNTIME_OK;
    cuda.release_host(*pointer);
    return RUNTIME_OUT_OF_MEMORY;
}

static int allocate_own(void **pointer, size_t size)
{
    static runtime_allocate allocate;
    if (!allocate) *(void **)&allocate = runtime_function("cudaMalloc");
    int result = allocate ? allocate(pointer, size) : RUNTIME_MISSING;
    bool again = result == RUNTIME_OUT_OF_MEMORY && host_memory.refused == size;
    if (again && host_memory.allowed) result = allocate_on_host(pointer, size);
    host_memory.refused = result == RUNTIME_OUT_OF_MEMORY ? size : 0;
    return result;
}

int cudaMalloc(void **pointer, size_t size)
{
    if (!pointer) return RUNTIME_INVALID;
    pthread_mutex_lock(&lock);
    if (device_pool.base) {
        uint64_t offset = size ? kf_blocks_take(&blocks, size) : 0;
        pthread_mutex_unlock(&lock);
        if (offset == KF_NO_BLOCK) return RUNTIME_OUT_OF_MEMORY;
        *pointer = size ? (void *)(uintptr_t)(device_pool.base + offset) : NULL;
        return RUNTIME_OK;
    }
    int result = allocate_own(pointer, size);
    outside += result == RUNTIME_OK && size;
    pthread_mutex_unlock(&lock);
    return result;
}

int cudaFree(void *pointer)
{
    uint64_t at = (uint64_t)(uintptr_t)pointer;
    pthread_mutex_lock(&lock);
    if (device_pool.base && at >= device_pool.base && at < device_pool.base + device_pool.size) {
        /* The runtime's cudaFree waits for all work that may still use the memory. */
        int result = cuda.context_synchronize();
        if (!kf_blocks_give_back(&blocks, at - device_pool.base)) result = RUNTIME_INVALID;
        pthread_mutex_unlock(&lock);
        return result;
    }
    if (kf_host_blocks_give_back(&host_memory.blocks, pointer)) {
        int result = cuda.context_synchronize();
        outside--;
        pthread_mutex_unlock(&lock);
        return result;
    }
    static runtime_release release;
    if (!release) *(void **)&release = runtime_function("cudaFree");
    int result = release ? release(pointer) : RUNTIME_MISSING;
    outside -= result == RUNTIME_OK && pointer;
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- for gpu.py ------------------------------------------------------------------------------ */

/* Makes waiting for the device active, as in kforge-runner-cuda. Call it before PyTorch makes its
 * context. Returns 0 on success. */
int kf_torch_start(void)
{
    char words[512];
    cu_device device;
    if (!kf_cuda_load(&cuda, words, sizeof words)) {
        fprintf(stderr, "kforge-torch: %s\n", words);
        return 1;
    }
    return !kf_cuda_said(&cuda, cuda.device_get(&device, 0), "device 0") ||
           !kf_cuda_said(&cuda, cuda.context_flags(device, CU_SCHEDULE_SPIN),
                         "setting up a context");
}

/* Maps the device pool, for all later allocations. Returns 0 on success, 1 if it cannot be mapped,
 * 2 if memory was allocated before. */
int kf_torch_device_pool(int fd, uint64_t size, uint64_t address, uint64_t *base)
{
    const kf_region_wish wish = {.size = size, .address = address};
    int result = 0;
    pthread_mutex_lock(&lock);
    if (outside || device_pool.base)
        result = 2;
    else if (!kf_blocks_make(&blocks, size) || !kf_region_import(&cuda, &device_pool, &wish, fd)) {
        kf_region_drop(&cuda, &device_pool);
        kf_blocks_free(&blocks);
        result = 1;
    }
    *base = device_pool.base;
    pthread_mutex_unlock(&lock);
    return result;
}

/* Maps an allocation of the judge. Returns its address, or 0. */
uint64_t kf_torch_region(uint32_t number, int fd, uint64_t size, uint64_t address, int read_only)
{
    const kf_region_wish wish = {.size = size, .address = address, .read_only = read_only};
    if (number >= MAX_REGIONS) return 0;
    kf_region *r = &regions[number];
    if (number >= region_limit) region_limit = number + 1;
    return r->base || kf_region_import(&cuda, r, &wish, fd) ? r->base : 0;
}

/* Unmaps everything but the device pool. */
void kf_torch_unmap(void)
{
    for (uint32_t i = 0; i < region_limit; i++) kf_region_drop(&cuda, &regions[i]);
    region_limit = 0;
    kf_stream_gate_take(&gate, 0);
}

/* Allows the host's memory where the device has too little, for the oracle. */
void kf_torch_use_host_memory(int allowed)
{
    pthread_mutex_lock(&lock);
    host_memory.allowed = allowed;
    drop_host_memory();
    host_memory.used = false;
    pthread_mutex_unlock(&lock);
}

/* Returns 1 if memory of the host was taken since the last call. */
int kf_torch_spilled(void)
{
    pthread_mutex_lock(&lock);
    int used = host_memory.used;
    host_memory.used = false;
    pthread_mutex_unlock(&lock);
    return used;
}

/* Makes the runner's own stream page, after PyTorch has made its context. Returns 0 on success. */
int kf_torch_open_gates(void)
{
    return !kf_stream_gate_begin(&gate, &cuda, NULL);
}

void kf_torch_take_page(uint64_t address)
{
    kf_stream_gate_take(&gate, address);
}

/* As kf_runner_begin_call. */
void kf_torch_begin_call(uint32_t number)
{
    kf_stream_gate_wait(&gate, number);
}

/* As kf_sample_call and kf_sample_output. */
uint32_t kf_torch_sampled_call(uint64_t nonce, uint32_t slot, uint32_t calls)
{
    return kf_sample_call(nonce, slot, calls);
}

uint32_t kf_torch_sampled_output(uint64_t nonce, uint32_t slot, uint32_t outputs)
{
    return kf_sample_output(nonce, slot, outputs);
}

/* As kf_runner_sample. */
void kf_torch_sample(uint64_t nonce, uint32_t slot, uint64_t address, uint64_t bytes)
{
    kf_stream_gate_sample(&gate, nonce, slot, address, bytes);
}

/* Prepares this runner for kf_torch_count, if it was started for that. */
void kf_torch_count_prepare(void)
{
    kf_work_prepare();
}

/* Measures the device time of one call. Writes the answer to KF_WIRE_COUNT, and returns its size.
 * `answer`: COUNT_BYTES of memory. */
uint32_t kf_torch_count(void (*call)(void *context), void *answer)
{
    _Static_assert(sizeof(kf_count_header) + KF_COUNT_WORKS * sizeof(kf_count_work) <= COUNT_BYTES,
                   "gpu.py gives too little memory");
    kf_count_header *header = answer;
    *header = (kf_count_header){.magic = KF_WIRE_MAGIC, .stage = KF_COUNT_WORK_ONLY};
    kf_work_measure(call, NULL, cuda.context_synchronize, header, (kf_count_work *)(header + 1));
    return (uint32_t)(sizeof *header + header->works * sizeof(kf_count_work));
}
