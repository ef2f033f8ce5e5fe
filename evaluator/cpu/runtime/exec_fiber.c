// The stacks of fibers. They are mapped in slabs without reserved memory, with a guard page below
// each, and kept for later launches.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "exec_internal.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum {
    PAGE = 4096,
    // A guard page and a stack, which holds a kernel's local arrays. The number of pages is odd, so
    // that the most used pages of the stacks fall into different sets of the TLB.
    STACK = 65 * PAGE,
    SLAB = 16, // stacks that are mapped together
    COLORS = 16,
    // In bytes, a multiple of 64. The most used lines of neighbours fall into different cache sets.
    COLOR_STEP = 320,
};

// Writes the frame that the first switch to a fiber finds: where to resume, the callee-saved
// registers, the return address.
static void *prepare(struct worker *worker, struct fiber *fiber)
{
    uintptr_t top = (uintptr_t)fiber->bottom + fiber->size - fiber->color * COLOR_STEP;
    top &= ~(uintptr_t)63;
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(fiber->bottom, fiber->size);
#endif
#if defined(__x86_64__)
    // kfcpu_fiber_start begins with the stack 16-byte aligned, two words below the top.
    uint64_t *frame = (uint64_t *)top - 10;
    memset(frame, 0, 10 * sizeof *frame);
    frame[0] = (uint64_t)(uintptr_t)kfcpu_resume;
    frame[5] = (uint64_t)(uintptr_t)worker; // rbx
    frame[7] = (uint64_t)(uintptr_t)kfcpu_fiber_start;
#elif defined(__aarch64__)
    uint64_t *frame = (uint64_t *)(top - 160);
    memset(frame, 0, 160);
    frame[0] = (uint64_t)(uintptr_t)worker;             // x19
    frame[11] = (uint64_t)(uintptr_t)kfcpu_fiber_start; // x30
#endif
    return frame;
}

static bool grow_tables(struct worker *worker)
{
    uint32_t capacity = worker->fiber_capacity ? worker->fiber_capacity * 2 : 64;
    struct fiber **fibers = realloc(worker->fibers, capacity * sizeof *fibers);
    if (!fibers) return false;
    worker->fibers = fibers;
    struct fiber **parked = realloc(worker->parked, capacity * sizeof *parked);
    if (!parked) return false;
    worker->parked = parked;
    void **parked_sp = realloc(worker->parked_sp, capacity * sizeof *parked_sp);
    if (!parked_sp) return false;
    worker->parked_sp = parked_sp;
    worker->fiber_capacity = capacity;
    return true;
}

static void park_unused(struct worker *worker, uint32_t place, struct fiber *fiber)
{
    worker->parked[place] = fiber;
    worker->parked_sp[place] = prepare(worker, fiber);
}

bool kfcpu_fibers_add(struct worker *worker)
{
    while (worker->fiber_count + SLAB > worker->fiber_capacity)
        if (!grow_tables(worker)) return false;
    struct fiber *fibers = calloc(SLAB, sizeof *fibers);
    if (!fibers) return false;
    char *base = mmap(NULL, (size_t)SLAB * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) {
        free(fibers);
        return false;
    }
    for (int i = 0; i < SLAB; i++) {
        char *slot = base + (size_t)i * STACK;
        // This fails if the number of mappings is limited. The fiber then works without a guard
        // page.
        (void)!mprotect(slot, PAGE, PROT_NONE);
        fibers[i] = (struct fiber){
            .bottom = slot + PAGE, .size = STACK - PAGE, .color = worker->fiber_count % COLORS};
        worker->fibers[worker->fiber_count++] = &fibers[i];
    }
    // The first fiber of the slab is taken first, so fibers with low numbers stay in the cache.
    for (int i = SLAB - 1; i >= 0; i--) park_unused(worker, worker->parked_count++, &fibers[i]);
    return true;
}

void kfcpu_fibers_reset(struct worker *worker)
{
    worker->parked_count = 0;
    for (uint32_t i = worker->fiber_count; i-- > 0;)
        park_unused(worker, worker->parked_count++, worker->fibers[i]);
    worker->parked_low = worker->parked_count;
}

void kfcpu_fibers_renew(struct worker *worker)
{
    if (worker->parked_low == 0) { // all were used, or some were added
        kfcpu_fibers_reset(worker);
        return;
    }
    for (uint32_t i = worker->parked_low; i < worker->parked_count; i++)
        park_unused(worker, i, worker->parked[i]);
    worker->parked_low = worker->parked_count;
}

#ifdef __SANITIZE_ADDRESS__

void kfcpu_fiber_jump(struct worker *worker, void **save, struct fiber *to, void *sp)
{
    void *fake = NULL;
    worker->current = to;
    __sanitizer_start_switch_fiber(&fake, to->bottom, to->size);
    kfcpu_switch(save, sp);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

void kfcpu_fiber_arrived(void *fake)
{
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

void kfcpu_native_bounds(struct fiber *fiber)
{
    pthread_attr_t attributes;
    void *address = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &address, &size);
        pthread_attr_destroy(&attributes);
    }
    fiber->bottom = address;
    fiber->size = size;
}

#else

void kfcpu_fiber_jump(struct worker *worker, void **save, struct fiber *to, void *sp)
{
    worker->current = to;
    kfcpu_switch(save, sp);
}

void kfcpu_fiber_arrived(void *fake)
{
    (void)fake;
}

void kfcpu_native_bounds(struct fiber *fiber)
{
    (void)fiber;
}

#endif
