/* Shared memory for buffer sets. The kernel clears each page of new memory, and the judge faults on
 * it, which takes longer than to fill it. So the memory that only the task's own runners have
 * mapped serves later sets, each file for the same role. Memory of a candidate is always new. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device_cpu.h"
#include "kforge/cleanup.h"

static void release(kf_cpu_memory *memory)
{
    if (memory->base) munmap(memory->base, memory->size);
    if (memory->fd >= 0) close(memory->fd);
    *memory = KF_CPU_NO_MEMORY;
}

/* The oracle's runner uses only a part of its file. Of the others each page is used. */
static bool make(int use, uint64_t size, kf_cpu_memory *memory, kf_error *error)
{
    kf_autoclose int fd = memfd_create("kforge", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "no shared memory of %llu bytes: %s",
                       (unsigned long long)size, strerror(errno));
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | (use == KF_ROLE_ORACLE ? 0 : MAP_POPULATE), fd, 0);
    if (mapped == MAP_FAILED)
        return kf_fail(error, KF_ERROR_MACHINE, "cannot map %llu bytes: %s",
                       (unsigned long long)size, strerror(errno));
    *memory = (kf_cpu_memory){.fd = fd, .base = mapped, .size = size, .use = use};
    fd = -1;
    return true;
}

static kf_cpu_memory remove_spare(kf_cpu_device *device, int at)
{
    kf_cpu_memory found = device->spares[at];
    memmove(device->spares + at, device->spares + at + 1,
            (size_t)(--device->spare_count - at) * sizeof *device->spares);
    return found;
}

bool kf_cpu_memory_take(kf_cpu_device *device, int use, uint64_t size, kf_cpu_memory *memory,
                        kf_error *error)
{
    int best = -1;
    for (int i = 0; i < device->spare_count; i++) {
        const kf_cpu_memory *spare = &device->spares[i];
        if (spare->use == use && spare->size >= size && spare->size / 2 <= size &&
            (best < 0 || spare->size < device->spares[best].size))
            best = i;
    }
    if (best < 0) return make(use, size, memory, error);
    *memory = remove_spare(device, best);
    return true;
}

void kf_cpu_memory_give(kf_cpu_device *device, kf_cpu_memory *memory)
{
    if (memory->use == KF_ROLE_CANDIDATE || memory->size > KF_CPU_SPARE_BYTES) release(memory);
    if (memory->fd < 0) return;
    uint64_t bytes = memory->size;
    for (int i = 0; i < device->spare_count; i++) bytes += device->spares[i].size;
    while (device->spare_count == KF_CPU_SPARE_FILES || bytes > KF_CPU_SPARE_BYTES) {
        kf_cpu_memory oldest = remove_spare(device, 0);
        bytes -= oldest.size;
        release(&oldest);
    }
    device->spares[device->spare_count++] = *memory;
    *memory = KF_CPU_NO_MEMORY;
}

void kf_cpu_memory_release_all(kf_cpu_device *device)
{
    while (device->spare_count) release(&device->spares[--device->spare_count]);
}
